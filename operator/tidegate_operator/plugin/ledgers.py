"""What the plugin does at a group's ledger itself: lists it, rewinds it, sees to its dead letters.

Rules: rewinds and dead letters are the code of `tidegate rewind` and `tidegate deadletters`, given
the group of the cluster instead of a file. `--in-pod` has one of the group's pods do the same, for
what only pods reach: kubectl runs the command there.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from tidegate.commands import letters, rewind, wiring
from tidegate.model import Listing, MemberName, Ownership, PartitionId
from tidegate.ports import List, ReadOwnership
from tidegate.settings import SettingsError
from tidegate_operator.engines.inputs import GROUP_LABEL
from tidegate_operator.facts import role_of
from tidegate_operator.kinds import CONFIG_MAP, POD, Document
from tidegate_operator.kube_errors import NotThere
from tidegate_operator.lag import lag_of_group
from tidegate_operator.model import GroupKey, LedgerView, Observation, Steps
from tidegate_operator.plugin.cluster import Cluster
from tidegate_operator.pod_nouns import Role
from tidegate_operator.spec import read_spec, wish_of
from tidegate_operator.status import partition_states
from tidegate_operator.view import view_of

# Where a consumer's pod has its group file.
GROUP_FILE = "/etc/tidegate/group/group.yaml"


async def states_of(cluster: Cluster, document: Document) -> list[dict[str, Any]]:
    """The partitions as the ledger has them now, in the form of a status."""
    setup = await cluster.setup(document)
    ledger = wiring.new_ledger(setup, is_member=False)
    try:
        asked_at = time.time()
        listing = await ledger.perform(List())
    finally:
        await ledger.close()
    assert isinstance(listing, Listing)
    observation = Observation(
        key=GroupKey(cluster.namespace, document["metadata"]["name"]),
        generation=0,
        wish=wish_of(read_spec(document)),
        workload=None,
        pods=(),
        ledger=LedgerView(listing, asked_at),
        now=time.time(),
        lineage=setup.group.spec.source.lineage,
    )
    start = setup.group.spec.source.start
    return list(
        partition_states(view_of(observation, Steps(), lag_of_group(observation, start, None)))
    )


# Who owns a partition now.
OwnerOf = Callable[[PartitionId], Awaitable[MemberName | None]]


@asynccontextmanager
async def owners(cluster: Cluster, document: Document) -> AsyncIterator[OwnerOf]:
    """The owner of any partition as the ledger has it now, by one request each time."""
    ledger = wiring.new_ledger(await cluster.setup(document), is_member=False)

    async def owner_of(partition: PartitionId) -> MemberName | None:
        row = await ledger.perform(ReadOwnership(partition))
        if not isinstance(row, Ownership) or row.owner is None or not row.lease.is_held:
            return None
        return row.owner.name

    try:
        yield owner_of
    finally:
        await ledger.close()


async def rewound(cluster: Cluster, arguments: argparse.Namespace) -> int:
    rewind.start_of(arguments.to)
    setup = await cluster.setup(await cluster.group(arguments.name))
    return await rewind.carry_out(setup, arguments)


async def seen_to(cluster: Cluster, arguments: argparse.Namespace) -> int:
    """Dead letters, listed, shown or replayed."""
    document = await cluster.group(arguments.name)
    setup = await cluster.setup(document)
    with tempfile.TemporaryDirectory(prefix="tidegate-") as folder:
        if arguments.action == "replay" and not arguments.to_hub:
            await _bring_handler(cluster, document, Path(folder))
        setup = replace(setup, folder=Path(folder))
        return await letters.carry_out(setup, arguments)


async def _bring_handler(cluster: Cluster, document: Document, folder: Path) -> None:
    """The handler's files, out of their ConfigMap. Raises SettingsError."""
    name = read_spec(document).handler.config_map
    if name is None:
        raise SettingsError(
            "the handler of this group is in its image: replay in one of its pods with --in-pod, "
            "or send the events to the hub again with --to-hub"
        )
    files = (await cluster.kube.get(CONFIG_MAP, cluster.namespace, name)).get("data") or {}
    for file, text in files.items():
        (folder / file).write_text(text, encoding="utf-8")


# --- in a pod


async def in_pod(cluster: Cluster, arguments: argparse.Namespace, words: Sequence[str]) -> int:
    """Has a pod of the group run `tidegate WORDS`. Raises NotThere."""
    await cluster.group(arguments.name)
    labels = f"{GROUP_LABEL}={arguments.name}"
    pods = await cluster.kube.list(POD, cluster.namespace, labels=labels)
    # An executor has no group file.
    ready = sorted(
        (pod["metadata"]["name"], role_of(pod))
        for pod in pods
        if _is_ready(pod) and role_of(pod) is not Role.EXECUTOR
    )
    if not ready:
        raise NotThere(
            f"group '{arguments.name}' has no pod that is ready to do this: run it without "
            "--in-pod, or give the group a pod"
        )
    pod, container = ready[0]
    command = ["kubectl"]
    for option in ("kubeconfig", "context"):
        value = getattr(arguments, option)
        command += [f"--{option}={value}"] if value else []
    command += ["exec", f"--namespace={cluster.namespace}", pod, f"--container={container}"]
    try:
        process = await asyncio.create_subprocess_exec(*command, "--", "tidegate", *words)
    except FileNotFoundError:
        raise NotThere("--in-pod needs kubectl on the PATH, and it is not there") from None
    return await process.wait()


def _is_ready(pod: Document) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    is_going = pod["metadata"].get("deletionTimestamp") is not None
    return not is_going and any(
        each["type"] == "Ready" and each["status"] == "True" for each in conditions
    )


def rewind_words(arguments: argparse.Namespace) -> list[str]:
    words = ["rewind", GROUP_FILE, f"--to={arguments.to}", f"--limit-s={arguments.limit_s:g}"]
    words += [f"--partition={each}" for each in arguments.partition]
    return [*words, "--json"] if arguments.json else words


def letters_words(arguments: argparse.Namespace) -> list[str]:
    words = ["deadletters", arguments.action, f"--file={GROUP_FILE}"]
    if arguments.action == "list":
        words += [f"--partition={arguments.partition}"] if arguments.partition else []
        words += ["--json"] if arguments.json else []
    elif arguments.action == "show":
        words.append(arguments.id)
    else:
        words += [
            f"--{flag.replace('_', '-')}"
            for flag in ("all", "to_hub", "keep", "json")
            if getattr(arguments, flag)
        ]
        words += arguments.ids
    return words
