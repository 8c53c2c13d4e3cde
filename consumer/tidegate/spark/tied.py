"""A program that ends when the process that started it ends, however that ends.

    python -I -S tied.py PARENT PROGRAM [ARGUMENT...]

Rules: the kernel kills it when the thread that started it is gone, so that thread has to last. It
is run as a script, before anything else is: a process with threads cannot safely do this between
fork and exec.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG


def main() -> None:
    """Becomes the program."""
    parent, program = int(sys.argv[1]), sys.argv[2:]
    if ctypes.CDLL(None, use_errno=True).prctl(_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0) != 0:
        sys.exit(f"prctl: {os.strerror(ctypes.get_errno())}")
    # It may have ended before that was asked for.
    if os.getppid() == parent:
        os.execv(program[0], program)


if __name__ == "__main__":
    main()
