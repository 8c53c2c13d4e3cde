"""What users may rely on stays: keys, metrics, commands, the ledger's format, the context."""

from __future__ import annotations

from support.promised import FILE, lines, promised


def test_all_that_was_promised_is_still_there() -> None:
    gone = sorted(lines(FILE.read_text(encoding="utf-8")) - promised())
    assert not gone, (
        f"{gone}: users rely on it (docs/stability.md). Keep it; or, where a version may break it, "
        "say so in CHANGELOG.md under Removed and run `python tests/support/promised.py`."
    )


def test_every_kind_of_promise_is_gathered() -> None:
    found = {line.partition(" ")[0] for line in promised()}
    assert found == {"command", "context", "kind", "ledger", "metric", "windows"}
    assert {
        "command tidegate run --check",
        "command tidegate-operator run --rollouts-at-once",
        "context epoch",
        "kind v1alpha1 spec.scaling.min: integer",
        "ledger blob host/hub/group/checkpoint/1",
        "ledger checkpoint sequencenumber",
        "metric tidegate_events_handled_total counter partition",
        "metric tidegate_operator_group_wanted",
    } <= promised()
