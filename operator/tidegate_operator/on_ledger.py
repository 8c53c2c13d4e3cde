"""Carries out on the ledger what was decided: the roster, and the leases of the dead.

Rules:
- The roster is written before any lease is broken: who takes a partition is to know who leaves. A
  roster that is refused holds the leases back for that round alone, for the dead are waited for.
- Each write is fenced by an ETag. A roster that is refused once because somebody was quicker is not
  an error: the next listing shows theirs. One that is refused again although nobody has written it,
  such as for a lease on its blob, is told.
- What storage refuses is tried again after a pause that doubles; at once where the roster says
  something else, where the listing shows another one or is back after a failure of its own, and
  where the ledger is opened with other credentials. Until then it goes on being told.
"""

from __future__ import annotations

from tidegate.ports import Break, LedgerError, Refusal, WriteRoster
from tidegate_operator.edges import Edges, Notes, Seen, Unwritten, failure_since
from tidegate_operator.ledgers import failure_of
from tidegate_operator.model import Failure, LedgerTrouble, Steps

_ROSTER = "roster"
_QUICKER = frozenset((Refusal.CHANGED, Refusal.EXISTS, Refusal.HELD, Refusal.MISSING))


async def on_ledger(edges: Edges, seen: Seen, notes: Notes, steps: Steps) -> tuple[Failure, ...]:
    """What could not be done. Raises NotLeadingError."""
    _begin(seen, notes, steps)
    if steps.roster is not None:
        is_tried = notes.tries.held(_ROSTER, _about(notes, steps), edges.now()) is None
        is_written = await _write_roster(edges, seen, notes, steps)
        if is_tried and not is_written:
            return _told(notes)
    return (*_told(notes), *await _break_leases(edges, seen, steps))


def roster_pause_s(edges: Edges, notes: Notes) -> float:
    """For how long a roster that was refused need not be looked at again."""
    refused = notes.tries.refused(_ROSTER)
    if notes.unwritten is None or refused is None:
        return 0.0
    return refused.not_before - edges.now()


def _begin(seen: Seen, notes: Notes, steps: Steps) -> None:
    """Forgets a refusal that says nothing any more."""
    observation = seen.observation
    if any(failure.reason in tuple(LedgerTrouble) for failure in observation.failures):
        # Told by itself. A ledger that can be listed again may be one that can be written again.
        notes.tries.forget(_ROSTER)
        notes.unwritten = None
    asked_at = observation.ledger.asked_at if observation.ledger is not None else None
    unwritten = notes.unwritten
    if steps.roster is None and unwritten is not None and unwritten.asked_at != asked_at:
        # On a newer listing there is nothing to write.
        notes.tries.forget(_ROSTER)
        notes.unwritten = None


def _about(notes: Notes, steps: Steps) -> object:
    """With the ETag of the roster that was seen, which is in the one that is to be written."""
    return steps.roster, notes.opened_with


async def _write_roster(edges: Edges, seen: Seen, notes: Notes, steps: Steps) -> bool:
    """Whether it is written."""
    roster, observation = steps.roster, seen.observation
    assert roster is not None and observation.ledger is not None

    async def write() -> None:
        edges.may_act()
        await edges.ledgers.perform(observation.key, WriteRoster(roster, roster.etag))

    try:
        await notes.tries.run(_ROSTER, _about(notes, steps), write, edges.now, edges.dice)
    except LedgerError as problem:
        failure = _failure(notes, problem, observation.now)
        refused = notes.tries.refused(_ROSTER)
        is_again = refused is not None and refused.failures > 1
        is_told = is_again or problem.refusal not in _QUICKER
        notes.unwritten = Unwritten(failure, observation.ledger.asked_at) if is_told else None
        return False
    notes.unwritten = None
    return True


def _failure(notes: Notes, problem: LedgerError, now: float) -> Failure:
    if problem.refusal not in _QUICKER:
        return failure_of(problem, now)
    reason = "RosterRefused"
    words = (
        f"the roster cannot be written, although nobody else has written it: {problem}. Until it "
        "can be, nobody is told to leave and nothing shrinks. If somebody holds a lease on its "
        "blob, break that lease"
    )
    return failure_since(notes, reason, words, now)


def _told(notes: Notes) -> tuple[Failure, ...]:
    if notes.unwritten is None:
        notes.troubles.pop("RosterRefused", None)
        return ()
    return (notes.unwritten.failure,)


async def _break_leases(edges: Edges, seen: Seen, steps: Steps) -> tuple[Failure, ...]:
    """Each was asked for on this listing alone; the next one shows what is left."""
    for step in steps.breaks:
        edges.may_act()
        try:
            await edges.ledgers.perform(seen.observation.key, Break(step.partition, step.etag))
        except LedgerError as problem:
            if problem.refusal not in _QUICKER:
                return (failure_of(problem, seen.observation.now),)
    return ()
