"""The command line: `kubectl consumergroup partitions|explain|watch|pause|resume|move|…`.

Rules: kubectl runs it as `kubectl-consumergroup` and hands all arguments on, so it takes kubectl's
own -n, --context and --kubeconfig. What is wrong is one line on standard error. Exit codes are
those of `tidegate`: 0 done, 1 it could not be done, 2 the command line cannot be understood,
78 the group or its Secrets cannot be used, 130 broken off.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Awaitable, Callable

from tidegate.commands import letters, rewind
from tidegate.commands.codes import Code
from tidegate.group_file.durations import seconds_of
from tidegate.handling import DeadLetterError
from tidegate.ports import LedgerError, Refusal, SourceError
from tidegate.settings import SettingsError
from tidegate_operator.kube_errors import KubeError
from tidegate_operator.plugin import actions, ledgers
from tidegate_operator.plugin.cluster import Cluster, the_cluster

PROGRAM = "kubectl consumergroup"
_DESCRIPTION = "Looks at consumer groups and moves their partitions, with your own rights."
_CODES = """\
Exit codes: 0 done, 1 it could not be done, 2 the command line cannot be understood, 78 the group
or its Secrets cannot be used, 130 broken off."""
_IN_POD = "Where only the cluster's pods can reach it, write --in-pod."
_IN_POD_HELP = "let one of the group's pods do it, for what is reached from there alone"

Command = Callable[[Cluster, argparse.Namespace], Awaitable[int]]


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog=PROGRAM, description=_DESCRIPTION, epilog=_CODES)
    commands = top.add_subparsers(required=True, metavar="COMMAND")
    output = _output()
    where = argparse.ArgumentParser(add_help=False, parents=[_place()])
    where.add_argument("name", metavar="NAME", help="the ConsumerGroup")

    def command(
        name: str, run: Command, text: str, *parents: argparse.ArgumentParser
    ) -> argparse.ArgumentParser:
        words = f"{text[0].upper()}{text[1:]}."
        made = commands.add_parser(name, help=text, description=words, parents=list(parents))
        made.set_defaults(run=run)
        return made

    partitions = command(
        "partitions", actions.partitions, "show who owns what, and how far behind it is", where,
        output,
    )  # fmt: skip
    partitions.add_argument(
        "--from-ledger",
        action="store_true",
        help="as the ledger has it now, rather than as the operator last said; also for groups of "
        "more than 128 partitions",
    )
    _add_objectives(
        command("explain", actions.explain, "say why it has so many consumers", where, output)
    )
    watching = command("watch", actions.watch, "show the same live, until Ctrl-C", where, output)
    watching.add_argument(
        "--every-s", type=_seconds, default=1.0, metavar="S", help="how often (default: 1)"
    )
    for name, run, text in (
        ("pause", actions.pause, "stop reading; positions and leases are kept"),
        ("resume", actions.resume, "go on reading where it was paused"),
    ):
        made = command(name, run, text, where, output)
        made.add_argument(
            "--partition", action="append", default=[], metavar="P",
            help="only this partition; may be given again",
        )  # fmt: skip
    _add_move(command("move", actions.move, "pin a partition to a member", where, output))
    rewinding = command(
        "rewind", _rewind, "move checkpoints while the group runs, and clear the state", where
    )
    rewind.add_options(rewinding)
    rewinding.add_argument("--in-pod", action="store_true", help=_IN_POD_HELP)
    put_aside = command("deadletters", _letters, "list, show and replay what was put aside")
    inside = argparse.ArgumentParser(add_help=False, parents=[where, output])
    inside.add_argument("--in-pod", action="store_true", help=_IN_POD_HELP)
    letters.add_actions(put_aside, inside)
    return top


def _place() -> argparse.ArgumentParser:
    """What kubectl itself takes, and users write anywhere."""
    made = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    made.add_argument("-n", "--namespace", metavar="NS", help="default: that of the context")
    made.add_argument("--context", help="a context of the kubeconfig")
    made.add_argument("--kubeconfig", metavar="FILE", help="default: KUBECONFIG, ~/.kube/config")
    return made


def _output() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(add_help=False)
    made.add_argument("-o", "--output", choices=("text", "json"), default="text")
    return made


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
        "--lag-per-replica", type=_count, metavar="N",
        help="if there were to be a consumer for each so many waiting events",
    )  # fmt: skip


def _add_move(made: argparse.ArgumentParser) -> None:
    made.add_argument("partition", metavar="PARTITION")
    which = made.add_mutually_exclusive_group(required=True)
    which.add_argument("--to", metavar="MEMBER", help="the member that is to own it")
    which.add_argument("--unpin", action="store_true", help="balance it like all others again")
    made.add_argument(
        "--limit-s", type=_seconds, default=60.0, metavar="S",
        help="how long to wait until it has moved (default: 60; 0 waits not at all)",
    )  # fmt: skip


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r}: write a number of seconds")
    return value


def _duration(text: str) -> float:
    value = seconds_of(text)
    if value is None:
        raise argparse.ArgumentTypeError(f"{text!r}: write a time such as 30s or 5m")
    return value


def _count(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and 0 < int(text) < 1 << 31):
        raise argparse.ArgumentTypeError(f"{text!r}: write a whole number, 1 or more")
    return int(text)


async def _rewind(cluster: Cluster, arguments: argparse.Namespace) -> int:
    if arguments.in_pod:
        return await ledgers.in_pod(cluster, arguments, ledgers.rewind_words(arguments))
    return await ledgers.rewound(cluster, arguments)


async def _letters(cluster: Cluster, arguments: argparse.Namespace) -> int:
    if arguments.action == "list":
        arguments.json = arguments.json or arguments.output == "json"
    if arguments.in_pod:
        return await ledgers.in_pod(cluster, arguments, ledgers.letters_words(arguments))
    return await ledgers.seen_to(cluster, arguments)


def carried_out(words: list[str]) -> int:
    """The exit code of these arguments."""
    # Taken out first: argparse loses names that come after an option between them.
    place, others = _place().parse_known_args(words)
    arguments = parser().parse_args(others)
    vars(arguments).update(vars(place))
    try:
        return int(asyncio.run(_run(arguments)))
    except SettingsError as problem:
        return _fail(Code.CONFIGURATION, str(problem))
    except LedgerError as problem:
        can_be_in_pod = problem.refusal is Refusal.UNKNOWN and hasattr(arguments, "in_pod")
        hint = _IN_POD if can_be_in_pod else ""
        return _fail(Code.FAILED, f"{problem} {hint}".rstrip())
    except (DeadLetterError, KubeError, SourceError) as problem:
        return _fail(Code.FAILED, str(problem))
    except KeyboardInterrupt:
        return int(Code.CUT)
    except BrokenPipeError:
        # Whoever read has read enough. What is still to be written when Python ends goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return int(Code.FAILED)


async def _run(arguments: argparse.Namespace) -> int:
    command: Command = arguments.run
    async with the_cluster(arguments) as cluster:
        return await command(cluster, arguments)


def _fail(code: Code, text: str) -> int:
    print(f"{PROGRAM}: {text}", file=sys.stderr)
    return int(code)
