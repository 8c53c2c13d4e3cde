"""Reading the ledger's blobs through the SDK: a listing, one blob's properties, one blob whole.

Rules: each is one request, but for a listing of more than a page. Keys of metadata come in lower
case, whatever their writer used, and ETags without quotes.
"""

from __future__ import annotations

from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any

from azure.storage.blob import BlobProperties
from azure.storage.blob.aio import BlobClient, ContainerClient

from tidegate.ledger.access import writes_version
from tidegate.ledger.layout import Row
from tidegate.model import LeaseState


def bare(etag: str) -> str:
    return etag.strip('"')


async def list_rows(
    container: ContainerClient, prefix: str, page_size: int
) -> tuple[list[Row], float]:
    """All blobs below a prefix, and the service's time when the listing began."""
    dates: list[str] = []
    pages = container.list_blobs(
        name_starts_with=prefix,
        include=["metadata"],
        results_per_page=page_size,
        raw_response_hook=lambda response: dates.append(response.http_response.headers["Date"]),
    ).by_page()
    rows = [_row(str(blob.name), blob) async for page in pages async for blob in page]
    return rows, parsedate_to_datetime(dates[0]).timestamp()


async def read_properties(blob: BlobClient, name: str) -> Row:
    return _row(name, await blob.get_blob_properties())


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
        size = int(headers["Content-Length"])
        headers["Content-Range"] = f"bytes 0-{max(size - 1, 0)}/{size}"


def _row(name: str, blob: BlobProperties) -> Row:
    metadata: Mapping[str, str | None] = blob.metadata or {}
    state = blob.lease.state
    return Row(
        name=name,
        etag=bare(str(blob.etag)),
        lease=LeaseState(str(state)) if state else LeaseState.AVAILABLE,
        # A value that is empty comes as none from a listing.
        metadata={key.lower(): value or "" for key, value in metadata.items()},
        modified_at=blob.last_modified.timestamp() if blob.last_modified else 0.0,
    )
