"""The columns of the source: what a schema asks for, and what is refused in which words."""

from __future__ import annotations

import pytest
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DateType,
    DoubleType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
)

from tidegate.settings import SettingsError
from tidegate.spark.columns import OWN, columns_of, source_schema


def test_without_a_schema_a_stream_has_the_events_own_columns() -> None:
    assert source_schema(None) == (
        "partition string, sequence bigint, offset string, enqueued timestamp, "
        "partition_key string, properties map<string,string>, body binary"
    )
    assert source_schema("  ") == source_schema(None)


def test_with_a_schema_it_has_three_of_them_before_the_schemas() -> None:
    assert source_schema("home string, value double") == (
        "partition string, sequence bigint, enqueued timestamp, home string, value double"
    )


def test_own_columns_may_be_named_by_the_schema() -> None:
    given = (
        "a struct<partition: int, enqueued: int>, `Sequence` bigint, body binary, d decimal(9,2)"
    )
    assert source_schema(given) == f"partition string, enqueued timestamp, {given}"


def test_own_columns_and_keys_of_the_body_are_told_apart() -> None:
    schema = StructType([StructField("home", StringType()), StructField("offset", StringType())])
    columns = columns_of(schema)
    assert columns.of_body == ("home",)
    assert columns.schema.names == ["home", "offset"]
    assert columns_of(StructType([StructField(n, k) for n, k in OWN.items()])).of_body == ()


@pytest.mark.parametrize(
    ("field", "said"),
    [
        (StructField("sequence", IntegerType()), "'sequence' is the event's own, of type bigint"),
        (StructField("Body", BinaryType()), "'Body' is the event's own: write 'body'"),
        (StructField("a", LongType(), nullable=False), "'a' is NOT NULL, and an event may lack it"),
        (StructField("a", ArrayType(DateType(), containsNull=False)), "'a' is NOT NULL"),
        (
            StructField("a", MapType(StringType(), DoubleType())),
            "'a' is of type map<string,double>, which is not read from JSON.*write it as string",
        ),
        (StructField("a", ArrayType(BinaryType())), "'a' is of type array<binary>, which is not"),
    ],
)
def test_what_cannot_be_read_is_said(field: StructField, said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        columns_of(StructType([field]))


def test_a_column_that_is_there_twice_is_said() -> None:
    fields = [StructField("a", LongType()), StructField("A", LongType())]
    with pytest.raises(SettingsError, match="column 'a' is there twice"):
        columns_of(StructType(fields))
