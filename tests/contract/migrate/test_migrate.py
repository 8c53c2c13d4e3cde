"""`tidegate migrate` between leases in an embedded Cosmos DB and a ledger in Azurite.

The processor is one that writes its leases as the .NET and Java ones do; the group is `tidegate
run`. What one has handled the other does not see again, and what it has not it sees.
"""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from azure.cosmos import CosmosClient

from support.wait import wait_until
from tidegate.ledger.cosmos.dialects import Dialect
from tidegate_cosmos.testing import RunningCosmos

_TIDEGATE = Path(sys.executable).with_name("tidegate")
_PREFIX = "orders"
_HANDLER = """\
import os
_log = os.open(__file__.replace("handler.py", "seen"), os.O_WRONLY | os.O_APPEND | os.O_CREAT)
def handle(events, context):
    os.write(_log, "".join(f"{event['number']}\\n" for event in events).encode())
"""
_FILE = """\
apiVersion: tidegate.dev/v1alpha1
kind: ConsumerGroup
metadata: {{name: orders}}
spec:
  source:
    cosmos:
      {{database: d, container: monitored, connectionString: {{env: COSMOS}}, start: earliest,
        pollSeconds: 0.2}}
  ledger: {{container: {container}, connectionString: {{env: STORAGE}}, create: true}}
  handler: {{code: "handler.py:handle"}}
  delivery: {{checkpoint: {{everySeconds: 0.2}}}}
"""


