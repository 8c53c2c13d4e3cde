"""What a process that cannot go on leaves for whoever looks at its pod.

Kubernetes gives each container a file for it, and shows what stands there as the message of the
container's end. Elsewhere there is no such file, and nothing is written.
"""

from __future__ import annotations

import sys
from pathlib import Path

PLACE = Path("/dev/termination-log")
# Kubernetes cuts it there.
_LIMIT_BYTES = 4096


def leave(text: str, place: Path = PLACE) -> None:
    """Leaves a line. That it cannot be left is said, and the process ends as it would have."""
    if not place.is_file():
        return
    try:
        place.write_bytes(text.encode("utf-8", "replace")[:_LIMIT_BYTES])
    except OSError as error:
        print(f"tidegate: {place} cannot be written: {error}", file=sys.stderr)
