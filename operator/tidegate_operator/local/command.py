"""`tidegate up`, and the commands that ask it: `tidegate get|explain|partitions|watch|pause|…`.

Rules: `tidegate` finds them as entry points, so that the consumer knows of no operator. The others
ask the `tidegate up` of the state folder; what they do and say is the code of `kubectl
consumergroup`. What is wrong is one line on standard error, with the exit codes of `tidegate`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shlex
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tidegate.commands.arguments import count
from tidegate.commands.codes import Code
from tidegate.commands.last_words import say
from tidegate.ops import logs
from tidegate.ops.serving import Address
from tidegate.settings import SettingsError
from tidegate_http.guard import is_loopback
from tidegate_http.shutdown import SHUTDOWN, EndedEarly
from tidegate_operator.kinds import CONSUMER_GROUP, Document
from tidegate_operator.kube_errors import KubeError
from tidegate_operator.local.client import Client, asking
from tidegate_operator.local.given import NAMESPACE
from tidegate_operator.local.shown import table
from tidegate_operator.local.state import NotRunningError, State, default_folder
from tidegate_operator.plugin import actions
from tidegate_operator.plugin.cluster import Cluster
from tidegate_operator.plugin.commands import (
    COMMANDS,
    Command,
    described,
    exit_code_of,
    name_option,
    output_option,
)

_PROGRAM = "tidegate"
_MOST_PARTITIONS = 1024
_LOOPBACK = "127.0.0.1"
_LOOK_S = 0.2


def _add_state(made: argparse.ArgumentParser) -> None:
    made.add_argument(
        "--state",
        type=Path,
        metavar="DIR",
        help="what `tidegate up` keeps: events, positions, logs (default: "
        "$XDG_STATE_HOME/tidegate, or ~/.local/state/tidegate)",
    )


def _state_of(arguments: argparse.Namespace, environment: Mapping[str, str]) -> Path:
    return arguments.state or default_folder(environment)


class _Up:
    """`tidegate up`."""

    text = "run ConsumerGroups on this machine, without a cluster"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.description = (
            "Runs ConsumerGroups as the operator does in a cluster, with a process for each pod, "
            "until Ctrl-C: a clean stop. Hub, storage and Cosmos DB are embedded where no file "
            "gives others."
        )
        add = parser.add_argument
        add("files", type=Path, nargs="+", metavar="FILE", help="as for `kubectl apply -f`")
        _add_state(parser)
        add(
            "--secrets",
            type=Path,
            metavar="DIR",
            help="the Secrets that the groups name: DIR/SECRET/KEY",
        )
        add(
            "--partitions",
            type=_partitions,
            default=16,
            metavar="N",
            help="of a hub or container that is embedded (default: %(default)s)",
        )
        add(
            "--log-level",
            default="WARNING",
            choices=logs.LEVELS,
            help="of the operator's own log (default: %(default)s)",
        )
        add("--no-view", action="store_true", help="lines, also on a terminal")
        add(
            "--console",
            metavar="[HOST:]PORT",
            help="serve the console there, on loopback, to who is on this machine, such as 8081",
        )

    def run(self, arguments: argparse.Namespace, environment: Mapping[str, str]) -> int:
        """Raises SettingsError."""
        # Imported here: who asks the one that runs has no use for the operator.
        from tidegate_operator.local.embedded import EmbeddedError  # noqa: PLC0415
        from tidegate_operator.local.up import Options, up  # noqa: PLC0415
        from tidegate_operator.running import EndedError  # noqa: PLC0415

        SHUTDOWN.begin(lambda text: say(f"{_PROGRAM} up: {text}"))
        options = Options(
            tuple(arguments.files),
            _state_of(arguments, environment),
            arguments.secrets,
            arguments.partitions,
            arguments.log_level,
            not arguments.no_view,
            console_address(arguments.console),
        )
        try:
            return asyncio.run(up(options, environment))
        except EndedEarly as ended:
            say(f"{_PROGRAM} up: {ended}")
            return Code.DONE
        except (EmbeddedError, EndedError, KubeError) as problem:
            print(f"{_PROGRAM} up: {problem}", file=sys.stderr)
            return Code.FAILED


def console_address(text: str | None) -> Address | None:
    """Where the console is: on loopback alone, for nobody logs in. Raises SettingsError."""
    if text is None:
        return None
    host, _, port = text.rpartition(":")
    address = Address.parse(f"{host or _LOOPBACK}:{port}")
    if not is_loopback(address.host):
        raise SettingsError(
            f"--console {text}: nobody logs in to this console, so that it is served on loopback "
            f"alone. Write a port, 127.0.0.1:{port} or [::1]:{port}; in a cluster, "
            "`console.enabled` of the chart serves it to who has a token."
        )
    return address


def _partitions(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and 1 <= int(text) <= _MOST_PARTITIONS):
        raise argparse.ArgumentTypeError(
            f"{text!r}: write a whole number from 1 to {_MOST_PARTITIONS}"
        )
    return int(text)


@dataclass(frozen=True, slots=True)
class _Asking:
    """A command that asks the one that runs."""

    command: Command

    @property
    def text(self) -> str:
        return f"{self.command.text} (of `tidegate up`)"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.description = f"{described(self.command)} Asks the `tidegate up` of this machine."
        _add_state(parser)
        parser.add_argument(
            "-n", "--namespace", default=NAMESPACE, metavar="NS", help="default: %(default)s"
        )
        self.command.add_options(parser)

    def run(self, arguments: argparse.Namespace, environment: Mapping[str, str]) -> int:
        work = self._asked(arguments, environment)
        return exit_code_of(work, _PROGRAM, can_be_in_pod=False)

    async def _asked(self, arguments: argparse.Namespace, environment: Mapping[str, str]) -> int:
        try:
            served = State(_state_of(arguments, environment)).served()
        except NotRunningError as problem:
            print(f"{_PROGRAM}: {problem}", file=sys.stderr)
            return Code.FAILED
        async with asking(served) as client:
            state = arguments.state
            option = f" --state {shlex.quote(str(state))}" if state is not None else ""
            cluster = Cluster(client, arguments.namespace, _PROGRAM, option)
            return int(await self.command.run(cluster, arguments))


def _of_one(command: Command) -> _Asking:
    """A command of one group, as the plugin has it."""

    def add(made: argparse.ArgumentParser) -> None:
        name_option(made)
        output_option(made)
        command.add_options(made)

    return _Asking(Command(command.run, command.text, add))


def _add_get(made: argparse.ArgumentParser) -> None:
    made.add_argument("name", nargs="?", metavar="NAME", help="one of them (default: all)")
    made.add_argument("-o", "--output", choices=("text", "wide", "json", "yaml"), default="text")


async def _get(cluster: Cluster, arguments: argparse.Namespace) -> int:
    groups: list[Document]
    if arguments.name is not None:
        groups = [await cluster.group(arguments.name)]
    else:
        groups = await cluster.kube.list(CONSUMER_GROUP, cluster.namespace)
    shown: Any = groups[0] if arguments.name is not None else {"kind": "List", "items": groups}
    if arguments.output == "json":
        print(json.dumps(shown, indent=2, ensure_ascii=False))
    elif arguments.output == "yaml":
        print(yaml.safe_dump(shown, sort_keys=False, allow_unicode=True), end="")
    else:
        print("\n".join(table(groups, time.time(), is_wide=arguments.output == "wide")))
    return Code.DONE


def _add_scale(made: argparse.ArgumentParser) -> None:
    which = made.add_mutually_exclusive_group(required=True)
    which.add_argument("--replicas", type=_replicas, metavar="N", help="so many consumers")
    which.add_argument("--auto", action="store_true", help="as many as the operator decides")


def _replicas(text: str) -> int:
    return 0 if text == "0" else count(text)


def _add_delete(made: argparse.ArgumentParser) -> None:
    made.add_argument("name", metavar="NAME", help="the ConsumerGroup")


async def _delete(cluster: Cluster, arguments: argparse.Namespace) -> int:
    """As `kubectl delete` does: until it is gone."""
    group = await cluster.group(arguments.name)
    client = cluster.kube
    assert isinstance(client, Client)
    await client.delete(CONSUMER_GROUP, cluster.namespace, arguments.name)
    while await client.find(CONSUMER_GROUP, cluster.namespace, arguments.name) is not None:
        await asyncio.sleep(_LOOK_S)
    goes = (group["spec"].get("ledger") or {}).get("onDelete") == "Delete"
    kept = "its ledger is deleted too" if goes else "its positions are kept"
    print(f"group {arguments.name} is deleted; {kept}")
    return Code.DONE


UP = _Up()
DELETE = _Asking(
    Command(
        _delete, "end a group; its ledger is kept, unless it says onDelete: Delete", _add_delete
    )
)
GET = _Asking(Command(_get, "show the groups, as `kubectl get consumergroups` does", _add_get))
SCALE = _of_one(Command(actions.scale, "say how many consumers there are to be", _add_scale))
EXPLAIN, MOVE, PARTITIONS, PAUSE, RESUME, WATCH = (
    _of_one(COMMANDS[name])
    for name in ("explain", "move", "partitions", "pause", "resume", "watch")
)
