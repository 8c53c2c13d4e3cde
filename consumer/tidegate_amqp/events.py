"""What a connection tells its owner, in the order in which it happened.

Links and sessions in an event are live objects: answer by calling their methods.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from .composites import Error
from .errors import AmqpError
from .performatives import Attach, Open

if TYPE_CHECKING:
    from .link import Link
    from .receiver import ReceiverLink
    from .sender import SenderLink
    from .session import Session


class ConnectionOpened(NamedTuple):
    """The peer's Open is here; ours was sent."""

    open: Open


class SessionBegun(NamedTuple):
    """A session may be used: the peer began it, or answered our Begin."""

    session: Session


class LinkAttached(NamedTuple):
    """The peer attached a link that waits for `accept` or `refuse`, or answered our attach."""

    link: Link
    attach: Attach


class CreditChanged(NamedTuple):
    """A link of ours may send more, or is asked to use up its credit (`drain`)."""

    link: SenderLink


class WindowOpened(NamedTuple):
    """A session whose window was used up takes transfers again."""

    session: Session


class Delivery(NamedTuple):
    """A whole message. `size` tells how large it was; over the limit the payload is not kept."""

    link: ReceiverLink
    delivery_id: int
    message_format: int
    settled: bool
    payload: bytes
    size: int


class Run(NamedTuple):
    """Whole settled messages of a link that takes runs, in order."""

    link: ReceiverLink
    payloads: list[bytes]


class Outcome(NamedTuple):
    """What the peer made of the deliveries from `first` to `last` that we sent."""

    session: Session
    first: int
    last: int
    settled: bool
    state: Any


class LinkDetached(NamedTuple):
    """The peer detached a link, or it ended with its session."""

    link: Link
    error: Error | None


class SessionEnded(NamedTuple):
    """The peer ended a session; LinkDetached came before for each of its links."""

    session: Session
    error: Error | None


class ConnectionClosed(NamedTuple):
    """The peer closed the connection. Write what is left to write, then close the transport."""

    error: Error | None


class ConnectionFailed(NamedTuple):
    """The peer broke the protocol. It has been told; nothing it sends is read any more."""

    error: AmqpError


Event = (
    ConnectionOpened
    | SessionBegun
    | LinkAttached
    | CreditChanged
    | WindowOpened
    | Delivery
    | Run
    | Outcome
    | LinkDetached
    | SessionEnded
    | ConnectionClosed
    | ConnectionFailed
)
