"""A dead letter that is not there is no fault of the storage: it says where to look."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from azure.core.exceptions import ResourceNotFoundError

from tidegate.dead_letters.blobs import BlobLetters
from tidegate.handling import DeadLetterError
from tidegate.ledger.access import BlobSettings
from tidegate.ledger.layout import GroupNames


class Empty:
    """A container without that blob; or, with a code, what the service says in its place."""

    def __init__(self, code: str) -> None:
        self._code = code

    def get_blob_client(self, _name: str) -> Any:
        return self

    async def download_blob(self) -> Any:
        response = SimpleNamespace(
            status_code=404, headers={"x-ms-error-code": self._code}, reason="", request=None
        )
        error = ResourceNotFoundError(self._code, response=response)
        raise error


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("BlobNotFound", r"there is no dead letter 3/1042, .*`deadletters list` shows"),
        ("ContainerNotFound", r"Container 'ledger' not found in account"),
    ],
)
async def test_what_is_missing_is_named(
    monkeypatch: pytest.MonkeyPatch, code: str, said: str
) -> None:
    settings = BlobSettings("ledger", connection_string="UseDevelopmentStorage=true")
    letters = BlobLetters(settings, GroupNames("h", "hub", "g"), "deadletters")
    monkeypatch.setattr(letters, "_container", lambda: Empty(code))
    with pytest.raises(DeadLetterError, match=said):
        await letters.read("3/1042")
