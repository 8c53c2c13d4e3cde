"""The group files of the examples can be used as they are."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.tree import ROOT
from tidegate.group_file.reading import read_group
from tidegate.handlers.loading import load

FOLDER = ROOT / "examples" / "groups"


@pytest.fixture(autouse=True)
def imports_as_before() -> Iterator[None]:
    paths, modules = list(sys.path), set(sys.modules)
    yield
    sys.path[:] = paths
    for name in set(sys.modules) - modules:
        del sys.modules[name]


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.yaml")), ids=lambda path: path.name)
def test_a_group_file_of_the_examples_can_be_used(path: Path) -> None:
    group = read_group(path.read_text(encoding="utf-8"), path.name)
    assert group.name == path.stem
    assert callable(load(group.spec.handler.code, FOLDER).handle)


def test_there_are_examples() -> None:
    assert len(list(FOLDER.glob("*.yaml"))) >= 2
