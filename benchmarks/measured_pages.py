"""Figures on pages that are about something else: of Cosmos DB, of production, of slices. Pure.

Rules: a cell is made of lines of the latest runs, never written by hand, so that no page says of
one thing what another page does not.
"""

from __future__ import annotations

from collections.abc import Sequence

import runs
from page_words import figure, line_of, or_not_yet, table, told_of

# How far an operator was tried.
_OPERATOR = "500 groups of 32 partitions that read"


def _value(all_runs: runs.Runs, bench: str, what: str, of: str = "ours") -> str:
    line = line_of(all_runs, bench, what)
    return figure(line[of], line["unit"])


def _cosmos(all_runs: runs.Runs) -> str:
    lines = all_runs["cosmos"]["lines"]
    rows = [
        (line["what"], figure(line["ours"], line["unit"]), figure(line["peer"], line["unit"]))
        for line in lines
    ]
    told = f"`make bench-cosmos`, {told_of(all_runs['cosmos'])}."
    return f"\n{table(('', 'ours', 'that of Java'), rows)}\n{told}\n\n"


def _production(all_runs: runs.Runs) -> str:
    def received(way: str) -> str:
        return _value(all_runs, "consume", f"receive, 200 B, {way}, SDK sync")

    cores = _value(all_runs, "operator", f"{_OPERATOR}: CPU")
    memory = _value(all_runs, "operator", "begun where 500 groups stand: most resident")
    rows = [
        ("an event of 200 B, received", f"{received('plain')}; over TLS {received('TLS')}",
         "`make bench-consume`"),
        ("a consumer that owns nothing", _value(all_runs, "idle", "a member that owns nothing, "
         "SDK sync"), "`make bench-idle`"),
        ("a consumer of 16 idle partitions: its receiver", _value(
            all_runs, "consume", "idle, 16 partitions, SDK sync"), "`make bench-consume`"),
        ("the operator, 500 groups of 32 partitions", f"{cores}, {memory} at most",
         "`make bench-operator`"),
    ]  # fmt: skip
    return f"\n{table(('what', 'costs', 'measured by'), rows)}\n"


def _scenario(all_runs: runs.Runs) -> str:
    run = all_runs["spark-scenario"]
    rows = [(line["what"], figure(line["ours"], line["unit"])) for line in run["lines"]]
    return f"\n{table(('', 'seen'), rows)}\n`make bench-spark-scenario`, {told_of(run)}.\n\n"


def _spark(all_runs: runs.Runs) -> str:
    rows: Sequence[tuple[str, ...]] = [
        (line["what"], figure(line["ours"], line["unit"]), figure(line["peer"], line["unit"]))
        for line in all_runs["spark"]["lines"]
    ]
    return f"\n{table(('', 'ours', 'the SDK in a data source'), rows)}\n"


COSMOS = {"fast": or_not_yet(_cosmos, "cosmos")}
PRODUCTION = {"cpu": or_not_yet(_production, "operator")}
SLICES = {"scenario": or_not_yet(_scenario, "spark-scenario")}
SPARK = {"spark": or_not_yet(_spark, "spark")}
