"""Programs that are started where core dumps are allowed, so that they have to see to it
themselves that they leave none.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

# Lets images be made, of all memory, and becomes the program: as on a machine that is set up so.
ALLOWING = 'ulimit -Sc "$(ulimit -Hc)"; echo 0x33 > /proc/self/coredump_filter; exec "$@"'
# What its own limit and filter are when a process ends, behind all that it says.
PROBE = """
import atexit, pathlib, resource
def tell():
    filter = int(pathlib.Path("/proc/self/coredump_filter").read_text(), 16)
    print("AT ITS END", resource.getrlimit(resource.RLIMIT_CORE)[0], filter, flush=True)
atexit.register(tell)
"""


def allowing(
    words: list[str], folder: Path, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Runs a program to its end."""
    return subprocess.run(
        ["sh", "-c", ALLOWING, "sh", *words],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def leaves_none(program: str, folder: Path) -> None:
    """Runs a program of Python, which has to forbid images by the time it ends."""
    ran = allowing([sys.executable, "-c", PROBE + program], folder)
    assert "AT ITS END 0 0\n" in ran.stdout, ran.stdout + ran.stderr
