"""The pod template of a group: the user's merged over ours, and what may not be changed in it.

Rules: pure. What members, the operator and Kubernetes know a consumer by stays as it is: its
labels, its arguments, its name and lease file, what it reads and where, who restarts it. What has
a place in `spec` is written there and not in the template. A change that would break the group is
refused before anything is applied, with what to write instead.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tidegate_operator.engines.inputs import PREFIX, RenderInput, labels_of
from tidegate_operator.engines.pod import (
    CONFIGURED,
    CONSUMER,
    LEAST_TERMINATION_S,
    OUR_ENV,
    PORT,
    SCRATCH,
    VOLUMES,
    arguments,
    our_template,
)
from tidegate_operator.kinds import Document
from tidegate_operator.merge import TemplateError, merged
from tidegate_operator.model import GroupKey

_AT = "spec.template"
_OUR_LABELS = frozenset(labels_of(GroupKey("", "")))
_ITS = f"{_AT}.spec.containers[{CONSUMER}]"
# A template says these, and its metadata these; the rest is for Kubernetes to fill in.
_PARTS = {_AT: {"metadata", "spec"}, f"{_AT}.metadata": {"annotations", "labels"}}


def template_of(wanted: RenderInput) -> Document:
    """The pod template as it is applied. Raises TemplateError."""
    theirs = wanted.template
    _refuse_other_parts(theirs)
    ours = our_template(wanted)
    found: Document = merged(ours, theirs, _AT)
    _refuse_changes(ours, found)
    consumer = _consumer(found)
    consumer["args"] = arguments(_termination_s(found))
    return found


def _refuse_other_parts(theirs: Mapping[str, Any]) -> None:
    metadata = theirs.get("metadata")
    for path, value in ((_AT, theirs), (f"{_AT}.metadata", metadata)):
        if isinstance(value, Mapping) and (others := sorted(value.keys() - _PARTS[path])):
            known = " and ".join(sorted(_PARTS[path]))
            raise TemplateError(f"{path}.{others[0]}: a pod template has {known} there")


def _refuse_changes(ours: Document, found: Document) -> None:
    _consumer(found)  # without it nothing below can be read
    for path, read, remedy in _KEPT:
        if read(ours) != read(found):
            raise TemplateError(f"{path}: {remedy}")


def _consumer(template: Document) -> Document:
    """The consumer's container, which is an error to be without."""
    for container in template.get("spec", {}).get("containers") or ():
        if container.get("name") == CONSUMER:
            found: Document = container
            return found
    raise TemplateError(f"{_AT}.spec.containers: the container {CONSUMER} must stay")


def _termination_s(template: Document) -> int:
    name = "terminationGracePeriodSeconds"
    value = template["spec"].get(name)
    if isinstance(value, bool) or not isinstance(value, int) or value < LEAST_TERMINATION_S:
        raise TemplateError(
            f"{_AT}.spec.{name}: write a whole number, {LEAST_TERMINATION_S} or more: a consumer "
            "finishes its batches and hands over in that time"
        )
    return value


def _metadata(template: Document, part: str) -> dict[str, Any]:
    """The labels or annotations that are ours."""
    found = template.get("metadata", {}).get(part, {})
    return {
        key: value
        for key, value in found.items()
        if key.startswith(PREFIX) or (part == "labels" and key in _OUR_LABELS)
    }


def _mounts(template: Document) -> list[Any]:
    """What is mounted at our places, or below them."""
    return [
        mount
        for mount in _consumer(template).get("volumeMounts") or ()
        if f"{mount['mountPath']}/".startswith((f"{CONFIGURED}/", f"{SCRATCH}/"))
    ]


def _env(template: Document) -> list[Any]:
    return [item for item in _consumer(template).get("env") or () if item["name"] in OUR_ENV]


def _volumes(template: Document) -> list[Any]:
    found = template["spec"].get("volumes") or ()
    return [volume for volume in found if volume["name"].startswith(VOLUMES)]


def _ports(template: Document) -> list[Any]:
    found = _consumer(template).get("ports") or ()
    return [port for port in found if port["containerPort"] == PORT]


# Where something of ours is, how it is read, and what to write instead of changing it.
_KEPT: tuple[tuple[str, Callable[[Document], Any], str], ...] = (
    (
        f"{_AT}.metadata.labels",
        lambda template: _metadata(template, "labels"),
        f"labels of {PREFIX} and app.kubernetes.io/name, instance and managed-by say whose pod it "
        "is; use others",
    ),
    (
        f"{_AT}.metadata.annotations",
        lambda template: _metadata(template, "annotations"),
        f"annotations of {PREFIX} are the operator's own; use others",
    ),
    (
        f"{_AT}.spec.restartPolicy",
        lambda template: template["spec"].get("restartPolicy", "Always"),
        "a consumer is always started again; leave it out",
    ),
    (
        f"{_AT}.spec.serviceAccountName",
        lambda template: [
            template["spec"].get(name) for name in ("serviceAccount", "serviceAccountName")
        ],
        "write spec.serviceAccountName of the group instead",
    ),
    (
        f"{_AT}.spec.volumes",
        _volumes,
        f"volumes named {VOLUMES}… are the operator's own; use another name",
    ),
    (
        f"{_ITS}.command",
        lambda template: [_consumer(template).get(name) for name in ("command", "args")],
        "command and args of the consumer are the operator's; what it does is in spec.handler and "
        "spec.delivery, and another program is another container",
    ),
    (
        f"{_ITS}.env",
        _env,
        f"{', '.join(OUR_ENV)} are the operator's own; leave them out",
    ),
    (
        f"{_ITS}.volumeMounts",
        _mounts,
        f"{CONFIGURED} and {SCRATCH} are the operator's own; mount it elsewhere",
    ),
    (
        f"{_ITS}.ports",
        _ports,
        f"the consumer is asked at port {PORT}; use another",
    ),
)
