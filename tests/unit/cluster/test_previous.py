"""Which version is the one before."""

from __future__ import annotations

import subprocess

import pytest

import previous
from support.tree import ROOT


@pytest.mark.parametrize(
    ("tags", "own", "wanted"),
    [
        (["v0.2.0", "v0.1.0"], [], "v0.2.0"),
        (["v0.2.0", "v0.1.0"], ["v0.2.0"], "v0.1.0"),
        (["v0.1.0"], ["v0.1.0"], previous.PINNED),
        ([], [], previous.PINNED),
    ],
)
def test_the_version_before_is_the_newest_tag_but_this_commits_own(
    tags: list[str], own: list[str], wanted: str
) -> None:
    assert previous.chosen(tags, own) == wanted


def test_the_pinned_commit_is_in_the_history() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("this tree has no history: it was not cloned")
    asked = ["git", "-C", str(ROOT), "rev-parse", "--is-shallow-repository"]
    if subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip() == "true":
        pytest.skip("this clone has a part of the history alone: it is shallow")
    ran = subprocess.run(
        ["git", "-C", str(ROOT), "merge-base", "--is-ancestor", previous.PINNED, "HEAD"],
        check=False,
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stderr
