"""What we write is what the service was recorded to write, byte for byte where it matters."""

from __future__ import annotations

from typing import Any

import pytest

from support.amqp_pair import Pair, sent_frames
from support.amqp_samples import ATTACH_RECEIVER, PERFORMATIVES
from tidegate_amqp import Accepted, ConnectionSettings, Error, Source, Target, sasl
from tidegate_amqp.decode import decode_value
from tidegate_amqp.frames import AMQP_HEADER, SASL_HEADER
from tidegate_amqp.performatives import Begin, Open, Transfer, encode_performative
from tidegate_amqp.sections import reply_properties

FIELD_COUNTS = {
    "Open": 10,
    "Begin": 8,
    "Attach": 14,
    "Flow": 11,
    "Transfer": 11,
    "Disposition": 6,
    "Detach": 3,
    "End": 1,
    "Close": 1,
}
COMPOSITE_COUNTS: list[tuple[Any, int]] = [
    (Source(), 11),
    (Target(), 7),
    (Error("amqp:not-found"), 3),
    (Accepted(), 0),
]


@pytest.mark.parametrize("performative", PERFORMATIVES, ids=lambda each: type(each).__name__)
def test_every_performative_has_its_full_count_of_fields(performative: Any) -> None:
    written, _ = decode_value(encode_performative(performative))
    assert len(written.value) == FIELD_COUNTS[type(performative).__name__]


def test_a_performative_of_defaults_is_not_shortened() -> None:
    for performative in (Open("c"), Begin(None, 1, 1, 1), ATTACH_RECEIVER, Transfer(0)):
        written, _ = decode_value(encode_performative(performative))
        assert len(written.value) == FIELD_COUNTS[type(performative).__name__]


@pytest.mark.parametrize(("composite", "count"), COMPOSITE_COUNTS)
def test_every_composite_has_its_full_count_of_fields(composite: Any, count: int) -> None:
    written, _ = decode_value(encode_performative(composite))
    assert len(written.value) == count


def test_sasl_says_what_the_service_says() -> None:
    mechanisms = "074d53534243425305504c41494e09414e4f4e594d4f55530845585445524e414c"
    offer = "005340c02601e02304a3" + mechanisms
    assert sasl.mechanisms_frame()[8:].hex() == offer
    assert sasl.outcome_frame(0)[8:].hex() == "005344c00d025000a00857656c636f6d6521"
    assert sasl.outcome_frame(1)[8:].hex() == "005344c00402500140"
    assert (SASL_HEADER.hex(), AMQP_HEADER.hex()) == ("414d515003010000", "414d515000010000")


def test_open_and_begin_offer_what_the_service_offers() -> None:
    pair = Pair(server=ConnectionSettings("0123_G1"))
    pair.session()
    written = [each.performative for each in pair.frames]
    (from_server,) = [each for each in written if type(each) is Open and each.hostname == ""]
    assert from_server == Open("0123_G1", "", 65_536, 4_999, 120_000)
    (begin,) = [each for each in written if type(each) is Begin and each.remote_channel == 0]
    assert begin == Begin(0, 1, 5_000, 65_536, 255)


def test_a_run_of_events_is_written_as_the_service_writes_it() -> None:
    pair = Pair()
    _, link = pair.receiver(credit=10)
    link.send_run(b"onetwo", [3, 6])
    first, second = b"".join(pair.server.take_output()).split(b"one")
    # A frame header, then a list of eleven: handle, id, an empty tag, format 0, settled, more,
    # two nulls, resume, aborted, batchable.
    head = "0000002102000000005314c0110b4370{:08x}a0004341424040424241"
    assert first.hex() == head.format(0)
    assert second.hex() == head.format(1) + b"two".hex()


def test_a_large_event_continues_in_frames_of_65505_bytes_without_id_tag_or_format() -> None:
    pair = Pair()
    _, link = pair.receiver(credit=10)
    link.send_run(b"x" * 300_000, [300_000])
    first, *middle, last = sent_frames(pair.server.take_output())
    for field, value in {
        "delivery_id": 0,
        "delivery_tag": b"",
        "message_format": 0,
        "settled": True,
        "more": True,
        "batchable": True,
    }.items():
        assert getattr(first.performative, field) == value
    assert {len(each.payload) for each in middle} == {65_505}
    assert len(last.payload) <= 65_505
    for number, each in enumerate([*middle, last]):
        assert each.performative[:5] == (0, None, None, None, None)
        assert each.performative.more is (number < len(middle))


def test_an_unsettled_answer_has_the_tag_that_it_was_given() -> None:
    pair = Pair()
    _, link = pair.receiver(credit=10)
    link.send(b"answer", tag=b"\x01\x00\x00\x00")
    (sent,) = sent_frames(pair.server.take_output())
    assert sent.performative == Transfer(0, 0, b"\x01\x00\x00\x00", 0, False)


def test_an_accepted_disposition_has_the_shape_of_the_service() -> None:
    pair = Pair()
    _, receiver = pair.sender(credit=10)
    receiver.settle(0, Accepted())
    (written,) = pair.server.take_output()
    assert written[8:].hex() == "005315c00a06414340410053244542"


def test_a_refused_attach_has_the_shape_of_the_service() -> None:
    pair = Pair()
    session, _ = pair.session()
    session.attach_receiver("r", Source("a"), Target("b"))
    pair.pump()
    link = pair.server.sessions[0].links[0]
    link.refuse(Error("amqp:not-found", "gone"))
    attach, detach = pair.server.take_output()
    written, _ = decode_value(attach, 8)
    assert written.value == ["r", 0, False, *[None] * 5, False, 0, 0, None, None, None]
    error = "00531dc01803" + "a30e" + b"amqp:not-found".hex() + "a104" + b"gone".hex() + "40"
    assert detach[8:].hex() == "005316c02003" + "4341" + error


def test_an_answer_names_its_request_as_the_service_does() -> None:
    message_id = b"\x98" + bytes(range(16))
    written = reply_properties(message_id)
    assert written.hex() == "005373c01e0d" + "40" * 5 + message_id.hex() + "40" * 7
