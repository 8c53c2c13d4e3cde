"""Texts of errors: what their classes do when they are asked for one."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar, cast

import pytest

from tidegate.error_text import ERROR_LIMIT, TRACE_LIMIT, one_line, said, trace_of

E = TypeVar("E", bound=BaseException)


class Silent(Exception):
    def __str__(self) -> str:
        raise ValueError("no text for you")

    def __repr__(self) -> str:
        raise ValueError("nor this one")


class Exits(Exception):
    def __str__(self) -> str:
        raise SystemExit(0)


class NoText(Exception):
    def __str__(self) -> str:
        return cast(str, 7)


class Odd(str):
    __slots__ = ()

    def split(self, *_: Any) -> Any:
        raise KeyError("split")

    def __len__(self) -> int:
        raise KeyError("len")


class OddText(Exception):
    def __str__(self) -> str:
        return Odd("all is well")


class _NoName(type):
    def _no(cls) -> Any:
        raise ValueError("no name")

    __name__ = property(_no)


class Nameless(Exception, metaclass=_NoName):
    pass


class NoAttributes(Exception):
    """Each attribute that a traceback is made of raises."""

    def _no(self) -> Any:
        raise ValueError("no attribute")

    __traceback__ = __cause__ = __context__ = __suppress_context__ = property(_no)
    __notes__ = __class__ = property(_no)


Renamed = type("A\nB" * 1000, (Exception,), {})


@pytest.mark.parametrize(
    ("made", "text"),  # made by a function: pytest asks a class, or an error, for its name
    [
        (Silent, "Silent: (no text: its __str__ raised ValueError)"),
        (Exits, "Exits: (no text: its __str__ raised SystemExit)"),
        (NoText, "NoText: (no text: its __str__ raised TypeError)"),
        (OddText, "OddText: all is well"),
        (lambda: Nameless(""), "Nameless"),
        (lambda: NoAttributes(""), "NoAttributes"),
        (lambda: ValueError("two\nlines\tof it"), "ValueError: two lines of it"),
        (lambda: ValueError("\x1b[2Jgone\x00\udcff"), r"ValueError: \x1b[2Jgone\x00\udcff"),
        (ValueError, "ValueError"),
        (lambda: SystemExit(0), "SystemExit: 0"),
    ],
)
def test_an_error_is_said_in_one_line_whatever_its_class_does(
    made: Callable[[], BaseException], text: str
) -> None:
    assert said(made()) == text
    assert trace_of(_raised(made())).rstrip().endswith(text)


def _raised(error: E) -> E:
    try:
        raise error
    except BaseException:
        return error


def test_the_name_of_a_class_is_bounded_and_in_one_line() -> None:
    text = said(Renamed("bad"))
    assert text.endswith(": bad")
    assert len(text) < 200
    assert text.isprintable()


def test_a_huge_text_is_cut_between_words_and_its_length_is_said() -> None:
    text = said(ValueError("word " * 10_000_000))
    assert len(text) <= ERROR_LIMIT + 20
    assert text.endswith("word … (50,000,000 characters)")


@pytest.mark.parametrize("at", range(900, 1_000, 7))
def test_no_half_of_a_key_is_left_where_a_text_is_cut(at: int) -> None:
    key = "k" * 86 + "=="
    for text in (f"{'x' * at}{key}{'y' * 1000}", f"{'x ' * (at // 2)}{key} {'y ' * 1000}"):
        line = one_line(text, 1_000)
        assert len(line) <= 1_000
        assert key in line or "k" * 12 not in line


def _chain(length: int) -> BaseException:
    error: BaseException = ValueError("the first")
    for number in range(length):
        above = ValueError(f"number {number}")
        above.__cause__, error = error, above
    return error


def _deep(frames: int) -> BaseException:
    def one(left: int) -> None:
        if left:
            two(left - 1)
        raise ValueError("at the bottom")

    def two(left: int) -> None:
        one(left)

    try:
        one(frames)
    except ValueError as error:
        return error
    raise AssertionError


def _group(members: int) -> BaseException:
    return ExceptionGroup("many", [_raised(ValueError(f"m{n}")) for n in range(members)])


def _noted() -> BaseException:
    error = ValueError("noted")
    for _ in range(1000):
        error.add_note("n" * 100_000)
    return error


@pytest.mark.parametrize(
    "error",
    [_chain(20_000), _deep(400), _group(50_000), _noted(), ValueError("x" * 50_000_000)],
    ids=["chain", "frames", "group", "notes", "text"],
)
def test_a_trace_is_bounded_in_length_and_time_and_ends_with_the_error(
    error: BaseException,
) -> None:
    begun = time.process_time()
    trace = trace_of(error)
    assert time.process_time() - begun < 1
    assert len(trace) <= TRACE_LIMIT


def test_a_trace_shows_causes_contexts_notes_and_members_of_groups() -> None:
    try:
        try:
            raise ValueError("below")
        except ValueError as error:
            error.add_note("look here")
            raise ExceptionGroup("several", [_raised(KeyError("one")), TypeError("two")]) from error
    except ExceptionGroup as error:
        trace = trace_of(error)
    begin = trace.index("ValueError: below\nlook here\n")
    assert trace.index("was the direct cause") > begin
    assert trace.index("ExceptionGroup: several (2 sub-exceptions)") > begin
    assert "  | KeyError: 'one'\n  | TypeError: two\n" in trace
    assert 'raise ValueError("below")' in trace


def test_a_chain_that_comes_back_to_itself_ends() -> None:
    one, two = ValueError("one"), ValueError("two")
    one.__cause__, two.__cause__ = two, one
    assert trace_of(one).count("ValueError: ") == 2


def chained(count: int) -> BaseException:
    error: BaseException | None = None
    for number in range(count):
        made = ValueError(f"number {number}")
        made.__cause__ = error
        error = made
    assert error is not None
    return error


def nested(depth: int) -> BaseException:
    error: Exception = ValueError("the innermost")
    for _ in range(depth):
        error = ExceptionGroup("of many", [error])
    return error


def deep() -> BaseException:
    def go(left: int) -> None:
        if left:
            go(left - 1)
        raise ValueError("the deepest")

    try:
        go(800)
    except ValueError as error:
        return error
    raise AssertionError


def noted() -> BaseException:
    error = ValueError("noted")
    for _ in range(100_000):
        error.add_note("n" * 100)
    return error


HEAVY: dict[str, Callable[[], BaseException]] = {
    "a megabyte of text": lambda: ValueError("eyJ-" * 250_000),
    "a hundred thousand causes": lambda: chained(100_000),
    "a group of a hundred thousand": lambda: ExceptionGroup(
        "wide", [ValueError("x" * 1_000) for _ in range(100_000)]
    ),
    "groups in groups": lambda: nested(500),
    "a deep recursion": deep,
    "a hundred thousand notes": noted,
}


@pytest.mark.parametrize("kind", HEAVY)
def test_a_traceback_costs_little_however_much_there_is_of_the_error(kind: str) -> None:
    error = HEAVY[kind]()
    began = time.thread_time()
    trace = trace_of(error)
    assert time.thread_time() - began < 0.1
    assert len(trace) <= TRACE_LIMIT + 100
    assert type(error).__name__ in trace


def test_a_traceback_reads_like_pythons_own() -> None:
    try:
        try:
            assert {"other": 1}["lacking"]
        except KeyError as problem:
            raise ValueError("bad") from problem
    except ValueError as error:
        lines = trace_of(error).splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert 'test_error_text.py", line' in lines[1]
    assert "KeyError: 'lacking'" in lines
    assert "The above exception was the direct cause of the following exception:" in lines
    assert lines[-1] == "ValueError: bad"


def test_of_many_causes_those_nearest_to_the_error_are_kept() -> None:
    trace = trace_of(chained(100))
    assert trace.startswith("(earlier errors left out)")
    assert "number 92\n" in trace and "number 91\n" not in trace
    assert trace.endswith("ValueError: number 99\n")


def test_of_a_group_some_members_are_shown_and_the_others_counted() -> None:
    trace = trace_of(ExceptionGroup("wide", [ValueError(str(n)) for n in range(8)]))
    assert "ValueError: 4\n" in trace and "ValueError: 5\n" not in trace
    assert trace.endswith("  | and 3 more\n")


def test_causes_in_a_circle_end() -> None:
    first, second = ValueError("first"), ValueError("second")
    first.__cause__, second.__cause__ = second, first
    assert trace_of(first).count("ValueError: second") == 1
