"""Which of a member's partitions end now. Pure.

Rules: what the source said counts only if it was asked after the tenure began, since an older
answer may be from before the partition was there. What is on its way to another member, that ends.
A rewind that is on the roster is carried out first: it would be lost with its partition.
"""

from __future__ import annotations

from collections.abc import Collection

from tidegate.member.messages import Command
from tidegate.member.tenures import Tenures
from tidegate.model import PartitionId, Rewind
from tidegate.ports.lineage import Tiling


class Ending:
    """Remembers since when each partition has been ours, at the latest."""

    def __init__(self) -> None:
        self._since: dict[PartitionId, tuple[int, float]] = {}

    def end(
        self,
        tenures: Tenures,
        tiling: Tiling,
        rewinds: Collection[Rewind],
        asked_at: float,
        now: float,
    ) -> list[Command]:
        """Ends what the tiling says; `asked_at` is when the source was asked for its ranges."""
        rewound = {rewind.partition: rewind for rewind in rewinds}
        self._since = {
            partition: self._began(partition, tenure.serial, now)
            for partition, tenure in tenures.live.items()
        }
        commands: list[Command] = []
        for partition, into in tiling.ending.items():
            tenure = tenures.live.get(partition)
            if tenure is None or not tenure.is_settled:
                continue
            if partition in rewound and not tenure.has_carried_out(rewound[partition]):
                continue
            _, began_at = self._since[partition]
            if asked_at > began_at:
                commands += tenures.touch(partition).end(now, into)
        return commands

    def _began(self, partition: PartitionId, serial: int, now: float) -> tuple[int, float]:
        known = self._since.get(partition)
        return known if known is not None and known[0] == serial else (serial, now)
