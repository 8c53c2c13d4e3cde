"""What must hold of an operator's acts, beside P1 to P8 for the group that it serves.

- P10 and rule 10: no pod is taken by a shrink while it holds a partition that somebody could have.
- Rule 9: no lease is broken of a process that lives.
- P8: it converges to as many pods as are wanted, of one revision; then nothing is written.
- P14: of two operators that read one and the same roster, or Deployment, one writes.
"""

from __future__ import annotations

from collections.abc import Iterator

from simulation.facts import Violation
from simulation.history import KILLED, STOPPED, Did, Lived
from simulation.operator_loop import WHO
from simulation.operator_world import OperatorWorld
from tidegate.ports import Break, WriteOwnership, WriteRoster

NAME = "OPERATOR"
TAKEN = "was taken by a shrink"
_CALM_S = 15.0
_PATIENCE_S = 30.0


def check(world: OperatorWorld) -> list[Violation]:
    """Every violation, in order of time."""
    found = [*_victims(world), *_broken(world), *_converged(world), *_one_writer(world)]
    return sorted(found, key=lambda violation: violation.at)


def _victims(world: OperatorWorld) -> Iterator[Violation]:
    limit_s = world.wish.hand_over_limit_s + _PATIENCE_S - 2.0
    for stopped in world.journal.stopped:
        if stopped.why != "scaled" or not stopped.held or not stopped.has_takers:
            continue
        if stopped.told_s < limit_s:
            text = f"{stopped.name} {TAKEN} with {', '.join(stopped.held)} in hand"
            yield Violation(NAME, stopped.at, f"{text}, told {stopped.told_s:.1f} s before")


def _broken(world: OperatorWorld) -> Iterator[Violation]:
    owners: dict[str, str] = {}
    dead: set[str] = set()
    for record in world.records:
        if isinstance(record, Lived) and record.what in (KILLED, STOPPED):
            dead.add(record.who)
        if not isinstance(record, Did) or record.refusal is not None:
            continue
        if isinstance(record.operation, WriteOwnership):
            owners[record.operation.partition] = record.who
        elif isinstance(record.operation, Break) and record.who.startswith(WHO):
            owner = owners.get(record.operation.partition)
            if owner is not None and owner not in dead:
                text = f"the lease of {record.operation.partition} was broken, and {owner} lives"
                yield Violation(NAME, record.at, text)


def _converged(world: OperatorWorld) -> Iterator[Violation]:
    now, cluster = world.clock.now, world.cluster
    pods = [pod for pod in cluster.pods.values() if pod.is_active and pod.revision]
    if len(pods) != world.wanted or cluster.replicas != world.wanted:
        text = f"{len(pods)} pods, {cluster.replicas} replicas, {world.wanted} wanted"
        yield Violation(NAME, now, text)
    if {pod.revision for pod in pods} - {cluster.revision}:
        yield Violation(NAME, now, "there are pods of an old revision")
    for record in world.records:
        if isinstance(record, Did) and isinstance(record.operation, WriteRoster):
            if record.at > now - _CALM_S:
                yield Violation(NAME, record.at, f"{record.who} still writes the roster")
    for at, who, replicas in world.journal.scaled:
        if at > now - _CALM_S:
            yield Violation(NAME, at, f"{who} still writes {replicas} replicas")


def _one_writer(world: OperatorWorld) -> Iterator[Violation]:
    """Each roster that stood was written over once."""
    seen: set[str] = set()
    for record in world.records:
        if isinstance(record, Did) and isinstance(record.operation, WriteRoster):
            etag = record.operation.etag
            if record.refusal is None and etag in seen:
                yield Violation(NAME, record.at, f"roster {etag} was written over twice")
            if record.refusal is None:
                seen.add(etag)
