"""A group on Spark in a cluster, under a load that the test sets, whose every event is counted.

    with spark_group(release, storage) as spark:
        spark.send(240)
        spark.until_executors(3, 60)
        spark.send(0)
        spark.assert_exact()

Rules: it counts into the state that stands with each checkpoint, so that sums are exact whatever is
killed. Its pods ask for little CPU: two of each, in a rollout, fit on a small node.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from azure.storage.blob import ContainerClient

from support.cluster_api import Document
from support.cluster_counting import sender_pod
from support.cluster_group import Group, a_group
from support.cluster_manifests import TIDEGATE, config_map, container, pod
from support.cluster_release import SECRET, Release
from tidegate.ledger.layout import read_body

HUB, PARTITIONS = "spark", 6
OBJECTIVE_S, SHRINK_S = 40, 60
PIPELINE = "spark-pipeline"
SCALING: Document = {
    "min": 1,
    "max": 4,
    "objective": {"within": f"{OBJECTIVE_S}s"},
    "shrinkAfterSeconds": SHRINK_S,
}
SMALL: Document = {
    # A batch that takes long keeps partitions from being given away.
    "maxEvents": 600,
    "sparkConf": {"spark.kubernetes.executor.request.cores": "20m"},
    "driver": {
        "template": {
            "spec": {"containers": [{"name": "driver", "resources": {"requests": {"cpu": "20m"}}}]}
        }
    },
}
_HERE = Path(__file__).parent
_RATE = "/scratch/rate"


class SparkGroup:
    """See the module. Made by `spark_group`."""

    def __init__(self, group: Group, blobs: ContainerClient) -> None:
        self.group = group
        self._blobs = blobs

    # --- what is done to it

    def send(self, rate: float) -> None:
        """From now on so many events a second."""
        kubectl = self.group.kubectl
        kubectl.said("exec", "spark-paced", "--", "sh", "-c", f"echo {rate:g} > {_RATE}")

    def kill(self, pod: str, word: str) -> None:
        """The first process of a pod whose command has this word is killed."""
        program = (
            "import glob, os\n"
            "for folder in sorted(glob.glob('/proc/[0-9]*'), key=lambda f: int(f[6:])):\n"
            "    words = open(folder + '/cmdline').read().split(chr(0))\n"
            f"    if {word!r} in words and words[0] != 'tini' and int(folder[6:]) > 1:\n"
            "        os.kill(int(folder[6:]), 9); break\n"
            "else: raise SystemExit('it does not run')"
        )
        self.group.kubectl.said("exec", pod, "--", "/opt/tidegate/bin/python", "-c", program)

    # --- how it is

    def spark(self) -> Document:
        found: Document = self.group.status().get("spark") or {}
        return found

    def pods(self, role: str) -> list[str]:
        """Those that are there to stay."""
        return sorted(
            each["metadata"]["name"]
            for each in self.group.pods()
            if each["metadata"]["labels"].get("tidegate.dev/role") == role
            and "deletionTimestamp" not in each["metadata"]
        )

    def restarts(self, pod: str) -> int:
        """How often its container was begun anew."""
        (container,) = self.group.kubectl.read("pod", pod)["status"]["containerStatuses"]
        return int(container["restartCount"])

    def is_settled(self, executors: int) -> bool:
        status = self.group.status()
        members = {each["name"] for each in status.get("members", ())}
        return (
            status.get("ready") == f"{executors}/{executors}"
            and status.get("state") == "Balanced"
            and self.group.is_so("Ready")
            and len(self.pods("executor")) == executors
            and len(self.pods("driver")) == min(executors, 1)
            and set(self.group.owners().values()) <= members
            # A pod is ready before its member has joined.
            and len(set(self.group.owners().values())) == executors
            and len(self.group.owners()) == PARTITIONS
        )

    def until_settled(self, executors: int, seconds: float) -> None:
        self.group.until(
            f"{executors} executors that share all", lambda: self.is_settled(executors), seconds
        )

    def figures(self, metric: str) -> float:
        """Of the driver that lives, the sum of all lines of a metric."""
        program = (
            "from urllib.request import urlopen\n"
            "print(urlopen('http://127.0.0.1:9090/metrics', timeout=10).read().decode())"
        )
        (driver,) = self.pods("driver")
        python = "/opt/tidegate/bin/python"
        said = self.group.kubectl.said("exec", driver, "--", python, "-c", program)
        assert "tidegate_spark_batches_total" in said, "the driver tells its figures"
        lines = [line for line in said.splitlines() if line.startswith(f"{metric}{{")]
        return sum(float(line.rpartition(" ")[2]) for line in lines)

    def until_wanted(self, is_it: Any, seconds: float) -> int:
        def found() -> int:
            wanted = int(self.group.status().get("wanted") or 0)
            return wanted if is_it(wanted) else 0

        return self.group.until("another number of executors to be wanted", found, seconds)

    def until_drained(self, seconds: float) -> None:
        """Nothing waits, by the hub's own word."""

        def is_drained() -> bool:
            status = self.group.status()
            return status.get("lag") == 0 and status.get("lagPartitions") == PARTITIONS

        self.group.until("all to be handled", is_drained, seconds)

    def counted(self) -> dict[str, tuple[int, int]]:
        """By partition: how many were counted, and how many the checkpoint says."""
        found = {}
        for row in self._blobs.list_blobs(include=["metadata"]):
            if "/checkpoint/" in row.name and int(row.metadata["sequencenumber"]) >= 0:
                body = self._blobs.download_blob(row.name).readall()
                position, state = read_body(body)
                counted = int(json.loads(state)["n"])
                found[row.name.rpartition("/")[2]] = counted, position.sequence + 1
        return found

    def assert_exact(self, seconds: float = 120) -> None:
        """All that was sent is handled, and was counted once."""
        self.send(0)
        self.until_drained(seconds)

        def is_written() -> bool:
            found = self.counted()
            states = self.group.status()["partitionStates"]
            ends = {each["partition"]: each["sequenceNumber"] + 1 for each in states}
            return {p: stood for p, (_, stood) in found.items()} == ends

        # A status in which only positions have changed is written each 30 s.
        self.group.until("the last checkpoints", is_written, 90)
        for partition, (counted, stood) in self.counted().items():
            assert counted == stood, f"partition {partition}: {counted} of {stood}"


