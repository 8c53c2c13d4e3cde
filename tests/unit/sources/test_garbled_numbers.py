"""Garbled numbers in headers: each pause has an end, and each cost a bound."""

from __future__ import annotations

from typing import Any

import pytest
from azure.cosmos.exceptions import CosmosHttpResponseError

from tidegate.ledger.cosmos.refusals import Spot, refusal_of
from tidegate.retry_after import LONGEST_S, asked_s
from tidegate.sources.cosmos.refusals import trouble_of
from tidegate.sources.cosmos.tokens import charge_of

GARBLED = ["nan", "inf", "-inf", "1e999", "9" * 400, "-5", "-1e9", "", "x", "9999999999"]
DATES = ["Fri, 31 Dec 9999 23:59:59 GMT", "Wed, 99 Foo 0000 99:99:99 GMT", "0"]


@pytest.mark.parametrize("text", [*GARBLED, *DATES])
def test_no_header_asks_for_a_pause_that_does_not_end(text: str) -> None:
    asked = asked_s({"Retry-After": text}, 0.0)
    assert asked is None or 0 <= asked <= LONGEST_S
    headers = {"x-ms-retry-after-ms": text}
    assert 0 <= trouble_of("here", 429, "", headers).at_least_s <= LONGEST_S
    error: Any = CosmosHttpResponseError
    problem = error(status_code=429, message="slow")
    problem.headers, problem.sub_status = headers, text
    spot = Spot("account", "host", "container", "database", uses_identity=False)
    refused = refusal_of(problem, spot, is_read=True).retry_after_s
    assert refused is None or 0 <= refused <= LONGEST_S


@pytest.mark.parametrize("text", GARBLED)
def test_no_response_costs_more_than_one_can(text: str) -> None:
    assert 0 <= charge_of({"x-ms-request-charge": text}) < 1e6


def test_what_is_meant_is_taken() -> None:
    assert asked_s({"Retry-After": "7"}, 0.0) == 7
    assert charge_of({"x-ms-request-charge": "2.83"}) == 2.83
    assert trouble_of("here", 429, "", {"x-ms-retry-after-ms": "1500"}).at_least_s == 1.5
