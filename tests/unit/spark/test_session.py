"""The end of a session, whatever its JVM does."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

pytest.importorskip("py4j", reason="py4j comes with the layer `spark`")

from tidegate.spark import session
from tidegate.spark.session import DriverEndedError, Session


def _session(process: subprocess.Popen[bytes], is_stopped: Callable[[], bool]) -> Session:
    java = SimpleNamespace(schedulerBackend=lambda: None, isStopped=is_stopped)
    context = SimpleNamespace(
        _gateway=SimpleNamespace(proc=process), _jsc=SimpleNamespace(sc=lambda: java)
    )
    return Session(cast(Any, SimpleNamespace(sparkContext=context, stop=lambda: None)))


def test_a_jvm_that_does_not_end_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "_END_S", 0.1)
    program = "import signal; signal.pause()"
    process = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE)
    _session(process, lambda: True).stop()
    assert process.returncode is not None


def test_a_jvm_that_answers_no_more_because_it_ends_is_told_by_how_it_ended() -> None:
    process = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])

    def breaks_off() -> bool:
        process.kill()
        raise ConnectionResetError

    failure = _session(process, breaks_off).end()
    assert failure is not None and failure.reason == "DriverKilled"


def _lives() -> bool:
    return False


def test_what_is_raised_while_the_jvm_ends_is_told_by_its_end() -> None:
    process = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
    opened = _session(process, _lives)
    with pytest.raises(DriverEndedError, match="was killed") as ended, opened.telling_its_end():
        process.kill()
        process.wait()
        raise ConnectionResetError
    assert ended.value.failure.reason == "DriverKilled"


def test_what_is_raised_while_the_jvm_lives_is_raised_as_it_is() -> None:
    process = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
    opened = _session(process, _lives)
    try:
        with pytest.raises(LookupError), opened.telling_its_end():
            raise LookupError("spec.spark.schema")
    finally:
        process.kill()
        process.wait()
