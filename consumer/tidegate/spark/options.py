"""The options of `format("tidegate")`, as a user of Spark writes them. Pure.

    spark.readStream.format("tidegate").option("file", "group.yaml").option("members", 2)
    spark.read.format("tidegate").option("file", "group.yaml").option("from", "2026-01-31T00:00Z")

Rules: names are read as Spark reads them, whatever their case; one that is not known is refused
with those that are, and so is one that says nothing there.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC
from types import MappingProxyType

from tidegate.model import PartitionId
from tidegate.settings import SettingsError
from tidegate.sources.start import moment_of

EARLIEST, LATEST = "earliest", "latest"
# More is no number that somebody means, and with thousands of them Python reads none.
_DIGITS = 15
# Of both readers, of streams, and of batches.
_BOTH = ("file", "schema")
_OF_STREAMS = ("maxBytes", "maxEvents", "member", "members", "tasksPerMember")
_OF_BATCHES = ("consumerGroup", "from", "to")


@dataclass(frozen=True, slots=True)
class StreamOptions:
    """Of `spark.readStream`. A limit of 0 is the group file's."""

    file: str
    members: int = 1
    member: str = ""
    max_events: int = 0
    max_bytes: int = 0
    tasks_per_member: int = 2


@dataclass(frozen=True, slots=True)
class Place:
    """A place in every partition: an end, a time, or a sequence number for each that is named."""

    end: str = ""
    at: float | None = None
    sequences: Mapping[PartitionId, int] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class BatchOptions:
    """Of `spark.read`: events from the first place, and with it, up to the last."""

    file: str
    begin: Place = Place(EARLIEST)
    end: Place = Place(LATEST)
    consumer_group: str = ""


def check(given: Mapping[str, str]) -> None:
    """What can be wrong before it is known which reader is meant. Raises SettingsError."""
    found = _known(given, (*_BOTH, *_OF_STREAMS, *_OF_BATCHES), "read and spark.readStream", ())
    _of_stream(found)
    _of_batch(found)


def stream_options(given: Mapping[str, str]) -> StreamOptions:
    """Raises SettingsError."""
    return _of_stream(_known(given, (*_BOTH, *_OF_STREAMS), "readStream", _OF_BATCHES))


def batch_options(given: Mapping[str, str]) -> BatchOptions:
    """Raises SettingsError."""
    return _of_batch(_known(given, (*_BOTH, *_OF_BATCHES), "read", _OF_STREAMS))


def _of_stream(found: Mapping[str, str]) -> StreamOptions:
    return StreamOptions(
        _file(found),
        members=_number(found, "members", 1),
        member=found.get("member", ""),
        max_events=_number(found, "maxEvents", 0),
        max_bytes=_number(found, "maxBytes", 0),
        tasks_per_member=_number(found, "tasksPerMember", 2),
    )


def _of_batch(found: Mapping[str, str]) -> BatchOptions:
    return BatchOptions(
        _file(found),
        begin=_place(found.get("from", EARLIEST), "from"),
        end=_place(found.get("to", LATEST), "to"),
        consumer_group=found.get("consumerGroup", ""),
    )


def schema_option(given: Mapping[str, str]) -> str | None:
    """The schema of the bodies, for either."""
    return next((text for name, text in given.items() if name.lower() == "schema"), None)


def file_option(given: Mapping[str, str]) -> str:
    """The group file, for either. Raises SettingsError."""
    return _file({name.lower(): text for name, text in given.items()})


def _known(
    given: Mapping[str, str], names: tuple[str, ...], where: str, of_other: tuple[str, ...]
) -> dict[str, str]:
    by_lower = {name.lower(): name for name in names}
    found: dict[str, str] = {}
    for name, text in given.items():
        known = by_lower.get(name.lower())
        if known is None:
            other = next((each for each in of_other if each.lower() == name.lower()), None)
            if other is not None:
                raise SettingsError(f"option '{other}' says nothing to spark.{where}: leave it out")
            close = difflib.get_close_matches(name.lower(), by_lower, 1)
            meant = f": did you mean '{by_lower[close[0]]}'?" if close else ""
            raise SettingsError(
                f"option '{name}' is not known to format(\"tidegate\"){meant or ';'} spark.{where} "
                f"has {', '.join(sorted(names))}"
            )
        found[known] = text
    return found


def _file(found: Mapping[str, str]) -> str:
    file = found.get("file", "").strip()
    if not file:
        raise SettingsError(
            "option 'file' is missing: name the group file, as in "
            '.format("tidegate").option("file", "group.yaml")'
        )
    return file


def _number(found: Mapping[str, str], name: str, default: int) -> int:
    text = found.get(name)
    if text is None:
        return default
    number = text.strip()
    if not number.isdecimal() or len(number) > _DIGITS or int(number) < 1:
        raise SettingsError(f"option '{name}' {text[:40]!r}: write a whole number, 1 or more")
    return int(number)


def _place(text: str, name: str) -> Place:
    text = text.strip()
    if text.lower() in (EARLIEST, LATEST):
        return Place(text.lower())
    if text.startswith("{"):
        return Place(sequences=_sequences(text, name))
    try:
        at = moment_of(text)
    except ValueError:
        raise SettingsError(
            f"option '{name}' {text!r}: write earliest, latest, a time such as "
            '2026-01-31T00:00:00Z, or a sequence number for each partition, {"0": 100, "1": 90}'
        ) from None
    return Place(at=(at if at.tzinfo is not None else at.replace(tzinfo=UTC)).timestamp())


def _sequences(text: str, name: str) -> Mapping[PartitionId, int]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or not all(
        isinstance(number, int) and not isinstance(number, bool) and number >= 0
        for number in found.values()
    ):
        raise SettingsError(
            f"option '{name}': write a sequence number, 0 or more, for each partition to be read, "
            'such as {"0": 100, "1": 90}'
        )
    return MappingProxyType(dict(found))
