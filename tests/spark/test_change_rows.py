"""Rows of a change feed: the item as it is, whatever its properties are called."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

from tidegate.sources.cosmos.change import change_of
from tidegate.sources.cosmos.settings import FeedMode
from tidegate.spark.columns import Columns, Kind
from tidegate.spark.feed_batches import ChangeBatchMaker, ChangePiece


@pytest.mark.parametrize(
    "own",
    [
        {"metadata": "text"},
        {"metadata": {"operationType": "delete", "lsn": 99, "crts": 5, "id": "other"}},
        {"current": {"id": "other"}, "previous": {"id": "other"}, "metadata": {"lsn": 1}},
        {"current": None, "metadata": None},
    ],
)
def test_a_row_is_the_item_and_has_no_metadata_of_the_service(own: dict[str, Any]) -> None:
    said = {"id": "a", "_lsn": 5, "_ts": 1_700_000_000, **own}
    piece = ChangePiece([change_of(said, FeedMode.LATEST_VERSION)])
    makers = ChangeBatchMaker(Columns(pa.schema([]), (), (), Kind.CHANGES)).makers()
    row = {name: make("-ff", piece)[0].as_py() for name, make in makers.items()}
    assert json.loads(row["body"]) == said
    assert (row["id"], row["operation"]) == ("a", "upsert")
    assert (row["previous"], row["metadata"]) == (None, None)
