"""The keys that somebody presses while the demo runs.

Rules: standard library only. A terminal gives each key at once, and is left as it was found; from a
pipe, keys are read as they come. A demo in the background reads nothing: it would be stopped.
"""

from __future__ import annotations

import contextlib
import os
import sys
import termios
import threading
import tty
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def keys(press: Callable[[str], None]) -> Iterator[None]:
    """`press` is called with each key, by a thread, while the block lasts."""
    descriptor = sys.stdin.fileno() if sys.stdin is not None else -1
    is_terminal = descriptor >= 0 and os.isatty(descriptor)
    if descriptor < 0 or (is_terminal and os.tcgetpgrp(descriptor) != os.getpgrp()):
        yield
        return
    before = termios.tcgetattr(descriptor) if is_terminal else None
    if is_terminal:
        # Ctrl-C stays a signal.
        tty.setcbreak(descriptor)

    def read() -> None:
        while key := os.read(descriptor, 1):
            press(key.decode(errors="replace"))

    threading.Thread(target=read, name="keys", daemon=True).start()
    try:
        yield
    finally:
        if before is not None:
            termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
