"""A pipe whose reader has gone, as standard output of a program.

Rules: the reader goes before the program starts, so that its first write meets no reader.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator


@contextlib.contextmanager
def unread_pipe() -> Iterator[int]:
    """The end that is written to."""
    reads, writes = os.pipe()
    os.close(reads)
    try:
        yield writes
    finally:
        os.close(writes)
