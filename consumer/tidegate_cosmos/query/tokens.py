"""A query's text as tokens. Pure.

Rules: words are compared without regard to case, and keep it; texts are in single or double quotes
with the escapes of JSON; a number is one of JSON's.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from math import isinf
from typing import Final, Literal

from tidegate_cosmos.query.problems import QueryProblem

Kind = Literal["word", "parameter", "text", "number", "sign", "end"]
LENGTH_MAX: Final = 262_144
# As many as a list of IN with all the values that one may have, and something around it.
TOKENS_MAX: Final = 33_000
# The largest number has 309; Python reads no whole number of many zeros and a digit behind them.
_DIGITS_MAX: Final = 400

_TOKEN: Final = re.compile(
    r"""\s*(?:
      (?P<word>[A-Za-z_][A-Za-z0-9_]*)
    | (?P<parameter>@[A-Za-z0-9_]+)
    | (?P<number>-?(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?)
    | (?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
    | (?P<sign><=|>=|!=|<>|[=<>(),.\[\]*])
    )""",
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Token:
    """A part of a query. `value` is what a text or number means, else how it is written."""

    kind: Kind
    value: str | int | float
    at: int

    def says(self, *words: str) -> bool:
        """Whether it is one of these words (in upper case) or signs."""
        if self.kind == "word":
            return str(self.value).upper() in words
        return self.kind == "sign" and self.value in words

    def problem(self, expected: str) -> QueryProblem:
        found = "the end" if self.kind == "end" else f"'{str(self.value)[:40]}'"
        return QueryProblem(f"Syntax error, incorrect syntax near {found}: expected {expected}.")


def tokens_of(text: str) -> list[Token]:
    """All tokens, with one at the end that is the end. Raises QueryProblem."""
    if len(text) > LENGTH_MAX:
        raise QueryProblem(f"The query is longer than {LENGTH_MAX} characters.")
    found: list[Token] = []
    at = 0
    rest = text.rstrip()
    while at < len(rest):
        match = _TOKEN.match(rest, at)
        if match is None:
            raise QueryProblem(
                f"Syntax error, invalid character near '{rest[at : at + 20].strip()[:20]}'."
            )
        if len(found) >= TOKENS_MAX:
            raise QueryProblem(
                f"The query has more than {TOKENS_MAX} words, values and signs. Ask in parts."
            )
        kind = match.lastgroup
        assert kind is not None
        found.append(_token(kind, match[kind], match.start(kind)))
        at = match.end()
    return [*found, Token("end", "", len(rest))]


def _token(kind: str, text: str, at: int) -> Token:
    match kind:
        case "text":
            return Token("text", _meant(text), at)
        case "number":
            return Token("number", _number(text), at)
        case "parameter":
            return Token("parameter", text, at)
        case "sign":
            return Token("sign", "!=" if text == "<>" else text, at)
        case _:
            return Token("word", text, at)


def _number(text: str) -> int | float:
    value = float(text)
    if isinf(value):
        raise QueryProblem(f"The number {text[:40]} is beyond what can be kept.")
    if set(text) & set(".eE"):
        return value
    if len(text) > _DIGITS_MAX:
        raise QueryProblem(f"The number {text[:40]}… is too long.")
    return int(text)


def _meant(quoted: str) -> str:
    inner = quoted[1:-1]
    if "\\" not in inner:
        return inner
    if quoted[0] == "'":
        inner = inner.replace("\\'", "'").replace('\\"', '"').replace('"', '\\"')
    try:
        return str(json.loads(f'"{inner}"', strict=False))
    except ValueError:
        raise QueryProblem(
            f"The text {quoted[:40]} has an escape that JSON does not know."
        ) from None
