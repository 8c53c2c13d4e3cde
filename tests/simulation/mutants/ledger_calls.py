"""Mutants of the calls to storage: conditions that are not sent, one write made two."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from unittest.mock import patch

from tidegate.ledger.memory import MemoryLedger
from tidegate.ledger.memory_blob import MemoryBlob
from tidegate.ports import (
    Acquire,
    Break,
    Change,
    LedgerError,
    ReadCheckpoint,
    Release,
    Renew,
    WriteCheckpoint,
)

_perform = MemoryLedger.perform_at


def _unconditional(*kinds: type) -> list[tuple[object, str, Any]]:
    def perform_at(self: MemoryLedger, operation: Any, now: float) -> Any:
        sent: Any = operation
        if not isinstance(operation, kinds):
            return _perform(self, operation, now)
        with patch.object(MemoryBlob, "match", lambda *_: None):
            return _perform(self, sent, now)

    return [(MemoryLedger, "perform_at", perform_at)]


def leases_unconditional() -> list[tuple[object, str, Any]]:
    return _unconditional(Acquire, Renew, Change, Release)


def break_unconditional() -> list[tuple[object, str, Any]]:
    return _unconditional(Break)


def checkpoints_unconditional() -> list[tuple[object, str, Any]]:
    def perform_at(self: MemoryLedger, operation: Any, now: float) -> Any:
        if isinstance(operation, WriteCheckpoint):
            found: Any = _perform(self, ReadCheckpoint(operation.partition), now)
            etag = found.etag if found is not None else None
            return _perform(self, replace(operation, etag=etag), now)
        return _perform(self, operation, now)

    return [(MemoryLedger, "perform_at", perform_at)]


def body_left_out() -> list[tuple[object, str, Any]]:
    """Every checkpoint but the first is written as metadata alone, whatever state there is."""

    def perform_at(self: MemoryLedger, operation: Any, now: float) -> Any:
        if isinstance(operation, WriteCheckpoint) and operation.etag is not None:
            operation = replace(operation, state=None, keeps_body=True)
        return _perform(self, operation, now)

    return [(MemoryLedger, "perform_at", perform_at)]


def state_apart() -> list[tuple[object, str, Any]]:
    """The state is written first and unconditionally, the position afterwards, if it may be."""

    def perform_at(self: MemoryLedger, operation: Any, now: float) -> Any:
        if isinstance(operation, WriteCheckpoint) and operation.state is not None:
            staged = self.__dict__.setdefault("staged", {})
            staged[operation.partition] = operation.state
            try:
                return _perform(self, operation, now)
            except LedgerError:
                found: Any = _perform(self, ReadCheckpoint(operation.partition), now)
                if found is not None and found.state is not None:
                    blob = self._blobs["checkpoint", operation.partition]  # type: ignore[index]
                    blob.content = replace(found, state=operation.state)
                raise
        return _perform(self, operation, now)

    return [(MemoryLedger, "perform_at", perform_at)]
