"""The state of one partition: a mapping that is stored together with the position. Pure.

Rules:
- Values are JSON. What is written is the same for the same content, whatever the order in which it
  came: keys are sorted, and nothing depends on the process. Keys of dictionaries are texts, because
  a number would come back as one.
- A failed call leaves no trace: what it touched is as it was before. So only what a call touches is
  encoded again after it; a large state costs no more than what is used of it.
- A call that is given up may still run, on a thread: the state is then stored as it was when that
  began, whatever the call changes or commits. `guard`, a lock, is for that moment alone.
- A value that was taken out in one call and changed in a later one without being taken out again is
  not seen. Take it from the state in each call.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, MutableMapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

_ABSENT: Any = object()
# For whom no other thread is about.
_ALONE = nullcontext()


class StateError(Exception):
    """What the handler put into the state cannot be kept; the message says what and why."""


class Undone:
    """What our own helpers keep in `context.memory` that belongs to the state."""

    def call_ended(self, *, counts: bool) -> None:
        """What the state says since the last of these stands, or is as it was before."""
        raise NotImplementedError


class State(MutableMapping[str, Any]):
    """See the module. `commit` after a good call, `roll_back` after a bad one."""

    def __init__(
        self,
        partition: str,
        stored: bytes | None,
        max_bytes: int,
        guard: AbstractContextManager[object] = _ALONE,
    ) -> None:
        self._partition = partition
        self._max_bytes = max_bytes
        self._values: dict[str, Any] = _decoded(partition, stored) if stored else {}
        # The text of each value as it was after the last good call; made when it is first touched.
        self._texts: dict[str, bytes] = {}
        self._touched: set[str] = set()
        self._size = len(stored or b"{}")
        self._whole: bytes | None = stored
        # Of what was committed since `settle`: how it was then. None without `settle`.
        self._before: dict[str, bytes | None] | None = None
        self._size_before = self._size
        self._is_given_up = False
        self._guard = guard

    # --- a mapping

    def __getitem__(self, key: str) -> Any:
        value = self._values[key]
        if key not in self._touched:
            self._touch(key)
        return value

    def __setitem__(self, key: str, value: Any) -> None:
        if not isinstance(key, str):
            raise StateError(
                f"context.state[{key!r}]: keys are texts. Write context.state[{str(key)!r}]."
            )
        if key not in self._touched:
            try:
                key.encode()
            except UnicodeEncodeError:
                raise StateError(f"context.state[{key!r}]: this key is no Unicode text") from None
            self._touch(key)
        self._values[key] = value

    def __delitem__(self, key: str) -> None:
        if key not in self._touched:
            self._touch(key)
        del self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._values))

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, key: object) -> bool:
        return key in self._values

    def __repr__(self) -> str:
        return f"<state of partition {self._partition}: {len(self)} keys, {self._size} bytes>"

    def text(self, key: str) -> bytes:
        """The JSON text of a value; unlike taking the value out, this costs nothing later."""
        if key in self._touched or key not in self._texts:
            text = _encoded(self._partition, key, self._values[key])
            if key in self._touched:
                return text
            self._texts[key] = text
        return self._texts[key]

    def peek(self, key: str, default: Any = None) -> Any:
        """A copy of a value; changing it changes nothing."""
        return json.loads(self.text(key)) if key in self._values else default

    def _touch(self, key: str) -> None:
        with self._guard:
            if key in self._values and key not in self._texts:
                self._texts[key] = _encoded(self._partition, key, self._values[key])
            self._touched.add(key)

    # --- before and after a call

    def settle(self) -> None:
        """What is committed goes with the position: `give_up` comes back to here."""
        self._before, self._size_before = {}, self._size

    @property
    def is_touched(self) -> bool:
        return bool(self._touched)

    def commit(self) -> None:
        """What the call did stands. Raises StateError, and then nothing of it does."""
        if not self._touched:
            return
        texts = {
            key: _encoded(self._partition, key, self._values[key])
            for key in self._touched
            if key in self._values
        }
        size = self._size
        for key in self._touched:
            size -= self._share(key, self._texts.get(key))
            size += self._share(key, texts.get(key))
        if size > self._max_bytes:
            raise StateError(self._too_large(size))
        with self._guard:
            if self._is_given_up:
                return
            for key in self._touched:
                if self._before is not None:
                    self._before.setdefault(key, self._texts.get(key))
                self._put(key, texts.get(key))
            self._size = size
            self._touched.clear()
            self._whole = None

    def roll_back(self) -> None:
        """As it was before the call."""
        # A copy: threads of the user's own may go on touching it.
        for key in list(self._touched):
            if key in self._texts:
                self._values[key] = json.loads(self._texts[key])
            else:
                self._values.pop(key, None)
        self._touched.clear()

    def give_up(self) -> None:
        """The call that runs does not come back: nothing of it is ever stored."""
        with self._guard:
            if self._before:
                for key, text in self._before.items():
                    self._touched.add(key)
                    self._put(key, text)
                self._size, self._whole = self._size_before, None
            self._whole = self.encoded()
            self._is_given_up = True

    def encoded(self) -> bytes | None:
        """All of it after the last good call, as it is stored; None where there never was any."""
        if self._whole is None and not self._is_given_up:
            # What is touched is not good yet: of that the text of before counts, if there was one.
            keys = (self._values.keys() - self._touched) | (self._texts.keys() & self._touched)
            if keys or self._size > 2:
                self._whole = object_of((key, self._good(key)) for key in sorted(keys))
        return self._whole

    def _good(self, key: str) -> bytes:
        return self._texts[key] if key in self._touched else self.text(key)

    def _put(self, key: str, text: bytes | None) -> None:
        if text is None:
            self._texts.pop(key, None)
        else:
            self._texts[key] = text

    @staticmethod
    def _share(key: str, text: bytes | None) -> int:
        """Bytes of one pair in the whole, with its colon and comma."""
        return 0 if text is None else len(_key(key)) + len(text) + 2

    def _too_large(self, size: int) -> str:
        by_size = sorted(((len(self.text(key)), key) for key in self._values), reverse=True)
        largest = ", ".join(f"{key!r} ({length:,})" for length, key in by_size[:3])
        return (
            f"the state of partition {self._partition} would take {size:,} bytes, and "
            f"{self._max_bytes:,} are allowed. It has {len(self)} keys; the largest: {largest}. "
            "Remove what is no longer needed, or raise spec.delivery.maxStateBytes."
        )


def object_of(pairs: Iterable[tuple[str, bytes]]) -> bytes:
    """A JSON object of keys and the texts of their values."""
    return b"{%b}" % b",".join(b"%b:%b" % (_key(key), text) for key, text in pairs)


def _key(key: str) -> bytes:
    return json.dumps(key, ensure_ascii=False).encode()


def _encoded(partition: str, key: str, value: Any) -> bytes:
    try:
        _check_keys(value)
        text = json.dumps(
            value, ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":")
        )
        return text.encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise StateError(
            f"context.state[{key!r}] of partition {partition} cannot be kept: {error}. Keep texts, "
            "numbers, true, false, null, and lists and dictionaries of them."
        ) from None


def _check_keys(value: Any) -> None:
    if isinstance(value, dict):
        for key, inner in value.items():
            if not isinstance(key, str):
                raise TypeError(f"the key {key!r} of a dictionary in it is not a text")
            if isinstance(inner, dict | list | tuple):
                _check_keys(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            if isinstance(inner, dict | list | tuple):
                _check_keys(inner)


def _decoded(partition: str, stored: bytes) -> dict[str, Any]:
    try:
        found = json.loads(stored)
        # Escaped halves of characters are read, but cannot be written. We escape next to nothing.
        if b"\\u" in stored:
            json.dumps(found, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        found = _ABSENT
    if not isinstance(found, dict):
        raise StateError(
            f"the state that is stored for partition {partition} is not one that a handler of "
            "Python keeps: another program wrote it. Rewind the partition, which clears it."
        )
    return found
