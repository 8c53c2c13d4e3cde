"""One document merged over another, as a user's pod template is merged over ours.

Rules: pure.
- Maps are merged key by key; null takes away what was there.
- Lists of things that have a name are merged by it (`LIST_KEYS`): a container with the container of
  its name, a mount with the mount at its path. Any other list is replaced as a whole.
- What may be of one sort only, such as a volume or a variable, is replaced as a whole too; a probe
  that asks in another way no longer asks in ours.
- What cannot be merged is refused, with the place and what to write there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

# What a thing in a list is known by, by the list's own name: as the API server knows it.
LIST_KEYS: Mapping[str, tuple[str, ...]] = {
    "containers": ("name",),
    "env": ("name",),
    "imagePullSecrets": ("name",),
    "initContainers": ("name",),
    "ownerReferences": ("uid",),
    "topologySpreadConstraints": ("topologyKey", "whenUnsatisfiable"),
    "volumeMounts": ("mountPath",),
    "volumes": ("name",),
}
# Both kinds of ports are called so: a container's and a Service's.
_PORT_KEYS = (("containerPort", "protocol"), ("port", "protocol"))
# Things of which two halves would contradict each other.
_WHOLE = frozenset({"env", "topologySpreadConstraints", "volumeMounts", "volumes"})
_PROBES = frozenset({"livenessProbe", "readinessProbe", "startupProbe"})
_WAYS_TO_ASK = ("exec", "grpc", "httpGet", "tcpSocket")


class TemplateError(ValueError):
    """A template that cannot be merged; the message says where and what to write."""

    reason = "TemplateImpossible"


def merged(ours: Any, theirs: Any, path: str) -> Any:
    """What theirs makes of ours. The path is for messages. Raises TemplateError."""
    return _merged(ours, theirs, path, path.rpartition(".")[2])


def key_of(name: str, item: Any) -> tuple[Any, ...] | None:
    """What an item of the list of this name is known by; None where it has no such name."""
    if not isinstance(item, Mapping):
        return None
    if name == "ports":
        for key, protocol in _PORT_KEYS:
            if key in item:
                return (item[key], item.get(protocol, "TCP"))
        return None
    keys = LIST_KEYS.get(name)
    if keys is None or any(item.get(key) is None for key in keys):
        return None
    return tuple(item[key] for key in keys)


def _merged(ours: Any, theirs: Any, path: str, name: str) -> Any:
    if isinstance(ours, Mapping) and not isinstance(theirs, Mapping):
        raise TemplateError(f"{path}: write keys and values, not {_sort_of(theirs)}")
    if isinstance(ours, list) and not isinstance(theirs, list):
        raise TemplateError(f"{path}: write a list, not {_sort_of(theirs)}")
    if isinstance(theirs, Mapping):
        return _merged_map(ours if isinstance(ours, Mapping) else {}, theirs, path, name)
    if isinstance(theirs, list):
        return _merged_list(ours if isinstance(ours, list) else [], theirs, path, name)
    return theirs


def _merged_map(
    ours: Mapping[str, Any], theirs: Mapping[str, Any], path: str, name: str
) -> dict[str, Any]:
    found = dict(ours)
    if name in _PROBES and any(theirs.get(way) is not None for way in _WAYS_TO_ASK):
        found = {key: value for key, value in found.items() if key not in _WAYS_TO_ASK}
    for key, value in theirs.items():
        if value is None:
            found.pop(key, None)
        else:
            found[key] = _merged(found.get(key), value, f"{path}.{key}", key)
    return found


def _merged_list(ours: Sequence[Any], theirs: list[Any], path: str, name: str) -> list[Any]:
    if name != "ports" and name not in LIST_KEYS:
        return [_merged(None, item, f"{path}[{at}]", "") for at, item in enumerate(theirs)]
    found = {key_of(name, item): item for item in ours}
    seen = set()
    for item in theirs:
        key = key_of(name, item)
        if key is None:
            wanted = " and ".join(LIST_KEYS.get(name, ("containerPort",)))
            raise TemplateError(f"{path}: each of them needs {wanted}, by which it is merged")
        said = "/".join(str(part) for part in key)
        if key in seen:
            raise TemplateError(f"{path}: {said} is there twice; write it once")
        seen.add(key)
        before = None if name in _WHOLE else found.get(key)
        found[key] = _merged(before, item, f"{path}[{said}]", "")
    return list(found.values())


def _sort_of(value: Any) -> str:
    """In words; what it is in full may be a secret."""
    if isinstance(value, Mapping):
        return "keys and values"
    if isinstance(value, list):
        return "a list"
    return "a text" if isinstance(value, str) else "a number or a truth"
