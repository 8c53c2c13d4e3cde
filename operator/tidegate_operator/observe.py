"""Everything that is known of a group at one moment: from the watches, its Secrets, its ledger.

Rules: whatever cannot be had is a Failure with its reason, and what was had before goes on being
used where that is safe: a spec, credentials, a listing that says itself how old it is. The facts of
Kubernetes are taken last, so that they are the newest.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

from tidegate.balance.listed import alive_members
from tidegate.commands.rosters import is_anybody_alive
from tidegate.ports.lineage import FLAT
from tidegate.settings import SettingsError
from tidegate.sources.start import Start
from tidegate_operator.behind import with_wholes
from tidegate_operator.cache import Known
from tidegate_operator.claims import SHARED
from tidegate_operator.edges import Edges, Notes, Seen
from tidegate_operator.kinds import Document
from tidegate_operator.lag import lag_of_group
from tidegate_operator.model import (
    Ends,
    Failure,
    GroupKey,
    LedgerView,
    Observation,
    PodFacts,
    Wish,
)
from tidegate_operator.opening import open_group
from tidegate_operator.own_pods import own_pods
from tidegate_operator.own_workload import workload_of
from tidegate_operator.secrets import Sight
from tidegate_operator.spec import OperatorSpec, read_spec_and_newer, secrets_of, wish_of

_log = logging.getLogger("tidegate.operator")


async def observe(edges: Edges, key: GroupKey, notes: Notes) -> Seen | None:
    """None where there is no ConsumerGroup any more."""
    document = edges.cache.known(key).document
    if document is None:
        return None
    spec, failures = _spec(document, notes, edges.now())
    others: tuple[Failure, ...] = ()
    sight: Sight | None = None
    view: LedgerView | None = None
    ends: Ends | None = None
    if spec is not None:
        config_map = spec.handler.config_map
        salt = str(document["metadata"]["uid"])
        sight = await edges.secrets.look(key.namespace, notes.secrets, config_map, salt)
        failures += sight.failures
        failures += open_group(edges, key, notes, spec, sight)
        is_settled = _is_settled(edges.cache.known(key), notes)
        view, _ = await edges.ledgers.look(key, is_settled=is_settled)
        view = await with_wholes(edges.ledgers, key, view, notes.lag, notes.wholes, edges.now())
    if notes.setup is not None:
        is_alive = view is not None and is_anybody_alive(view.listing)
        ends, trouble = edges.hubs.look(
            key,
            notes.setup,
            is_anybody_alive=is_alive,
            is_asleep=_is_asleep(notes),
            listing=view.listing if view is not None else None,
            unread_since=notes.lag.lonely_since if notes.lag is not None else None,
            is_missed=is_alive and notes.lag is not None and notes.lag.is_missed,
        )
        others += (trouble,) if trouble is not None else ()
    deployment = edges.cache.known(key).deployment
    alive = alive_members(view.listing) if view is not None else None
    workload = await workload_of(edges, key, notes, deployment, alive)
    others += workload.failures
    if spec is not None:
        # Storage may have fallen silent since it was asked.
        view, trouble = _as_it_stands(edges, key, view)
        failures += (trouble,) if trouble is not None else ()
    known = edges.cache.known(key)
    document = known.document or document
    observation = Observation(
        key=key,
        generation=int(document["metadata"].get("generation") or 0),
        wish=wish_of(spec) if spec is not None else Wish(),
        workload=workload.facts,
        pods=workload.pods,
        ledger=view,
        now=edges.now(),
        ends=ends,
        failures=(*failures, *others),
        is_deleting=bool(document["metadata"].get("deletionTimestamp")),
        said=(document.get("status") or {}).get("scaling"),
        spark=workload.spark,
        gone=own_pods(notes, tuple(known.gone.values())),
        lineage=spec.source.lineage if spec is not None else FLAT,
        commands=edges.settings.commands,
    )
    start = spec.source.start if spec is not None else Start()
    notes.lag = lag_of_group(observation, start, before=notes.lag)
    return Seen(
        observation=observation,
        document=document,
        workload=workload,
        told=_told(known),
        spec=spec,
        sight=sight,
        can_be_rendered=not notes.troubles.keys() & {"SpecInvalid", "SettingsInvalid", SHARED},
    )


def _as_it_stands(
    edges: Edges, key: GroupKey, view: LedgerView | None
) -> tuple[LedgerView | None, Failure | None]:
    """The view, with what is known now of whether storage answers."""
    newest, trouble = edges.ledgers.standing(key)
    if view is None or newest is None:
        return view, trouble
    return replace(view, unanswered_since=newest.unanswered_since), trouble


def _is_settled(known: Known, notes: Notes) -> bool:
    """Whether nothing was going on, and the watches have told of nothing since."""
    seen = notes.seen
    return (
        seen is not None
        and notes.steps is not None
        and notes.steps.is_settled
        and seen.document is known.document
        and seen.deployment is known.deployment
        and seen.told == _told(known)
    )


def _told(known: Known) -> tuple[PodFacts, ...]:
    """What the watch has told of pods, but for what drivers write of each batch."""
    return tuple(
        pod if pod.spark is None else replace(pod, spark=replace(pod.spark, note=""))
        for pod in known.pods.values()
    )


def _is_asleep(notes: Notes) -> bool:
    """Whether there are to be no pods before an event comes, which only the source can tell."""
    steps = notes.steps
    if steps is None or steps.scaling is None:
        return False
    return steps.scaling.wakes_by_lag and steps.wanted == 0


def _spec(
    document: Document, notes: Notes, now: float
) -> tuple[OperatorSpec | None, tuple[Failure, ...]]:
    """What the ConsumerGroup asks for; where it cannot be read, what it asked for before."""
    metadata = document["metadata"]
    read = (metadata["uid"], int(metadata.get("generation") or 0))
    if notes.read != read:
        if notes.read[0] != read[0]:
            notes.spec = notes.setup = None
        notes.read, notes.spec_problem = read, None
        try:
            notes.spec, newer = read_spec_and_newer(document)
            notes.secrets = secrets_of(notes.spec)
            _tell_of_newer(metadata, newer)
        except SettingsError as problem:
            notes.spec_problem = problem
    if notes.spec_problem is None:
        notes.troubles.pop("SpecInvalid", None)
        return notes.spec, ()
    since = notes.troubles.setdefault("SpecInvalid", now)
    return notes.spec, (Failure("SpecInvalid", str(notes.spec_problem), since),)


def _tell_of_newer(metadata: Document, newer: Sequence[str]) -> None:
    """Once for each change of the group, and not as a trouble of it: nobody can mend it there."""
    if newer:
        _log.warning(
            "%s/%s: %s: of a newer version than this operator, which does not do it. Upgrade the "
            "operator, or take it out.",
            metadata["namespace"], metadata["name"], ", ".join(newer),
        )  # fmt: skip
