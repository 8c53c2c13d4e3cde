"""An operator that looks after 500 groups of 32 partitions: what it takes, and how soon it decides.
Then another that begins where they all stand, and one whose 500 groups sleep: operated_asleep.py.

`make bench-operator`; with `QUICK=1`, `COUNT=100` asks for so many groups. A bare control plane
makes the pods, which are told to be ready (operated_pods.py); the ledgers are a server of the
benchmark's own (operated_ledgers.py), in which every checkpoint and every figure moves on all the
time; the hub is ours, in a process of its own.

Rules: the operator is a process as people start it. All of it shares this machine's cores; what is
counted is the operator's own CPU and memory. A decision counts from when its cause was written to
the API, or shown by the ledger, to when the operator's write has arrived. There is no peer: what
scales consumers elsewhere knows neither partitions nor who reads them.
"""

from __future__ import annotations

import math
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from harness import Bench, cpu_seconds, make_line, resident_mb, resident_peak_mb
from hub_server import server
from operated_ledgers import Ledgers, ledgers
from operated_pods import GROUPS, LABEL, Kubelets, kubelets

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cluster"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "scripts"))
import operated_asleep as asleep
from programs import kube_folder
from store import the_store
from support.azurite import ACCOUNT, ACCOUNT_KEY
from support.cluster_groups import control_plane_with_groups
from support.operator_process import OperatorProcess, operator_process

PARTITIONS, PODS = 32, 2
HUB, SECRET = "activity", "azure"
CORE, MEMORY_MB, DECIDED_S = 0.5, 300.0, 5.0
# Of a pod, while decisions are measured: who is there at once is not waited for.
START_S = DECIDED_S + 1.0
# At each group, until another operator has settled.
_LOOKS = 4
NEEDS_KUBERNETES = (
    "Kubernetes' programs are not there: run `python3 cluster/manage.py programs` once"
)


@dataclass(frozen=True, slots=True)
class Size:
    """How much there is to do."""

    groups: int
    steady_s: float
    decisions: int  # of each kind
    made_within_s: float


FULL, QUICK = Size(500, 60.0, 20, 900.0), Size(25, 6.0, 2, 60.0)


def size_of(environment: Mapping[str, str], *, quick: bool) -> Size:
    if not quick:
        return FULL
    groups = int(environment.get("COUNT") or QUICK.groups)
    return replace(QUICK, groups=groups, made_within_s=max(QUICK.made_within_s, groups * 1.0))


def group_document(name: str) -> dict[str, object]:
    def of_secret(key: str) -> dict[str, str]:
        return {"secret": SECRET, "key": key}

    return {
        "apiVersion": "tidegate.dev/v1alpha1",
        "kind": "ConsumerGroup",
        "metadata": {"name": name},
        "spec": {
            "source": {"eventHubs": {"hub": HUB, "connectionString": of_secret("events")}},
            "ledger": {"container": name, "connectionString": of_secret("storage")},
            "handler": {"code": "tidegate.handlers.printing:handle"},
            "scaling": {"min": 1, "max": 8},
            "replicas": PODS,
        },
    }


def is_settled(kubes: Kubelets, count: int) -> bool:
    """Whether every group is Ready, as its status says."""
    if len(kubes.groups) < count:
        return False
    return all(
        (group.get("status") or {}).get("ready") == f"{PODS}/{PODS}"
        and group["status"].get("owned") == PARTITIONS
        for group in list(kubes.groups.values())
    )


