"""The calculation of load: requests by the settings, shares of the quotas, and which binds."""

from __future__ import annotations

from dataclasses import replace

import pytest

from load_paper import (
    DEFAULTS,
    TIERS,
    Load,
    Look,
    binding,
    fewest_moves,
    most_groups,
    of_hubs,
    of_member,
    of_storage,
    requests_a_second,
    uses,
)

LOOK = Look(bytes_of_blob=800.0, cpu_us=500.0, cpu_us_of_blob=5.0)
STANDARD, PREMIUM, DEDICATED = TIERS
GROUP = Load(groups=1, partitions=32, members=4)


def test_requests_of_a_settled_group_are_those_that_were_counted() -> None:
    """bench-balance: 7,200 listings, 25,920 renewals and 23,040 checkpoints an hour."""
    asked = {kind: value * 3_600 for kind, value in requests_a_second(GROUP).items()}
    assert asked["listings of members"] == 7_200
    assert asked["renewals"] == pytest.approx(25_920)
    assert asked["checkpoints"] == pytest.approx(23_040)
    assert asked["hand-overs"] == 0


def test_twice_the_groups_ask_twice() -> None:
    once, twice = (sum(requests_a_second(replace(GROUP, groups=n)).values()) for n in (1, 2))
    assert twice == pytest.approx(2 * once)


def test_while_partitions_move_members_look_more_often_and_hand_over() -> None:
    moving = requests_a_second(GROUP, moved=0.5)
    assert moving["listings of members"] == GROUP.members / DEFAULTS.fast_tick_s
    assert moving["hand-overs"] == 16 * 7


@pytest.mark.parametrize(
    ("partitions", "before", "after", "fewest"),
    [(10, 1, 2, 5), (32, 4, 8, 16), (1_000, 8, 16, 496), (10, 2, 4, 4), (7, 1, 3, 4)],
)
def test_the_fewest_moves_leave_the_larger_shares_with_those_who_were_there(
    partitions: int, before: int, after: int, fewest: int
) -> None:
    """1,000 over 16: eight keep 63 each, so that 496 go."""
    assert fewest_moves(partitions, before, after) == fewest


def test_a_ledger_beyond_one_page_is_listed_page_by_page() -> None:
    large = Load(groups=1, partitions=4_000, members=10)
    assert (GROUP.pages, large.pages) == (1, 2)
    assert requests_a_second(large)["listings of members"] == 10 * 2 / DEFAULTS.settled_tick_s


def test_an_answer_is_as_large_as_its_blobs() -> None:
    egress = next(use for use in of_storage(GROUP, LOOK) if "out of" in use.quota.what)
    assert egress.takes == pytest.approx((4 / 2 + 1 / 5) * (64 + 4 + 1) * 800 / 1e6)


def test_a_member_pays_for_looking_by_the_blobs() -> None:
    assert of_member(GROUP, LOOK).share == pytest.approx((500 + 69 * 5) / 1e6 / 2)


def test_groups_that_share_a_hub_need_its_partitions_once_and_its_output_often() -> None:
    alone = {use.quota.what: use.takes for use in of_hubs(replace(GROUP, groups=10), STANDARD)}
    shared = {
        use.quota.what: use.takes
        for use in of_hubs(replace(GROUP, groups=10, sharing=10), STANDARD)
    }
    of_all = "partitions of all hubs, standard"
    assert shared[of_all] * 10 == alone[of_all]
    assert shared["events a second out, standard"] == alone["events a second out, standard"]
    assert shared["events a second in, standard"] * 10 == alone["events a second in, standard"]
    assert shared["consumer groups of a hub, standard"] == 10


def test_the_first_quota_is_the_one_whose_share_is_the_largest() -> None:
    load = Load(groups=1_000, partitions=10, members=4)
    found = uses(load, LOOK, STANDARD)
    assert list(found) == sorted(found, key=lambda use: -use.share)
    assert binding(load, LOOK, STANDARD).quota.what == "hubs of a namespace, standard"
    assert most_groups(load, LOOK, STANDARD) == 10


def test_what_more_groups_do_not_change_does_not_bind() -> None:
    """A hub that is full of partitions is no reason against another hub."""
    full = Load(groups=1, partitions=1_024, members=8)
    assert binding(full, LOOK, DEDICATED).quota.what != "partitions of a hub, dedicated"


def test_fast_groups_are_bound_by_what_comes_in() -> None:
    fast = Load(groups=1, partitions=4, members=2, events_per_s=20_000)
    assert binding(fast, LOOK, STANDARD).quota.what == "events a second in, standard"
    assert most_groups(fast, LOOK, STANDARD) == 2


def test_tiers_that_publish_no_throughput_are_not_bound_by_it() -> None:
    assert not [use for use in of_hubs(GROUP, PREMIUM) if "a second" in use.quota.what]


def test_every_quota_of_azures_names_its_page() -> None:
    for tier in TIERS:
        found = (*of_storage(GROUP, LOOK), *of_hubs(GROUP, tier))
        assert all(use.quota.page.startswith("https://learn.microsoft.com/") for use in found)
