"""Why the store does not do what it was asked for. Pure; the words are for people."""

from __future__ import annotations


class StoreProblem(Exception):
    """Something that the store refuses. The message says what, and of what."""


class NotFound(StoreProblem):
    """There is no such database, container, range or item."""


class Exists(StoreProblem):
    """There is one of this name already."""


class Changed(StoreProblem):
    """The item is no longer the version that the condition names."""


class Malformed(StoreProblem):
    """What was given cannot be stored, or cannot be meant."""


class RangeGone(StoreProblem):
    """A range that was split or merged away, or that never was."""
