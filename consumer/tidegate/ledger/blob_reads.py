"""Reading the ledger's blobs through the SDK: a listing, one blob's properties, one blob whole.

Rules: each is one request, but for a listing of more than a page. Keys of metadata come in lower
case, whatever their writer used, and ETags without quotes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from typing import Any, TypeVar
from urllib.parse import quote
from weakref import WeakKeyDictionary

from azure.core.exceptions import HttpResponseError
from azure.core.pipeline import AsyncPipeline
from azure.core.pipeline.transport import HttpRequest
from azure.storage.blob import BlobProperties
from azure.storage.blob.aio import BlobClient

from tidegate.ledger.access import writes_version
from tidegate.ledger.containers import Container
from tidegate.ledger.layout import Row
from tidegate.ledger.listing_xml import seconds_of
from tidegate.model import LeaseState


def bare(etag: str | None) -> str:
    """An ETag without its quotes. Raises ValueError for an answer that has none."""
    found = (etag or "").strip('"')
    if not found:
        raise ValueError("an answer without an ETag")
    return found


T = TypeVar("T")

# Redirects and retries are off, and a listing has no content, no messages and no second host.
_NOTHING_FOR_A_LISTING = frozenset(
    {
        *("AsyncContentValidationPolicy", "AsyncRedirectPolicy", "AsyncStorageResponseHook"),
        *("ContentDecodePolicy", "DistributedTracingPolicy", "ExponentialRetry"),
        *("HttpLoggingPolicy", "ProxyPolicy", "QueueMessagePolicy", "StorageHosts"),
        *("StorageLoggingPolicy", "StorageSensitiveHeaderCleanupPolicy"),
    }
)
_PIPELINES: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()


async def list_blobs(
    container: Container,
    prefix: str,
    page_size: int,
    read: Callable[[bytes], tuple[list[T], str]],
) -> tuple[list[T], float]:
    """All blobs below a prefix, as `read` makes of a page, and the service's time at its begin."""
    blobs: list[T] = []
    marker, server_time = "", 0.0
    while True:
        answer = await _list_page(container, prefix, page_size, marker)
        found, marker = read(answer.body())
        blobs += found
        server_time = server_time or seconds_of(answer.headers.get("Date") or "")
        if not marker:
            return blobs, server_time


def _pipeline_of(container: Container) -> Any:
    """What lets requests in, signs them and sends them, and nothing else.

    The SDK has no public way to send a request of one's own with its credentials. Of its policies
    those are left out that do nothing for a listing, by their names: one that is not known stays.
    They take more time than all the rest of the request.
    """
    whole: Any = container._pipeline
    found = _PIPELINES.get(whole)
    if found is None:
        # A policy knows the next one: those of the client's own pipeline are not linked anew.
        policies = [getattr(each, "_policy", None) or copy(each) for each in whole._impl_policies]
        kept = [each for each in policies if type(each).__name__ not in _NOTHING_FOR_A_LISTING]
        found = _PIPELINES[whole] = AsyncPipeline(whole._transport, kept)
    return found


async def _list_page(container: Container, prefix: str, page_size: int, marker: str) -> Any:
    """List Blobs by the SDK's own pipeline, which lets in and signs, but reads nothing."""
    request = HttpRequest("GET", container.url)
    query = {"restype": "container", "comp": "list", "include": "metadata", "prefix": prefix}
    query |= {"maxresults": str(page_size)} | ({"marker": marker} if marker else {})
    request.format_parameters({name: quote(value, safe="") for name, value in query.items()})
    request.headers["Accept"] = "application/xml"
    answer = (await _pipeline_of(container).run(request)).http_response
    await answer.load_body()
    if answer.status_code != 200:
        raise HttpResponseError(response=answer)
    return answer


async def read_properties(blob: BlobClient, name: str, lease_id: str | None) -> Row:
    """With a lease id the service refuses to say anything unless that lease lasts."""
    return _row(name, await blob.get_blob_properties(lease=lease_id))


async def read_whole(blob: BlobClient, name: str, version: str) -> tuple[Row, bytes]:
    """A blob and its body by one Get Blob.

    The SDK asks for a range first, which an empty blob refuses and a large one answers in parts.
    Without the range one request does for both; the SDK wants to see a range in the answer.
    """
    write_version = writes_version(version)

    def asks_for_all(request: Any) -> None:
        write_version(request)
        for header in ("x-ms-range", "Range"):
            request.http_request.headers.pop(header, None)

    stream = await blob.download_blob(raw_request_hook=asks_for_all, raw_response_hook=_shows_range)
    return _row(name, stream.properties), await stream.readall()


def _shows_range(response: Any) -> None:
    headers = response.http_response.headers
    if response.http_response.status_code == 200 and "Content-Range" not in headers:
        size = int(headers.get("Content-Length") or -1)
        if size < 0:
            raise ValueError("an answer without a length")
        headers["Content-Range"] = f"bytes 0-{max(size - 1, 0)}/{size}"


def _row(name: str, blob: BlobProperties) -> Row:
    metadata: Mapping[str, str | None] = blob.metadata or {}
    state = blob.lease.state
    return Row(
        name=name,
        etag=bare(blob.etag),
        lease=LeaseState(str(state)) if state else LeaseState.AVAILABLE,
        # A value that is empty comes as none from a listing.
        metadata={key.lower(): value or "" for key, value in metadata.items()},
        modified_at=blob.last_modified.timestamp() if blob.last_modified else 0.0,
    )
