"""Everything that is known of a group at one moment: from the watches, its Secrets, its ledger.

Rules: whatever cannot be had is a Failure with its reason, and what was had before goes on being
used where that is safe: a spec, credentials, a listing that says itself how old it is. The facts of
Kubernetes are taken last, so that they are the newest.
"""

from __future__ import annotations

from tidegate.commands.rosters import is_anybody_alive
from tidegate.settings import SettingsError
from tidegate.sources.start import Start
from tidegate_operator.behind import with_wholes
from tidegate_operator.cache import Known
from tidegate_operator.edges import Edges, Notes, Seen
from tidegate_operator.engines.inputs import GROUP_LABEL
from tidegate_operator.facts import newest_revision, revision_number, workload_facts
from tidegate_operator.kinds import REPLICA_SET, Document
from tidegate_operator.kube_errors import KubeError
from tidegate_operator.lag import lag_of_group
from tidegate_operator.model import (
    Ends,
    Failure,
    GroupKey,
    LedgerView,
    Observation,
    Steps,
    Wish,
    WorkloadFacts,
)
from tidegate_operator.secrets import Sight, lacking_file
from tidegate_operator.spec import OperatorSpec, read_spec, secrets_of, wish_of


async def observe(edges: Edges, key: GroupKey, notes: Notes) -> Seen | None:
    """None where there is no ConsumerGroup any more."""
    document = edges.cache.known(key).document
    if document is None:
        return None
    spec, failures = _spec(document, notes, edges.now())
    sight: Sight | None = None
    view: LedgerView | None = None
    ends: Ends | None = None
    if spec is not None:
        config_map = spec.handler.config_map
        sight = await edges.secrets.look(key.namespace, notes.secrets, config_map)
        failures += sight.failures
        failures += _open(edges, key, notes, spec, sight)
        is_settled = _is_settled(edges.cache.known(key), notes)
        view, trouble = await edges.ledgers.look(key, is_settled=is_settled)
        view = await with_wholes(edges.ledgers, key, view, notes.lag, notes.wholes, edges.now())
        failures += (trouble,) if trouble is not None else ()
    if notes.setup is not None:
        is_alive = view is not None and is_anybody_alive(view.listing)
        ends, trouble = edges.hubs.look(key, notes.setup, is_anybody_alive=is_alive)
        failures += (trouble,) if trouble is not None else ()
    deployment = edges.cache.known(key).deployment
    workload = await _workload(edges, key, notes, deployment)
    known = edges.cache.known(key)
    document = known.document or document
    observation = Observation(
        key=key,
        generation=int(document["metadata"].get("generation") or 0),
        wish=wish_of(spec) if spec is not None else Wish(),
        workload=workload,
        pods=tuple(known.pods.values()),
        ledger=view,
        now=edges.now(),
        ends=ends,
        failures=failures,
        is_deleting=bool(document["metadata"].get("deletionTimestamp")),
        said=(document.get("status") or {}).get("scaling"),
    )
    start = spec.source.event_hubs.start if spec is not None else Start()
    notes.lag = lag_of_group(observation, start, before=notes.lag)
    return Seen(
        observation=observation,
        document=document,
        deployment=deployment,
        spec=spec,
        sight=sight,
        can_be_rendered=not notes.troubles.keys() & {"SpecInvalid", "SettingsInvalid"},
    )


def _is_settled(known: Known, notes: Notes) -> bool:
    """Whether nothing was going on, and the watches have told of nothing since."""
    seen = notes.seen
    return (
        seen is not None
        and notes.steps is not None
        and notes.steps.again_s >= Steps().again_s
        and seen.document is known.document
        and seen.deployment is known.deployment
        and seen.observation.pods == tuple(known.pods.values())
    )


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
            notes.spec = read_spec(document)
            notes.secrets = secrets_of(notes.spec)
        except SettingsError as problem:
            notes.spec_problem = problem
    if notes.spec_problem is None:
        notes.troubles.pop("SpecInvalid", None)
        return notes.spec, ()
    since = notes.troubles.setdefault("SpecInvalid", now)
    return notes.spec, (Failure("SpecInvalid", str(notes.spec_problem), since),)


def _open(
    edges: Edges, key: GroupKey, notes: Notes, spec: OperatorSpec, sight: Sight
) -> tuple[Failure, ...]:
    """Opens the group's ledger, where everything that it takes is there."""
    made_of = (notes.read, sight.versions)
    if sight.failures or (notes.opened_with == made_of and "SettingsInvalid" not in notes.troubles):
        return ()
    lacking = lacking_file(spec.ledger.ca_file, "spec.ledger.caFile")
    try:
        if lacking:
            raise SettingsError(lacking)
        notes.setup = sight.setup_of(key.name, spec)
    except SettingsError as problem:
        since = notes.troubles.setdefault("SettingsInvalid", edges.now())
        return (Failure("SettingsInvalid", str(problem), since),)
    notes.troubles.pop("SettingsInvalid", None)
    edges.ledgers.open(key, notes.setup)
    notes.opened_with = made_of
    return ()


async def _workload(
    edges: Edges, key: GroupKey, notes: Notes, deployment: Document | None
) -> WorkloadFacts | None:
    if deployment is None:
        return None
    wanted = (deployment["metadata"]["uid"], revision_number(deployment))
    if not notes.revision or notes.revision_of != wanted:
        try:
            labels = f"{GROUP_LABEL}={key.name}"
            sets = await edges.kube.list(REPLICA_SET, key.namespace, labels=labels)
        except KubeError:
            # Which pods are old is not known; then none is told to leave.
            return workload_facts(deployment, "")
        notes.revision, notes.revision_of = newest_revision(deployment, sets), wanted
    return workload_facts(deployment, notes.revision)
