"""A real Prometheus and its promtool, out of Debian's package, unpacked into `.tools` without root.

    with running_prometheus(folder, {"consumers": (port, {"namespace": "homes"})}) as prometheus:
        prometheus.query("sum(tidegate_lag_events)")

Rules: the machine's own is taken where it has one. Where none can be had the test is skipped, with
the reason. It scrapes each second, and ends with the block.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
import yaml

from steps import Size, one_at_a_time, step
from support.tree import ROOT
from support.wait import wait_until
from tidegate.spark.debian import NotFetchedError, fetched, missing_tools
from tidegate_operator.local.ports import free_port

PACKAGE = "prometheus"
_SIZE = Size(fetch_mb=35, disk_mb=95)
_READY_S, _STOP_S = 30.0, 15.0

Targets = Mapping[str, tuple[int, Mapping[str, str]]]
Labels = Mapping[str, str]


def programs() -> Path:
    """The folder of both programs. Skips the test where they cannot be had."""
    found, why = _found()
    if found is None:
        pytest.skip(f"there is no Prometheus here: {why}")
    return found


@cache
def _found() -> tuple[Path | None, str]:
    """Where they are, or why they cannot be had."""
    ours = shutil.which(PACKAGE)
    if ours is not None and shutil.which("promtool") is not None:
        return Path(ours).parent, ""
    place = ROOT / ".tools" / PACKAGE
    if not place.exists():
        if missing := missing_tools():
            return None, f"to fetch one Debian's {' and '.join(missing)} would be needed"
        try:
            _fetch(place)
        except NotFetchedError as problem:
            return None, str(problem)
    return place, ""


def _fetch(place: Path) -> None:
    with one_at_a_time(place.with_suffix(".lock")):
        if place.exists():
            return  # another process was quicker
        with tempfile.TemporaryDirectory(prefix="draft-", dir=place.parent) as name:
            draft = Path(name)
            with step("Prometheus from Debian's package", _SIZE, [draft]):
                _, unpacked = fetched([PACKAGE], draft)
            (unpacked / "usr" / "bin").rename(place)


@dataclass(frozen=True, slots=True)
class Prometheus:
    """One that runs."""

    url: str

    def query(self, expression: str) -> list[tuple[Labels, str]]:
        """What an expression gives now: labels, and the value as it is written."""
        found = self._ask("query", query=expression)["result"]
        return [(each["metric"], each["value"][1]) for each in found]

    def series(self, name: str) -> list[Labels]:
        """The labels of every series of a metric."""
        found: list[Labels] = self._ask("series", **{"match[]": name})
        return found

    def rules(self) -> list[Mapping[str, Any]]:
        """Every rule that it evaluates, with its health."""
        groups = self._ask("rules")["groups"]
        return [rule for group in groups for rule in group["rules"]]

    def are_up(self) -> bool:
        up = self.query("up")
        return bool(up) and all(value == "1" for _, value in up)

    def _ask(self, what: str, **query: str) -> Any:
        try:
            with urllib.request.urlopen(
                f"{self.url}/api/v1/{what}?{urlencode(query)}", timeout=10
            ) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as problem:
            said = problem.read().decode(errors="replace")
            raise AssertionError(f"Prometheus does not take {query}: {said}") from None


@contextmanager
def running_prometheus(folder: Path, targets: Targets, rules: Path) -> Iterator[Prometheus]:
    """One that scrapes these ports of loopback, each with labels such as a cluster's; and rules."""
    config = {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(rules)],
        "scrape_configs": [
            {
                "job_name": job,
                "static_configs": [{"targets": [f"127.0.0.1:{port}"], "labels": dict(labels)}],
            }
            for job, (port, labels) in targets.items()
        ],
    }
    file = folder / "prometheus.yml"
    file.write_text(yaml.safe_dump(config), encoding="utf-8")
    port = free_port()
    with (folder / "prometheus.log").open("wb") as log:
        process = subprocess.Popen(
            [
                programs() / PACKAGE, f"--config.file={file}",
                f"--storage.tsdb.path={folder / 'data'}", f"--web.listen-address=127.0.0.1:{port}",
            ],
            stdout=log, stderr=log, cwd=folder,
        )  # fmt: skip
    try:
        prometheus = Prometheus(f"http://127.0.0.1:{port}")

        def said() -> str:
            return (folder / "prometheus.log").read_text(errors="replace")[-3000:]

        def is_ready() -> bool:
            assert process.poll() is None, f"Prometheus ended: {said()}"
            try:
                with urllib.request.urlopen(f"{prometheus.url}/-/ready", timeout=5) as answer:
                    return bool(answer.status == 200)
            except OSError:
                return False

        wait_until(is_ready, _READY_S, "Prometheus to be ready", said)
        yield prometheus
    finally:
        process.terminate()
        process.wait(_STOP_S)


def promtool(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """Its answer, whatever its exit code."""
    return subprocess.run(
        [programs() / "promtool", *words], capture_output=True, text=True, check=False, timeout=60
    )
