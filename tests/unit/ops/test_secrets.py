"""No secret passes: connection strings, SAS tokens, account keys, tokens; however it is written."""

from __future__ import annotations

import base64
import io
import json
import logging
import time
from urllib.parse import quote, unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.ops import logs
from tidegate.ops.secrets import HIDDEN, Secrets

# Made up for these tests.
KEY = "c2VjcmV0LWtleS1vZi10aGVzZS10ZXN0cw+/AAAA=="
SIGNATURE = "q3%2Fsignature%2Bof%2Bthese%2Btests%3D"
EVENTS = f"Endpoint=sb://ns.servicebus.windows.net/;SharedAccessKeyName=root;SharedAccessKey={KEY}"
BLOBS = (
    f"DefaultEndpointsProtocol=https;AccountName=acct;AccountKey={KEY};"
    "EndpointSuffix=core.windows.net"
)
TOKEN = f"SharedAccessSignature sr=sb%3A%2F%2Fns%2Fhub&sig={SIGNATURE}&se=1700000000&skn=root"
SAS_URL = f"https://acct.blob.core.windows.net/ledger?sv=2023-01-03&sp=rw&sig={SIGNATURE}&se=2030"
JWT = "eyJhbGciOiJSUzI1NiJ9.eyJhdWQiOiJodHRwcyJ9.c2lnbmF0dXJl"

SHAPES = {
    "a hub's connection string": EVENTS,
    "one with a signature": f"Endpoint=sb://ns/;SharedAccessSignature={TOKEN};EntityPath=hub",
    "an account's connection string": BLOBS,
    "a SAS token": TOKEN,
    "a URL with SAS": SAS_URL,
    "a header": f"Authorization: Bearer {JWT}",
    "a storage header": f"Authorization: SharedKey acct:{KEY}",
    "a token alone": f"credential {JWT} refused",
    "JSON": json.dumps({"SharedAccessKey": KEY, "sig": "no"}),
    "a repr": repr({"AccountKey": KEY}),
    "lower case": EVENTS.lower().replace(KEY.lower(), KEY),
    "a quoted URL": quote(SAS_URL),
}


def secret_parts(text: str) -> list[str]:
    return [part for part in (KEY, SIGNATURE, quote(SIGNATURE), JWT) if part in text]


@pytest.mark.parametrize("shape", SHAPES)
def test_what_looks_like_a_secret_is_hidden_though_nobody_said_it_was_one(shape: str) -> None:
    text = f"cannot connect: {SHAPES[shape]} (refused)"
    assert secret_parts(text)
    shown = Secrets().hide(text)
    assert not secret_parts(shown), shown
    assert HIDDEN in shown
    assert shown.startswith("cannot connect: ")


@pytest.mark.parametrize("size", [32, 64])
@pytest.mark.parametrize("around", ["{}", "variable {} is not set", "[Errno 2]: '/a/b/{}'", "({})"])
def test_a_key_of_azure_is_hidden_though_nothing_says_that_it_is_one(
    size: int, around: str
) -> None:
    key = base64.b64encode(bytes(range(100, 100 + size))).decode()
    shown = Secrets().hide(around.format(key))
    assert key not in shown
    assert key[-20:] not in shown
    assert shown == around.format(HIDDEN) or "/" in around


@pytest.mark.parametrize("secret", [EVENTS, BLOBS, KEY])
@pytest.mark.parametrize("disguise", [KEY, quote(KEY, safe=""), f"<{KEY}>", f"x{KEY}y"])
def test_a_secret_of_this_process_is_hidden_wherever_it_stands(secret: str, disguise: str) -> None:
    assert KEY not in Secrets([secret]).hide(f"odd: {disguise}")
    assert quote(KEY, safe="") not in Secrets([secret]).hide(f"odd: {disguise}")


@pytest.mark.parametrize("form", [KEY, quote(KEY, safe="")])
@pytest.mark.parametrize("left", [12, 16, 30, 39])
@pytest.mark.parametrize("behind", ["", "…", '"}', " and more"])
def test_the_beginning_of_a_key_is_hidden_where_a_text_was_cut_in_it(
    form: str, left: int, behind: str
) -> None:
    for secret in (EVENTS, BLOBS, KEY):
        shown = Secrets([secret]).hide(f"log-in failed with {form[:left]}{behind}")
        assert shown == f"log-in failed with {HIDDEN}{behind}"


