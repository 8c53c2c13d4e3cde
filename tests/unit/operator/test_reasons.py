"""The list of reasons on the resource's page has every reason that the code gives, and no other."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from support.tree import ROOT
from tidegate_operator import claims, conditions, letting_go, secrets, size_conditions
from tidegate_operator.kinds import CONFIG_MAP, SECRET
from tidegate_operator.model import LedgerTrouble
from tidegate_operator.pod_troubles import REASONS as OF_PODS
from tidegate_operator.readiness import NOT_READ, READY
from tidegate_operator.reasons import EVENTS, MEANINGS, REASONS
from tidegate_operator.scaling.nouns import CHANGES

PACKAGE = ROOT / "operator" / "tidegate_operator"
MODULES = [
    path
    for path in sorted([*PACKAGE.glob("*.py"), *PACKAGE.glob("engines/*.py")])
    if path.stem != "__main__"
]
# Errors after which the next round looks anew, and nothing is said.
PASSING = {"Conflict", "AlreadyThere", "NotThere"}


def told_by(path: Path) -> Iterator[tuple[str, str]]:
    """Conditions and their reasons that stand in a module, where they stand as they are."""
    name = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
    module = importlib.import_module(name.removesuffix(".__init__"))
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and node.args:
            yield from _of_call(module, node)
        elif isinstance(node, ast.Assign) and _is_reason(node.targets[0]):
            value = node.value
            either = (value.body, value.orelse) if isinstance(value, ast.IfExp) else (value,)
            for inner in either:
                if isinstance(inner, ast.Constant):
                    yield READY, str(inner.value)


def _of_call(module: ModuleType, call: ast.Call) -> Iterator[tuple[str, str]]:
    match call.func:
        case ast.Attribute(value=ast.Name("Condition"), attr="so" | "not_so" | "unknown"):
            kind, reason = (_value(module, each) for each in call.args[:2])
        case ast.Name("_not_read"):
            kind, reason = _value(module, call.args[0]), NOT_READ
        case ast.Name("_not" | "Trouble" | "Failure"):
            kind, reason = READY, _value(module, call.args[0])
        case _:
            return
    if kind and reason:
        yield kind, reason


def _is_reason(target: ast.expr) -> bool:
    return isinstance(target, ast.Name) and target.id == "reason"


def _value(module: ModuleType, node: ast.expr) -> str:
    """A text that stands there, or a name of the module; '' where it is only known later."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    return str(getattr(module, node.id, "")) if isinstance(node, ast.Name) else ""


def told() -> set[tuple[str, str]]:
    found = {pair for path in MODULES for pair in told_by(path)}
    elsewhere = {*OF_PODS, *LedgerTrouble, *secrets.MISSING.values(), claims.SHARED}
    return {
        (kind, str(reason))
        for kind, reason in found | {(READY, reason) for reason in elsewhere}
        if reason not in PASSING
    }


def test_the_list_has_every_reason_of_every_condition_and_no_other() -> None:
    listed = {(kind, reason) for kind, reasons in REASONS.items() for reason in reasons}
    assert sorted(told() - listed) == [], "add them to tidegate_operator/reasons.py"
    assert sorted(listed - told()) == [], "nobody says them any more"


def test_every_condition_has_its_meaning() -> None:
    kinds = {
        READY, conditions.BALANCED, size_conditions.SCALING, size_conditions.BOUND,
        conditions.STUCK, conditions.RESTORED, conditions.LOSS, conditions.BEHIND,
        conditions.PAUSED,
    }  # fmt: skip
    assert MEANINGS.keys() == REASONS.keys() == kinds


@pytest.mark.parametrize("kind", REASONS)
def test_what_is_bad_says_what_to_do(kind: str) -> None:
    for name, reason in REASONS[kind].items():
        for text in (reason.meaning, reason.remedy or "None."):
            assert text[-1] in ".?", name
            assert "|" not in text, name


def test_events_with_reasons_of_their_own_are_listed() -> None:
    text = (PACKAGE / "events.py").read_text(encoding="utf-8")
    literal = {
        node.args[0].value
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        and node.func.id in ("_normal", "_warning") and isinstance(node.args[0], ast.Constant)
    }  # fmt: skip
    sizes = {str(reason) for reason in CHANGES}
    assert EVENTS.keys() == literal | sizes | {letting_go.ERASED, letting_go.LEFT}


def test_what_is_missing_has_a_reason_for_each_kind_that_is_read_by_name() -> None:
    assert secrets.MISSING.keys() == {SECRET, CONFIG_MAP}
