"""The official Java SDK on tidegate-cosmos: items, queries, the feed, and its own processor.

One Java process plays all scenarios that this run of pytest asks for, each on a container of its
own; hosts of the SDK's change feed processor are processes of their own.
"""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from azure.cosmos import CosmosClient

from contract.hub.line_run import LineRun
from support.tree import ROOT
from support.wait import wait_until
from tidegate_cosmos.running import RunningCosmos, running_cosmos

BUILT = ROOT / ".tools" / "java"
JAVA = ["java", "-cp", f"{BUILT / 'classes'}:{BUILT / 'lib' / '*'}"]
PROGRAM = [*JAVA, "tidegate.cosmos.CosmosContract"]
HOST = [*JAVA, "-Xmx256m", "tidegate.sharing.FeedHost"]

NAMES = (
    "an_item_is_written_and_read",
    "an_old_etag_is_refused",
    "an_item_that_is_there_or_not_is_told_apart",
    "a_query_finds_items_in_all_partitions",
    "a_query_of_one_partition_is_paged",
    "a_container_is_made_and_described",
    "a_throttled_write_is_tried_again",
    "a_wrong_key_is_refused",
    "a_missing_container_is_not_found",
    "the_feed_has_every_item_once",
    "each_range_has_a_feed_of_its_own",
    "a_feed_goes_on_through_splits_and_a_merge",
    "a_feed_from_now_has_what_comes_after",
    "all_versions_and_deletes_are_told",
)


@pytest.fixture(scope="module")
def java_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LineRun]:
    with running_cosmos(admin_port=0) as cosmos:
        stages = {}
        for name in NAMES:
            container = name.replace("_", "-")
            cosmos.add_container("home", container, "/home", ranges=2)
            stages[name] = {
                "endpoint": cosmos.endpoint,
                "key": cosmos.key,
                "admin": f"http://localhost:{cosmos.admin_port}",
                "database": "home",
                "container": container,
            }
        log = tmp_path_factory.mktemp("java") / "stderr.log"
        run = LineRun(PROGRAM, log, told=json.dumps({"stages": stages}))
        yield run
        run.stop()


@pytest.mark.parametrize("name", NAMES)
def test_the_java_client_keeps_the_contract(name: str, java_run: LineRun) -> None:
    java_run.assert_ok(name)


def test_the_java_client_implements_exactly_these_scenarios() -> None:
    listed = subprocess.run([*PROGRAM, "--list"], capture_output=True, check=True, timeout=60)
    assert sorted(json.loads(listed.stdout)) == sorted(NAMES)


class Host:
    """One host of Java's change feed processor, and the numbers of the items that it was given."""

    def __init__(self, cosmos: RunningCosmos, name: str, log: Path, *, by_range: bool) -> None:
        told = {
            "endpoint": cosmos.endpoint,
            "key": cosmos.key,
            "database": "home",
            "monitored": "events",
            "leases": "leases",
            "host": name,
            "prefix": "alarms",
            "byRange": by_range,
            "pageItems": 20,
            "pollMs": 200,
            "acquireMs": 1_000,
            "renewMs": 1_000,
            "expiryMs": 5_000,
        }
        self.items: list[int] = []
        self.lines: list[str] = []
        with log.open("wb") as stderr:
            self.process = subprocess.Popen(
                HOST, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, text=True
            )
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(told) + "\n")
        self.process.stdin.flush()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            word, _, number = line.strip().partition(" ")
            if word == "item":
                self.items.append(int(number))
            else:
                self.lines.append(word)

    def stop(self) -> None:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.close()
        try:
            self.process.wait(30)
        finally:
            self.process.kill()
            self.process.wait()
            self._reader.join()
            self.process.stdout.close()


@pytest.mark.parametrize("by_range", [True, False], ids=["leases by range", "leases by id"])
def test_two_java_hosts_share_leases_through_a_split_and_lose_nothing(
    cosmos: RunningCosmos, tmp_path: Path, by_range: bool
) -> None:
    cosmos.add_container("home", "events", "/home", ranges=4)
    cosmos.add_container("home", "leases", "/id")
    hosts: list[Host] = []
    written = 0
    with CosmosClient(cosmos.endpoint, cosmos.key) as client:
        events = client.get_database_client("home").get_container_client("events")

        def write(count: int) -> None:
            nonlocal written
            for _ in range(count):
                events.create_item({"id": str(written), "home": f"h{written}", "number": written})
                written += 1

        def found() -> set[int]:
            return {number for host in hosts for number in host.items}

        def leases() -> list[dict[str, Any]]:
            return [item for item in cosmos.items("home", "leases") if "LeaseToken" in item]

        def shown() -> object:
            return [(len(host.items), host.lines) for host in hosts], leases()

        try:
            for number in range(2):
                log = tmp_path / f"host-{number}.log"
                hosts.append(Host(cosmos, f"java-{number}", log, by_range=by_range))
            write(100)
            wait_until(
                lambda: len({lease.get("Owner") for lease in leases()}) == 2,
                120,
                "both hosts to own leases",
                detail=shown,
            )
            wait_until(lambda: len(found()) == written, 120, "all items to come", detail=shown)
            children = cosmos.split("home", "events", "1")
            write(200)
            wait_until(lambda: len(found()) == written, 120, "all items to come", detail=shown)
            wait_until(lambda: len(leases()) == 5, 120, "a lease for each range", detail=shown)
            cosmos.split("home", "events", children[0])
            write(200)
            wait_until(lambda: len(found()) == written, 120, "all items to come", detail=shown)
        finally:
            for host in hosts:
                host.stop()
    assert found() == set(range(written))
    given = sum(len(host.items) for host in hosts)
    # At least once: what a host that lost a lease had not written down comes again.
    assert given - written <= 60, (given, written)
