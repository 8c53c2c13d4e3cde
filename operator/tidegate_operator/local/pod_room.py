"""What a pod has in a cluster, here: a folder with its files, its arguments, its variables.

Rules:
- What the operator mounts lies below the pod's own folder, and whatever names it there (arguments,
  variables, the group file) names it here. Secrets are readable by their owner alone.
- A consumer sees the machine as it is: its Python, its packages, its network, its variables but for
  those of Tidegate. What a pod template wants besides, and a process cannot have, is said.
- What is missing is a RoomError, as the kubelet would say it; it is tried again.
"""

from __future__ import annotations

import base64
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tidegate.commands.last_words import ELSEWHERE
from tidegate.group_file.nodes import document_of
from tidegate.spark import session_conf as spark
from tidegate.spark.file_note import PLACE as NOTE
from tidegate_operator.engines.pod import VOLUMES
from tidegate_operator.facts import role_of
from tidegate_operator.kinds import CONFIG_MAP, SECRET, Document, Kind, ObjectName
from tidegate_operator.local.executors import DriverFiles
from tidegate_operator.pod_nouns import Role

_OWN = "TIDEGATE_"
# Which variable says where Python looks first.
_PATH = "PYTHONPATH"
# What a driver finds in a cluster alone; by the first of these it knows that it is in one.
_OF_CLUSTERS = (
    spark.NAMESPACE,
    spark.POD_IP,
    spark.IMAGE,
    spark.PULL_POLICY,
    spark.ACCOUNT,
    spark.TEMPLATE,
    spark.EXECUTORS,
)

Find = Callable[[ObjectName], Document | None]


class RoomError(Exception):
    """The pod cannot be started: what is missing, and what to do."""


@dataclass(frozen=True, slots=True)
class Room:
    """A pod's process, ready to be started on a port."""

    folder: Path
    log: Path
    last_words: Path
    arguments: tuple[str, ...]
    variables: Mapping[str, str]
    # What the pod template wants and a process does not get.
    left_out: tuple[str, ...]
    # Of a driver alone.
    spark: DriverFiles | None = None

    def command(self, port: int) -> list[str]:
        """The consumer, answering at this port of loopback."""
        words = [sys.executable, "-m", "tidegate", "run", *self.arguments]
        at = words.index("--listen") + 1
        words[at] = f"127.0.0.1:{port}"
        if self.spark is not None:
            words += ["--executors-file", str(self.spark.count)]
        return words


@dataclass(frozen=True, slots=True)
class Place:
    """Where pods live, and where their handlers are looked for."""

    pods: Path
    logs: Path
    search: tuple[Path, ...] = ()


def room_of(pod: Document, place: Place, find: Find, environment: Mapping[str, str]) -> Room:
    """Makes the pod's folder. Raises RoomError."""
    metadata, wanted = pod["metadata"], pod["spec"]
    container = next(each for each in wanted["containers"] if each["name"] == role_of(pod))
    folder = place.pods / metadata["namespace"] / metadata["name"]
    places = _Places(folder)
    try:
        _mount(pod, container, places, find)
        last_words = folder / "last-words"
        last_words.touch(0o600)
        place.logs.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise RoomError(
            f"{folder} cannot be written: {problem.strerror or problem}. Make room, or choose "
            "another folder with --state."
        ) from problem
    its_own = {name: places.inside(value) for name, value in _variables(pod, container, find)}
    variables = {key: each for key, each in environment.items() if not key.startswith(_OWN)}
    driver = None
    if role_of(pod) is Role.DRIVER:
        first = int(its_own.get(spark.EXECUTORS) or 1)
        driver = DriverFiles(folder / "note.json", folder / "executors", first)
        its_own = {key: each for key, each in its_own.items() if key not in _OF_CLUSTERS}
        its_own[NOTE] = str(driver.note)
    search = [*map(str, place.search), *filter(None, [environment.get(_PATH)])]
    if search:
        variables[_PATH] = os.pathsep.join(search)
    return Room(
        folder,
        place.logs / f"{metadata['name']}.log",
        last_words,
        tuple(places.inside(each) for each in container["args"][1:]),
        {**variables, **its_own, ELSEWHERE: str(last_words), "PYTHONUNBUFFERED": "1"},
        tuple(_left_out(wanted, container)),
        driver,
    )


def leave_room(room: Path) -> None:
    """Removes a pod's folder."""
    shutil.rmtree(room, ignore_errors=True)


