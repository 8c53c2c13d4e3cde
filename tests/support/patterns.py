"""The regular expressions of the source, found in its syntax, and texts that a pattern finds hard.

Rules:
- A pattern is found wherever a function of `re` is called or a schema names one, so that a new one
  cannot be forgotten. Its text is worked out in the namespace of its module.
- Hard texts come from the pattern itself: what it accepts, up to each of its repeated parts; that
  part again and again; and an end that fits nothing.
"""

from __future__ import annotations

import ast
import importlib
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

from support.tree import ROOT, files_of, named, parsed

_FUNCTIONS = (
    "compile",
    "search",
    "match",
    "fullmatch",
    "sub",
    "subn",
    "split",
    "findall",
    "finditer",
)
_ANCHORED = ("match", "fullmatch")
SOURCES = ("consumer", "operator")
# So much of each kind of character stands for the whole of its class.
_SAMPLES = "aZ0_ -.=\"'<>/\n\x00é"
_ENDS = ("", "\x00", "!", "a", "0", "-", "\n")
# Characters. Work that grows with the square of the length shows long before the last of these.
_LENGTHS = (8, 16, 24, 32, 128, 512, 2_048, 8_192)
# Below this nobody would notice, whatever the growth is.
_SLOW_S = 0.004
# Twice the length costs twice as much where growth is linear, and four times where it is not.
_STEEP = 3.0


@dataclass(frozen=True, slots=True)
class Pattern:
    """A regular expression of the source, and the functions that search with it."""

    file: str
    line: int
    name: str
    regex: re.Pattern[Any]
    functions: frozenset[str]

    @property
    def id(self) -> str:
        return f"{self.file}: {self.name or self.regex.pattern}"


def found(paths: Sequence[Path] | None = None) -> tuple[list[Pattern], list[str]]:
    """Every pattern, and the places of those whose text only the running program knows."""
    paths = paths or [p for p in files_of(".py") if named(p).startswith(SOURCES)]
    trees = {path: parsed(path) for path in paths}
    used: dict[str, set[str]] = {}
    for tree in trees.values():
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and node.attr in _FUNCTIONS:
                used.setdefault(_last_name(node.value), set()).add(node.attr)
    patterns: list[Pattern] = []
    unknown: list[str] = []
    for path, tree in trees.items():
        for pattern in _in_module(path, tree, used):
            if isinstance(pattern, str):
                unknown.append(pattern)
            else:
                patterns.append(pattern)
    return patterns, unknown


