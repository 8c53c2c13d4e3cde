"""Which hubs there are: from the command line, and from the official emulator's Config.json.

Rules:

- On the command line a hub is `name[:partitions[:groups]]`, groups separated by commas.
- Config.json is the emulator's own format. Its limits (one namespace named emulatorNs1, ten hubs,
  32 partitions, 20 groups) are not ours: any file that it accepts is accepted here, and more.
  `RetentionHours` and `RetentionBytes` of an entity are our additions.
- A hub has 1 to 1024 partitions, as many as the service's largest tier allows.
- `$Default` is a group of every hub, named or not, and comes first.
- Names differ when they differ in more than case. Hubs are unique over all sources together.
- An error names the source, the key and what was expected. A key that looks like a misspelling
  is an error; other unknown keys are left alone, as newer emulators may have them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from tidegate_hub.config_json import ConfigError, Node, read_json

PARTITIONS_MAX: Final = 1024
DEFAULT_PARTITIONS: Final = 4
DEFAULT_GROUP: Final = "$Default"
HUB_NAME_LENGTH_MAX: Final = 256
GROUP_NAME_LENGTH_MAX: Final = 50

_NAME: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_PARTITIONS_EXPECTED: Final = f"a whole number from 1 to {PARTITIONS_MAX}"
_NAMESPACES_EXPECTED: Final = "a list of exactly one namespace"
_HUBS_EXPECTED: Final = "a list of at least one event hub"
_NUMBER_LENGTH_MAX: Final = 18
_COMMAND_LINE_PARTS: Final = 3

_TOP_KEYS: Final = ("UserConfig",)
_USER_KEYS: Final = ("NamespaceConfig", "LoggingConfig")
_NAMESPACE_KEYS: Final = ("Type", "Name", "Entities")
_ENTITY_KEYS: Final = (
    "Name",
    "PartitionCount",
    "ConsumerGroups",
    "RetentionHours",
    "RetentionBytes",
)


@dataclass(frozen=True, slots=True)
class HubSpec:
    """A hub that shall exist. Retention is None where the server's own setting applies."""

    name: str
    partitions: int = DEFAULT_PARTITIONS
    groups: tuple[str, ...] = (DEFAULT_GROUP,)
    retention_hours: float | None = None
    retention_bytes: int | None = None


def parse_hub(text: str, source: str = "--hub") -> HubSpec:
    """The hub that a declaration on the command line means. Raises ConfigError."""
    where = f'{source} "{text}"'
    parts = text.split(":")
    if len(parts) > _COMMAND_LINE_PARTS:
        raise ConfigError(f"{where}: expected name[:partitions[:group,group]]")
    name, partitions, groups = (*parts, "", "")[:_COMMAND_LINE_PARTS]
    names = [group.strip() for group in groups.split(",") if group.strip()]
    return checked_hub(where, name.strip(), partitions.strip() or DEFAULT_PARTITIONS, names)


def checked_hub(
    source: str, name: str, partitions: int | str, groups: Sequence[str] = ()
) -> HubSpec:
    """The hub of these parts, however they were given. Raises ConfigError."""
    if isinstance(groups, str):
        raise Node(source, "groups", groups).error("a list of names")
    return HubSpec(
        _checked_name(Node(source, "name", name), HUB_NAME_LENGTH_MAX),
        _whole(Node(source, "partitions", partitions)),
        _groups([Node(source, "groups", group) for group in groups]),
    )


def parse_config(text: str, source: str = "Config.json") -> tuple[HubSpec, ...]:
    """The hubs that a Config.json declares. Raises ConfigError."""
    top = read_json(text, source).as_object(_TOP_KEYS)
    user = top.need("UserConfig", "an object with NamespaceConfig").as_object(_USER_KEYS)
    namespaces = user.need("NamespaceConfig", _NAMESPACES_EXPECTED)
    found = namespaces.as_list()
    if len(found) != 1:
        raise namespaces.error("exactly one namespace", found=len(found))
    namespace = found[0].as_object(_NAMESPACE_KEYS)
    kind = namespace.get("Type")
    if kind is not None and kind.value != "EventHub":
        raise kind.error('"EventHub"')
    entities = namespace.need("Entities", _HUBS_EXPECTED)
    hubs = [_entity(entity.as_object(_ENTITY_KEYS)) for entity in entities.as_list()]
    if not hubs:
        raise entities.error("at least one event hub")
    return combine([(source, hub) for hub in hubs])


def combine(declared: Iterable[tuple[str, HubSpec]]) -> tuple[HubSpec, ...]:
    """All hubs of several sources, in order. Raises ConfigError if one is declared twice."""
    seen: dict[str, str] = {}
    hubs: list[HubSpec] = []
    for source, hub in declared:
        first = seen.setdefault(hub.name.lower(), source)
        if len(seen) == len(hubs):
            places = f"twice in {source}" if first == source else f"in {first} and in {source}"
            raise ConfigError(f'hub "{hub.name}" is declared {places}. Keep one of the two.')
        hubs.append(hub)
    return tuple(hubs)


def _entity(entity: Node) -> HubSpec:
    groups = entity.get("ConsumerGroups")
    hours, size = entity.get("RetentionHours"), entity.get("RetentionBytes")
    return HubSpec(
        name=_checked_name(entity.need("Name", "the hub's name"), HUB_NAME_LENGTH_MAX),
        partitions=_whole(entity.need("PartitionCount", _PARTITIONS_EXPECTED)),
        groups=_groups(
            [
                group.as_object(("Name",)).need("Name", "the group's name")
                for group in ([] if groups is None else groups.as_list())
            ]
        ),
        retention_hours=None if hours is None else _positive(hours),
        retention_bytes=None if size is None else int(_positive(size)),
    )


def _groups(nodes: Sequence[Node]) -> tuple[str, ...]:
    groups = {DEFAULT_GROUP.lower(): DEFAULT_GROUP}
    for node in nodes:
        if isinstance(node.value, str) and node.value.lower() == DEFAULT_GROUP.lower():
            continue
        name = _checked_name(node, GROUP_NAME_LENGTH_MAX)
        if name.lower() in groups:
            raise node.error("every group once")
        groups[name.lower()] = name
    return tuple(groups.values())


def _checked_name(node: Node, length_max: int) -> str:
    name = node.value
    if not isinstance(name, str) or len(name) > length_max or not _NAME.fullmatch(name):
        raise node.error(
            f"a name of 1 to {length_max} letters, digits, '.', '-' and '_' that begins and "
            "ends with a letter or a digit"
        )
    return name


def _whole(node: Node) -> int:
    """A number of partitions: the emulator's schema has it as a string, and takes a number."""
    value = node.value
    if isinstance(value, str) and value.isascii() and value.isdigit():
        value = int(value[:_NUMBER_LENGTH_MAX])
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= PARTITIONS_MAX:
        raise node.error(_PARTITIONS_EXPECTED)
    return value


def _positive(node: Node) -> float:
    value = node.value
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < 1 << 63:
        raise node.error("a number greater than 0")
    return value
