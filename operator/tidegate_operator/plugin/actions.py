"""What is done through the ConsumerGroup itself: looking, pausing, pinning.

Rules: what does not exist (a partition, a member) is refused before anything is written, with what
was probably meant.
"""

from __future__ import annotations

import argparse
import asyncio
import difflib
import json
import os
import sys
import time
from collections.abc import Callable, Collection

from tidegate.commands.codes import Code
from tidegate.settings import SettingsError
from tidegate_operator.kinds import Document
from tidegate_operator.plugin import changes, watching
from tidegate_operator.plugin.changes import Change
from tidegate_operator.plugin.cluster import Cluster
from tidegate_operator.plugin.ledgers import states_of
from tidegate_operator.plugin.reports import as_document, known_partitions, report_of
from tidegate_operator.plugin.tables import page

_LOOK_S = 0.5


async def partitions(cluster: Cluster, arguments: argparse.Namespace) -> int:
    document = await cluster.group(arguments.name)
    states = await states_of(cluster, document) if arguments.from_ledger else None
    report = report_of(document, states)
    if arguments.output == "json":
        print(json.dumps(as_document(report), indent=2, ensure_ascii=False))
    else:
        print("\n".join(line.text for line in page(report)))
    return Code.DONE


async def watch(cluster: Cluster, arguments: argparse.Namespace) -> int:
    return await watching.watch(
        cluster,
        arguments.name,
        as_json=arguments.output == "json",
        every_s=arguments.every_s,
        environment=os.environ,
    )


async def pause(cluster: Cluster, arguments: argparse.Namespace) -> int:
    return await _change_partitions(cluster, arguments, changes.pause)


async def resume(cluster: Cluster, arguments: argparse.Namespace) -> int:
    return await _change_partitions(cluster, arguments, changes.resume)


async def _change_partitions(
    cluster: Cluster,
    arguments: argparse.Namespace,
    make: Callable[[Document, Collection[str]], Change],
) -> int:
    def made(document: Document) -> Change:
        for partition in arguments.partition:
            _check_partition(document, partition)
        return make(document, arguments.partition)

    _say(cluster, arguments, await cluster.change(arguments.name, made))
    return Code.DONE


async def move(cluster: Cluster, arguments: argparse.Namespace) -> int:
    """A pin, and then waiting until it has been followed."""

    def made(document: Document) -> Change:
        if arguments.unpin:
            return changes.unpin(document, arguments.partition)
        _check_partition(document, arguments.partition)
        _check_member(document, arguments.to)
        return changes.pin(document, arguments.partition, arguments.to)

    _say(cluster, arguments, await cluster.change(arguments.name, made))
    if arguments.unpin or arguments.limit_s == 0:
        return Code.DONE
    until = time.monotonic() + arguments.limit_s
    while (owner := _owner(await cluster.group(arguments.name), arguments.partition)) != (
        arguments.to
    ):
        if time.monotonic() >= until:
            print(
                f"kubectl consumergroup: partition {arguments.partition} is still with "
                f"{owner or 'nobody'} after {arguments.limit_s:g} s. The pin stays: see "
                f"`kubectl consumergroup partitions {arguments.name}`.",
                file=sys.stderr,
            )
            return Code.FAILED
        await asyncio.sleep(_LOOK_S)
    if arguments.output == "text":
        print(f"partition {arguments.partition} is with {arguments.to}")
    return Code.DONE


def _owner(document: Document, partition: str) -> str | None:
    rows = report_of(document).partitions
    return next((row.owner for row in rows if row.partition == partition), None)


def _check_partition(document: Document, partition: str) -> None:
    known = known_partitions(document)
    if known and partition not in known:
        raise SettingsError(
            f"group '{document['metadata']['name']}' has no partition '{partition}'; it has "
            f"{changes.listed(known)}"
        )


def _check_member(document: Document, member: str) -> None:
    known = [each.name for each in report_of(document).members]
    if known and member not in known:
        close = difflib.get_close_matches(member, known, 1, 0.5)
        meant = f"did you mean '{close[0]}'?" if close else f"there are: {', '.join(known)}"
        raise SettingsError(
            f"group '{document['metadata']['name']}' has no member '{member}': {meant}"
        )


def _say(cluster: Cluster, arguments: argparse.Namespace, change: Change) -> None:
    if arguments.output == "json":
        told = {
            "namespace": cluster.namespace,
            "name": arguments.name,
            "changed": bool(change.patch),
            "message": change.said,
        }
        print(json.dumps(told, ensure_ascii=False))
    else:
        print(f"{cluster.namespace}/{arguments.name}: {change.said}")
