"""What the state holds is exact, whoever is killed, and the plain handler's duplicates are bounded.
`make bench-exactness` is the long version of this."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.exact_groups import PLAIN, exact_groups
from support.killed_group import Kill
from support.ledger_watch import ledger_watch
from tidegate_hub.testing import RunningHub

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]

WINDOWS_GROUP, PLAIN_GROUP = 0, 1
KILLS = (
    Kill(0.5, WINDOWS_GROUP, 0, is_in_place=False),
    Kill(1.0, PLAIN_GROUP, 1, is_in_place=False),
    Kill(2.5, WINDOWS_GROUP, 1, is_in_place=True),
    Kill(3.5, PLAIN_GROUP, 0, is_in_place=True),
    Kill(5.0, WINDOWS_GROUP, 0, is_in_place=True),
)
PARTITIONS = 4
MEMBERS = 2
BUDGET = 1_000
EVENTS = 8_000
SENDING_S = 8.0


def test_totals_are_exact_whoever_is_killed_and_a_rolling_restart_repeats_nothing(
    hub_server: RunningHub, azurite: str, tmp_path: Path
) -> None:
    hub_server.add_hub("exact", PARTITIONS, [PLAIN])
    with exact_groups(
        hub_server,
        azurite,
        tmp_path,
        "exact",
        partitions=PARTITIONS,
        members=MEMBERS,
        budget=BUDGET,
    ) as groups:
        container = groups.windows.group.name
        with ledger_watch(azurite, container) as ledger:
            groups.start()
            with groups.sending(0, EVENTS, SENDING_S):
                groups.wait_until_each_reads(90)
                groups.strike(KILLS)
            sent = groups.settle(EVENTS, 120)

            # P4: what an owner repeats is never more than was not in a checkpoint.
            assert max(groups.plain_log.repeats.values(), default=0) <= BUDGET
            repeated = groups.plain_log.duplicates

            with groups.sending(sent, sent + EVENTS, SENDING_S):
                groups.restart_each([groups.plain], 90)
            groups.wait_until_handled(sent + EVENTS, 120)
            assert groups.plain_log.duplicates == repeated

            assert groups.wrong_totals(sent + EVENTS, 60) == 0
            groups.stop()
        assert [log.lost() for log in groups.logs] == [0, 0]
        assert [log.disorder for log in groups.logs] == [[], []]
        assert ledger.steps_back() == []
