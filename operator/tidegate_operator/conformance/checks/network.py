"""NP: whether the cluster's network does what a NetworkPolicy says.

Rules: pure. It is no promise of Tidegate's: a network that enforces nothing is told, and breaks no
run.
"""

from __future__ import annotations

from tidegate_operator.conformance.record import Record
from tidegate_operator.conformance.verdicts import Verdict, judged, not_tried


def policies(record: Record) -> Verdict:
    if not record.reached:
        why = record.refused("shut") or "no port of a consumer was shut to a pod in this run"
        return not_tried("NP", why)
    tried = [each for each in record.reached if each.before]
    if not tried:
        pod = record.reached[0].pod
        return not_tried("NP", f"no port of pod {pod} could be reached before there was a policy")
    open_still = next((each for each in tried if each.still), None)
    if open_still is not None:
        return not_tried(
            "NP",
            "not enforced by this cluster's network: port "
            f"{', '.join(str(port) for port in open_still.still)} of pod {open_still.pod} was "
            "reached in spite of a NetworkPolicy, so that those of the chart guard nothing here",
        )
    ports = sum(len(each.before) for each in tried)
    return judged("NP", (), f"enforced: {ports} ports that were reached before were shut by it",
                  {"ports": ports})  # fmt: skip
