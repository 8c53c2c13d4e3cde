"""What a query means for an item: types, what is undefined, pages."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tidegate_cosmos.query.answers import WORK_MAX, page_of
from tidegate_cosmos.query.parser import query_of
from tidegate_cosmos.query.problems import QueryProblem
from tidegate_cosmos.store.items import Item

ITEM: dict[str, Any] = {
    "id": "a.b",
    "n": 5,
    "text": "Tide",
    "none": None,
    "yes": True,
    "list": [1, "x", True],
    "deep": {"x y": {"z": 2.5}},
    "value": 7,
}


def item(document: dict[str, Any], number: int = 1) -> Item:
    return Item(("", str(document["id"])), (), number, document, number, 0.0)


def is_found(condition: str, **parameters: Any) -> bool:
    named = {f"@{name}": value for name, value in parameters.items()}
    query = query_of(f"SELECT * FROM c WHERE {condition}", named)
    return bool(page_of(query, [item(ITEM)], 10).bodies)


@pytest.mark.parametrize(
    "condition",
    [
        "c.n = 5", "c.n = 5.0", "c.n != 6", "c.n <> '5'", "c.n >= 5 AND c.n <= 5", "c.yes",
        "c.yes = true", "NOT c.yes = false", "c.none = null", "c.none <> 1", "c.text > 'Tida'",
        "c['deep']['x y'].z = 2.5", "c.list[1] = 'x'", "c['n'] IN (1, 5)", "c.n NOT IN (1, 6)",
        "c.n BETWEEN 5 AND 6", "c.n NOT BETWEEN 6 AND 7", "STARTSWITH(c.text, 'ti', true)",
        "startswith(c.id, \"a.\")", "ENDSWITH(c.text, 'de')", "CONTAINS(c.text, 'id')",
        "LOWER(c.text) = 'tide'", "UPPER(c.text) = 'TIDE'", "LENGTH(c.text) = 4",
        "IS_DEFINED(c.none)", "NOT IS_DEFINED(c.nothing)", "IS_NULL(c.none)",
        "IS_STRING(c.text)", "IS_NUMBER(c.n)", "NOT IS_NUMBER(c.yes)", "IS_BOOL(c.yes)",
        "IS_ARRAY(c.list)", "IS_OBJECT(c.deep)", "ARRAY_CONTAINS(c.list, 'x')",
        "ARRAY_LENGTH(c.list) = 3", "(c.n = 1 OR c.n = 5) AND (c.yes)", "c.value = 7",
        "c.n = 1 OR c.n = 2 OR c.n = 5", "c.text = 'T\\u0069de'", "c.n = @n", "c[@name] = 5",
        "c.n > -1", "c.n < 1e3", "c.n IN ('5', 5.0)", "c.yes IN (1, true)", "c.none IN (0, null)",
        "c.list IN (1, @list)", "c.n IN (c.value, c.n)",
    ],
)  # fmt: skip
def test_a_condition_that_holds_finds_the_item(condition: str) -> None:
    assert is_found(condition, n=5, name="n", list=[1, "x", True])


@pytest.mark.parametrize(
    "condition",
    [
        "c.nothing = null", "c.nothing != 1", "NOT c.nothing = 1", "c.n = '5'", "c.n > '4'",
        "c.yes = 1", "c.list[0] = true", "c.none > 0", "c.nothing IN (1, null)", "c.n",
        "c.text = 'tide'", "STARTSWITH(c.n, '5')", "c.deep.x = 1",
        "c.yes IN (1, 'true')", "c.n IN ('5', true)", "c.list[0] IN (true)", "c.list IN (1, 2)",
        "c.list[9] = 1", "c.n = @text", "NOT c.text", "c.nothing = undefined",
    ],
)  # fmt: skip
def test_a_condition_that_is_false_or_undefined_finds_nothing(condition: str) -> None:
    assert not is_found(condition, text="5")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "expected SELECT"),
        ("SELECT", "expected FROM"),
        ("SELECT * FROM", "the name of the items"),
        ("SELECT * FROM c WHERE", "a value, a path or a function"),
        ("SELECT * FROM c WHERE c.n = 5 5", "the end of the query"),
        ("SELECT * FROM c WHERE (c.n = 5", r"expected \)"),
        ("SELECT * FROM c WHERE c.n IN ()", "a value, a path or a function"),
        ("SELECT * FROM c WHERE c.n # 5", "invalid character"),
        ("SELECT * FROM c WHERE c.t = 'open", "invalid character"),
        ("SELECT * FROM c WHERE STARTSWITH(c.id)", "2 to 3 arguments"),
        ("SELECT * FROM c WHERE c.id LIKE 'a'", "does not serve LIKE"),
        ("SELECT DISTINCT c.id FROM c", "does not serve DISTINCT"),
        ("SELECT * FROM c JOIN d IN c.list", "does not serve JOIN"),
        ("SELECT TOP x * FROM c", "a number of items after TOP"),
        ("SELECT TOP 2 VALUE COUNT(1) FROM c", "no TOP together with COUNT"),
        ("SELECT VALUE COUNT(c) FROM c", r"COUNT\(1\) alone"),
        ("SELECT * FROM c WHERE " + "(" * 200 + "true" + ")" * 200, "nested more than"),
        ("SELECT * FROM c WHERE " + "NOT " * 500 + "true", "nested more than"),
        ("SELECT * FROM c WHERE c.n = " + "9" * 500, "beyond what can be kept"),
        ("SELECT VALUE 1e999 FROM c", "beyond what can be kept"),
        ("SELECT * FROM c WHERE " + " OR ".join(["c.n=1"] * 20_000), "more than 33000 words"),
        ("SELECT * FROM c WHERE " + " OR ".join(["c.n=1"] * 502), "more than 500 OR"),
        ("SELECT * FROM c WHERE " + " AND ".join(["c.n=1"] * 502), "more than 500 AND"),
        ("SELECT * FROM c WHERE c.n IN (" + ",".join("1" * 16_001) + ")", "more than 16000 values"),
        ("SELECT * FROM c" + " " * 300_000, "longer than"),
    ],
)
def test_a_query_that_cannot_be_says_where_it_is_wrong(text: str, said: str) -> None:
    with pytest.raises(QueryProblem, match=said):
        query_of(text)


def test_columns_that_an_item_does_not_have_are_left_out() -> None:
    query = query_of("SELECT c.id, c.nothing, c.deep['x y'] AS deep, LENGTH(c.text) FROM c")
    (body,) = page_of(query, [item(ITEM)], 10).bodies
    assert json.loads(body) == {"id": "a.b", "deep": {"z": 2.5}, "$4": 4}
    value = query_of("SELECT VALUE c.nothing FROM c")
    assert page_of(value, [item(ITEM)], 10).bodies == ()


def test_pages_and_top_go_together() -> None:
    items = [item({"id": str(number), "n": number}, number) for number in range(1, 11)]
    query = query_of("SELECT TOP 5 VALUE c.n FROM c WHERE c.n > 2")
    first = page_of(query, items, 3)
    assert first.bodies == (b"3", b"4", b"5")
    assert first.last is not None
    rest = page_of(query, items[first.last.number :], 3, told=3)
    assert (rest.bodies, rest.last) == ((b"6", b"7"), None)
    exact = page_of(query_of("SELECT * FROM c"), items, 10)
    assert (len(exact.bodies), exact.last) == (10, None)


def test_a_page_ends_after_so_much_work_also_where_it_has_found_nothing_yet() -> None:
    items = [item({"id": str(number), "n": number}, number) for number in range(1, 1_001)]
    terms = " OR ".join(f"c.n = {-number}" for number in range(499))
    query = query_of(f"SELECT VALUE c.n FROM c WHERE {terms} OR c.n = 900")
    found: list[bytes] = []
    pages, place = 0, 0
    while True:
        page = page_of(query, items[place:], 100)
        found += page.bodies
        pages += 1
        if page.last is None:
            break
        assert page.last.number - place <= WORK_MAX / 500 + 1
        place = page.last.number
    assert (found, pages) == ([b"900"], 6)
    with pytest.raises(QueryProblem, match="Count by partition key"):
        page_of(query_of(f"SELECT VALUE COUNT(1) FROM c WHERE {terms}"), items * 20, 100)


def test_a_page_ends_after_so_many_bytes_and_the_next_one_goes_on() -> None:
    items = [item({"id": str(number), "x": "x" * 1_000_000}, number) for number in range(1, 11)]
    page = page_of(query_of("SELECT * FROM c"), items, 100)
    assert page.last is not None
    assert (len(page.bodies), page.last.number) == (5, 5)


def test_top_of_none_is_nothing() -> None:
    page = page_of(query_of("SELECT TOP 0 * FROM c"), [item(ITEM)], 10)
    assert (page.bodies, page.last) == ((), None)


def test_a_number_of_very_many_digits_is_refused_as_too_long() -> None:
    assert is_found(f"c.n = {'0' * 300}5")
    assert is_found(f"c.n = 5.{'0' * 5_000}")
    with pytest.raises(QueryProblem, match="is too long"):
        is_found(f"c.n = {'0' * 5_000}5")


@pytest.mark.parametrize(
    "condition",
    [f"c.list IN ({', '.join(['@list'] * 2_000)})", "ARRAY_CONTAINS(@long, c.list)"],
    ids=["in", "function"],
)
def test_the_lists_that_a_query_is_given_count_as_work(condition: str) -> None:
    document = {**ITEM, "list": [1]}
    items = [item(document, number) for number in range(1, 1_001)]
    given = {"@list": [2], "@long": [[2]] * 2_000}
    page = page_of(query_of(f"SELECT * FROM c WHERE {condition}", given), items, 100)
    assert page.last is not None
    assert page.last.number <= WORK_MAX / 2_000 + 1


def test_a_list_that_is_nested_deep_is_a_parameter_as_any_other() -> None:
    deep: list[Any] = []
    for _ in range(900):
        deep = [deep]
    assert not is_found("c.list = @deep", deep=deep)
