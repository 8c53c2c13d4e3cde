"""Blob metadata: texts, numbers and tables as header values, and back.

Rules: pure. A value is printable ASCII without spaces at its ends, because it travels as a header;
anything else is percent-encoded, so that ordinary names stand there as they are. What is read is
never trusted: a value that does not parse raises `Unreadable` with words for a person.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
import sys
import uuid
import zlib
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar
from urllib.parse import quote, unquote

# What a blob's metadata may hold, names and values together, in bytes.
METADATA_LIMIT = 8192

_PRINTABLE = "".join(chr(code) for code in range(33, 127) if chr(code) != "%")
_PLAIN = re.compile(r"[!-~](?:[ -~]*[!-~])?")
_INTEGER = re.compile(r"-?[0-9]{1,19}")
_SQUEEZED = "z:"
_SQUEEZE_FROM = 1024
_UNSQUEEZED_LIMIT = 1 << 20

T = TypeVar("T")


class Unreadable(ValueError):
    """What stands in a blob cannot be read; the message says what is wrong."""


class Unfit(ValueError):
    """Something cannot be kept in a blob; the message says what, and what to do."""


def escape(text: str, but: str = "") -> str:
    """A text as a metadata value; the characters of `but` are encoded as well."""
    # What came as JSON may hold halves of characters, which no header takes.
    safe = _PRINTABLE.translate({ord(character): None for character in but})
    return quote(text, safe=safe, errors="replace")


def unescape(text: str) -> str:
    return unquote(text, errors="replace")


def is_plain(text: str) -> bool:
    """Whether a text can be a metadata value just as it is."""
    return _PLAIN.fullmatch(text) is not None


def size_of(metadata: Mapping[str, str]) -> int:
    return sum(len(name) + len(value) for name, value in metadata.items())


def read_integer(metadata: Mapping[str, str], key: str) -> int:
    text = metadata.get(key, "").strip()
    if not _INTEGER.fullmatch(text):
        raise Unreadable(f"its {key} is {_shown(text)}, which is not a whole number")
    return int(text)


def read_number(text: str, what: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise Unreadable(f"its {what} is {_shown(text)}, which is not a number")
    return number


def pack_lease_id(lease_id: str) -> str:
    """22 characters for the 36 of a UUID in its usual form."""
    try:
        identifier = uuid.UUID(lease_id)
    except ValueError:
        identifier = None
    if identifier is None or str(identifier) != lease_id:
        raise Unfit(f"lease id {lease_id!r} is not a UUID in lower case with dashes")
    return base64.urlsafe_b64encode(identifier.bytes).decode().rstrip("=")


def unpack_lease_id(text: str) -> str:
    try:
        packed = base64.b64decode(text + "==", altchars=b"-_", validate=True)
        return str(uuid.UUID(bytes=packed))
    except (ValueError, binascii.Error):
        raise Unreadable(f"it wants a partition with {_shown(text)}, not a lease id") from None


def pack_table(rows: Iterable[tuple[str, str]]) -> str:
    """`key=value,key=value`, compressed where it is long."""
    return squeeze(",".join(f"{escape(key, but=',=:')}={value}" for key, value in rows))


def unpack_table(text: str, what: str, read: Callable[[str], T]) -> dict[str, T]:
    """The table that `pack_table` wrote, each value read by `read`."""
    table: dict[str, T] = {}
    for row in filter(None, unsqueeze(text).split(",")):
        key, equals, value = row.partition("=")
        if not equals:
            raise Unreadable(f"its {what} has {_shown(row)}, which is not key=value")
        table[sys.intern(unescape(key))] = read(value)
    return table


def pack_names(names: Iterable[str]) -> str:
    """`name,name`, compressed where it is long."""
    return squeeze(",".join(escape(name, but=",:") for name in names))


def unpack_names(text: str) -> frozenset[str]:
    return frozenset(unescape(name) for name in unsqueeze(text).split(",") if name)


def squeeze(text: str) -> str:
    """The text, or a compressed form where it is long and that helps."""
    if len(text) < _SQUEEZE_FROM:
        return text
    packed = _SQUEEZED + base64.b64encode(zlib.compress(text.encode("ascii"), 9)).decode()
    return min(text, packed, key=len)


def unsqueeze(text: str) -> str:
    if not text.startswith(_SQUEEZED):
        return text
    try:
        packed = base64.b64decode(text[len(_SQUEEZED) :], validate=True)
        opened = zlib.decompressobj()
        content = opened.decompress(packed, _UNSQUEEZED_LIMIT)
        if opened.eof:
            return content.decode("ascii")
    except (ValueError, zlib.error):
        pass  # the same words as for a text that ends too soon or never
    raise Unreadable("a compressed value in its metadata is damaged")


def _shown(text: str) -> str:
    """A found text in a message, cut to a length that a person reads."""
    if not text:
        return "missing"
    return repr(text if len(text) <= 40 else f"{text[:40]}…")
