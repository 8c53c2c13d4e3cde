"""Long texts and tracebacks are cut, at the end of a word, and keep what says most."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.bounded import LONGEST, bounded, text_of, trace_of

KEY = "c2VjcmV0LWtleS1vZi10aGVzZS10ZXN0cw+/AAAA"


@given(st.text(max_size=200), st.integers(0, 200))
def test_a_text_that_is_not_long_stays_as_it_is(text: str, more: int) -> None:
    assert bounded(text, len(text) + more) == text


@given(
    st.lists(st.text("ab;=&+/.-_ \"'\n<é,", min_size=1, max_size=30), max_size=60),
    st.integers(2, 200),
)
def test_a_long_text_keeps_its_beginning_and_its_end_and_names_what_is_left_out(
    parts: list[str], longest: int
) -> None:
    text = "".join(parts)
    shown = bounded(text, longest)
    if len(text) <= longest:
        assert shown == text
        return
    first, _, rest = shown.partition("[")
    count, _, last = rest.partition(" characters left out]")
    assert text == first + text[len(first) : len(first) + int(count)] + last
    assert len(first) + len(last) <= longest


@pytest.mark.parametrize("around", ["word {} word ", "'{}', ", '"key":"{}",', "{}\n"])
@pytest.mark.parametrize("more", range(0, 60, 7))
def test_no_part_of_a_key_is_left_where_a_text_is_cut(around: str, more: int) -> None:
    shown = bounded("x" * more + " " + around.format(KEY) * 1_000)
    assert "left out" in shown
    rest = shown.replace(KEY, "")
    assert not any(KEY[at : at + 4] in rest for at in range(len(KEY) - 4))


def test_the_end_of_a_text_without_a_word_is_left_out_whole() -> None:
    shown = bounded(KEY * 10_000)
    assert shown.endswith("characters left out]")


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
    assert len(trace) <= LONGEST + 100
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
    assert 'test_bounded.py", line' in lines[1]
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
    assert trace.endswith("(3 more errors of the group left out)\n")


def test_causes_in_a_circle_end() -> None:
    first, second = ValueError("first"), ValueError("second")
    first.__cause__, second.__cause__ = second, first
    assert trace_of(first).count("ValueError: second") == 1


def test_an_error_that_cannot_say_itself_is_named_all_the_same() -> None:
    class MuteError(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no")

    assert text_of(MuteError()) == "(its message cannot be read: __str__ raised RuntimeError)"
    assert "MuteError: (its message" in trace_of(MuteError())
