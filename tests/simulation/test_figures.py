"""Members that tell figures all the time: every promise stands as it does without."""

from __future__ import annotations

from types import MappingProxyType

import pytest

from simulation.draw import draw
from simulation.history import Did
from simulation.judge import judge
from simulation.process import Leases, Process
from simulation.script import Script
from simulation.world import World
from tidegate.member import messages as m
from tidegate.model import Figures, MemberName
from tidegate.ports import Announce

EVERY_S = 2.0


class TellingWorld(World):
    """Its members measure figures every 2 s, other ones each time, until the world is quiet."""

    def __init__(self, script: Script) -> None:
        self._measuring: set[Process] = set()
        super().__init__(script)

    def start(self, name: MemberName, inherited: Leases = ()) -> Process:
        process = super().start(name, inherited)
        if process not in self._measuring:
            self._measuring.add(process)
            self.clock.after(EVERY_S, self._measure, process, 1)
        return process

    def _measure(self, process: Process, count: int) -> None:
        if process.is_dead or process.is_stopped:
            return
        is_quiet = self.clock.now > self.script.quiet_from
        told = {} if is_quiet else dict.fromkeys(process.readers, Figures(count + 9, count))
        figures = MappingProxyType(told)
        process.tell(lambda now: m.FiguresMeasured(now, figures, frozenset()))
        self.clock.after(EVERY_S, self._measure, process, count + 1)


@pytest.mark.parametrize("seed", range(24))
def test_every_property_holds_while_figures_are_told(seed: int) -> None:
    world = TellingWorld(draw(seed))
    facts = world.run()
    assert judge(world.records, facts) == []
    assert any(
        isinstance(record, Did)
        and isinstance(record.operation, Announce)
        and record.operation.presence.figures
        for record in world.records
    ), "nobody has told any figures"
