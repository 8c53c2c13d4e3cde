"""`tidegate run group.yaml`: one member of a group, with the user's handler.

Rules: the group file, its secrets and the handler are checked before anything is opened; what is
wrong with them is one line and exit code 78. It runs the same on a laptop and in a pod.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import socket
import sys
import time
from collections.abc import Callable, Coroutine, Mapping
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from tidegate.commands import wiring
from tidegate.commands.arguments import seconds
from tidegate.commands.codes import Code
from tidegate.commands.ends import Ends, tell_figures, tell_units
from tidegate.commands.last_words import hide, stop_without_a_reader
from tidegate.commands.ledgers import LeasePlace
from tidegate.commands.stopping import Stopping
from tidegate.commands.strays import run_through
from tidegate.delivery.limit import SWITCH_S
from tidegate.group_file.spark_spec import EngineKind
from tidegate.handlers.context import About
from tidegate.handlers.ending import call_on_stop
from tidegate.handlers.loading import UserCode, load
from tidegate.handlers.partition import deliveries
from tidegate.handlers.tools import Tools
from tidegate.ledger.cosmos.charges import Charges
from tidegate.member.messages import Report
from tidegate.ops import logs
from tidegate.ops.around import Ops, OpsSettings, around
from tidegate.ops.board import FELL_BACK
from tidegate.ops.serving import Address
from tidegate.runtime import Runtime
from tidegate.scratch import Scratch, ScratchTakenError
from tidegate.settings import MemberSettings, SettingsError

if TYPE_CHECKING:
    from tidegate.sources.cosmos.source import CosmosSource

NAME = "TIDEGATE_MEMBER"
SCRATCH = "TIDEGATE_SCRATCH"
POD_UID = "TIDEGATE_POD_UID"
WEIGHT = "TIDEGATE_WEIGHT"
# Kubernetes gives a pod 30 s.
_GRACE_S = 25.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `tidegate run` takes."""
    parser.description = "Runs one member of a group until SIGTERM, SIGHUP or Ctrl-C: a clean stop."
    add = parser.add_argument
    add("file", type=Path, metavar="GROUP.YAML", help="the group file: see docs/settings.md")
    add("--name", help=f"the member's name, no other member's (default: {NAME}, or the host name)")
    add(
        "--weight",
        metavar="N",
        help="this member's share of the partitions, measured by the others'; 0 is none while "
        f"others are there (default: {WEIGHT}, or 1)",
    )
    add("--check", action="store_true", help="check the file and the handler, and end")
    add(
        "--executors",
        metavar="N",
        help="with engine spark and without a cluster: how many executors there are (default: 1)",
    )
    add(
        "--executors-file",
        type=Path,
        metavar="FILE",
        help="the same while it runs: a file with that number, which is looked at again and again",
    )
    add(
        "--grace-s",
        type=seconds,
        default=_GRACE_S,
        metavar="S",
        help="how long a clean stop may take (default: %(default)g)",
    )
    add(
        "--scratch",
        type=Path,
        metavar="FILE",
        help="a file of this member's own that outlives a restart, so that its partitions stay "
        f"with it (default: {SCRATCH})",
    )
    add(
        "--listen",
        metavar="[HOST:]PORT",
        help="serve /metrics, /healthz and /readyz there",
    )
    add(
        "--log-level",
        type=str.upper,
        default="INFO",
        choices=logs.LEVELS,
        help="of the log (default: %(default)s)",
    )
    add("--log-format", default="auto", choices=("auto", "json", "text"), help="of the log")
    add("--no-view", action="store_true", help="no live view on a terminal")


def run(arguments: argparse.Namespace, environment: Mapping[str, str]) -> int:
    """Raises SettingsError."""
    started_at = round(time.time(), 3)
    setup = wiring.set_up(arguments.file, environment)
    hide(setup.secrets)
    if setup.group.engine is EngineKind.SPARK:
        return _drive(setup, arguments, environment)
    if arguments.executors is not None or arguments.executors_file is not None:
        raise SettingsError("--executors and --executors-file are for groups with engine: spark")
    # Before --check says that all can be used.
    _ops_settings(arguments)
    code = load(setup.group.spec.handler.code, setup.folder)
    member = replace(
        wiring.member_settings(setup, _name(arguments, environment)),
        weight=_weight(arguments, environment),
    )
    if arguments.check:
        print(f"group {setup.group.name}: the file and the handler can be used")
        return Code.DONE
    stop_without_a_reader()
    member = replace(member, pod_uid=environment.get(POD_UID, ""), started_at=started_at)
    return run_through(_consume(setup, code, member, arguments, environment))


