"""The members of a group that is run by its command, killed at random and started again.

    members = KilledMembers(group, 4)
    members.start()
    for kill in kills(seed, groups=1, members=4, until_s=300, gap_s=(3, 9)):
        members.kill(kill.member, is_in_place=kill.is_in_place)

Rules: what is killed, when, and how it comes back follows from the seed alone. Who comes back in
place has the name and the scratch file of the one that was killed; else it has neither.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import NamedTuple

from support.command_group import CommandGroup


class Kill(NamedTuple):
    """What is killed `at_s` after the beginning, and whether it comes back in place."""

    at_s: float
    group: int
    member: int
    is_in_place: bool


def kills(
    seed: int,
    *,
    groups: int,
    members: int,
    until_s: float,
    gap_s: tuple[float, float],
    in_place: float = 2 / 3,
) -> Iterator[Kill]:
    """Kills one after another, of any group and member; this share of them comes back in place."""
    dice = random.Random(seed)
    at_s = dice.uniform(*gap_s)
    while at_s < until_s:
        yield Kill(at_s, dice.randrange(groups), dice.randrange(members), dice.random() < in_place)
        at_s += dice.uniform(*gap_s)


class KilledMembers:
    """See the module."""

    def __init__(self, group: CommandGroup, count: int) -> None:
        self.group = group
        self.names = [f"m{number}" for number in range(count)]
        self.killed = 0
        self._lives = 0
        # How much each had said when it was started last.
        self._said: dict[str, int] = {}

    def start(self) -> None:
        for name in self.names:
            self._start(name)

    def _start(self, name: str) -> None:
        output = self.group.folder / f"{name}.out"
        self._said[name] = output.stat().st_size if output.exists() else 0
        self.group.start(name, "--scratch", str(self.group.folder / f"{name}.leases"))

    def each_reads(self) -> bool:
        """Whether every member has begun to read since it was started last."""
        return all(
            " reading " in self.group.output(name)[self._said[name] :] for name in self.names
        )

    def kill(self, member: int, *, is_in_place: bool) -> None:
        """Kills a member and starts one for it at once."""
        name = self.names[member]
        self.group.kill(name)
        self.killed += 1
        if not is_in_place:
            self._lives += 1
            self.names[member] = name = f"m{member}-{self._lives}"
        self._start(name)

    def restart(self, member: int) -> None:
        """A clean stop, and the same member again."""
        name = self.names[member]
        self.group.stop(name)
        self._start(name)

    def stop(self) -> None:
        """Clean stops, one after another."""
        for name in self.names:
            self.group.stop(name)
