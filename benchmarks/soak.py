"""Soak: groups of `tidegate up` at a steady rate, rolled out and killed for as long as you like.

    MINUTES=60 make soak

Two groups read one hub. Of `work` a consumer is killed every few minutes, and a changed handler is
rolled out now and then; `calm` is left alone, so that its process is one life. What they hold is
sampled: memory, descriptors, sockets, threads and tasks of each process, blobs and bytes of each
ledger. Each has a slope, with what it is at most; at the end every event must have been handled, in
order, and the states must have counted each once.

Rules: every process is its own and shares this machine. What is killed and when follows from SEED,
which is printed. The hub and the storage keep all events and every version of what is written, so
what they take is shown and not judged.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

import psutil
import yaml
from azure.eventhub import EventHubConsumerClient
from azure.storage.blob import ContainerClient

from harness import RESULTS
from slopes import slope_of
from soak_report import Judged, told_of
from soak_samples import (
    FIGURES,
    Sample,
    ledger_sample,
    lives_of,
    sample_of,
    samples_of,
    stood_still_s,
    task_samples,
    wrong_totals,
)

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from support.handled_log import HandledLog
from support.up_process import HUB, NAME, PARTITIONS, UpProcess, group_file, up_process

GROUPS = (NAME, "calm")
RATE = 40.0
EVERY_S, LEDGER_EVERY_S = 5.0, 15.0
# A machine that stands still meanwhile is no reason to give up.
PATIENCE_S = 3600.0
# What each may grow by in an hour and still be flat.
LIMITS = {
    "memory_mb": 5.0,
    "descriptors": 2.0,
    "sockets": 2.0,
    "threads": 1.0,
    "tasks": 2.0,
    "blobs": 1.0,
    "ledger_kb": 2.0,
}
JUDGED = ("operator", *(f"consumer of {group}" for group in GROUPS))


class Soak:
    """One run."""

    def __init__(self, up: UpProcess, folder: Path, minutes: float, seed: int) -> None:
        self._up = up
        self._folder = folder
        self._dice = random.Random(seed)
        self._length_s = minutes * 60
        self.warm_up_s = min(120.0, self._length_s / 6)
        self.samples: list[Sample] = []
        self.looked: list[float] = []
        self.kills = self.rollouts = 0
        storage = (up.state / "storage.txt").read_text(encoding="utf-8").strip()
        self.ledgers = {
            group: ContainerClient.from_connection_string(storage, group) for group in GROUPS
        }

    def run(self) -> None:
        begun = time.monotonic()
        kill_s = max(30.0, min(150.0, self._length_s / 5))
        roll_s = max(50.0, min(480.0, self._length_s / 3))
        kill_at, roll_at, ledger_at = begun + kill_s, begun + roll_s, begun
        while (now := time.monotonic()) < begun + self._length_s:
            self._look(with_ledgers=now >= ledger_at)
            if now >= ledger_at:
                ledger_at = now + LEDGER_EVERY_S
            if now >= kill_at:
                self._kill()
                kill_at = now + kill_s * self._dice.uniform(0.7, 1.3)
            if now >= roll_at:
                self._roll_out()
                roll_at = now + roll_s
            time.sleep(max(0.0, now + EVERY_S - time.monotonic()))

    def _look(self, *, with_ledgers: bool) -> None:
        self.looked.append(time.monotonic())
        operator = sample_of(psutil.Process(self._up.process.pid), "operator")
        self.samples += [operator] if operator is not None else []
        self.samples += samples_of(self._up.processes())
        if with_ledgers:
            self.samples += [ledger_sample(each) for each in self.ledgers.values()]
        if self._up.process.poll() is not None:
            raise ChildProcessError(f"`tidegate up` ended:\n{self._up.told()}")

    def _kill(self) -> None:
        its = [each for each in self._up.consumers() if "/work-" in " ".join(each.cmdline())]
        if its:
            self._dice.choice(its).kill()
            self.kills += 1

    def _roll_out(self) -> None:
        handler = self._folder / "work" / "work_handler.py"
        with handler.open("a", encoding="utf-8") as file:
            file.write(f"# rollout {self.rollouts}\n")
        self.rollouts += 1

    def judged(self) -> list[Judged]:
        for group in GROUPS:
            file = self._folder / group / "totals.log"
            self.samples += task_samples(file, f"consumer of {group}", EVERY_S)
        found = []
        for role in sorted({sample.role for sample in self.samples}):
            for figure in (*FIGURES, "tasks", "blobs", "ledger_kb"):
                lives = lives_of(self.samples, role, figure, self.warm_up_s)
                slope = slope_of(lives)
                is_judged = role in JUDGED or role.startswith("ledger")
                if slope is not None:
                    limit = LIMITS[figure] if is_judged else None
                    found.append(Judged(role, figure, slope, limit))
        return found


def group_of(folder: Path, name: str, consumers: int) -> Path:
    """A group whose file, handler and logs are in a folder of its own."""
    place = folder / name
    place.mkdir()
    source = Path(__file__).with_name("soak_handler.py").read_text(encoding="utf-8")
    (place / f"{name}_handler.py").write_text(source, encoding="utf-8")
    path = group_file(
        place,
        container=name,
        replicas=consumers,
        scaling={"min": 1, "max": 4, "mode": "External"},
        delivery={"checkpoint": {"everySeconds": 1.0}},
        template={"spec": {"containers": [{"name": "consumer", "env": [
            {"name": "SOAK", "value": str(place)}]}]}},
    )  # fmt: skip
    document = yaml.safe_load(path.read_text(encoding="utf-8"))
    document["metadata"]["name"] = name
    spec = document["spec"]
    spec["handler"]["code"] = f"{name}_handler.py:handle"
    if name != NAME:
        spec["source"]["eventHubs"]["consumerGroup"] = name
    path.write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")
    return path


def events_sent(up: UpProcess) -> dict[str, int]:
    """How many events each partition has, as the official SDK is told."""
    connection = (up.state / "events.txt").read_text(encoding="utf-8").strip()
    client = EventHubConsumerClient.from_connection_string(
        connection, "$Default", eventhub_name=HUB
    )
    with client:
        return {
            name: client.get_partition_properties(name)["last_enqueued_sequence_number"] + 1
            for name in client.get_partition_ids()
        }


def until(condition: Callable[[], bool], what: str) -> None:
    """However long the machine stands still."""
    end = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(what)
        time.sleep(1.0)


def exactness(up: UpProcess, folder: Path) -> dict[str, Any]:
    """When all is handled: what was sent, and how often it was handled."""
    up.end_sender()
    sent = events_sent(up)
    found: dict[str, Any] = {"sent": sum(sent.values())}
    for group in GROUPS:
        log = HandledLog(folder / group / "seen.log")

        def is_all_handled(log: HandledLog = log) -> bool:
            log.read_on()
            return all(log.through(name) >= count - 1 for name, count in sent.items())

        until(is_all_handled, f"{group} to handle all of {sent}: {log.standing()}")
        found[group] = {
            "handled": sum(log.through(name) + 1 for name in sent),
            "lost": log.lost(),
            "again": log.duplicates,
            "out_of_order": len(log.disorder),
            "wrong_totals": len(wrong_totals(folder / group / "totals.log")),
        }
    return found


def left_behind(up: UpProcess, soak: Soak) -> dict[str, int]:
    """After a clean stop nothing runs; the ledgers are looked at while storage is still there."""
    held = [
        row.name
        for ledger in soak.ledgers.values()
        for row in ledger.list_blobs(include=["metadata"])
        if "/member/" in row.name
    ]
    members = len(held)
    up.signal(signal.SIGINT)
    code = up.process.wait(PATIENCE_S)
    return {"members_in_ledgers": members, "exit_code": code, "processes": len(up.processes())}


def main() -> int:
    minutes, seed = float(os.environ.get("MINUTES") or 60), int(os.environ.get("SEED") or 1)
    print(f"soak: {minutes:g} minutes, {RATE:g} events/s, seed {seed}", flush=True)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        files = [group_of(folder, "work", 2), group_of(folder, "calm", 1)]
        up = stack.enter_context(up_process(folder, *files))
        up.until_settled(2, PATIENCE_S)
        up.send(RATE)
        soak = Soak(up, folder, minutes, seed)
        soak.run()
        print("the time is over; all that was sent is to be handled", flush=True)
        totals = exactness(up, folder)
        left = left_behind(up, soak)
        found: dict[str, Any] = {
            "on": time.strftime("%Y-%m-%d", time.gmtime()),
            "minutes": round((soak.looked[-1] - soak.looked[0]) / 60, 1),
            "stood_still_minutes": round(stood_still_s(soak.looked, EVERY_S) / 60, 1),
            "cores": os.cpu_count(),
            "partitions": PARTITIONS,
            "events_a_second": RATE,
            "seed": seed,
            "kills": soak.kills,
            "rollouts": soak.rollouts,
            "totals": totals,
            "left": left,
            "slopes": [
                {**asdict(each.slope), "role": each.role, "figure": each.figure,
                 "limit": each.limit, "verdict": each.verdict}
                for each in soak.judged()
            ],
        }  # fmt: skip
    # A short run does not write over the figures of a long one.
    path = RESULTS / ("" if minutes >= 30 else "quick") / "soak.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    print(told_of(found))
    print(f"written to {path}")
    wrong = [each for each in found["slopes"] if each["verdict"] == "grows"]
    exact = all(
        not (
            totals[group]["lost"] or totals[group]["out_of_order"] or totals[group]["wrong_totals"]
        )
        for group in GROUPS
    )
    return 0 if exact and not wrong and left["processes"] == 0 == left["exit_code"] else 1


if __name__ == "__main__":
    sys.exit(main())
