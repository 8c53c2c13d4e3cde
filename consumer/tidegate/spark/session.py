"""The Spark session of a driver, and the JVM behind it: the one place that starts pyspark.

Rules: what Spark cannot start with is said in words, with what to change. Whether the JVM lives is
asked of the operating system first: a question to one that is gone waits for nobody.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tidegate.settings import SettingsError
from tidegate.spark.failures import Failure, end_of_driver, shortened
from tidegate.spark.secret_conf import VARIABLE
from tidegate.spark.shipping import is_importable

# The name of what Java raised.
_CLASS = re.compile(r"^[\w.$]+(?:Exception|Error): ")

# How long a JVM may take to end that was asked to.
_ENDING_S = 5.0
_END_S = 30.0

_log = logging.getLogger("tidegate.spark")


class SessionError(SettingsError):
    """Spark does not start; the message says what it said."""

    reason = "SparkNotStarted"


class DriverEndedError(Exception):
    """There is no driver any more, and `failure` says why."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


def spark_home() -> Path:
    """Where pyspark is installed."""
    import pyspark  # noqa: PLC0415

    return Path(pyspark.__file__).parent


class Session:
    """A session. Its methods may be called from any thread."""

    def __init__(self, spark: Any) -> None:
        self.spark = spark
        self._context = spark.sparkContext
        self._jvm_process = self._context._gateway.proc
        self._backend = self._context._jsc.sc().schedulerBackend()

    @classmethod
    def open(
        cls, conf: Mapping[str, str], java_home: Path, settings: Path | None = None
    ) -> Session:
        """Starts the JVM and the session; on one machine with a folder of settings, which has what
        may not stand on a command line. Raises SessionError, DriverEndedError."""
        from py4j.protocol import Py4JError, Py4JNetworkError  # noqa: PLC0415
        from pyspark import SparkContext  # noqa: PLC0415
        from pyspark.errors import PySparkException  # noqa: PLC0415
        from pyspark.sql import SparkSession  # noqa: PLC0415

        os.environ |= {
            "JAVA_HOME": str(java_home),
            "SPARK_HOME": str(spark_home()),
            "PYSPARK_PYTHON": sys.executable,
            "PYSPARK_DRIVER_PYTHON": sys.executable,
            **({} if settings is None else {"SPARK_LOCAL_IP": "127.0.0.1"}),
            **({} if settings is None else {VARIABLE: str(settings)}),
        }
        builder = SparkSession.builder
        for key, text in conf.items():
            builder = builder.config(key, text)
        try:
            spark = builder.getOrCreate()
            spark.sparkContext.setLogLevel("WARN")
            return cls(spark)
        except (Py4JNetworkError, OSError) as error:
            failure = _end_of(SparkContext._gateway)
            if failure is not None:
                raise DriverEndedError(failure) from None
            raise SessionError(_words(str(error), conf)) from None
        except (PySparkException, Py4JError) as error:
            raise SessionError(_words(str(error), conf)) from None

    @property
    def application(self) -> str:
        return str(self._context.applicationId)

    @property
    def pages(self) -> str:
        """Where Spark's own pages are."""
        return str(self._context.uiWebUrl)

    def ship(self, files: Iterable[str]) -> None:
        """Every executor gets these files. Raises SessionError."""
        for each in files:
            try:
                if is_importable(each):
                    self._context.addPyFile(each)
                else:
                    self._context.addFile(each)
            # Whatever Java says of a URL.
            except Exception as error:
                raise SessionError(
                    f"spec.spark.deps.files: '{each}': {shortened(str(error))}"
                ) from None

    def executors(self) -> list[str]:
        """The executors that can take tasks: not the driver, and none that is on its way out."""
        ids, found = self._backend.getExecutorIds().iterator(), []
        while ids.hasNext():
            each = str(ids.next())
            if self._backend.isExecutorActive(each):
                found.append(each)
        return found

    def end(self) -> Failure | None:
        """Why there is no driver any more; None while there is one."""
        from py4j.protocol import Py4JError  # noqa: PLC0415

        code = self._jvm_process.poll()
        if code is not None:
            return end_of_driver(code)
        try:
            is_stopped = self._context._jsc.sc().isStopped()
        except (Py4JError, OSError):
            # Who is ending closes its connections before its code can be known.
            with contextlib.suppress(subprocess.TimeoutExpired):
                code = self._jvm_process.wait(_ENDING_S)
            return end_of_driver(code)
        if not is_stopped:
            return None
        return Failure(
            "DriverLost",
            "Spark has ended the application; see its log above.",
            blames_events=False,
        )

    @contextlib.contextmanager
    def telling_its_end(self) -> Iterator[None]:
        """Whatever is raised in here where Spark is about to end is told by that end. Raises
        DriverEndedError."""
        try:
            yield
        except Exception as error:
            failure = self.end()
            if failure is None:
                raise
            _log.warning("%s", shortened(str(error)))
            raise DriverEndedError(failure) from None

    def stop(self) -> None:
        """Ends the session and its JVM."""
        from py4j.protocol import Py4JError  # noqa: PLC0415

        try:
            if self._jvm_process.poll() is None:
                self.spark.stop()
        except (Py4JError, OSError) as error:
            _log.warning("Spark did not end by itself: %s", shortened(str(error)))
        # The JVM ends when nobody can write to it any more.
        if self._jvm_process.stdin is not None:
            self._jvm_process.stdin.close()
        try:
            self._jvm_process.wait(_END_S)
        except subprocess.TimeoutExpired:
            _log.warning("Spark's JVM did not end within %g s, and is killed", _END_S)
            self._jvm_process.kill()
            self._jvm_process.wait()


def _end_of(gateway: Any) -> Failure | None:
    """Why a JVM that had begun to answer is gone; None where there was none, or it lives."""
    try:
        return None if gateway is None else end_of_driver(gateway.proc.wait(_ENDING_S))
    except subprocess.TimeoutExpired:
        return None


def _words(text: str, conf: Mapping[str, str]) -> str:
    said = shortened(text)
    if "JAVA_GATEWAY_EXITED" in text:
        return (
            "Spark's JVM did not start; what it said stands above. Where it is memory, lower "
            f"spec.spark.driver.memory, now {conf.get('spark.driver.memory', '')}, or give the "
            "machine or the pod more."
        )
    lines = [line.strip() for line in text.splitlines()]
    # Spark's Java says first where it was called, then what is wrong.
    wrong = next((line for line in lines if line.startswith(": ")), said)
    return f"Spark does not start: {_CLASS.sub('', wrong.removeprefix(': '))}"