def _last_name(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def _in_module(path: Path, tree: ast.Module, used: dict[str, set[str]]) -> Iterator[Pattern | str]:
    names = _names_of_re(tree)
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    for node in ast.walk(tree):
        function, arguments = _asked(node, names)
        if not isinstance(node, ast.expr) or not arguments:
            continue
        try:
            regex = re.compile(*(_value(each, path) for each in arguments))
        except NameError:
            yield f"{named(path)}: {ast.unparse(arguments[0])}"
            continue
        name, functions = "", frozenset({function})
        if function == "compile":
            name = _assigned(node, parents)
            above = parents.get(node)
            direct = {above.attr} if isinstance(above, ast.Attribute) else used.get(name, set())
            functions = frozenset(direct) or frozenset(_FUNCTIONS) - {"compile"}
        yield Pattern(named(path), node.lineno, name, regex, functions)


def _asked(node: ast.AST, names: dict[str, str]) -> tuple[str, list[ast.expr]]:
    """The function of `re` that is called here, the pattern, and the flags."""
    if isinstance(node, ast.Dict):
        keys = [each.value if isinstance(each, ast.Constant) else None for each in node.keys]
        texts = [node.values[at] for at, key in enumerate(keys) if key == "pattern"]
        return "search", [each for each in texts if not isinstance(each, ast.Name)]
    if not isinstance(node, ast.Call) or (function := _called(node.func, names)) is None:
        return "", []
    flags = [each.value for each in node.keywords if each.arg == "flags"]
    flags += node.args[1:2] if function == "compile" else []
    return function, [node.args[0], *flags]


def _names_of_re(tree: ast.Module) -> dict[str, str]:
    """How this module calls `re` and what it takes from it."""
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {a.asname or a.name: "" for a in node.names if a.name in ("re", "regex")}
        elif isinstance(node, ast.ImportFrom) and node.module == "re":
            names |= {a.asname or a.name: a.name for a in node.names}
    return names


def _called(func: ast.expr, names: dict[str, str]) -> str | None:
    match func:
        case ast.Attribute(value=ast.Name(id=module), attr=function) if names.get(module) == "":
            return function if function in _FUNCTIONS else None
        case ast.Name(id=name) if names.get(name) in _FUNCTIONS:
            return names[name]
    return None


def _assigned(node: ast.expr, parents: dict[ast.AST, ast.AST]) -> str:
    above = parents.get(node)
    while isinstance(above, ast.expr):
        above = parents.get(above)
    match above:
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return name
    return ""


def _value(node: ast.expr, path: Path) -> Any:
    program = compile(ast.Expression(node), named(path), "eval")
    try:
        return eval(program, {"re": re})
    except NameError:
        # What it needs beside is in its module. Not every module can be imported everywhere.
        return eval(program, _namespace(path))


def _namespace(path: Path) -> dict[str, Any]:
    parts = path.relative_to(ROOT).with_suffix("").parts[1:]
    parts = parts[:-1] if parts[-1] == "__init__" else parts
    return vars(importlib.import_module(".".join(parts)))


# --- hard texts


def hard_texts(regex: re.Pattern[Any]) -> Iterator[Callable[[int], str]]:
    """Makers of texts of a length that this pattern finds hard."""
    repeated, literals = set[tuple[str, str]](), set[str]()
    parsed_pattern = parser.parse(regex.pattern, regex.flags)
    _walk(list(parsed_pattern), "", repeated, literals)
    units = {unit for _, unit in repeated} | literals
    for before, unit in sorted(repeated | {("", each) for each in units}):
        for end in _ENDS:
            yield partial(_filled, before, unit, end)
            if before:
                # Each beginning searches all that is behind it.
                yield partial(_filled, "", before + unit, end)
    for first in sorted(units):
        for second in sorted(units - {first}):
            yield partial(_filled, "", first + second, "\x00")


def _filled(before: str, unit: str, end: str, length: int) -> str:
    times = max(1, (length - len(before) - len(end)) // len(unit))
    return before + unit * times + end


def _walk(
    items: list[Any], before: str, repeated: set[tuple[str, str]], literals: set[str]
) -> list[str]:
    """What these items accept at the least, in a few samples; what they repeat is collected."""
    ways = [before]
    run = ""
    for code, value in items:
        run = run + chr(value) if code is codes.LITERAL else run
        if code is not codes.LITERAL and run:
            literals.add(run)
            run = ""
        more = _samples(code, value, ways[0], repeated, literals)
        ways = [way + each for way in ways[:2] for each in more[:3]] or ways
    if run:
        literals.add(run)
    return ways


def _samples(
    code: Any, value: Any, before: str, repeated: set[tuple[str, str]], literals: set[str]
) -> list[str]:
    if code is codes.LITERAL:
        return [chr(value)]
    if code in (codes.NOT_LITERAL, codes.IN, codes.ANY):
        return _characters(code, value)
    if code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
        least, _, body = value
        bodies = [each[len(before) :] for each in _walk(list(body), before, repeated, literals)]
        if len(body) == 1 and body[0][0] in (codes.NOT_LITERAL, codes.IN, codes.ANY):
            bodies = _characters(*body[0])
        repeated.update((before, each) for each in bodies if each)
        return [each * least for each in bodies[:2]]
    if code is codes.SUBPATTERN:
        inner = _walk(list(value[3]), before, repeated, literals)
        return [each[len(before) :] for each in inner]
    if code is codes.ATOMIC_GROUP:
        return [each[len(before) :] for each in _walk(list(value), before, repeated, literals)]
    if code is codes.BRANCH:
        return [
            each[len(before) :]
            for branch in value[1]
            for each in _walk(list(branch), before, repeated, literals)[:1]
        ]
    if code in (codes.ASSERT, codes.ASSERT_NOT):
        _walk(list(value[1]), before, repeated, literals)
    # A back-reference repeats what stands there; the samples before it hold it already.
    return [""]


def _characters(code: Any, value: Any) -> list[str]:
    """One character of each kind that is accepted."""
    if code is codes.ANY:
        return ["a", " "]
    items = [(code, value)] if code is codes.NOT_LITERAL else value
    one = re.compile(_class(items))
    ranges = [chr(low) for kind, low in items if kind is codes.LITERAL]
    ranges += [chr(value[0]) for kind, value in items if kind is codes.RANGE]
    fitting = [each for each in (*_SAMPLES, *ranges) if one.fullmatch(each)]
    return list(dict.fromkeys(fitting))[:8]


def _class(items: Any) -> str:
    text = ""
    for kind, value in items:
        if kind is codes.NEGATE:
            text = "^" + text
        elif kind is codes.NOT_LITERAL:
            text += "^" + re.escape(chr(value))
        elif kind is codes.LITERAL:
            text += re.escape(chr(value))
        elif kind is codes.RANGE:
            text += f"{re.escape(chr(value[0]))}-{re.escape(chr(value[1]))}"
        else:
            text += _CATEGORIES[str(value)]
    return f"[{text}]"


_CATEGORIES = {
    "CATEGORY_DIGIT": r"\d",
    "CATEGORY_NOT_DIGIT": r"\D",
    "CATEGORY_SPACE": r"\s",
    "CATEGORY_NOT_SPACE": r"\S",
    "CATEGORY_WORD": r"\w",
    "CATEGORY_NOT_WORD": r"\W",
}


# --- the cost


def is_steep(search: Callable[[str], object], text: Callable[[int], str]) -> str:
    """The growth of a search's cost above linear, in words; '' where there is none."""
    for length in _LENGTHS:
        spent = _spent(search, text(length))
        if spent < _SLOW_S:
            continue
        if length < 200:
            return f"{spent * 1e3:.0f} ms for {length} characters"
        lengths = (length // 2, length, 2 * length)
        once, twice, thrice = (_least(search, text(each)) for each in lengths)
        if once >= _SLOW_S / 8 and twice > _STEEP * once and thrice > _STEEP * twice:
            return (
                f"{once * 1e3:.1f}, {twice * 1e3:.1f}, {thrice * 1e3:.1f} ms for {lengths[0]}, "
                f"{lengths[1]}, {lengths[2]} characters"
            )
        return ""
    return ""


def _least(search: Callable[[str], object], text: str) -> float:
    return min(_spent(search, text) for _ in range(3))


def _spent(search: Callable[[str], object], text: str) -> float:
    """Processor time of this thread: what else the machine does is not counted."""
    began = time.thread_time()
    search(text)
    return time.thread_time() - began


def searches(pattern: Pattern) -> list[Callable[[str], object]]:
    """The ways in which a pattern is used: from the beginning of a text, or all through it."""
    regex = pattern.regex
    ways: list[Callable[[Any], object]] = []
    if pattern.functions - set(_ANCHORED):
        ways.append(lambda text: sum(1 for _ in regex.finditer(text)))
    if "match" in pattern.functions:
        ways.append(regex.match)
    if "fullmatch" in pattern.functions:
        ways.append(regex.fullmatch)
    return [partial(_as_bytes, way) for way in ways] if isinstance(regex.pattern, bytes) else ways


def _as_bytes(way: Callable[[Any], object], text: str) -> object:
    return way(text.encode())
