"""The ledgers of many groups, and members that are only told of: what an operator is measured with.

It answers what the operator asks of Blob storage, as the service does: listings with metadata, the
roster under its ETag, leases that are broken under theirs. Members are as they would be: their
checkpoints and figures move on, a leaving one has handed over a moment later, a newcomer has its
share. Azurite would take a core and a half for the listings of 500 groups.

Rules: a listing says what stands at that moment, and a blob has another ETag and time when it says
something else. Nothing is refused but for a condition that does not hold. It runs on a loop and a
thread of its own.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.utils import formatdate
from typing import Any

from aiohttp import web

from operated_blobs import Blob, numbers
from tidegate.ledger import layout, members
from tidegate.model import BEGINNING, Figures, Owner, Position, Presence, Roster
from tidegate.model import LeaseState as Lease

CHECKPOINT_EVERY_S, FIGURES_EVERY_S = 5.0, 2.0
HAND_OVER_S = 0.3
_RATE = 10.0


@dataclass(slots=True)
class Life:
    """A member."""

    name: str
    pod_uid: str
    started_at: float
    is_dead: bool = False


@dataclass
class Group:
    """One group's ledger, which is empty until somebody asks for it: its prefix is known then."""

    partitions: int
    lives: dict[str, Life] = field(default_factory=dict)
    owners: dict[str, str] = field(default_factory=dict)
    blobs: dict[str, Blob] = field(default_factory=dict)
    roster: Roster | None = None
    prefix: str = ""
    # Nobody reads it, and nothing has come: each partition has the checkpoint of its beginning.
    sleeps: bool = False
    # When what was done by the operator: the roster as it was written, the leases broken.
    rosters: list[tuple[float, Roster]] = field(default_factory=list)
    broken: list[tuple[float, str]] = field(default_factory=list)

    def join(self, name: str, pod_uid: str, started_at: float) -> None:
        self.lives[name] = Life(name, pod_uid, started_at)
        self.share()

    def die(self, name: str) -> None:
        """Its process has ended; its leases have not."""
        self.lives[name].is_dead = True

    def forget(self, name: str) -> None:
        """Its leases have ended, and others have what it had."""
        if self.lives.pop(name, None) is not None:
            self.blobs.pop(f"member/{name}", None)
            self.share()

    def share(self) -> None:
        """Everybody who stays has an equal share, by as few moves as will do."""
        leaving = self.roster.leaving if self.roster is not None else ()
        there = [name for name in sorted(self.lives) if name not in leaving] or sorted(self.lives)
        there = [name for name in there if not self.lives[name].is_dead]
        if not there:
            return
        least, more = divmod(self.partitions, len(there))
        had = {name: [p for p, who in self.owners.items() if who == name] for name in there}
        room = sorted(there, key=lambda name: -len(had[name]))
        quota = {name: least + (at < more) for at, name in enumerate(room)}
        kept = {p: name for name in there for p in had[name][: quota[name]]}
        dead = {p: who for p, who in self.owners.items() if self._is_held_by_dead(who)}
        free = [p for p in map(str, range(self.partitions)) if p not in kept and p not in dead]
        for name in room:
            missing = quota[name] - sum(who == name for who in kept.values())
            for _ in range(min(max(missing, 0), len(free))):
                kept[free.pop()] = name
        self.owners = dead | kept

    def _is_held_by_dead(self, name: str) -> bool:
        return name in self.lives and self.lives[name].is_dead

    def listed(self, now: float) -> Iterator[bytes]:
        """Every blob as it stands."""
        if self.lives or self.sleeps:
            for partition in map(str, range(self.partitions)):
                yield self._owned(partition)
                yield self._checkpoint(partition, now)
            yield from self.said(now)
        if "roster" in self.blobs:
            yield self.blobs["roster"].text

    def said(self, now: float) -> Iterator[bytes]:
        """The members' blobs alone."""
        for life in self.lives.values():
            yield self._member(life, now)

    def blob(self, place: str, lease: Lease) -> Blob:
        found = self.blobs.get(place)
        if found is None:
            found = self.blobs[place] = Blob(self.prefix + place.lower(), {}, lease)
        return found

    def _owned(self, partition: str) -> bytes:
        blob = self.blob(f"ownership/{partition}", Lease.LEASED)
        name = self.owners.get(partition)
        owner = Owner(name, "1") if name is not None else None
        metadata = layout.ownership_metadata(owner, 1, "")
        if blob.metadata.get("ownerid") != metadata["ownerid"]:
            blob.lease = Lease.LEASED if owner is not None else Lease.AVAILABLE
            blob.write(metadata)
        return blob.text

    def _checkpoint(self, partition: str, now: float) -> bytes:
        blob = self.blob(f"checkpoint/{partition}", Lease.AVAILABLE)
        if not blob.written_at if self.sleeps else now - blob.written_at >= CHECKPOINT_EVERY_S:
            at = BEGINNING if self.sleeps else Position(str(handled(now)), handled(now))
            blob.write(layout.checkpoint_metadata(at, 1, f"1:{next(numbers)}", now, ""))
        return blob.text

    def _member(self, life: Life, now: float) -> bytes:
        blob = self.blob(f"member/{life.name}", Lease.LEASED)
        if now - blob.written_at >= FIGURES_EVERY_S and not life.is_dead:
            mine = [p for p, name in self.owners.items() if name == life.name]
            end = handled(now)
            figures = {p: Figures(end + 2, end, 0.2, _RATE, _RATE, 0.01) for p in mine}
            loads = dict.fromkeys(mine, 0.01)
            presence = Presence(
                life.name, "", Lease.LEASED, "1", loads=loads, figures=figures,
                pod_uid=life.pod_uid, started_at=life.started_at,
            )  # fmt: skip
            blob.write(members.presence_metadata(presence))
        return blob.text


