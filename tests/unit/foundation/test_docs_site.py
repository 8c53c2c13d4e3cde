"""The site of the documentation: its links stay inside it, and its pictures stay small."""

from __future__ import annotations

import re

from docs_links import named
from support.tree import ROOT

MOST_BYTES = 1_500_000


def test_a_link_to_a_file_of_the_tree_becomes_its_name() -> None:
    assert named("see [spark.yaml](../examples/spark.yaml).", 0) == "see `examples/spark.yaml`."
    assert named("[the chart](../charts/x) is", 0) == "the chart (`charts/x`) is"
    assert named("[a page](../helm.md#images)", 1) == "[a page](../helm.md#images)"
    assert named("[a page](helm.md)", 0) == "[a page](helm.md)"


def test_every_page_stands_in_the_navigation() -> None:
    said = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    listed = set(re.findall(r"^ +- .*: ([\w/-]+\.md)$", said, re.MULTILINE))
    docs = ROOT / "docs"
    there = {str(path.relative_to(docs)) for path in docs.rglob("*.md")} - {"README.md"}
    assert listed == there, "mkdocs.yml: nav names every page below docs/, but for the file map"


def test_its_pictures_are_small_and_all_are_shown() -> None:
    pictures = sorted((ROOT / "docs" / "pictures").iterdir())
    assert sum(path.stat().st_size for path in pictures) < MOST_BYTES
    text = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs").glob("*.md"))
    assert [path.name for path in pictures if f"pictures/{path.name}" not in text] == []