class Decisions:
    """How long each kind of decision took."""

    def __init__(self, kubes: Kubelets, books: Ledgers, dice: random.Random) -> None:
        self._kubes = kubes
        self._books = books
        self._dice = dice
        self.took: dict[str, list[float]] = {}

    def note(self, kind: str, seconds: float) -> None:
        self.took.setdefault(kind, []).append(seconds)

    def one_of_each(self, name: str) -> None:
        """All that can be decided for one group, one after another."""
        self._scale_out(name)
        self._scale_in(name)
        self._death(name)

    def _replicas(self, name: str) -> int:
        return int(self._kubes.deployments[name]["spec"]["replicas"])

    def _pods(self, name: str) -> list[str]:
        return sorted(
            pod
            for pod, found in list(self._kubes.pods.items())
            if found["metadata"]["labels"][LABEL] == name
            and found["status"].get("phase") == "Running"
        )

    def _scale_out(self, name: str) -> None:
        begun = time.monotonic()
        self._kubes.change(f"{GROUPS}/{name}", {"spec": {"replicas": PODS + 1}})
        done = self._kubes.wait(lambda: self._replicas(name) == PODS + 1, 60, "a scale-out")
        self.note("a wish for more pods: the Deployment grows", done - begun)
        group = self._books.groups[name]
        # One that has joined before is not written down any more: that is too late, and counts.
        self._until(lambda: PODS + 1 in (self._expected(name), len(group.lives)))
        self.note("a new pod: the roster expects it", time.monotonic() - done)
        self._kubes.wait(lambda: len(self._pods(name)) == PODS + 1, 60, "a pod")
        self._until(lambda: len(set(group.owners.values())) == PODS + 1)

    def _expected(self, name: str) -> int:
        roster = self._books.groups[name].roster
        return len(roster.expected) if roster is not None else 0

    def _scale_in(self, name: str) -> None:
        group, begun = self._books.groups[name], time.monotonic()
        self._kubes.change(f"{GROUPS}/{name}", {"spec": {"replicas": PODS}})
        self._until(lambda: group.rosters[-1][0] > begun and bool(group.rosters[-1][1].leaving))
        self.note(
            "a wish for fewer pods: the roster names who leaves", group.rosters[-1][0] - begun
        )
        leaving = set(group.rosters[-1][1].leaving)
        self._until(lambda: not leaving & set(group.owners.values()))
        empty = time.monotonic()
        done = self._kubes.wait(lambda: self._replicas(name) == PODS, 60, "a scale-in")
        self.note("who leaves has handed over: the Deployment shrinks", done - empty)
        self._kubes.wait(lambda: len(self._pods(name)) == PODS, 60, "a pod to go")

    def _death(self, name: str) -> None:
        group, pod = self._books.groups[name], self._dice.choice(self._pods(name))
        its, before = sum(who == pod for who in group.owners.values()), len(group.broken)
        begun = time.monotonic()
        self._kubes.fail(pod)
        self._until(lambda: len(group.broken) - before >= its)
        self.note("a pod that ended: all of its leases are broken", group.broken[-1][0] - begun)

    def _until(self, condition: Callable[[], bool]) -> None:
        """Of the ledgers, which nobody tells of."""
        deadline = time.monotonic() + 60
        while not condition():
            if time.monotonic() > deadline:
                raise TimeoutError(f"a decision did not come: {self.took}")
            time.sleep(0.005)


def measure_steady(bench: Bench, operator: OperatorProcess, books: Ledgers, size: Size) -> None:
    """Nothing is done to the groups; they read."""
    pid = operator.process.pid
    before, listings, begun = cpu_seconds(pid), books.listings, time.monotonic()
    # What is measured is the time itself.
    time.sleep(size.steady_s)
    seconds = time.monotonic() - begun
    used = (cpu_seconds(pid) - before) / seconds
    what = f"{size.groups} groups of {PARTITIONS} partitions that read"
    is_full = size is FULL
    bench.add(make_line(f"{what}: CPU", "cores", ours=round(used, 3),
                        target=CORE if is_full else None))  # fmt: skip
    bench.add(make_line(f"{what}: looks at ledgers", "/s",
                        ours=round((books.listings - listings) / seconds, 1)))  # fmt: skip
    bench.add(make_line(f"{what}: resident", "MB", ours=round(resident_mb(pid), 1),
                        target=MEMORY_MB))  # fmt: skip


