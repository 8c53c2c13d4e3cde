"""The operator in one sentence: observe -> decide -> render -> apply, and tell.

Rules: one round of one group; rounds of a group never overlap. What decides, renders and tells is
pure; what observes, applies and writes the status is in modules of its own.
"""

from __future__ import annotations

from dataclasses import replace

from tidegate_operator.acting import act
from tidegate_operator.decide import steps as decide
from tidegate_operator.edges import Edges, Notes
from tidegate_operator.letting_go import let_go
from tidegate_operator.model import GroupKey, Steps
from tidegate_operator.observe import observe
from tidegate_operator.rendering import render
from tidegate_operator.telling import tell
from tidegate_operator.workers import Round


async def reconcile(edges: Edges, key: GroupKey, notes: Notes) -> Round:
    """One round."""
    seen = await observe(edges, key, notes)
    if seen is None:
        return Round(0.0, is_over=True)
    notes.seen = seen
    letting_go = await let_go(edges, seen)
    if letting_go is not None:
        await tell(edges, seen.observation, seen, Steps(), notes)
        return letting_go
    steps = Steps()
    if seen.spec is not None:
        steps, notes.decided = decide(seen.observation, notes.decided)
    manifests, impossible = render(edges.settings, seen, notes)
    failures = await act(edges, seen, notes, steps, manifests)
    failures = (*seen.observation.failures, *impossible, *failures)
    await tell(edges, replace(seen.observation, failures=failures), seen, steps, notes)
    return Round(steps.again_s)
