"""Kills what belongs to a driver: itself, an executor, a Python worker, the planner of its query.

    strike(driven, "worker", dice)                      # one of those that are there
    strike(driven, "driver", dice, life=1)              # the next has the leases of that life

Rules: whom it hits follows from the dice; what was killed comes back by itself but the driver, who
is started again at once, and whose own processes are gone by then. One whose JVM is killed has to
end by itself, and to leave the reason.
"""

from __future__ import annotations

import contextlib
import random
import time

import psutil

from support.driven_group import NAME, DrivenGroup, are_gone
from support.wait import wait_until
from tidegate.commands.codes import Code

DRIVER, JVM, MASTER, PLANNER = "driver", "jvm", "master", "planner"
KINDS = ("worker", "executor", PLANNER, JVM, DRIVER)
_THERE_S = 600.0


def start(driven: DrivenGroup, life: int = 0) -> None:
    """A driver of two executors. Those of one life find each other's leases."""
    driven.start("--executors", "2", "--scratch", str(driven.group.folder / f"leases-{life}"))


def end_by(driven: DrivenGroup, kind: str) -> None:
    """Kills what the driver cannot do without: it ends by that, and says why."""
    find, reason = {
        JVM: (driven.jvms, "DriverKilled"),
        MASTER: (driven.masters, "MasterLost"),
    }[kind]

    def is_open() -> bool:
        """Before that Spark does not start, which is another end."""
        return bool(find()) and "Spark's own pages" in driven.said.rpartition("metrics and ")[2]

    wait_until(is_open, _THERE_S, f"the driver's {kind} to be there", lambda: driven.said[-3000:])
    there = driven.tree()
    (killed,) = find()
    killed.kill()
    code = driven.group.ended(NAME, 120)
    words = driven.last_words.read_text(encoding="utf-8")
    assert (code, words.partition(": ")[0]) == (Code.FAILED, reason), driven.said[-5000:]
    driven.last_words.write_text("", encoding="utf-8")
    are_gone(there)


def strike(driven: DrivenGroup, kind: str, dice: random.Random, life: int = 0) -> None:
    """Kills one process of this kind, somewhere within a batch or between two."""
    if kind == DRIVER:
        there = driven.tree()
        driven.group.kill(NAME)
        # Nothing of it outlives it.
        are_gone(there)
        start(driven, life)
        return
    if kind == JVM:
        end_by(driven, JVM)
        start(driven, life)
        return
    find = {
        "executor": driven.executors,
        PLANNER: driven.planners,
        "worker": driven.python_workers,
    }[kind]
    wait_until(find, _THERE_S, f"a {kind} to be there", lambda: driven.said[-3000:])
    time.sleep(dice.random())
    # It may have ended by itself meanwhile: then nothing is proved and nothing is broken.
    with contextlib.suppress(psutil.NoSuchProcess, IndexError):
        dice.choice(find()).kill()
