"""Bytes that are no whole projection are a SliceError, for whichever reader."""

from __future__ import annotations

import json
from typing import Any

import pytest

from support.slice_samples import WHOLE_SLICE as WHOLE
from tidegate.slices.layout import HEAD_AT, MAGIC
from tidegate.slices.plain import plain_from
from tidegate.slices.reading import head_from, head_size, home_in
from tidegate.slices.shape import SliceError
from tidegate.spark.projecting import decoded

SIZE = head_size(WHOLE)
HEAD: dict[str, Any] = json.loads(WHOLE[HEAD_AT:SIZE])


def with_head(changed: dict[str, Any]) -> bytes:
    text = json.dumps(HEAD | changed).encode()
    return MAGIC + len(text).to_bytes(HEAD_AT - len(MAGIC), "little") + text + WHOLE[SIZE:]


@pytest.mark.parametrize(
    "changed",
    [
        {"first": []},
        {"first": [5]},
        {"lengths": [-5]},
        {"lengths": []},
        {"flagged": 10**400},
        {"columns": [["count", "sum", "x9", 0, 0]]},
        {"kinds": [["kind", []]]},
        {"columns": HEAD["columns"][:1]},
    ],
)
async def test_a_head_that_does_not_fit_its_blocks_is_refused(changed: dict[str, Any]) -> None:
    data = with_head(changed)

    async def read(offset: int, length: int) -> bytes:
        return data[offset : offset + length]

    for refuses in (plain_from, decoded):
        with pytest.raises(SliceError):
            refuses(data)
    with pytest.raises(SliceError):
        await home_in(read, "home-3")


def test_a_key_that_is_no_text_is_refused() -> None:
    at = WHOLE.rindex(b"home-3")
    data = WHOLE[:at] + b"home-\xff" + WHOLE[at + 6 :]
    with pytest.raises(SliceError, match="damaged"):
        plain_from(data)


def test_a_head_that_nests_without_end_is_refused() -> None:
    text = b"[" * 100_000
    with pytest.raises(SliceError, match="cannot be read"):
        head_from(MAGIC + len(text).to_bytes(HEAD_AT - len(MAGIC), "little") + text)
