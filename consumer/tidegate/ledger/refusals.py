"""What the storage service and the network answer, as refusals in words that say what to do.

Rules: a message names the account, the container and the blob, and carries the service's own code
and request id. It never carries the text of an exception, which may quote a URL with its SAS.
Wherever it is not certain that nothing was done, the refusal is UNKNOWN. Only the text about a
write whose request may have arrived has the words "it may have been done".
"""

from __future__ import annotations

import os
import socket
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass

import aiohttp
from azure.core.exceptions import (
    AzureError,
    ClientAuthenticationError,
    HttpResponseError,
    ServiceRequestError,
    ServiceResponseError,
)

from tidegate.ledger.access import BlobSettings
from tidegate.ports import LedgerError, Refusal
from tidegate.retry_after import asked_s

# Of a lease call: another lease, or none, stands in its way.
_LEASE_HELD = frozenset(
    {
        "LeaseAlreadyBroken",
        "LeaseAlreadyPresent",
        "LeaseIdMismatchWithLeaseOperation",
        "LeaseIsBreakingAndCannotBeAcquired",
        "LeaseIsBreakingAndCannotBeChanged",
        "LeaseIsBrokenAndCannotBeRenewed",
        "LeaseNotPresentWithLeaseOperation",
    }
)
# Of a write: the blob or its lease is not as it was seen. Some of these are 409 in places.
_CHANGED = frozenset(
    {
        "ConditionNotMet",
        "LeaseIdMismatchWithBlobOperation",
        "LeaseIdMissing",
        "LeaseLost",
        "LeaseNotPresentWithBlobOperation",
    }
)
_CONTAINER_UNUSABLE = frozenset({"ContainerBeingDeleted", "ContainerDisabled"})


@dataclass(frozen=True, slots=True)
class Spot:
    """Where an operation was to be done, and how one was let in, for messages."""

    account: str
    container: str
    host: str
    credential: str  # 'account key', 'SAS' or 'identity'
    api_version: str
    blob: str = ""

    @classmethod
    def of(cls, settings: BlobSettings, blob: str) -> Spot:
        return cls(
            account=settings.account,
            container=settings.container,
            host=settings.host,
            credential=settings.credential_kind,
            api_version=settings.api_version,
            blob=blob,
        )

    def __str__(self) -> str:
        blob = f"blob '{self.blob}' in " if self.blob else ""
        return f"{blob}container '{self.container}' of account '{self.account}'"


class MissingContainerError(LedgerError):
    """There is no such container."""


def doubt(*, is_read: bool) -> str:
    """The doubt about an operation without an answer. A read changes nothing."""
    return "" if is_read else ": it may have been done"


def refusal_of(problem: BaseException, spot: Spot, *, is_read: bool) -> LedgerError:
    """A LedgerError for whatever an operation ended with."""
    done = doubt(is_read=is_read)
    if isinstance(problem, TimeoutError):
        return LedgerError(
            Refusal.UNKNOWN,
            f"no reply in time from {spot.host} for {spot}{done}. Storage is slow or cannot be "
            "reached.",
        )
    if isinstance(problem, HttpResponseError) and (problem.status_code or 0) >= 400:
        status, headers = problem.status_code or 0, _headers(problem)
        found = _answered(status, _code_of(problem), _request_id(problem), spot, done)
        found.retry_after_s = asked_s(headers, time.time())
        return found
    if isinstance(problem, ClientAuthenticationError):
        return LedgerError(Refusal.DENIED, _no_credential(problem, spot))
    if isinstance(problem, ServiceRequestError | ServiceResponseError):
        return LedgerError(
            Refusal.UNKNOWN, _network(problem.inner_exception or problem, spot, done)
        )
    return LedgerError(
        Refusal.UNKNOWN,
        f"the request for {spot}, or its answer, could not be understood "
        f"({type(problem).__name__}){done}. Is {spot.host} a Blob storage endpoint?",
    )


