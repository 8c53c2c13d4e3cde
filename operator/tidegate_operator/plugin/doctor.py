"""`doctor`: problems of the groups of a namespace, each with its remedy.

Rules: it reads ConsumerGroups and the Leases of operators, and changes nothing. If no operator
looks at a group, that comes first, because the rest of its status is old.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tidegate.commands.codes import Code
from tidegate_operator.kinds import CONSUMER_GROUP
from tidegate_operator.plugin.cluster import Cluster
from tidegate_operator.plugin.operators import SeenOperator, operators, unserved
from tidegate_operator.plugin.reports import report_of
from tidegate_operator.readiness import WISHED
from tidegate_operator.wording import capital


@dataclass(frozen=True, slots=True)
class Findings:
    """Of one group; none where all is well."""

    namespace: str
    name: str
    found: tuple[str, ...]


def findings_of(
    document: Mapping[str, Any], seen: Sequence[SeenOperator] | None, now: float
) -> Findings:
    """The problems of one group. Pure."""
    report, found = report_of(document, now=now), []
    why = unserved(document, seen, now)
    if why:
        found.append(capital(why))
    elif not report.is_current:
        found.append("The operator has not seen its newest change yet.")
    found += [
        f"{each.type} {each.status}, {each.reason}: {each.message}"
        for each in report.of_note
        if each.is_trouble and each.reason not in WISHED
    ]
    return Findings(report.namespace, report.name, tuple(found))


async def doctor(cluster: Cluster, arguments: argparse.Namespace) -> int:
    """Exit code 1 where anything is wrong. Raises KubeError."""
    if arguments.name is None:
        documents = await cluster.kube.list(CONSUMER_GROUP, cluster.namespace)
    else:
        documents = [await cluster.group(arguments.name)]
    now = time.time()
    seen = await operators(cluster.kube)
    found = [findings_of(each, seen, now) for each in documents]
    if arguments.output == "json":
        told = [
            {"namespace": each.namespace, "name": each.name, "findings": list(each.found)}
            for each in found
        ]
        print(json.dumps(told, indent=2, ensure_ascii=False))
    else:
        print("\n".join(_lines(cluster.namespace, found)))
    return Code.FAILED if any(each.found for each in found) else Code.DONE


def _lines(namespace: str, found: Sequence[Findings]) -> list[str]:
    if not found:
        return [f"there is no group in namespace '{namespace}'"]
    lines = []
    for each in found:
        lines.append(f"{each.namespace}/{each.name}: {'' if each.found else 'nothing is wrong'}")
        lines += [f"  {text}" for text in each.found]
    return [line.rstrip() for line in lines]
