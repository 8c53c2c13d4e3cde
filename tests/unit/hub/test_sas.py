"""Tokens are granted what their key allows, and refused as the service refuses them."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Callable
from urllib.parse import quote

import pytest
from azure.eventhub._pyamqp.utils import generate_sas_token
from hypothesis import given
from hypothesis import strategies as st

from tidegate_hub.conditions import HubError
from tidegate_hub.sas import (
    ALL_CLAIMS,
    LISTEN,
    MANAGE,
    SEND,
    Grant,
    KeyRule,
    generate,
    require,
    resource_path,
    verify,
)

NOW = 1_800_000_000
LATER = NOW + 3600
KEY = "c2VjcmV0LWtleQ=="
ROOT = KeyRule("Root Manage/Key", KEY)
SENDER = KeyRule("sender", "c2VuZGVy", frozenset({SEND}), hub="Telemetry")
ROLLED = KeyRule("rolled", "bmV3", frozenset({LISTEN}), secondary_key="b2xk")
RULES = (ROOT, SENDER, ROLLED)


def refused(token: str, audience: str | None = None) -> str:
    with pytest.raises(HubError) as caught:
        verify(token, RULES, NOW, audience)
    assert caught.value.condition == "com.microsoft:auth-failed"
    return caught.value.description


@pytest.mark.parametrize(
    ("resource", "path"),
    [
        ("sb://localhost:5672/telemetry", "telemetry"),
        ("sb://localhost/Telemetry/", "telemetry"),
        ("amqps://ns.servicebus.windows.net/telemetry/Partitions/3", "telemetry/partitions/3"),
        ("amqp://127.0.0.1:5672/telemetry", "telemetry"),
        ("http://ns.servicebus.windows.net", ""),
        ("sb://ns.servicebus.windows.net/", ""),
        ("ns.servicebus.windows.net/telemetry", "telemetry"),
    ],
)
def test_a_resource_is_a_path_whatever_its_scheme_host_and_case(resource: str, path: str) -> None:
    assert resource_path(resource) == path
    token = generate(resource, ROOT.name, KEY, LATER)
    assert verify(token, RULES, NOW) == Grant(path, ALL_CLAIMS, LATER)


def test_a_token_of_the_official_client_is_granted() -> None:
    make: Callable[[str, str, str, int], str] = generate_sas_token
    token = make("sb://localhost:5672/telemetry", ROOT.name, KEY, LATER)
    assert verify(token, RULES, NOW).resource == "telemetry"


def test_a_resource_may_be_encoded_as_the_client_likes() -> None:
    for encoded in ("sb://h/telemetry", "sb%3a%2f%2fh%2ftelemetry", "sb%3A%2F%2Fh%2Ftelemetry"):
        signed = _token(encoded, KEY)
        assert verify(signed, RULES, NOW, "sb://h/telemetry").resource == "telemetry"


def _token(resource: str, key: str, name: str = ROOT.name, expiry: str = str(LATER)) -> str:
    """A token put together by hand, in an order of its own."""
    digest = hmac.new(key.encode(), f"{resource}\n{expiry}".encode(), hashlib.sha256).digest()
    signature = quote(base64.b64encode(digest).decode(), safe="")
    return f"SharedAccessSignature skn={quote(name)}&se={expiry}&sig={signature}&sr={resource}"


COVERED = [
    ("sb://h", "sb://h/telemetry", True),
    ("sb://h/telemetry", "sb://h/telemetry", True),
    ("sb://h/telemetry", "sb://h/Telemetry/ConsumerGroups/$Default/Partitions/0", True),
    ("sb://h/telemetry", "sb://other-host/telemetry", True),
    ("sb://h/telemetry", "sb://h/telemetry2", False),
    ("sb://h/telemetry", "sb://h", False),
    ("sb://h/telemetry/Partitions/0", "sb://h/telemetry", False),
]


@pytest.mark.parametrize(("resource", "audience", "covered"), COVERED)
def test_a_token_covers_its_resource_and_what_is_below(
    resource: str, audience: str, covered: bool
) -> None:
    token = generate(resource, ROOT.name, KEY, LATER)
    if covered:
        assert verify(token, RULES, NOW, audience).claims == ALL_CLAIMS
    else:
        assert refused(token, audience) == (
            "InvalidAudience: The authorization header contains a token with a wrong audience."
        )


INVALID = "InvalidSignature: The token has an invalid signature."
EXPIRED = "ExpiredToken: The token is expired. Expiration time: '2027-01-15 08:00:00Z'"
MALFORMED = "Malformed authorization token."
REFUSED = [
    ("a wrong key", generate("sb://h/telemetry", ROOT.name, "d3Jvbmc=", LATER), INVALID),
    ("an unknown key name", generate("sb://h/telemetry", "nobody", KEY, LATER), INVALID),
    ("another expiry", _token("sb://h", KEY).replace(str(LATER), str(LATER + 1)), INVALID),
    ("another resource", _token("sb://h/a", KEY).replace("sr=sb://h/a", "sr=sb://h"), INVALID),
    ("a hub's key for the namespace", generate("sb://h", "sender", SENDER.key, LATER), INVALID),
    ("a hub's key elsewhere", generate("sb://h/other", "sender", SENDER.key, LATER), INVALID),
    ("a token that has just expired", generate("sb://h", ROOT.name, KEY, NOW), EXPIRED),
    ("an expired token with a wrong key", generate("sb://h", ROOT.name, "eA==", NOW), INVALID),
    ("nothing", "", MALFORMED),
    ("another scheme", "Bearer abc", MALFORMED),
    ("no fields", "SharedAccessSignature ", MALFORMED),
    ("a field without a value", _token("sb://h", KEY).replace("sr=sb://h", "sr="), MALFORMED),
    ("no expiry", _token("sb://h", KEY).replace("se=", "ex="), MALFORMED),
    ("an expiry in words", _token("sb://h", KEY, expiry="tomorrow"), MALFORMED),
    ("an endless expiry", _token("sb://h", KEY, expiry="9" * 5000), MALFORMED),
    ("a field twice", _token("sb://h", KEY) + "&sr=sb://h", MALFORMED),
    ("a very long token", _token("sb://h/" + "x" * 10_000, KEY), MALFORMED),
]


@pytest.mark.parametrize(
    ("token", "words"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED]
)
def test_a_token_is_refused_with_the_words_of_the_service(token: str, words: str) -> None:
    assert refused(token) == words


def test_a_key_of_a_hub_grants_its_claims_for_that_hub() -> None:
    grant = verify(generate("sb://h/telemetry", "sender", SENDER.key, LATER), RULES, NOW)
    assert grant == Grant("telemetry", frozenset({SEND}), LATER)


def test_both_keys_of_a_rule_are_good_while_one_is_replaced() -> None:
    for key in ("bmV3", "b2xk"):
        assert verify(generate("sb://h", "rolled", key, LATER), RULES, NOW).claims == {LISTEN}


def test_a_grant_allows_its_claims_at_its_path_until_it_expires() -> None:
    grant = Grant("telemetry", frozenset({SEND}), LATER)
    assert grant.allows(SEND, "Telemetry/Partitions/0", NOW)
    assert not grant.allows(LISTEN, "telemetry", NOW)
    assert not grant.allows(SEND, "telemetry2", NOW)
    assert not grant.allows(SEND, "telemetry", LATER)
    assert Grant("", frozenset({MANAGE}), LATER).allows(LISTEN, "telemetry", NOW)


def test_a_link_needs_a_grant_and_gets_the_one_that_lasts_longest() -> None:
    short = Grant("telemetry", frozenset({SEND}), NOW + 10)
    long = Grant("", ALL_CLAIMS, LATER)
    assert require([short, long], SEND, "telemetry", NOW, "sb://h/telemetry") is long
    with pytest.raises(HubError) as caught:
        require([short], LISTEN, "telemetry", NOW, "sb://h/telemetry")
    assert caught.value.condition == "amqp:unauthorized-access"
    assert caught.value.description == (
        "Unauthorized access. 'Listen' claim(s) are required to perform this operation. "
        "Resource: 'sb://h/telemetry'."
    )


def test_keys_are_kept_out_of_the_repr_and_of_errors() -> None:
    assert KEY not in repr(ROOT)
    assert "b2xk" not in repr(ROLLED)
    assert KEY not in refused(f"SharedAccessSignature sr={KEY}&sig={KEY}&se=1&skn={KEY}")


@given(st.text(), st.text())
def test_no_token_makes_the_check_fail_in_another_way(text: str, other: str) -> None:
    fields = f"SharedAccessSignature sr={text}&sig={other}&se={LATER}&skn={other}"
    for token in (text, fields):
        with pytest.raises(HubError):
            verify(token, RULES, NOW)
