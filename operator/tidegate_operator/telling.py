"""Tells people how a group is: the status of its ConsumerGroup, and Events.

Rules:
- The status is written only when it says something else, and whole.
- What cannot be written is counted and logged, and tried again after a pause of its own. It fails
  no round and delays none by more than a moment: the group is decided on at its tick all the same.
- A write is fenced: it carries the resourceVersion that was seen before it was asked whether this
  operator leads. So what an earlier leader sends late is refused once a newer one has written. One
  that comes before that is put right by the newer leader's next look: a status that stands and is
  not the one that it wrote is written over, whatever it says.
- An Event is told once. One that cannot be written waits for ten minutes, and then is given up.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidegate.sources.start import Start
from tidegate_operator.edges import Edges, Notes, Seen, Unsaid, Wrote
from tidegate_operator.events import events_of
from tidegate_operator.kinds import CONSUMER_GROUP, Document
from tidegate_operator.kube_errors import Conflict, KubeError, NotThere
from tidegate_operator.lag import lag_of_group
from tidegate_operator.model import Observation, Steps
from tidegate_operator.patience import patience
from tidegate_operator.status import NOTABLE_EVERY_S, due_after_s, status_of

UNSAID_S, UNSAID_AT_MOST = 600.0, 32
# Most of a status. What stands in the ConsumerGroup has them; they are not remembered besides.
_LONG = "partitionStates"


async def tell(
    edges: Edges, observation: Observation, seen: Seen, steps: Steps, notes: Notes
) -> None:
    """`observation` has all failures, also those of acting. Raises NotLeadingError."""
    lag = notes.lag if notes.lag is not None else lag_of_group(observation, Start(), None)
    before = _before(seen, notes)
    is_container = seen.spec is not None and seen.spec.source.cosmos is not None
    source = "cosmos" if is_container else "eventhubs"
    status = status_of(observation, steps, lag, before, source)
    due_s = _due_in_s(seen, notes, status, observation.now)
    notes.tell_in_s = due_s if due_s is not None and 0.0 < due_s <= NOTABLE_EVERY_S else None
    if due_s is not None and due_s <= 0.0:
        is_there = await _write(edges, seen, notes, status)
        if not is_there:
            return
    events, notes.passing = events_of(
        before, status, notes.steps, steps, notes.passing, observation.now
    )
    notes.told = {name: said for name, said in status.items() if name != _LONG}
    notes.steps = steps
    notes.unsaid += tuple(Unsaid(event, observation.now) for event in events)
    if notes.unsaid:
        await _say(edges, seen, notes)


def _before(seen: Seen, notes: Notes) -> Mapping[str, Any] | None:
    """What was told last; after a start that is what stands there."""
    stands: Mapping[str, Any] | None = seen.document.get("status") or None
    if notes.told is None or stands is None or _LONG not in stands:
        return stands if notes.told is None else notes.told
    return {**notes.told, _LONG: stands[_LONG]}


def _due_in_s(seen: Seen, notes: Notes, status: Mapping[str, Any], now: float) -> float | None:
    """Seconds until the status must be written: 0 is now, None is never."""
    wrote, stands = notes.wrote, seen.document.get("status")
    if wrote is None:
        return None if due_after_s(stands or None, status) is None else 0.0
    if seen.version != wrote.over and stands != wrote.stands:
        # The watch has told of another status than ours: somebody has written over it.
        return 0.0
    after_s, age_s = due_after_s(wrote.status, status), now - wrote.at
    # A clock that was set back would keep it unwritten for as long.
    return None if after_s is None else max(after_s - age_s, 0.0) if age_s >= 0 else 0.0


async def _write(edges: Edges, seen: Seen, notes: Notes, status: Document) -> bool:
    """Writes it if it is time; whether the group is still there, as far as that is known."""
    key = seen.observation.key
    # A spec that was changed is worth a try at once; the status itself changes all the time.
    about = (seen.uid, seen.observation.generation)
    if notes.tries.held("status", about, edges.now()) is not None:
        return True
    edges.may_act()
    try:
        found = await notes.tries.run(
            "status", about, lambda: _patched(edges, seen, notes, status), edges.now, edges.dice
        )
    except (Conflict, NotThere):
        # It is another one by now, or gone: the watch will say so.
        return False
    except KubeError as problem:
        edges.untold.failed(key, problem)
        return True
    edges.untold.written(key)
    version, stands = str(found["metadata"]["resourceVersion"]), found.get("status")
    if stands == status:
        # Kept once, not twice: see the cache.
        stands = status
        edges.cache.tell(key, status)
    notes.wrote = Wrote(seen.version, version, stands, status, seen.observation.now)
    return True


async def _patched(edges: Edges, seen: Seen, notes: Notes, status: Document) -> Document:
    """The ConsumerGroup as it is with this status. Raises KubeError."""
    key, wrote = seen.observation.key, notes.wrote
    # Of our own last write the watch may not have told yet.
    is_told = wrote is None or wrote.over != seen.version
    version = seen.version if wrote is None or is_told else wrote.version
    async with patience(f"write the status of ConsumerGroup {key}"):
        try:
            return await _patch(edges, seen, status, version)
        except Conflict:
            newest = await edges.kube.find(CONSUMER_GROUP, key.namespace, key.name)
            if newest is None or newest["metadata"]["uid"] != seen.uid:
                raise
        # Something else of it was changed, or a watch is late. What stands was seen first, and
        # then it is asked whether this operator leads: a newer leader's write is not written over.
        edges.may_act()
        return await _patch(edges, seen, status, str(newest["metadata"]["resourceVersion"]))


async def _patch(edges: Edges, seen: Seen, status: Document, version: str) -> Document:
    key = seen.observation.key
    return await edges.kube.patch_status(
        CONSUMER_GROUP, key.namespace, key.name, status, uid=seen.uid, resource_version=version
    )


async def _say(edges: Edges, seen: Seen, notes: Notes) -> None:
    """Events, the oldest first, until one cannot be written."""
    now, waiting = edges.now(), notes.unsaid
    young = [each for each in waiting if now - each.at <= UNSAID_S]
    notes.unsaid = tuple(young[-UNSAID_AT_MOST:])
    edges.untold.events_lost += len(waiting) - len(notes.unsaid)
    if notes.tries.held("events", seen.uid, now) is not None:
        return

    async def say() -> None:
        async with patience(f"write Events of ConsumerGroup {seen.observation.key}"):
            while notes.unsaid:
                edges.may_act()
                event, at = notes.unsaid[0].event, notes.unsaid[0].at
                await edges.herald.write(seen.document, event.kind, event.reason, event.note, at)
                notes.unsaid = notes.unsaid[1:]

    try:
        await notes.tries.run("events", seen.uid, say, edges.now, edges.dice)
    except KubeError as problem:
        edges.herald.failed(seen.document, problem)
