"""A document that nests without end is refused in words, as a file and as an API server's."""

from __future__ import annotations

from typing import Any

import pytest

from tidegate.group_file.nodes import FileError, value_of
from tidegate.group_file.reading import read_group


@pytest.mark.parametrize("depth", [150, 100_000])
def test_a_file_that_nests_too_deeply_is_refused(depth: int) -> None:
    with pytest.raises(FileError, match="nests deeper than 100"):
        read_group("a: " + "[" * depth + "]" * depth, "group.yaml")


def test_a_group_that_nests_too_deeply_is_refused() -> None:
    document: dict[str, Any] = {}
    for _ in range(5_000):
        document = {"a": document}
    with pytest.raises(FileError, match="nests deeper than 100"):
        value_of({"spec": {"template": document}})
