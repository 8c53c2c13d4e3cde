"""The logical start of a log: the small file that says where trimming has got to."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from struct import Struct
from zlib import crc32

from tidegate_hub.storage.files import read_small, replace

START_NAME = "start"
_MAGIC = b"TGSTART1"
_HEADER = Struct("<8sI")
_START = Struct("<QQQ")


@dataclass(frozen=True, slots=True)
class Start:
    """The first event that is kept; `enqueued_ms` is 0 where none is."""

    sequence: int
    offset: int
    enqueued_ms: int


def save_start(home: Path, start: Start, directory: str) -> None:
    """Replace the file. It is not flushed: after a power cut, retention trims once more."""
    checked = _START.pack(start.sequence, start.offset, start.enqueued_ms)
    content = _HEADER.pack(_MAGIC, crc32(checked)) + checked
    replace(home / START_NAME, content, durable=False, directory=directory)


def load_start(home: Path) -> tuple[Start | None, bool]:
    """What the file says, and whether there is a file that says nothing sound."""
    data = read_small(home / START_NAME)
    if data is None:
        return None, False
    if len(data) != _HEADER.size + _START.size:
        return None, True
    magic, crc = _HEADER.unpack_from(data)
    if magic != _MAGIC or crc32(data[_HEADER.size :]) != crc:
        return None, True
    return Start(*_START.unpack_from(data, _HEADER.size)), False
