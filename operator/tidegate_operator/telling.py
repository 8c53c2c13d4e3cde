"""Tells people how a group is: the status of its ConsumerGroup, and Events.

Rules: the status is written only when it says something else, and whole. What cannot be written is
tried again with the next round, and holds nothing else up. An Event is told once.
"""

from __future__ import annotations

from tidegate.sources.start import Start
from tidegate_operator.edges import Edges, Notes, Seen
from tidegate_operator.events import events_of
from tidegate_operator.kinds import CONSUMER_GROUP
from tidegate_operator.kube_errors import Conflict, NotThere
from tidegate_operator.lag import lag_of_group
from tidegate_operator.model import Observation, Steps
from tidegate_operator.status import changed, status_of


async def tell(
    edges: Edges, observation: Observation, seen: Seen, steps: Steps, notes: Notes
) -> None:
    """`observation` has all failures, also those of acting. Raises KubeError."""
    lag = notes.lag if notes.lag is not None else lag_of_group(observation, Start(), None)
    # After a start, what stands there is what was told last.
    before = notes.told if notes.told is not None else seen.document.get("status") or None
    written = notes.written if notes.written is not None else before
    status = status_of(observation, steps, lag, before)
    age_s = observation.now - notes.written_at
    is_written = not changed(written, status, age_s=age_s)
    if not is_written:
        edges.may_act()
        key = observation.key
        try:
            await edges.kube.patch_status(
                CONSUMER_GROUP, key.namespace, key.name, status, uid=seen.uid
            )
        except (Conflict, NotThere):
            # It is another one by now, or gone: the watch will say so.
            return
        notes.written, notes.written_at = status, observation.now
    events = events_of(before, status, notes.steps, steps)
    notes.told, notes.steps = status, steps
    for event in events:
        edges.may_act()
        await edges.herald.tell(
            seen.document, kind=event.kind, reason=event.reason, note=event.note
        )
