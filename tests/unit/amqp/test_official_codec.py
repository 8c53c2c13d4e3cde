"""The codec inside the official Python SDK and ours read what the other writes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from azure.eventhub._pyamqp import _decode as their_decode
from azure.eventhub._pyamqp import _encode as their_encode
from azure.eventhub._pyamqp import endpoints, error, outcomes, performatives
from azure.eventhub._pyamqp.message import Message, Properties
from hypothesis import given, settings
from hypothesis import strategies as st

from support import amqp_samples
from support.amqp_strategies import SYMBOLS, TEXTS
from tidegate_amqp import (
    Accepted,
    Described,
    Error,
    Rejected,
    Released,
    Source,
    Symbol,
    Target,
    sasl,
)
from tidegate_amqp import encode as enc
from tidegate_amqp.composites import Modified, Received
from tidegate_amqp.decode import decode_value
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
    decode_performative,
    encode_performative,
)
from tidegate_amqp.sections import read_message

PROPERTIES = {Symbol("com.microsoft:epoch"): 7, Symbol("product"): "sample"}
FILTER = {
    Symbol("apache.org:selector-filter:string"): Described(
        Symbol("apache.org:selector-filter:string"), "amqp.annotation.x-opt-offset > '-1'"
    )
}
SOURCE = Source(
    "hub/ConsumerGroups/$default/Partitions/0",
    1,
    "session-end",
    5,
    False,
    filter=FILTER,
    default_outcome=Released(),
    outcomes=["amqp:accepted:list", "amqp:released:list"],
    capabilities=["queue"],
)
TARGET = Target("here", 0, "never", 0, True, capabilities=["topic"])
ERROR = Error("amqp:link:stolen", "taken", {Symbol("by"): "another"})

PERFORMATIVES = [
    Open("peer"),
    Open("peer", "host", 512, 0, 120_000, ["de"], ["en-US"], ["a"], ["b", "c"], PROPERTIES),
    Begin(None, 1, 5_000, 65_536),
    Begin(3, (1 << 32) - 1, 0, 0, 255, ["a"], ["b"], PROPERTIES),
    Attach("link", 0, True, 1, 0, SOURCE, TARGET),
    Attach("n" * 300, 255, False, 2, 1, SOURCE, TARGET, None, True, 0, 1 << 20, ["a"], ["b"]),
    Attach("refused", 1, False, None, None, initial_delivery_count=0, max_message_size=0),
    Flow(None, 5_000, 1, 65_536),
    Flow(1, 5_000, 1, 65_536, 0, (1 << 32) - 1, 300, 0, True, True, PROPERTIES),
    Transfer(0, 0, b"\x01\x00\x00\x00", 0x80013700, False, False),
    Transfer(1, (1 << 32) - 1, b"", 0, True, True, 1, Accepted(), True, True, True),
    Transfer(0, more=True),
    Disposition(True, 0, 9, True, Accepted()),
    Disposition(False, 1, None, False, Rejected(ERROR)),
    Disposition(True, 1, state=Modified(True, False, PROPERTIES), batchable=True),
    Disposition(True, 1, state=Received(1, 1 << 40)),
    Detach(0, True, ERROR),
    Detach(255),
    End(ERROR),
    End(),
    Close(Error("amqp:connection:forced")),
    Close(),
]

THEIRS: dict[type, Callable[..., Any]] = {
    Open: performatives.OpenFrame,
    Begin: performatives.BeginFrame,
    Attach: performatives.AttachFrame,
    Flow: performatives.FlowFrame,
    Transfer: performatives.TransferFrame,
    Disposition: performatives.DispositionFrame,
    Detach: performatives.DetachFrame,
    End: performatives.EndFrame,
    Close: performatives.CloseFrame,
    Source: endpoints.Source,
    Target: endpoints.Target,
    Error: error.AMQPError,
    Accepted: outcomes.Accepted,
    Rejected: outcomes.Rejected,
    Released: outcomes.Released,
    Modified: outcomes.Modified,
    Received: outcomes.Received,
}
OUTCOME_NAMES = {
    Received: "received",
    Accepted: "accepted",
    Rejected: "rejected",
    Released: "released",
    Modified: "modified",
}


def as_theirs(value: Any) -> Any:
    """A composite of ours as theirs, to be written by their codec."""
    if type(value) in THEIRS:
        return THEIRS[type(value)](*map(as_theirs, value))
    if isinstance(value, Described):
        return (value.descriptor, value.value)
    return {key: as_theirs(each) for key, each in value.items()} if type(value) is dict else value


def as_they_read(value: Any) -> Any:
    """What their codec gives for a value of ours: text as bytes, composites as lists."""
    if type(value) in OUTCOME_NAMES:
        return {OUTCOME_NAMES[type(value)]: [as_they_read(each) for each in value]}
    if isinstance(value, Described):
        return as_they_read(value.value)
    if isinstance(value, dict):
        return {as_they_read(key): as_they_read(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [as_they_read(each) for each in value]
    return value.encode() if isinstance(value, str) else value


@pytest.mark.parametrize("ours", PERFORMATIVES, ids=lambda each: type(each).__name__)
def test_the_sdk_reads_our_performatives(ours: Any) -> None:
    encoded = encode_performative(ours)
    _, found = their_decode.decode_frame(memoryview(encoded))
    expected = [as_they_read(field) for field in ours]
    assert found == (expected if not isinstance(ours, Transfer) else [*expected, b""])


@pytest.mark.parametrize("ours", PERFORMATIVES, ids=lambda each: type(each).__name__)
def test_we_read_the_performatives_of_the_sdk(ours: Any) -> None:
    theirs = as_theirs(ours)
    if isinstance(ours, Transfer):
        theirs = theirs._replace(payload=b"")
    _, body = their_encode.encode_frame(theirs)
    assert body is not None
    found, end = decode_performative(bytes(body), 0, len(body))
    assert repr(found) == repr(_as_read(ours))
    assert end == len(body)


def _as_read(ours: Any) -> Any:
    """What they leave null has the default of the specification once we have read it."""
    encoded = encode_performative(ours)
    return decode_performative(encoded, 0, len(encoded))[0]


TYPED: list[tuple[str, Any]] = [
    *(("UBYTE", each) for each in (0, 255)),
    *(("BYTE", each) for each in (-128, 127)),
    *(("USHORT", each) for each in (0, 65_535)),
    *(("SHORT", each) for each in (-32_768, 32_767)),
    *(("UINT", each) for each in (0, 1, 255, 256, (1 << 32) - 1)),
    *(("INT", each) for each in (-(1 << 31), -128, 0, 127, 128, (1 << 31) - 1)),
    *(("ULONG", each) for each in (0, 1, 255, 256, (1 << 64) - 1)),
    *(("LONG", each) for each in (-(1 << 63), -128, 0, 127, 128, (1 << 63) - 1)),
    ("BOOL", True),
    ("BOOL", False),
    ("NULL", None),
    ("FLOAT", 1.5),
    ("DOUBLE", 1.1),
    ("TIMESTAMP", 1_745_000_000_000),
    ("UUID", UUID(int=1 << 100)),
    ("BINARY", b"\x00" * 255),
    ("BINARY", b"\x00" * 256),
    ("STRING", "é" * 200),
    ("SYMBOL", "symbol"),
    ("LIST", []),
    ("LIST", [1, "two", None]),
    ("LIST", ["x" * 100] * 3),
    ("MAP", {"a": 1, "b": [True]}),
    ("MAP", {}),
    ("ARRAY", []),
    ("ARRAY", [UUID(int=1), UUID(int=2)]),
    ("ARRAY", ["a", "bc"]),
    ("ARRAY", [1, -1]),
]


@pytest.mark.parametrize(("kind", "value"), TYPED)
@pytest.mark.parametrize("smallest", [True, False])
def test_we_read_every_type_that_the_sdk_writes(kind: str, value: Any, smallest: bool) -> None:
    output = bytearray()
    typed = {"TYPE": kind, "VALUE": value}
    their_encode.encode_value(output, typed, use_smallest=smallest)
    assert decode_value(bytes(output)) == (value, len(output))


WRITTEN = [
    (enc.encode_ubyte, 255),
    (enc.encode_ushort, 65_535),
    (enc.encode_uint, 0),
    (enc.encode_uint, 200),
    (enc.encode_uint, 1 << 31),
    (enc.encode_ulong, 0),
    (enc.encode_ulong, 200),
    (enc.encode_ulong, 1 << 63),
    (enc.encode_int, -5),
    (enc.encode_int, 1 << 30),
    (enc.encode_int_wide, 202),
    (enc.encode_long, -5),
    (enc.encode_long, 1 << 62),
    (enc.encode_timestamp, 1_745_000_000_000),
    (enc.encode_double, 1.1),
    (enc.encode_uuid, UUID(int=5)),
    (enc.encode_symbols, ["a", "b"]),
    (enc.encode_strings, ["0", "1"]),
    (enc.encode_strings, ["0" * 300]),
]


@pytest.mark.parametrize(("write", "value"), WRITTEN)
def test_the_sdk_reads_every_type_that_we_write(write: Callable[[Any], bytes], value: Any) -> None:
    assert _they_read(write(value)) == as_they_read(value)


def _they_read(encoded: bytes) -> Any:
    rest, value = their_decode._DECODE_BY_CONSTRUCTOR[encoded[0]](memoryview(encoded)[1:])
    assert bytes(rest) == b""
    return value


SIMPLE = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(1 << 31), (1 << 31) - 1),
    st.floats(allow_nan=False),
    TEXTS,
    st.binary(max_size=300),
    st.uuids(),
)
SHARED = st.recursive(
    SIMPLE,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


@given(value=SHARED | SYMBOLS)
@settings(max_examples=100, deadline=None)
def test_both_codecs_read_each_other_whatever_the_value(value: Any) -> None:
    assert _they_read(enc.encode(value)) == as_they_read(value)
    output = bytearray()
    their_encode.encode_value(output, value)
    assert decode_value(bytes(output)) == (value, len(output))


def test_sasl_frames_are_read_both_ways() -> None:
    frames = (sasl.mechanisms_frame(), sasl.init_frame("PLAIN", b"\x00u\x00p", "host"))
    codes = [their_decode.decode_frame(memoryview(each)[8:]) for each in frames]
    assert codes == [
        (0x40, [[name.encode() for name in sasl.MECHANISMS]]),
        (0x41, [b"PLAIN", b"\x00u\x00p", b"host"]),
    ]
    outcome = their_decode.decode_frame(memoryview(sasl.outcome_frame(sasl.OUTCOME_OK))[8:])
    assert outcome == (0x44, [0, b"Welcome!"])
    init = their_encode.encode_frame(performatives.SASLInit(b"ANONYMOUS", b"", "host"))[1]
    assert sasl.read_init(bytes(init or b"")) == ("ANONYMOUS", b"")
    offer = their_encode.encode_frame(performatives.SASLMechanism(["PLAIN", "ANONYMOUS"]))[1]
    assert sasl.read_mechanisms(bytes(offer or b"")) == ["PLAIN", "ANONYMOUS"]
    verdict = their_encode.encode_frame(performatives.SASLOutcome(1, None))[1]
    assert sasl.read_outcome(bytes(verdict or b"")) == sasl.OUTCOME_AUTH


def test_messages_are_read_both_ways() -> None:
    theirs = their_decode.decode_payload(memoryview(amqp_samples.MESSAGE))
    assert theirs.properties is not None
    assert theirs.properties.message_id == UUID(int=1)
    assert theirs.properties.reply_to == b"reply-to"
    assert (theirs.application_properties, theirs.value) == ({b"operation": b"READ"}, b"value")
    properties = Properties(message_id=UUID(int=9), reply_to="back")
    sent = Message(properties=properties, application_properties={"name": "hub"}, value="body")
    payload = bytearray()
    their_encode.encode_payload(payload, sent)
    found = read_message(bytes(payload))
    assert found.message_id == b"\x98" + UUID(int=9).bytes
    assert found[1:] == ("back", {"name": "hub"}, "body")
