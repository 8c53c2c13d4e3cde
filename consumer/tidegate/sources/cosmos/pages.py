"""Pages of a container's feed and its ranges, by the official SDK: the only module that calls it.

Rules:
- Every call has a time limit; what it ends with is a FeedError, whatever the SDK raises. The SDK
  does not wait for a throttled container by itself: who asks knows better whether to wait.
- A request that is refused although the same range is read from now on is refused for its position.
- What each call cost is counted, also where it failed.
- One client for all partitions, made at the first call. It is made again after an error at that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from azure.core.exceptions import AzureError
from azure.cosmos.aio import ContainerProxy, CosmosClient
from azure.cosmos.exceptions import CosmosHttpResponseError

from tidegate.ports import SourceError
from tidegate.sources.cosmos.places import Feed
from tidegate.sources.cosmos.ranges import FeedRange, range_of_wire
from tidegate.sources.cosmos.refusals import Trouble, lost, trouble_of
from tidegate.sources.cosmos.settings import FeedSettings
from tidegate.sources.cosmos.tokens import (
    Answer,
    AnswerError,
    answer_of,
    charge_of,
    question,
    question_for_now,
)

T = TypeVar("T")


class FeedError(SourceError):
    """A call that failed; `trouble` says whether it may pass."""

    def __init__(self, trouble: Trouble) -> None:
        super().__init__(trouble.message, is_fatal=trouble.is_fatal)
        self.trouble = trouble


@dataclass(frozen=True, slots=True)
class Page:
    """What came of one request."""

    items: Sequence[dict[str, Any]]
    answer: Answer


class _Heard:
    """Takes the headers of each response. The SDK writes its own token into the last of them."""

    def __init__(self, spend: Callable[[float], None]) -> None:
        self._spend = spend
        self.headers: Mapping[str, Any] = {}

    def __call__(self, headers: Mapping[str, Any], _body: Any) -> None:
        # A copy would miss what the SDK adds after this.
        self.headers = headers
        self._spend(charge_of(headers))


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
        self._opening = asyncio.Lock()
        # The ranges as they were told last.
        self.known: tuple[FeedRange, ...] = ()

    async def rid(self) -> str:
        """The container's own id. Raises FeedError."""
        await self._opened()
        return self._rid

    async def ranges(self) -> tuple[FeedRange, ...]:
        """The ranges that the service has now. Raises FeedError."""
        container = await self._opened()

        async def ask() -> tuple[FeedRange, ...]:
            found = container.read_feed_ranges(force_refresh=True)
            return tuple(sorted([range_of_wire(each["Range"]) async for each in found]))

        self.known = await self._asked(ask)
        return self.known

    async def page(self, feed: Feed, count: int | None = None) -> Page:
        """What comes next in a feed; no items where there is nothing. Raises FeedError."""
        container = await self._opened()
        mode = self._settings.mode.wire
        try:
            return await self._page(
                container, question(feed, self._rid, mode), count or self._settings.page_items
            )
        except FeedError as error:
            if feed.token is None or not error.trouble.is_of_request:
                raise
            await self.now(feed.range)
            found = lost(self._settings.place, feed.range.id, error.trouble.said)
            raise FeedError(found) from error

    async def now(self, range: FeedRange) -> Answer:
        """Where a range ends now. Raises FeedError."""
        container = await self._opened()
        asked = question_for_now(range, self._settings.mode.wire)
        return (await self._page(container, asked, 1)).answer

    async def close(self) -> None:
        client, self._client, self._container = self._client, None, None
        if client is not None:
            await client.close()

    # --- calls

    async def _page(self, container: ContainerProxy, asked: dict[str, Any], count: int) -> Page:
        async def ask() -> Page:
            heard = _Heard(self._spend)
            pages = container.query_items_change_feed(
                max_item_count=count, response_hook=heard, **asked
            ).by_page()
            items: list[dict[str, Any]] = []
            async for page in pages:
                items = [item async for item in page]
                break
            return Page(items, answer_of(heard.headers))

        return await self._asked(ask)

    async def _opened(self) -> ContainerProxy:
        async with self._opening:
            if self._container is not None:
                return self._container
            client = self._new_client()
            try:
                container, self._rid = await self._asked(lambda: self._open(client))
            except BaseException:
                await client.close()
                raise
            self._client, self._container = client, container
            return container

    async def _open(self, client: CosmosClient) -> tuple[ContainerProxy, str]:
        await client.__aenter__()
        database = client.get_database_client(self._settings.database)
        container = database.get_container_client(self._settings.container)
        return container, str((await container.read())["_rid"])

    async def _asked(self, ask: Callable[[], Awaitable[T]]) -> T:
        place = self._settings.place
        try:
            async with asyncio.timeout(self._settings.timeout_s):
                return await ask()
        except TimeoutError:
            said = f"{place}: no answer within {self._settings.timeout_s:g} s"
            raise FeedError(Trouble(said)) from None
        except CosmosHttpResponseError as error:
            status = error.status_code if isinstance(error.status_code, int) else None
            headers = error.headers if isinstance(error.headers, Mapping) else None
            said = getattr(error, "http_error_message", None) or error.message or ""
            raise FeedError(trouble_of(place, status, str(said), headers)) from error
        except AzureError as error:
            raise FeedError(trouble_of(place, None, str(error))) from error
        except AnswerError as error:
            raise FeedError(Trouble(f"{place}: {error}", is_fatal=True)) from error
        except ValueError as error:
            # What the SDK itself refuses to send.
            raise FeedError(trouble_of(place, 400, str(error))) from error


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
