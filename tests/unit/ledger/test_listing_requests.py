"""A listing is asked for by those of the SDK's policies that it needs, and no others."""

from __future__ import annotations

from typing import Any

import pytest

from tidegate.ledger.access import BlobSettings, open_container
from tidegate.ledger.blob_reads import _pipeline_of

KEY = "AccountName=acct;AccountKey=aGVsbG8="
HTTP = f"DefaultEndpointsProtocol=http;{KEY};BlobEndpoint=http://127.0.0.1:1/acct"
URL = "https://acct.blob.core.windows.net"
ALWAYS = ["UserAgentPolicy", "StorageHeadersPolicy", "StorageRequestHook"]


def names_of(pipeline: Any) -> list[str]:
    policies = pipeline._impl_policies
    return [type(getattr(each, "_policy", each)).__name__ for each in policies]


def chain_of(pipeline: Any) -> list[str]:
    """The policies in the order in which a request really goes through them."""
    found, at = [], pipeline._impl_policies[0]
    while hasattr(at, "next"):
        found.append(type(getattr(at, "_policy", at)).__name__)
        at = at.next
    return found


@pytest.mark.parametrize(
    ("settings", "credential"),
    [
        (BlobSettings("abc", connection_string=HTTP), "SharedKeyCredentialPolicy"),
        (BlobSettings("abc", account_url=URL, sas_token="sig=x"), "AzureSasCredentialPolicy"),
        (BlobSettings("abc", account_url=URL), "AsyncStorageBearerTokenCredentialPolicy"),
    ],
)
async def test_a_listing_is_let_in_and_signed_and_leaves_the_client_as_it_was(
    settings: BlobSettings, credential: str
) -> None:
    async with open_container(settings) as container:
        before = chain_of(container._pipeline)
        lean = _pipeline_of(container)
        # A name that is not here is of a newer SDK: see whether a listing needs it.
        assert names_of(lean) == chain_of(lean) == [*ALWAYS, credential]
        assert chain_of(container._pipeline) == before and len(before) > len(ALWAYS) + 1
        assert _pipeline_of(container) is lean
