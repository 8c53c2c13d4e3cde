"""What docs/migrating.md says of the rehearsal. Pure."""

from __future__ import annotations

import runs
from page_words import figure, or_not_yet, table, told_of


def rehearsal(all_runs: runs.Runs) -> str:
    run = all_runs["migration"]
    rows = [
        (line["what"], figure(line["ours"], line["unit"]), figure(line["peer"], line["unit"]))
        for line in run["lines"]
    ]
    head = ("", "ours in the middle", "official in the middle")
    return f"\n{table(head, rows)}\n`make bench-migration`, {told_of(run)}.\n\n"


MAKERS = {"rehearsal": or_not_yet(rehearsal, "migration")}
