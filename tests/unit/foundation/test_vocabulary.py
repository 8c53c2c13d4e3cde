"""Vocabulary: one word for each thing, in identifiers and in docs/reference.md alike."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.tree import ROOT, files_of, named
from tidegate import words

OUR_PYTHON = ("consumer", "operator", "scripts", "benchmarks", "examples", "tests")

# (file, synonym): the reason why that file may say it. The API of somebody else is one; taste is
# not.
ALLOWED: dict[tuple[str, str], str] = {}


def identifiers(source: str) -> Iterator[tuple[str, int]]:
    """Every name that a source text gives to something, with its line; not those it only uses."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name, node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node.lineno
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr, node.lineno


@functools.cache
def synonyms_in(path: Path) -> list[tuple[str, str]]:
    """The banned synonyms in a file's names, each with what to do about it."""
    names = [(path.stem, 1), *identifiers(path.read_text(encoding="utf-8"))]
    return [
        (found[0], f"{named(path)}:{line}: '{name}' says '{found[0]}': say '{found[1]}'")
        for name, line in names
        if (found := words.banned_in(name))
    ]


def test_no_name_uses_a_banned_synonym() -> None:
    said = [
        advice
        for path in files_of(".py", below=OUR_PYTHON)
        for synonym, advice in synonyms_in(path)
        if (named(path), synonym) not in ALLOWED
    ]
    assert not said, "\n".join(
        [*said, "Where somebody else's API forces the name, allow it in ALLOWED, with the reason."]
    )


def test_no_allowance_is_left_over() -> None:
    needed = {
        (named(path), synonym)
        for path in files_of(".py", below=OUR_PYTHON)
        for synonym, _ in synonyms_in(path)
    }
    assert set(ALLOWED) <= needed, "remove the allowances that nothing needs any more"


def test_the_reference_shows_exactly_our_words() -> None:
    reference = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    assert words.as_markdown() in reference, (
        "docs/reference.md and consumer/tidegate/words.py differ. Replace the table there with:\n"
        + words.as_markdown()
    )


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("def rebalance(): ...", "rebalance"),
        ("class ShardMap: ...", "ShardMap"),
        ("shards = 1", "shards"),
        ("def f(handoff_s): ...", "handoff_s"),
        ("self.checkpoint_store = 1", "checkpoint_store"),
        ("for cursor in x: ...", "cursor"),
    ],
)
def test_a_banned_synonym_is_found_wherever_a_name_is_given(source: str, name: str) -> None:
    assert name in [given for given, _ in identifiers(source)]
    assert words.banned_in(name) is not None


def test_a_name_that_is_only_used_is_not_ours_to_choose() -> None:
    assert [name for name, _ in identifiers("client.rebalance(cursor, shard=1)")] == []


def test_a_synonym_is_banned_as_a_word_of_a_name_and_not_as_letters_in_it() -> None:
    assert words.banned_in("rotate_keys") is None
    assert words.banned_in("hand_over") is None
    assert words.banned_in("store_checkpoint") is None


def test_no_word_is_banned_by_another() -> None:
    own_words = {word.word for word in words.WORDS}
    for word in words.WORDS:
        assert not own_words & set(word.banned)
        assert words.banned_in(word.word) is None
