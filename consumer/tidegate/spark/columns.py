"""The columns of the source: those of an event itself, and those that are read from its body.

    of a hub's events: partition string, sequence bigint, offset string, enqueued timestamp,
    partition_key string, properties map<string,string>, body binary
    of a container's changes: partition string, sequence bigint, enqueued timestamp,
    operation string, id string, body binary, previous binary, metadata string

Rules:
- Without a schema a stream has these. With one it has partition, sequence and enqueued, of a change
  operation and id too, and the schema's columns: those of these names are the event's own, all
  others are keys of its JSON body.
- What no JSON value could be read into, and what would not be there in every event, is refused
  when the stream is made, in words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    BinaryType,
    DataType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from tidegate.settings import SettingsError
from tidegate.spark.json_bodies import unreadable

OWN: dict[str, DataType] = {
    "partition": StringType(),
    "sequence": LongType(),
    "offset": StringType(),
    "enqueued": TimestampType(),
    "partition_key": StringType(),
    "properties": MapType(StringType(), StringType()),
    "body": BinaryType(),
}
OF_CHANGE: dict[str, DataType] = {
    "partition": StringType(),
    "sequence": LongType(),
    "enqueued": TimestampType(),
    "operation": StringType(),
    "id": StringType(),
    "body": BinaryType(),
    "previous": BinaryType(),
    "metadata": StringType(),
}


class Kind(StrEnum):
    """What a stream has rows of."""

    EVENTS = "event"
    CHANGES = "change"

    @property
    def own(self) -> dict[str, DataType]:
        """The columns that are there whatever a body holds."""
        return OWN if self is Kind.EVENTS else OF_CHANGE

    @property
    def always(self) -> tuple[str, ...]:
        """Those beside the columns of a schema."""
        return _ALWAYS if self is Kind.EVENTS else (*_ALWAYS, "operation", "id")


# How the types of Spark's SQL begin.
_TYPES = frozenset(
    (
        *("array", "bigint", "binary", "boolean", "byte", "char", "character", "date", "dec"),
        *("decimal", "double", "float", "geography", "geometry", "int", "integer", "interval"),
        *("long", "map", "numeric", "real", "short", "smallint", "string", "struct", "time"),
        *("timestamp", "timestamp_ltz", "timestamp_ntz", "tinyint", "varchar", "variant", "void"),
    )
)
# Beside the columns of a schema.
_ALWAYS = ("partition", "sequence", "enqueued")


@dataclass(frozen=True, slots=True)
class Columns:
    """What a batch of events has, as Arrow has it."""

    schema: pa.Schema
    # Those of the schema that are keys of the body, and their types in its writer's words.
    of_body: tuple[str, ...]
    types: tuple[str, ...]
    kind: Kind = Kind.EVENTS

    @property
    def body_fields(self) -> list[pa.Field]:
        return [self.schema.field(name) for name in self.of_body]


def source_schema(of_bodies: str | None, kind: Kind = Kind.EVENTS) -> str:
    """The schema of the source, in Spark's words, where it was given this one of the bodies.

    It is read by Spark, which says what is wrong with it; what is not ours to read, columns_of.
    Raises SettingsError for a type that there is not.
    """
    if not of_bodies or not of_bodies.strip():
        return ", ".join(f"{name} {each.simpleString()}" for name, each in kind.own.items())
    given = _columns_in(of_bodies)
    _check_types(given)
    ours = [f"{name} {kind.own[name].simpleString()}" for name in kind.always if name not in given]
    return ", ".join([*ours, of_bodies.strip()])


def _columns_in(text: str) -> dict[str, str]:
    """The columns that a schema names and their types' first words: those of its structs are not
    its."""
    depth, found, parts = 0, {}, re.findall(r"`[^`]*`|[\w.]+|[<>(),]", text)
    begins = True
    for part, after in zip(parts, [*parts[1:], ","], strict=True):
        if part in "<(":
            depth += 1
        elif part in ">)":
            depth -= 1
        elif part == ",":
            begins = depth == 0
        elif begins and depth == 0:
            found[part.strip("`").lower()] = "" if after in "<>()," else after.lower()
            begins = False
    return found


def _check_types(columns: Mapping[str, str]) -> None:
    """What Spark would only say of the whole: its parser then blames another column."""
    for name, kind in columns.items():
        if not kind:
            raise SettingsError(f"schema: column '{name}' has no type: write '{name} string'")
        if kind not in _TYPES:
            raise SettingsError(
                f"schema: column '{name}': '{kind}' is no type of Spark; there are string, bigint, "
                "double, boolean, timestamp and others"
            )


def columns_of(schema: StructType, kind: Kind = Kind.EVENTS) -> Columns:
    """What is read for a schema. Raises SettingsError where it cannot be."""
    names = [name.lower() for name in schema.names]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise SettingsError(f"schema: column '{twice}' is there twice")
    for field in schema.fields:
        _check(field, kind)
    try:
        as_arrow = to_arrow_schema(schema, timezone="UTC")
    except PySparkException as error:
        raise SettingsError(f"schema: {error}") from None
    of_body = [field for field in schema.fields if field.name not in kind.own]
    for field in of_body:
        said = unreadable(as_arrow.field(field.name).type)
        if said:
            raise SettingsError(
                f"schema: column '{field.name}' is of type {field.dataType.simpleString()}, which "
                f"is not read from JSON ({said}): write it as string, or leave the schema out and "
                "take it from the column `body`"
            )
    return Columns(
        as_arrow,
        tuple(field.name for field in of_body),
        tuple(field.dataType.simpleString() for field in of_body),
        kind,
    )


def _check(field: StructField, kind: Kind) -> None:
    name, whose = field.name, f"the {kind}'s own"
    if name.lower() in kind.own and name not in kind.own:
        raise SettingsError(f"schema: column '{name}' is {whose}: write '{name.lower()}'")
    own = kind.own.get(name)
    if own is not None and field.dataType != own:
        raise SettingsError(
            f"schema: column '{name}' is {whose}, of type {own.simpleString()}: a key "
            f"'{name}' of the bodies is not read by a schema, only from the column `body`"
        )
    if not _may_lack(field.dataType, nullable=field.nullable):
        raise SettingsError(
            f"schema: column '{name}' is NOT NULL, and an event may lack it: leave NOT NULL out"
        )


def _may_lack(kind: Any, *, nullable: bool) -> bool:
    """Whether null is allowed here and in all parts of the type."""
    if not nullable:
        return False
    if isinstance(kind, StructType):
        return all(_may_lack(field.dataType, nullable=field.nullable) for field in kind.fields)
    element = getattr(kind, "elementType", None)
    return element is None or _may_lack(element, nullable=kind.containsNull)
