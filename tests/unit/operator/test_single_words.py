"""The words of a status that are no condition's are all on the resource's page, and no other is."""

from __future__ import annotations

import ast

from support.tree import ROOT
from tidegate.spark.failures import OF_NO_EVENT
from tidegate_operator.scaling.nouns import CHANGES, Reason
from tidegate_operator.single_words import FAILURES, KEPT
from tidegate_operator.spark_status import remedy_of

SPARK = ROOT / "consumer" / "tidegate" / "spark"


def failures() -> set[str]:
    """What is written as the reason of a failure."""
    found = set(OF_NO_EVENT.values())
    for path in SPARK.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Call(func=ast.Name("Failure"), args=[ast.Constant(str(word)), *_]):
                    found.add(word)
                case ast.Assign(targets=[ast.Name("reason")], value=ast.Constant(str(word))):
                    found.add(word)
    return found


def test_every_reason_of_a_size_is_an_event_or_says_why_it_stays() -> None:
    assert set(KEPT) == set(Reason) - CHANGES


def test_every_failure_on_spark_is_told() -> None:
    assert set(FAILURES) == failures()


def test_a_failure_has_a_remedy_unless_events_may_be_to_blame() -> None:
    assert remedy_of("PipelineFailed: ValueError") is None
    assert remedy_of("HubNotRead: refused") == FAILURES["HubNotRead"][1]
    assert remedy_of("") is None
