"""What Cosmos DB and the network answer, as refusals in words that say what to do.

Rules: a message names the account, the container and the item, and carries the service's own
numbers. It never carries the text of an exception, which may quote a request. Wherever it is not
certain that nothing was done, the refusal is UNKNOWN. Only the text about a write whose request may
have arrived has the words "it may have been done".
"""

from __future__ import annotations

from dataclasses import dataclass

from azure.core.exceptions import AzureError, ClientAuthenticationError, ServiceRequestError
from azure.cosmos.exceptions import CosmosHttpResponseError

from tidegate.ledger.cosmos.access import CosmosSettings
from tidegate.ledger.refusals import MissingContainerError, doubt
from tidegate.ports import LedgerError, Refusal
from tidegate.retry_after import bounded_s

# Sub-status of a 404: the container or the database is not there, not the item. Others are no word
# on either, such as 1002: the replica that was asked has not come as far as what was read before.
_OWNER_IS_MISSING = 1003


def is_absent(problem: CosmosHttpResponseError) -> bool:
    """Whether the service says that there is no such item, and no more than that."""
    return problem.status_code == 404 and not problem.sub_status


def is_missing(problem: CosmosHttpResponseError) -> bool:
    """Whether the container or its database is not there, where one of them was asked for."""
    return problem.status_code == 404 and problem.sub_status in (None, 0, _OWNER_IS_MISSING)


@dataclass(frozen=True, slots=True)
class Spot:
    """Where an operation was to be done, for messages."""

    account: str
    host: str
    container: str
    database: str
    uses_identity: bool
    item: str = ""

    @classmethod
    def of(cls, settings: CosmosSettings, item: str = "") -> Spot:
        return cls(
            settings.account,
            settings.host,
            settings.container,
            settings.database,
            settings.uses_identity,
            item,
        )

    def __str__(self) -> str:
        item = f"item '{self.item}' in " if self.item else ""
        where = f"container '{self.container}' of database '{self.database}'"
        return f"{item}{where} at account '{self.account}'"


def refusal_of(problem: BaseException, spot: Spot, *, is_read: bool) -> LedgerError:
    """A LedgerError for whatever a request ended with."""
    done = doubt(is_read=is_read)
    if isinstance(problem, CosmosHttpResponseError):
        return _answered(problem, spot, done)
    if isinstance(problem, TimeoutError):
        return LedgerError(
            Refusal.UNKNOWN,
            f"no reply in time from {spot.host} for {spot}{done}. Cosmos DB is slow or cannot be "
            "reached.",
        )
    if isinstance(problem, ClientAuthenticationError):
        return LedgerError(
            Refusal.DENIED,
            f"The identity gave no token for {spot} ({type(problem).__name__}). Check the workload "
            "identity or the environment variables of azure-identity, or give a key.",
        )
    if isinstance(problem, ServiceRequestError):
        return LedgerError(
            Refusal.UNKNOWN,
            f"Nothing answers at {spot.host} for {spot}. Check the endpoint, DNS and the network.",
        )
    if not isinstance(problem, AzureError | OSError):
        return LedgerError(
            Refusal.UNKNOWN,
            f"the request for {spot}, or its answer, could not be understood "
            f"({type(problem).__name__}){done}. Is {spot.host} a Cosmos DB endpoint?",
        )
    return LedgerError(
        Refusal.UNKNOWN,
        f"The connection to {spot.host} was cut ({type(problem).__name__}), for {spot}{done}. "
        "Check the network if this continues.",
    )


def _answered(problem: CosmosHttpResponseError, spot: Spot, done: str) -> LedgerError:
    status, sub_status = problem.status_code or 0, _sub_status(problem)
    seen = f"({status}/{sub_status})"
    if status == 404 and sub_status not in (0, _OWNER_IS_MISSING):
        return LedgerError(
            Refusal.UNKNOWN, f"Cosmos DB is not up to date for {spot}: try again {seen}"
        )
    if status == 404 and (sub_status == _OWNER_IS_MISSING or not spot.item):
        return MissingContainerError(
            Refusal.ABSENT,
            f"Container '{spot.container}' not found in database '{spot.database}' of account "
            f"'{spot.account}'. Create it with the partition key /id, or set "
            f"ledger.cosmos.create: true. {seen}",
        )
    if status in (401, 403):
        return LedgerError(Refusal.DENIED, f"{_not_allowed(spot)} {seen}")
    if status == 404:
        return LedgerError(Refusal.MISSING, f"{spot} is not there {seen}")
    if status == 409:
        return LedgerError(Refusal.EXISTS, f"{spot} is there already {seen}")
    if status == 412:
        return LedgerError(Refusal.CHANGED, f"{spot} is not as it was seen {seen}")
    if status == 413:
        return LedgerError(
            Refusal.INVALID, f"{spot} would be larger than the 2 MB of an item {seen}"
        )
    if status in (429, 449):
        busy = LedgerError(
            Refusal.BUSY,
            f"the request units of {spot} are used up: try later, or give it more {seen}",
        )
        busy.retry_after_s = _retry_after_s(problem)
        return busy
    if status in (408, 410) or status >= 500:
        return LedgerError(Refusal.UNKNOWN, f"Cosmos DB failed, for {spot}{done} {seen}")
    return LedgerError(
        Refusal.INVALID,
        f"Cosmos DB refused a request for {spot}. Is {spot.host} a Cosmos DB endpoint? {seen}",
    )


def _sub_status(problem: CosmosHttpResponseError) -> int:
    try:
        return int(problem.sub_status or 0)
    except ValueError:
        return 0


def _not_allowed(spot: Spot) -> str:
    if spot.uses_identity:
        return (
            f"The identity may not do this in {spot}. Give it the role 'Cosmos DB Built-in Data "
            "Contributor' on the container, and let the account's network rules admit this machine."
        )
    return (
        f"The account key was not accepted for {spot}. Check that it is a read-write key of this "
        "account, that this machine's clock is right, and that the account's network rules admit "
        "it."
    )


def _retry_after_s(problem: CosmosHttpResponseError) -> float | None:
    asked = {str(key).lower(): value for key, value in dict(problem.headers).items()}
    try:
        return bounded_s(float(asked["x-ms-retry-after-ms"]) / 1000)
    except (KeyError, TypeError, ValueError):
        return None
