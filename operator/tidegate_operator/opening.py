"""How a group's ledger and source are opened, from what was read of it and of its Secrets.

Rules:
- The ledger is opened with what the ledger takes, whatever else of the group is missing: the
  roster, lag and the leases of the dead go on while a handler's ConfigMap is looked for.
- The names in a ledger begin with the host of the hub. Where that stands in a Secret that is not
  there, the group's Deployment still says which ledger its pods were made for.
- What cannot be opened leaves what is open as it is, but for a ledger that is another group's.
"""

from __future__ import annotations

from tidegate.commands.ledgers import LedgerPlace, ledger_place
from tidegate.commands.wiring import address_of, key_of, names_of, parts_of
from tidegate.group_file.spec import GroupFile
from tidegate.ledger.layout import GroupNames
from tidegate.settings import SettingsError
from tidegate_operator import claims
from tidegate_operator.claims import SHARED
from tidegate_operator.edges import Edges, Notes, failure_since
from tidegate_operator.identity import IdentityRefusedError
from tidegate_operator.ledgers import LedgerAt, place_of
from tidegate_operator.model import Failure, GroupKey
from tidegate_operator.secrets import LackingError, OperatorVault, Sight, lacking_file
from tidegate_operator.spec import OperatorSpec

_INVALID = "SettingsInvalid"
_REASONS = (_INVALID, SHARED, IdentityRefusedError.reason)


def open_group(
    edges: Edges, key: GroupKey, notes: Notes, spec: OperatorSpec, sight: Sight
) -> tuple[Failure, ...]:
    """Opens what can be opened. What is missing of the Secrets is in the sight, and not said."""
    made_of = (notes.read, dict(sight.hashes))
    if notes.opened_with == made_of and not notes.troubles.keys() & set(_REASONS):
        return ()
    lacking = lacking_file(spec.ledger.ca_file, "spec.ledger.caFile")
    if lacking:
        return (failure_since(notes, _INVALID, lacking, edges.now()),)
    failures: list[Failure] = []
    for step in (_open_ledger, _set_up_source):
        failure = step(edges, key, notes, spec, sight)
        failures += [failure] if failure is not None and failure not in failures else []
    told = {failure.reason for failure in failures}
    for reason in _REASONS:
        if reason not in told:
            notes.troubles.pop(reason, None)
    notes.opened_with = made_of
    return tuple(failures)


def _open_ledger(
    edges: Edges, key: GroupKey, notes: Notes, spec: OperatorSpec, sight: Sight
) -> Failure | None:
    def failure(reason: str, message: str) -> Failure:
        return failure_since(notes, reason, message, edges.now())

    try:
        at = ledger_of(key.name, spec, sight, claims.standing(edges.cache, key))
    except LackingError:
        return None
    except SettingsError as problem:
        return failure(_INVALID, str(problem))
    notes.ledger = place_of(at)
    first = edges.claims.whose(edges.cache, key, notes.ledger)
    if first != key:
        edges.ledgers.forget(key)
        return failure(SHARED, claims.message(first))
    try:
        edges.ledgers.open(key, at)
    except IdentityRefusedError as problem:
        edges.ledgers.forget(key)
        return failure(problem.reason, str(problem))
    return None


def _set_up_source(
    edges: Edges, key: GroupKey, notes: Notes, spec: OperatorSpec, sight: Sight
) -> Failure | None:
    try:
        notes.setup = sight.setup_of(key.name, spec)
    except LackingError:
        return None
    except SettingsError as problem:
        return failure_since(notes, _INVALID, str(problem), edges.now())
    return None


def ledger_of(name: str, spec: OperatorSpec, sight: Sight, standing: str) -> LedgerAt:
    """Where the ledger is, and how one is let in. Raises LackingError, SettingsError."""
    group, vault = GroupFile(name, spec), OperatorVault(sight.values)
    try:
        address, key = address_of(group, vault), key_of(group, vault)
    except LackingError:
        leases = spec.ledger.cosmos
        if leases is not None and leases.dialect is not None:
            raise  # they are of the source's container
        place = ledger_place(group, vault, "", "")
        return LedgerAt(place, _names_as_they_stood(place, *parts_of(group), standing))
    return LedgerAt(ledger_place(group, vault, address, key), names_of(group, address))


def _names_as_they_stood(place: LedgerPlace, hub: str, group: str, standing: str) -> GroupNames:
    """The names of the ledger that the pods were made for, if it is this one."""
    host = standing.removesuffix(f"/{hub}/{group}/".lower()).rpartition("/")[2]
    if host:
        names = GroupNames(host, hub, group)
        if place_of(LedgerAt(place, names)) == standing:
            return names
    raise LackingError("the host of the hub is not known")
