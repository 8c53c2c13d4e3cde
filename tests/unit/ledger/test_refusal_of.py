"""Every answer of the service as a refusal, by its code, and by its status where it has none."""

from __future__ import annotations

import socket
from typing import Any

import aiohttp
import pytest
from azure.core.exceptions import (
    HttpResponseError,
    ServiceRequestError,
    ServiceResponseError,
    ServiceResponseTimeoutError,
)
from azure.cosmos.exceptions import CosmosHttpResponseError

from tidegate.ledger.cosmos import refusals as cosmos
from tidegate.ledger.refusals import Spot, refusal_of
from tidegate.ports import Refusal

SECRET = "sig=c2VjcmV0"


def spot(credential: str = "account key") -> Spot:
    return Spot("acme", "ledgers", "acme.example", credential, "2017-11-09", "a/b/roster")


class Answer:
    """The parts of the SDK's response that an error carries."""

    def __init__(self, status: int, code: str) -> None:
        self.status_code = status
        self.reason = SECRET
        self.headers = {"x-ms-error-code": code, "x-ms-request-id": "r-1"} if code else {}


def answered(status: int, code: str = "") -> HttpResponseError:
    problem = HttpResponseError(message=f"GET https://acme.example/?{SECRET}")
    problem.status_code = status
    problem.response = Answer(status, code)  # type: ignore[assignment]
    return problem


@pytest.mark.parametrize(
    ("status", "code", "refusal"),
    [
        (409, "LeaseAlreadyPresent", Refusal.HELD),
        (409, "LeaseIdMismatchWithLeaseOperation", Refusal.HELD),
        (409, "LeaseIsBrokenAndCannotBeRenewed", Refusal.HELD),
        (409, "LeaseNotPresentWithLeaseOperation", Refusal.HELD),
        (412, "ConditionNotMet", Refusal.CHANGED),
        (412, "LeaseIdMissing", Refusal.CHANGED),
        (412, "LeaseLost", Refusal.CHANGED),
        (409, "LeaseIdMismatchWithBlobOperation", Refusal.CHANGED),
        (412, "LeaseIdMismatchWithBlobOperation", Refusal.CHANGED),
        (412, "LeaseNotPresentWithBlobOperation", Refusal.CHANGED),
        (412, "", Refusal.CHANGED),
        (409, "BlobAlreadyExists", Refusal.EXISTS),
        (404, "BlobNotFound", Refusal.MISSING),
        (404, "", Refusal.MISSING),
        (404, "ContainerNotFound", Refusal.ABSENT),
        (409, "ContainerBeingDeleted", Refusal.BUSY),
        (429, "", Refusal.BUSY),
        (503, "ServerBusy", Refusal.BUSY),
        (500, "InternalError", Refusal.UNKNOWN),
        (500, "OperationTimedOut", Refusal.UNKNOWN),
        (502, "", Refusal.UNKNOWN),
        (504, "", Refusal.UNKNOWN),
        (408, "", Refusal.UNKNOWN),
        (401, "NoAuthenticationInformation", Refusal.DENIED),
        (403, "AuthenticationFailed", Refusal.DENIED),
        (403, "AuthorizationFailure", Refusal.DENIED),
        (403, "", Refusal.DENIED),
        (409, "BlobImmutableDueToPolicy", Refusal.DENIED),
        (400, "InvalidHeaderValue", Refusal.INVALID),
        (400, "MetadataTooLarge", Refusal.INVALID),
        (413, "RequestBodyTooLarge", Refusal.INVALID),
        # It was taken, and its answer cannot be read: it may have been done.
        (200, "", Refusal.UNKNOWN),
    ],
)
def test_an_answer_becomes_a_refusal(status: int, code: str, refusal: Refusal) -> None:
    for credential in ("account key", "SAS", "identity"):
        refused = refusal_of(answered(status, code), spot(credential), is_read=False)
        assert refused.refusal is refusal
        assert "'ledgers'" in str(refused)
        assert SECRET not in str(refused)
        if status >= 400:
            assert f"({status} {code or 'without a code'}, request " in str(refused)


@pytest.mark.parametrize(
    "problem",
    [
        TimeoutError(),
        ServiceRequestError(SECRET),
        ServiceResponseError(SECRET),
        ServiceResponseTimeoutError(SECRET),
    ],
)
def test_no_answer_is_unknown(problem: Exception) -> None:
    refused = refusal_of(problem, spot(), is_read=False)
    assert refused.refusal is Refusal.UNKNOWN
    assert "may have been done" in str(refused)
    assert "acme.example" in str(refused)
    assert SECRET not in str(refused)


NO_ANSWER = [
    TimeoutError(),
    ServiceResponseError(SECRET),
    ServiceResponseTimeoutError(SECRET),
    answered(500, "InternalError"),
    answered(200),
]
# Its constructor has no types.
_COSMOS_ERROR: Any = CosmosHttpResponseError
OF_COSMOS = [
    TimeoutError(),
    ServiceResponseError(SECRET),
    _COSMOS_ERROR(status_code=503, message=SECRET),
    RuntimeError(SECRET),
]


@pytest.mark.parametrize("problem", NO_ANSWER)
def test_only_of_a_write_it_is_said_that_it_may_have_been_done(problem: Exception) -> None:
    assert "may have been done" in str(refusal_of(problem, spot(), is_read=False))
    read = refusal_of(problem, spot(), is_read=True)
    assert read.refusal is Refusal.UNKNOWN
    assert "been done" not in str(read)
    assert "acme" in str(read)


@pytest.mark.parametrize("problem", OF_COSMOS)
def test_of_a_container_of_cosmos_as_well(problem: Exception) -> None:
    place = cosmos.Spot("acme", "acme.example", "leases", "db", uses_identity=False)
    assert "may have been done" in str(cosmos.refusal_of(problem, place, is_read=False))
    read = cosmos.refusal_of(problem, place, is_read=True)
    assert read.refusal is Refusal.UNKNOWN
    assert "been done" not in str(read)
    assert "acme" in str(read)


async def test_what_found_no_connection_has_done_nothing() -> None:
    async with aiohttp.ClientSession() as session:
        with pytest.raises(aiohttp.ClientConnectorError) as found:
            await session.put(f"http://127.0.0.1:{closed_port()}/")
    refused = refusal_of(ServiceRequestError(SECRET, error=found.value), spot(), is_read=False)
    assert "Nothing answers at acme.example (Connection refused), for blob" in str(refused)
    assert "been done" not in str(refused)


def closed_port() -> int:
    """A port of loopback without a listener."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def test_a_version_that_the_service_does_not_know_is_named() -> None:
    words = str(refusal_of(answered(400, "InvalidHeaderValue"), spot(), is_read=False))
    assert "storage API version 2017-11-09: set ledger.apiVersion" in words
