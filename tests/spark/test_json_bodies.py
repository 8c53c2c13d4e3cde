"""JSON bodies in one go: each counts for itself, whatever its neighbours hold."""

from __future__ import annotations

import json
from datetime import date
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidegate.spark.json_bodies import JsonBodies

NUMBERS = JsonBodies([pa.field("a", pa.int64())], ["bigint"])
TEXTS = JsonBodies([pa.field("a", pa.string())], ["string"])

# Bodies that are none, or more than one, and what is said of them.
FAULTY = {
    b"": "is not JSON: Expecting value",
    b"  ": "is not JSON",
    b"\x00": "is not JSON",
    b"oops": "is not JSON",
    b'{"a":1': "is not JSON",
    b'{"a":1}{"a":2}': "is not JSON: Extra data",
    b'{"a":1}\n{"a":2}': "is not JSON: Extra data",
    b'{"a":1},{"a":2}': "is not JSON: Extra data",
    b'{"a":1},"c":{"a":7}': "is not JSON: Extra data",
    b'{"a":1}]}\n{"b":[{"a":2}': "is not JSON: Extra data",
    b'{"x":[': "is not JSON",
    b'{"x":"': "is not JSON",
    b'\xef\xbb\xbf{"a":3}': "is not JSON: Unexpected UTF-8 BOM",
    b'{"a":1,"a":2}': 'is not JSON: key "a" is there twice',
    b"null": "is JSON, but no object: null",
    b"5": "is JSON, but no object: 5",
    b'[{"a":1}]': "is JSON, but no object",
    b'{"a":"1"}': r"column 'a' \(bigint\) cannot hold \"1\"",
    b'{"a":1.5}': r"column 'a' \(bigint\) cannot hold 1\.5",
    b'{"a":99999999999999999999}': r"column 'a' \(bigint\) cannot hold 99999999999999999999",
}
FINE = {
    b'{"a":1}': 1,
    b'{\n "a": 1,\r\n "b": "x"}': 1,
    b' {"a":1} ': 1,
    b"{}": None,
    b'{"a":null}': None,
    b'{"other":{"a":[1,{"a":2}]}}': None,
}


@pytest.mark.parametrize("body", FAULTY)
def test_a_faulty_body_stands_alone_and_is_told_of_in_words(body: bytes) -> None:
    found = NUMBERS.decode([b'{"a":0}', body, b'{"a":9}'])
    assert found.columns[0].to_pylist() == [0, 9]
    (faulty,) = found.faulty
    assert faulty.index == 1
    with pytest.raises(Exception, match=FAULTY[body]):
        raise faulty.error


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from([*FAULTY, *FINE]), max_size=40))
def test_no_mix_of_bodies_moves_a_value_to_another_event(bodies: list[bytes]) -> None:
    found = NUMBERS.decode(bodies)
    assert [each.index for each in found.faulty] == [
        at for at, body in enumerate(bodies) if body in FAULTY
    ]
    assert found.columns[0].to_pylist() == [FINE[body] for body in bodies if body in FINE]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.text(alphabet='{}[]":,a1 \n\\', max_size=12).map(str.encode), max_size=12))
def test_only_what_python_takes_for_an_object_is_one(bodies: list[bytes]) -> None:
    found = NUMBERS.decode(bodies)
    bad = {each.index for each in found.faulty}
    values = iter(found.columns[0].to_pylist())
    for at, body in enumerate(bodies):
        if at not in bad:
            value: Any = json.loads(body)
            assert isinstance(value, dict)
            assert next(values) == value.get("a")
    assert next(values, "none left") == "none left"


def test_text_that_is_not_utf8_is_faulty() -> None:
    found = TEXTS.decode([b'{"a":"\xff"}', '{"a":"é"}'.encode(), b'{"a":"\\ud800"}'])
    assert found.columns[0].to_pylist() == ["é"]
    assert [each.index for each in found.faulty] == [0, 2]


def test_the_first_faulty_body_is_enough_where_that_is_asked() -> None:
    bodies = [b'{"a":1}'] * 100 + [b"x"] * 100
    found = NUMBERS.decode(bodies, stops=True)
    assert [each.index for each in found.faulty] == [100]


def test_values_of_every_readable_type_come_as_they_are() -> None:
    fields = {
        "flag": (pa.bool_(), True, True),
        "small": (pa.int8(), 5, 5),
        "real": (pa.float64(), 5, 5.0),
        "price": (pa.decimal128(10, 2), 1.5, Decimal("1.50")),
        "day": (pa.date32(), "2026-01-31", date(2026, 1, 31)),
        "days": (pa.list_(pa.date32()), ["2026-01-31"], [date(2026, 1, 31)]),
        "inner": (pa.struct([("x", pa.int64())]), {"x": 5, "y": 6}, {"x": 5}),
    }
    reads = JsonBodies([pa.field(name, kind) for name, (kind, _, _) in fields.items()])
    body = json.dumps({name: value for name, (_, value, _) in fields.items()}).encode()
    found = reads.decode([body, b"{}"])
    assert found.faulty == ()
    for column, (_, _, value) in zip(found.columns, fields.values(), strict=True):
        assert column.to_pylist() == [value, None]


def test_times_have_any_zone_and_a_fraction() -> None:
    reads = JsonBodies([pa.field("at", pa.timestamp("us", tz="UTC"))])
    bodies = [
        b'{"at":"2026-01-31T01:02:03.000004Z"}',
        b'{"at":"2026-01-31T02:02:03.000004+01:00"}',
        b'{"at":"2026-01-31 01:02:03.000004"}',
    ]
    values = reads.decode(bodies).columns[0].to_pylist()
    assert len(set(values)) == 1
    assert values[0].isoformat() == "2026-01-31T01:02:03.000004+00:00"


def test_a_day_that_is_none_is_faulty() -> None:
    reads = JsonBodies([pa.field("day", pa.date32())], ["date"])
    (faulty,) = reads.decode([b'{"day":"31.1.2026"}']).faulty
    assert "column 'day' (date) cannot hold \"31.1.2026\"" in str(faulty.error)
