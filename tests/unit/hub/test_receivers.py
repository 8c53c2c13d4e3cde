"""Who may read a partition: the rules of epochs and of the quota."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tidegate_hub.receivers import Admit, Receiver, Refuse, decide_attach


@dataclass(frozen=True)
class Case:
    says: str
    current: tuple[int | None, ...]
    newcomer: int | None
    evicted: tuple[int, ...] | None  # places in current; None: refused
    words: str = ""


CASES = [
    Case("the first receiver is admitted", (), None, ()),
    Case("the first receiver with an epoch is admitted", (), 0, ()),
    Case("receivers without an epoch share", (None,), None, ()),
    Case("the fifth receiver without an epoch is admitted", (None,) * 4, None, ()),
    Case("the sixth is refused", (None,) * 5, None, None, "allowed receivers"),
    Case("an epoch evicts all without one", (None,) * 5, 0, (0, 1, 2, 3, 4), "with epoch ''"),
    Case("a higher epoch evicts a lower one", (4,), 5, (0,), "epoch of '5'"),
    Case("the latest of equals evicts the other", (5,), 5, (0,), "with epoch '5'"),
    Case("epoch zero yields to another epoch zero", (0,), 0, (0,), "epoch '0'"),
    Case("a lower epoch is refused", (5,), 4, None, "a higher epoch '5' already exists"),
    Case("no epoch is refused beside one", (5,), None, None, "non-epoch receiver is not allowed"),
    Case("no epoch is refused beside epoch zero", (0,), None, None, "epoch of '0'"),
    Case("the highest of several counts", (1, 7, None), 6, None, "higher epoch '7'"),
    Case("a negative epoch is an epoch", (-2,), -3, None, "higher epoch '-2'"),
]


@pytest.mark.parametrize("case", CASES, ids=[case.says for case in CASES])
def test_attaching(case: Case) -> None:
    current = [Receiver(key, epoch) for key, epoch in enumerate(case.current)]
    decision = decide_attach(current, Receiver("new", case.newcomer))
    if case.evicted is None:
        assert isinstance(decision, Refuse)
        assert case.words in decision.error.description
        return
    assert isinstance(decision, Admit)
    assert tuple(eviction.receiver.key for eviction in decision.evict) == case.evicted
    for eviction in decision.evict:
        assert eviction.error.condition == "amqp:link:stolen"
        assert case.words in eviction.error.description


def test_receivers_that_gave_a_name_are_named() -> None:
    named = [Receiver(1, 3, "first")]
    admitted = decide_attach(named, Receiver(2, 4, "second"))
    refused = decide_attach(named, Receiver(2, 2, "second"))
    assert isinstance(admitted, Admit)
    assert isinstance(refused, Refuse)
    assert admitted.evict[0].error.description.startswith(
        "New receiver 'second' with higher epoch of '4' is created hence current receiver 'first'"
    )
    assert refused.error.description.startswith(
        "Receiver 'first' with a higher epoch '3' already exists. Receiver 'second' with epoch 2"
    )


def test_the_quota_lists_who_is_connected() -> None:
    current = [Receiver(key, None, f"reader-{key}") for key in range(5)]
    decision = decide_attach(current, Receiver("new"))
    assert isinstance(decision, Refuse)
    assert decision.error.condition == "amqp:resource-limit-exceeded"
    assert "reader-0, reader-1, reader-2, reader-3, reader-4." in decision.error.description
