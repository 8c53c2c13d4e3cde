"""How `tidegate run`, `rewind` and `deadletters` end. docs/delivery.md repeats this list."""

from __future__ import annotations

from enum import IntEnum

from tidegate_http import output


class Code(IntEnum):
    """Exit codes."""

    DONE = 0  # a clean stop, or what was asked for is done
    FAILED = 1  # it could not be done; the message says why
    MISUSED = 2  # the command line cannot be understood
    CONFIGURATION = 78  # the group file, a secret or the handler cannot be used
    CUT = 130  # ended before a clean stop was done: by a second signal, or by the end of the grace
    NOT_READ = output.NOT_READ  # the reader of standard output went away
