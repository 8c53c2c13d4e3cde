"""An address that is no URL is refused in words, in which the key beside it is not."""

from __future__ import annotations

import pytest

from tidegate.ledger.access import BlobSettings
from tidegate.ledger.cosmos.access import CosmosSettings
from tidegate.settings import SettingsError

KEY = "Zm9yLXRlc3Rz"


@pytest.mark.parametrize("host", ["[a", "a]b", "a:99999999", "a:b"])
def test_an_endpoint_that_is_no_url_is_refused(host: str) -> None:
    of_blobs = f"AccountName=a;AccountKey={KEY}==;BlobEndpoint=http://{host}/x"
    of_cosmos = f"AccountEndpoint=https://{host}/;AccountKey={KEY}=="
    for settings in (
        BlobSettings("events", connection_string=of_blobs),
        BlobSettings("events", account_url=f"https://{host}/?sig={KEY}"),
        CosmosSettings("db", "leases", connection_string=of_cosmos),
    ):
        with pytest.raises(SettingsError, match="no URL") as refused:
            settings.checked()
        assert KEY not in str(refused.value)
