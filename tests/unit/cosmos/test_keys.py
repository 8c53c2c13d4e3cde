"""Effective partition keys are those that the official SDKs work out by themselves."""

from __future__ import annotations

from typing import Any

import pytest
from azure.cosmos.partition_key import PartitionKey, _Undefined

from tidegate_cosmos.store.keys import (
    UNDEFINED,
    KeyDefinition,
    KeyProblem,
    Value,
    definition_of,
    values_from_header,
)

VALUES: list[Value] = [
    "", "a", "home-1", "ünï", "x" * 15, "x" * 16, "y" * 17, "z" * 250,
    None, True, False, 0, 1, 1.5, -3, 2**31, 1e300, UNDEFINED,
]  # fmt: skip


def of_sdk(values: list[Value], kind: str, version: int, paths: list[str]) -> str:
    theirs = [_Undefined() if value is UNDEFINED else value for value in values]
    arguments: Any = (paths if kind == "MultiHash" else paths[0], kind, version)
    definition = PartitionKey(*arguments)
    hashed: Any = definition._get_effective_partition_key_string
    return str(hashed(theirs)).upper()


@pytest.mark.parametrize("value", VALUES, ids=lambda value: repr(value)[:20])
def test_version_2_hashes_as_the_sdk_does(value: Value) -> None:
    ours = KeyDefinition((("home",),)).effective((value,))
    assert ours == of_sdk([value], "Hash", 2, ["/home"])


# Of null and of negative whole numbers the Python SDK makes other keys than Java's and the service.
@pytest.mark.parametrize(
    "value", [value for value in VALUES if value not in (None, -3)], ids=lambda v: repr(v)[:20]
)
def test_version_1_hashes_as_the_sdk_does(value: Value) -> None:
    ours = KeyDefinition((("home",),), "Hash", 1).effective((value,))
    assert ours == of_sdk([value], "Hash", 1, ["/home"])


def test_hierarchical_keys_hash_as_the_sdk_does_and_a_prefix_holds_what_is_below_it() -> None:
    definition = KeyDefinition((("home",), ("sensor",)), "MultiHash")
    whole = definition.effective(("h", 1))
    assert whole == of_sdk(["h", 1], "MultiHash", 2, ["/home", "/sensor"])
    assert definition.span_of(("h",)).holds(whole)
    assert not definition.span_of(("i",)).holds(whole)
    assert definition.span_of(("h", 1)).holds(whole)


def test_true_and_1_are_two_keys() -> None:
    definition = KeyDefinition((("home",),))
    assert len({definition.effective((value,)) for value in (True, 1, "1", None)}) == 4


def test_an_item_without_the_path_has_the_undefined_key() -> None:
    definition = definition_of({"paths": ["/place/id"], "kind": "Hash", "version": 2})
    assert definition.values_of({"place": 3}) == (UNDEFINED,)
    assert definition.values_of({"place": {"id": "x"}}) == ("x",)
    assert values_from_header([{}]) == (UNDEFINED,)


@pytest.mark.parametrize(
    "described",
    [
        None,
        {"paths": []},
        {"paths": ["home"]},
        {"paths": ["/a", "/b"]},
        {"paths": ["/a"], "kind": "Range"},
        {"paths": ["/a", "/b"], "kind": "MultiHash", "version": 1},
        {"paths": ["/a", "/b", "/c", "/d"], "kind": "MultiHash"},
        {"paths": ["/a"], "version": 3},
    ],
)
def test_a_definition_that_cannot_be_is_refused(described: object) -> None:
    with pytest.raises(KeyProblem):
        definition_of(described)


@pytest.mark.parametrize("value", [{"x": 1}, [1], {}, []])
def test_an_item_with_an_object_or_a_list_at_the_path_has_the_undefined_key(value: object) -> None:
    definition = definition_of({"paths": ["/home"]})
    assert definition.values_of({"home": value}) == (UNDEFINED,)


@pytest.mark.parametrize("part", [[1], {"x": 1}])
def test_a_named_key_that_is_no_scalar_is_refused(part: object) -> None:
    with pytest.raises(KeyProblem, match="a text, a number"):
        values_from_header([part])


@pytest.mark.parametrize(
    ("path", "steps"),
    [
        ("/home", ("home",)),
        ("/a/b c/d", ("a", "b c", "d")),
        ('/"level\' 1*()"/"le/vel2"', ("level' 1*()", "le/vel2")),
        ("/'level\" 1*()'/'le/vel2'", ('level" 1*()', "le/vel2")),
    ],
)
def test_a_path_may_have_quotes_around_its_steps(path: str, steps: tuple[str, ...]) -> None:
    assert definition_of({"paths": [path]}).paths == (steps,)


@pytest.mark.parametrize("path", ["", "/", "a", "//", "/a//b", '/"a', "/'a\"", "/a/"])
def test_a_path_that_is_none_is_refused(path: str) -> None:
    with pytest.raises(KeyProblem, match="expected a path such as"):
        definition_of({"paths": [path]})
