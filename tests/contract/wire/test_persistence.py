"""A hub that keeps its data: what it acknowledged is there again, whatever ended it."""

from __future__ import annotations

import gc
import itertools
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from contract.wire.stored import HUB, PeerWriter, SdkWriter, Writer, feed, read_all
from support.amqp_peer import Peer, SocketLine
from support.hub_messages import batch, data
from support.hub_process import HubProcess, hub_process
from support.wait import wait_until
from tidegate_amqp import Accepted, Rejected
from tidegate_amqp.sections import BATCH_FORMAT

pytestmark = [
    pytest.mark.slow,
    # The SDK leaves sockets of a hub that was killed unclosed; they are swept up after each test.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
ROUNDS = 4


@pytest.fixture(autouse=True)
def _swept() -> Iterator[None]:
    yield
    gc.collect()


def started(tmp_path: Path, *arguments: str) -> HubProcess:
    return HubProcess(tmp_path, "--data", str(tmp_path / "data"), *arguments).until_ready()


def store(hub: HubProcess, partition: str, *bodies: bytes) -> None:
    with Peer(SocketLine(hub.port)) as peer:
        link = peer.attach_sender(f"{HUB}/Partitions/{partition}")
        messages = batch(*(data(body) for body in bodies))
        assert peer.publish(link, messages, message_format=BATCH_FORMAT) == Accepted()


def known_to(writers: list[Writer]) -> list[int]:
    """What any of them was told is stored. The SDK takes some seconds to notice its hub's end."""
    for writer in writers:
        writer.join()
    return [number for writer in writers for number in writer.acknowledged]


def newest_segment(tmp_path: Path, partition: str) -> Path:
    home = tmp_path / "data" / "hubs" / HUB / partition
    return max(home.glob("*.seg"))


def kill_while_both_write(
    hub: HubProcess, numbers: dict[str, Iterator[int]], drawn: int
) -> tuple[Writer, Writer]:
    """Kills the hub when the SDK and a peer are writing, after a drawn number of the latter's."""
    by_sdk = SdkWriter(hub, "0", numbers["0"])
    wait_until(lambda: by_sdk.acknowledged, 20, "an acknowledgement to the SDK")
    by_peer = PeerWriter(hub, "1", numbers["1"])
    wait_until(lambda: len(by_peer.acknowledged) >= drawn, 20, f"{drawn} acknowledged events")
    hub.kill()
    return by_sdk, by_peer


def test_what_was_acknowledged_survives_sigkill_in_order(tmp_path: Path) -> None:
    dice = random.Random(20_250_501)
    numbers: dict[str, Iterator[int]] = {each: itertools.count() for each in ("0", "1")}
    writers: dict[str, list[Writer]] = {"0": [], "1": []}
    declared = ["--hub", f"{HUB}:2:analytics"]
    for _ in range(ROUNDS):
        hub = started(tmp_path, "--fsync", "always", *declared)
        declared = []  # from here on the hub remembers by itself
        killed = kill_while_both_write(hub, numbers, dice.randrange(3_000))
        for partition, writer in zip(("0", "1"), killed, strict=True):
            writers[partition].append(writer)
    acknowledged = {each: known_to(several) for each, several in writers.items()}
    with hub_process(tmp_path, "--data", str(tmp_path / "data")) as hub:
        assert f"hub {HUB}: 2 partitions, groups $Default, analytics" in hub.said
        for partition, known in acknowledged.items():
            found = read_all(hub, partition)
            stored = [each.number for each in found]
            assert stored == sorted(set(stored)), "out of order, or twice"
            assert set(known) <= set(stored), "acknowledged and not there"
            assert [each.sequence for each in found] == [*range(len(found))]
            middle = found[len(found) // 2]
            rest = read_all(hub, partition, f"amqp.annotation.x-opt-offset > '{middle.offset}'")
            assert rest == found[len(found) // 2 + 1 :]


@pytest.mark.parametrize("fsync", ["always", "interval", "never"])
def test_a_clean_stop_keeps_everything_and_cuts_nothing(tmp_path: Path, fsync: str) -> None:
    hub = started(tmp_path, "--fsync", fsync, "--hub", f"{HUB}:1:analytics")
    store(hub, "0", b"1", b"2", b"3")
    assert hub.stop() == 0
    with hub_process(tmp_path, "--data", str(tmp_path / "data")) as again:
        assert [each.number for each in read_all(again, "0")] == [1, 2, 3]
        assert again.complained == ""
        store(again, "0", b"4")
        assert [each.number for each in read_all(again, "0")] == [1, 2, 3, 4]
        with Peer(SocketLine(again.port)) as peer:
            assert peer.attach_receiver(feed("0", "ANALYTICS")).is_attached


def test_what_recovery_cuts_is_said(tmp_path: Path) -> None:
    hub = started(tmp_path, "--fsync", "always", "--hub", f"{HUB}:1")
    store(hub, "0", b"1", b"2")
    whole = newest_segment(tmp_path, "0").stat().st_size
    store(hub, "0", b"3 is torn")
    hub.kill()
    segment = newest_segment(tmp_path, "0")
    with segment.open("r+b") as file:
        file.truncate(segment.stat().st_size - 5)
    torn = segment.stat().st_size - whole
    with hub_process(tmp_path, "--data", str(tmp_path / "data")) as again:
        assert f"{HUB}/0: cut {torn} bytes after sequence 1: " in again.complained
        assert [each.number for each in read_all(again, "0")] == [1, 2]
        store(again, "0", b"4")
        assert [each.sequence for each in read_all(again, "0")] == [0, 1, 2]


def test_a_full_disk_refuses_sends_serves_readers_and_recovers(tmp_path: Path) -> None:
    arguments = ("--data", str(tmp_path / "data"), "--fsync", "always", "--hub", f"{HUB}:2")
    with hub_process(tmp_path, *arguments) as hub, Peer(SocketLine(hub.port)) as peer:
        links = [peer.attach_sender(f"{HUB}/Partitions/{number}") for number in (0, 1)]
        assert peer.publish(links[0], data(b"1")) == Accepted()
        hub.let_files_grow_to(newest_segment(tmp_path, "0").stat().st_size + 50)
        for _ in range(3):
            state = peer.publish(links[0], data(b"2 " + b"x" * 1_000))
            assert isinstance(state, Rejected)
            assert state.error.condition == "amqp:resource-limit-exceeded"
            assert state.error.description.startswith(
                "The disk that holds the hub's data is full, so nothing of this message was "
                "stored. Free some space, or shorten the retention, and send it again."
            )
        assert [each.number for each in read_all(hub, "0")] == [1]
        assert "disk of" in hub.complained
        assert hub.complained.count("\n") <= 2, "the log is not flooded"
        hub.let_files_grow_to(None)
        for link in links:
            assert peer.publish(link, data(b"3")) == Accepted()
        assert [each.number for each in read_all(hub, "0")] == [1, 3]
    with hub_process(tmp_path, "--data", str(tmp_path / "data")) as again:
        assert [each.number for each in read_all(again, "0")] == [1, 3]


def test_retention_by_bytes_trims_what_is_stored_and_readers_go_on(tmp_path: Path) -> None:
    hub = started(tmp_path, "--hub", f"{HUB}:1")
    for first in range(0, 4_000, 500):
        store(hub, "0", *(b"%d " % number + b"x" * 1_000 for number in range(first, first + 500)))
    assert hub.stop() == 0
    with hub_process(tmp_path, "--data", str(tmp_path / "data"), "--retention-mb", "1") as again:
        wait_until(lambda: read_all(again, "0")[0].sequence > 0, 10, "events to be trimmed")
        left = read_all(again, "0")
        assert left[-1].number == 3_999
        assert (1 << 20) // 1_200 < len(left) <= (1 << 20) // 1_000
        late = read_all(again, "0", "amqp.annotation.x-opt-sequence-number > '5'")
        assert late == left


def test_retention_by_time_trims_what_is_stored(tmp_path: Path) -> None:
    with hub_process(tmp_path, "--hub", f"{HUB}:1", "--retention-hours", "0.00005") as hub:
        store(hub, "0", b"1", b"2")
        wait_until(lambda: not read_all(hub, "0"), 20, "events to be trimmed")
        store(hub, "0", b"3")
        with Peer(SocketLine(hub.port)) as peer:
            link = peer.attach_receiver(feed("0"))
            assert link.is_attached


@pytest.mark.parametrize("is_kept", [False, True])
def test_bodies_beyond_the_memory_budget_are_served_from_disk(
    tmp_path: Path, is_kept: bool
) -> None:
    where = ["--data", str(tmp_path / "data")] if is_kept else []
    with hub_process(tmp_path, "--hub", f"{HUB}:1", "--memory-mb", "4", *where) as hub:
        before = hub.resident_bytes
        body = b" " + b"x" * 1_000
        for first in range(0, 40_000, 800):
            store(hub, "0", *(b"%d" % number + body for number in range(first, first + 800)))
        assert hub.resident_bytes - before < 18 << 20
        assert [each.number for each in read_all(hub, "0")] == [*range(40_000)]
        assert hub.resident_bytes - before < 18 << 20