def _answered(status: int, code: str, request_id: str, spot: Spot, done: str) -> LedgerError:
    seen = f"({status} {code or 'without a code'}, request {request_id or 'unknown'})"
    if code in _LEASE_HELD:
        return LedgerError(Refusal.HELD, f"the lease of {spot} is somebody else's {seen}")
    if code in _CHANGED:
        return LedgerError(Refusal.CHANGED, f"{spot} is not as it was seen {seen}")
    if code == "BlobAlreadyExists":
        return LedgerError(Refusal.EXISTS, f"{spot} is there already {seen}")
    if code == "ContainerNotFound":
        return MissingContainerError(
            Refusal.ABSENT,
            f"Container '{spot.container}' not found in account '{spot.account}'. Create it, or "
            f"set ledger.create: true. {seen}",
        )
    if code in _CONTAINER_UNUSABLE:
        return LedgerError(Refusal.BUSY, f"{spot} is being deleted or is disabled {seen}")
    if status in (401, 403) or "Immutable" in code:
        return LedgerError(Refusal.DENIED, f"{_not_allowed(code, spot)} {seen}")
    if status == 404:
        return LedgerError(Refusal.MISSING, f"{spot} is not there {seen}")
    if status == 412:
        return LedgerError(Refusal.CHANGED, f"{spot} is not as it was seen {seen}")
    if status in (429, 503):
        return LedgerError(Refusal.BUSY, f"storage is busy, for {spot}: try later {seen}")
    if status == 408 or status >= 500:
        return LedgerError(Refusal.UNKNOWN, f"storage failed, for {spot}{done} {seen}")
    if status == 409:
        return LedgerError(Refusal.HELD, f"something else is being done to {spot} {seen}")
    return LedgerError(Refusal.INVALID, f"{_not_understood(code, spot)} {seen}")


def _not_allowed(code: str, spot: Spot) -> str:
    if "Immutable" in code:
        return f"A retention policy forbids writing to {spot}. Use a container without one."
    if code == "KeyBasedAuthenticationNotPermitted":
        return f"Account '{spot.account}' takes no keys. Use an identity, or a SAS of a user."
    if spot.credential == "identity":
        return (
            f"The identity may not do this in {spot}. Give it the role "
            "'Storage Blob Data Contributor' on the container, and let the account's network "
            "rules admit this machine."
        )
    if spot.credential == "SAS":
        return (
            f"The SAS does not allow this in {spot}. It needs the permissions racwdl on the "
            "container, must not have expired, and must have been signed with a key that is "
            "still valid."
        )
    return (
        f"The account key was not accepted for {spot}. Check that it is the key of this account, "
        "that this machine's clock is right, and that the account's network rules admit it."
    )


def _no_credential(problem: ClientAuthenticationError, spot: Spot) -> str:
    if spot.credential == "account key":
        return f"The account key for '{spot.account}' is not base64. Copy it again."
    return (
        f"The identity gave no token for {spot} ({type(problem).__name__}). Check the workload "
        "identity or the environment variables of azure-identity, or give a SAS or a key."
    )


def _not_understood(code: str, spot: Spot) -> str:
    if code in ("InvalidHeaderValue", "UnsupportedHeader", "FeatureVersionMismatch"):
        return (
            f"The service refused a header for {spot}. It may not know the storage API version "
            f"{spot.api_version}: set ledger.apiVersion to one that it has."
        )
    if code in ("MetadataTooLarge", "RequestHeaderFieldsTooLarge"):
        return f"What is to be kept in {spot} is more than its metadata holds."
    if code == "RequestBodyTooLarge":
        return f"The state is too large for {spot}. Keep less in it."
    return f"The service refused a request for {spot}."


def _network(problem: BaseException, spot: Spot, done: str) -> str:
    """The text of a failed connection. Without a connection, nothing was done."""
    cause = getattr(problem, "os_error", problem)
    if isinstance(problem, aiohttp.ClientConnectorDNSError) or isinstance(cause, socket.gaierror):
        return (
            f"The name {spot.host} does not resolve, for {spot}. Check the account's name, and DNS."
        )
    if isinstance(problem, aiohttp.ClientConnectorCertificateError | ssl.SSLError):
        return (
            f"The certificate of {spot.host} is not trusted here, for {spot}. Name a file with the "
            "certificate of its authority: ledger.caFile."
        )
    if isinstance(problem, aiohttp.ClientConnectorError):
        number = getattr(cause, "errno", None)
        # The text of asyncio repeats the address.
        why = os.strerror(number) if number else type(cause).__name__
        return (
            f"Nothing answers at {spot.host} ({why}), for {spot}. Check the endpoint, and the "
            "network."
        )
    if isinstance(problem, TimeoutError):
        return f"No reply in time from {spot.host}, for {spot}{done}. Check the network."
    return (
        f"The connection to {spot.host} was cut ({type(problem).__name__}), for {spot}{done}. "
        "Check the network if this continues."
    )


def _code_of(problem: HttpResponseError) -> str:
    code = _headers(problem).get("x-ms-error-code") or getattr(problem, "error_code", None) or ""
    return str(getattr(code, "value", code))


def _request_id(problem: HttpResponseError) -> str:
    return str(_headers(problem).get("x-ms-request-id", ""))


def _headers(problem: HttpResponseError) -> Mapping[str, str]:
    headers: Mapping[str, str] = getattr(problem.response, "headers", {})
    return headers


def is_missing_container(problem: AzureError) -> bool:
    return isinstance(problem, HttpResponseError) and _code_of(problem) == "ContainerNotFound"
