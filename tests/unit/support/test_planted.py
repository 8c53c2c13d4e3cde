"""The search for planted secrets finds each of their forms, and nothing where there is nothing."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest

from support.planted import PART, Planted, new_key

KEY = "q8+vT1/x2LkYw3o9ZrS0mNcJ5uHfBdEaQpGiW7V6tXs="
CONNECTION = f"Endpoint=sb://h/;SharedAccessKeyName=n;SharedAccessKey={KEY}"
FORMS: dict[str, str | bytes] = {
    "as it is": CONNECTION,
    "cut": f"SharedAccessKey={KEY[:PART]}…",
    "the end": f"…{KEY[-PART:]}",
    "JSON": json.dumps({"a": KEY}),
    "URL": f"https://h/?sig={quote(KEY, safe='')}&se=1",
    "form": quote_plus(KEY),
    "twice": quote(quote(KEY, safe=""), safe=""),
    "hex": KEY.encode().hex(),
    "core dump": b"\x00\x01" + KEY.encode("utf-16-le") + b"\xff",
    **{f"Secret {n}": base64.b64encode(b"x" * n + CONNECTION.encode()) for n in range(3)},
    **{f"token {n}": base64.urlsafe_b64encode(b"x" * n + KEY.encode() + b"yz") for n in range(3)},
}


@pytest.mark.parametrize("form", FORMS)
def test_each_form_of_a_secret_is_found_and_not_repeated(form: str) -> None:
    found = Planted({"hub key": KEY}).found_in("the log", FORMS[form])
    assert found
    assert all(each.startswith("the log holds the hub key, ") for each in found)
    assert KEY[:PART] not in str(found)


@pytest.mark.parametrize(
    "text", ["", "SharedAccessKey=***", KEY[: PART - 1], base64.b64encode(b"another key" * 9)]
)
def test_where_there_is_none_nothing_is_found(text: str | bytes) -> None:
    assert Planted({"hub key": KEY}).found_in("the log", text) == []


def test_of_many_the_one_is_named_that_stands_there() -> None:
    other = new_key()
    found = Planted({"hub key": KEY, "storage key": other}).found_in("it", other)
    assert found and all("storage key" in each for each in found)


def test_whole_folders_are_searched(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "core.5").write_bytes(b"\0" * 5000 + KEY.encode() + b"\0")
    (sentence, *_) = Planted({"hub key": KEY}).found_in_files([tmp_path])
    assert sentence.startswith(f"{tmp_path}/a/b/core.5 holds")