def handled(now: float) -> int:
    """How far every partition is: events come and are handled all the time."""
    return int(now * _RATE) % 10**9


class Ledgers:
    """See the module. Groups are by their container's name. Made by `ledgers`."""

    def __init__(self, partitions: int) -> None:
        self.groups: dict[str, Group] = {}
        self.listings = 0
        self.port = 0
        self._partitions = partitions
        self._loop: asyncio.AbstractEventLoop | None = None

    def add(self, name: str) -> None:
        self.groups[name] = Group(self._partitions)

    def change(self, act: Callable[[], None], after_s: float = 0.0) -> None:
        """Does something to a group, on the server's own thread."""
        assert self._loop is not None
        self._loop.call_soon_threadsafe(lambda: self._later(after_s, act))

    def _later(self, after_s: float, act: Callable[[], None]) -> None:
        assert self._loop is not None
        self._loop.call_later(after_s, act)

    async def answer(self, request: web.Request) -> web.Response:
        _, _, container, *rest = request.path.split("/", 3)
        group, place = self.groups[container], rest[0] if rest else ""
        query = request.query
        if query.get("comp") == "list":
            return self._list(group, query["prefix"])
        blob = group.blobs.get(place.removeprefix(group.prefix))
        if request.method == "GET" and blob is not None:
            return blob.read(request.headers)
        if request.method != "PUT" or not place.startswith(group.prefix):
            return web.Response(status=404, headers={"x-ms-error-code": "BlobNotFound"})
        place = place[len(group.prefix) :]
        if not self._holds(request.headers, blob):
            return web.Response(status=412, headers={"x-ms-error-code": "ConditionNotMet"})
        if query.get("comp") == "lease":
            return self._break(group, place)
        return self._write_roster(group, request)

    def _list(self, group: Group, prefix: str) -> web.Response:
        self.listings += 1
        group.prefix, now = prefix.removesuffix("member/"), time.time()
        body = b"".join(group.listed(now) if group.prefix == prefix else group.said(now))
        text = b"<?xml version='1.0'?><EnumerationResults><Blobs>%b</Blobs><NextMarker/>%b"
        return web.Response(
            body=text % (body, b"</EnumerationResults>"), content_type="application/xml"
        )

    def _holds(self, headers: Any, blob: Blob | None) -> bool:
        if headers.get("If-None-Match") == "*":
            return blob is None
        return blob is not None and headers.get("If-Match", "").strip('"') == blob.etag

    def _break(self, group: Group, place: str) -> web.Response:
        blob, partition = group.blobs[place], place.rpartition("/")[2]
        blob.lease = Lease.BROKEN
        blob.render()
        group.broken.append((time.monotonic(), partition))
        group.owners.pop(partition, None)
        self._later(HAND_OVER_S, group.share)
        return web.Response(status=202, headers={"x-ms-lease-time": "0"})

    def _write_roster(self, group: Group, request: web.Request) -> web.Response:
        found = {
            key[len("x-ms-meta-") :].lower(): value
            for key, value in request.headers.items()
            if key.lower().startswith("x-ms-meta-")
        }
        blob = group.blob("roster", Lease.AVAILABLE)
        blob.write(found)
        group.roster = members.read_roster(blob.etag, blob.written_at, found)
        group.rosters.append((time.monotonic(), group.roster))
        self._later(HAND_OVER_S, group.share)
        headers = {"ETag": f'"{blob.etag}"', "Last-Modified": formatdate(usegmt=True)}
        return web.Response(status=201, headers=headers)


@contextmanager
def ledgers(partitions: int) -> Iterator[Ledgers]:
    """A server that runs until the block ends."""
    found, ready, ended = Ledgers(partitions), Future[asyncio.Event](), Future[None]()

    async def serve() -> None:
        found._loop, stop = asyncio.get_running_loop(), asyncio.Event()
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", found.answer)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        found.port = runner.addresses[0][1]
        ready.set_result(stop)
        await stop.wait()
        await runner.cleanup()

    def run() -> None:
        try:
            asyncio.run(serve())
            ended.set_result(None)
        except BaseException as problem:
            ended.set_exception(problem)
            if not ready.done():
                ready.set_exception(problem)

    threading.Thread(target=run, name="ledgers", daemon=True).start()
    stop = ready.result(30)
    try:
        yield found
    finally:
        found.change(stop.set)
        ended.result(30)
