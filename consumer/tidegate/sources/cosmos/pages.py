"""Pages of a container's feed and its ranges, by the official SDK: the only module that calls it.

Rules:
- Every call has a time limit; what it ends with is a FeedError, whatever the SDK raises: errors of
  its own code are logged and asked again. The SDK does not wait for a throttled container by
  itself: who asks knows better whether to wait.
- A request that is refused although the same range is read from now on is refused for its position.
- What each answer cost is counted, also where it was an error and the SDK asked again by itself.
  Not heard of are answers that never came, and what the SDK asks for on its own while it recovers:
  the container, where that was made again, and the ranges, after a split.
- One client for all partitions, made at the first call. It is made again after an error at that,
  and where the container was deleted and made again: what the SDK keeps of the one that was, its
  ranges and its session, would be taken for this one's.
- The container's own id is looked up again after a refusal, and at an answer that seems to be of
  another one. A page is asked for and taken for the container that its place is of, and no other.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from azure.core.exceptions import AzureError
from azure.cosmos.aio import ContainerProxy, CosmosClient
from azure.cosmos.exceptions import CosmosHttpResponseError

from tidegate.ports import SourceError
from tidegate.sources.cosmos.change import Change, ChangeError, change_of
from tidegate.sources.cosmos.places import Feed
from tidegate.sources.cosmos.ranges import FeedRange, range_of_wire
from tidegate.sources.cosmos.refusals import Trouble, behind, lost, made_anew, trouble_of
from tidegate.sources.cosmos.settings import FeedSettings
from tidegate.sources.cosmos.tokens import (
    Answer,
    AnswerError,
    answer_of,
    charge_of,
    owner_of,
    question,
    question_for_now,
)

_log = logging.getLogger("tidegate.source")

# Statuses of a request that may be refused for a container that is no more.
_DOUBTFUL = (400, 404)

T = TypeVar("T")


class FeedError(SourceError):
    """A call that failed; `trouble` says whether it may pass."""

    def __init__(self, trouble: Trouble) -> None:
        super().__init__(trouble.message, is_fatal=trouble.is_fatal)
        self.trouble = trouble


@dataclass(frozen=True, slots=True)
class Page:
    """What came of one request."""

    changes: Sequence[Change]
    answer: Answer


class _Heard:
    """Takes the headers of each page. The SDK writes its own token into the last of them."""

    def __init__(self) -> None:
        self.headers: Mapping[str, Any] = {}

    def __call__(self, headers: Mapping[str, Any], _body: Any) -> None:
        # A copy would miss what the SDK adds after this.
        self.headers = headers


class Pages:
    """See the module. `spend` is told the cost of each call."""

    def __init__(
        self,
        settings: FeedSettings,
        new_client: Callable[[], CosmosClient],
        spend: Callable[[float], None],
    ) -> None:
        self._settings = settings
        self._new_client = new_client
        self._spend = spend
        self._client: CosmosClient | None = None
        self._container: ContainerProxy | None = None
        self._rid = ""
        # Those of containers that are no more: requests of theirs may still be on their way.
        self._left: list[CosmosClient] = []
        self._opening = asyncio.Lock()
        self._is_doubtful = False
        self._looks = 0
        # The ranges as they were told last.
        self.known: tuple[FeedRange, ...] = ()

    async def rid(self, *, anew: bool = False) -> str:
        """The container's own id; anew, as the service says it now. Raises FeedError."""
        await self._opened(anew=anew)
        return self._rid

    async def ranges(self) -> tuple[FeedRange, ...]:
        """The ranges that the service has now. Raises FeedError."""
        return await self._ranges(await self._opened())

    async def page(self, feed: Feed, rid: str, count: int | None = None) -> Page:
        """What comes next in a feed of the container of this id; no items where there is nothing.

        Raises FeedError.
        """
        mode = self._settings.mode.wire
        try:
            asked = question(feed, rid, mode)
            page = await self._page(feed.range, rid, asked, count or self._settings.page_items)
            self._check_lsn(feed, page)
            return page
        except FeedError as error:
            if feed.token is None or not error.trouble.is_of_request:
                raise
            await self.now(feed.range, rid)
            found = lost(self._settings.place, feed.range.id, error.trouble.said)
            raise FeedError(found) from error

    async def now(self, range: FeedRange, rid: str) -> Answer:
        """Where a range of the container of this id ends now. Raises FeedError."""
        asked = question_for_now(range, self._settings.mode.wire)
        return (await self._page(range, rid, asked, 1)).answer

    async def close(self) -> None:
        clients = [*self._left, *([self._client] if self._client is not None else [])]
        self._left, self._client, self._container = [], None, None
        for client in clients:
            await client.close()

    # --- calls

    async def _page(self, range: FeedRange, rid: str, asked: dict[str, Any], count: int) -> Page:
        container = await self._opened()
        self._check(range, rid)

        async def ask() -> Page:
            heard = _Heard()
            pages = container.query_items_change_feed(
                max_item_count=count, response_hook=heard, raw_response_hook=self._hear, **asked
            ).by_page()
            changes: list[Change] = []
            async for page in pages:
                changes = [change_of(item, self._settings.mode) async for item in page]
                break
            return Page(changes, answer_of(heard.headers))

        page = await self._asked(ask)
        owner = owner_of(page.changes)
        if (owner or page.answer.rid or rid) != rid:
            await self._opened(anew=True)
            self._check(range, rid)
            if owner:
                raise FeedError(
                    Trouble(f"{self._settings.place}: an answer is of another container: {owner}")
                )
        return page

    def _check(self, range: FeedRange, rid: str) -> None:
        if rid != self._rid:
            raise FeedError(made_anew(self._settings.place, range.id, rid, self._rid))

    def _check_lsn(self, feed: Feed, page: Page) -> None:
        """Behind what was handled, nothing that comes could be told from what came before."""
        lsn = page.answer.lsn
        if lsn is not None and lsn < feed.lsn and set(page.answer.tokens) == {feed.range}:
            raise FeedError(behind(self._settings.place, feed.range.id, feed.lsn, lsn))

    async def _ranges(self, container: ContainerProxy) -> tuple[FeedRange, ...]:
        async def ask() -> tuple[FeedRange, ...]:
            found = container.read_feed_ranges(force_refresh=True, raw_response_hook=self._hear)
            return tuple(sorted([range_of_wire(each["Range"]) async for each in found]))

        self.known = await self._asked(ask)
        return self.known

    async def _opened(self, *, anew: bool = False) -> ContainerProxy:
        looks = self._looks
        async with self._opening:
            container = self._container
            if container is None:
                return await self._made()
            # A look that began after this was asked for is new enough.
            if not self._is_doubtful and not (anew and self._looks == looks):
                return container
            self._looks += 1
            rid = await self._asked(lambda: self._read(container))
            self._is_doubtful = False
            if rid == self._rid:
                return container
            if self._client is not None:
                self._left.append(self._client)
            self._client = self._container = None
            return await self._made()

    async def _made(self) -> ContainerProxy:
        client = self._new_client()
        self._looks += 1
        try:
            container, rid = await self._asked(lambda: self._open(client))
            if self._rid not in ("", rid):
                # A new client has the ranges of the one that was: clients of an account share them.
                await self._ranges(container)
        except BaseException:
            await client.close()
            raise
        self._client, self._container, self._rid = client, container, rid
        self._is_doubtful = False
        return container

    async def _open(self, client: CosmosClient) -> tuple[ContainerProxy, str]:
        await client.__aenter__()
        database = client.get_database_client(self._settings.database)
        container = database.get_container_client(self._settings.container)
        return container, await self._read(container)

    async def _read(self, container: ContainerProxy) -> str:
        return str((await container.read(raw_response_hook=self._hear))["_rid"])

    def _hear(self, response: Any) -> None:
        self._spend(charge_of(response.http_response.headers))

    async def _asked(self, ask: Callable[[], Awaitable[T]]) -> T:
        place = self._settings.place
        try:
            async with asyncio.timeout(self._settings.timeout_s):
                return await ask()
        except TimeoutError:
            said = f"{place}: no answer within {self._settings.timeout_s:g} s"
            raise FeedError(Trouble(said)) from None
        except CosmosHttpResponseError as error:
            raise FeedError(self._trouble(error)) from error
        except AzureError as error:
            raise FeedError(trouble_of(place, None, str(error))) from error
        except (AnswerError, ChangeError) as error:
            raise FeedError(Trouble(f"{place}: {error}", is_fatal=True)) from error
        except ValueError as error:
            # What the SDK itself refuses to send.
            self._is_doubtful = True
            raise FeedError(trouble_of(place, 400, str(error))) from error
        except Exception as error:
            kind, refusal = type(error).__name__, error.__context__
            _log.exception("%s: the SDK failed by itself with %s", place, kind)
            if isinstance(refusal, CosmosHttpResponseError):
                # It failed over an answer of the service, which says more.
                raise FeedError(self._trouble(refusal)) from error
            said = f"{place}: the SDK failed by itself ({kind}), and the log says where"
            raise FeedError(Trouble(said)) from error

    def _trouble(self, error: CosmosHttpResponseError) -> Trouble:
        status = error.status_code if isinstance(error.status_code, int) else None
        headers = error.headers if isinstance(error.headers, Mapping) else None
        said = getattr(error, "http_error_message", None) or error.message or ""
        self._is_doubtful = self._is_doubtful or status in _DOUBTFUL
        return trouble_of(self._settings.place, status, str(said), headers)


def client_of(endpoint: str, credential: Any) -> CosmosClient:
    """A client of an account, with its key or an identity."""
    return CosmosClient(
        endpoint,
        credential=credential,
        retry_throttle_total=0,
        connection_timeout=10,
        read_timeout=30,
        user_agent_suffix="tidegate",
    )
