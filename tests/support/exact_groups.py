"""Two groups of `tidegate run` on one hub: one counts in windows, with its state; one keeps none.

    with exact_groups(hub, azurite, folder, hub_name, partitions=16, members=4, budget=900) as it:
        with groups.sending(0, 300_000, 300):
            groups.strike(kills(7, ...))
        groups.wait_until_handled(300_000, 120)
        groups.wrong_totals(300_000)

Rules: the hub is there already, with the consumer group PLAIN; everything else is made here. What
the totals must be is known from the events alone (numbered_events.py).
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from azure.storage.blob import BlobServiceClient, ContainerClient

from support import numbered_events
from support.command_group import CommandGroup, HubPlace, a_command_group
from support.handled_log import HandledLog
from support.killed_group import Kill, KilledMembers
from support.wait import WaitedTooLong, wait_until

PLAIN = "plain"
_HERE = Path(__file__).parent
_TO_SETTLE = 100  # events
_SENDER = _HERE / "numbered_sender.py"


class ExactGroups:
    """See the module. Made by `exact_groups`."""

    def __init__(
        self,
        windows: CommandGroup,
        plain: CommandGroup,
        storage: str,
        events: str,
        members: int,
    ) -> None:
        self.windows = KilledMembers(windows, members)
        self.plain = KilledMembers(plain, members)
        self.windows_log = HandledLog(windows.folder / "seen.log")
        self.plain_log = HandledLog(plain.folder / "seen.log")
        self.partitions = plain.partitions
        self._events = events
        self._totals = ContainerClient.from_connection_string(storage, f"{windows.name}-totals")

    def close(self) -> None:
        self._totals.close()

    @property
    def both(self) -> tuple[KilledMembers, KilledMembers]:
        return self.windows, self.plain

    @property
    def logs(self) -> tuple[HandledLog, HandledLog]:
        return self.windows_log, self.plain_log

    # --- what is done to them

    def start(self) -> None:
        for members in self.both:
            members.start()

    def stop(self) -> None:
        for members in self.both:
            members.stop()

    def strike(self, planned: Iterable[Kill]) -> None:
        """Kills one member after another, each at its time from now."""
        begun = time.monotonic()
        for kill in planned:
            # Not a wait for anything: that nobody is ready for it is what makes it a kill.
            time.sleep(max(0.0, begun + kill.at_s - time.monotonic()))
            self.both[kill.group].kill(kill.member, is_in_place=kill.is_in_place)

    @contextlib.contextmanager
    def sending(self, first: int, end: int, seconds: float) -> Iterator[None]:
        """Events `first` to `end` go to every partition meanwhile; all are sent at its end."""
        numbers = (self.partitions, first, end, seconds)
        command = [sys.executable, str(_SENDER), self._events, self.plain.group.hub_name]
        sender = subprocess.Popen(
            [*command, *map(str, numbers)], env={**os.environ, "PYTHONPATH": str(_HERE.parent)}
        )
        try:
            yield
            code = sender.wait(2 * seconds + 300)
        finally:
            sender.kill()
            sender.wait(30)
        if code != 0:
            raise ChildProcessError(f"the sender ended with {code}")

    # --- what came of it

    def wait_until_each_reads(self, seconds: float) -> None:
        """Waits until every member reads."""
        wait_until(
            lambda: all(members.each_reads() for members in self.both),
            seconds,
            "every member to read",
            self.standing,
        )

    def wait_until_handled(self, events: int, seconds: float) -> None:
        """Waits until both groups have handled so many events of every partition."""
        wait_until(
            lambda: all(log.is_handled(self.partitions, events) for log in self.logs),
            seconds,
            f"{events} events of each partition to be handled",
            self.standing,
        )

    def settle(self, sent: int, seconds: float) -> int:
        """Waits until every partition is read by a member that lives; gives how many are sent now.

        Who was killed may have handled everything: what its successors repeat comes only when its
        leases have ended. They are there when they have handled what is sent after the last kill.
        """
        end = sent + _TO_SETTLE
        with self.sending(sent, end, 1.0):
            self.wait_until_each_reads(seconds)
        self.wait_until_handled(end, seconds)
        return end

    def restart_each(self, groups: Sequence[KilledMembers], seconds: float) -> None:
        """A rolling restart of each group: its next begins when the one before reads again."""
        for number in range(max(len(members.names) for members in groups)):
            for members in groups:
                members.restart(number)
            wait_until(
                lambda: all(members.each_reads() for members in groups),
                seconds,
                "all to read again",
                self.standing,
            )

    def wrong_totals(self, events: int, seconds: float) -> int:
        """How many windows are not as they must be after so many events of each partition.

        A window that is open is written every second or two: so they are looked at for a while.
        """
        wanted = {
            f"{number}/{name}": totals
            for name, totals in numbered_events.truth(events).items()
            for number in range(self.partitions)
        }
        right: set[str] = set()

        def all_are_right() -> bool:
            right.update(name for name in wanted.keys() - right if self._read(name) == wanted[name])
            return wanted.keys() == right

        with contextlib.suppress(WaitedTooLong):
            wait_until(all_are_right, seconds, "all totals to be right")
        # Once more, all at once: none was written over by anything else meanwhile.
        there = {name: self._read(name) for name in self._totals.list_blob_names()}
        wrong = [
            name for name in wanted.keys() | there.keys() if there.get(name) != wanted.get(name)
        ]
        return len(wrong)

    def _read(self, name: str) -> object:
        if not self._totals.get_blob_client(name).exists():
            return None
        return json.loads(self._totals.download_blob(name).readall())

    def standing(self) -> str:
        """How far each group has come and what its processes said, for messages."""
        outputs = {
            f"{members.group.folder.name}/{name}": members.group.output(name)[-1500:]
            for members in self.both
            for name in members.names
        }
        return f"{[log.standing() for log in self.logs]} {outputs}"


@contextlib.contextmanager
def exact_groups(
    hub: HubPlace,
    azurite: str,
    folder: Path,
    hub_name: str,
    *,
    partitions: int,
    members: int,
    budget: int,
) -> Iterator[ExactGroups]:
    """Both groups, without members yet. `budget` is the duplicates that the plain one allows."""

    def group(name: str, delivery: str, consumer_group: str) -> CommandGroup:
        (folder / name).mkdir()
        made = a_command_group(
            hub,
            azurite,
            folder / name,
            (_HERE / f"{name}_handler.py").read_text(encoding="utf-8"),
            partitions=partitions,
            delivery=delivery,
            source=f"consumerGroup: {consumer_group}",
            hub_name=hub_name,
        )
        return stack.enter_context(made)

    with contextlib.ExitStack() as stack:
        windows = group("windows", "{}", "$Default")
        plain = group("plain", f"{{checkpoint: {{duplicateBudget: {budget}}}}}", PLAIN)
        beside = _HERE / "numbered_events.py"
        (windows.folder / beside.name).write_text(beside.read_text("utf-8"), encoding="utf-8")
        with BlobServiceClient.from_connection_string(azurite) as service:
            service.create_container(f"{windows.name}-totals")
        groups = ExactGroups(windows, plain, azurite, hub.connection_string, members)
        stack.callback(groups.close)
        yield groups