def measure(bench: Bench, programs: Path, size: Size, stack: ExitStack) -> None:
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-operator-")))
    hub = stack.enter_context(server("--hub", f"{HUB}:{PARTITIONS}"))
    books = stack.enter_context(ledgers(PARTITIONS))
    cluster = stack.enter_context(control_plane_with_groups(programs, folder / "state"))
    inside = stack.enter_context(cluster.new_namespace("bench"))
    kubes = stack.enter_context(kubelets(inside.kubeconfig, inside.namespace, books))
    storage = (
        f"DefaultEndpointsProtocol=http;AccountName={ACCOUNT};AccountKey={ACCOUNT_KEY};"
        f"BlobEndpoint=http://127.0.0.1:{books.port}/{ACCOUNT};"
    )
    events = (
        f"Endpoint=sb://localhost:{hub.port};SharedAccessKeyName=RootManageSharedAccessKey;"
        "SharedAccessKey=SAS_KEY_VALUE;UseDevelopmentEmulator=true"
    )
    inside.said(
        "create", "secret", "generic", SECRET, f"--from-literal=events={events}",
        f"--from-literal=storage={storage}",
    )  # fmt: skip
    names = [f"group-{number:03}" for number in range(size.groups)]
    for name in names:
        books.add(name)
        kubes.ask("POST", GROUPS, group_document(name))
    operator = stack.enter_context(operator_process(inside, folder))
    begun = time.monotonic()
    operator.until_leading()
    done = kubes.wait(lambda: is_settled(kubes, size.groups), size.made_within_s, "all groups")
    bench.add(make_line(f"{size.groups} groups made from nothing, all Ready", "s",
                        ours=round(done - begun, 1)))  # fmt: skip
    measure_steady(bench, operator, books, size)
    kubes.start_s = START_S
    dice = random.Random(1)
    decisions = Decisions(kubes, books, dice)
    for name in dice.sample(names, size.decisions):
        decisions.one_of_each(name)
    for what, took in decisions.took.items():
        show(bench, what, took)
    bench.add(make_line("most resident at any time", "MB", target=MEMORY_MB,
                        ours=round(resident_peak_mb(operator.process.pid), 1)))  # fmt: skip
    assert not operator.errors(), operator.errors()
    operator.stop()
    measure_anew(bench, stack.enter_context(operator_process(inside, folder, "two")), books, size)


def measure_anew(bench: Bench, operator: OperatorProcess, books: Ledgers, size: Size) -> None:
    """Another operator, to which all groups are told of at once."""
    operator.until_leading()
    before, deadline = books.listings, time.monotonic() + size.made_within_s
    while books.listings - before < _LOOKS * size.groups:
        assert time.monotonic() < deadline, f"it has looked {books.listings - before} times"
        time.sleep(0.1)
    bench.add(make_line(f"begun where {size.groups} groups stand: most resident", "MB",
                        ours=round(resident_peak_mb(operator.process.pid), 1),
                        target=MEMORY_MB))  # fmt: skip
    assert not operator.errors(), operator.errors()


def show(bench: Bench, what: str, took: Sequence[float]) -> None:
    ordered = sorted(took)
    worst = ordered[max(0, math.ceil(len(ordered) * 0.95) - 1)]
    bench.add(make_line(f"{what}, middle", "s", ours=round(statistics.median(took), 3)))
    bench.add(make_line(f"{what}, p95", "s", ours=round(worst, 3), target=DECIDED_S))


def main() -> None:
    bench = Bench("operator")
    named = os.environ.get("TIDEGATE_KUBE")
    programs = Path(named) if named else kube_folder(the_store())
    if not programs.exists():
        bench.add(make_line("an operator with 500 groups", "", reason=NEEDS_KUBERNETES))
    else:
        with ExitStack() as stack:
            measure(bench, programs, size_of(os.environ, quick=bench.quick), stack)
        asleep.measure_asleep(bench, programs, asleep.QUICK if bench.quick else asleep.FULL)
        if bench.quick:
            what = f"{FULL.groups} groups of {PARTITIONS} partitions that read: CPU"
            why = "takes minutes: run without QUICK=1"
            bench.add(make_line(what, "cores", target=CORE, reason=why))
    bench.finish()


if __name__ == "__main__":
    main()
