"""Whether a member may read: not if its group reads the same source under another host.

The names of a ledger begin with the host of the source. A namespace has several: with and without
a cluster's suffix, an alias, a private link. Under each a group would start over, and old and new
members would take partitions from each other. So the first member records what the source calls
itself, and a member that reaches the same source by another host is refused.

Rules: it is asked before anything is read, and once; again where the records were deleted while
members run; then the running members are right. A written `ledger.host` is the user's decision.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable

from tidegate.model import SourceRecord
from tidegate.ports import Ledger, RecordSource
from tidegate.settings import SettingsError


class SourceRenamedError(SettingsError):
    """The source is known to the group under another host."""

    reason = "SourceRenamed"


class Admission:
    """See the module. `identity` asks the source what it is; `place` names it for people."""

    def __init__(
        self, identity: Callable[[], Awaitable[str]], place: str, host: str, *, is_told: bool
    ) -> None:
        self._identity = identity
        self._place = place
        self._host = host.lower()
        # A person has written the host of the ledger.
        self._takes_over = is_told
        self._is_done = False

    def again(self) -> None:
        """The records may be gone: they are written again by who runs."""
        self._takes_over = self._takes_over or self._is_done
        self._is_done = False

    async def check(self, ledger: Ledger) -> None:
        """Raises SourceRenamedError, LedgerError and SourceError."""
        if self._is_done:
            return
        identity = await self._identity()
        if not identity:
            # There is nothing to compare.
            self._is_done = True
            return
        found = await ledger.perform(RecordSource(identity, self._takes_over))
        assert isinstance(found, tuple)
        other = earlier_host(found, self._host, identity)
        if other is not None and not self._takes_over:
            raise SourceRenamedError(
                f"{self._place} is reached as '{self._host}' now, and this group reads the same "
                f"source ({identity}) as '{other}': its checkpoints are under that name, and its "
                f"members may still run. Write spec.ledger.host: {other} to continue from these "
                f"checkpoints, or spec.ledger.host: {self._host} to start over."
            )
        self._is_done = True


def earlier_host(records: Iterable[SourceRecord], host: str, identity: str) -> str | None:
    """The other host that recorded the same source first; None if this one may continue."""
    same = [each for each in records if each.identity == identity]
    first = min(same, key=lambda each: each.rank, default=None)
    return None if first is None or first.host == host else first.host
