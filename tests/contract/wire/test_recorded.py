"""Recorded exchanges with the service, replayed: the hub answers alike, and in the same order.

`recorded.json` holds the facts: the frames of the official SDK, and the service's frames in order
with the fields that matter. `*` in an expected text matches any text. Handles are not compared,
because each end chooses its own.
"""

from __future__ import annotations

import fnmatch
import json
from pathlib import Path
from typing import Any

import pytest

from contract.wire.place import Place
from support.amqp_peer import AMQP_CODES, FLOW, PATIENCE_S, Seen
from support.hub_bench import token_for
from support.hub_messages import REQUEST_ID, put_token, request
from tidegate_amqp import ConnectionSettings, Described, Source, Symbol, Target
from tidegate_amqp.decode import decode_value, skip_value
from tidegate_amqp.frames import frame
from tidegate_amqp.performatives import (
    Attach,
    Begin,
    Detach,
    Disposition,
    Flow,
    Open,
    Transfer,
    encode_performative,
)
from tidegate_amqp.sections import APPLICATION_PROPERTIES, PROPERTIES, VALUE, Section, sections

EXCHANGES = json.loads((Path(__file__).parent / "recorded.json").read_text())["exchanges"]
KINDS: dict[str, Any] = {
    "open": Open,
    "begin": Begin,
    "attach": Attach,
    "flow": Flow,
    "transfer": Transfer,
    "disposition": Disposition,
    "detach": Detach,
}
SECTIONS = {
    "properties": PROPERTIES,
    "application-properties": APPLICATION_PROPERTIES,
    "amqp-value": VALUE,
}
ACCEPTED = 0x24
CONTAINER = "EHProducer-recorded"


@pytest.mark.parametrize("exchange", EXCHANGES, ids=lambda each: each["what"])
def test_the_hub_answers_as_the_service_was_recorded_to(
    checked: Place, exchange: dict[str, Any]
) -> None:
    replay = Replay(checked)
    if exchange.get("has_token"):
        replay.put_token()
    elif exchange["frames"][0][0] == "client":
        replay.pass_over(2)  # open and begin
    for number, (speaker, kind, fields) in enumerate(exchange["frames"]):
        if speaker == "client":
            replay.say(kind, fields)
        else:
            replay.expect(kind, fields, f"frame {number}, {kind} of {fields.get('name', '')!r}")
    replay.expect_silence()


