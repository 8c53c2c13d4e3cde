"""A query from its text: what it selects, from which items. Pure.

It has no more terms than the service takes, and says how many, so that its work can be bounded.
Served: `SELECT [TOP n] * | VALUE expression | VALUE COUNT(1) | expression [AS name], …
FROM c [WHERE condition]`, with =, !=, <, <=, >, >=, AND, OR, NOT, IN, BETWEEN, parameters, and the
functions of `values`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tidegate_cosmos.query import values
from tidegate_cosmos.query.problems import QueryProblem
from tidegate_cosmos.query.tokens import Token, tokens_of
from tidegate_cosmos.query.values import Expression
from tidegate_cosmos.store.keys import UNDEFINED

_DEPTH_MAX: Final = 60
# As the account says it of itself.
LOGICAL_MAX: Final = 500
IN_MAX: Final = 16_000
_COMPARE: Final = ("=", "!=", "<", "<=", ">", ">=")
_NOT_SERVED: Final = ("ORDER", "GROUP", "OFFSET", "JOIN", "DISTINCT", "LIKE", "EXISTS", "IN")
_MISSING: Final = object()


@dataclass(frozen=True, slots=True)
class Query:
    """A query. `columns` is None for whole items; `counts` says that only their number is asked."""

    columns: tuple[tuple[str, Expression], ...] | None = None
    value: Expression | None = None
    counts: bool = False
    top: int | None = None
    condition: Expression | None = None
    # How many paths, functions, and values in lists that are parameters are looked at for one item,
    # at most.
    terms: int = 0


def query_of(text: str, parameters: Mapping[str, Any] | None = None) -> Query:
    """The query that a text means, with the values of its parameters. Raises QueryProblem."""
    return _Parser(tokens_of(text), parameters or {}).query()


class _Parser:
    def __init__(self, tokens: Sequence[Token], parameters: Mapping[str, Any]) -> None:
        self._tokens = tokens
        self._parameters = parameters
        self._at = 0
        self._depth = 0
        self._alias = ""
        self._terms = 0
        self._weights: dict[str, int] = {}
        self._joints = {"AND": 0, "OR": 0}

    def query(self) -> Query:
        self._need("SELECT")
        top = self._top() if self._took("TOP") else None
        columns_at = self._at
        self._alias = self._alias_ahead()
        self._at = columns_at
        query = self._selected(top)
        self._from()
        condition = self._condition() if self._took("WHERE") else None
        self._served()
        if self._next.kind != "end":
            raise self._next.problem("the end of the query")
        return Query(query.columns, query.value, query.counts, top, condition, self._terms)

    @property
    def _next(self) -> Token:
        return self._tokens[self._at]

    def _take(self) -> Token:
        token = self._next
        self._at += token.kind != "end"
        return token

    def _took(self, *words: str) -> bool:
        if self._next.says(*words):
            self._at += 1
            return True
        return False

    def _need(self, word: str) -> None:
        if not self._took(word):
            raise self._next.problem(word)

    def _served(self) -> None:
        token = self._next
        if token.kind == "word" and token.says(*_NOT_SERVED):
            raise QueryProblem(
                f"tidegate-cosmos does not serve {str(token.value).upper()} here. Served: SELECT "
                "[TOP n] … FROM c WHERE … with comparisons, AND, OR, NOT, IN, BETWEEN, functions."
            )

    def _top(self) -> int:
        token = self._take()
        value = self._parameter(token) if token.kind == "parameter" else token.value
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise token.problem("a number of items after TOP")
        return value

    def _alias_ahead(self) -> str:
        """The name by which the query calls an item: it comes later than it is used."""
        while self._next.kind != "end" and not self._next.says("FROM"):
            self._at += 1
        return self._from()

    def _from(self) -> str:
        self._need("FROM")
        name = self._name("the name of the items after FROM")
        self._took("AS")
        if self._next.kind == "word" and not self._next.says("WHERE", *_NOT_SERVED):
            name = self._name("a name")
        self._served()
        return name

    def _name(self, expected: str) -> str:
        token = self._take()
        if token.kind != "word":
            raise token.problem(expected)
        return str(token.value)

    def _selected(self, top: int | None) -> Query:
        self._served()
        if self._took("*"):
            return Query()
        if self._took("VALUE"):
            if self._next.says("COUNT"):
                return self._count(top)
            return Query(value=self._operand())
        columns: list[tuple[str, Expression]] = []
        while not columns or self._took(","):
            columns.append(self._column(len(columns) + 1))
        return Query(columns=tuple(columns))

    def _count(self, top: int | None) -> Query:
        if top is not None:
            raise self._next.problem("no TOP together with COUNT")
        self._take()
        self._need("(")
        if self._take().value != 1:
            raise QueryProblem("tidegate-cosmos serves COUNT(1) alone.")
        self._need(")")
        return Query(counts=True)

    def _column(self, number: int) -> tuple[str, Expression]:
        start = self._at
        expression = self._operand()
        last = self._tokens[self._at - 1]
        is_path = self._tokens[start].kind == "word" and self._at > start + 1
        if not is_path or last.says(")"):
            name = f"${number}"
        else:
            # What a path ends with is the column's name: c.home, c["home"].
            name = str(self._tokens[self._at - 2].value if last.says("]") else last.value)
        if self._took("AS"):
            name = self._name("a name after AS")
        return name, expression

    def _condition(self) -> Expression:
        parts = [self._conjunction()]
        while self._took("OR"):
            self._joined("OR")
            parts.append(self._conjunction())
        return parts[0] if len(parts) == 1 else values.either(parts)

    def _conjunction(self) -> Expression:
        parts = [self._negation()]
        while self._took("AND"):
            self._joined("AND")
            parts.append(self._negation())
        return parts[0] if len(parts) == 1 else values.both(parts)

    def _joined(self, word: str) -> None:
        self._joints[word] += 1
        if self._joints[word] > LOGICAL_MAX:
            raise QueryProblem(
                f"The query has more than {LOGICAL_MAX} {word}, which is as many as the service "
                "takes. Use IN with a list of values, or ask in parts."
            )

    def _negation(self) -> Expression:
        if not self._took("NOT"):
            return self._comparison()
        self._deeper()
        part = values.negated(self._negation())
        self._depth -= 1
        return part

    def _comparison(self) -> Expression:
        left = self._operand()
        if self._next.says(*_COMPARE):
            sign = str(self._take().value)
            return values.compared(sign, left, self._operand())
        is_negated = self._next.says("NOT") and self._tokens[self._at + 1].says("IN", "BETWEEN")
        if is_negated:
            self._at += 1
        if self._took("IN"):
            told = values.one_of(left, self._list())
        elif self._took("BETWEEN"):
            low = self._operand()
            self._need("AND")
            high = self._operand()
            told = values.both(
                (values.compared(">=", left, low), values.compared("<=", left, high))
            )
        else:
            self._served()
            return left
        return values.negated(told) if is_negated else told

    def _list(self) -> list[Expression]:
        self._need("(")
        choices = [self._operand()]
        while self._took(","):
            if len(choices) >= IN_MAX:
                raise QueryProblem(f"A list of the query has more than {IN_MAX} values.")
            choices.append(self._operand())
        self._need(")")
        return choices

    def _operand(self) -> Expression:
        token = self._take()
        if token.says("("):
            self._deeper()
            inside = self._condition()
            self._need(")")
            self._depth -= 1
            return inside
        match token.kind:
            case "text" | "number":
                return values.constant(token.value)
            case "parameter":
                value = self._parameter(token)
                self._terms += self._weight(str(token.value), value)
                return values.constant(value)
            case "word":
                return self._word(token)
        raise token.problem("a value, a path or a function")

    def _word(self, token: Token) -> Expression:
        word = str(token.value)
        self._terms += 1
        known = {"TRUE": True, "FALSE": False, "NULL": None, "UNDEFINED": UNDEFINED}
        if word == self._alias:
            return values.path(self._steps())
        if word.upper() in known:
            return values.constant(known[word.upper()])
        if not self._next.says("("):
            raise QueryProblem(
                f"Identifier '{word[:60]}' could not be resolved: items are called '{self._alias}'."
            )
        if word.upper() not in values.FUNCTIONS:
            raise QueryProblem(
                f"tidegate-cosmos has no function {word[:60]}. Served: "
                f"{', '.join(values.FUNCTIONS)}."
            )
        function, fewest, most = values.FUNCTIONS[word.upper()]
        self._deeper()
        arguments = self._list()
        self._depth -= 1
        if not fewest <= len(arguments) <= most:
            raise QueryProblem(f"{word} takes {fewest} to {most} arguments, not {len(arguments)}.")
        return values.called(function, arguments)

    def _weight(self, name: str, value: Any) -> int:
        """How many values a parameter has in it, if it is a list or an object."""
        if name not in self._weights:
            self._weights[name] = _weight(value)
        return self._weights[name]

    def _steps(self) -> list[str | int]:
        steps: list[str | int] = []
        while True:
            if self._took("."):
                steps.append(self._name("a property's name after '.'"))
            elif self._took("["):
                token = self._take()
                if token.kind == "parameter":
                    step: Any = self._parameter(token)
                else:
                    step = token.value if token.kind in ("text", "number") else None
                if not isinstance(step, str | int) or isinstance(step, bool):
                    raise token.problem("a property's name in quotes, or an index")
                steps.append(step)
                self._need("]")
            else:
                return steps

    def _parameter(self, token: Token) -> Any:
        value = self._parameters.get(str(token.value), _MISSING)
        if value is _MISSING:
            raise QueryProblem(f"The query names parameter {token.value}, which was not given.")
        return value

    def _deeper(self) -> None:
        self._depth += 1
        if self._depth > _DEPTH_MAX:
            raise QueryProblem(f"The query is nested more than {_DEPTH_MAX} deep.")


def _weight(value: Any) -> int:
    count, left = 0, [value] if isinstance(value, list | dict) else []
    while left:
        count += 1
        part = left.pop()
        if isinstance(part, list | dict):
            left += part.values() if isinstance(part, dict) else part
    return count
