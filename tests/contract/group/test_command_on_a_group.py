"""`tidegate ledger` on a group of real processes: at work, after a clean stop, after a kill."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support.group import Group, a_group
from support.wait import wait_until
from tidegate.ledger.command import LEDGER_SECRET
from tidegate.settings import EVENTS_SECRET
from tidegate_hub.testing import RunningHub

pytestmark = pytest.mark.slow
PARTITIONS = 4


def ledger(group: Group, azurite: str, hub: RunningHub, *words: str) -> tuple[int, str]:
    """Runs the command as a process of its own."""
    ran = subprocess.run(
        [
            *(sys.executable, "-m", "tidegate", "ledger", *words),
            *("--ledger", group.container, "--group", f"localhost/{group.hub_name}/$Default"),
        ],
        env={**os.environ, LEDGER_SECRET: azurite, EVENTS_SECRET: hub.connection_string},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode in (0, 1), ran.stderr
    print(ran.stdout)
    return ran.returncode, ran.stdout


def kinds(group: Group, azurite: str, hub: RunningHub) -> set[str]:
    document: dict[str, Any] = json.loads(ledger(group, azurite, hub, "check", "--json")[1])
    return {finding["kind"] for finding in document["findings"]}


@pytest.mark.timeout(240)
def test_a_group_is_seen_at_work_after_a_clean_stop_and_after_a_kill(
    hub_server: RunningHub, azurite: str, tmp_path: Path
) -> None:
    with a_group(hub_server, azurite, tmp_path, PARTITIONS) as group:
        group.start("a", "b")
        group.wait_until_read_by({"a", "b"}, 60)
        code, out = ledger(group, azurite, hub_server, "check")
        assert code == 0, out
        owners = [line.split()[1] for line in out.splitlines()[1 : 1 + PARTITIONS]]
        assert sorted(owners) == ["a", "a", "b", "b"]
        group.stop("a", "b")
        assert kinds(group, azurite, hub_server) == {"nobody"}
        group.start("c")
        group.wait_until_read_by({"c"}, 60)
        group.kill("c")
        wait_until(
            lambda: kinds(group, azurite, hub_server) == {"nobody", "dead-member"},
            60,
            "the leases of the killed to end",
        )