@dataclass
class Place:
    """A monitored container, a lease container, and a group file."""

    cosmos: RunningCosmos
    folder: Path
    storage: str
    written: int = 0

    def write(self, count: int) -> None:
        with CosmosClient(self.cosmos.endpoint, self.cosmos.key) as client:
            monitored = client.get_database_client("d").get_container_client("monitored")
            for number in range(self.written, self.written + count):
                item = {"id": str(number), "home": f"home-{number % 37}", "number": number}
                monitored.create_item(item)
        self.written += count

    @property
    def seen(self) -> list[int]:
        path = self.folder / "seen"
        return [int(line) for line in path.read_text().splitlines()] if path.exists() else []

    def run_until_all_is_seen(self) -> None:
        """A member of the group, from its start to a clean stop."""
        with (self.folder / "run.log").open("ab") as log:
            process = subprocess.Popen(
                [str(_TIDEGATE), "run", str(self.folder / "group.yaml"), "--no-view"],
                env=self.environment,
                stdout=log,
                stderr=log,
            )
            with process:
                try:
                    wait_until(lambda: len({*self.seen}) == self.written, 60, "all items")
                finally:
                    process.terminate()
                assert process.wait(60) == 0

    @property
    def environment(self) -> dict[str, str]:
        return os.environ | {"COSMOS": self.cosmos.connection_string, "STORAGE": self.storage}

    def migrate(self, way: str, *more: str) -> tuple[int, str]:
        """Its exit code, and all that it says."""
        place = ("--database", "d", "--container", "leases", "--prefix", _PREFIX)
        done = subprocess.run(
            [str(_TIDEGATE), "migrate", way, str(self.folder / "group.yaml"), *place, *more],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr

    def leases(self) -> dict[str, tuple[str | None, str | None]]:
        """Owner and continuation of each lease, by its token."""
        items = self.cosmos.items("d", "leases")
        return {
            str(each["LeaseToken"]): (each["Owner"], each["ContinuationToken"])
            for each in items
            if "LeaseToken" in each
        }


@pytest.fixture
def place(cosmos: RunningCosmos, azurite: str, tmp_path: Path) -> Iterator[Place]:
    cosmos.add_container("d", "leases")
    cosmos.add_container("d", "monitored", "/home", ranges=2)
    (tmp_path / "handler.py").write_text(_HANDLER, encoding="utf-8")
    text = _FILE.format(container=f"orders-{uuid.uuid4().hex[:12]}")
    (tmp_path / "group.yaml").write_text(text, encoding="utf-8")
    place = Place(cosmos, tmp_path, azurite)
    place.write(40)
    yield place


@pytest.mark.slow
@pytest.mark.parametrize("dialect", list(Dialect))
def test_positions_go_to_leases_and_come_back_and_nothing_is_read_again(
    place: Place, dialect: Dialect
) -> None:
    place.run_until_all_is_seen()
    code, said = place.migrate("to-leases", "--dialect", dialect)
    assert code == 0, said
    assert "done: 2 positions written, and read again" in said
    assert all(owner is None for owner, _ in place.leases().values())
    assert all(etag for _, etag in place.leases().values())
    # A group of its own, which knows of nothing but the leases.
    again = place.folder / "group.yaml"
    again.write_text(again.read_text().replace("container: orders-", "container: other-"))
    place.write(20)
    code, said = place.migrate("from-leases")
    assert code == 0, said
    place.run_until_all_is_seen()
    assert sorted(place.seen) == list(range(place.written)), "each once"


@pytest.mark.slow
def test_moving_twice_does_nothing_twice_and_a_dry_run_nothing_at_all(place: Place) -> None:
    place.run_until_all_is_seen()
    code, said = place.migrate("to-leases", "--dialect", "netEpk", "--dry-run")
    assert (code, place.leases()) == (0, {}), said
    for _ in range(2):
        code, said = place.migrate("to-leases", "--dialect", "netEpk")
        assert code == 0, said
    code, said = place.migrate("from-leases")
    assert code == 0, said
    assert said.count("stands there already") == 2


@pytest.mark.slow
def test_what_stands_in_the_way_is_said_and_nothing_is_written(place: Place) -> None:
    place.run_until_all_is_seen()
    assert place.migrate("to-leases", "--dialect", "netV0")[0] == 0
    before = place.leases()
    place.write(20)
    place.run_until_all_is_seen()
    code, said = place.migrate("from-leases")
    assert code == 1
    assert "has a checkpoint in the ledger already" in said
    assert "nothing was written" in said
    code, said = place.migrate("to-leases")
    assert code == 1
    assert "--overwrite writes over it" in said
    assert place.leases() == before
    code, said = place.migrate("to-leases", "--dialect", "javaEpk")
    assert code == 1
    assert "are in the dialect netV0" in said
    assert place.leases() == before
    assert place.migrate("to-leases", "--overwrite")[0] == 0
    assert place.leases() != before


@pytest.mark.slow
def test_a_group_that_has_not_yet_followed_a_split_is_not_half_moved(place: Place) -> None:
    place.run_until_all_is_seen()
    place.cosmos.split("d", "monitored", max(place.cosmos.ranges("d", "monitored")))
    for more in ("--dry-run", "--overwrite"):
        code, said = place.migrate("to-leases", "--dialect", "javaPk", more)
        assert code == 1, said
        assert "can have no lease: the service has split its range '1' since" in said
        assert "Traceback" not in said
        assert place.leases() == {}
    code, said = place.migrate("to-leases", "--dialect", "javaEpk")
    assert code == 0, said


@pytest.mark.slow
def test_a_living_host_is_not_passed_over(place: Place) -> None:
    place.run_until_all_is_seen()
    assert place.migrate("to-leases", "--dialect", "javaPk")[0] == 0
    with CosmosClient(place.cosmos.endpoint, place.cosmos.key) as client:
        leases = client.get_database_client("d").get_container_client("leases")
        for item in place.cosmos.items("d", "leases"):
            if "LeaseToken" in item:
                leases.replace_item(item["id"], item | {"Owner": "host-1"})
    code, said = place.migrate("from-leases")
    assert code == 1
    assert "leases are owned by living hosts (host-1)" in said
    assert place.migrate("from-leases", "--even-if-alive")[0] == 0


def test_leases_that_are_not_there_or_of_another_are_named(place: Place) -> None:
    code, said = place.migrate("from-leases")
    assert code == 1
    assert f"nothing that begins with '{_PREFIX}" in said
    with CosmosClient(place.cosmos.endpoint, place.cosmos.key) as client:
        leases = client.get_database_client("d").get_container_client("leases")
        leases.create_item({"id": f"{_PREFIX}localhost_AAAA_BBBB..0", "LeaseToken": "0"})
    code, said = place.migrate("from-leases")
    assert code == 1
    assert f"'{_PREFIX}localhost_AAAA_BBBB..0'" in said
    assert "Nothing was overwritten" in said


@pytest.mark.parametrize("way", ["from-leases", "to-leases"])
def test_positions_of_all_versions_and_deletes_are_not_moved(place: Place, way: str) -> None:
    file = place.folder / "group.yaml"
    latest = "start: earliest"
    file.write_text(file.read_text().replace(latest, "mode: allVersionsAndDeletes"))
    code, said = place.migrate(way, "--dialect", "javaEpk")
    assert code == 78
    assert "positions of allVersionsAndDeletes cannot be moved" in said
    assert place.leases() == {}


def test_a_monitored_container_that_is_missing_is_named(place: Place) -> None:
    file = place.folder / "group.yaml"
    file.write_text(file.read_text().replace("container: monitored", "container: nowhere"))
    code, said = place.migrate("from-leases")
    assert code == 1
    assert "the monitored container 'nowhere' of database 'd'" in said
    assert "Traceback" not in said


def test_a_container_that_is_none_of_leases_is_refused(place: Place) -> None:
    done = place.migrate("to-leases", "--dialect", "netEpk", "--container", "monitored")
    assert done[0] == 1
    assert "has the partition key /home" in done[1]
