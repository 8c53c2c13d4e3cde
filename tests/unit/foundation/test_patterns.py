"""Each regular expression of the product takes time linear in the text that it searches.

A pattern holds the whole process while it searches, and other people write the texts: events in
exceptions, answers of services, fields of groups. One quadratic pattern and one event of 200 KB
stopped every member of a group.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path

import pytest

from support.patterns import Pattern, found, hard_texts, is_steep, searches

# Patterns whose text is known at run time alone, with the reason why that is safe.
KNOWN_AT_RUN_TIME = {
    # Of the servers' own OpenAPI documents, whose patterns are found where they are written.
    "consumer/tidegate_http/check.py: schema['pattern']",
}


@functools.cache
def patterns() -> tuple[list[Pattern], list[str]]:
    return found()


def steep(pattern: Pattern) -> str:
    """A text that this pattern takes too long for, in words; '' if there is none."""
    for text in hard_texts(pattern.regex):
        for search in searches(pattern):
            if told := is_steep(search, text):
                return f"{told}, of {text(60)!r}"
    return ""


@pytest.mark.slow
def test_no_pattern_of_the_product_grows_faster_than_the_text_it_searches() -> None:
    all_steep = {each.id: told for each in patterns()[0] if (told := steep(each))}
    assert not all_steep, (
        f"{all_steep}: each beginning of a match goes through the same text again. Begin where a "
        "run of characters begins, (?<!...), do not give back what was taken (?>...), or bound it."
    )


def test_every_pattern_of_the_product_is_found() -> None:
    all_found, unknown = patterns()
    assert set(unknown) == KNOWN_AT_RUN_TIME
    names = {each.id for each in all_found}
    assert {
        "consumer/tidegate/ops/secrets.py: _FORMS",
        "consumer/tidegate/ops/secrets.py: _SUSPICIOUS",
        "consumer/tidegate/ledger/listing_xml.py: _PLAIN",
        "operator/tidegate_operator/kube_errors.py: _LACKING",
    } <= names
    # In the middle of a function, from names of its module, and in a schema.
    assert any("durations.py: (?:[0-9]+" in each for each in names)
    assert any("admin/schemas.py: " in each for each in names)


@pytest.mark.parametrize(
    "call",
    [
        'import re\nre.search(r"\\s+$", text)',
        'import re as regular\nregular.sub(r"\\s+$", "", text)',
        'from re import compile as made\nX = made(r"\\s+$")',
        'import re\nEND = r"+$"\ndef go(text):\n    return re.split(rf"\\s{END}", text)',
        'SCHEMA = {"type": "string", "pattern": r"\\s+$"}',
    ],
)
def test_a_new_pattern_is_found_however_it_is_written(
    call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = tmp_path / "consumer" / "planted_pattern.py"
    module.parent.mkdir()
    module.write_text(call.replace("text)", "'')") if "def" not in call else call)
    monkeypatch.syspath_prepend(module.parent)
    monkeypatch.setattr("support.patterns.ROOT", tmp_path)
    monkeypatch.setattr("support.patterns.named", lambda path: str(path.relative_to(tmp_path)))
    monkeypatch.delitem(__import__("sys").modules, "planted_pattern", raising=False)
    (pattern,), unknown = found([module])
    assert pattern.regex.pattern == r"\s+$" and not unknown
    assert steep(pattern)


@pytest.mark.parametrize(
    "text",
    [
        r"\beyJ[\w-]{8,}\.[\w-]+\.[\w-]*",  # each eyJ begins a search to the end
        r"TrackingId:\S+,.*$",
        r"(\s*To know more\.?)?\s*TrackingId:",
        r"^\s*java\.home = (.+)$",
        r"(a+)+$",  # exponential
        r"(?:a|a)*b",
        r"(\w+\s?)*:",
        r"<a>.*?</a>b",
        r"\{[^}]*\}!",
        r"[a-z]+@[a-z]+\.com",
        r"(?:[0-9]+,)*[0-9]+;",
        r"=(?!=*$)",
    ],
)
def test_a_pattern_that_grows_faster_is_told(text: str) -> None:
    regex = re.compile(text, re.MULTILINE)
    assert steep(Pattern("planted", 1, "X", regex, frozenset({"search"})))


@pytest.mark.parametrize(
    "text", [r"\w+", r"(?<!\s)\s+$", r"a{1,200}b", r"(?<![0-9])[0-9]+,", r"^(a|b)*$"]
)
def test_a_pattern_that_is_linear_is_left_alone(text: str) -> None:
    assert not steep(Pattern("planted", 1, "X", re.compile(text), frozenset({"search"})))
