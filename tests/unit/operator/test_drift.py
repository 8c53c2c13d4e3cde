"""What counts as drift: the fields that we write, and no others."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate_operator.drift import fingerprint, said_of

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=10,
)
DOCUMENTS = st.dictionaries(st.text(max_size=3), VALUES, max_size=4)


@given(DOCUMENTS)
def test_an_object_says_of_itself_what_it_says(document: dict[str, Any]) -> None:
    assert said_of(document, document) == document


@given(DOCUMENTS, st.dictionaries(st.integers().map(lambda n: f"added-{n}"), VALUES, max_size=3))
def test_what_others_add_to_a_map_is_not_seen(
    document: dict[str, Any], added: dict[str, Any]
) -> None:
    assert said_of({**document, **added}, document) == document


@pytest.mark.parametrize(
    "name", ["containers", "env", "volumes", "imagePullSecrets", "initContainers"]
)
def test_things_with_names_are_found_wherever_they_are(name: str) -> None:
    ours = {name: [{"name": "a", "x": 1}, {"name": "b"}]}
    live = {name: [{"name": "theirs"}, {"name": "b", "y": 2}, {"name": "a", "x": 1}]}
    assert said_of(live, ours) == ours


@pytest.mark.parametrize(
    "live",
    [
        {},
        {"containers": []},
        {"containers": [{"name": "b"}]},
        {"containers": [{"name": "a", "image": "2"}]},
        {"containers": "text"},
        {"containers": [{"name": "a", "image": "1", "args": ["x", "y"]}]},
    ],
)
def test_what_is_changed_or_missing_is_drift(live: dict[str, Any]) -> None:
    ours = {"containers": [{"name": "a", "image": "1", "args": ["x"]}]}
    assert said_of(live, ours) != ours


@given(DOCUMENTS, DOCUMENTS)
def test_fingerprints_differ_where_documents_do(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert (fingerprint(one) == fingerprint(other)) == (_strict(one) == _strict(other))


def _strict(value: Any) -> Any:
    """With the sort of each value: in Python True is 1, in JSON it is not."""
    if isinstance(value, dict):
        return {key: _strict(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_strict(inner) for inner in value]
    return (type(value).__name__, value)