async def _consume(
    setup: wiring.Setup,
    code: UserCode,
    member: MemberSettings,
    arguments: argparse.Namespace,
    environment: Mapping[str, str],
) -> int:
    settings = _ops_settings(arguments)
    # Threads of handlers that compute leave room for the loop and for the renewal of leases.
    sys.setswitchinterval(SWITCH_S)
    async with AsyncExitStack() as stack:
        ops = await stack.enter_async_context(
            around(
                settings,
                member=member.name,
                group=setup.group.name,
                hub=setup.hub,
                secrets=setup.secrets,
                environment=environment,
            )
        )
        scratch = _scratch(arguments, environment)
        runtime, tools, beside = await _runtime(setup, code, member, scratch, ops, stack)
        stopping = Stopping(
            runtime,
            arguments.grace_s,
            lambda text: ops.watch(Report("stopping", None, text)),
            ops.leave_view,
        )
        try:
            with stopping.signals():
                await runtime.run(*beside)
                await call_on_stop(tools)
        except asyncio.CancelledError:
            if not stopping.is_cut:
                raise
            return Code.CUT
    return Code.DONE


async def _runtime(
    setup: wiring.Setup,
    code: UserCode,
    member: MemberSettings,
    scratch: Scratch | None,
    ops: Ops,
    stack: AsyncExitStack,
) -> tuple[Runtime, Tools, tuple[Callable[[], Coroutine[None, None, None]], ...]]:
    """The member, what its handlers share, and what is to run beside it."""
    letters = wiring.dead_letters(setup)
    if letters is not None:
        stack.push_async_callback(letters.close)
    source = await wiring.open_source(
        setup, stack, lambda text: ops.watch(Report(FELL_BACK, None, text))
    )
    tools = Tools(
        code,
        setup.group.spec.delivery,
        About(member.name, setup.group.name, setup.hub),
        letters,
        ops.watch,
        time.monotonic,
        time.time,
        random.random,
        ops.observer,
    )
    charges = Charges()
    spent: dict[str, Callable[[], float]] = {}
    if isinstance(setup.ledger, LeasePlace):
        spent["leases"] = lambda: charges.units
    if setup.group.spec.source.cosmos is not None:
        budget = cast("CosmosSource", source).budget
        spent["monitored"] = lambda: budget.spent
    runtime = Runtime(
        member,
        lambda: wiring.new_ledger(setup, charges),
        source,
        deliveries(tools),
        scratch=scratch,
        report=lambda _: None,  # heard by `watch`, as everything else
        watch=ops.watch,
        admission=wiring.admission(setup, source),
    )
    ends = Ends(source, runtime, ops.board, ops.observer, ops.watch)
    figures = partial(
        tell_figures, runtime, ops.board, ops.meter, member.figures_every_s, ops.secrets.hide
    )
    ops.board.lineage = setup.group.spec.source.lineage
    units = partial(tell_units, ops.observer, spent)
    return runtime, tools, (ends.tell, figures, *((units,) if spent else ()))


def _drive(
    setup: wiring.Setup, arguments: argparse.Namespace, environment: Mapping[str, str]
) -> int:
    """The same with Spark, whose executors are the members."""
    # Imported here: who runs a Python handler has no use for it.
    try:
        from tidegate.spark.driver import run_driver  # noqa: PLC0415
        from tidegate.spark.driver_parts import DriverOptions  # noqa: PLC0415
        from tidegate.spark.standalone import executors_of  # noqa: PLC0415
    except ModuleNotFoundError as error:
        if error.name not in ("pandas", "pyarrow", "py4j", "pyspark"):
            raise
        raise SettingsError(
            f"engine spark needs {error.name}, which is not installed: install tidegate[spark], or "
            "use the image for Spark"
        ) from None
    folder = arguments.scratch or environment.get(SCRATCH)
    options = DriverOptions(
        _name(arguments, environment),
        arguments.grace_s,
        # Spark's own log would be written across the view.
        replace(_ops_settings(arguments), has_view=False),
        scratch=Path(folder) if folder else None,
        pod_uid=environment.get(POD_UID, ""),
        executors=executors_of(arguments.executors),
        executors_file=arguments.executors_file,
        only_checks=arguments.check,
    )
    return run_driver(setup, options, environment)


def _name(arguments: argparse.Namespace, environment: Mapping[str, str]) -> str:
    return str(arguments.name or environment.get(NAME) or socket.gethostname())


def _ops_settings(arguments: argparse.Namespace) -> OpsSettings:
    return OpsSettings(
        Address.parse(arguments.listen) if arguments.listen else None,
        arguments.log_level,
        arguments.log_format,
        not arguments.no_view,
    )


def _weight(arguments: argparse.Namespace, environment: Mapping[str, str]) -> float:
    """Raises SettingsError that names the option or the variable."""
    where, text = "--weight", arguments.weight
    if text is None:
        where, text = WEIGHT, environment.get(WEIGHT) or "1"
    try:
        return MemberSettings("any", weight=float(text)).checked().weight
    except ValueError:
        raise SettingsError(f"{where} {text!r}: write a number, 0 or more") from None


def _scratch(arguments: argparse.Namespace, environment: Mapping[str, str]) -> Scratch | None:
    path = arguments.scratch or environment.get(SCRATCH)
    if not path:
        return None
    try:
        return Scratch(Path(path))
    except (OSError, ScratchTakenError) as error:
        raise SettingsError(f"--scratch {path}: {error}") from None
