"""Connections to accounts are there for as long as a group needs them."""

from __future__ import annotations

from tidegate.ledger.access import BlobSettings
from tidegate_operator.accounts import Accounts


def blobs(host: str, container: str = "ledger") -> BlobSettings:
    return BlobSettings(
        container=container,
        connection_string="DefaultEndpointsProtocol=http;AccountName=a;AccountKey=aGVsbG8=;"
        f"BlobEndpoint=http://{host}/a",
    )


async def test_connections_that_no_group_needs_are_closed_and_others_stay() -> None:
    accounts, gone, stays = Accounts(()), blobs("one.example"), blobs("two.example")
    kept = [accounts.client(each) for each in (gone, stays)]
    closed, open_ = (accounts.account(each).transport for each in (gone, stays))
    await accounts.keep_only({(stays.host, stays.ca_file)})
    assert accounts.counts == (1, 1)
    assert closed.session is None or closed.session.closed
    assert accounts.account(stays).transport is open_
    # Somebody still holds the client of the account that was let go of.
    assert len(kept) == 2
    again = accounts.account(gone).transport
    client = accounts.client(gone)
    assert again is not closed
    assert client._pipeline._transport._transport is again  # type: ignore[attr-defined]
    await accounts.close()
