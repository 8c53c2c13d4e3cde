"""Executors of a driver are members of the group: shares follow their number, beside pods'."""

from __future__ import annotations

import pytest

from support.driven_group import NAME, NewDriven, truth

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1500)]

PARTITIONS = 6


def test_shares_follow_executors_and_python_members_as_they_come_and_go(
    new_driven: NewDriven,
) -> None:
    driven = new_driven(partitions=PARTITIONS)
    group, wanted = driven.group, driven.group.folder / "executors"
    sent = 0

    def send() -> None:
        nonlocal sent
        for partition in range(PARTITIONS):
            group.send(str(partition), sent, sent + 300)
        sent += 300
        driven.until_totals(sent * PARTITIONS)
        assert driven.totals() == truth(PARTITIONS, 0, sent)

    driven.start("--executors-file", str(wanted))
    assert driven.until_shares(6) == {f"{NAME}-x0": 6}
    send()
    wanted.write_text("3\n", encoding="utf-8")
    driven.until_shares(2, 2, 2)
    send()
    group.start("pod")
    assert driven.until_shares(1, 1, 2, 2)["pod"] in (1, 2)
    send()
    wanted.write_text("1\n", encoding="utf-8")
    assert driven.until_shares(3, 3)["pod"] == 3
    send()
    group.stop("pod")
    driven.until_shares(6)
    send()
    assert "the batch failed" not in driven.said
    group.stop(NAME)


def test_a_number_of_executors_that_cannot_be_read_changes_nothing(new_driven: NewDriven) -> None:
    driven = new_driven(partitions=2)
    wanted = driven.group.folder / "executors"
    wanted.write_text("two", encoding="utf-8")
    driven.start("--executors-file", str(wanted))
    driven.until_said("says 'two': write how many executors there shall be")
    driven.until_shares(2)
    driven.group.stop(NAME)
