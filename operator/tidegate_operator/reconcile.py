"""The operator in one sentence: observe -> decide -> render -> apply, and tell.

Rules: one round of one group; rounds of a group never overlap. What decides, renders and tells is
pure; what observes, applies and writes the status is in modules of its own.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from tidegate_operator.acting import act
from tidegate_operator.decide import steps as decide
from tidegate_operator.edges import Edges, Notes, Seen
from tidegate_operator.kinds import Document
from tidegate_operator.letting_go import let_go
from tidegate_operator.model import Failure, GroupKey, Observation, Steps, is_silent
from tidegate_operator.observe import observe
from tidegate_operator.on_ledger import roster_pause_s
from tidegate_operator.rendering import render
from tidegate_operator.settings import OperatorSettings
from tidegate_operator.telling import tell
from tidegate_operator.workers import Round

# Members report their figures within seconds after a silence of storage. Until then the lag is
# unknown, and the next look comes sooner than that of a settled group.
_CATCH_UP_S, _CATCH_UP_EVERY_S = 6.0, 1.5


async def reconcile(edges: Edges, key: GroupKey, notes: Notes) -> Round:
    """One round."""
    seen = await observe(edges, key, notes)
    if seen is None:
        return Round(0.0, is_over=True)
    if notes.seen is not None and _is_silent(notes.seen) and not _is_silent(seen):
        notes.answered_at = seen.observation.now
    notes.seen = seen
    if seen.observation.is_deleting:
        ended, failures = await let_go(edges, seen, notes)
        await tell(edges, _with(seen.observation, failures), seen, Steps(), notes)
        return ended
    steps = _decided(notes, seen.observation) if seen.spec is not None else Steps()
    edges.cache.taken_in(key, seen.observation.gone)
    manifests, impossible = render(edges.settings, edges.alike, seen, notes, steps.wanted)
    if manifests is not None and not _is_next(edges, seen, manifests):
        manifests, steps = None, replace(steps, doing=_waiting(steps.doing, edges.settings))
    failures = await act(edges, seen, notes, steps, manifests, partial(_decided, notes))
    await tell(edges, _with(seen.observation, (*impossible, *failures)), seen, steps, notes)
    # What is refused is no reason to look often.
    again_s = max(steps.again_s, min(roster_pause_s(edges, notes), Steps().again_s))
    sooner = (_CATCH_UP_EVERY_S if _catches_up(seen, notes) else None, notes.tell_in_s)
    return Round(min([again_s, *(each for each in sooner if each is not None)]))


def _is_silent(seen: Seen) -> bool:
    view = seen.observation.ledger
    return view is not None and is_silent(view.unanswered_since, seen.observation.now)


def _catches_up(seen: Seen, notes: Notes) -> bool:
    """Whether storage answers again, and members have not reported their figures since."""
    is_recent = 0.0 <= seen.observation.now - notes.answered_at < _CATCH_UP_S
    return is_recent and notes.lag is not None and notes.lag.has_unknown


def _with(observation: Observation, failures: tuple[Failure, ...]) -> Observation:
    return replace(observation, failures=(*observation.failures, *failures))


def _is_next(edges: Edges, seen: Seen, manifests: tuple[Document, ...]) -> bool:
    """Whether it is this group's turn, where an upgrade of the operator replaces its pods."""
    key, most = seen.observation.key, edges.settings.rollouts_at_once
    return edges.turns.is_next(edges.cache, key, manifests, edges.now(), most)


def _waiting(doing: str, settings: OperatorSettings) -> str:
    said = (
        "the operator was upgraded and will replace the pods: this group waits for its turn, "
        f"{settings.rollouts_at_once} groups at once (--rollouts-at-once)"
    )
    return f"{doing}; {said}" if doing else said


def _decided(notes: Notes, observation: Observation) -> Steps:
    steps, notes.decided = decide(observation, notes.decided, notes.lag)
    return steps
