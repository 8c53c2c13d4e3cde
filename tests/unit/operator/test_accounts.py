"""Connections to accounts are there for as long as a group needs them."""

from __future__ import annotations

from tidegate.ledger.access import BlobSettings
from tidegate_operator.accounts import Accounts
from tidegate_operator.identity import IdentityHosts


def blobs(host: str, container: str = "ledger") -> BlobSettings:
    return BlobSettings(
        container=container,
        connection_string="DefaultEndpointsProtocol=http;AccountName=a;AccountKey=aGVsbG8=;"
        f"BlobEndpoint=http://{host}/a",
    )


async def test_a_group_has_no_client_of_its_own_but_its_own_container() -> None:
    accounts = Accounts(IdentityHosts())
    one, two = (accounts.client(blobs("one.example", name)) for name in ("ledger-1", "ledger-2"))
    assert one._pipeline is two._pipeline
    assert [each.url for each in (one, two)] == [
        "http://one.example/a/ledger-1", "http://one.example/a/ledger-2",
    ]  # fmt: skip
    assert two.get_blob_client("x/y").url == "http://one.example/a/ledger-2/x/y"
    assert accounts.counts == (1, 1)
    await accounts.close()


async def test_the_signature_in_an_account_s_url_goes_with_every_request() -> None:
    accounts = Accounts(IdentityHosts())
    found = accounts.client(BlobSettings("ledger-1", account_url="https://a.example/?sig=x"))
    assert found.url == "https://a.example/ledger-1?sig=x"
    await accounts.close()


async def test_connections_that_no_group_needs_are_closed_and_others_stay() -> None:
    accounts, gone, stays = Accounts(IdentityHosts()), blobs("one.example"), blobs("two.example")
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
    assert client._pipeline._transport is again
    await accounts.close()
