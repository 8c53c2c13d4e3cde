"""How the fields of AMQP composites are typed, checked and written.

Rules:
- A composite is written with its full count of fields, never shortened: official clients read
  fields by their index.
- A field of the wrong type is a DecodeError that names composite and field; nothing untyped gets
  past this module.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from . import encode as enc
from .errors import DecodeError
from .types import Described, Symbol


class Field(NamedTuple):
    """One field of a composite: its name, its kind (a key of KINDS) and what it is when absent."""

    name: str
    kind: str
    default: Any
    required: bool


def _whole(bits: int) -> Callable[[Any], bool]:
    limit = 1 << bits
    return lambda value: type(value) is int and 0 <= value < limit


def _is(*types: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, types)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_symbol(value: Any) -> bool:
    return isinstance(value, str) and value.isascii()


def _is_symbols(value: Any) -> bool:
    return all(map(_is_symbol, value)) if isinstance(value, list) else _is_symbol(value)


def _encode_symbols(value: Sequence[str]) -> bytes:
    """None at all is null: the same, and the official Python SDK misreads an empty array."""
    if isinstance(value, str):
        return enc.encode_symbols([value])
    return enc.encode_symbols(value) if value else enc.NULL


def encode_composite(value: Any) -> bytes:
    """A registered composite with all of its fields, or any other value generically."""
    code = _CODE_OF.get(type(value))
    if code is None:
        return enc.encode(value)
    _, fields = _BY_CODE[code]
    parts = [
        enc.NULL if item is None else KINDS[field.kind].encode(item)
        for field, item in zip(fields, value, strict=True)
    ]
    return enc.encode_described(code, enc.encode_list(parts))


class Kind(NamedTuple):
    accepts: Callable[[Any], bool]
    encode: Callable[[Any], bytes]


KINDS: dict[str, Kind] = {
    "boolean": Kind(_is(bool), enc.encode_boolean),
    "ubyte": Kind(_whole(8), enc.encode_ubyte),
    "ushort": Kind(_whole(16), enc.encode_ushort),
    "uint": Kind(_whole(32), enc.encode_uint),
    "ulong": Kind(_whole(64), enc.encode_ulong),
    "string": Kind(_is_text, enc.encode_string),
    "symbol": Kind(_is_symbol, enc.encode_symbol),
    "symbols": Kind(_is_symbols, _encode_symbols),
    "binary": Kind(_is(bytes), enc.encode_binary),
    "map": Kind(_is(dict), enc.encode_map),
    "any": Kind(lambda _value: True, enc.encode),
    "composite": Kind(_is(Described), encode_composite),
    "source": Kind(_is(Described), encode_composite),
    "target": Kind(_is(Described), encode_composite),
}

# The composite that a field of one of these kinds holds, where it may hold no other; filled by the
# module that has the class. One that nobody registered may stand there too.
ONLY: dict[str, type] = {}

# Descriptor code -> (class, fields); filled by `composite`.
_BY_CODE: dict[int, tuple[Callable[..., Any], tuple[Field, ...]]] = {}
_BY_NAME: dict[str, int] = {}
_CODE_OF: dict[type, int] = {}


def register(code: int, name: str, cls: type, *kinds: str) -> None:
    """Makes a NamedTuple class the composite with this descriptor code and name.

    A field without a default is required, unless its kind ends in a question mark.
    """
    names: tuple[str, ...] = cls._fields  # type: ignore[attr-defined]
    defaults: dict[str, Any] = cls._field_defaults  # type: ignore[attr-defined]
    fields = tuple(
        Field(
            field,
            kind.removesuffix("?"),
            defaults.get(field),
            required=field not in defaults and not kind.endswith("?"),
        )
        for field, kind in zip(names, kinds, strict=True)
    )
    _BY_CODE[code] = (cls, fields)
    _BY_NAME[name] = code
    _CODE_OF[cls] = code


def build(descriptor: Any, values: Any) -> Any:
    """The composite that a descriptor and its decoded list stand for.

    A descriptor that is not registered gives the Described back: it is the caller who knows
    whether it may stand where it was found.
    """
    code = _BY_NAME.get(descriptor) if isinstance(descriptor, str) else descriptor
    entry = _BY_CODE.get(code) if isinstance(code, int) else None
    if entry is None:
        return Described(descriptor, values)
    cls, fields = entry
    if not isinstance(values, list) or len(values) > len(fields):
        raise DecodeError(f"{cls.__name__} is not a list of at most {len(fields)} fields")
    checked = [
        _check(cls, field, values[at] if at < len(values) else None)
        for at, field in enumerate(fields)
    ]
    return cls(*checked)


def _check(cls: Callable[..., Any], field: Field, value: Any) -> Any:
    if value is None:
        if field.required:
            raise DecodeError(f"{cls.__name__} lacks its field {field.name}")
        return field.default
    if not KINDS[field.kind].accepts(value):
        raise DecodeError(
            f"{cls.__name__}.{field.name} is of the wrong type: "
            f"expected {field.kind}, found {type(value).__name__}"
        )
    if isinstance(value, Described) and field.kind in ("composite", "source", "target"):
        return _check_composite(cls, field, build(*value))
    if field.kind == "symbols":
        return [value] if isinstance(value, str) else value or field.default
    if field.kind == "symbol":
        return Symbol(value)
    return str(value) if field.kind == "string" else value


def _check_composite(cls: Callable[..., Any], field: Field, value: Any) -> Any:
    if field.kind in ONLY and not isinstance(value, ONLY[field.kind] | Described):
        raise DecodeError(
            f"{cls.__name__}.{field.name} is of the wrong type: "
            f"expected {field.kind}, found {type(value).__name__}"
        )
    return value
