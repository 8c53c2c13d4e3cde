"""What must hold of a size that is decided, beside what `operator_checks` says of every act.

- P9: what is written lies within min and max, and what is asked for within the partitions.
- P10: nobody makes it smaller while the lag of a partition that is to be read is unknown.
- P14: of two operators that saw one Deployment, one writes it.
- It comes to rest at the fewest that may be, when nothing comes any more.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

from simulation.facts import Violation
from simulation.operator_checks import TAKEN
from simulation.operator_sizing import SizedOperatorWorld
from tidegate_operator.scaling import Reason

NAME = "SIZE"
# What is done about bounds does not wait for the lag.
_UNDONE_S = 5.0
_OF_BOUNDS = (Reason.BOUNDS, Reason.FLOOR)


def check(world: SizedOperatorWorld) -> list[Violation]:
    found = [*_bounds(world), *_unknown(world), *_one_writer(world), *_rests(world)]
    return sorted(found, key=lambda violation: violation.at)


def is_undone(world: SizedOperatorWorld, violation: Violation) -> bool:
    """Whether a pod was taken that the other of two operators has just given partitions: where both
    believe that they lead, come to different numbers and undo what the other does. Nothing else
    that they do is left out."""
    befell = (at for at, name, _ in world.sized.operator.befalls if name == "two operators")
    if TAKEN not in violation.text or min(befell, default=math.inf) > violation.at:
        return False
    lately = [
        (who, replicas)
        for at, who, replicas in world.journal.scaled
        if abs(at - violation.at) <= _UNDONE_S
    ]
    return any(one[0] != other[0] and one[1] != other[1] for one in lately for other in lately)


def _bounds(world: SizedOperatorWorld) -> Iterator[Violation]:
    policy = world.sized.policy
    most = max(min(policy.max, len(world.partitions)), policy.min)
    for at, who, replicas in world.journal.scaled:
        if not policy.min <= replicas <= policy.max:
            text = f"{who} writes {replicas} replicas: {policy.min} to {policy.max} are allowed"
            yield Violation(NAME, at, f"P9: {text}")
    # Somebody may have made more pods than there are partitions; nobody decides so.
    for each in world.decisions:
        if each.wanted > max(most, each.stood):
            text = f"{each.who} asks for {each.wanted} pods: {most} can be of use"
            yield Violation(NAME, each.at, f"P9: {text}")


def _unknown(world: SizedOperatorWorld) -> Iterator[Violation]:
    for each in world.decisions:
        report = each.steps.scaling
        if report is None or each.wanted >= each.before:
            continue
        if report.decision.reason in _OF_BOUNDS:
            continue
        unknown = [p for p, known in each.lag.partitions.items() if known.lag.events is None]
        if unknown or set(each.lag.partitions) != set(world.partitions):
            text = f"{each.who} goes from {each.before} to {each.wanted} ({report.decision.reason})"
            yield Violation(NAME, each.at, f"P10: {text}, and of {unknown} the lag is not known")


def _one_writer(world: SizedOperatorWorld) -> Iterator[Violation]:
    for version, count in Counter(world.versions).items():
        if count > 1:
            text = f"P14: version {version} of the Deployment was written over {count} times"
            yield Violation(NAME, world.clock.now, text)


def _rests(world: SizedOperatorWorld) -> Iterator[Violation]:
    if world.cluster.replicas != world.sized.policy.min:
        text = f"{world.cluster.replicas} replicas are left when nothing has come for long"
        yield Violation(NAME, world.clock.now, text)
