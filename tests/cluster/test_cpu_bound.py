"""Pods whose plain handler computes, with thousands of events waiting and everything by default:
partitions move while calls run, and nothing is handled twice.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from azure.storage.blob import ContainerClient

from support.cluster_counting import Counted, Seen, sender_pod
from support.cluster_group import a_group
from support.cluster_manifests import config_map
from support.cluster_release import Release
from support.cluster_sized import Scaled
from support.ledger_watch import ledger_watch

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

HUB, PARTITIONS = "computed", 16
# So many wait, and then as many come as leave no partition without any.
WAITING, SENT_S, CALM = 21_000, 10.0, 32.0
PAUSE_S, BALANCED_S = 5.0, 30.0
_SUPPORT = Path(__file__).resolve().parents[1] / "support"


class Computed(Counted, Scaled):
    """A group whose events are counted, and a pod that sends to it."""

    sender = "computed"


@pytest.fixture
def computed(release: Release, storage: str, tmp_path: Path) -> Iterator[Computed]:
    """The group with one pod and nothing sent yet."""
    handler = (_SUPPORT / "computing_handler.py").read_text(encoding="utf-8")
    sender = (_SUPPORT / "paced_sender.py").read_text(encoding="utf-8")
    with contextlib.ExitStack() as stack:
        blobs = ContainerClient.from_connection_string(storage, f"{HUB}-seen")
        stack.enter_context(blobs).create_container()
        for partition in range(PARTITIONS):
            blobs.get_blob_client(str(partition)).create_append_blob()
        release.inside.apply(
            config_map("computed-handler", {"handler.py": handler}),
            config_map("computed", {"sender.py": sender}),
        )
        group = stack.enter_context(
            a_group(
                release,
                HUB,
                hub=HUB,
                handler={"configMap": "computed-handler", "code": "handler.py:handle"},
                scaling={"min": 1, "max": 4},
                replicas=1,
            )
        )
        group.until_settled(1, 90)
        release.inside.apply(sender_pod("computed", HUB, str(PARTITIONS), "/scratch/rate"))
        stack.callback(release.inside.tried, "delete", "pod", "computed", "--wait=false")
        group.until(
            "the sender to run",
            lambda: "running" in release.inside.container_state("computed"),
            60,
        )
        ledger = stack.enter_context(ledger_watch(storage, HUB))
        yield Computed(group, tmp_path / "seen.log", blobs, ledger, PARTITIONS)


def scaled(computed: Computed, pods: int) -> tuple[Seen, float]:
    """What happened meanwhile, and how long it took until all are shared."""
    with computed.measured() as seen:
        begun = time.monotonic()
        computed.group.scale(pods)
        computed.group.until_settled(pods, 180)
        took_s = time.monotonic() - begun
    return seen, took_s


def test_partitions_move_while_calls_compute_and_no_event_is_handled_twice(
    computed: Computed, capsys: pytest.CaptureFixture[str]
) -> None:
    begun = computed.send(WAITING / SENT_S)
    computed.group.until("events to wait", lambda: time.time() - begun >= SENT_S, 60)
    computed.send(CALM)
    computed.until_read_on()
    grown, grown_s = scaled(computed, 4)
    shrunk, shrunk_s = scaled(computed, 1)
    with capsys.disabled():
        print(grown.told(f"CPU-bound, 1 -> 4, shared after {grown_s:.1f} s"))
        print(shrunk.told(f"CPU-bound, 4 -> 1, shared after {shrunk_s:.1f} s"))
        print("idle", sorted(grown.idle_s), sorted(shrunk.idle_s))
    assert int(computed.group.status().get("lag", 0)) > 1_000, "events have to wait all the while"
    assert grown.duplicates == shrunk.duplicates == 0
    assert max(grown.longest_pause_s, shrunk.longest_pause_s) <= PAUSE_S
    assert max(grown_s, shrunk_s) <= BALANCED_S
