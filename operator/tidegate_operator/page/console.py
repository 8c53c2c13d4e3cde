"""What the open pages of the console hear: groups as they change, each page what it may see.

Rules:
- The source is `Groups`: the ConsumerGroups as they are now, which the operator's watches keep, and
  `tidegate up`. Nothing is asked for because a page is open.
- A document that changes is another object; so what is new is found by looking, twice a second,
  and history goes on while nobody looks.
- Who looks, and with what rights, is asked again while a page is open: whose token was taken back,
  who logged out, and who has lost the rights hear nothing more.
- What cannot be shown ends nothing: it is logged, and the pages that may have missed it are closed
  and begin anew, so that none says that it is live and is not.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

from tidegate.ops.streams import Mailbox, event_text
from tidegate_operator.kinds import Document
from tidegate_operator.kube_errors import KubeError
from tidegate_operator.model import GroupKey
from tidegate_operator.page.admission import Admission, NotAdmitted, Viewer
from tidegate_operator.page.shown import detail_of, row_of
from tidegate_operator.page.track import Track

_log = logging.getLogger("tidegate.console")

LOOK_S = 0.5
RIGHTS_EVERY_S = 60.0
PAGES_MOST = 500


class Groups(Protocol):
    """The ConsumerGroups as they are now: cache.Cache."""

    def documents(self) -> Iterable[tuple[GroupKey, Document]]: ...


AskAgain = Callable[[], Awaitable[Viewer | None]]


class TooManyPages(Exception):
    """No more pages can be open at once."""


@dataclass(eq=False)
class OpenPage:
    """A page: of one group, or of all of them."""

    viewer: Viewer
    key: GroupKey | None
    # Who looks by now. Raises NotAdmitted, KubeError.
    ask_again: AskAgain
    mailbox: Mailbox = field(default_factory=Mailbox)
    # Which namespaces the viewer may see; what is not here has not been asked yet.
    rights: dict[str, bool] = field(default_factory=dict)

    def put(self, name: str, key: object, data: Any) -> None:
        self.mailbox.put((name, key), event_text(name, data))

    def hears(self, key: GroupKey) -> bool:
        return self.rights.get(key.namespace, False) and self.key in (None, key)


class Console:
    """See the module. `wall` is the time that is shown; `is_led` says whether an operator leads, so
    that the groups are as they are shown."""

    def __init__(
        self,
        groups: Groups,
        admission: Admission,
        wall: Callable[[], float],
        is_led: Callable[[], bool],
    ) -> None:
        self.admission = admission
        self._groups = groups
        self._wall = wall
        self._known: dict[GroupKey, Document] = {}
        self._tracks: dict[GroupKey, Track] = {}
        self._pages: set[OpenPage] = set()
        self._is_led = is_led
        self._unled_since: float | None = None

    @property
    def pages(self) -> int:
        return len(self._pages)

    async def run(self) -> None:
        """Until it is cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._look_on(), name="looking")
            tasks.create_task(self._review_on(), name="rights")

    async def open(self, viewer: Viewer, key: GroupKey | None, ask_again: AskAgain) -> OpenPage:
        """A page is opened. Raises TooManyPages, KubeError."""
        if len(self._pages) >= PAGES_MOST:
            raise TooManyPages
        self.look()
        page = OpenPage(viewer, key, ask_again)
        page.rights = await self._rights(page)
        self._pages.add(page)
        self._begin(page)
        return page

    def close(self, page: OpenPage) -> None:
        self._pages.discard(page)

    def close_all(self) -> None:
        """Every page is to come back later."""
        for page in self._pages:
            page.mailbox.close()

    def shows(self, page: OpenPage) -> bool:
        """Whether the page's group is there, and may be seen."""
        return page.key is None or (page.key in self._known and page.hears(page.key))

    def beat(self) -> bytes:
        return event_text("beat", self._beat())

    def _beat(self) -> Document:
        return {"now": round(self._wall(), 3), "unledSince": self._unled_since}

    # --- groups

    async def _look_on(self) -> None:
        while True:
            try:
                self.look()
            except Exception:
                _log.exception("what is new could not be shown; the pages begin anew")
                self.close_all()
            await asyncio.sleep(LOOK_S)

    def look(self) -> None:
        """Tells the pages what has changed since the last look."""
        now = self._wall()
        self._look_for_a_leader(now)
        there = dict(self._groups.documents())
        for key in self._known.keys() - there.keys():
            del self._known[key], self._tracks[key]
            for page in self._pages:
                if page.hears(key):
                    page.put("gone", key, {"namespace": key.namespace, "name": key.name})
        for key, document in there.items():
            if self._known.get(key) is not document:
                self._known[key] = document
                self._tell(key, document, now)

    def _look_for_a_leader(self, now: float) -> None:
        is_led = self._is_led()
        if is_led is (self._unled_since is None):
            return
        self._unled_since = None if is_led else round(now, 3)
        for page in self._pages:
            page.put("beat", None, self._beat())

    def _tell(self, key: GroupKey, document: Document, now: float) -> None:
        sample, moves = self._tracks.setdefault(key, Track()).hear(document, now)
        for page in self._pages:
            if not page.hears(key):
                continue
            if page.key is None:
                page.put("row", key, row_of(document))
                continue
            page.put("group", key, detail_of(document))
            if sample is not None:
                page.put("sample", now, sample)
            for move in moves:
                page.put("move", (now, move["partition"]), move)

    def _begin(self, page: OpenPage) -> None:
        """All that is known: what a page begins with, and after its rights have changed."""
        seen = [(key, each) for key, each in sorted(self._known.items()) if page.hears(key)]
        if page.key is None:
            page.put("rows", None, [row_of(document) for _, document in seen])
            return
        for key, document in seen:
            track = self._tracks[key]
            page.put("track", key, {"samples": track.samples(), "moves": list(track.moves)})
            page.put("group", key, detail_of(document))

    # --- rights

    async def _review_on(self) -> None:
        loop = asyncio.get_running_loop()
        reviewed_at = loop.time()
        while True:
            await asyncio.sleep(LOOK_S)
            is_due = loop.time() - reviewed_at >= RIGHTS_EVERY_S
            reviewed_at = loop.time() if is_due else reviewed_at
            namespaces = {key.namespace for key in self._known}
            for page in list(self._pages):
                if is_due or (page.key is None and not namespaces <= page.rights.keys()):
                    await self._review(page, is_due=is_due)

    async def _review(self, page: OpenPage, *, is_due: bool) -> None:
        """Looks at a page's rights again; one that has lost its own is closed, and logs in anew."""
        try:
            viewer = await page.ask_again() if is_due else page.viewer
            if viewer is None:
                page.mailbox.close()
                return
            page.viewer = viewer
            rights = await self._rights(page)
        except NotAdmitted:
            page.mailbox.close()
            return
        except KubeError as problem:
            # Nobody can be asked: what was allowed a minute ago is allowed until somebody can.
            _log.warning("%s", problem)
            return
        except Exception:
            _log.exception("it could not be asked what a page may see; the page begins anew")
            page.mailbox.close()
            return
        if rights != page.rights:
            page.rights = rights
            self._begin(page)
        if not self.shows(page):
            page.mailbox.close()

    async def _rights(self, page: OpenPage) -> dict[str, bool]:
        every = {key.namespace for key in self._known}
        wanted = every if page.key is None else {page.key.namespace}
        return {each: await self.admission.may_see(page.viewer, each) for each in sorted(wanted)}
