"""What a handler raised, for people, with the line of the user's own code. Pure.

Rules: the line is the last one of the user's files that the error came through; where there is
none, for the code is installed in the image, it is the first one behind ours. Nothing of the line's
text is said, for it may hold what the log must not.
"""

from __future__ import annotations

import os
import sysconfig
import traceback
from pathlib import Path

from tidegate.delivery.letters import said

_OURS = str(Path(__file__).resolve().parents[1]) + os.sep
_PYTHONS = tuple(f"{sysconfig.get_path(name)}{os.sep}" for name in ("stdlib", "platstdlib"))


def blamed(error: BaseException) -> str:
    """The error in one line, and where it was raised."""
    # The traceback alone is walked: its lines' texts, which are not said, would be read from disk.
    walked = traceback.walk_tb(error.__traceback__)
    places = [
        (name, line)
        for name, line in ((frame.f_code.co_filename, line) for frame, line in walked)
        if not name.startswith((_OURS, "<")) and not _is_pythons(name)
    ]
    own = [place for place in places if "site-packages" not in place[0]]
    if not places:
        return said(error)
    name, line = own[-1] if own else places[0]
    return f"{said(error)} ({Path(name).name}, line {line})"


def _is_pythons(name: str) -> bool:
    # Packages may be installed below the folder of the standard library.
    return name.startswith(_PYTHONS) and "site-packages" not in name
