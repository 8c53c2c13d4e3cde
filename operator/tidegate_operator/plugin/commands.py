"""The commands that look at a group and change it through its ConsumerGroup, whoever serves it.

Rules: the same words and options for `kubectl consumergroup`, which asks a cluster, and for
`tidegate`, which asks the `tidegate up` of this machine. What is wrong is one line on standard
error. Exit codes are those of `tidegate`: 0 done, 1 it could not be done, 2 the command line cannot
be understood, 78 the group or its Secrets cannot be used, 130 broken off.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any

from tidegate.commands.arguments import count, seconds
from tidegate.commands.codes import Code
from tidegate.group_file.durations import seconds_of
from tidegate.handling import DeadLetterError
from tidegate.ports import LedgerError, Refusal, SourceError
from tidegate.settings import SettingsError
from tidegate_operator.kube_errors import KubeError
from tidegate_operator.plugin import actions
from tidegate_operator.plugin.cluster import Cluster

CODES = """\
Exit codes: 0 done, 1 it could not be done, 2 the command line cannot be understood, 78 the group
or its Secrets cannot be used, 130 broken off."""
_IN_POD = "Where only the cluster's pods can reach it, write --in-pod."

Run = Callable[[Cluster, argparse.Namespace], Awaitable[int]]


@dataclass(frozen=True, slots=True)
class Command:
    """What is done, in words, and which options it has besides the name and the output."""

    run: Run
    text: str
    add_options: Callable[[argparse.ArgumentParser], None] = lambda _: None


def output_option(made: argparse.ArgumentParser) -> None:
    made.add_argument("-o", "--output", choices=("text", "json"), default="text")


def name_option(made: argparse.ArgumentParser) -> None:
    made.add_argument("name", metavar="NAME", help="the ConsumerGroup")


def _add_listing(made: argparse.ArgumentParser) -> None:
    made.add_argument(
        "--from-ledger",
        action="store_true",
        help="as the ledger has it now, rather than as the operator last said; also for groups of "
        "more than 128 partitions",
    )


def _add_pace(made: argparse.ArgumentParser) -> None:
    made.add_argument(
        "--every-s", type=seconds, default=1.0, metavar="S", help="how often (default: 1)"
    )


def _add_partitions(made: argparse.ArgumentParser) -> None:
    made.add_argument(
        "--partition", action="append", default=[], metavar="P",
        help="only this partition; may be given again",
    )  # fmt: skip


def _add_objectives(made: argparse.ArgumentParser) -> None:
    which = made.add_mutually_exclusive_group()
    which.add_argument(
        "--within", type=_duration, metavar="TIME",
        help="how many there would be if no event were to wait longer than this, such as 30s",
    )  # fmt: skip
    which.add_argument(
        "--drain-within", type=_duration, metavar="TIME",
        help="if whatever waits were to be handled within this, such as 5m",
    )  # fmt: skip
    which.add_argument(
        "--lag-per-replica", type=count, metavar="N",
        help="if there were to be a consumer for each so many waiting events",
    )  # fmt: skip


def _add_move(made: argparse.ArgumentParser) -> None:
    made.add_argument("partition", metavar="PARTITION")
    which = made.add_mutually_exclusive_group(required=True)
    which.add_argument("--to", metavar="MEMBER", help="the member that is to own it")
    which.add_argument("--unpin", action="store_true", help="balance it like all others again")
    made.add_argument(
        "--limit-s", type=seconds, default=60.0, metavar="S",
        help="how long to wait until it has moved (default: 60; 0 waits not at all)",
    )  # fmt: skip


def _duration(text: str) -> float:
    value = seconds_of(text)
    if value is None:
        raise argparse.ArgumentTypeError(f"{text!r}: write a time such as 30s or 5m")
    return value


COMMANDS: Mapping[str, Command] = {
    "partitions": Command(
        actions.partitions, "show who owns what, and how far behind it is", _add_listing
    ),
    "explain": Command(actions.explain, "say why it has so many consumers", _add_objectives),
    "watch": Command(actions.watch, "show the same live, until Ctrl-C", _add_pace),
    "pause": Command(actions.pause, "stop reading; positions and leases are kept", _add_partitions),
    "resume": Command(actions.resume, "go on reading where it was paused", _add_partitions),
    "move": Command(actions.move, "pin a partition to a member", _add_move),
}


def described(command: Command) -> str:
    """The text of its own --help."""
    return f"{command.text[0].upper()}{command.text[1:]}."


def exit_code_of(work: Coroutine[Any, Any, int], program: str, *, can_be_in_pod: bool) -> int:
    """Runs it; what is wrong is said."""

    def fail(code: Code, text: str) -> int:
        print(f"{program}: {text}", file=sys.stderr)
        return int(code)

    try:
        return int(asyncio.run(work))
    except SettingsError as problem:
        return fail(Code.CONFIGURATION, str(problem))
    except LedgerError as problem:
        hint = _IN_POD if can_be_in_pod and problem.refusal is Refusal.UNKNOWN else ""
        return fail(Code.FAILED, f"{problem} {hint}".rstrip())
    except SourceError as problem:
        hint = _IN_POD if can_be_in_pod and not problem.is_fatal else ""
        return fail(Code.FAILED, f"{problem} {hint}".rstrip())
    except (DeadLetterError, KubeError) as problem:
        return fail(Code.FAILED, str(problem))
    except KeyboardInterrupt:
        return int(Code.CUT)
