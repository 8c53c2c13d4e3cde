"""`tidegate run` with `engine: spark`: a driver, whose executors are members of the group.

The main thread follows what lives: executors, the query, Spark itself, and on one machine how many
executors there are to be. Batches run on threads of Spark's; members, their leases and /metrics on
the office's loop.

Rules: the group file, its secrets and the pipeline are checked before anything is opened. A clean
stop lets the batch under way end, hands over and ends with 0; the second signal ends at once. Where
Spark is gone, everything is handed over, the reason is left for whoever looks, and the process ends
so that it is begun anew.
"""

from __future__ import annotations

import logging
import shutil
import tempfile
import threading
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from tidegate.commands.codes import Code
from tidegate.commands.last_words import leave, say, stop_without_a_reader
from tidegate.commands.wiring import Setup
from tidegate.spark.driver_parts import DriverOptions, Parts
from tidegate.spark.failures import Failure
from tidegate.spark.office import Office, OfficeError
from tidegate.spark.query import Query
from tidegate.spark.running import PipelineRun
from tidegate.spark.session import DriverEndedError, Session
from tidegate.spark.standalone import Standalone, wanted_in
from tidegate_http.shutdown import SHUTDOWN, Listener

_LOOK_S = 0.5
# What a shutdown that has used up its grace period has to stop the query and to say so.
_BEYOND_S = 3.0

_log = logging.getLogger("tidegate.spark")


def run_driver(setup: Setup, options: DriverOptions, environment: Mapping[str, str]) -> int:
    """Raises SettingsError."""
    parts = Parts(setup, options, environment)
    if options.only_checks:
        print(f"group {setup.group.name}: the file and the pipeline can be used")
        return Code.DONE
    stop_without_a_reader()
    return _Driver(parts).run()


class _Driver:
    """See the module."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._options = parts.options
        self._standing = parts.standing
        self._asked_to_stop = threading.Event()
        self._stopping_since: float | None = None
        self._asked_by = ""
        self._following: frozenset[str] = frozenset()

    def run(self) -> int:
        with ExitStack() as stack:
            folder = Path(tempfile.mkdtemp(prefix="tidegate-spark-"))
            stack.callback(shutil.rmtree, folder, ignore_errors=True)
            office = self._parts.new_office()
            stack.callback(_close, office)
            office.start()
            try:
                session, standalone = self._parts.open_session(stack, folder)
                with session.telling_its_end():
                    self._standing.began(session.application)
                    _log.info("Spark's own pages: %s", session.pages)
                    run = self._parts.new_run(office)
                    query = self._parts.new_query(session, office, run, folder)
            except DriverEndedError as ended:
                # Nobody has joined yet: there is nothing to hand over.
                self._say_why(ended.failure)
                return Code.FAILED
            stack.callback(query.stop)
            # From here on there is something to hand over. Spark has put a handler of its own.
            SHUTDOWN.take()
            stack.callback(SHUTDOWN.end)
            listener = Listener(self._on_asked)
            stack.enter_context(SHUTDOWN.listening(listener, self._options.grace_s + _BEYOND_S))
            failure = self._follow(session, standalone, office, query)
            if failure is not None:
                # First of all: whatever fails while the rest is torn down must not hide it.
                self._say_why(failure)
            self._leave(office, query, run)
            return self._ended(failure)

    # --- its life

    def _follow(
        self, session: Session, standalone: Standalone | None, office: Office, query: Query
    ) -> Failure | None:
        """Until a stop is asked for, or there is nothing to follow: then why."""
        wanted = _Wanted(self._options)
        while not self._asked_to_stop.is_set():
            failure = session.end()
            if failure is None and standalone is not None:
                failure = standalone.end()
            if failure is not None:
                return failure
            try:
                with session.telling_its_end():
                    self._follow_executors(session.executors(), office)
                    query.look()
            except OfficeError as error:
                return Failure("OfficeEnded", str(error), blames_events=False)
            except DriverEndedError as ended:
                return ended.failure
            if standalone is not None:
                standalone.scale(wanted.now())
            self._asked_to_stop.wait(_LOOK_S)
        return None

    def _follow_executors(self, found: list[str], office: Office) -> None:
        living = frozenset(found)
        if living != self._following:
            _log.info("executors: %s", ", ".join(sorted(living, key=int)) or "none")
            office.follow(living)
            self._following = living
            self._standing.has(living)

    # --- its end

    def _on_asked(self, name: str) -> None:
        """On another thread. At a second signal executors and the JVM end with this process, and
        others wait for its leases."""
        self._asked_by = name
        self._stopping_since = time.monotonic()
        self._asked_to_stop.set()

    def _leave(self, office: Office, query: Query, run: PipelineRun) -> None:
        """Members leave after the batch under way; then nothing is left that needs Spark."""
        if self._stopping_since is None:
            self._stopping_since = time.monotonic()
        else:
            _log.info(
                "%s: the batch under way ends and partitions are handed over, for at most %g s. "
                "Ask again to end at once.",
                self._asked_by,
                self._options.grace_s,
            )
        until = self._stopping_since + self._options.grace_s
        self._parts.board.is_stopping = True
        self._standing.entered("stopping")
        try:
            office.follow(())
            while _is_at_work(office) and time.monotonic() < until:
                time.sleep(_LOOK_S / 5)
            query.stop()
            run.close()
            office.stop(max(until - time.monotonic(), 0.0))
        except OfficeError as error:
            _log.warning("%s", error)

    def _say_why(self, failure: Failure) -> None:
        failure = self._standing.hidden(failure)
        said = f"{failure.reason}: {failure.message}"
        leave(said)
        say(f"tidegate: {said}")

    def _ended(self, failure: Failure | None) -> int:
        if failure is not None:
            return Code.FAILED
        assert self._stopping_since is not None
        took_s = time.monotonic() - self._stopping_since
        return Code.DONE if took_s <= self._options.grace_s else Code.CUT


class _Wanted:
    """How many executors there are to be on this machine."""

    def __init__(self, options: DriverOptions) -> None:
        self._executors = options.executors
        self._file = options.executors_file
        self._said = ""

    def now(self) -> int:
        if self._file is not None:
            self._executors = wanted_in(self._file, self._executors, self._say)
        return self._executors

    def _say(self, text: str) -> None:
        if text != self._said:
            _log.warning("%s", text)
        self._said = text


def _is_at_work(office: Office) -> bool:
    figures = office.figures()
    return figures.under_way is not None or any(figures.held.values())


def _close(office: Office) -> None:
    """At the end of everything, however it came; why it ended was said before."""
    try:
        office.stop(0.0)
    except OfficeError as error:
        _log.warning("%s", error)
