"""A container of a storage service on loopback: it lists the blobs below a prefix, and keeps count.

Rules: blobs are put in by the test, as their writers would have written them; what is sent to be
written is refused as out of date. It checks nobody's signature.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from email.utils import formatdate
from xml.sax.saxutils import escape

from aiohttp import web

from tidegate.ledger import layout, members
from tidegate.ledger.layout import GroupNames, Kind, Place
from tidegate.model import Owner, Position, Presence, Roster

_PAGE = (
    '<?xml version="1.0" encoding="utf-8"?><EnumerationResults><Blobs>{blobs}</Blobs>'
    "<NextMarker/></EnumerationResults>"
)


@dataclass
class SmallStorage:
    """See the module."""

    names: GroupNames
    blobs: dict[str, str] = field(default_factory=dict)
    # What listings were asked for, each by what its blobs' names begin with.
    asked: list[str] = field(default_factory=list)
    server_time: float = 2_000_000.0
    port: int = 0
    # The status that every request is answered with; 0: none.
    refuses: int = 0
    # For how long it asks to be left alone then, as a date; 0: it does not.
    asks_s: float = 0.0
    writes: int = 0

    @property
    def connection_string(self) -> str:
        return (
            "DefaultEndpointsProtocol=http;AccountName=a;AccountKey=aGVsbG8=;"
            f"BlobEndpoint=http://127.0.0.1:{self.port}/a"
        )

    def put(self, place: Place, metadata: Mapping[str, str], lease: str = "leased") -> None:
        """The blob is there, with this metadata and in this state of its lease."""
        self.writes += 1
        told = "".join(f"<{key}>{escape(value)}</{key}>" for key, value in metadata.items())
        name, at = self.names.of(place), formatdate(self.server_time, usegmt=True)
        self.blobs[name] = (
            f"<Blob><Name>{name}</Name><Properties><Last-Modified>{at}</Last-Modified>"
            f"<Etag>e{self.writes}</Etag><LeaseState>{lease}</LeaseState></Properties>"
            f"<Metadata>{told}</Metadata></Blob>"
        )

    def own(self, partition: str, owner: Owner | None, lease: str = "leased") -> None:
        metadata = layout.ownership_metadata(owner, 3, "n")
        self.put(Place(Kind.OWNERSHIP, partition), metadata, lease)

    def join(self, presence: Presence, lease: str = "leased") -> None:
        metadata = members.presence_metadata(presence)
        self.put(Place(Kind.MEMBER, presence.name), metadata, lease)

    def check(self, partition: str, sequence: int) -> None:
        """A checkpoint of the partition."""
        position = Position(str(sequence), sequence)
        metadata = layout.checkpoint_metadata(position, 3, "n", None, "")
        self.put(Place(Kind.CHECKPOINT, partition), metadata, "available")

    def write_roster(self, roster: Roster) -> None:
        self.put(Place(Kind.ROSTER), members.roster_metadata(roster), "available")

    def delete(self, place: Place) -> None:
        del self.blobs[self.names.of(place)]

    async def answer(self, request: web.Request) -> web.Response:
        if request.method == "GET":
            self.asked.append(request.query["prefix"].removeprefix(self.names.prefix))
        if self.refuses:
            told = {"Date": formatdate(self.server_time, usegmt=True)}
            if self.asks_s:
                told["Retry-After"] = formatdate(self.server_time + self.asks_s, usegmt=True)
            return web.Response(status=self.refuses, headers=told)
        if request.method != "GET":
            return web.Response(status=412, headers={"x-ms-error-code": "ConditionNotMet"})
        prefix = request.query["prefix"]
        found = [text for name, text in sorted(self.blobs.items()) if name.startswith(prefix)]
        return web.Response(
            text=_PAGE.format(blobs="".join(found)),
            content_type="application/xml",
            headers={"Date": formatdate(self.server_time, usegmt=True)},
        )


@asynccontextmanager
async def small_storage(names: GroupNames) -> AsyncIterator[SmallStorage]:
    """One that listens while the block lasts."""
    kept = SmallStorage(names)
    served = web.Application()
    served.router.add_route("*", "/{path:.*}", kept.answer)
    runner = web.AppRunner(served)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        kept.port = runner.addresses[0][1]
        yield kept
    finally:
        await runner.cleanup()
