"""What `tidegate up` is given: files with ConsumerGroups, and ConfigMaps and Secrets beside them.

Rules:
- The same files as `kubectl apply` takes, and one thing more: a place of a secret may be
  {env: NAME} or {file: PATH}, as in a group file. What is wrong is said with its file and line.
- A Secret that is not given (no document, no file of --secrets) and whose key is a connection
  string is that of the embedded hub, storage or Cosmos DB, and this is said. Any other
  secret that is not given is an error.
- What a file names beside it (a handler, a secret, a certificate) is found there, wherever a
  consumer runs.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tidegate.group_file.nodes import FileError, Value, documents, plain_of
from tidegate.group_file.reading import check_group, is_group
from tidegate.group_file.spark_spec import EngineKind
from tidegate.settings import SettingsError
from tidegate_operator.kinds import CONFIG_MAP, SECRET, Document
from tidegate_operator.kube_errors import Invalid
from tidegate_operator.local.admission import admit
from tidegate_operator.local.places import PLACES, WHAT, Wanted, note
from tidegate_operator.spec import OperatorSpec

NAMESPACE = "default"
# Says of a pod template what is in the handler's file.
HANDLER_HASH = "tidegate-up/handler-hash"
# The Secrets that hold what a file names as {env: NAME} or {file: PATH}.
FROM_ENVIRONMENT, FROM_FILES = "from-environment", "from-files"

_TAKEN = {CONFIG_MAP.name: CONFIG_MAP, SECRET.name: SECRET}
_NO_KEY = re.compile(r"[^-._a-zA-Z0-9]")
# Of the API server.
_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")

Place = tuple[str, str, str]  # namespace, Secret, key


@dataclass(slots=True)
class Given:
    """All that was read."""

    groups: list[Document] = field(default_factory=list)
    others: list[Document] = field(default_factory=list)
    # The values of secrets, as they were given; never shown.
    secrets: dict[Place, str] = field(default_factory=dict, repr=False)
    # Which are ours, and what of ours.
    embedded: dict[Place, str] = field(default_factory=dict)
    wanted: Wanted = field(default_factory=Wanted)
    # All that was read, so that a change of it is noticed.
    files: list[Path] = field(default_factory=list)
    # Where handlers' modules are looked for.
    search: list[Path] = field(default_factory=list)
    # What was passed over, in words.
    notes: list[str] = field(default_factory=list)

    def documents(self, ours: Mapping[str, str]) -> list[Document]:
        """Everything, in the order in which it is applied; `ours` are our connection strings."""
        values = self.secrets | {place: ours[what] for place, what in self.embedded.items()}
        named: dict[tuple[str, str], dict[str, str]] = {}
        for (namespace, name, key), value in values.items():
            encoded = base64.b64encode(value.encode()).decode()
            named.setdefault((namespace, name), {})[key] = encoded
        made = [
            {
                "apiVersion": SECRET.api_version,
                "kind": SECRET.name,
                "metadata": {"namespace": namespace, "name": name},
                "data": data,
            }
            for (namespace, name), data in sorted(named.items())
        ]
        return [*made, *self.others, *self.groups]


def read(
    paths: Iterable[Path], environment: Mapping[str, str], secrets: Path | None = None
) -> Given:
    """Reads the files. Raises SettingsError."""
    given = Given()
    if secrets is not None:
        _read_folder(given, secrets)
    found = [(path, value) for path in paths for value in _values(path)]
    given.files += dict.fromkeys(path for path, _ in found)
    for path, value in found:
        if not is_group(value):
            _read_other(given, path, value)
    for path, value in found:
        if is_group(value):
            _read_group(given, path, value, environment)
    if not given.groups:
        raise SettingsError("there is no ConsumerGroup in what was given: see docs/local.md")
    return given


def _values(path: Path) -> Iterator[Value]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no UTF-8 text"
        raise SettingsError(f"{path}: it cannot be read: {why}") from None
    yield from documents(text, str(path))


def _read_folder(given: Given, folder: Path) -> None:
    """A folder for each Secret, with a file for each key; also of namespace `default` alone."""
    if not folder.is_dir():
        raise SettingsError(
            f"--secrets {folder}: there is no such folder. It has a folder for each Secret, with a "
            "file for each key"
        )
    for path in sorted(folder.glob("*/*")):
        if path.is_file():
            given.files.append(path)
            given.secrets[NAMESPACE, path.parent.name, path.name] = _secret_file(path, str(path))


def _read_other(given: Given, path: Path, value: Value) -> None:
    document = plain_of(value)
    kind = _TAKEN.get(str(document.get("kind"))) if isinstance(document, dict) else None
    if kind is None:
        what = document.get("kind") if isinstance(document, dict) else None
        given.notes.append(f"{path}:{value.line}: {what or 'a document'} needs a cluster: left out")
        return
    metadata = document["metadata"] = _metadata(document, f"{path}:{value.line}")
    where = f"{path}:{value.line}: {kind.name} '{metadata['name']}'"
    if kind == CONFIG_MAP:
        for key, text in _data(document, "data", where).items():
            if not isinstance(text, str):
                raise FileError(f"{where}: data.{key} is no text: put it in quotes")
        given.others.append(document)
        return
    place = (metadata["namespace"], metadata["name"])
    for key, text in _data(document, "stringData", where).items():
        given.secrets[(*place, key)] = str(text).strip()
    for key, text in _data(document, "data", where).items():
        try:
            given.secrets[(*place, key)] = base64.b64decode(str(text), validate=True).decode()
        except ValueError:
            raise FileError(f"{where}: data.{key} is no base64 of a text") from None


def _metadata(document: Document, where: str) -> dict[str, Any]:
    """With a name, and with a namespace that can be a folder. Raises FileError."""
    metadata = document.get("metadata")
    if not isinstance(metadata, dict) or not metadata.get("name"):
        raise FileError(f"{where}: metadata.name is missing")
    if not isinstance(metadata["name"], str):
        raise FileError(f"{where}: metadata.name is no text: put it in quotes")
    namespace = metadata.get("namespace") or NAMESPACE
    if not isinstance(namespace, str) or not _NAMESPACE.fullmatch(namespace):
        raise FileError(
            f"{where}: metadata.namespace {str(namespace)[:80]!r}: write lower-case letters, "
            "digits and dashes, at most 63, with a letter or digit at both ends"
        )
    return {**metadata, "namespace": namespace}


def _data(document: Document, name: str, where: str) -> dict[str, Any]:
    """The keys and texts of a ConfigMap or Secret. Raises FileError."""
    data = document.get(name) or {}
    if not isinstance(data, dict):
        raise FileError(f"{where}: {name} has no keys: write KEY: TEXT")
    for key in data:
        if not isinstance(key, str) or _NO_KEY.search(key) or not key.strip("."):
            raise FileError(
                f"{where}: {name}: {str(key)[:80]!r} is no name of a key: write letters, digits "
                "and - _ ."
            )
    return data


def _read_group(given: Given, path: Path, value: Value, environment: Mapping[str, str]) -> None:
    # With the lines of the file, before anything in it is replaced.
    spec = check_group(OperatorSpec, value, str(path))
    document: Document = plain_of(value)
    metadata = _metadata(document, f"{path}:{value.line}")
    document = {**document, "metadata": metadata}
    document.pop("status", None)
    names = {(each["metadata"]["namespace"], each["metadata"]["name"]) for each in given.groups}
    if (metadata["namespace"], metadata["name"]) in names:
        raise FileError(f"{path}:{value.line}: group '{metadata['name']}' is there twice")
    given.files += _find_beside(document, path)
    for steps, what in PLACES:
        section = _section(document["spec"], steps[:-1])
        if section is not None and section.get(steps[-1]) is not None:
            where = f"{path}: spec.{'.'.join(steps)}"
            reference = _given(given, metadata["namespace"], section[steps[-1]], what, where,
                               path.parent, environment)  # fmt: skip
            section[steps[-1]] = reference
            place = (metadata["namespace"], reference["secret"], reference["key"])
            if place in given.embedded:
                note(given.wanted, given.embedded[place], steps, document)
    if spec.handler.config_map is None:
        given.search.append(path.parent.resolve())
    try:
        admit(document, None)
    except Invalid as problem:
        raise FileError(f"{path}:{value.line}: {problem}") from None
    given.groups.append(document)


def _given(
    given: Given,
    namespace: str,
    said: Mapping[str, Any],
    what: str,
    where: str,
    folder: Path,
    environment: Mapping[str, str],
) -> dict[str, str]:
    """Where the operator finds a secret: the Secret and the key."""
    if said.get("env") is not None:
        value = environment.get(said["env"], "").strip()
        if not value:
            raise SettingsError(
                f"{where}: the environment variable {said['env']} is not set, or is empty"
            )
        given.secrets[namespace, FROM_ENVIRONMENT, said["env"]] = value
        return {"secret": FROM_ENVIRONMENT, "key": said["env"]}
    if said.get("file") is not None:
        path = (folder / said["file"]).resolve()
        key = f"{_NO_KEY.sub('-', path.name)}-{hashlib.sha256(str(path).encode()).hexdigest()[:8]}"
        given.secrets[namespace, FROM_FILES, key] = _secret_file(path, where)
        given.files.append(path)
        return {"secret": FROM_FILES, "key": key}
    place = (namespace, said["secret"], said["key"])
    if place in given.secrets:
        return dict(said)
    others = sorted(key for ns, name, key in given.secrets if (ns, name) == place[:2])
    if others or not what:
        has = f"it has: {', '.join(others)}" if others else "it is not given"
        raise SettingsError(
            f"{where}: Secret '{said['secret']}' has no key '{said['key']}'; {has}. Give it as a "
            f"document of a file, or as --secrets DIR with DIR/{said['secret']}/{said['key']}"
        )
    before = given.embedded.setdefault(place, what)
    if before != what:
        raise SettingsError(
            f"{where}: key '{said['key']}' of Secret '{said['secret']}' is that of {WHAT[before]} "
            f"and of {WHAT[what]}. Name two keys, or give the Secret"
        )
    return dict(said)


def _secret_file(path: Path, where: str) -> str:
    try:
        found = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{where}: {path} cannot be read: {error}") from None
    if not found:
        raise SettingsError(f"{where}: {path} is empty")
    return found


def _find_beside(document: Document, path: Path) -> list[Path]:
    """What lies beside the file is named by its whole path: consumers run elsewhere.

    A handler is rolled out when it changes, as it would be from a ConfigMap.
    """
    spec, folder = document["spec"], path.parent
    for steps in (("source", "eventHubs"), ("ledger",)):
        section = _section(spec, steps)
        if section is not None and section.get("caFile"):
            section["caFile"] = str((folder / section["caFile"]).resolve())
    handler = spec["handler"]
    file, _, function = handler["code"].rpartition(":")
    if not file.endswith(".py") or handler.get("configMap"):
        return []
    found = (folder / file).resolve()
    if not found.is_file():
        raise SettingsError(f"{path}: spec.handler.code: there is no file {found}")
    handler["code"] = f"{found}:{function}"
    # Of the pod that reads it.
    place = _made(spec, "spark", "driver") if spec.get("engine") == EngineKind.SPARK else spec
    template = place["template"] = dict(place.get("template") or {})
    metadata = template["metadata"] = dict(template.get("metadata") or {})
    digest = hashlib.sha256(found.read_bytes()).hexdigest()[:16]
    metadata["annotations"] = {**(metadata.get("annotations") or {}), HANDLER_HASH: digest}
    return [found]


def _made(spec: dict[str, Any], *steps: str) -> dict[str, Any]:
    """A section of its own, also where there was none."""
    for step in steps:
        spec[step] = dict(spec.get(step) or {})
        spec = spec[step]
    return spec


def _section(spec: Mapping[str, Any], steps: Iterable[str]) -> dict[str, Any] | None:
    found: Any = spec
    for step in steps:
        found = found.get(step) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else None
