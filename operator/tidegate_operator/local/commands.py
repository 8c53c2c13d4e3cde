"""Commands of `tidegate up` that people can type, and the group files that they name.

Rules: `tidegate deadletters` and `tidegate rewind` take a group file, whose secrets are files or
variables. The files that `tidegate up` is given name Secrets. So it writes a group file of each
group, with its secrets beside it; only their owner can read them. They hold until it ends.
"""

from __future__ import annotations

import base64
import os
import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import yaml

from tidegate.settings import SettingsError
from tidegate_operator.commands import chosen
from tidegate_operator.kinds import CONFIG_MAP, CONSUMER_GROUP, SECRET, Document
from tidegate_operator.local.given import NAMESPACE
from tidegate_operator.local.places import PLACES
from tidegate_operator.local.state import State, default_folder
from tidegate_operator.model import GroupKey
from tidegate_operator.page.admission import ShownCommands

_LINES = 50


class LocalCommands:
    """What messages name in place of `kubectl`."""

    def __init__(self, state: State, environment: Mapping[str, str]) -> None:
        self._state = state
        is_default = default_folder(environment).absolute() == state.folder
        self._option = "" if is_default else f" --state {shlex.quote(str(state.folder))}"

    def logs(self, group: GroupKey, pods: Sequence[str], *, previous: bool = False) -> str:  # noqa: ARG002
        """A pod has one log, also over its restarts."""
        folder = shlex.quote(str(self._state.logs))
        names = " ".join(f"{folder}/{each}.log" for each in pods or [f"{group.name}-*"])
        return f"`tail -n {_LINES} {names}`"

    def describe(self, group: GroupKey, kind: str, name: str) -> str:  # noqa: ARG002
        """Of pods and Deployments, the group itself says what there is to know."""
        return f"`tidegate get {group.name}{self._of(group)} -o yaml`"

    def rewind(self, group: GroupKey) -> str:
        return f"`tidegate rewind {self._file(group)} --to earliest`"

    def restart(self, group: GroupKey, partitions: Sequence[str]) -> str:
        which = f"{group.name}{self._of(group)}{chosen(partitions)}"
        return f"`tidegate pause {which} && tidegate resume {which}`"

    def of_any(self) -> ShownCommands:
        """For the pages."""
        folder = shlex.quote(str(self._state.groups))
        return ShownCommands(
            f"tidegate {{command}} {{name}} -n {{namespace}}{self._option}",
            f"tidegate deadletters list --file {folder}/{{namespace}}/{{name}}/group.yaml",
        )

    def _file(self, group: GroupKey) -> str:
        return shlex.quote(str(self._state.groups / group.namespace / group.name / "group.yaml"))

    def _of(self, group: GroupKey) -> str:
        namespace = "" if group.namespace == NAMESPACE else f" -n {group.namespace}"
        return f"{self._option}{namespace}"


def write_group_files(state: State, documents: Sequence[Document]) -> None:
    """Replace the group files with those of the current input. Raises SettingsError."""
    found = {
        (each["kind"], each["metadata"]["namespace"], each["metadata"]["name"]): each
        for each in documents
    }
    for (kind, namespace, name), document in found.items():
        if kind == CONSUMER_GROUP.name:
            folder = state.groups / namespace / name
            try:
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir(parents=True, exist_ok=True, mode=0o700)
                _write(folder, document, found, namespace)
            except OSError as error:
                raise SettingsError(
                    f"the group file of '{name}' cannot be written: {error.strerror or error}: "
                    f"{folder}. Make room, or choose another folder with --state"
                ) from None


def _write(
    folder: Path, document: Document, found: Mapping[tuple[str, str, str], Document], namespace: str
) -> None:
    text = yaml.safe_dump(document, sort_keys=False, allow_unicode=True)
    moved = yaml.safe_load(text)
    for steps, _ in PLACES:
        section = moved["spec"]
        for step in steps[:-1]:
            section = section.get(step) if isinstance(section, dict) else None
        reference = section.get(steps[-1]) if isinstance(section, dict) else None
        if reference is not None:
            secret = found[SECRET.name, namespace, reference["secret"]]
            file = folder / f"{'.'.join(steps)}.secret"
            _write_own(file, base64.b64decode(secret["data"][reference["key"]]))
            section[steps[-1]] = {"file": file.name}
    config_map = moved["spec"]["handler"].pop("configMap", None)
    if config_map is not None:
        # One that is not given is a condition of the group.
        code = found.get((CONFIG_MAP.name, namespace, config_map), {})
        for name, text in (code.get("data") or {}).items():
            _write_own(folder / name, text.encode())
    content = yaml.safe_dump(moved, sort_keys=False, allow_unicode=True)
    _write_own(folder / "group.yaml", content.encode())


def _write_own(path: Path, content: bytes) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(content)
