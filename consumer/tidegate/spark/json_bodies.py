"""Bodies that are JSON objects to columns, by pyarrow: all of a piece in one go.

    {"b":[BODY]}      one line for each body, so that a body can neither end its line nor be two
    {"b":[BODY]}

Rules:
- A body counts where it is one object whose values are of the columns' types, in UTF-8. Keys that
  are no columns are passed over; a column that is missing is null, as is `null`.
- Where the whole fails, halves are tried until the bodies that fail stand alone. What is wrong with
  one is then said in words; the others are read all the same.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

_BEGIN, _BETWEEN, _END = b'{"b":[', b']}\n{"b":[', b"]}\n"
_SHOWN = 60


class JsonError(Exception):
    """A body that is not what its columns want; the message says what it is."""


@dataclass(frozen=True, slots=True)
class Faulty:
    """One body of a piece, by its place in it."""

    index: int
    error: JsonError


@dataclass(frozen=True, slots=True)
class Decoded:
    """The columns of the bodies that can be read, in order, and those that cannot."""

    columns: list[pa.Array]
    faulty: tuple[Faulty, ...] = ()


class JsonBodies:
    """Reads bodies into the columns of one schema; `types` are theirs, in its writer's words."""

    def __init__(self, fields: Sequence[pa.Field], types: Sequence[str] = ()) -> None:
        self._types = types or [str(field.type) for field in fields]
        self._wanted = pa.struct(fields)
        self._read_as = pa.struct([field.with_type(_as_read(field.type)) for field in fields])

    def decode(self, bodies: Sequence[bytes], *, stops: bool = False) -> Decoded:
        """`stops`: the first that cannot be read is enough to know."""
        parts: list[pa.StructArray] = []
        faulty: list[Faulty] = []
        # Ranges still to read, the next one last.
        ranges = [(0, len(bodies))] if bodies else []
        while ranges and not (stops and faulty):
            begin, end = ranges.pop()
            try:
                parts.append(self._whole(bodies[begin:end]))
            except (pa.ArrowInvalid, JsonError) as error:
                if end - begin == 1:
                    faulty.append(Faulty(begin, self._said(bodies[begin], error)))
                else:
                    middle = (begin + end) // 2
                    ranges += [(middle, end), (begin, middle)]
        whole = parts[0] if len(parts) == 1 else pa.concat_arrays(parts or [self._none()])
        return Decoded(whole.flatten(), tuple(faulty))

    def _none(self) -> pa.StructArray:
        return pa.array([], self._wanted)

    def _whole(self, bodies: Sequence[bytes]) -> pa.StructArray:
        """Raises ArrowInvalid or JsonError where any of them cannot be read."""
        return self._read(bodies, self._read_as, self._wanted)

    def _read(
        self, bodies: Sequence[bytes], read_as: pa.StructType, wanted: pa.StructType
    ) -> pa.StructArray:
        lines = b"".join((_BEGIN, _BETWEEN.join(bodies), _END))
        table = pj.read_json(
            pa.BufferReader(lines),
            # One block: no object lies across the end of one.
            read_options=pj.ReadOptions(use_threads=False, block_size=len(lines) + 1),
            parse_options=pj.ParseOptions(
                explicit_schema=pa.schema([("b", pa.list_(read_as))]),
                unexpected_field_behavior="ignore",
            ),
        )
        (lists,) = table.column(0).chunks
        found = lists.values
        count = len(bodies)
        is_one_each = len(lists) == count == len(found) and lists.null_count == 0
        if not is_one_each or not pc.all(pc.equal(pc.list_value_length(lists), 1)).as_py():
            raise JsonError("its body is not one JSON object")
        if found.null_count:
            raise JsonError("its body is null, and not an object")
        found.validate(full=True)
        return found if read_as == wanted else found.cast(wanted)

    # --- what is wrong with one

    def _said(self, body: bytes, error: Exception) -> JsonError:
        """In the words of who wrote the schema, as far as that can be found."""
        try:
            value = json.loads(body.decode(), object_pairs_hook=_once_each)
        except (ValueError, RecursionError) as problem:
            return JsonError(f"its body is not JSON: {problem}")
        if not isinstance(value, dict):
            return JsonError(f"its body is JSON, but no object: {_shown(value)}")
        fields = zip(self._read_as, self._wanted, self._types, strict=True)
        for read_as, wanted, words in fields:
            if wanted.name not in value:
                continue
            try:
                self._read([body], pa.struct([read_as]), pa.struct([wanted]))
            except (pa.ArrowInvalid, JsonError):
                shown = _shown(value[wanted.name])
                return JsonError(f"column '{wanted.name}' ({words}) cannot hold {shown}")
        return JsonError(str(error))


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in found if names.count(name) > 1)
        raise ValueError(f"key {_shown(twice)} is there twice")
    return found


def _shown(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _as_read(kind: pa.DataType) -> pa.DataType:
    """The type by which a value is read: dates are text in JSON."""
    if pa.types.is_date(kind):
        return pa.string()
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_as_read(kind.value_type)))
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_as_read(field.type)) for field in kind])
    return kind


def unreadable(kind: pa.DataType) -> str:
    """The part of a column's type that no JSON value is read into; '' where all of it is."""
    if pa.types.is_list(kind):
        return unreadable(kind.value_type)
    if pa.types.is_struct(kind):
        return next((said for field in kind if (said := unreadable(field.type))), "")
    is_known = (
        pa.types.is_boolean(kind)
        or pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_decimal(kind)
        or pa.types.is_string(kind)
        or pa.types.is_date(kind)
        or pa.types.is_timestamp(kind)
    )
    return "" if is_known else str(kind)
