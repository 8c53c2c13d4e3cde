"""What the expressions of a query mean for one item. Pure.

Rules: an expression is a function from an item to a value, or UNDEFINED. What is undefined is
neither true nor false: it makes a comparison undefined, and an item is only found where the whole
condition is true. Values of different types are never equal, and have no order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tidegate_cosmos.store.keys import UNDEFINED

Expression = Callable[[Mapping[str, Any]], Any]


def path(steps: Sequence[str | int]) -> Expression:
    """What an item has at a place."""

    def found(item: Mapping[str, Any]) -> Any:
        value: Any = item
        for step in steps:
            if isinstance(step, str) and isinstance(value, Mapping):
                value = value.get(step, UNDEFINED)
            elif isinstance(step, int) and isinstance(value, list) and 0 <= step < len(value):
                value = value[step]
            else:
                return UNDEFINED
        return value

    return found


@dataclass(frozen=True, slots=True)
class Constant:
    """The same value for every item."""

    value: Any

    def __call__(self, _item: Mapping[str, Any]) -> Any:
        return self.value


def constant(value: object) -> Expression:
    return Constant(value)


def compared(sign: str, left: Expression, right: Expression) -> Expression:
    decide = _COMPARISONS[sign]

    def result(item: Mapping[str, Any]) -> Any:
        return decide(left(item), right(item))

    return result


def both(parts: Sequence[Expression]) -> Expression:
    return _joined(parts, ends_with=False)


def either(parts: Sequence[Expression]) -> Expression:
    return _joined(parts, ends_with=True)


def _joined(parts: Sequence[Expression], *, ends_with: bool) -> Expression:
    def result(item: Mapping[str, Any]) -> Any:
        told: Any = not ends_with
        for part in parts:
            value = part(item)
            if value is ends_with:
                return ends_with
            if value is not (not ends_with):
                told = UNDEFINED
        return told

    return result


def negated(part: Expression) -> Expression:
    def result(item: Mapping[str, Any]) -> Any:
        value = part(item)
        return (not value) if isinstance(value, bool) else UNDEFINED

    return result


def one_of(left: Expression, choices: Sequence[Expression]) -> Expression:
    """Whether a value is in a list. Plain constants are looked up, however many there are."""
    plain = {
        (type(each.value) is bool, each.value)
        for each in choices
        if isinstance(each, Constant) and _is_plain(each.value)
    }
    others = [
        each for each in choices if not (isinstance(each, Constant) and _is_plain(each.value))
    ]

    def result(item: Mapping[str, Any]) -> Any:
        value = left(item)
        if value is UNDEFINED:
            return UNDEFINED
        if _is_plain(value) and (type(value) is bool, value) in plain:
            return True
        return any(same(value, choice(item)) is True for choice in others)

    return result


def _is_plain(value: object) -> bool:
    """Whether it is equal to another just where Python says so, but for truth values."""
    return value is None or isinstance(value, bool | int | float | str)


def called(function: Callable[..., Any], arguments: Sequence[Expression]) -> Expression:
    return lambda item: function(*(argument(item) for argument in arguments))


def same(left: Any, right: Any) -> Any:
    """Whether two values are equal; undefined where one is."""
    if left is UNDEFINED or right is UNDEFINED:
        return UNDEFINED
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, int | float) and isinstance(right, int | float):
        return left == right
    return type(left) is type(right) and left == right


def _differ(left: Any, right: Any) -> Any:
    told = same(left, right)
    return told if told is UNDEFINED else not told


def _ordered(decide: Callable[[Any, Any], bool]) -> Callable[[Any, Any], Any]:
    def result(left: Any, right: Any) -> Any:
        kinds = (_order(left), _order(right))
        return decide(left, right) if kinds[0] and kinds[0] == kinds[1] else UNDEFINED

    return result


def _order(value: Any) -> str:
    if isinstance(value, bool):
        return "truth"
    return "number" if isinstance(value, int | float) else "text" * isinstance(value, str)


_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "=": same,
    "!=": _differ,
    "<": _ordered(lambda left, right: left < right),
    "<=": _ordered(lambda left, right: left <= right),
    ">": _ordered(lambda left, right: left > right),
    ">=": _ordered(lambda left, right: left >= right),
}


def _of_texts(decide: Callable[[str, str], bool]) -> Callable[..., Any]:
    def result(text: Any, part: Any, ignore_case: Any = False) -> Any:
        if not isinstance(text, str) or not isinstance(part, str):
            return UNDEFINED
        return decide(text.lower(), part.lower()) if ignore_case is True else decide(text, part)

    return result


def _of_text(work: Callable[[str], Any]) -> Callable[[Any], Any]:
    return lambda text: work(text) if isinstance(text, str) else UNDEFINED


def _is(*kinds: type) -> Callable[[Any], bool]:
    def result(value: Any) -> bool:
        return isinstance(value, kinds) and (bool in kinds or not isinstance(value, bool))

    return result


def _list_has(values: Any, wanted: Any) -> Any:
    if not isinstance(values, list):
        return UNDEFINED
    return any(same(value, wanted) is True for value in values)


# A function's name: what it does, and how few and how many arguments it takes.
FUNCTIONS: dict[str, tuple[Callable[..., Any], int, int]] = {
    "STARTSWITH": (_of_texts(str.startswith), 2, 3),
    "ENDSWITH": (_of_texts(str.endswith), 2, 3),
    "CONTAINS": (_of_texts(lambda text, part: part in text), 2, 3),
    "LOWER": (_of_text(str.lower), 1, 1),
    "UPPER": (_of_text(str.upper), 1, 1),
    "LENGTH": (_of_text(len), 1, 1),
    "IS_DEFINED": (lambda value: value is not UNDEFINED, 1, 1),
    "IS_NULL": (lambda value: value is None, 1, 1),
    "IS_STRING": (_is(str), 1, 1),
    "IS_NUMBER": (_is(int, float), 1, 1),
    "IS_BOOL": (_is(bool), 1, 1),
    "IS_ARRAY": (_is(list), 1, 1),
    "IS_OBJECT": (_is(dict), 1, 1),
    "ARRAY_CONTAINS": (_list_has, 2, 2),
    "ARRAY_LENGTH": (lambda value: len(value) if isinstance(value, list) else UNDEFINED, 1, 1),
}
