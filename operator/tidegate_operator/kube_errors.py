"""What can go wrong when the Kubernetes API is asked, for people: pure, from its own answers.

Rules: a message says what happened, to what, and what to do; it has the API server's words where
they are better than ours, cut short, and never what was sent. `reason` is one CamelCase word.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from tidegate.bounded import cut
from tidegate.retry_after import asked_s

NO_HEAD: Mapping[str, str] = MappingProxyType({})

# Says that an applied field is not in the schema; by its status that would be its own fault.
_NO_SUCH_FIELD = "failed to create typed patch object"
_LONGEST = 1000
_CAUSES = 5
# How the API server says that a role lacks something.
_LACKING = re.compile(
    r'User "(?P<who>[^"]*)" cannot (?P<verb>\w+) resource "(?P<resource>[^"]*)"'
    r'(?: in API group "(?P<group>[^"]*)")?'
)


class KubeError(Exception):
    """The API did not do what it was asked for."""

    reason = "KubernetesFailed"
    # For how long the server asks not to be asked that again.
    retry_after_s: float | None = None


class Conflict(KubeError):
    """Somebody else wrote it first, or it is another object by now: look again."""

    reason = "Conflict"


class AlreadyThere(Conflict):
    """It cannot be created: an object of this name is there."""

    reason = "AlreadyThere"


@dataclass(frozen=True, slots=True)
class Permission:
    """What a role would have to allow."""

    verb: str
    resource: str
    group: str

    def __str__(self) -> str:
        return f"{self.verb} {self.resource}" + (f".{self.group}" if self.group else "")


class Denied(KubeError):
    """The role does not allow it, or the credentials are not taken."""

    reason = "Denied"

    def __init__(self, message: str, missing: Permission | None = None) -> None:
        super().__init__(message)
        self.missing = missing


class NotThere(KubeError):
    """There is no such object, or no such kind."""

    reason = "NotThere"


@dataclass(frozen=True, slots=True)
class Flaw:
    """A field that the API server does not take, and why."""

    field: str
    message: str

    def __str__(self) -> str:
        return f"{self.field}: {self.message}" if self.field else self.message


class Invalid(KubeError):
    """The object breaks the API's rules, a quota or a policy of the cluster."""

    reason = "Refused"

    def __init__(self, message: str, flaws: tuple[Flaw, ...] = ()) -> None:
        super().__init__(message)
        self.flaws = flaws


class Unreachable(KubeError):
    """The API does not answer, or not now."""

    reason = "KubernetesUnreachable"


def silence(what: str, why: str) -> Unreachable:
    """There was no answer at all."""
    return Unreachable(
        f"{what}: the Kubernetes API does not answer ({_cut(why)}). Look at the network and "
        "at the API server if that goes on."
    )


def refusal(
    what: str, status: int, body: bytes, head: Mapping[str, str] = NO_HEAD, now: float = 0.0
) -> KubeError:
    """The error of an answer that is none. `what` says what was tried and on what."""
    problem = _refusal(what, status, body)
    problem.retry_after_s = asked_s(head, now)
    return problem


def _refusal(what: str, status: int, body: bytes) -> KubeError:
    said = _status(body)
    words = _cut(str(said.get("message") or f"HTTP {status}"))
    reason = str(said.get("reason") or "")
    if status == 401:
        return Denied(f"{what}: the API does not take the credentials. Renew them.")
    if status == 403:
        return _forbidden(what, words)
    if status == 404:
        return _not_there(what, words, said)
    if status == 409 and reason == "AlreadyExists":
        return AlreadyThere(f"{what}: an object of this name is there already.")
    if status in {409, 412}:
        return Conflict(f"{what}: somebody else has changed it: {words}")
    if status == 410:
        return Conflict(f"{what}: the list has grown too old to go on with; begin it again.")
    if status in {400, 413, 415, 422}:
        return _invalid(what, words, said)
    if status == 500 and words.startswith(_NO_SUCH_FIELD):
        return _invalid(what, words.partition("): ")[2] or words, said)
    if status == 429 or status >= 500:
        return Unreachable(f"{what}: the Kubernetes API cannot answer now: {words}. Try again.")
    return KubeError(f"{what}: the Kubernetes API answered {status}: {words}")


def _status(body: bytes) -> dict[str, Any]:
    """The Status that the API server answers with; empty where something else answered."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _details(said: dict[str, Any]) -> dict[str, Any]:
    found = said.get("details")
    return found if isinstance(found, dict) else {}


def _forbidden(what: str, words: str) -> KubeError:
    found = _LACKING.search(words)
    if found is None:  # a quota, a policy, a namespace that is going
        return Invalid(f"{what}: the cluster does not allow it: {words}")
    missing = Permission(found["verb"], found["resource"], found["group"] or "")
    return Denied(
        f"{what}: {found['who']} may not {missing}. Give its role this verb on this resource.",
        missing,
    )


def _not_there(what: str, words: str, said: dict[str, Any]) -> NotThere:
    if _details(said).get("name"):
        return NotThere(f"{what}: it is not there.")
    return NotThere(
        f"{what}: the cluster does not know this kind, or not this place: {words}. Install its "
        "CustomResourceDefinition if it is one of ours."
    )


def _invalid(what: str, words: str, said: dict[str, Any]) -> KubeError:
    causes = _details(said).get("causes")
    flaws = tuple(
        Flaw(str(cause.get("field") or ""), _cut(str(cause.get("message") or "")))
        for cause in (causes if isinstance(causes, list) else ())
        if isinstance(cause, dict)
    )
    if flaws and all(flaw.field == "metadata.uid" for flaw in flaws):
        # The uid of the object that was seen is told as a field that cannot be changed.
        return Conflict(f"{what}: it is another object by now.")
    told = "; ".join(str(flaw) for flaw in flaws[:_CAUSES]) or words
    more = f"; and {len(flaws) - _CAUSES} more" if len(flaws) > _CAUSES else ""
    return Invalid(f"{what}: the API does not take it: {told}{more}", flaws)


def _cut(words: str) -> str:
    return cut(words, _LONGEST)
