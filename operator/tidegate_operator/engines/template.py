"""The pod templates of a group: the user's merged over ours, and what may not be changed in them.

Rules: pure. What members, the operator and Kubernetes know a pod by stays as it is: its labels, its
arguments, its name and lease file, what it reads and where, who restarts it. What has a place in
`spec` is written there and not in a template. A change that would break the group is refused before
anything is applied, with what to write instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
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
from tidegate_operator.pod_security import Profile, flaws

_OUR_LABELS = frozenset(labels_of(GroupKey("", "")))


@dataclass(frozen=True, slots=True)
class Outline:
    """Where a template is written, and what in it is ours."""

    at: str
    # The container that is ours.
    container: str
    env: tuple[str, ...] = ()
    ports: tuple[int, ...] = ()


CONSUMERS = Outline("spec.template", CONSUMER, OUR_ENV, (PORT,))


def template_of(wanted: RenderInput) -> Document:
    """A consumer's pod template as it is applied. Raises TemplateError."""
    found = changed(our_template(wanted), wanted.template, CONSUMERS, wanted.profile)
    return with_arguments(found, CONSUMERS)


def changed(
    ours: Document, theirs: Mapping[str, Any], outline: Outline, profile: Profile
) -> Document:
    """Our template with what the user says of it. Raises TemplateError."""
    _refuse_other_parts(theirs, outline)
    found: Document = merged(ours, theirs, outline.at)
    container_in(found, outline)  # without it nothing below can be read
    for path, read, remedy in _kept(outline):
        if read(ours) != read(found):
            raise TemplateError(f"{path}: {remedy}")
    _keep_to(profile, found, outline)
    return found


def _keep_to(profile: Profile, template: Document, outline: Outline) -> None:
    """Refuse a template outside the profile: name the first field, and count the others."""
    found = [*flaws(template, outline.at, profile)]
    if found:
        first, more = found[0], f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        raise TemplateError(
            f"{first.path}: {first.remedy}. This operator takes pod templates of the Pod Security "
            f"profile {profile}, which refuses that{more}. To allow it, set podSecurity among the "
            "values of the operator's chart (--pod-security)"
        )


def with_arguments(template: Document, outline: Outline) -> Document:
    """A template of what runs `tidegate run`: how long it may take to end follows from it."""
    container_in(template, outline)["args"] = arguments(_termination_s(template, outline.at))
    return template


def container_in(template: Document, outline: Outline) -> Document:
    """The container that is ours, which is an error to be without."""
    for container in template.get("spec", {}).get("containers") or ():
        if container.get("name") == outline.container:
            found: Document = container
            return found
    raise TemplateError(
        f"{outline.at}.spec.containers: the container {outline.container} must stay"
    )


def _refuse_other_parts(theirs: Mapping[str, Any], outline: Outline) -> None:
    """A template says these, and its metadata those; the rest is for Kubernetes to fill in."""
    at = outline.at
    for path, value, known in (
        (at, theirs, {"metadata", "spec"}),
        (f"{at}.metadata", theirs.get("metadata"), {"annotations", "labels"}),
    ):
        if isinstance(value, Mapping) and (others := sorted(value.keys() - known)):
            words = " and ".join(sorted(known))
            raise TemplateError(f"{path}.{others[0]}: a pod template has {words} there")


def _termination_s(template: Document, at: str) -> int:
    name = "terminationGracePeriodSeconds"
    value = template["spec"].get(name)
    if isinstance(value, bool) or not isinstance(value, int) or value < LEAST_TERMINATION_S:
        raise TemplateError(
            f"{at}.spec.{name}: write a whole number, {LEAST_TERMINATION_S} or more: a consumer "
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


def _mounts(container: Document) -> list[Any]:
    """What is mounted at our places, or below them."""
    return [
        mount
        for mount in container.get("volumeMounts") or ()
        if f"{mount['mountPath']}/".startswith((f"{CONFIGURED}/", f"{SCRATCH}/"))
    ]


def _volumes(template: Document) -> list[Any]:
    found = template["spec"].get("volumes") or ()
    return [volume for volume in found if volume["name"].startswith(VOLUMES)]


# Where something of ours is, how it is read, and what to write instead of changing it.
Kept = tuple[str, Callable[[Document], Any], str]


def _kept(outline: Outline) -> Iterator[Kept]:
    """Of a whole template."""
    at = outline.at
    yield (
        f"{at}.metadata.labels",
        lambda template: _metadata(template, "labels"),
        f"labels of {PREFIX} and app.kubernetes.io/name, instance and managed-by say whose pod it "
        "is; use others",
    )
    yield (
        f"{at}.metadata.annotations",
        lambda template: _metadata(template, "annotations"),
        f"annotations of {PREFIX} are the operator's own; use others",
    )
    yield (
        f"{at}.spec.restartPolicy",
        lambda template: template["spec"].get("restartPolicy", "Always"),
        f"the {outline.container} is always started again; leave it out",
    )
    yield (
        f"{at}.spec.serviceAccountName",
        lambda template: [
            template["spec"].get(name) for name in ("serviceAccount", "serviceAccountName")
        ],
        "write spec.serviceAccountName of the group instead",
    )
    yield (
        f"{at}.spec.volumes",
        _volumes,
        f"volumes named {VOLUMES}… are the operator's own; use another name",
    )
    for path, read, remedy in _kept_of_container(outline):
        yield path, _inside(read, outline), remedy


def _inside(read: Callable[[Document], Any], outline: Outline) -> Callable[[Document], Any]:
    """Reads the container of a template."""
    return lambda template: read(container_in(template, outline))


def _kept_of_container(outline: Outline) -> Iterator[Kept]:
    at = f"{outline.at}.spec.containers[{outline.container}]"
    yield (
        f"{at}.command",
        lambda container: [container.get(name) for name in ("command", "args")],
        f"command and args of the {outline.container} are the operator's; what it does is in "
        "spec.handler and spec.delivery, and another program is another container",
    )
    yield (
        f"{at}.env",
        lambda container: [e for e in container.get("env") or () if e["name"] in outline.env],
        f"{', '.join(outline.env)} are the operator's own; leave them out",
    )
    yield (
        f"{at}.volumeMounts",
        _mounts,
        f"{CONFIGURED} and {SCRATCH} are the operator's own; mount it elsewhere",
    )
    yield (
        f"{at}.ports",
        lambda container: [
            port for port in container.get("ports") or () if port["containerPort"] in outline.ports
        ],
        f"the {outline.container} is asked at port "
        f"{' and '.join(map(str, outline.ports))}; use another",
    )
