"""What the seeds draw: every fault, worlds of every size, and nothing from the implementation."""

from __future__ import annotations

import ast
from pathlib import Path

from simulation import checkers
from simulation.draw import draw
from simulation.script import Kind, RosterFacts, Script, What
from simulation.weather import Rates

SEEDS = 500
LONG = 10_000


def scripts(count: int = SEEDS) -> list[Script]:
    return [draw(seed) for seed in range(count)]


def test_every_trouble_is_drawn() -> None:
    drawn = {trouble.what for script in scripts() for trouble in script.troubles}
    # An emptied ledger has worlds of its own: test_emptied.py.
    assert drawn == set(What) - {What.EMPTY_LEDGER}


def test_every_way_in_which_a_storage_call_goes_wrong_is_drawn() -> None:
    drawn = [script.rates for script in scripts()]
    for way in Rates.__slots__:
        assert any(getattr(rates, way) > 0 for rates in drawn), way


def test_pauses_last_from_less_than_one_lease_to_five() -> None:
    for what in (What.PAUSE, What.SLEEP):
        leases = [
            trouble.length_s / script.lease_s
            for script in scripts(5 * SEEDS)
            for trouble in script.troubles
            if trouble.what is what
        ]
        assert min(leases) < 1.0
        assert max(leases) > 4.5


def test_clocks_run_at_different_rates_in_some_worlds() -> None:
    assert {script.drift for script in scripts()} == {0.0, 0.001, 0.02}


def test_rosters_are_absent_right_wrong_or_stale() -> None:
    said = [
        (script, [t.roster for t in script.troubles if t.roster is not None])
        for script in scripts()
    ]
    assert any(not rosters for _, rosters in said)
    everything: list[RosterFacts] = [roster for _, rosters in said for roster in rosters]
    for fact in ("expected", "leaving", "pins", "paused", "is_paused", "rewinds"):
        assert any(getattr(roster, fact) for roster in everything), fact
    strangers = (
        set(roster.expected) - {trouble.member for trouble in script.troubles}
        for script, rosters in said
        for roster in rosters
    )
    assert any(strangers)
    assert any(t.what is What.OPERATOR_DIES for s, rosters in said if rosters for t in s.troubles)


def test_worlds_go_up_to_64_members_and_256_partitions() -> None:
    crowds = [draw(seed) for seed in range(LONG) if seed % 100 == 99]
    assert {script.kind for script in crowds} == {Kind.CROWD}
    members = [sum(t.what is What.JOIN for t in script.troubles) for script in crowds]
    partitions = [script.partitions for script in crowds]
    assert min(draw(seed).partitions for seed in range(100)) == 1
    assert max(members) >= 64
    assert max(partitions) == 256


def test_checkers_know_nothing_of_the_implementation() -> None:
    """They read the nouns of the ledger and the operations that reached it, and no more."""
    folder = Path(next(iter(checkers.__path__)))
    files = sorted(folder.glob("*.py"))
    assert len(files) > 10
    for file in files:
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tidegate"):
                assert node.module in ("tidegate.model", "tidegate.ports"), file.name
            elif isinstance(node, ast.Import):
                assert not any(name.name.startswith("tidegate") for name in node.names), file.name
