"""Executors of Spark as the members that they are: from drivers, StatefulSets and pods. Pure.

Rules:
- A member is called by its driver's pod and the number that the driver has given to its executor,
  which Spark writes on the executor's pod. Until then the pod's own name keeps its place.
- A StatefulSet is the group's where one of its drivers controls it, whatever labels others carry.
- A driver runs one application in each life of its container. What an application leaves behind
  whose life has ended is for nobody: its StatefulSet would keep executors for as long as the pod
  stands. It is told by the driver's own note alone, and never by the age of anything.
- An executor goes with its driver. It is ready when its member has joined.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tidegate.model import MemberName
from tidegate_operator.breaks import is_of
from tidegate_operator.facts import APPLICATION_LABEL, controller_of
from tidegate_operator.kinds import Document
from tidegate_operator.model import PodFacts, SparkFacts, WorkloadFacts
from tidegate_operator.pod_nouns import DriverNote, SparkMarks
from tidegate_operator.rollout import is_live


@dataclass(frozen=True, slots=True)
class SetFacts:
    """A StatefulSet of executors."""

    name: str
    uid: str
    # The uid of the driver's pod.
    owner: str
    application: str
    replicas: int
    resource_version: str
    is_deleting: bool = False


@dataclass(frozen=True, slots=True)
class Crew:
    """Who there is of a group on Spark, and the StatefulSet that says how many executors."""

    workload: WorkloadFacts
    executors: tuple[PodFacts, ...]
    spark: SparkFacts
    standing: SetFacts | None


@dataclass(frozen=True, slots=True)
class KnownSets:
    """As they were read last."""

    about: object
    at: float
    sets: tuple[SetFacts, ...]


@dataclass(frozen=True, slots=True)
class Missing:
    """Pods that a StatefulSet does not have: since when, and what was said of it last."""

    uid: str
    since: float
    asked_at: float = float("-inf")
    said: str = ""


def set_name(application: str) -> str:
    """What Spark calls the StatefulSet of an application."""
    return f"spark-s-{application}-0"


def set_facts(document: Document) -> SetFacts:
    metadata, spec = document["metadata"], document["spec"]
    labels = (spec.get("selector") or {}).get("matchLabels") or {}
    return SetFacts(
        metadata["name"],
        metadata["uid"],
        controller_of(document),
        labels.get(APPLICATION_LABEL, ""),
        int(spec.get("replicas", 1)),
        metadata["resourceVersion"],
        bool(metadata.get("deletionTimestamp")),
    )


def note_of(driver: PodFacts) -> DriverNote:
    """What a driver says of itself; nothing where that cannot be read."""
    try:
        said = json.loads(driver.spark.note) if driver.spark is not None else {}
        batch = said.get("batch") or {}
        return DriverNote(
            application=str(said.get("applicationId") or ""),
            started_at=float(said.get("startedAt") or 0.0),
            phase=str(said.get("phase") or ""),
            executors=int(said.get("executors") or 0),
            failure=str(said.get("failure") or ""),
            batch_at=float(batch["at"]) if "at" in batch else None,
            batch_events=int(batch.get("events") or 0),
            batch_s=float(batch.get("seconds") or 0.0),
        )
    except (AttributeError, TypeError, ValueError, OverflowError, RecursionError):
        return DriverNote()


def crew_of(
    deployment: WorkloadFacts,
    told: int,
    drivers: Sequence[PodFacts],
    executors: Collection[PodFacts],
    sets: Collection[SetFacts],
    alive: Collection[MemberName] | None,
) -> Crew:
    """`told`: how many executors a driver begins with; `alive`: members, where that is known."""
    ordered = sorted(drivers, key=lambda pod: _newness(pod, deployment.revision), reverse=True)
    owners = {driver.uid: driver for driver in ordered}
    ours = {each.uid: each for each in sets if each.owner in owners}
    left = {uid for driver in ordered for uid in _left_behind(driver, ours.values())}
    standing = _standing([driver for driver in ordered if is_live(driver)], ours, left)
    replicas = told if standing is None else standing.replicas
    return Crew(
        workload=replace(deployment, replicas=replicas if deployment.replicas else 0),
        executors=tuple(
            _member(pod, owners[ours[pod.made_by].owner], alive, is_left=pod.made_by in left)
            for pod in executors
            if pod.made_by in ours
        ),
        spark=SparkFacts(
            tuple(ordered),
            next((note for note in map(note_of, ordered) if note.phase), DriverNote()),
            tuple((each.name, each.uid) for each in ours.values() if each.uid in left),
        ),
        standing=standing,
    )


def _newness(driver: PodFacts, revision: str) -> tuple[bool, bool, float, str]:
    return is_live(driver), driver.revision == revision, driver.created_at, driver.name


def _left_behind(driver: PodFacts, sets: Collection[SetFacts]) -> set[str]:
    """Of a driver whose pod stands: the uids of StatefulSets that it runs no more."""
    note, life = note_of(driver), driver.container
    if not note.started_at or not is_live(driver):
        return set()
    its = [each for each in sets if each.owner == driver.uid and not each.is_deleting]
    if life.last_end is not None and is_of(life.last_end, note.started_at):
        return {each.uid for each in its if each.application == note.application}
    is_current = life.running is not None and note.started_at >= life.running.since
    if not is_current or not note.application:
        return set()
    return {each.uid for each in its if each.application != note.application}


def _standing(
    drivers: Sequence[PodFacts], ours: dict[str, SetFacts], left: Collection[str]
) -> SetFacts | None:
    """The StatefulSet of the newest driver that has one."""
    for driver in drivers:
        its = [
            each
            for each in ours.values()
            if each.owner == driver.uid and each.uid not in left and not each.is_deleting
        ]
        if its:
            application = note_of(driver).application
            return max(its, key=lambda each: (each.application == application, each.name))
    return None


def _member(
    pod: PodFacts, driver: PodFacts, alive: Collection[MemberName] | None, *, is_left: bool
) -> PodFacts:
    """An executor as a member."""
    marks = pod.spark or SparkMarks()
    name = f"{driver.name}-x{marks.number}" if marks.number else pod.name
    changes: dict[str, Any] = {
        "name": name,
        "pod_name": pod.name,
        "revision": driver.revision,
        "is_deleting": pod.is_deleting or is_left or not is_live(driver),
        "is_ready": pod.is_ready and (alive is None or name in alive),
    }
    return replace(pod, **changes)
