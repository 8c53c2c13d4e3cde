"""Fixtures that several suites share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.azurite import running_azurite

# Scenarios are plain modules: without this their assertions would fail without their values.
pytest.register_assert_rewrite("contract.hub.python")


@pytest.fixture(scope="session")
def azurite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The connection string of an Azurite that keeps everything in memory."""
    with running_azurite(tmp_path_factory.mktemp("azurite")) as connection_string:
        yield connection_string
