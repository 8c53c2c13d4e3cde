"""Carries the command out: the cluster, the run, the verdicts, the files and the exit code.

Rules: Ctrl-C and SIGTERM end the run, which removes what it has made first. However it ends, what
was seen by then is reported. Files are written whole.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import sys
import time
from pathlib import Path

import yaml

from tidegate.commands.codes import Code
from tidegate_operator.conformance import report, report_html
from tidegate_operator.conformance.hands import Hands, client_of
from tidegate_operator.conformance.judge import is_passed, verdicts
from tidegate_operator.conformance.options import Images, Operator, Options, Source, given_in
from tidegate_operator.conformance.record import Record, as_document, of_document
from tidegate_operator.conformance.rights import RIGHTS, roles
from tidegate_operator.conformance.running import Run, RunError, checked
from tidegate_operator.kube_errors import Denied, KubeError
from tidegate_operator.plugin.kubeconfig import the_cluster

_PROGRAM = "tidegate conformance"


def options_of(arguments: argparse.Namespace, namespace: str) -> Options:
    """Raises SettingsError."""
    given = None if arguments.group_file is None else given_in(arguments.document)
    source = arguments.source
    if given is not None:
        source = Source.COSMOS if "cosmos" in given.source else Source.HUB
    operator = None if arguments.operator is None else Operator.parse(arguments.operator)
    return checked(
        Options(
            namespace,
            arguments.seed,
            arguments.minutes * 60,
            arguments.name,
            arguments.engine,
            source,
            arguments.replicas,
            arguments.partitions,
            Images(arguments.image, arguments.hub_image, arguments.storage_image),
            operator,
            given,
            str(arguments.group_file or ""),
            arguments.only,
        )
    )


def say(line: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {line}", file=sys.stderr, flush=True)


async def carried_out(arguments: argparse.Namespace) -> int:
    """The exit code. Raises SettingsError."""
    if arguments.judge is not None:
        record = of_document(json.loads(arguments.judge.read_text(encoding="utf-8")))
        return Code.DONE if _reported(record, arguments.report) else Code.FAILED
    try:
        async with the_cluster(arguments) as cluster:
            options = options_of(arguments, cluster.namespace)
            kubeconfig = arguments.kubeconfig or os.environ.get("KUBECONFIG")
            # The plugin's own Kube: the same cluster, and more verbs.
            kube = cluster.kube
            hands = Hands(
                kube,  # type: ignore[arg-type]
                options.namespace,
                options.name,
                lambda: client_of(kubeconfig, arguments.context),
            )
            if arguments.roles:
                where = options.operator.namespace if options.operator else ""
                print(yaml.safe_dump_all(roles(options.namespace, where), sort_keys=False), end="")
                return Code.DONE
            if arguments.tidy:
                await hands.tidy()
                return Code.DONE
            return await _run(hands, options, arguments.report)
    except Denied as problem:
        print(f"{_PROGRAM}: {problem}\nIt needs these rights:\n{RIGHTS}", file=sys.stderr)
    except (KubeError, RunError) as problem:
        print(f"{_PROGRAM}: {problem}", file=sys.stderr)
    return Code.FAILED


async def _run(hands: Hands, options: Options, folder: Path | None) -> int:
    """Raises KubeError, RunError."""
    run = Run(hands, options, say)
    task = asyncio.create_task(run.carry_out())
    loop = asyncio.get_running_loop()
    for name in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(name, task.cancel)
    try:
        await task
    except asyncio.CancelledError:
        say("broken off")
        _report_so_far(run.record, folder, "the run was broken off")
        return Code.CUT
    except (KubeError, RunError) as problem:
        _report_so_far(run.record, folder, f"the run did not end as it should: {problem}")
        raise
    return Code.DONE if _reported(run.record, folder) else Code.FAILED


def _report_so_far(record: Record, folder: Path | None, trouble: str) -> None:
    """Of a run that did not end; none of one in which nothing was to be seen yet."""
    if record.began:
        record.ended = record.ended or time.time()
        record.troubles.append(trouble)
        _reported(record, folder)


def _reported(record: Record, folder: Path | None) -> bool:
    """Prints and writes it; whether all that was tried held."""
    found = verdicts(record)
    text = report.as_text(record, found)
    print(text, end="")
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "report.txt").write_text(text, encoding="utf-8")
        summary = json.dumps(report.as_json(record, found), indent=2)
        (folder / "report.json").write_text(f"{summary}\n", encoding="utf-8")
        (folder / "report.html").write_text(report_html.page(record, found), encoding="utf-8")
        (folder / "record.json").write_text(json.dumps(as_document(record)), encoding="utf-8")
    return is_passed(found, record)
