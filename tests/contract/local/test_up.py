"""Groups on this machine, without a cluster: `tidegate up` as people use it.

Every event is counted: what nobody kills handles each exactly once.
"""

from __future__ import annotations

import re
import signal
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from azure.storage.blob import BlobServiceClient

from support.terminal_person import a_person
from support.tree import ROOT
from support.up_process import (
    NAME,
    PARTITIONS,
    STOP_S,
    UpProcess,
    command,
    group_file,
    tools,
    up_process,
)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]

FIXED: dict[str, Any] = {"scaling": {"min": 1, "max": 4, "mode": "External"}}
# One consumer handles a hundred events a second.
CALM, BUSY = 20.0, 250.0


@pytest.fixture
def up(tmp_path: Path) -> Iterator[UpProcess]:
    with up_process(tmp_path, group_file(tmp_path, replicas=1, **FIXED)) as up:
        up.until_settled(1)
        yield up


def names_in(status: dict[str, Any]) -> set[str]:
    return {each["name"] for each in status.get("members", ())}


def is_exact(up: UpProcess) -> None:
    """Each event once, and none is missing."""
    up.end_sender()
    up.until_drained()
    assert (up.seen.lost(), up.seen.duplicates, up.seen.disorder) == (0, 0, [])
    assert up.seen.batches, "nothing was handled at all"


def test_the_example_of_twelve_lines_runs_with_no_cluster_and_nothing_set(tmp_path: Path) -> None:
    with up_process(tmp_path, ROOT / "examples" / "consumergroup.yaml") as up:
        up.until_said("home-activity  Balanced: ")
        found = up.ask("get")
        assert found.stdout.splitlines()[0].split() == [
            "NAME", "SOURCE", "ENGINE", "READY", "WANTED", "PARTITIONS", "OWNED", "LAG", "BEHIND",
            "STATUS", "AGE", "DELETED",
        ]  # fmt: skip
        row = found.stdout.splitlines()[1].split()
        assert row[:7] == ["home-activity", "eventhubs", "python", "1/1", "1", "4", "4"]
        assert row[9] == "Balanced"
        explained = up.ask("explain", "home-activity")
        assert "1 consumer · within 60s" in explained.stdout, explained.stderr
        assert up.ask("partitions", "home-activity").stdout.count("home-activity-") == PARTITIONS
        assert up.stop() == 0
        assert up.processes() == []
        assert "all of it has ended" in up.said
        gone = up.ask("get")
        assert (gone.returncode, gone.stdout) == (1, "")
        assert "no `tidegate up` runs" in gone.stderr


def test_a_group_grows_and_shrinks_with_its_lag_and_nothing_is_handled_twice(
    tmp_path: Path,
) -> None:
    scaling = {"max": 4, "objective": {"within": "10s"}, "shrinkAfterSeconds": 30}
    with up_process(tmp_path, group_file(tmp_path, scaling=scaling)) as up:
        up.until_settled(1)
        up.send(CALM)
        up.until("events to be handled", lambda: up.seen.is_handled(PARTITIONS, 5))
        up.send(BUSY)
        up.until("more consumers", lambda: up.status().get("wanted", 0) > 2, 90)
        up.until("them to have joined", lambda: up.status().get("state") == "Balanced")
        up.send(CALM)
        up.until("one consumer again", lambda: up.status().get("wanted") == 1, 180)
        up.until_settled(1)
        is_exact(up)
        assert re.search(r"  \w+: From 1 to [34]: \d+ events", up.said), "why, in its own words"
        assert "  FewerAreEnough: From " in up.said
        assert up.stop() == 0


def test_a_killed_consumer_comes_back_in_place_with_its_partitions(up: UpProcess) -> None:
    up.send(CALM)
    (member,) = names_in(up.until_settled(1))
    (consumer,) = up.consumers()
    consumer.kill()
    up.until_said(f"{member} has ended by signal 9, and is started again at once")
    up.until_said(f"{member} has joined", 2)
    assert names_in(up.until_settled(1)) == {member}
    up.end_sender()
    up.until_drained()
    assert up.seen.lost() == 0
    assert up.stop() == 0


def test_a_group_is_paused_resumed_and_sized_by_hand(up: UpProcess) -> None:
    up.send(CALM)
    assert up.ask("pause", NAME).stdout == f"default/{NAME}: paused\n"
    up.until("nobody to read", lambda: up.status().get("state") == "Paused" and not up.consumers())
    assert up.ask("resume", NAME).returncode == 0
    assert up.ask("scale", NAME, "--replicas", "2").stdout == f"default/{NAME}: replicas: 2\n"
    owners = {each["owner"] for each in up.until_settled(2)["partitionStates"]}
    assert len(owners) == 2
    moved = up.ask("move", NAME, "0", "--to", min(owners))
    assert f"partition 0 is with {min(owners)}" in moved.stdout, moved.stderr
    refused = up.ask("scale", NAME, "--replicas", "9")
    assert refused.returncode == 1
    assert "replicas is to be within scaling.min and scaling.max" in refused.stderr
    is_exact(up)
    assert up.stop() == 0


