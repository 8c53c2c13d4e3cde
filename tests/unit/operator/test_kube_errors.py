"""What the API server answers, in words that say what to do."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tidegate_operator.kube_errors import (
    AlreadyThere,
    Conflict,
    Denied,
    Invalid,
    KubeError,
    NotThere,
    Permission,
    Unreachable,
    refusal,
)
from tidegate_operator.pauses import asked_pause_s

WHAT = "apply Deployment homes/activity"
LACKING = (
    'deployments.apps "activity" is forbidden: User "system:serviceaccount:tidegate:operator" '
    'cannot patch resource "deployments" in API group "apps" in the namespace "homes"'
)


def answered(status: int, message: str = "", reason: str = "", **details: Any) -> KubeError:
    body = {"kind": "Status", "message": message, "reason": reason, "details": details}
    return refusal(WHAT, status, json.dumps(body).encode())


def test_a_role_that_lacks_something_is_told_what() -> None:
    error = answered(403, LACKING, "Forbidden")
    assert isinstance(error, Denied)
    assert error.missing == Permission("patch", "deployments", "apps")
    assert str(error) == (
        "apply Deployment homes/activity: system:serviceaccount:tidegate:operator may not patch "
        "deployments.apps. Give its role this verb on this resource."
    )


def test_a_quota_is_no_lack_of_a_role() -> None:
    error = answered(403, 'pods "x" is forbidden: exceeded quota: small', "Forbidden")
    assert isinstance(error, Invalid)
    assert "exceeded quota: small" in str(error)


def test_fields_that_are_not_taken_are_named() -> None:
    error = answered(
        422,
        "Deployment.apps is invalid: much more",
        "Invalid",
        causes=[
            {"field": "spec.template.spec.containers[0].image", "message": "Required value"},
            {"field": "spec.x", "message": "Forbidden"},
        ],
    )
    assert isinstance(error, Invalid)
    assert [flaw.field for flaw in error.flaws] == [
        "spec.template.spec.containers[0].image",
        "spec.x",
    ]
    assert str(error).endswith(
        "does not take it: spec.template.spec.containers[0].image: Required value; "
        "spec.x: Forbidden"
    )


def test_a_field_that_is_not_in_the_schema_is_no_failure_of_the_api() -> None:
    error = answered(
        500,
        "failed to create typed patch object (homes/activity; apps/v1, Kind=Deployment): "
        ".spec.template.spec.contaners: field not declared in schema",
    )
    assert isinstance(error, Invalid)
    assert str(error) == (
        f"{WHAT}: the API does not take it: .spec.template.spec.contaners: field not declared in "
        "schema"
    )


def test_many_flaws_are_cut_short() -> None:
    causes = [{"field": f"f{number}", "message": "m" * 5000} for number in range(9)]
    error = answered(422, "long", "Invalid", causes=causes)
    assert "and 4 more" in str(error)
    assert len(str(error)) < 6000


@pytest.mark.parametrize(
    ("status", "reason", "kind"),
    [
        (400, "BadRequest", Invalid),
        (401, "Unauthorized", Denied),
        (404, "NotFound", NotThere),
        (409, "AlreadyExists", AlreadyThere),
        (409, "Conflict", Conflict),
        (410, "Expired", Conflict),
        (413, "RequestEntityTooLarge", Invalid),
        (429, "TooManyRequests", Unreachable),
        (500, "InternalError", Unreachable),
        (503, "ServiceUnavailable", Unreachable),
        (302, "", KubeError),
    ],
)
def test_each_answer_is_an_error_of_its_kind_that_names_what_was_tried(
    status: int, reason: str, kind: type[KubeError]
) -> None:
    error = answered(status, "words", reason)
    assert type(error) is kind
    assert str(error).startswith(f"{WHAT}: ")


def test_a_kind_that_the_cluster_does_not_know_is_not_a_missing_object() -> None:
    assert "it is not there" in str(answered(404, "not found", "NotFound", name="activity"))
    unknown = answered(404, "the server could not find the requested resource", "NotFound")
    assert "CustomResourceDefinition" in str(unknown)


@pytest.mark.parametrize("status", [403, 409, 422, 429, 503])
def test_the_pause_that_the_api_asks_for_is_known_whatever_it_refuses(status: int) -> None:
    assert asked_pause_s(refusal(WHAT, status, b"{}", {"Retry-After": "7"})) == 7.0
    assert asked_pause_s(refusal(WHAT, status, b"{}")) == 0.0
    assert asked_pause_s(refusal(WHAT, status, b"{}", {"Retry-After": "86400"})) == 300.0
    assert asked_pause_s(ValueError("no answer of the API")) == 0.0


@pytest.mark.parametrize("body", [b"", b"<html>no gateway</html>", b"[]", b"\xff"])
def test_an_answer_of_something_else_is_an_error_too(body: bytes) -> None:
    assert isinstance(refusal(WHAT, 502, body), Unreachable)
