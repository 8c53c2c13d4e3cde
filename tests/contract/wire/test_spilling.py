"""A hub without a data directory takes more than fits in memory, or reports that it cannot."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.amqp_peer import Peer, SocketLine
from support.hub_messages import batch, data
from support.hub_process import HubProcess, hub_process
from support.small_disk import SmallDisk
from tidegate_amqp import Accepted, Rejected
from tidegate_amqp.sections import BATCH_FORMAT

HUB = "telemetry"
MIB = 1 << 20
# About a MiB of events in one delivery.
EVENTS = 900
BATCH = batch(*(data(b"x" * 1000) for _ in range(EVENTS)))


def send(peer: Peer, times: int) -> list[Accepted | Rejected]:
    """The answers, one for each MiB."""
    link = peer.attach_sender(HUB)
    return [peer.publish(link, BATCH, message_format=BATCH_FORMAT) for _ in range(times)]


def are_taken(answers: list[Accepted | Rejected]) -> bool:
    return all(answer == Accepted() for answer in answers)


def disk_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*.seg"))


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder for temporary files of the hub, which does not exist yet."""
    folder = tmp_path / "temporary"
    monkeypatch.setenv("TMPDIR", str(folder))
    yield folder


def test_a_hub_takes_many_times_what_it_keeps(tmp_path: Path, temporary: Path) -> None:
    temporary.mkdir()
    options = ("--hub", f"{HUB}:2", "--memory-mb", "2", "--retention-total-mb", "16")
    with hub_process(tmp_path, *options) as hub, Peer(SocketLine(hub.port)) as peer:
        for _ in range(8):
            assert are_taken(send(peer, 16))
            assert 0 < disk_bytes(temporary) <= 16 * MIB
        assert hub.complained == ""


def test_a_hub_that_cannot_spill_says_at_its_start_what_that_means_and_what_to_do(
    tmp_path: Path, temporary: Path
) -> None:
    options = ("--hub", f"{HUB}:1", "--memory-mb", "8")
    with hub_process(tmp_path, *options) as hub:
        (line,) = hub.complained.splitlines()
        assert line.startswith("more than 8 MB of events cannot be stored, and sends are refused")
        assert "Set TMPDIR to a folder on a disk" in line
        assert str(temporary) in line and "No such file or directory" in line
        with Peer(SocketLine(hub.port)) as peer:
            refused = send(peer, 12)[-1]
            assert isinstance(refused, Rejected)
            assert "cannot write to its disk" in str(refused.error.description)
            assert f"{HUB}/0: a send was refused: cannot write" in hub.complained
            # Not for good.
            temporary.mkdir()
            assert are_taken(send(peer, 12))
        assert disk_bytes(temporary) > 0


def test_a_hub_whose_disk_cannot_be_written_says_so_at_its_start(tmp_path: Path) -> None:
    """As in a pod with a read-only root."""
    disk = SmallDisk(tmp_path)
    hub = HubProcess(
        tmp_path / "hub", "--hub", f"{HUB}:1", within=disk.within(is_read_only=True)
    )  # fmt: skip
    try:
        hub.until_ready()
        assert "more than 64 MB of events cannot be stored" in hub.complained
        assert "Read-only file system" in hub.complained
    finally:
        hub.kill()


def test_a_hub_whose_disk_is_full_refuses_sends_until_there_is_room(tmp_path: Path) -> None:
    disk = SmallDisk(tmp_path)
    hub = HubProcess(
        tmp_path / "hub", "--hub", f"{HUB}:1", "--memory-mb", "8", within=disk.within()
    )
    try:
        hub.until_ready()
        assert hub.complained == ""
        with Peer(SocketLine(hub.port)) as peer:
            answers = send(peer, 12)
            assert answers[0] == Accepted()
            refused = answers[-1]
            assert isinstance(refused, Rejected)
            assert refused.error.condition == "amqp:resource-limit-exceeded"
            assert f"a send was refused: disk of {disk.place} is full" in hub.complained
            disk.grow(hub.process.pid, megabytes=64)
            assert are_taken(send(peer, 12))
    finally:
        hub.kill()


def test_a_total_that_is_too_little_for_the_partitions_is_refused(tmp_path: Path) -> None:
    hub = HubProcess(tmp_path, "--hub", f"{HUB}:16", "--retention-total-mb", "16")
    assert hub.process.wait(30) == 2
    assert "--retention-total-mb 16 is too little: each partition needs 2 MB" in hub.complained
