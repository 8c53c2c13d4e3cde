"""The state of a partition: exact across failures, deterministic, and limited."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.delivery.state import State, StateError

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)
KEYS = st.sampled_from(["a", "b", "c", "ä/1"])
ACTS = st.lists(
    st.tuples(st.sampled_from(["set", "change", "remove", "good", "bad"]), KEYS, JSON), max_size=40
)


def state(stored: bytes | None = None, most: int = 1 << 20) -> State:
    return State("3", stored, most)


def test_a_failed_call_leaves_no_trace_even_inside_a_value() -> None:
    kept = state(b'{"homes":{"h1":1}}')
    kept["homes"]["h1"] += 1
    kept["new"] = 1
    kept.roll_back()
    assert dict(kept) == {"homes": {"h1": 1}}
    del kept["homes"]
    kept.roll_back()
    assert kept["homes"] == {"h1": 1}


def test_what_a_good_call_left_is_what_a_later_failure_goes_back_to() -> None:
    kept = state()
    kept["n"] = {"count": 1}
    kept.commit()
    kept["n"]["count"] = 2
    kept.roll_back()
    assert kept["n"] == {"count": 1}


def test_the_same_content_is_stored_as_the_same_bytes() -> None:
    one, other = state(), state()
    one["a"], one["b"] = {"x": 1, "y": 2}, 2
    other["b"], other["a"] = 2, {"y": 2, "x": 1}
    one.commit()
    other.commit()
    assert one.encoded() == other.encoded() == b'{"a":{"x":1,"y":2},"b":2}'


def test_a_state_that_was_never_used_is_none_and_one_that_was_stored_is_kept_as_it_is() -> None:
    assert state().encoded() is None
    assert state(b'{"a": 1}').encoded() == b'{"a": 1}'


def test_a_state_above_its_limit_is_refused_with_its_largest_keys_and_what_to_do() -> None:
    kept = state(most=100)
    kept["small"] = 1
    kept.commit()
    kept["large"] = "x" * 200
    with pytest.raises(StateError, match=r"partition 3 would take 22\d bytes.*'large'.*maxState"):
        kept.commit()
    kept.roll_back()
    assert kept.encoded() == b'{"small":1}'


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({1: "x"}, "the key 1 of a dictionary in it is not a text"),
        ([{"a": {2: 0}}], "the key 2 of a dictionary"),
        (float("nan"), "Out of range float values"),
        ({1, 2}, "not JSON serializable"),
        ("\ud800", "surrogates not allowed"),
    ],
)
def test_what_would_not_come_back_as_it_was_is_refused_by_name(value: Any, problem: str) -> None:
    kept = state()
    kept["k"] = value
    with pytest.raises(
        StateError, match=rf"state\['k'\] of partition 3 cannot be kept: .*{problem}"
    ):
        kept.commit()


def test_a_key_that_is_no_text_is_refused() -> None:
    with pytest.raises(StateError, match="keys are texts"):
        state()[5] = 1  # type: ignore[index]


def test_a_stored_state_of_another_program_is_not_taken_for_ours() -> None:
    halves = (rb'{"a\ud800":1}', rb'{"a":["\ud800"]}')
    for stored in (b"[1]", b"\x80\x04K\x01.", *halves):
        with pytest.raises(StateError, match="another program wrote it"):
            state(stored)


def test_a_value_that_is_only_looked_at_is_a_copy_and_costs_nothing_later() -> None:
    kept = state(b'{"a":{"n":1}}')
    kept.peek("a")["n"] = 5
    assert not kept.is_touched
    assert kept.peek("a") == {"n": 1}
    assert kept.text("a") == b'{"n":1}'


def test_a_call_that_is_given_up_leaves_no_trace_whatever_it_commits_before_and_after() -> None:
    kept = state(b'{"gone":1,"homes":{"h1":1},"other":1}')
    kept["n"] = 1
    kept.commit()
    kept.settle()
    good = kept.encoded()
    kept["homes"]["h1"] = kept["n"] = kept["new"] = 2
    del kept["gone"]
    kept.commit()
    kept["homes"]["h1"] = kept["other"] = kept["newer"] = 3
    kept.give_up()
    kept["homes"]["h1"] = kept["newest"] = 4
    kept.commit()
    assert kept.encoded() == good == b'{"gone":1,"homes":{"h1":1},"n":1,"other":1}'


def test_a_state_that_only_a_call_that_is_given_up_has_used_is_none() -> None:
    kept = state()
    kept.settle()
    kept["n"] = 1
    kept.commit()
    kept["m"] = 2
    kept.give_up()
    assert kept.encoded() is None


def test_what_a_call_has_not_committed_is_not_encoded() -> None:
    kept = state()
    kept["n"] = 1
    kept.commit()
    kept["n"], kept["m"] = 2, 2
    assert kept.encoded() == b'{"n":1}'


@given(ACTS)
def test_after_any_history_it_equals_a_plain_dictionary_of_the_good_calls(
    acts: list[tuple[str, str, Any]],
) -> None:
    kept, good = state(), "{}"
    now: dict[str, Any] = {}
    for act, key, value in acts:
        if act == "set":
            kept[key] = now[key] = json.loads(json.dumps(value))
            now[key] = json.loads(json.dumps(value))
        elif act == "change" and isinstance(now.get(key), dict):
            kept[key]["changed"] = value
            now[key]["changed"] = value
        elif act == "remove" and key in now:
            del kept[key]
            del now[key]
        elif act == "good":
            kept.commit()
            good = json.dumps(now)
        elif act == "bad":
            kept.roll_back()
            now = json.loads(good)
    kept.roll_back()
    stored = kept.encoded()
    assert json.loads(stored or b"{}") == json.loads(good) == dict(state(stored))
