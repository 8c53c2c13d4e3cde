"""From changes of a container to a RecordBatch with the columns that are wanted.

Rules:
- The body is the item as it is after the change, as JSON; a delete has none, and its columns of a
  schema are null. `previous` and `metadata` are there where the service tells them.
- What is read from bodies by a schema, and what is said of one that does not fit, is as of a hub's
  events (json_bodies.py).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from tidegate.sources.cosmos.change import Change
from tidegate.spark.batches_of_arrow import BatchMaker, Maker
from tidegate.spark.columns import Columns, Kind

_TIME = pa.timestamp("us", tz="UTC")
# What a schema reads of a delete.
_NOTHING = b"{}"


@dataclass(frozen=True)
class ChangePiece:
    """Changes of one partition, in order."""

    changes: Sequence[Change]

    def __len__(self) -> int:
        return len(self.changes)

    @cached_property
    def sequences(self) -> Any:
        return np.fromiter((change.lsn for change in self.changes), np.int64, len(self.changes))

    def event(self, index: int) -> Change:
        return self.changes[index]

    def without(self, indices: Sequence[int]) -> ChangePiece:
        """All but these of them."""
        gone = set(indices)
        return ChangePiece([each for at, each in enumerate(self.changes) if at not in gone])

    @cached_property
    def items(self) -> list[bytes | None]:
        return [_json(change.current) if change.current else None for change in self.changes]

    def bodies(self) -> list[bytes]:
        return [_NOTHING if item is None else item for item in self.items]


class ChangeBatchMaker(BatchMaker):
    """Makes batches of one set of columns."""

    def makers(self) -> dict[str, Maker]:
        def of_each(take: Callable[[Change], Any], kind: pa.DataType) -> Maker:
            return lambda _, piece: pa.array([take(each) for each in piece.changes], kind)

        return {
            "partition": lambda partition, piece: pa.repeat(partition, len(piece)),
            "sequence": lambda _, piece: pa.array(piece.sequences),
            "enqueued": of_each(_micros, _TIME),
            "operation": of_each(lambda change: change.operation, pa.string()),
            "id": of_each(_id, pa.string()),
            "body": lambda _, piece: pa.array(piece.items, pa.binary()),
            "previous": of_each(lambda change: _json_or_none(change.previous), pa.binary()),
            "metadata": of_each(_metadata, pa.string()),
        }


def maker_of(columns: Columns) -> BatchMaker:
    """Whatever makes batches of these columns."""
    return ChangeBatchMaker(columns) if columns.kind is Kind.CHANGES else BatchMaker(columns)


def _micros(change: Change) -> int | None:
    at = change.enqueued_at
    return None if at is None else round(at * 1_000_000)


def _id(change: Change) -> str | None:
    """Of the item; of a delete, where the service tells it."""
    for said in (change.current, change.previous or {}, change.metadata):
        if isinstance(said.get("id"), str):
            return str(said["id"])
    return None


def _metadata(change: Change) -> str | None:
    return json.dumps(change.metadata, ensure_ascii=False) if change.metadata else None


def _json_or_none(said: dict[str, Any] | None) -> bytes | None:
    return None if said is None else _json(said)


def _json(said: dict[str, Any]) -> bytes:
    return json.dumps(said, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")
