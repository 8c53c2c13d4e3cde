"""Fixtures that several suites share."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest
from hypothesis import settings

from support.azurite import running_azurite

# Scenarios are plain modules: without this their assertions would fail without their values.
pytest.register_assert_rewrite("contract.hub.python")

# How long a busy machine takes for an example is nothing that a test proves; what hangs is ended by
# pytest's own limit.
# The same code is tried with the same inputs, so that a failure is of the change; others are
# looked for by TIDEGATE_EXAMPLES=search.
settings.register_profile("tidegate", deadline=None, derandomize=True)
settings.register_profile("search", deadline=None, max_examples=1000)
settings.load_profile(os.environ.get("TIDEGATE_EXAMPLES", "tidegate"))


# Programs respect `nohup`. Under it the suite goes on too, but a signal that is handled and not
# ignored is not inherited by the programs that the tests start.
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, lambda _number, _frame: None)


@pytest.fixture(scope="session")
def azurite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The connection string of an Azurite that keeps everything in memory."""
    with running_azurite(tmp_path_factory.mktemp("azurite")) as connection_string:
        yield connection_string