def test_what_begins_as_a_connection_string_does_is_left_alone() -> None:
    for text in ("Endpoint=sb://ns.servicebus.windows.net/ does not answer", "sv=2023-01-03&sp=r"):
        assert Secrets([EVENTS, SAS_URL, SAS_URL.partition("?")[2]]).hide(text) == text


def test_the_signature_of_a_sas_is_hidden_where_it_stands_alone() -> None:
    for text in (SIGNATURE, unquote(SIGNATURE)):
        assert text not in Secrets([SAS_URL]).hide(f"odd: {text}")


def test_the_words_around_a_secret_stay() -> None:
    assert Secrets().hide(EVENTS) == (
        "Endpoint=sb://ns.servicebus.windows.net/;SharedAccessKeyName=root;SharedAccessKey=***"
    )
    assert Secrets().hide(SAS_URL) == (
        "https://acct.blob.core.windows.net/ledger?sv=2023-01-03&sp=rw&sig=***&se=2030"
    )


@pytest.mark.parametrize(
    "text",
    [
        "partition 3 of hub telemetry was given to pod-2",
        "the signal is significant: design the sign",
        "partition key home-000007, checkpoint key 12",
        "SharedAccessKeyName=root",
        "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
        "etag=0x1CBB2604DAC1EF0, md5=1B2M2Y8AsgTpgAmY7PhCfg==",
        "/var/run/secrets/kubernetes.io/serviceaccount/token=file",
    ],
)
def test_ordinary_words_are_left_alone(text: str) -> None:
    assert Secrets([EVENTS]).hide(text) == text


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=40), st.sampled_from(list(SHAPES)))
def test_whatever_stands_before_it_a_secret_is_hidden(before: str, shape: str) -> None:
    assert not secret_parts(Secrets([EVENTS, TOKEN]).hide(f"{before} {SHAPES[shape]}"))


@pytest.mark.parametrize("as_json", [True, False])
def test_no_way_of_logging_gets_around_it(as_json: bool) -> None:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logs.Lines(Secrets([EVENTS]), as_json=as_json))
    log = logging.Logger("tidegate.test")
    log.addHandler(handler)
    log.info("message %s", EVENTS)
    log.info("argument", extra={"tidegate": {"where": SAS_URL, "deep": {"list": [TOKEN]}}})
    log.info({"an object": BLOBS})
    try:
        raise ValueError(f"refused: {EVENTS}") from KeyError(SAS_URL)
    except ValueError:
        log.exception("failed with %r", {"key": KEY})
    log.warning("with stack", stack_info=True)
    written = stream.getvalue()
    assert "failed with" in written
    assert "ValueError" in written
    assert not secret_parts(written), written


@pytest.mark.parametrize(
    "unit",
    [
        "eyJ-",
        "eyJabcdefgh.",
        "Bearer ",
        "sig=",
        "%26sig%3D",
        "=",
        "A",
        "A" * 85 + "=",
        "Password = ",
    ],
)
def test_a_megabyte_of_any_text_is_searched_in_an_instant(unit: str) -> None:
    """The process can do nothing else meanwhile, and the text may be an event that anybody sent."""
    secrets, text = Secrets([EVENTS, "=" * 1_000]), (unit * 1_000_000)[:1_000_000]
    began = time.thread_time()
    shown = secrets.hide(text)
    assert time.thread_time() - began < 0.1
    assert len(shown) < 20_000


def test_a_token_is_hidden_where_a_hyphen_stands_before_it() -> None:
    for before in ("x-", "token=-", "a.b-c-"):
        assert JWT not in Secrets().hide(f"{before}{JWT} refused")


def test_a_key_that_a_long_text_is_cut_in_leaves_no_part() -> None:
    key = base64.b64encode(bytes(range(100, 164))).decode()
    for more in range(0, 100, 9):
        shown = Secrets().hide("x" * more + f" {key}" * 1_000)
        assert not any(key[at : at + 8] in shown for at in range(len(key) - 8))


def test_to_learn_a_long_secret_takes_an_instant() -> None:
    began = time.thread_time()
    Secrets(["=" * 200_000])
    assert time.thread_time() - began < 0.1
