"""The calls of one process that hang: for which partitions, and who has given one up."""

from __future__ import annotations

from collections.abc import Callable

from tidegate.member import messages as m
from tidegate.model import PartitionId

Tell = Callable[[Callable[[float], m.Event]], None]


class Hanging:
    """See the module."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._given_up: dict[PartitionId, list[int]] = {}

    def __contains__(self, partition: object) -> bool:
        return partition in self._given_up

    def __bool__(self) -> bool:
        return bool(self._given_up)

    def begin(self, partition: PartitionId) -> None:
        """From now on no call for this partition comes back."""
        self._given_up.setdefault(partition, [])

    def give_up(self, partition: PartitionId, serial: int) -> None:
        """A reader waits no longer."""
        self._given_up[partition].append(serial)

    def end(self, partition: PartitionId) -> None:
        """All calls for this partition come back."""
        for serial in self._given_up.pop(partition, []):
            self._say_returned(partition, serial)

    def _say_returned(self, partition: PartitionId, serial: int) -> None:
        self._tell(lambda now: m.HandlerReturned(now, partition, serial))
