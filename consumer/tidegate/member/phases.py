"""Where a tenure stands. Pure."""

from __future__ import annotations

from enum import StrEnum


class Phase(StrEnum):
    """Where a tenure stands, for people."""

    LEASING = "leasing"
    FENCING = "fencing"
    READING = "reading"
    DRAINING = "draining"
    LAPSED = "lapsed"
    GIVING = "giving"
    ENDED = "ended"


# In these phases a refused renewal is no news, or is looked into.
UNPROVEN = (Phase.LEASING, Phase.LAPSED, Phase.GIVING, Phase.ENDED)
