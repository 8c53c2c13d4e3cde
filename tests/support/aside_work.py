"""What the tests of benchmarks/aside.py let be done in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path


def doubled(number: int) -> int:
    return 2 * number


def broken() -> None:
    raise ValueError("no such thing")


def sleeps_with_a_child(note: Path) -> None:
    """Starts a process, writes down its id and its own, and ends it when it is interrupted."""
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    try:
        draft = note.with_suffix(".new")
        draft.write_text(f"{os.getpid()} {child.pid}")
        draft.replace(note)
        time.sleep(600)
    finally:
        child.kill()
        child.wait()
