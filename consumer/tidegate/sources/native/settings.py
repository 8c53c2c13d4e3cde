"""How the native source connects and how much it keeps waiting. Frozen; the defaults are meant."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tidegate.settings import SettingsError


@dataclass(frozen=True, slots=True)
class NativeSettings:
    """Units are in the names."""

    # Events that wait for their handlers: of all readers together, and of one at most.
    buffer_bytes: int = 64 << 20
    reader_bytes: int = 4 << 20
    # The most that one `receive` gives.
    batch_events: int = 1_000
    # How long `receive` waits for events before it gives none.
    quiet_s: float = 1.0
    # How long one connection, link or answer may take.
    timeout_s: float = 10.0
    # For how long a reader tries again by itself before it says what is wrong.
    patience_s: float = 20.0
    # Ask the service to say with each event how far its partition has come.
    tells_end: bool = True
    # A file of certificate authorities, where the endpoint's own is not a public one.
    ca_file: str = ""

    def checked(self) -> NativeSettings:
        """These settings, or SettingsError."""
        if self.reader_bytes < 1 or self.buffer_bytes < self.reader_bytes:
            raise SettingsError("reader_bytes must be at least 1 and at most buffer_bytes")
        if self.batch_events < 1:
            raise SettingsError("batch_events must be at least 1")
        if not min(self.quiet_s, self.timeout_s, self.patience_s) > 0:
            raise SettingsError("quiet_s, timeout_s and patience_s must be above 0")
        if self.ca_file and not Path(self.ca_file).is_file():
            raise SettingsError(f"ca_file '{self.ca_file}': there is no such file")
        return self
