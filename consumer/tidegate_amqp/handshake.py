"""What comes before the first AMQP frame: protocol headers and SASL, from either end.

Rules: the order is SASL header, mechanisms, init, outcome, AMQP header, open, and nothing else;
an initiator sends the AMQP header and its open as soon as it is let in.
"""

from __future__ import annotations

import struct
from enum import Enum
from typing import TYPE_CHECKING

from . import sasl
from .errors import FramingError, ProtocolError
from .frames import (
    AMQP_HEADER,
    HEADER_SIZE,
    SASL_FRAME,
    SASL_HEADER,
)
from .performatives import Open

if TYPE_CHECKING:
    from .connection import Connection

_MAX_SASL_FRAME = 4_096
# A Kafka request begins with its size, its API key and the version of that API. Clients begin with
# one of these APIs.
_KAFKA_START = struct.Struct(">IHH")
_KAFKA_KINDS = {3: "Metadata", 17: "SaslHandshake", 18: "ApiVersions"}
_KAFKA_LARGEST = 1 << 16
_KAFKA_NEWEST = 32


def kafka_kind(header: bytes) -> str | None:
    """The name of the Kafka request that begins with these bytes, if one does."""
    size, kind, version = _KAFKA_START.unpack(header)
    if not len(header) <= size <= _KAFKA_LARGEST or version > _KAFKA_NEWEST:
        return None
    return _KAFKA_KINDS.get(kind)


class Step(Enum):
    SASL_HEADER = "the SASL protocol header"
    SASL_INIT = "sasl-init"
    SASL_MECHANISMS = "sasl-mechanisms"
    SASL_OUTCOME = "sasl-outcome"
    AMQP_HEADER = "the AMQP protocol header"
    DONE = "frames"


class Handshake:
    """Takes bytes until AMQP frames may come."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._step = Step.SASL_HEADER
        self.is_open_sent = False

    @property
    def is_done(self) -> bool:
        return self._step is Step.DONE

    def start(self) -> None:
        self._connection.output.append(SASL_HEADER)

    def take(self, buffer: bytes, index: int, size: int) -> int:
        """Takes one header or frame; gives how many bytes it was, 0 when it is not whole yet."""
        if size - index < HEADER_SIZE:
            return 0
        if self._step in (Step.SASL_HEADER, Step.AMQP_HEADER):
            self._on_header(buffer[index : index + HEADER_SIZE])
            return HEADER_SIZE
        length = int.from_bytes(buffer[index : index + 4], "big")
        start = index + buffer[index + 4] * 4
        if not HEADER_SIZE <= length <= _MAX_SASL_FRAME or buffer[index + 5] != SASL_FRAME:
            raise FramingError(f"expected {self._step.value}, found no SASL frame")
        if not index + HEADER_SIZE <= start <= index + length:
            raise FramingError("a SASL frame has its body outside of it")
        if size - index < length:
            return 0
        self._on_frame(buffer[start : index + length])
        return length

    def _on_header(self, header: bytes) -> None:
        output = self._connection.output
        wanted = SASL_HEADER if self._step is Step.SASL_HEADER else AMQP_HEADER
        if header != wanted:
            if kind := kafka_kind(header):
                # No answer: a Kafka client would read it as the size of a response.
                raise FramingError(
                    f"this is the Kafka protocol ({kind}), and this port speaks AMQP 1.0: connect "
                    "with an Event Hubs SDK, or connect the Kafka client to a Kafka broker"
                )
            if not self._connection.initiator:
                output.append(wanted)
            raise FramingError(f"expected {self._step.value}, found {header!r}")
        if self._step is Step.AMQP_HEADER:
            if not self._connection.initiator:
                output.append(AMQP_HEADER)
            self._step = Step.DONE
        elif self._connection.initiator:
            self._step = Step.SASL_MECHANISMS
        else:
            output.append(SASL_HEADER + sasl.mechanisms_frame())
            self._step = Step.SASL_INIT

    def _on_frame(self, body: bytes) -> None:
        settings, output = self._connection.settings, self._connection.output
        if self._step is Step.SASL_INIT:
            init = sasl.read_init(body)
            known = init.mechanism in sasl.MECHANISMS
            if not known or not settings.accepts_sasl(init):
                output.append(sasl.outcome_frame(sasl.OUTCOME_AUTH))
                raise ProtocolError(f"SASL {init.mechanism[:40]!r} was refused")
            output.append(sasl.outcome_frame(sasl.OUTCOME_OK))
            self._step = Step.AMQP_HEADER
        elif self._step is Step.SASL_MECHANISMS:
            offered = sasl.read_mechanisms(body)
            if settings.sasl_mechanism not in offered:
                raise ProtocolError(f"the peer does not offer SASL {settings.sasl_mechanism}")
            output.append(
                sasl.init_frame(
                    settings.sasl_mechanism, settings.sasl_response, settings.hostname or ""
                )
            )
            self._step = Step.SASL_OUTCOME
        else:
            code = sasl.read_outcome(body)
            if code != sasl.OUTCOME_OK:
                raise ProtocolError(f"SASL {settings.sasl_mechanism} was refused with code {code}")
            output.append(AMQP_HEADER)
            self.send_open()
            self._step = Step.AMQP_HEADER

    def send_open(self) -> None:
        """Sends our Open, once."""
        if self.is_open_sent:
            return
        self.is_open_sent = True
        settings = self._connection.settings
        self._connection.send(
            0,
            Open(
                container_id=settings.container_id,
                hostname=settings.hostname,
                max_frame_size=settings.max_frame_size,
                channel_max=settings.channel_max,
                idle_time_out=settings.idle_time_out_ms,
            ),
        )
