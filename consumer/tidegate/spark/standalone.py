"""Spark standalone on this machine, out of the pip package: a master, and a worker an executor.

Rules:
- Every worker has room for exactly one executor, so that the number of workers is the number of
  executors, and it may change while the application runs.
- A worker that ends is replaced, at once where it had lived for a while. One that is not wanted any
  more is told to let its executor finish, and ends when that has ended.
- A master that ends is not replaced: executors that live know no other. Whoever runs this is told,
  and begins all anew.
- All of it ends with this process, also where that is killed: one thread starts everything and
  lasts as long as the process, because the kernel watches threads.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path

from tidegate.settings import SettingsError
from tidegate.spark import tied
from tidegate.spark.failures import Failure
from tidegate.spark.secret_conf import VARIABLE

_log = logging.getLogger("tidegate.spark")
_URL = re.compile(r"Starting Spark master at (spark://\S+)")
_START_S = 60.0
_LOOK_S = 0.25
# How long an executor that is not wanted any more may still work.
_FINISH_S = 60.0
# A worker that ends sooner than this is not replaced at once.
_STABLE_S = 20.0
_MOST_PAUSE_S = 30.0
# Master and workers only start processes. A worker hears SIGPWR only with the third of these.
_DAEMON_OPTIONS = (
    "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Dspark.decommission.enabled=true "
    "-Dspark.deploy.maxExecutorRetries=-1"
)
_DAEMON_MEMORY = "256m"
_MOST_DIGITS = 4
_MASTER = "org.apache.spark.deploy.master.Master"
_WORKER = "org.apache.spark.deploy.worker.Worker"


class StandaloneError(SettingsError):
    """Spark does not start on this machine; the message says what it said."""

    reason = "SparkNotStarted"


class _Worker:
    """A worker process."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.began_at = time.monotonic()
        # When it was told to let its executor finish.
        self.leaving_since: float | None = None

    @property
    def has_ended(self) -> bool:
        return self.process.poll() is not None


