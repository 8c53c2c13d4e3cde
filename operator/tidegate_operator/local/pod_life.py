"""The life of a container, as its pod's status tells it, and how long it rests between two. Pure.

Rules: written as the kubelet writes it, with whole seconds, so that what reads it in a cluster
reads it here. The first end is followed by a start at once; who ends again and again rests longer
each time, up to half a minute; who ran for a minute begins anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from tidegate_operator.engines.pod import CONSUMER
from tidegate_operator.kinds import Document

_LONGEST_REST_S = 30.0
_RAN_WELL_S = 60.0
_KILLED = 128


@dataclass(frozen=True, slots=True)
class Life:
    """What there is to say of the container."""

    restarts: int = 0
    # Ends without a good run between them.
    failures: int = 0
    running_since: float | None = None
    is_ready: bool = False
    waiting: str = "ContainerCreating"
    waiting_message: str = ""
    last: Mapping[str, Any] | None = None
    # What it is called.
    container: str = CONSUMER

    def started(self, at: float) -> Life:
        again = self.last is not None
        return replace(
            self,
            restarts=self.restarts + again,
            running_since=at,
            waiting="",
            waiting_message="",
            is_ready=False,
        )

    def ended(self, at: float, code: int, message: str) -> Life:
        began = self.running_since if self.running_since is not None else at
        failures = 1 if at - began >= _RAN_WELL_S else self.failures + 1
        code = code if code >= 0 else _KILLED - code
        last = {
            "startedAt": _written(began),
            "finishedAt": _written(at),
            "exitCode": code,
            "reason": "Completed" if code == 0 else "Error",
            "message": message,
        }
        return replace(self, failures=failures, running_since=None, is_ready=False, last=last)

    def now_ready(self, is_ready: bool) -> Life:
        return replace(self, is_ready=is_ready)

    @property
    def rest_s(self) -> float:
        """How long until it is started again."""
        return 0.0 if self.failures < 2 else min(2.0 ** (self.failures - 2), _LONGEST_REST_S)

    def resting(self, pod: str) -> Life:
        message = (
            f"back-off {self.rest_s:g}s restarting failed container={self.container} pod={pod}"
        )
        return replace(self, waiting="CrashLoopBackOff", waiting_message=message)

    def not_made(self, why: str) -> Life:
        """What it needs is not there."""
        return replace(self, waiting="CreateContainerConfigError", waiting_message=why)

    def status(self) -> Document:
        """The pod's status."""
        is_running = self.running_since is not None
        return {
            "phase": "Running" if is_running or self.last is not None else "Pending",
            "conditions": [_condition("PodScheduled", True), _condition("Ready", self.is_ready)],
            "containerStatuses": [
                {
                    "name": self.container,
                    "ready": self.is_ready,
                    "restartCount": self.restarts,
                    "state": self._state(),
                    "lastState": {"terminated": dict(self.last)} if self.last else {},
                }
            ],
        }

    def _state(self) -> Document:
        if self.running_since is not None:
            return {"running": {"startedAt": _written(self.running_since)}}
        if self.waiting:
            return {"waiting": {"reason": self.waiting, "message": self.waiting_message}}
        return {"terminated": dict(self.last or {})}


def _condition(kind: str, is_true: bool) -> Document:
    return {"type": kind, "status": "True" if is_true else "False"}


def _written(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass(frozen=True, slots=True)
class Probe:
    """One of the questions that a container is asked, and what it means that it does not answer."""

    path: str
    every_s: float
    timeout_s: float
    # It may fail to answer for so long.
    patience_s: float
    failing_since: float | None = None
    now: float = 0.0

    @classmethod
    def of(cls, container: Mapping[str, Any], name: str) -> Probe | None:
        """None where it is not asked so, or by something other than HTTP."""
        said = container.get(name) or {}
        ask = said.get("httpGet")
        if not ask:
            return None
        every_s = float(said.get("periodSeconds", 10))
        return cls(
            str(ask["path"]),
            every_s,
            float(said.get("timeoutSeconds", 1)),
            every_s * int(said.get("failureThreshold", 3)),
        )

    def heard(self, now: float, *, is_good: bool) -> Probe:
        since = None if is_good else now if self.failing_since is None else self.failing_since
        return replace(self, failing_since=since, now=now)

    @property
    def is_good(self) -> bool:
        return self.failing_since is None

    @property
    def is_lost(self) -> bool:
        """It has not answered for as long as is allowed."""
        return self.failing_since is not None and self.now - self.failing_since >= self.patience_s
