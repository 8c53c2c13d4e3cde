"""What real members did, as a history that the simulator's checkers judge.

Rules: it is made of what was seen from outside: the handlers' log, and the checkpoints that the
watch of the ledger saw, which are most and not all. A reader is taken to be attached when its
first events are handled. Only the checkers of JUDGES can say something about that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from simulation.checkers import p1_one_epoch, p2_nothing_lost, p3_never_back, p5_order
from simulation.checkers.seen import Seen
from simulation.facts import Facts, Violation
from simulation.history import Attached, Did, Handled, Record
from simulation.script import Kind, Script
from support.handled_log import Given, Owner
from support.ledger_watch import Checkpoint
from tidegate.model import Position
from tidegate.ports import WriteCheckpoint

JUDGES = (p1_one_epoch, p2_nothing_lost, p3_never_back, p5_order)


def judged(
    batches: Iterable[Given],
    checkpoints: Mapping[str, Iterable[Checkpoint]],
    events: Mapping[str, int],
) -> list[Violation]:
    """What is wrong with it. `events` is how many each partition has; all must be handled."""
    batches = list(batches)
    records: list[Record] = []
    owners: dict[tuple[str, int], str] = {}
    begun: set[Owner] = set()
    for at, who, partition, epoch, first, last in batches:
        owner = Owner(partition, epoch, who)
        if owner not in begun:
            begun.add(owner)
            owners.setdefault((partition, epoch), who)
            records.append(Attached(at, who, partition, epoch, first - 1))
        records.append(Handled(at, who, partition, epoch, first, last))
    for partition, those in checkpoints.items():
        for found in those:
            # Who took a partition and handled nothing is known by its epoch alone.
            who = owners.get((partition, found.epoch), f"epoch {found.epoch}")
            position = Position(sequence=found.sequence)
            write = WriteCheckpoint(partition, "known", position, found.epoch, "")
            records.append(Did(found.at, who, write, None, "known"))
    records.sort(key=lambda record: record.at)
    seen = Seen(records, _facts(events, batches[-1].at))
    return [violation for judge in JUDGES for violation in judge.check(seen)]


def _facts(events: Mapping[str, int], end: float) -> Facts:
    """All that is known of a real run: who lives at its end, and what there was to handle."""
    script = Script(0, Kind.ALONE, len(events), (), 0.0)
    timetable = {partition: [0.0] * count for partition, count in events.items()}
    return Facts(script, timetable, end, None, {"a": 1.0}, is_operator_dead=False, names=("a",))
