"""A group goes from the official processor to ours and back while events flow: `make test-live`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.group import Group, a_group
from support.migration import EVERY_S, PARTITIONS, rehearsed
from tidegate_hub.testing import RunningHub

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture
def group(hub_server: RunningHub, azurite: str, tmp_path: Path) -> Iterator[Group]:
    host = f"localhost:{hub_server.port}"
    with a_group(hub_server, azurite, tmp_path, PARTITIONS, host=host, every_s=EVERY_S) as made:
        yield made


def test_a_group_goes_over_and_back_under_load_with_nothing_lost_and_nothing_twice(
    group: Group, capsys: pytest.CaptureFixture[str]
) -> None:
    seen = rehearsed(group)
    with capsys.disabled():
        print("", *seen.told(), sep="\n")
    assert seen.by_two_sides == 0
    assert seen.sides["between"].twice == 0
    assert seen.passed_over == 0
    assert all(side.events > 1_000 for side in seen.sides.values())
