"""Dead letters that can be read again, wherever they are: what `tidegate deadletters` asks for.

Rules: a letter is named by its place, `PARTITION/SEQUENCE`, and letters are listed by it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from tidegate.delivery.letters import DeadLetter
from tidegate.handling import DeadLetterError


@dataclass(frozen=True, slots=True)
class Listed:
    """A letter as a list shows it."""

    id: str
    error: str
    attempts: int
    size: int
    put_aside_at: float


class KeptLetters(Protocol):
    """The dead letters of one group. Every call raises DeadLetterError."""

    async def list(self, partition: str = "") -> list[Listed]:
        """All letters, by partition and place."""

    async def read(self, id: str) -> DeadLetter:
        """One letter."""

    async def remove(self, id: str) -> None:
        """Removes a letter; one that is not there is no matter."""

    async def close(self) -> None: ...


def place_of(id: str) -> tuple[str, int]:
    """The partition and the number of a letter. Raises DeadLetterError."""
    partition, _, sequence = id.rpartition("/")
    if not partition or not sequence.isdecimal():
        raise DeadLetterError(f"'{id}': write PARTITION/SEQUENCE, as `list` shows it")
    return partition, int(sequence)


def by_place(listed: Listed) -> tuple[str, int]:
    """What a list is sorted by."""
    partition, sequence = place_of(listed.id)
    return partition.zfill(8), sequence
