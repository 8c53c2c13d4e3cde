"""Typed settings of a member, with their units in their names.

Rules: made once, at the edge; `checked` refuses what cannot work and says what to write; nothing
else reads the environment. The defaults are those that docs/reference.md describes.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

# The environment variable that holds the hub's connection string, for the command line.
EVENTS_SECRET = "TIDEGATE_EVENTS_CONNECTION_STRING"


# What a file system, and a name in Kubernetes, holds at the most.
_LONGEST_NAME = 253
# Sums of weights stay numbers.
_HEAVIEST = 1e6


class SettingsError(ValueError):
    """A setting that cannot work; the message names it and says what to write."""

    # In one word, for the status of a pod.
    reason = "ConfigurationRefused"


def is_plain(text: str) -> bool:
    """Whether each character of a text can be seen: no line end, no tab, no control character, and
    nothing that changes how the others are shown."""
    return text.isprintable()


def check_name(what: str, name: str, remedy: str = "") -> None:
    """Raises SettingsError if a name cannot be part of a path and of a line of the log."""
    if len(name) > _LONGEST_NAME:
        raise SettingsError(f"{what} {name[:40]!r}…: write at most {_LONGEST_NAME} characters")
    if not name.strip(". ") or not is_plain(name) or name != name.strip() or set("/\\") & set(name):
        raise SettingsError(
            f"{what} {name!r}: write a name without a slash, without blanks around it and without "
            f"control characters{remedy}"
        )


def split_url(text: str, where: str) -> SplitResult:
    """The parts of a URL. Raises SettingsError, which does not repeat it: a key may be in it."""
    if not is_plain(text) or " " in text.strip():
        # Python's own reader of URLs leaves tabs and line ends out, wherever they stand.
        raise SettingsError(f"{where}: a blank or a control character is in this URL: take it out")
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError:
        raise SettingsError(f"{where}: this is no URL: look at its brackets and its port") from None
    return parts


@dataclass(frozen=True, slots=True)
class MemberSettings:
    """How a member keeps its leases and looks at the ledger."""

    name: str
    # Its share of the partitions and of the load, measured by the others'.
    weight: float = 1.0
    lease_s: float = 15.0
    # How often the ledger is listed: while something changes, and when nothing does.
    fast_tick_s: float = 0.5
    settled_tick_s: float = 2.0
    # A living owner that does not give a partition within this is taken from.
    hand_over_limit_s: float = 60.0
    # Partitions that nobody has owned yet wait this long for members that start together,
    newcomer_grace_s: float = 2.0
    # and this long for members that the roster expects.
    expected_grace_s: float = 10.0
    # Partitions that have an owner stay with it for members that the roster expects: so long.
    absent_limit_s: float = 60.0
    # A roster that was not written for this long no longer says who is expected or leaving.
    roster_stale_s: float = 120.0
    checkpoint_every_s: float = 5.0
    # A reader that shows no sign of life for this long loses its lease.
    reader_silence_s: float = 30.0
    # An unleased partition of another kind of processor has a live owner for this long,
    foreign_alive_s: float = 180.0
    # unless this says that they are all gone, or shall be taken from.
    takes_from_foreign: bool = False
    # How often it announces how far it is: while that changes, while more and more events wait, and
    # when it does not change.
    figures_every_s: float = 2.0
    figures_soon_s: float = 1.0
    figures_keep_s: float = 30.0
    # The pod that it runs in, and when its process began by the clock on the wall.
    pod_uid: str = ""
    started_at: float = 0.0

    @property
    def renew_every_s(self) -> float:
        return self.lease_s / 3

    @property
    def slow_s(self) -> float:
        """Storage that takes longer than this has stalled."""
        return self.lease_s / 3

    @property
    def valid_s(self) -> float:
        """How long after a renewal was sent an owner may act: it stops before the server does."""
        return self.lease_s - self.lease_s / 15

    def checked(self) -> MemberSettings:
        """These settings, or SettingsError."""
        check_name("name", self.name)
        if not 15 <= self.lease_s <= 60:
            raise SettingsError(
                f"lease_s {self.lease_s:g}: the storage service takes leases of 15 to 60 seconds"
            )
        if not 0 < self.fast_tick_s <= self.settled_tick_s:
            raise SettingsError("fast_tick_s must be above 0 and not above settled_tick_s")
        if not 0 <= self.weight <= _HEAVIEST:
            raise SettingsError(
                f"weight {self.weight:g}: write a number, 0 or more, to {_HEAVIEST:g}"
            )
        return self
