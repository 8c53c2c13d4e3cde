"""What the typed settings say of their own fields: types, defaults, sections within sections. Pure.

Rules: the types of a class are looked up once, because the operator reads hundreds of groups.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from dataclasses import MISSING, Field
from typing import Any

_KNOWN: dict[type[Any], Mapping[str, Any]] = {}


def hints_of(section: type[Any]) -> Mapping[str, Any]:
    """The type of each field; `X | None` is X, for what is left out is None."""
    if section not in _KNOWN:
        hints = typing.get_type_hints(section)
        _KNOWN[section] = {name: _without_none(hint) for name, hint in hints.items()}
    return _KNOWN[section]


def _without_none(hint: Any) -> Any:
    if isinstance(hint, types.UnionType):
        (hint,) = (each for each in hint.__args__ if each is not types.NoneType)
    return hint


def is_list(hint: Any) -> bool:
    return typing.get_origin(hint) is tuple


def is_map(hint: Any) -> bool:
    return typing.get_origin(hint) is not None and issubclass(typing.get_origin(hint), Mapping)


def inner_of(hint: Any) -> Any:
    """What a list or a map has in it: `str` of `tuple[str, ...]`, `Any` of `Mapping[str, Any]`."""
    arguments = typing.get_args(hint)
    return arguments[0] if is_list(hint) else arguments[1]


def is_required(each: Field[Any]) -> bool:
    return each.default is MISSING and each.default_factory is MISSING


def default_of(each: Field[Any]) -> Any:
    """The value of a field that is left out; only for one that is not required."""
    return each.default_factory() if each.default_factory is not MISSING else each.default
