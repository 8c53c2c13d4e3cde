"""Frames as a peer sends them, in the order of a whole conversation, and inputs to fuzz from."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

from tidegate_amqp import Accepted, Described, Error, Opaque, Source, Symbol, Target, encode, sasl
from tidegate_amqp.frames import AMQP_HEADER, SASL_HEADER, frame, transfer_frames
from tidegate_amqp.performatives import (
    Attach,
    Begin,
    Close,
    Detach,
    Disposition,
    End,
    Flow,
    Open,
    Transfer,
    encode_performative,
)

OPEN = Open("peer", "host", 65_536, 4_999, 120_000, properties={Symbol("product"): "sample"})
BEGIN = Begin(None, 1, 100, 100, 255)
ATTACH_RECEIVER = Attach("receiver", 0, True, source=Source("from"), target=Target("to"))
ATTACH_SENDER = Attach(
    "sender", 1, False, source=Source("from"), target=Target("to"), initial_delivery_count=0
)
FLOW = Flow(1, 100, 1, 100, 0, 0, 10)
DISPOSITION = Disposition(True, 0, 3, True, Accepted())
LAST_WORDS = (
    Detach(0, True, Error("amqp:link:stolen", "taken")),
    End(),
    Close(Error("amqp:connection:forced", "idle", {Symbol("a"): 1})),
)
PERFORMATIVES = (
    OPEN,
    BEGIN,
    BEGIN._replace(remote_channel=0),
    ATTACH_RECEIVER,
    ATTACH_SENDER,
    ATTACH_RECEIVER._replace(name="out"),
    ATTACH_SENDER._replace(name="in", max_message_size=1 << 20),
    FLOW,
    FLOW._replace(drain=True, echo=True),
    Transfer(1, 0, b"tag", 0, False, False, batchable=True),
    Transfer(1, 1, b"", 0, True, True, 1, Accepted(), False, True),
    DISPOSITION,
    *LAST_WORDS,
)
VALUES = (
    [None, True, False, 0, 1, -1, 1 << 40, -(1 << 40), (1 << 64) - 1, 1.5, "text", b"binary"],
    {Symbol("key"): {1: [Symbol("a" * 300)]}, "other": UUID(int=7)},
    Described(Symbol("some:descriptor"), [Opaque(0x94, bytes(16))]),
)
MESSAGE = (
    encode.encode_described(0x70, encode.encode_list([encode.TRUE]))
    + encode.encode_described(0x72, encode.encode_map({Symbol("x-opt-offset"): "144"}))
    + encode.encode_described(0x73, encode.encode([UUID(int=1), None, None, None, "reply-to"]))
    + encode.encode_described(0x74, encode.encode_map({"operation": "READ"}))
    + encode.encode_described(0x77, encode.encode("value"))
)


def prelude(initiator: bool) -> list[bytes]:
    """What a peer sends to an initiator or acceptor until links are attached, step by step."""
    if initiator:
        return [
            SASL_HEADER,
            sasl.mechanisms_frame(),
            sasl.outcome_frame(sasl.OUTCOME_OK),
            AMQP_HEADER,
            frame(0, encode_performative(OPEN)),
            frame(0, encode_performative(BEGIN._replace(remote_channel=0))),
            frame(0, encode_performative(ATTACH_RECEIVER._replace(name="out", handle=1)))
            + frame(0, encode_performative(ATTACH_SENDER._replace(name="in", handle=0))),
        ]
    return [
        SASL_HEADER,
        sasl.init_frame("PLAIN", sasl.plain_response("user", "secret"), "host"),
        AMQP_HEADER,
        frame(0, encode_performative(OPEN)),
        frame(0, encode_performative(BEGIN)),
        frame(0, encode_performative(ATTACH_RECEIVER))
        + frame(0, encode_performative(ATTACH_SENDER)),
    ]


def as_frames(data: bytes) -> Iterator[bytes]:
    """Frames whose channel and length are two bytes each in front of their body."""
    while len(data) > 2:
        size = data[1]
        yield frame(data[0] & 3, data[2 : 2 + size])
        data = data[2 + size :]


def _pieces(bodies: list[bytes]) -> bytes:
    return b"".join(bytes((0, len(body))) + body for body in bodies if len(body) < 256)


def seeds(parser: str) -> list[bytes]:
    """Valid inputs of a parser of tests/fuzz, for the fuzzer to start from."""
    bodies = [encode_performative(each) for each in PERFORMATIVES]
    transfers = [
        each[8:]
        for settled in (True, False)
        for each in transfer_frames(
            0, 1, 0, b"tag", b"x" * 700, settled=settled, max_frame_size=512
        )
    ]
    bodies += [each for each in transfers if len(each) < 256]
    if parser in ("acceptor", "initiator"):
        whole = b"".join(prelude(parser == "initiator"))
        alone = [bytes((stage, 1)) + _pieces([body]) for stage in (4, 6, 7) for body in bodies]
        moods = [bytes((6, mood)) + _pieces(bodies[3:-3]) for mood in (1, 9, 17, 33, 65)]
        return [b"\x00\x00" + whole, *alone, *moods]
    return {
        "values": [encode.encode(value) for value in VALUES],
        "performatives": bodies,
        "frames": [b"\x03" + frame(1, bodies[0]) + frame(0, b"") + frame(2, bodies[1], 1)],
        "sections": [MESSAGE],
        "sasl": [
            sasl.mechanisms_frame()[8:],
            sasl.init_frame("PLAIN", sasl.plain_response("u", "p"), "h")[8:],
            sasl.outcome_frame(0)[8:],
            sasl.plain_response("user", "secret"),
        ],
        "transfer": [body for body in bodies if body[2] == 0x14] + transfers,
    }[parser]