class Standalone:
    """See the module. `scale` may be called by any thread."""

    def __init__(
        self,
        spark_home: Path,
        java_home: Path,
        folder: Path,
        *,
        cores: int,
        memory_mib: int,
        conf: Path | None = None,
    ) -> None:
        """`conf` is a folder of settings (secret_conf.py); without it whoever is on the machine may
        ask for executors."""
        self._spark_home = spark_home
        self._folder = folder
        self._cores, self._memory_mib = cores, memory_mib
        self._environment = {
            **os.environ,
            "SPARK_HOME": str(spark_home),
            "JAVA_HOME": str(java_home),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_DAEMON_MEMORY": _DAEMON_MEMORY,
            "SPARK_DAEMON_JAVA_OPTS": _DAEMON_OPTIONS,
            "SPARK_WORKER_DIR": str(folder / "work"),
            **({} if conf is None else {VARIABLE: str(conf)}),
        }
        self._wanted = 0
        self._workers: list[_Worker] = []
        self._number = 0
        self._pause_s, self._begin_at = 0.0, 0.0
        self._is_stopping = False
        self._end: Failure | None = None
        self._woken = threading.Event()
        self._url: Future[str] = Future()
        self._keeper = threading.Thread(target=self._keep, name="tidegate-workers", daemon=True)

    def start(self) -> str:
        """Starts the master; gives its URL. Raises StandaloneError."""
        self._keeper.start()
        return self._url.result()

    def scale(self, executors: int) -> None:
        """So many executors are wanted; they come and go in the next seconds."""
        self._wanted = executors
        self._woken.set()

    def end(self) -> Failure | None:
        """Why no executor can come any more; None while they can."""
        return self._end

    def stop(self) -> None:
        """Ends everything."""
        self._is_stopping = True
        self._woken.set()
        self._keeper.join()

    # --- the thread that starts everything

    def _keep(self) -> None:
        master = self._begin("master", _MASTER, "--host", "127.0.0.1")
        try:
            url = self._url_of(master)
        except StandaloneError as error:
            self._url.set_exception(error)
        else:
            self._url.set_result(url)
            while not self._is_stopping:
                self._woken.clear()
                if master.poll() is not None:
                    self._end = self._end or _end_of(master)
                else:
                    self._look(url)
                self._woken.wait(_LOOK_S)
        _end_all([*(each.process for each in self._workers), master])

    def _url_of(self, master: subprocess.Popen[bytes]) -> str:
        log, until = self._folder / "master.log", time.monotonic() + _START_S
        while time.monotonic() < until and not self._is_stopping:
            said = log.read_text(encoding="utf-8", errors="replace")
            found = _URL.search(said)
            if found is not None:
                return found[1]
            if master.poll() is not None:
                break
            time.sleep(_LOOK_S / 5)
        said = log.read_text(encoding="utf-8", errors="replace").strip()
        raise StandaloneError(f"Spark does not start on this machine: {said[-600:] or 'silence'}")

    def _look(self, url: str) -> None:
        now = time.monotonic()
        self._bury(now)
        staying = [worker for worker in self._workers if worker.leaving_since is None]
        if len(staying) < self._wanted and now >= self._begin_at:
            for _ in range(self._wanted - len(staying)):
                self._workers.append(self._new_worker(url))
        # The newest go first: what they hold was theirs for the shortest time.
        for worker in staying[self._wanted :]:
            worker.leaving_since = now
            worker.process.send_signal(signal.SIGPWR)
        for worker in self._workers:
            since = worker.leaving_since
            if since is not None and (now - since > _FINISH_S or not _has_children(worker.process)):
                worker.process.terminate()

    def _bury(self, now: float) -> None:
        for worker in [each for each in self._workers if each.has_ended]:
            self._workers.remove(worker)
            if worker.leaving_since is not None:
                continue
            _log.warning("a Spark worker ended with %s; another takes its place",
                         worker.process.returncode)  # fmt: skip
            is_stable = now - worker.began_at >= _STABLE_S
            self._pause_s = 0.0 if is_stable else min(max(self._pause_s * 2, 1.0), _MOST_PAUSE_S)
            self._begin_at = now + self._pause_s

    def _new_worker(self, url: str) -> _Worker:
        self._number += 1
        size = ("--cores", str(self._cores), "--memory", f"{self._memory_mib}m")
        name = f"worker-{self._number}"
        return _Worker(self._begin(name, _WORKER, "--host", "127.0.0.1", *size, url))

    def _begin(self, name: str, main: str, *arguments: str) -> subprocess.Popen[bytes]:
        self._folder.mkdir(parents=True, exist_ok=True)
        program = [str(self._spark_home / "bin" / "spark-class"), main]
        ports = ["--port", "0", "--webui-port", "0"]
        with (self._folder / f"{name}.log").open("wb") as log:
            return subprocess.Popen(
                [sys.executable, "-I", "-S", tied.__file__, str(os.getpid()), *program, *ports,
                 *arguments],
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                # Ctrl-C is for the driver, which ends these after its own clean stop.
                start_new_session=True,
            )  # fmt: skip


def _end_of(master: subprocess.Popen[bytes]) -> Failure:
    return Failure(
        "MasterLost",
        f"Spark's master on this machine ended with code {master.returncode}: lost executors would "
        "not be replaced any more. Look whether something ends processes here, such as too little "
        "memory.",
        blames_events=False,
    )


def _has_children(process: subprocess.Popen[bytes]) -> bool:
    """Whether a worker still has an executor."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        # A process may end while it is looked at.
        with contextlib.suppress(OSError):
            # The name of the program, in brackets, may have blanks in it.
            if int(stat.read_text().rpartition(")")[2].split()[1]) == process.pid:
                return True
    return False


def _end_all(processes: list[subprocess.Popen[bytes]], seconds: float = 5.0) -> None:
    for process in processes:
        process.terminate()
    until = time.monotonic() + seconds
    for process in processes:
        try:
            process.wait(max(until - time.monotonic(), 0.1))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def wanted_in(file: Path, otherwise: int, say: Callable[[str], None]) -> int:
    """The number of executors that stands in a file; what was wanted before, where it has none."""
    try:
        text = file.read_text(encoding="utf-8").strip()
    except OSError:
        return otherwise
    if not text:
        # Somebody is just writing it.
        return otherwise
    if not _is_number(text):
        say(f"{file} says {text[:40]!r}: write how many executors there shall be")
        return otherwise
    return int(text)


def executors_of(text: str | None) -> int:
    """`--executors`. Raises SettingsError."""
    if text is None:
        return 1
    if not _is_number(text):
        raise SettingsError(f"--executors {text!r}: write a whole number, 0 or more")
    return int(text)


def _is_number(text: str) -> bool:
    return text.isdecimal() and len(text) <= _MOST_DIGITS
