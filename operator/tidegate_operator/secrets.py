"""The Secrets and the handlers' ConfigMaps that groups name: read by name, and only by name.

Rules:
- They are never listed or watched, so that no right to do so is needed. Each is read once for all
  groups that name it, then its metadata now and then; its values again only when it has changed.
- Values stay here and where they are used. Every one of them is told to the log beforehand, so that
  it can never be written there.
- What is missing is a Failure with what to do, and is looked for more often. While the API does not
  answer, what was read before is good.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field
from pathlib import Path

from tidegate.commands.wiring import Setup, set_up_group
from tidegate.group_file.secrets import Vault, check_secret
from tidegate.group_file.spec import GroupFile, Secret
from tidegate.ops.secrets import Secrets
from tidegate.settings import SettingsError
from tidegate_operator.kinds import CONFIG_MAP, SECRET, Document, Kind
from tidegate_operator.kube_errors import KubeError
from tidegate_operator.model import Failure
from tidegate_operator.objects import Finds
from tidegate_operator.settings import OperatorSettings
from tidegate_operator.spec import OperatorSpec

# Why a group has to wait for what it names.
MISSING = {SECRET: "SecretMissing", CONFIG_MAP: "ConfigMapMissing"}


class KnownSecrets(Secrets):
    """Hides what has been read; it learns as the process reads, and forgets what was replaced."""

    def __init__(self) -> None:
        super().__init__()
        self._learnt: set[str] = set()

    def learn(self, value: str) -> None:
        if value not in self._learnt:
            self._learnt.add(value)
            self._know(value)

    def keep_only(self, values: Set[str]) -> None:
        """A process that runs for months does not keep every value that ever was."""
        if self._learnt - values:
            self._learnt &= values
            super().__init__(self._learnt)


class LackingError(SettingsError):
    """A Secret, or a key of one, has not been read. The sight says why."""


class OperatorVault(Vault):
    """Gives a group's settings the values of Secrets that were read."""

    def __init__(self, values: Mapping[tuple[str, str], str]) -> None:
        super().__init__({}, Path("/"))
        self._values = values

    def fetch(self, secret: Secret | None, what: str) -> str:
        if secret is None:
            return ""
        if secret.secret is None or secret.key is None:
            raise SettingsError(
                f"{what}: the operator needs it too, and cannot look into pods. Write "
                "{secret: NAME, key: KEY}"
            )
        if (secret.secret, secret.key) not in self._values:
            raise LackingError(f"{what}: key '{secret.key}' of Secret '{secret.secret}' is missing")
        found = self._values[secret.secret, secret.key].strip()
        if not found:
            raise SettingsError(f"{what}: key '{secret.key}' of Secret '{secret.secret}' is empty")
        self.fetched.append(found)
        check_secret(found, what)
        return found


@dataclass(frozen=True, slots=True)
class Sight:
    """What a group's Secrets and its ConfigMap hold."""

    values: Mapping[tuple[str, str], str] = field(repr=False)
    # Of each Secret, a salted hash of the keys that the group uses; '' while it is missing.
    hashes: Mapping[str, str]
    # A hash of what is in the handler's ConfigMap; '' where none is named.
    handler_hash: str
    failures: tuple[Failure, ...]

    def setup_of(self, name: str, spec: OperatorSpec) -> Setup:
        """The group's parts, ready to be opened. Raises SettingsError."""
        return set_up_group(GroupFile(name, spec), OperatorVault(self.values), Path("/"))


def lacking_file(path: str | None, where: str) -> str:
    """That a file of the consumers' pods is not in the operator's, in words; '' where it is."""
    if path is None or Path(path).is_file():
        return ""
    return (
        f"{where}: there is no file {path} in the operator's own pod, and the operator needs it "
        "too. Mount it there at the same path: values volumes and volumeMounts of its chart"
    )


@dataclass(slots=True)
class _Entry:
    """One Secret or ConfigMap."""

    data: Mapping[str, str] | None = field(default=None, repr=False)
    # What it said before that: it may still be in use, and be said.
    replaced: Mapping[str, str] = field(default_factory=dict, repr=False)
    version: str = ""
    looked_at: float = float("-inf")
    problem: KubeError | None = None
    since: float = 0.0
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)