class Replay:
    """One connection of the SDK with the hub, on channel 1 as in the recordings."""

    def __init__(self, place: Place) -> None:
        # From here on the peer's own machine has no part: it would answer for itself.
        self._peer = place.open(ConnectionSettings(CONTAINER))
        self._write(Begin(None, 0, 65_536, 65_536))
        self._passed = 0
        self._names = {
            "hub": place.hub,
            "container": CONTAINER,
            "message-id": REQUEST_ID,
            "token": token_for(place.hub, 1 << 32),
            "token of fakehub": token_for("fakehub", 1 << 32),
            "token of another key": token_for(place.hub, 1 << 32, "another"),
        }

    def put_token(self) -> None:
        """What comes before the attach in every recording of a sender or a receiver."""
        opening = next(each for each in EXCHANGES if each["what"].startswith("a token, then"))
        self.pass_over(2)
        for speaker, kind, fields in opening["frames"]:
            if speaker == "client":
                self.say(kind, fields)
            else:
                self.pass_over(1)
            if kind == "transfer":
                return

    def pass_over(self, count: int) -> None:
        for _ in range(count):
            self._next("an answer")

    def say(self, kind: str, fields: dict[str, Any]) -> None:
        given = {name: self._filled(value) for name, value in fields.items()}
        payload = b""
        if kind == "put-token":
            payload = put_token(given.pop("audience"), given.pop("token"))
        elif kind == "read":
            named = {"operation": "READ", "type": given.pop("type"), "name": given.pop("name")}
            for each in ("partition", "security_token"):
                if each in given:
                    named[each] = given.pop(each)
            payload = request(named)
        if payload:
            kind, given = "transfer", {"delivery-tag": "01", "message-format": 0, **given}
        if kind == "transfer":
            payload = payload or bytes.fromhex(given.pop("payload"))
            given["delivery-tag"] = bytes.fromhex(given["delivery-tag"])
        for end, made in (("source", Source), ("target", Target)):
            if end in given:
                given[end] = made(**_end(given[end]))
        if given.get("properties"):
            given["properties"] = _with_symbols(given["properties"])
        made = KINDS[kind](**{name.replace("-", "_"): value for name, value in given.items()})
        self._write(made, payload)

    def expect(self, kind: str, fields: dict[str, Any], what: str) -> None:
        seen = self._next(what)
        assert AMQP_CODES[seen.code] == kind, f"{what}: {AMQP_CODES[seen.code]} came"
        names = [name.replace("_", "-") for name in KINDS[kind]._fields]
        assert len(seen.fields) == len(names), f"{what}: it is written with all fields"
        found = dict(zip(names, seen.fields, strict=True))
        for name, wanted in self._filled(fields).items():
            if name == "message":
                self._check_message(wanted, seen.payload, what)
            else:
                _check(wanted, _plain(name, found[name], wanted), f"{what}: {name}")

    def expect_silence(self) -> None:
        """Nothing more comes before the answer to a flow that asks for one."""
        self._write(Flow(0, 65_536, 0, 65_536, echo=True))
        answer = self._next("an echo")
        is_echo = answer.code == FLOW and answer.fields[4] is None
        assert is_echo, f"the hub said more than the service: {AMQP_CODES[answer.code]}"

    def _check_message(self, wanted: list[Any], payload: bytes, what: str) -> None:
        found = list(sections(payload))
        assert [each.code for each in found] == [SECTIONS[name] for name, _ in wanted], what
        for section, (name, values) in zip(found, wanted, strict=True):
            if name == "properties":
                listed = decode_value(payload, section.value)[0]
                assert listed == [None] * 5 + [values["correlation-id"]] + [None] * 7, what
                continue
            pairs = _pairs(payload, section)
            assert [key for key, _, _ in pairs] == [key for key, _ in values], f"{what}: {name}"
            for (key, code, value), (_, (wanted_code, wanted_value)) in zip(
                pairs, values, strict=True
            ):
                _check(wanted_code, code, f"{what}: the type of {key}")
                _check(wanted_value, value, f"{what}: {key}")

    def _write(self, performative: Any, payload: bytes = b"") -> None:
        self._peer.line.write(frame(1, encode_performative(performative) + payload))

    def _next(self, what: str) -> Seen:
        while len(self._peer.frames()) <= self._passed:
            data = self._peer.line.read(PATIENCE_S)
            assert data, f"{what} did not come"
            self._peer.received += data
        self._passed += 1
        return self._peer.frames()[self._passed - 1]

    def _filled(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: self._filled(each) for key, each in value.items()}
        if isinstance(value, list):
            return [self._filled(each) for each in value]
        if not isinstance(value, str):
            return value
        if value[1:-1] in self._names and value.startswith("{"):
            return self._names[value[1:-1]]
        for name, filled in self._names.items():
            value = value.replace("{" + name + "}", str(filled))
        return value


def _end(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields of a source or target; a filter is a map of described values."""
    filters = fields.get("filter")
    if filters:
        fields["filter"] = {
            Symbol(key): Described(Symbol(descriptor), text)
            for key, (descriptor, text) in filters.items()
        }
    return fields


def _with_symbols(properties: dict[str, Any]) -> dict[Symbol, Any]:
    return {Symbol(key): value for key, value in properties.items()}


def _plain(name: str, found: Any, wanted: Any) -> Any:
    """A field as `recorded.json` writes it."""
    if isinstance(found, bytes):
        return found.hex()
    if not isinstance(found, Described):
        return found
    if name == "state":
        return "accepted" if (found.descriptor, found.value) == (ACCEPTED, []) else found
    if name == "error":
        return found.value[:2]
    if wanted is None:
        return found
    kind = Source if name == "source" else Target
    fields = dict(zip(kind._fields, found.value, strict=False))
    if fields.get("filter"):
        fields["filter"] = {key: list(each) for key, each in fields["filter"].items()}
    return {key: fields[key] for key in wanted}


def _check(wanted: Any, found: Any, what: str) -> None:
    if isinstance(wanted, str) and "*" in wanted:
        assert fnmatch.fnmatchcase(str(found), wanted.replace("[", "[[]")), f"{what}: {found!r}"
    elif isinstance(wanted, list | dict) and type(wanted) is type(found):
        assert len(wanted) == len(found), f"{what}: {found!r}"
        for key in wanted if isinstance(wanted, dict) else range(len(wanted)):
            _check(wanted[key], found[key], f"{what}: {key}")
    else:
        assert found == wanted, f"{what}: {found!r} in place of {wanted!r}"


def _pairs(payload: bytes, section: Section) -> list[tuple[str, str, Any]]:
    """The pairs of a map in order: key, constructor of the value, value."""
    index = section.value + (3 if payload[section.value] == 0xC1 else 9)
    found = []
    while index < section.end:
        key, at = decode_value(payload, index)
        value, _ = decode_value(payload, at)
        found.append((str(key), f"{payload[at]:02x}", value))
        index = skip_value(payload, at)
    return found