def test_what_is_saved_is_rolled_out_and_nothing_is_handled_twice(
    up: UpProcess, tmp_path: Path
) -> None:
    up.send(CALM)
    before = names_in(up.until_settled(1))
    handler = tmp_path / "handler.py"
    handler.write_text(handler.read_text() + "\n# another one\n")
    up.until_said("what was saved is taken")
    up.until(
        "another consumer in the place of the first",
        lambda: bool(there := names_in(up.status())) and not before & there,
    )
    up.until_settled(1)
    file = tmp_path / "group.yaml"
    text = file.read_text()
    file.write_text(text.replace("replicas: 1", "replicas: many"))
    up.until_said("what was saved is not taken: .*replicas: write a whole number")
    file.write_text(text.replace("hub: telemetry", "hub: other"))
    up.until_said("what was saved is not taken: there is no embedded other yet")
    is_exact(up)
    assert up.stop() == 0


def test_ctrl_c_leaves_no_process_and_no_lease_and_the_next_start_goes_on(
    tmp_path: Path, azurite: str
) -> None:
    container = f"up-{uuid.uuid4().hex[:8]}"
    file = group_file(
        tmp_path, storage={"env": "STORAGE"}, container=container, replicas=2, **FIXED
    )
    for number in range(2):
        with up_process(tmp_path, file, STORAGE=azurite) as up:
            up.until_settled(2)
            if not number:
                up.send(4 * CALM)
                up.until("some of it to be handled", lambda: up.seen.is_handled(PARTITIONS, 20))
                up.end_sender()
            assert up.stop() == 0
            assert up.processes() == []
            assert azurite not in up.said
        assert held_leases(azurite, container) == []
    with up_process(tmp_path, file, STORAGE=azurite) as up:
        is_exact(up)
        assert up.stop() == 0


def held_leases(storage: str, container: str) -> list[str]:
    with BlobServiceClient.from_connection_string(storage) as service:
        blobs = service.get_container_client(container).list_blobs()
        return [blob.name for blob in blobs if blob.lease.state == "leased"]


def test_a_second_ctrl_c_ends_everything_at_once(up: UpProcess, tmp_path: Path) -> None:
    (consumer,) = up.consumers()
    # One that does not hear that it is to end.
    consumer.suspend()
    up.signal(signal.SIGINT)
    up.until_said("Ctrl-C again ends everything at once")
    assert up.process.poll() is None
    assert up.stop() == 130
    assert up.processes() == []


def test_a_closed_terminal_is_a_clean_end_although_it_sends_sighup_twice(up: UpProcess) -> None:
    up.signal(signal.SIGHUP)
    up.until_said("Ctrl-C again ends everything at once")
    up.signal(signal.SIGHUP)
    assert up.process.wait(STOP_S) == 0, up.told()
    assert up.said.rstrip().endswith("all of it has ended")
    assert up.processes() == []


def test_nothing_outlives_a_tidegate_up_that_is_killed(up: UpProcess) -> None:
    started = up.processes()
    assert len(started) >= 3
    up.process.kill()
    up.process.wait()
    _, alive = psutil.wait_procs(started, timeout=30)
    assert not alive


def test_a_wrong_file_is_one_line_and_nothing_is_started(tmp_path: Path) -> None:
    file = group_file(tmp_path, replcas=2)
    with up_process(tmp_path, file) as up:
        assert up.process.wait(60) == 78
        (line,) = up.said.splitlines()
        assert line.startswith("tidegate: ")
        assert f"{file}:" in line and "spec has no 'replcas': did you mean 'replicas'?" in line
        assert not up.state.exists()


def test_a_second_one_of_the_same_folder_is_refused(up: UpProcess, tmp_path: Path) -> None:
    other = up.ask("up", str(tmp_path / "group.yaml"))
    assert other.returncode == 78
    assert "another `tidegate up` uses it" in other.stderr
    assert up.ask("get").returncode == 0, "the first goes on"


def test_a_handler_that_cannot_be_imported_is_in_the_condition(tmp_path: Path) -> None:
    file = group_file(tmp_path, replicas=1, **FIXED)
    (tmp_path / "handler.py").write_text("import not_there\n")
    with up_process(tmp_path, file) as up:
        up.until_said("HandlerNotImported: .*not_there")
        up.until("the state", lambda: up.status().get("state") == "HandlerNotImported")
        (tmp_path / "handler.py").write_text("def handle(events, context): ...\n")
        up.until_settled(1)
        assert up.stop() == 0


def test_on_a_terminal_the_groups_are_shown_live_and_it_is_given_back(tmp_path: Path) -> None:
    file = group_file(tmp_path, replicas=1, **FIXED)
    words = command(tmp_path / "state", file)
    with a_person(words, 110, 30, **tools()) as person:
        rows = person.wait_to_see("MEMBER", "Balanced: Everybody", f"{NAME}  eventhubs  python")
        assert rows[0] == f"tidegate up · {tmp_path / 'state'} · Ctrl-C ends it"[:110]
        person.process.send_signal(signal.SIGINT)
        assert person.ended() == 0
        after = person.written.rpartition("\x1b[?1049l")[2]
        assert "has ended" in after and after.rstrip().endswith("all of it has ended")
