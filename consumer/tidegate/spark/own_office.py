"""The office of a stream without a driver of ours: a process beside Spark's planner.

    python -m tidegate.spark.own_office FILE NAME MEMBERS      # what the planner starts

Spark ends the planner with a kill, without a word before. So the members live in a process of their
own, which sees that the planner is gone by the end of its input, hands over and ends by itself.

Rules: it says where its desk is, or why there is none, in the first line of its output; the desk's
token goes no other way.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from tidegate.settings import SettingsError
from tidegate.spark.tasks import DeskPlace

_OPEN_S = 90.0
# What it may take to hand over, and what remains then.
_LEAVE_S = 60.0


class OwnOfficeError(Exception):
    """The office could not be opened; the message says why."""


class OwnOffice:
    """The planner's hold on it."""

    def __init__(self, process: subprocess.Popen[bytes], desk: DeskPlace) -> None:
        self._process = process
        self.desk = desk

    @classmethod
    def open(cls, file: Path, name: str, members: int) -> OwnOffice:
        """Raises SettingsError and OwnOfficeError."""
        process = subprocess.Popen(
            [sys.executable, "-m", __name__, str(file), name, str(members)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # The planner's group of processes is ended as a whole.
            start_new_session=True,
        )
        watch = threading.Timer(_OPEN_S, process.kill)
        watch.start()
        assert process.stdout is not None
        said = process.stdout.readline()
        watch.cancel()
        try:
            answer: Any = json.loads(said)
            return cls(process, DeskPlace(answer["address"], answer["token"]))
        except (ValueError, KeyError, TypeError):
            process.kill()
            process.communicate()
        raise _refusal(said)

    def close(self) -> None:
        """Waits until all is handed over."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_LEAVE_S)
        assert self._process.stdout is not None
        self._process.stdout.close()


def _refusal(said: bytes) -> Exception:
    try:
        answer = json.loads(said)
    except ValueError:
        return OwnOfficeError("the office of the group did not open: see the log of Spark's driver")
    if "refused" in answer:
        return SettingsError(str(answer["refused"]))
    return OwnOfficeError(f"the office of the group did not open: {answer.get('error')}")


def main(file: str, name: str, members: str) -> int:
    """The office's process."""
    # Imported here: the planner does without.
    from tidegate.commands.dumps import no_core_dumps  # noqa: PLC0415
    from tidegate.commands.wiring import set_up  # noqa: PLC0415
    from tidegate.ops import logs  # noqa: PLC0415
    from tidegate.ops.secrets import Secrets  # noqa: PLC0415
    from tidegate.spark.office import Office, OfficeError  # noqa: PLC0415
    from tidegate.spark.source_place import check_group  # noqa: PLC0415

    no_core_dumps(os.environ)
    try:
        setup = set_up(Path(file), os.environ, runs_code=False)
        check_group(setup)
        logs.set_up(Secrets(setup.secrets), level="WARNING", as_json=False)
        office = Office(setup, name, observer=logs.Logged(setup.group.name, name))
        office.start()
        office.follow(str(number) for number in range(1, int(members) + 1))
    except SettingsError as error:
        _say({"refused": str(error)})
        return 1
    except OfficeError as error:
        _say({"error": str(error)})
        return 1
    _say({"address": office.address, "token": office.token})
    sys.stdin.buffer.read()
    office.stop()
    return 0


def _say(answer: dict[str, str]) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
