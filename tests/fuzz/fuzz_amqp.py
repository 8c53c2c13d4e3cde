"""Fuzz targets: what a peer can send to tidegate_amqp, one function a parser.

Rules:
- A parser may raise AmqpError and nothing else; a connection may raise nothing at all.
- Where two readers exist for one thing, they must agree.
"""

from __future__ import annotations

import atheris

from support.fuzzing import Target, main

with atheris.instrument_imports(include=["tidegate_amqp"]):
    from support import amqp_owner, amqp_samples
    from tidegate_amqp import AmqpError, Connection, ConnectionSettings, encode, sasl
    from tidegate_amqp.decode import decode_value, skip_value
    from tidegate_amqp.frames import FrameReader
    from tidegate_amqp.performatives import Transfer, decode_performative, encode_performative
    from tidegate_amqp.sections import read_message, sections
    from tidegate_amqp.transfer import read_transfer, transfer_head

MAX_OUTPUT = 1 << 24
MAX_FRAME_SIZE = 512
PRELUDES = {initiator: amqp_samples.prelude(initiator) for initiator in (True, False)}


def fuzz_values(data: bytes) -> None:
    try:
        value, end = decode_value(data)
    except AmqpError:
        return
    assert skip_value(data, 0) == end
    again, _ = decode_value(encode.encode(value))
    assert repr(again) == repr(value)


def fuzz_performatives(data: bytes) -> None:
    try:
        performative, _ = decode_performative(data, 0, len(data))
    except AmqpError:
        return
    encoded = encode_performative(performative)
    assert repr(decode_performative(encoded, 0, len(encoded))[0]) == repr(performative)


def fuzz_frames(data: bytes) -> None:
    """The first byte says how long the pieces are in which the rest arrives; all of it arrives."""
    stream = data[1:] + bytes(MAX_FRAME_SIZE)
    assert _frames(stream, data[0] if data else 1) == _frames(stream, len(stream))


def _frames(data: bytes, step: int) -> list[tuple[int, int, bytes] | str]:
    reader = FrameReader(MAX_FRAME_SIZE)
    found: list[tuple[int, int, bytes] | str] = []
    for at in range(0, len(data), step + 1):
        buffer, size = reader.feed(data[at : at + step + 1])
        try:
            for each in reader.frames(buffer, 0, size):
                body = each.buffer[each.start : each.end]
                found.append((each.kind, each.channel, body))
        except AmqpError as error:
            return [*found, str(error)]
    return found


def fuzz_sections(data: bytes) -> None:
    try:
        assert all(0 <= s.start < s.value < s.end <= len(data) for s in sections(data))
        read_message(data)
    except AmqpError:
        return


def fuzz_sasl(data: bytes) -> None:
    for read in (sasl.read_init, sasl.read_mechanisms, sasl.read_outcome, sasl.read_plain):
        try:
            read(data)
        except AmqpError:
            continue


def fuzz_transfer(data: bytes) -> None:
    """The quick reader and the general one agree, whatever stands around the frame."""
    framed = b"\xff" * 8 + data
    try:
        quick = read_transfer(framed, 8, len(framed))
    except AmqpError:
        quick = None
    try:
        performative, payload = decode_performative(data, 0, len(data))
    except AmqpError:
        performative, payload = None, 0
    general = None
    if isinstance(performative, Transfer):
        general = transfer_head(performative, payload + 8)
    if data[:3] == b"\x00\x53\x14":
        assert quick == general, (quick, general)


def fuzz_acceptor(data: bytes) -> None:
    _fuzz_connection(data, initiator=False)


def fuzz_initiator(data: bytes) -> None:
    _fuzz_connection(data, initiator=True)


def _fuzz_connection(data: bytes, *, initiator: bool) -> None:
    """The first byte says what came before, the second whether the rest is cut into frames."""
    settings = ConnectionSettings("fuzzed", incoming_window=20, max_frame_size=4_096)
    connection = Connection(settings, initiator=initiator)
    owner = amqp_owner.Owner(connection, 0 if len(data) < 2 else data[1] >> 1)
    prelude = PRELUDES[initiator]
    stage = data[0] % (len(prelude) + 1) if data else 0
    for piece in prelude[:stage]:
        owner.take(piece)
    rest = data[2:]
    if len(data) > 1 and data[1] & 1:
        for piece in amqp_samples.as_frames(rest):
            owner.take(piece)
    else:
        owner.take(rest)
    assert owner.sent_bytes < MAX_OUTPUT


PARSERS: dict[str, Target] = {
    "values": fuzz_values,
    "performatives": fuzz_performatives,
    "frames": fuzz_frames,
    "sections": fuzz_sections,
    "sasl": fuzz_sasl,
    "transfer": fuzz_transfer,
    "acceptor": fuzz_acceptor,
    "initiator": fuzz_initiator,
}


if __name__ == "__main__":
    main(PARSERS, amqp_samples.seeds)
