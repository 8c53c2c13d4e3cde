"""AMQP 1.0 without I/O: bytes <-> values, and connections, sessions, links and credit.

Both ends of Tidegate's wire use it: the embedded hub and the native reader. `Connection` takes the
bytes that arrived and gives events; what is to be sent collects in it. See connection.py.
"""

from .composites import Accepted, Error, Modified, Rejected, Released, Source, Target
from .connection import Connection
from .errors import AmqpError, DecodeError, FramingError, MisuseError, ProtocolError
from .link import Link
from .receiver import ReceiverLink
from .sender import SenderLink
from .session import Session
from .settings import ConnectionSettings
from .types import Described, Opaque, Raw, Symbol

__all__ = [
    "Accepted",
    "AmqpError",
    "Connection",
    "ConnectionSettings",
    "DecodeError",
    "Described",
    "Error",
    "FramingError",
    "Link",
    "MisuseError",
    "Modified",
    "Opaque",
    "ProtocolError",
    "Raw",
    "ReceiverLink",
    "Rejected",
    "Released",
    "SenderLink",
    "Session",
    "Source",
    "Symbol",
    "Target",
]
