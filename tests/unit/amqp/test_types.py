"""Every type code of AMQP 1.0, in every width, against bytes written out by hand."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from tidegate_amqp import DecodeError, Described, Opaque, Raw, Symbol
from tidegate_amqp import encode as enc
from tidegate_amqp.decode import decode_value, skip_value

SOME_UUID = UUID("00112233-4455-6677-8899-aabbccddeeff")
TEXT = "x" * 300

# (bytes in hex, the value they stand for)
ENCODED: list[tuple[str, Any]] = [
    ("40", None),
    ("41", True),
    ("42", False),
    ("56 01", True),
    ("56 00", False),
    ("50 00", 0),
    ("50 ff", 255),
    ("51 80", -128),
    ("51 7f", 127),
    ("60 0000", 0),
    ("60 ffff", 65_535),
    ("61 8000", -32_768),
    ("61 7fff", 32_767),
    ("43", 0),
    ("52 01", 1),
    ("52 ff", 255),
    ("70 00000100", 256),
    ("70 ffffffff", (1 << 32) - 1),
    ("44", 0),
    ("53 01", 1),
    ("53 ff", 255),
    ("80 0000000000000100", 256),
    ("80 ffffffffffffffff", (1 << 64) - 1),
    ("54 80", -128),
    ("54 7f", 127),
    ("71 80000000", -(1 << 31)),
    ("71 7fffffff", (1 << 31) - 1),
    ("55 80", -128),
    ("55 7f", 127),
    ("81 8000000000000000", -(1 << 63)),
    ("81 7fffffffffffffff", (1 << 63) - 1),
    ("72 3fc00000", 1.5),
    ("82 3ff8000000000000", 1.5),
    ("82 7ff0000000000000", math.inf),
    ("73 00000041", "A"),
    ("73 0001f30a", "\U0001f30a"),
    ("74 22500000", Opaque(0x74, bytes.fromhex("22500000"))),
    ("84 2238000000000000", Opaque(0x84, bytes.fromhex("2238000000000000"))),
    ("94" + "01" * 16, Opaque(0x94, b"\x01" * 16)),
    ("83 0000019653a00000", 0x19653A00000),
    ("83 ffffffffffffffff", -1),
    ("98 00112233445566778899aabbccddeeff", SOME_UUID),
    ("a0 00", b""),
    ("a0 03 616263", b"abc"),
    ("b0 00000003 616263", b"abc"),
    ("a1 00", ""),
    ("a1 02 c3a9", "é"),
    ("b1 00000002 c3a9", "é"),
    ("b1 0000012c" + "78" * 300, TEXT),
    ("a3 01 61", Symbol("a")),
    ("b3 00000001 61", Symbol("a")),
    ("45", []),
    ("c0 01 00", []),
    ("c0 03 02 43 41", [0, True]),
    ("d0 00000006 00000002 43 41", [0, True]),
    ("c1 01 00", {}),
    ("c1 06 02 a3 01 61 52 05", {"a": 5}),
    ("d1 00000009 00000002 a3 01 61 52 05", {"a": 5}),
    ("e0 05 03 50 01 02 03", [1, 2, 3]),
    ("e0 06 02 a3 01 61 01 62", ["a", "b"]),
    ("e0 03 02 41", None),
    ("e0 02 02 41", [True, True]),
    ("e0 02 02 45", [[], []]),
    ("f0 00000008 00000003 50 01 02 03", [1, 2, 3]),
    ("e0 02 00 a3", []),
    ("e0 01 00", []),
    ("f0 00000004 00000000", []),
    ("e0 07 02 c0 02 01 41 01 00", [[True], []]),
    ("e0 06 02 00 53 25 50 07 08", None),
    ("e0 07 02 00 53 25 50 07 08", [Described(0x25, 7), Described(0x25, 8)]),
    ("00 53 24 45", Described(0x24, [])),
    ("00 80 0000013700000007 41", Described(0x13700000007, True)),
    ("00 a3 01 61 00 a3 01 62 40", Described("a", Described("b", None))),
]
GOOD = [(text, value) for text, value in ENCODED if value is not None or text == "40"]
BAD = [text for text, value in ENCODED if value is None and text != "40"]


@pytest.mark.parametrize(("text", "value"), GOOD, ids=[text[:24] for text, _ in GOOD])
def test_a_type_code_is_read(text: str, value: Any) -> None:
    data = bytes.fromhex(text)
    found, end = decode_value(b"\xee" + data + b"\xee", 1)
    assert (found, type(found), end) == (value, type(value), 1 + len(data))
    assert skip_value(b"\xee" + data + b"\xee", 1) == end
    assert decode_value(memoryview(data)) == (value, len(data))


@pytest.mark.parametrize("text", [text for text, _ in GOOD], ids=[text[:24] for text, _ in GOOD])
def test_a_value_that_is_cut_short_is_an_error(text: str) -> None:
    data = bytes.fromhex(text)
    for size in range(len(data)):
        with pytest.raises(DecodeError):
            decode_value(data[:size])
        with pytest.raises(DecodeError):
            skip_value(data[:size], 0)


REFUSED = {
    "an unknown fixed type": "4f",
    "an unknown variable type": "a2 00",
    "an unknown compound type": "c5 01 00",
    "a reserved half": "10",
    "text that is not UTF-8": "a1 01 ff",
    "a symbol that is not ASCII": "a3 02 c3a9",
    "a character beyond Unicode": "73 00110000",
    "half of a character": "73 0000d800",
    "a list that claims more than it has": "c0 02 02 40",
    "a list that holds more than it claims": "c0 03 01 40 40",
    "a list whose element runs past its end": "c0 03 01 a1 05 61616161616161",
    "a map with a key and no value": "c1 02 01 40",
    "a map with a list for a key": "c1 03 02 45 40",
    "an array without a constructor": "e0 01 01",
    "an array of unknown type": "e0 02 01 ff",
    "an array of values described twice": "e0 08 01 00 53 01 00 53 02 40",
    "a billion empty elements": "f0 00000005 3b9aca00 40",
    "a billion elements of a byte": "f0 00000005 3b9aca00 50",
    "a descriptor alone": "00 53 24",
}


@pytest.mark.parametrize("text", [*REFUSED.values(), *BAD], ids=[*REFUSED, *BAD])
def test_bytes_that_are_no_value_are_refused(text: str) -> None:
    with pytest.raises(DecodeError):
        decode_value(bytes.fromhex(text))


def test_nesting_is_bounded_for_lists_arrays_and_descriptors() -> None:
    nested = b"\x45"
    for _ in range(100):
        nested = enc.encode_list([nested])
    for endless in (nested, b"\x00" * 1_000, b"\x00\x40" * 1_000, b"\xe0\x03\x01\xe0" * 100):
        with pytest.raises(DecodeError):
            decode_value(endless)


# (function, value, bytes in hex)
WRITTEN: list[tuple[Callable[[Any], bytes], Any, str]] = [
    (enc.encode_boolean, True, "41"),
    (enc.encode_boolean, False, "42"),
    (enc.encode_ubyte, 0, "5000"),
    (enc.encode_ubyte, 255, "50ff"),
    (enc.encode_ushort, 0, "600000"),
    (enc.encode_ushort, 65_535, "60ffff"),
    (enc.encode_uint, 0, "43"),
    (enc.encode_uint, 1, "5201"),
    (enc.encode_uint, 255, "52ff"),
    (enc.encode_uint, 256, "7000000100"),
    (enc.encode_uint, (1 << 32) - 1, "70ffffffff"),
    (enc.encode_ulong, 0, "44"),
    (enc.encode_ulong, 255, "53ff"),
    (enc.encode_ulong, 256, "800000000000000100"),
    (enc.encode_ulong, (1 << 64) - 1, "80ffffffffffffffff"),
    (enc.encode_int, -129, "71ffffff7f"),
    (enc.encode_int, -128, "5480"),
    (enc.encode_int, 127, "547f"),
    (enc.encode_int, 128, "7100000080"),
    (enc.encode_int_wide, 1, "7100000001"),
    (enc.encode_long, -129, "81ffffffffffffff7f"),
    (enc.encode_long, -1, "55ff"),
    (enc.encode_long, 128, "810000000000000080"),
    (enc.encode_timestamp, 0, "830000000000000000"),
    (enc.encode_double, 1.5, "823ff8000000000000"),
    (enc.encode_uuid, SOME_UUID, "9800112233445566778899aabbccddeeff"),
    (enc.encode_binary, b"\x01", "a00101"),
    (enc.encode_binary, bytearray(255), "a0ff" + "00" * 255),
    (enc.encode_binary, memoryview(bytes(256)), "b000000100" + "00" * 256),
    (enc.encode_string, "é", "a102c3a9"),
    (enc.encode_symbol, "a", "a30161"),
    (enc.encode_symbols, ["a", "bc"], "e00702a30161026263"),
    (enc.encode_symbols, [TEXT], "f000000135" + "00000001" + "b30000012c" + "78" * 300),
    (enc.encode_strings, ["é"], "e00801b100000002c3a9"),
    (enc.encode_list, [], "45"),
    (enc.encode_list, [b"\x40"] * 254, "c0fffe" + "40" * 254),
    (enc.encode_list, [b"\x40"] * 255, "d000000103" + "000000ff" + "40" * 255),
    (enc.encode_map, {}, "c10100"),
    (enc.encode_map, {Symbol("a"): Raw(b"\x52\x05")}, "c10602a301615205"),
    (enc.encode, Opaque(0x74, b"abcd"), "7461626364"),
    (enc.encode, Described(0x24, []), "00532445"),
    (enc.encode, Described(Symbol("a"), None), "00a3016140"),
    (enc.encode, 1 << 63, "808000000000000000"),
    (enc.encode, (), "45"),
]


@pytest.mark.parametrize(
    ("write", "value", "text"), WRITTEN, ids=[f"{w.__name__}-{t[:16]}" for w, _, t in WRITTEN]
)
def test_a_value_is_written_in_its_shortest_form(
    write: Callable[[Any], bytes], value: Any, text: str
) -> None:
    assert write(value).hex() == text


UNFIT: list[tuple[Callable[[Any], bytes], Any]] = [
    (enc.encode_ubyte, 256),
    (enc.encode_ubyte, -1),
    (enc.encode_ushort, 65_536),
    (enc.encode_uint, -1),
    (enc.encode_uint, 1 << 32),
    (enc.encode_ulong, -1),
    (enc.encode_ulong, 1 << 64),
    (enc.encode_int, 1 << 31),
    (enc.encode_int_wide, -(1 << 31) - 1),
    (enc.encode_long, 1 << 63),
    (enc.encode_timestamp, 1 << 63),
    (enc.encode, 1 << 64),
    (enc.encode, -(1 << 63) - 1),
    (enc.encode, object()),
    (enc.encode_symbol, "é"),
    (enc.encode_string, "\ud800"),
]


@pytest.mark.parametrize(("write", "value"), UNFIT)
def test_a_value_that_does_not_fit_its_type_is_a_value_error(
    write: Callable[[Any], bytes], value: Any
) -> None:
    with pytest.raises(ValueError, match=r"does not fit|no AMQP type|can't encode"):
        write(value)


def test_a_descriptor_keeps_its_own_type() -> None:
    for descriptor in (0, 255, 1 << 40, -1, True, Symbol("a"), None):
        value = Described(descriptor, 1)
        found, _ = decode_value(enc.encode(value))
        assert repr(found) == repr(value)
    assert enc.encode_described(0x24, b"\x45").hex() == "00532445"
    assert enc.encode_described(0x100, b"\x45").hex() == "00800000000000000100" + "45"
