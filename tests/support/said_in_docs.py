"""What the documentation says that can be looked up: commands, links, fields, names.

Pages are those of docs/ and the texts at the root that a newcomer reads. Decisions and the change
log say what was so when they were written, and are left out.
"""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from support.tree import ROOT

PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted((ROOT / "docs").glob("*.md")),
]
_FENCE = re.compile(r"^ *```(\w*)\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
_PROGRAM = re.compile(
    r"(?:^|\$ |\| |-- |bin/)(tidegate(?:-hub|-cosmos|-operator)?|kubectl consumergroup) ([a-z-].*)$"
)


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def blocks(page: Path, *languages: str) -> list[str]:
    """What stands in fences of these languages."""
    return [body for language, body in _FENCE.findall(text_of(page)) if language in languages]


def inline(page: Path) -> list[str]:
    """What is written as code within sentences; in tables a bar is written with a backslash."""
    return re.findall(r"`([^`\n]+)`", _FENCE.sub("", text_of(page)).replace("\\|", "|"))


def command_lines(page: Path) -> Iterator[tuple[str, list[str]]]:
    """Each of our programs that is called, with the words that it is given."""
    shown = [
        line.strip()
        for body in blocks(page, "", "console")
        for line in body.replace("\\\n", " ").splitlines()
    ]
    for line in (*shown, *inline(page)):
        # Brackets and dots are how people are told what may be left out or repeated.
        plain = re.sub(r"\[([^\]]*)\]|…", r"\1", re.sub(r"\s+#.*$", "", line))
        found = _PROGRAM.search(re.sub(r"(?:\b[A-Z_]+=(?:\"[^\"]*\"|'[^']*'|\S+) +)+", "", plain))
        if found is not None and not found[2].split()[0].endswith(":"):
            yield found[1], shlex.split(found[2])


def wrong_in(top: argparse.ArgumentParser, words: list[str]) -> str:
    """The first command or option that there is not; or nothing."""
    options, rest = dict(top._option_string_actions), list(words)
    while rest:
        word = rest.pop(0)
        if word == "--":
            break
        name, _, value = word.partition("=")
        if re.match(r"--?[a-zA-Z]", word):
            if name not in options:
                return name
            if options[name].nargs != 0 and not value and rest:
                rest.pop(0)
            continue
        inner = next((a for a in top._actions if isinstance(a, argparse._SubParsersAction)), None)
        if inner is not None:
            if word not in inner.choices:
                return word
            top = inner.choices[word]
            options |= top._option_string_actions
    return ""


def anchors(page: Path) -> set[str]:
    """The headings of a page, as links name them."""
    heads = re.findall(r"^#+ (.+)$", _FENCE.sub("", text_of(page)), re.MULTILINE)
    plain = (re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", head).strip().lower() for head in heads)
    return {re.sub(r"[^\w\- ]", "", head).replace(" ", "-") for head in plain}


def links(page: Path) -> Iterator[tuple[str, Path, str]]:
    """Each link to something of the tree: as it is written, the file, the heading."""
    for link in re.findall(r"\]\(([^)\s]+)(?: \"[^\"]*\")?\)", _FENCE.sub("", text_of(page))):
        if not re.match(r"[a-z]+:", link):
            path, _, heading = link.partition("#")
            yield link, (page.parent / path).resolve() if path else page, heading
