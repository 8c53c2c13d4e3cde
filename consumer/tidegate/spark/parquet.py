"""A slice as a Parquet file: for everything that reads tables. Pure.

Rules: the bytes follow from the content (and from the version of Arrow). Partition and slice are
columns, so that a folder of such files is one table.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from tidegate.slices.naming import Version
from tidegate.spark.contents import Array, Contents, codes_of, raw_of

PARTITION = "partition"
SLICE = "slice"


def parquet(contents: Contents, version: Version) -> bytes:
    """The file."""
    sink = pa.BufferOutputStream()
    texts = [PARTITION, contents.shape.key, *contents.shape.kinds]
    pyarrow.parquet.write_table(
        table(contents, version),
        sink,
        compression="zstd",
        # Whole numbers that take few bits need no dictionary beside them.
        use_dictionary=texts,
        write_statistics=[SLICE, *texts],
        store_schema=False,
    )
    return sink.getvalue().to_pybytes()


def table(contents: Contents, version: Version) -> Any:
    """The rows as an Arrow table."""
    shape, rows = contents.shape, len(contents)
    moment = pa.scalar(version.start * 1000, pa.timestamp("ms", "UTC"))
    columns: dict[str, Any] = {
        PARTITION: _texts(np.zeros(rows, np.int32), [version.partition]),
        SLICE: pa.repeat(moment, rows),
        shape.key: _keys(contents),
    }
    for at, (name, values) in enumerate(zip(shape.kinds, contents.kinds, strict=True)):
        columns[name] = _texts(codes_of(contents, at).astype(np.int32), list(values))
    for column, found in zip(shape.columns, contents.columns, strict=True):
        columns[column.name] = pa.array(found.numbers, mask=found.gaps)
    return pa.table(columns)


def _keys(contents: Contents) -> Any:
    raw = raw_of(contents)
    words = raw.view(np.uint64)[:, : contents.width // 8]
    is_first = np.ones(len(raw), bool)
    is_first[1:] = (words[1:] != words[:-1]).any(axis=1)
    keys = np.ascontiguousarray(raw[is_first, : contents.width]).view(f"S{contents.width}").ravel()
    return _texts((is_first.cumsum() - 1).astype(np.int32), [key.decode() for key in keys.tolist()])


def _texts(codes: Array, texts: list[str]) -> Any:
    return pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(texts, pa.string()))