@contextlib.contextmanager
def spark_group(release: Release, storage: str) -> Iterator[SparkGroup]:
    """The group with one executor, and a sender that sends nothing yet."""
    code = (_HERE / "counting_pipeline.py").read_text(encoding="utf-8")
    sender = (_HERE / "paced_sender.py").read_text(encoding="utf-8")
    with contextlib.ExitStack() as stack:
        release.inside.apply(
            config_map(PIPELINE, {"counting.py": code}),
            config_map("spark-paced", {"sender.py": sender}),
            sender_pod("spark-paced", HUB, str(PARTITIONS), _RATE),
        )
        stack.callback(release.inside.tried, "delete", "pod", "spark-paced", "--wait=false")
        ready = stack.enter_context(
            a_group(
                release,
                HUB,
                hub=HUB,
                engine="spark",
                handler={"configMap": PIPELINE, "code": "counting.py:pipeline"},
                spark=SMALL,
                scaling=SCALING,
                delivery={"timeoutSeconds": 60},
            )
        )
        blobs = ContainerClient.from_connection_string(storage, HUB)
        stack.enter_context(blobs)
        spark = SparkGroup(ready, blobs)
        spark.until_settled(1, 120)
        yield spark


def python_member(name: str) -> Document:
    """A pod of the engine python, made by hand, that joins the group."""
    group = {
        "apiVersion": "tidegate.dev/v1alpha1",
        "kind": "ConsumerGroup",
        "metadata": {"name": HUB},
        "spec": {
            "source": {
                "eventHubs": {"hub": HUB, "connectionString": {"env": "EVENTS"},
                              "start": "earliest"}
            },
            "ledger": {"container": HUB, "connectionString": {"env": "STORAGE"}},
            "handler": {"code": "counting.py:handle"},
            "delivery": {"batch": {"maxEvents": 50}, "timeoutSeconds": 60},
        },
    }  # fmt: skip
    script = (
        'cd /scratch && cp /code/counting.py . && printf %s "$GROUP" > group.yaml && '
        f"exec tidegate run group.yaml --name {name}"
    )
    main = container(TIDEGATE) | {
        "command": ["tini", "--", "sh", "-c", script],
        "env": [
            {"name": "GROUP", "value": json.dumps(group)},
            *(
                {"name": variable, "valueFrom": {"secretKeyRef": {"name": SECRET, "key": key}}}
                for variable, key in (("EVENTS", "events"), ("STORAGE", "storage"))
            ),
        ],
        "volumeMounts": [
            {"name": "code", "mountPath": "/code"}, {"name": "scratch", "mountPath": "/scratch"}
        ],
    }  # fmt: skip
    volumes = [
        {"name": "code", "configMap": {"name": PIPELINE}},
        {"name": "scratch", "emptyDir": {}},
    ]
    return pod(name, main, volumes=volumes, terminationGracePeriodSeconds=30)
