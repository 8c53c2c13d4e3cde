"""Messages and reports that are none stop nobody who reads them."""

from __future__ import annotations

from typing import Any

import pytest

from support.stamped_messages import section, stamped
from tidegate.ports import NotUnderstoodError
from tidegate.spark.payloads import piece_of
from tidegate.spark.positions import NotAnOffsetError, read_from
from tidegate_amqp.encode import encode_binary
from tidegate_amqp.sections import DATA

BODY = section(DATA, encode_binary(b"body"))


def test_annotations_that_end_behind_their_message_are_not_read() -> None:
    cut = b"\x00\x53\x72\xc1\xfe\x08" + b"\x00" * 40
    with pytest.raises(NotUnderstoodError):
        piece_of([cut])


def test_a_place_is_read_from_its_own_message_alone() -> None:
    before = stamped(300, "4096", 1_800_000_000_000)
    whole = before + BODY
    # Its annotations are empty; what stands before them belongs to another message.
    empty = b"\x00\x53\x72\xc1\x01\x00"
    with pytest.raises(NotUnderstoodError):
        piece_of([whole, before[:-1] + b"\x00", empty])


@pytest.mark.parametrize("at", [10**400, float("inf"), "1"])
def test_a_report_with_a_time_that_is_none_is_refused(at: Any) -> None:
    told = {"batch": 1, "partition": "0", "epoch": 1, "offset": "5", "sequence": 5, "events": 1}
    read_from(told)
    with pytest.raises(NotAnOffsetError):
        read_from({**told, "enqueued_at": at})