class _Places:
    """What is mounted where."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._mounted: list[str] = []

    def mount(self, path: str) -> Path:
        self._mounted.append(path)
        found = self._folder / path.lstrip("/")
        found.mkdir(parents=True, exist_ok=True, mode=0o700)
        return found

    def inside(self, text: str) -> str:
        """A path of the pod's as it is here; any other text as it is."""
        for path in self._mounted:
            if text == path or text.startswith(f"{path}/"):
                return str(self._folder / text.lstrip("/"))
        return text


def _mount(pod: Document, container: Document, places: _Places, find: Find) -> None:
    volumes = {each["name"]: each for each in pod["spec"].get("volumes") or ()}
    namespace = pod["metadata"]["namespace"]
    written: list[Path] = []
    for mount in container.get("volumeMounts") or ():
        if not mount["name"].startswith(VOLUMES):
            continue
        folder = places.mount(mount["mountPath"])
        for source in _sources(volumes[mount["name"]]):
            for name, text in _files(source, namespace, find).items():
                path = folder / name
                path.touch(0o600)
                path.write_bytes(text)
                written.append(path)
    # The group file names what is mounted, perhaps only after it.
    for path in written:
        if path.name == "group.yaml":
            document = document_of(path.read_text(encoding="utf-8"), path.name)
            moved = yaml.safe_dump(_moved(document, places), sort_keys=False, allow_unicode=True)
            path.write_text(moved, encoding="utf-8")


def _moved(value: Any, places: _Places) -> Any:
    if isinstance(value, dict):
        return {key: _moved(each, places) for key, each in value.items()}
    if isinstance(value, list):
        return [_moved(each, places) for each in value]
    return places.inside(value) if isinstance(value, str) else value


def _sources(volume: Document) -> Sequence[Document]:
    projected = volume.get("projected")
    return projected["sources"] if projected is not None else [volume]


def _files(source: Document, namespace: str, find: Find) -> dict[str, bytes]:
    if "configMap" in source:
        found = _found(find, CONFIG_MAP, namespace, source["configMap"]["name"])
        texts = {key: text.encode() for key, text in (found.get("data") or {}).items()}
        binary = found.get("binaryData") or {}
        return texts | {key: base64.b64decode(text) for key, text in binary.items()}
    if "secret" in source:
        wanted = source["secret"]
        data = _found(find, SECRET, namespace, wanted["secretName"]).get("data") or {}
        items = wanted.get("items") or [{"key": key, "path": key} for key in data]
        missing = [item["key"] for item in items if item["key"] not in data]
        if missing:
            raise RoomError(f"Secret '{wanted['secretName']}' has no key '{missing[0]}'")
        return {item["path"]: base64.b64decode(data[item["key"]]) for item in items}
    return {}


def _found(find: Find, kind: Kind, namespace: str, name: str) -> Document:
    found = find(ObjectName(kind, namespace, name))
    if found is None:
        raise RoomError(f"{kind.name} '{name}' is not there in namespace '{namespace}'")
    return found


def _variables(pod: Document, container: Document, find: Find) -> Iterator[tuple[str, str]]:
    for item in container.get("env") or ():
        source = item.get("valueFrom")
        if source is None:
            yield item["name"], str(item.get("value", ""))
            continue
        found = _value(pod, source, find)
        if found is not None:
            yield item["name"], found


def _value(pod: Document, source: Document, find: Find) -> str | None:
    namespace = pod["metadata"]["namespace"]
    if "fieldRef" in source:
        part, _, name = source["fieldRef"]["fieldPath"].partition(".")
        return str(pod[part].get(name, "")) if part == "metadata" else None
    for key, kind in (("secretKeyRef", SECRET), ("configMapKeyRef", CONFIG_MAP)):
        wanted = source.get(key)
        if wanted is not None:
            data = _found(find, kind, namespace, wanted["name"]).get("data") or {}
            if wanted["key"] not in data:
                raise RoomError(f"{kind.name} '{wanted['name']}' has no key '{wanted['key']}'")
            text = str(data[wanted["key"]])
            return base64.b64decode(text).decode() if kind == SECRET else text
    return None


def _left_out(spec: Document, container: Document) -> Iterator[str]:
    others = [each["name"] for each in spec["containers"] if each is not container]
    others += [each["name"] for each in spec.get("initContainers") or ()]
    if others:
        yield f"containers beside the consumer ({', '.join(others)})"
    foreign = [
        each["mountPath"]
        for each in container.get("volumeMounts") or ()
        if not each["name"].startswith(VOLUMES) and each["mountPath"] != "/tmp"
    ]
    if foreign:
        yield f"volumes ({', '.join(foreign)})"
    if container.get("envFrom"):
        yield "envFrom"
