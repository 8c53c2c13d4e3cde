"""Every answer of the service as a refusal, by its code, and by its status where it has none."""

from __future__ import annotations

import pytest
from azure.core.exceptions import (
    HttpResponseError,
    ServiceRequestError,
    ServiceResponseError,
    ServiceResponseTimeoutError,
)

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
        refused = refusal_of(answered(status, code), spot(credential))
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
    refused = refusal_of(problem, spot())
    assert refused.refusal is Refusal.UNKNOWN
    assert "may have been done" in str(refused)
    assert "acme.example" in str(refused)
    assert SECRET not in str(refused)


def test_a_version_that_the_service_does_not_know_is_named() -> None:
    words = str(refusal_of(answered(400, "InvalidHeaderValue"), spot()))
    assert "storage API version 2017-11-09: set ledger.apiVersion" in words
