"""Every error this package can give, each with the AMQP condition that a peer would be told.

Rules: bytes from a peer only ever cause a subclass of AmqpError. MisuseError is for our own
callers; it means a bug on this side and is never sent to the peer.
"""

from __future__ import annotations


class AmqpError(Exception):
    """Something a peer did wrong. `condition` is the AMQP symbol that names it on the wire."""

    condition = "amqp:internal-error"

    @property
    def description(self) -> str:
        return str(self)


class DecodeError(AmqpError):
    """Bytes that are not an AMQP value, section or performative."""

    condition = "amqp:decode-error"


class FramingError(AmqpError):
    """Bytes that are not an AMQP frame, or one larger than was agreed."""

    condition = "amqp:connection:framing-error"


class ProtocolError(AmqpError):
    """A well-formed frame that is not allowed now."""

    condition = "amqp:illegal-state"


class UnattachedHandleError(AmqpError):
    """A frame for a link that does not exist."""

    condition = "amqp:session:unattached-handle"


class HandleInUseError(AmqpError):
    """An attach for a handle that another link of the session holds."""

    condition = "amqp:session:handle-in-use"


class LimitError(AmqpError):
    """More channels, links or transfers than were offered."""

    condition = "amqp:resource-limit-exceeded"


class WindowViolationError(AmqpError):
    """More transfers than the incoming window of the session allows."""

    condition = "amqp:session:window-violation"


class MisuseError(Exception):
    """This side called something that the state of the connection does not allow."""
