"""The answer to List Blobs is read into rows, whatever else stands in it."""

from __future__ import annotations

from email.utils import parsedate_to_datetime

import pytest

from tidegate.ledger.layout import Row
from tidegate.ledger.listing_xml import read_page, seconds_of
from tidegate.model import LeaseState

DATE = "Wed, 18 Nov 2026 15:40:22 GMT"
PAGE = """\ufeff<?xml version="1.0" encoding="utf-8"?>
<EnumerationResults ServiceEndpoint="https://acc.blob.core.windows.net/" ContainerName="ledger">
<Prefix>ns/</Prefix><MaxResults>2</MaxResults><Blobs>
<Blob><Name>ns/hub/$default/ownership/0</Name><Properties><Creation-Time>x</Creation-Time>
<Last-Modified>Wed, 18 Nov 2026 15:40:22 GMT</Last-Modified><Etag>"0x8D"</Etag>
<LeaseStatus>locked</LeaseStatus><LeaseState>leased</LeaseState></Properties>
<Metadata><OwnerId>a/1</OwnerId><nonce /></Metadata><OrMetadata /></Blob>
<Blob><Name Encoded="true">ns/hub/$default/member/%EF%BF%BE</Name>
<Properties><Etag>0x8E</Etag></Properties></Blob>
</Blobs><NextMarker>more</NextMarker></EnumerationResults>"""


def test_a_page_is_read_with_keys_in_lower_case_and_without_quotes_round_etags() -> None:
    rows, marker = read_page(PAGE.encode())
    assert marker == "more"
    first = {"ownerid": "a/1", "nonce": ""}
    assert rows == [
        Row("ns/hub/$default/ownership/0", "0x8D", LeaseState.LEASED, first, seconds_of(DATE)),
        Row("ns/hub/$default/member/\ufffe", "0x8E", LeaseState.AVAILABLE, {}, 0.0),
    ]


def test_the_last_page_has_no_marker() -> None:
    assert read_page(b"<EnumerationResults><Blobs /><NextMarker /></EnumerationResults>") == (
        [],
        "",
    )


@pytest.mark.parametrize(
    "body", [b"", b"<html>", b"<Error/>", b"<EnumerationResults/>", b"{}", PAGE.encode()[:300]]
)
def test_what_is_no_listing_is_a_value_error(body: bytes) -> None:
    with pytest.raises(ValueError, match="a listing that is"):
        read_page(body)


@pytest.mark.parametrize(
    "date", [DATE, "Sun, 01 Feb 2004 00:00:00 GMT", "Sun, 1 Feb 2004 00:00:00 +0100"]
)
def test_a_date_is_the_one_that_the_standard_library_reads(date: str) -> None:
    assert seconds_of(date) == parsedate_to_datetime(date).timestamp()
