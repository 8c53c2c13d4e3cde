"""Whether an object still says what we applied, and whose it is. Pure.

Rules: only the fields that we write are compared; what others add, such as a sidecar, a restart's
annotation or a default, is theirs and stays. Things in lists are compared with those of the same
name, in whatever order. An object that is there and not the group's is never written.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tidegate_operator.engines.inputs import GROUP_LABEL, MANAGED_BY, OPERATOR, PREFIX
from tidegate_operator.kinds import CONSUMER_GROUP, Document, ObjectName, name_of
from tidegate_operator.merge import key_of
from tidegate_operator.model import GroupKey

# Says which manifest was applied last, so that a field that is no longer in it is noticed.
APPLIED = f"{PREFIX}applied"


@dataclass(frozen=True, slots=True)
class Order:
    """One manifest of a group, as it is to stand."""

    key: GroupKey
    uid: str
    name: ObjectName
    print: str
    # With its print in it; and what of it is compared.
    wanted: Document
    compared: Document
    # Those of a Deployment that is not there yet.
    replicas: int


def order_of(key: GroupKey, uid: str, manifest: Document, replicas: int) -> Order:
    """What is to be done of a manifest."""
    mark = fingerprint(manifest)
    wanted = stamped(manifest, mark)
    # A watch does not always say of what kind its objects are.
    compared = {part: said for part, said in wanted.items() if part not in {"apiVersion", "kind"}}
    return Order(key, uid, name_of(manifest), mark, wanted, compared, replicas)


def over(wanted: Document, live: Document) -> Document:
    """A manifest that is taken only by the object that was seen."""
    version = live["metadata"]["resourceVersion"]
    return {**wanted, "metadata": {**wanted["metadata"], "resourceVersion": version}}


def fingerprint(value: Any) -> str:
    """Another one where anything in it is another."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def stamped(manifest: Document, print_of_it: str) -> Document:
    """The manifest as it is applied."""
    metadata = manifest["metadata"]
    annotations = {**metadata.get("annotations", {}), APPLIED: print_of_it}
    return {**manifest, "metadata": {**metadata, "annotations": annotations}}


def unborn(deployment: Document) -> Document:
    """A Deployment as it is made first: it makes no pods until its replicas are right.

    It says of no manifest that it was applied, so that whoever comes after a crash goes on.
    """
    return stamped({**deployment, "spec": {**deployment["spec"], "paused": True}}, "")


def is_unborn(live: Mapping[str, Any]) -> bool:
    """Whether a Deployment is still as it was made first."""
    metadata = live["metadata"]
    said = (metadata.get("generation"), metadata.get("annotations", {}).get(APPLIED))
    return said == (1, "")


def is_as_applied(live: Document, wanted: Document) -> bool:
    """Whether an object says all that a stamped manifest says."""
    return fingerprint(said_of(live, wanted)) == fingerprint(wanted)


def said_of(live: Any, wanted: Any, name: str = "") -> Any:
    """What an object says where the manifest says something."""
    if isinstance(wanted, Mapping) and isinstance(live, Mapping):
        return {key: said_of(live.get(key), value, key) for key, value in wanted.items()}
    if isinstance(wanted, list) and isinstance(live, list):
        keys = [key_of(name, item) for item in wanted]
        if wanted and None not in keys:
            found = {key_of(name, item): item for item in live}
            return [said_of(found.get(key), item) for key, item in zip(keys, wanted, strict=True)]
        if len(live) == len(wanted):
            return [said_of(*pair) for pair in zip(live, wanted, strict=True)]
    return live


def sign_of(order: Order, live: Document | None) -> object:
    """What changes when an object is another by now, or says something else.

    A Deployment's status is not in it: its controller writes that all the time.
    """
    if live is None:
        return None
    metadata = live["metadata"]
    said = fingerprint(said_of(live, order.compared))
    return metadata.get("uid"), metadata.get("generation"), said


def taken_by(live: Document, key: GroupKey, uid: str) -> str:
    """Whose an object is that is there, in words; '' where it is the group's, or may become so.

    What an earlier group of the same name has left without an owner is taken on.
    """
    metadata = live["metadata"]
    for owner in metadata.get("ownerReferences") or ():
        if owner.get("controller"):
            if owner.get("uid") == uid:
                return ""
            if (owner.get("kind"), owner.get("name")) == (CONSUMER_GROUP.name, key.name):
                return "an earlier group of this name, and is still being deleted"
            return f"{owner.get('kind')} {owner.get('name')}"
    labels = metadata.get("labels") or {}
    is_ours = labels.get(MANAGED_BY) == OPERATOR and labels.get(GROUP_LABEL) == key.name
    return "" if is_ours else "somebody else"


def is_owned(live: Document, uid: str) -> bool:
    """Whether the group of this uid is its controller."""
    owners = live["metadata"].get("ownerReferences") or ()
    return any(owner.get("controller") and owner.get("uid") == uid for owner in owners)


def other_writers(live: Document, manager: str) -> str:
    """Who else has written fields of an object, in words."""
    fields = live["metadata"].get("managedFields") or ()
    others = {str(field.get("manager")) for field in fields} - {manager, "None"}
    return ", ".join(sorted(others)) or "somebody"
