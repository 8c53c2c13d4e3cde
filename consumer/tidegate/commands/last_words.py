"""How a process ends: what it says last, what it leaves in its container, and its exit code.

Rules:
- Kubernetes gives each container a file for last words, and shows what stands there as the message
  of the container's end; `tidegate up` does so too, and names the file. Elsewhere there is no such
  file, and nothing is written.
- No secret is in them.
- The exit code says why it ended, whatever becomes of the words: a full disk does not change it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import NoReturn

from tidegate.ops.secrets import Secrets
from tidegate_http.output import NOT_READ, OutputEnded, drop_what_fails
from tidegate_http.shutdown import SHUTDOWN

PLACE = Path("/dev/termination-log")
# The variable that names another place.
ELSEWHERE = "TIDEGATE_LAST_WORDS"
# Kubernetes cuts it there.
_LIMIT_BYTES = 4096


class _Words:
    """What is taken out of all that is said here: what looks like a secret, and what is known."""

    net = Secrets()
    # Whether something stands in the container's file: the first reason is the one that counts.
    are_left = False


def hide(secrets: Iterable[str]) -> None:
    """From now on these are secrets. User's code may say them: a pod's status shows its words."""
    _Words.net = Secrets(secrets)


def say(text: str) -> None:
    """A line on standard error; where that takes no more, nobody is left to be told."""
    try:
        print(_Words.net.hide(text), file=sys.stderr, flush=True)
    except (OSError, ValueError):  # full, or closed by user code
        return


def leave(text: str, place: Path | None = None) -> None:
    """Leaves a line. That it cannot be left is said, and the process ends as it would have."""
    place = place or Path(os.environ.get(ELSEWHERE) or PLACE)
    if not place.is_file():
        return
    _Words.are_left = True
    try:
        place.write_bytes(_Words.net.hide(text).encode("utf-8", "replace")[:_LIMIT_BYTES])
    except OSError as error:
        say(f"tidegate: {place} cannot be written: {error}")


def say_and_leave(text: str) -> None:
    """The last line of a process that is ended by force."""
    if not _Words.are_left:
        leave(text)
    # A view that hangs may still have what is written to standard error.
    if sys.__stderr__ is not None:
        print(_Words.net.hide(f"tidegate: {text}"), file=sys.__stderr__, flush=True)


def stop_without_a_reader() -> None:
    """Have no write to standard output fail in a user's code from now on.

    If the reader goes away, this process asks itself for a clean stop.
    """

    def tell(ended: OutputEnded) -> None:
        if ended.code == NOT_READ:
            say(f"tidegate: {ended}: a clean stop is begun")
            SHUTDOWN.ask(str(ended))
        else:
            say(f"tidegate: {ended}: lines that are printed there are lost")

    drop_what_fails(tell)


def end(code: int) -> NoReturn:
    """End the process with this code, also if standard error takes nothing more.

    Python itself would end with 120 if it cannot write the rest of it.
    """
    if sys.stderr is not None and not sys.stderr.closed:  # by user code
        try:
            sys.stderr.flush()
        except OSError:
            with Path(os.devnull).open("wb") as nowhere:
                os.dup2(nowhere.fileno(), sys.stderr.fileno())
    sys.exit(code)