class SecretReader:
    """See the module. `now` is the clock of Observation."""

    def __init__(
        self,
        finds: Finds,
        settings: OperatorSettings,
        hidden: KnownSecrets,
        now: Callable[[], float],
    ) -> None:
        self._finds = finds
        self._settings = settings
        self._hidden = hidden
        self._now = now
        self._entries: dict[tuple[Kind, str, str], _Entry] = {}

    async def look(
        self,
        namespace: str,
        secrets: Mapping[str, frozenset[str]],
        config_map: str | None,
        salt: str,
    ) -> Sight:
        """All that a group names (`secrets_of` its spec), as fresh as it has to be.

        The salt is the group's own, and does not change.
        """
        values: dict[tuple[str, str], str] = {}
        hashes: dict[str, str] = {}
        failures: list[Failure] = []
        for name, keys in sorted(secrets.items()):
            entry = await self._entry(SECRET, namespace, name)
            used = {key: value for key, value in (entry.data or {}).items() if key in keys}
            hashes[name] = _hash_of(used, salt) if used else ""
            if entry.data is None:
                failures.append(_missing(SECRET, namespace, name, entry))
                continue
            for key in sorted(keys):
                if key in entry.data:
                    values[name, key] = entry.data[key]
                else:
                    failures.append(_no_key(namespace, name, key, entry))
        handler_hash = ""
        if config_map is not None:
            entry = await self._entry(CONFIG_MAP, namespace, config_map)
            if entry.data is None:
                failures.append(_missing(CONFIG_MAP, namespace, config_map, entry))
            else:
                handler_hash = _hash_of(entry.data)
        return Sight(values, hashes, handler_hash, tuple(failures))

    def keep_only(self, named: frozenset[tuple[Kind, str, str]]) -> None:
        """Forgets what no group names any more."""
        for place in self._entries.keys() - named:
            del self._entries[place]
        read = (
            {*(entry.data or {}).values(), *entry.replaced.values()}
            for (kind, _, _), entry in self._entries.items()
            if kind == SECRET
        )
        self._hidden.keep_only(set().union(*read))

    async def _entry(self, kind: Kind, namespace: str, name: str) -> _Entry:
        entry = self._entries.setdefault((kind, namespace, name), _Entry())
        async with entry.turn:
            settings = self._settings
            every_s = settings.missing_every_s if entry.data is None else settings.secrets_every_s
            # A look in the future is one before the clock was set back.
            if not 0.0 <= self._now() - entry.looked_at < every_s:
                await self._refresh(entry, kind, namespace, name)
                entry.looked_at = self._now()
        return entry

    async def _refresh(self, entry: _Entry, kind: Kind, namespace: str, name: str) -> None:
        try:
            if entry.data is not None:
                found = await self._finds.find(kind, namespace, name, metadata_only=True)
                if found is not None and found["metadata"]["resourceVersion"] == entry.version:
                    return
            found = await self._finds.find(kind, namespace, name)
        except KubeError as problem:
            self._fail(entry, problem)
            return
        entry.problem = None
        if found is None:
            if entry.data is not None or not entry.since:
                entry.since = self._now()
            entry.replaced, entry.data, entry.version = entry.data or entry.replaced, None, ""
            return
        entry.replaced, entry.data = entry.data or entry.replaced, self._read(kind, found)
        entry.version, entry.since = found["metadata"]["resourceVersion"], self._now()

    def _fail(self, entry: _Entry, problem: KubeError) -> None:
        if entry.problem is None and entry.data is None:
            entry.since = self._now()
        entry.problem = problem

    def _read(self, kind: Kind, document: Document) -> Mapping[str, str]:
        data: Mapping[str, str] = document.get("data") or {}
        if kind == CONFIG_MAP:
            # Binary files are compared as they are written.
            return {**data, **(document.get("binaryData") or {})}
        values = {key: _decoded(value) for key, value in data.items()}
        for value in values.values():
            self._hidden.learn(value)
        return values


def _decoded(value: str) -> str:
    """Text; what is none cannot be a connection string, and counts as empty."""
    try:
        return base64.b64decode(value).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError):
        return ""


def _hash_of(data: Mapping[str, str], salt: str = "") -> str:
    """Another one where anything in it is another. With a salt of its own nobody can look up
    which others hold the same."""
    digest = hashlib.sha256(salt.encode())
    for key, value in sorted(data.items()):
        digest.update(f"{len(key)} {len(value)} {key}{value}".encode())
    return digest.hexdigest()[:16]


def _missing(kind: Kind, namespace: str, name: str, entry: _Entry) -> Failure:
    if entry.problem is not None:
        return Failure(entry.problem.reason, str(entry.problem), entry.since)
    return Failure(
        MISSING[kind],
        f"{kind.name} '{name}' is not there in namespace '{namespace}', and the group names it. "
        f"Create it there, or correct the name in the ConsumerGroup.",
        entry.since,
    )


def _no_key(namespace: str, name: str, key: str, entry: _Entry) -> Failure:
    has = ", ".join(sorted(entry.data or ())) or "none at all"
    return Failure(
        "SecretKeyMissing",
        f"Secret '{name}' in namespace '{namespace}' has no key '{key}'; it has: {has}. Add the "
        "key, or correct it in the ConsumerGroup.",
        entry.since,
    )
