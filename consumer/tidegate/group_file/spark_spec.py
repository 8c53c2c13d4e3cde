"""`spec.engine` and `spec.spark`, typed. The texts here are those of docs/settings.md.

Rules: pure; a size is written as Kubernetes or Spark write it, and one with which Spark would not
even start is refused here, where its line is known.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from tidegate.settings import SettingsError
from tidegate.spark.owned_keys import refusal

_SIZE = re.compile(r"([1-9][0-9]*)(Mi|Gi|m|g)")
# Spark's driver and executors want 450 MiB at the least, and say so only once they run.
LEAST_MIB = 512
# Beside its heap, a process of Spark's has Python workers, threads and buffers.
_OVERHEAD = 0.4
_LEAST_OVERHEAD_MIB = 384
# The driver has more processes of Python: its own, Spark's planner, and those that read schemas.
_LEAST_OVERHEAD_OF_DRIVER_MIB = 768
_PACKAGE = re.compile(r"[\w.-]+:[\w.-]+:[\w.-]+")


class EngineKind(StrEnum):
    """What runs your code."""

    PYTHON = "python"
    SPARK = "spark"


def mebibytes(text: str) -> int | None:
    """'512m', '1g', '512Mi' or '1Gi' in MiB; None where it is no such size."""
    found = _SIZE.fullmatch(text)
    if found is None:
        return None
    return int(found[1]) * (1024 if found[2] in ("Gi", "g") else 1)


def _no_texts() -> Mapping[str, str]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True)
class ProcessSpec:
    """What a process of Spark's is given."""

    cores: int = field(default=1, metadata={"help": "How many tasks it runs at a time."})
    memory: str = field(
        default="1g", metadata={"help": "The heap of its JVM, such as `1g`; 512m at the least."}
    )
    memory_overhead: str | None = field(
        default=None,
        metadata={
            "help": "What it is given beside the heap: its Python workers need it. Left out: 40 % "
            "of `memory`, and at the least 384m, or 768m for the driver."
        },
    )
    template: Mapping[str, Any] | None = field(
        default=None,
        metadata={"help": "A pod template that is merged over ours. In a cluster alone."},
    )

    @property
    def memory_mib(self) -> int:
        return mebibytes(self.memory) or 0

    @property
    def overhead_mib(self) -> int:
        if self.memory_overhead is not None:
            return mebibytes(self.memory_overhead) or 0
        return max(int(self.memory_mib * _OVERHEAD), self._least_overhead_mib)

    @property
    def _least_overhead_mib(self) -> int:
        return _LEAST_OVERHEAD_MIB

    def checked(self) -> ProcessSpec:
        if self.cores < 1:
            raise SettingsError(f"cores {self.cores}: write 1 or more")
        for name in ("memory", "memory_overhead"):
            text = getattr(self, name)
            if text is not None and mebibytes(text) is None:
                raise SettingsError(f"{name} '{text}': write a size such as 512m, 1g or 1Gi")
        if self.memory_mib < LEAST_MIB:
            raise SettingsError(
                f"memory {self.memory} is too little: Spark does not start with less than "
                f"{LEAST_MIB}m. Write {LEAST_MIB}m or more; 1g does for most."
            )
        return self


@dataclass(frozen=True, slots=True)
class DriverSpec(ProcessSpec):
    """The driver: it plans batches, holds the members and writes what was aggregated."""

    @property
    def _least_overhead_mib(self) -> int:
        return _LEAST_OVERHEAD_OF_DRIVER_MIB


@dataclass(frozen=True, slots=True)
class ExecutorSpec(ProcessSpec):
    """Each executor: it reads events and runs the pipeline. It counts as one member."""


@dataclass(frozen=True, slots=True)
class DepsSpec:
    """What the pipeline needs beside what is installed."""

    packages: tuple[str, ...] = field(
        default=(),
        metadata={"help": "Java packages from Maven, such as `org.example:name:1.2.3`."},
    )
    files: tuple[str, ...] = field(
        default=(),
        metadata={
            "help": "Files for every executor, by their paths beside the group file or by URL; "
            "`.py`, `.zip` and `.egg` can be imported. What the pipeline imports from beside the "
            "group file goes along by itself."
        },
    )

    def checked(self) -> DepsSpec:
        for package in self.packages:
            if not _PACKAGE.fullmatch(package):
                raise SettingsError(f"packages '{package}': write GROUP:ARTIFACT:VERSION")
        return self


@dataclass(frozen=True, slots=True)
class OutputSpec:
    """Where `context.write_slices` puts its blobs: in the account of the ledger."""

    container: str | None = field(
        default=None, metadata={"help": "The container; else the ledger's."}
    )
    prefix: str = field(default="slices", metadata={"help": "What their names begin with."})


@dataclass(frozen=True, slots=True)
class SparkSpec:
    """How a pipeline runs on Spark. For `engine: spark`."""

    schema: str | None = field(
        default=None,
        metadata={
            "help": "The columns of the events, whose bodies are JSON, such as `home string, value "
            "double`. Left out, the pipeline gets bodies as they are."
        },
    )
    trigger_s: float = field(default=2.0, metadata={"help": "A batch begins so often."})
    max_events: int = field(default=50_000, metadata={"help": "The most events of a batch."})
    max_bytes: int = field(
        default=256 << 20, metadata={"help": "The most bytes of a batch, as they are expected."}
    )
    options: Mapping[str, str] = field(
        default_factory=_no_texts,
        metadata={"help": "For the pipeline: `context.options`."},
    )
    spark_conf: Mapping[str, str] = field(
        default_factory=_no_texts,
        metadata={"help": "Settings of Spark's own, but for [those that are ours](#sparkconf)."},
    )
    deps: DepsSpec = field(default_factory=DepsSpec, metadata={"help": "What the pipeline needs."})
    driver: DriverSpec = field(
        default_factory=DriverSpec, metadata={"help": "What the driver is given."}
    )
    executor: ExecutorSpec = field(
        default_factory=ExecutorSpec, metadata={"help": "What each executor is given."}
    )
    output: OutputSpec = field(
        default_factory=OutputSpec, metadata={"help": "Where slices are written."}
    )

    def checked(self) -> SparkSpec:
        if self.trigger_s <= 0:
            raise SettingsError(f"trigger_s {self.trigger_s:g}: write more than 0")
        for name in ("max_events", "max_bytes"):
            if getattr(self, name) < 1:
                raise SettingsError(f"{name} {getattr(self, name)}: write 1 or more")
        for key in self.spark_conf:
            said = refusal(key)
            if said is not None:
                raise SettingsError(f"spark_conf {said}")
        return self
