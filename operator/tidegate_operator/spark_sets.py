"""The StatefulSets of a group on Spark, and why Kubernetes makes none of their pods.

Rules: Spark makes them, without a label by which they could be watched or listed; each is read by
its name, which the driver's note and the executors' pods say. That is a request for each driver of
a group on Spark, and none for any other. It is made again where a pod is another, where something
was written, and now and then besides. A StatefulSet does not say itself why its pods are refused:
its Events do, which are asked for only where pods are missing.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial

from tidegate_operator.edges import Edges, Notes
from tidegate_operator.executors import (
    KnownSets,
    Missing,
    SetFacts,
    note_of,
    set_facts,
    set_name,
)
from tidegate_operator.kinds import EVENT, STATEFUL_SET, Document
from tidegate_operator.model import GroupKey, PodFacts

# What was read counts for so long, if nothing says that it has changed.
COUNTS_S = 10.0
# Pods take a moment to be made.
_MISSING_S = 5.0


async def sets_of(
    edges: Edges,
    key: GroupKey,
    notes: Notes,
    drivers: Sequence[PodFacts],
    executors: Collection[PodFacts],
) -> tuple[SetFacts, ...]:
    """All that are known of. Raises KubeError."""
    named = {set_name(note.application) for note in map(note_of, drivers) if note.application}
    named |= {pod.spark.made_in for pod in executors if pod.spark is not None}
    about = (frozenset(named), frozenset(pod.uid for pod in executors))
    known = notes.sets
    if known is not None and known.about == about and 0 <= edges.now() - known.at < COUNTS_S:
        return known.sets
    ask = partial(_read, edges, key, sorted(named - {""}))
    found = await notes.tries.run("StatefulSets", about, ask, edges.now, edges.dice)
    notes.sets = KnownSets(about, edges.now(), found)
    return found


async def _read(edges: Edges, key: GroupKey, names: Sequence[str]) -> tuple[SetFacts, ...]:
    found = [await edges.kube.find(STATEFUL_SET, key.namespace, name) for name in names]
    return tuple(set_facts(each) for each in found if each is not None)


async def why_missing(
    edges: Edges,
    key: GroupKey,
    notes: Notes,
    standing: SetFacts | None,
    executors: Collection[PodFacts],
) -> str:
    """Why Kubernetes makes no more of its pods; '' where it does, or says nothing. Raises
    KubeError."""
    made = 0 if standing is None else sum(pod.made_by == standing.uid for pod in executors)
    if standing is None or made >= standing.replicas:
        notes.missing = None
        return ""
    known, now = notes.missing, edges.now()
    if known is None or known.uid != standing.uid:
        known = notes.missing = Missing(standing.uid, now)
    if now - known.since < _MISSING_S or 0 <= now - known.asked_at < COUNTS_S:
        return known.said
    fields = f"involvedObject.uid={standing.uid},reason=FailedCreate"
    ask = partial(edges.kube.list, EVENT, key.namespace, fields=fields)
    events = await notes.tries.run("Events", standing.uid, ask, edges.now, edges.dice)
    newest = max(events, key=_at, default=None)
    said = str(newest.get("message") or newest.get("note") or "") if newest is not None else ""
    notes.missing = Missing(standing.uid, known.since, now, said)
    return said


def _at(event: Document) -> str:
    """Its time; all are written in one way."""
    series = event.get("series") or {}
    return str(
        series.get("lastObservedTime") or event.get("lastTimestamp") or event.get("eventTime") or ""
    )
