"""docs/chaos.md, made from the table of faults and from what the last runs have measured:
`python benchmarks/chaos_page.py` writes it.

Rules: no figure stands here; those of faults are in results/chaos.json, which the tests on the
cluster write, and those of the soak in results/soak.json. What has none says so.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from chaos_faults import FAULTS, Fault
from harness import RESULTS
from soak_report import HEAD, rows_of

PAGE = RESULTS.parents[1] / "docs" / "chaos.md"

_TOP = """\
# Chaos: what a group stands

What may befall a group on a cluster, one fault after another, while each of its nine partitions
gets five events a second, numbered. It is a group of the Python engine that reads a hub, with its
ledger in Blob storage; groups on Spark and on Cosmos DB are disturbed by
[conformance](conformance-measured.md). This page is made by `python benchmarks/chaos_page.py` from
what the runs have written.

```console
$ make test-cluster-chaos test-cluster-chaos-ways   # every fault on the cluster, and its figures
$ MINUTES=60 make soak                              # kills and rollouts: does anything grow?
```

The group has three pods. Their way to hub and storage, and their operator's, leads through a proxy
that makes it bad. After each fault, when every partition is read again, this is asserted: no event
is lost, each partition is in order, no checkpoint went back, no epoch has two owners, and no more
events came again than was promised. What may come again is what was handled since the last
checkpoint, here of one second.

- **Resumed** is the longest time from an owner's last batch to its successor's first; where nobody
  changed, the longest time that any partition stood still, the fault's own time included. Events
  come each 0.2 s: less than twice that is no pause.
- Times are of a machine whose two cores were shared with other work: they are bounds that held, and
  no measure of speed.

"""

_SOAK = """\
## The soak
Two groups of `tidegate up` read one hub. Of `work` consumers are killed, and changed handlers are
rolled out; `calm` is left alone. A figure is **flat** if its slope is below the limit with 95 %
confidence, and **too short to tell** if the run cannot decide that; limits are for an hour. The hub
keeps all events, and the storage what was written: they are shown, and not judged.

"""


def page(faults: Mapping[str, Mapping[str, Any]], soak: Mapping[str, Any] | None) -> str:
    """All of it."""
    parts = [_TOP, _when(faults)]
    for family in dict.fromkeys(fault.family for fault in FAULTS):
        parts.append(f"## {family}\n")
        parts.append(
            "| fault | promised | measured | proven besides by |\n| --- | --- | --- | --- |\n"
        )
        its = [fault for fault in FAULTS if fault.family == family]
        parts += [_row(fault, faults.get(fault.key)) for fault in its]
        parts.append("\n")
    parts.append(_SOAK)
    parts.append(_soak(soak))
    return "".join(parts)


def _when(faults: Mapping[str, Mapping[str, Any]]) -> str:
    days = sorted({str(found["on"]) for found in faults.values()})
    return f"Its figures are of {' and '.join(days)}.\n\n" if days else ""


def _row(fault: Fault, found: Mapping[str, Any] | None) -> str:
    besides = ", ".join(f"`{each}`" for each in fault.elsewhere) or "-"
    if fault.why_not:
        measured = f"not here: {fault.why_not}"
    elif found is None:
        measured = "not measured yet"
    else:
        measured = measured_of(found)
    return f"| {fault.what} | {fault.promised} | {measured} | {besides} |\n"


def measured_of(found: Mapping[str, Any]) -> str:
    """What a run has written of a fault, in words."""
    resumed = found["resumed_s"] or found["longest_pause_s"]
    said = [f"resumed in {resumed:g} s"]
    if found["longest_pause_s"] > resumed:
        said.append(f"the longest pause {found['longest_pause_s']:g} s")
    if "slow_call_s" in found:
        said.append(f"a call took {found['slow_call_s']:g} s")
    if "gone" in found:
        said.insert(0, f"{found['gone']} gone, told")
    if "told" in found:
        said.insert(0, f"`{found['told']}`")
    said.append(f"{found['moves']} moves" if found["moves"] != 1 else "1 move")
    allowed = found["duplicates_allowed"]
    said.append(f"{found['duplicates']} again" + (f", of {allowed} at most" if allowed else ""))
    return "; ".join(said)


def _soak(soak: Mapping[str, Any] | None) -> str:
    if soak is None:
        return "No run has written results yet.\n"
    totals, left = soak["totals"], soak["left"]
    lines = [
        f"On {soak['on']}, for {soak['minutes']:g} minutes on {soak['cores']} cores shared with "
        f"other work ({soak['stood_still_minutes']:g} of them the processes stood still): "
        f"{soak['kills']} kills, {soak['rollouts']} rollouts, {totals['sent']:,} events.\n",
        *(
            f"- `{group}`: {its['handled']:,} handled, {its['lost']} lost, {its['again']} again, "
            f"{its['out_of_order']} out of order; {its['wrong_totals']} wrong totals in its states."
            for group, its in totals.items()
            if group != "sent"
        ),
        f"- At the end {left['members_in_ledgers']} members stood in the ledgers, as many as ran; "
        f"after Ctrl-C {left['processes']} processes were left.\n",
        f"| {' | '.join(HEAD)} |",
        f"|{' --- |' * len(HEAD)}",
        *(f"| {' | '.join(row)} |" for row in rows_of(soak)),
    ]
    return "\n".join(lines) + "\n"


def read(name: str, results: Path = RESULTS) -> Any:
    """A results file; None where no run has written it."""
    path = results / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def main() -> None:
    PAGE.write_text(page(read("chaos") or {}, read("soak")), encoding="utf-8")
    print(f"written to {PAGE}")


if __name__ == "__main__":
    main()
