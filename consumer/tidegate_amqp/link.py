"""What the two kinds of link share: attach, accept, refuse, detach.

Rules:
- After a detach was sent, what the peer still sends on the link is ignored until its own comes.
- A detach is never sent before an attach.
- What is asked of a link that is gone does nothing: by the time that its owner reads an event, the
  peer may have sent a detach, an end or a close. The kinds are in sender.py and receiver.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any

from .composites import Error
from .errors import MisuseError
from .performatives import ROLE_SENDER, Attach, Detach

if TYPE_CHECKING:
    from .session import Session


class LinkState(Enum):
    ATTACHING = "attaching"
    ATTACHED = "attached"
    DETACHING = "detaching"
    DETACHED = "detached"


class Link:
    """What both kinds share: the attach and detach of one end."""

    role = ROLE_SENDER

    def __init__(self, session: Session, name: str, handle: int) -> None:
        self.session = session
        self.name = name
        self.handle = handle
        self.remote_handle: int | None = None
        self.state = LinkState.ATTACHING
        self.is_attach_sent = False
        self.delivery_count = 0
        self.credit = 0
        # Free for the owner of the connection: what this link means to it.
        self.context: Any = None

    @property
    def is_attached(self) -> bool:
        return self.state is LinkState.ATTACHED

    @property
    def is_gone(self) -> bool:
        """Whether either end has given the link up, or the session or connection that held it."""
        over = self.state in (LinkState.DETACHING, LinkState.DETACHED)
        return over or not self.session.is_live

    def flow_fields(self) -> dict[str, int]:
        """How this end sees the credit of the link, as fields of a flow."""
        return {
            "handle": self.handle,
            "delivery_count": self.delivery_count,
            "link_credit": self.credit,
        }

    def accept(
        self,
        request: Attach,
        *,
        max_message_size: int | None = None,
        properties: Mapping[Any, Any] | None = None,
        offered_capabilities: Sequence[str] | None = None,
        snd_settle_mode: int | None = None,
        rcv_settle_mode: int | None = None,
    ) -> None:
        """Answers the peer's attach; source and target are given back as they were asked for."""
        if self.is_gone:
            return
        self.expect(LinkState.ATTACHING)
        asked = request.snd_settle_mode, request.rcv_settle_mode
        reply = Attach(
            name=self.name,
            handle=self.handle,
            role=self.role,
            snd_settle_mode=asked[0] if snd_settle_mode is None else snd_settle_mode,
            rcv_settle_mode=asked[1] if rcv_settle_mode is None else rcv_settle_mode,
            source=request.source,
            target=request.target,
            initial_delivery_count=0 if self.role == ROLE_SENDER else None,
            max_message_size=max_message_size,
            offered_capabilities=list(offered_capabilities) if offered_capabilities else None,
            properties=dict(properties) if properties else None,
        )
        self.send_attach(reply)
        self.state = LinkState.ATTACHED

    def refuse(self, error: Error) -> None:
        """Answers the peer's attach with one that has no ends, and detaches with the error."""
        if self.is_gone:
            return
        self.expect(LinkState.ATTACHING)
        self.detach(error)

    def send_attach(self, attach: Attach) -> None:
        self.session.send(attach)
        self.is_attach_sent = True

    def send_empty_attach(self) -> None:
        """Answers an attach of the peer with one that has no ends; a detach comes next."""
        reply = Attach(
            name=self.name,
            handle=self.handle,
            role=self.role,
            snd_settle_mode=None,
            rcv_settle_mode=None,
            initial_delivery_count=0 if self.role == ROLE_SENDER else None,
            max_message_size=0,
        )
        self.send_attach(reply)

    def detach(self, error: Error | None = None) -> None:
        """Ends the link from this side, for good."""
        if self.is_gone:
            return
        if not self.is_attach_sent:
            self.send_empty_attach()
        self.session.drop_waiting(self.handle)
        self.session.flush_settled()
        self.session.send(Detach(self.handle, closed=True, error=error))
        self.state = LinkState.DETACHING
        self.credit = 0
        self.release()
        self.session.connection.runs.forget()

    def release(self) -> None:
        """Release what the link keeps of an unfinished delivery."""

    def expect(self, state: LinkState) -> None:
        if self.state is not state:
            raise MisuseError(f"link {self.name!r} is {self.state.value}, not {state.value}")
