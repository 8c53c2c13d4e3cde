"""What documents have in common is kept once, and each still says what it said."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tidegate_operator.alike import Alike, sharing

texts = st.text("ab", max_size=2)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 400) | st.sampled_from((0.0, -0.0, 1.0)) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=12,
)


@given(values, values)
def test_what_is_kept_says_what_was_given_to_the_last_sign(value: Any, like: Any) -> None:
    text, before = json.dumps(value, sort_keys=True), json.dumps(like)
    assert json.dumps(sharing(value, like), sort_keys=True) == text
    assert json.dumps(value, sort_keys=True) == text and json.dumps(like) == before


def document(name: str) -> dict[str, Any]:
    """As a parser makes it: no part is another one's."""
    probe = {"httpGet": {"path": "/readyz", "port": 8080}, "periodSeconds": 3600}
    made = {"metadata": {"name": name}, "spec": {"probe": probe, "volumes": [{"emptyDir": {}}]}}
    found: dict[str, Any] = json.loads(json.dumps(made))
    return found


def test_what_two_objects_have_in_common_is_there_once() -> None:
    alike = Alike()
    one, two = (alike.of("Deployment", document(name)) for name in ("one", "two"))
    assert (one, two) == (document("one"), document("two"))
    assert one["spec"] is two["spec"]
    assert one["metadata"] is not two["metadata"]


def test_objects_of_another_kind_are_not_compared() -> None:
    alike = Alike()
    one, two = alike.of("Deployment", document("one")), alike.of("Pod", document("one"))
    assert one == two and one["spec"] is not two["spec"]


def test_nothing_is_kept_of_one_before_the_last() -> None:
    alike = Alike()
    for name in ("one", "two", "three"):
        alike.of("Deployment", document(name))
    assert alike._last == {"Deployment": document("three")}
