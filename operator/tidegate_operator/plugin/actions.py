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
from contextlib import AsyncExitStack
from dataclasses import replace

from tidegate.commands.codes import Code
from tidegate.model import MemberName, PartitionId
from tidegate.ports import LedgerError
from tidegate.settings import SettingsError
from tidegate_operator.kinds import Document
from tidegate_operator.kube_errors import Unreachable
from tidegate_operator.plugin import changes, explaining, watching
from tidegate_operator.plugin.changes import Change
from tidegate_operator.plugin.cluster import Cluster
from tidegate_operator.plugin.ledgers import OwnerOf, owners, states_of
from tidegate_operator.plugin.operators import is_unserved, operators, unserved
from tidegate_operator.plugin.reports import as_document, known_partitions, report_of
from tidegate_operator.plugin.tables import page
from tidegate_operator.spec import read_spec
from tidegate_operator.status import MEMBERS_TOLD

_LOOK_S = 0.5
_UNSEEN = (
    "Nothing was changed: who owns a partition of so large a group is read from its ledger. With "
    "--limit-s 0 it is pinned, and not waited for."
)


async def partitions(cluster: Cluster, arguments: argparse.Namespace) -> int:
    document = await cluster.group(arguments.name)
    states = await states_of(cluster, document) if arguments.from_ledger else None
    now = time.time()
    report = report_of(document, states, now=now)
    if is_unserved(document, now):
        why = unserved(document, await operators(cluster.kube), now)
        report = replace(report, stale=why)
    if arguments.output == "json":
        print(json.dumps(as_document(report), indent=2, ensure_ascii=False))
    else:
        print("\n".join(line.text for line in page(report)))
    return Code.DONE


async def explain(cluster: Cluster, arguments: argparse.Namespace) -> int:
    document = await cluster.group(arguments.name)
    policy = read_spec(document).scaling.policy
    given = {
        "within_s": arguments.within,
        "drain_within_s": arguments.drain_within,
        "lag_per_replica": arguments.lag_per_replica,
    }
    other = replace(policy, **given) if any(each is not None for each in given.values()) else None
    found = explaining.explain(document, policy, time.time(), other)
    if arguments.output == "json":
        print(json.dumps(explaining.as_document(found), indent=2, ensure_ascii=False))
    else:
        print("\n".join(explaining.page(found)))
    return Code.DONE if other is None or found.what_if is not None else Code.FAILED


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


async def scale(cluster: Cluster, arguments: argparse.Namespace) -> int:
    replicas = None if arguments.auto else arguments.replicas
    change = await cluster.change(arguments.name, lambda each: changes.scale(each, replicas))
    _say(cluster, arguments, change)
    return Code.DONE


async def move(cluster: Cluster, arguments: argparse.Namespace) -> int:
    """A pin, and then waiting until it has been followed."""

    def made(document: Document) -> Change:
        if arguments.unpin:
            return changes.unpin(document, arguments.partition)
        _check_partition(document, arguments.partition)
        _check_member(document, arguments.to)
        return changes.pin(document, arguments.partition, arguments.to)

    if arguments.unpin or arguments.limit_s == 0:
        _say(cluster, arguments, await cluster.change(arguments.name, made))
        return Code.DONE
    document = await cluster.group(arguments.name)
    # What does not exist is said before a Secret is read.
    made(document)
    async with AsyncExitStack() as stack:
        owner_of = await _owners(cluster, document, stack)
        owner = await _first(owner_of, arguments.partition)
        _say(cluster, arguments, await cluster.change(arguments.name, made))
        return await _until_moved(cluster, owner_of, owner, arguments)


async def _owners(cluster: Cluster, document: Document, stack: AsyncExitStack) -> OwnerOf:
    """By the status, which all may read who may pin; by the ledger where it is left out there."""

    async def told(partition: PartitionId) -> MemberName | None:
        rows = report_of(await cluster.group(document["metadata"]["name"])).partitions
        return next((row.owner for row in rows if row.partition == partition), None)

    if (document.get("status") or {}).get("partitionStates") or not known_partitions(document):
        return told
    try:
        return await stack.enter_async_context(owners(cluster, document))
    except SettingsError as problem:
        raise SettingsError(f"{problem} {_UNSEEN}") from None


async def _first(owner_of: OwnerOf, partition: PartitionId) -> MemberName | None:
    try:
        return await owner_of(partition)
    except LedgerError as problem:
        raise LedgerError(problem.refusal, f"{problem} {_UNSEEN}") from None


async def _until_moved(
    cluster: Cluster, owner_of: OwnerOf, owner: MemberName | None, arguments: argparse.Namespace
) -> int:
    partition, member = arguments.partition, arguments.to
    until = time.monotonic() + arguments.limit_s
    while True:
        trouble = ""
        try:
            owner = await owner_of(partition)
        except (LedgerError, Unreachable) as problem:
            # It may answer again before the time is over.
            trouble = str(problem)
        if owner == member and not trouble:
            break
        if time.monotonic() >= until:
            _say_not_moved(cluster, arguments, owner, trouble)
            return Code.FAILED
        await asyncio.sleep(_LOOK_S)
    if arguments.output == "text":
        print(f"partition {partition} is with {member}")
    return Code.DONE


def _say_not_moved(
    cluster: Cluster, arguments: argparse.Namespace, owner: MemberName | None, trouble: str
) -> None:
    whose = f"with {owner or 'nobody'}"
    how = f"is still {whose}" if not trouble else f"was {whose} when that was last seen,"
    why = f": {trouble}" if trouble else "."
    print(
        f"{cluster.program}: partition {arguments.partition} {how} after "
        f"{arguments.limit_s:g} s{why} The pin stays: see "
        f"{cluster.command(f'partitions {arguments.name}')}.",
        file=sys.stderr,
    )


def _check_partition(document: Document, partition: str) -> None:
    known = known_partitions(document)
    if known and partition not in known:
        raise SettingsError(
            f"group '{document['metadata']['name']}' has no partition '{partition}'; it has "
            f"{changes.listed(known)}"
        )


def _check_member(document: Document, member: str) -> None:
    known = [each.name for each in report_of(document).members]
    # A status tells of so many: whether there are others is not known.
    if 0 < len(known) < MEMBERS_TOLD and member not in known:
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
