"""A piece of a partition becomes a batch with the columns that are wanted."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from pyspark.sql.types import DoubleType, StringType, StructField, StructType

from support.hub_messages import data
from support.stamped_messages import section, stamped
from tidegate.spark.batches_of_arrow import BatchMaker
from tidegate.spark.columns import OWN, columns_of
from tidegate.spark.payloads import piece_of
from tidegate_amqp import AmqpError
from tidegate_amqp.encode import encode_map
from tidegate_amqp.sections import APPLICATION_PROPERTIES

WHOLE = StructType([StructField(name, kind) for name, kind in OWN.items()])
OF_BODIES = StructType(
    [
        StructField("value", DoubleType()),
        StructField("partition", StringType()),
        StructField("sequence", OWN["sequence"]),
    ]
)
AT = datetime(2026, 1, 31, tzinfo=UTC)
MS = int(AT.timestamp() * 1000)


def maker(schema: StructType) -> BatchMaker:
    return BatchMaker(columns_of(schema))


def test_an_events_own_columns() -> None:
    told = encode_map({"kind": "alarm", "n": 5, "ok": True, "none": None, "raw": b"\xff"})
    piece = piece_of(
        [
            stamped(1_000, "77", MS) + data(b"plain"),
            stamped(1_001, "78", MS, key=b"home-7")
            + section(APPLICATION_PROPERTIES, told)
            + data(b"full"),
        ]
    )
    rows: list[dict[str, Any]] = maker(WHOLE).make("3", piece, stops=True).batch.to_pylist()
    assert rows[0] == {
        "partition": "3",
        "sequence": 1_000,
        "offset": "77",
        "enqueued": AT,
        "partition_key": None,
        "properties": [],
        "body": b"plain",
    }
    assert rows[1]["partition_key"] == "home-7"
    assert dict(rows[1]["properties"]) == {
        **{"kind": "alarm", "n": "5", "ok": "true"},
        **{"none": None, "raw": "\ufffd"},
    }


def test_columns_of_the_body_stand_where_the_schema_has_them() -> None:
    piece = piece_of([stamped(1_000 + n, "7", MS) + data(b'{"value":%d}' % n) for n in range(3)])
    batch = maker(OF_BODIES).make("3", piece, stops=True).batch
    assert batch.schema == columns_of(OF_BODIES).schema
    assert batch.to_pydict() == {
        "value": [0.0, 1.0, 2.0],
        "partition": ["3"] * 3,
        "sequence": [1_000, 1_001, 1_002],
    }


def test_an_event_that_cannot_be_decoded_is_not_in_the_batch() -> None:
    bodies = [b'{"value":1}', b"oops", b'{"value":3}']
    piece = piece_of([stamped(1_000 + n, "7", MS) + data(body) for n, body in enumerate(bodies)])
    made = maker(OF_BODIES).make("3", piece, stops=False)
    assert made.batch.to_pydict()["sequence"] == [1_000, 1_002]
    assert made.batch.to_pydict()["value"] == [1.0, 3.0]
    assert [each.index for each in made.faulty] == [1]
    assert maker(OF_BODIES).make("3", piece, stops=True).batch.num_rows == 0


def test_a_message_that_is_none_is_an_error() -> None:
    piece = piece_of([stamped(1_000, "7", MS) + b"\x00\x53\x75\xa0\xff"])
    with pytest.raises(AmqpError):
        maker(WHOLE).make("3", piece, stops=True)
