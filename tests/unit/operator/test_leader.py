"""Of several operators one acts at a time, and another one soon after it is gone."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace

import pytest

from support import virtual_time
from tidegate_operator.leader import (
    LEASE_LABELS,
    Leader,
    Sighting,
    Turn,
    namespaces_of,
    sighting_of,
    turn_of,
    written,
)
from unit.operator.lease_cluster import SETTINGS, Candidate, Cluster, Connection, until


def test_the_only_operator_leads_at_once_and_goes_on_leading() -> None:
    async def course() -> None:
        one = Candidate(Cluster(), "a")
        assert await until(lambda: one.acts) < 0.1
        await asyncio.sleep(600)
        assert one.acts and one.leader.is_leading and not one.terms
        await one.end()
        assert not one.leader.is_leading

    virtual_time.run(course())


def test_of_two_operators_that_start_together_one_acts() -> None:
    async def course() -> None:
        cluster = Cluster()
        both = [Candidate(cluster, "a"), Candidate(cluster, "b")]
        await until(lambda: any(each.acts for each in both))
        for _ in range(600):
            await asyncio.sleep(0.1)
            assert sum(each.acts for each in both) == 1
        for each in both:
            await each.end()

    virtual_time.run(course())


def test_a_clean_end_hands_the_lease_to_the_next_one_within_seconds() -> None:
    async def course() -> None:
        cluster = Cluster()
        one = Candidate(cluster, "a")
        await until(lambda: one.acts)
        two = Candidate(cluster, "b")
        await asyncio.sleep(30)
        assert not two.acts
        at = virtual_time.now()
        await one.end()
        assert await until(lambda: two.acts) - at < 3.0
        await two.end()

    virtual_time.run(course())


@pytest.mark.parametrize("skew_s", [-3600.0, 0.0, 3600.0])
def test_who_is_cut_off_stops_acting_before_another_one_begins(skew_s: float) -> None:
    async def course() -> None:
        cluster = Cluster()
        one = Candidate(cluster, "a")
        await until(lambda: one.acts)
        two = Candidate(cluster, "b", lambda: skew_s)
        await asyncio.sleep(20)
        cluster.cut_off.add("a")
        cut_at = virtual_time.now()
        taken_at = await until(lambda: two.acts)
        assert len(one.terms) == 1 and one.terms[0][1] < taken_at
        assert taken_at - cut_at < SETTINGS.lease_s + SETTINGS.renew_s
        cluster.cut_off.clear()
        await asyncio.sleep(60)
        assert two.acts and not one.acts
        await one.end()
        await two.end()

    virtual_time.run(course())


def test_a_renewal_that_hangs_does_not_prolong_the_right_to_act() -> None:
    async def course() -> None:
        cluster = Cluster()
        one = Candidate(cluster, "a")
        await until(lambda: one.acts)
        cluster.latency_s = 1000.0
        hung_at = virtual_time.now()
        await until(lambda: not one.acts)
        # From when the last renewal was sent.
        assert virtual_time.now() - hung_at < SETTINGS.leads_for_s + 0.1
        await one.end()

    virtual_time.run(course())


def test_an_operator_whose_replies_are_lost_sees_that_the_lease_is_its_own() -> None:
    async def course() -> None:
        cluster = Cluster()
        one = Candidate(cluster, "a")
        await until(lambda: one.acts)
        cluster.deaf.add("a")
        await asyncio.sleep(SETTINGS.renew_s + 1)
        cluster.deaf.clear()
        await asyncio.sleep(60)
        assert one.acts and not one.terms
        await one.end()

    virtual_time.run(course())


def test_everybody_can_tell_for_how_long_somebody_has_led() -> None:
    async def course() -> None:
        cluster = Cluster()
        one = Candidate(cluster, "a")
        await until(lambda: one.acts)
        two = Candidate(cluster, "b")
        await asyncio.sleep(100)
        assert one.leader.led_for_s == pytest.approx(100, abs=1)
        assert two.leader.led_for_s == pytest.approx(100, abs=SETTINGS.renew_s)
        cluster.cut_off |= {"a", "b"}
        await asyncio.sleep(SETTINGS.lease_s + 1)
        assert (one.leader.led_for_s, two.leader.led_for_s) == (0.0, 0.0), "nobody knows"
        cluster.cut_off = {"a"}
        await until(lambda: two.acts)
        await asyncio.sleep(3)
        assert two.leader.led_for_s == pytest.approx(3, abs=1), "it is another one"
        for each in (one, two):
            await each.end()

    virtual_time.run(course())


def test_the_lease_of_one_that_died_is_taken_after_its_time_by_ones_own_clock() -> None:
    held = {"metadata": {"resourceVersion": "7"}, "spec": {
        "holderIdentity": "gone", "leaseDurationSeconds": 15,
        "renewTime": "2001-01-01T00:00:00.000000Z",
    }}  # fmt: skip
    first = sighting_of(held, None, 100.0)
    assert turn_of(first, "a", 100.0) is Turn.WAIT
    same = sighting_of(held, first, 114.0)
    assert turn_of(same, "a", 114.9) is Turn.WAIT
    assert turn_of(same, "a", 115.1) is Turn.TAKE
    renewed = sighting_of({**held, "metadata": {"resourceVersion": "8"}}, same, 115.2)
    assert turn_of(renewed, "a", 116.0) is Turn.WAIT


def test_a_lease_that_nobody_holds_is_taken() -> None:
    assert turn_of(None, "a", 0.0) is Turn.TAKE
    assert turn_of(Sighting("", "3", 1.0, 0.0), "a", 0.0) is Turn.TAKE
    assert turn_of(Sighting("a", "3", 15.0, 0.0), "a", 99.0) is Turn.RENEW


@pytest.mark.parametrize("seed", range(20))
def test_whatever_the_network_does_no_two_act_at_once_though_one_clock_is_slower(seed: int) -> None:
    """By less than a fifth: so much sooner the right to act ends than the Lease."""

    async def course() -> None:
        dice, cluster = random.Random(seed), Cluster()
        drift = dice.choice((0.85, 1.0, 1.15))
        # In steps that sum up exactly, so that waiting for what is left of a moment gets on.
        one = Candidate(cluster, "a", now=lambda: round(virtual_time.now() * drift * 64) / 64)
        two = Candidate(cluster, "b")
        terms = 0
        for _ in range(60):
            befallen = dice.choice(("a", "b"))
            {"cut": cluster.cut_off, "deaf": cluster.deaf}[dice.choice(("cut", "deaf"))].add(
                befallen
            )
            cluster.latency_s = dice.choice((0.02, 0.5, 4.0))
            for _ in range(dice.randrange(20, 300)):
                await asyncio.sleep(0.1)
                assert not (one.acts and two.acts)
            if dice.random() < 0.7:
                cluster.cut_off.clear()
                cluster.deaf.clear()
            terms = len(one.terms) + len(two.terms)
        assert terms > 3, "they took turns"
        await one.end()
        await two.end()

    virtual_time.run(course())


def test_who_has_slept_through_the_end_of_its_lease_knows_it_by_its_next_renewal() -> None:
    """Its clock stood still, with all else: it still believes that it leads."""

    async def course() -> None:
        cluster = Cluster()
        one = Candidate(cluster, "a")
        await until(lambda: one.acts)
        # Just after a renewal, so that the next one is as far away as it can be.
        await until(lambda: cluster.writes == 4)
        assert cluster.lease is not None
        # As somebody writes it who has found it free.
        await Connection(cluster, "b").write(
            {**cluster.lease, "spec": {"holderIdentity": "b", "leaseDurationSeconds": 15}}
        )
        taken_at = virtual_time.now()
        assert one.acts
        await until(lambda: not one.acts)
        requests_s = 3 * cluster.latency_s
        assert virtual_time.now() - taken_at < SETTINGS.renew_s + requests_s
        await one.end()

    virtual_time.run(course())


def test_a_lease_that_cannot_be_reached_is_told_once_and_told_when_it_is_back(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def course() -> None:
        cluster = Cluster()
        one = Candidate(cluster, "a")
        await until(lambda: one.acts)
        cluster.cut_off.add("a")
        await asyncio.sleep(300)
        cluster.cut_off.clear()
        await until(lambda: one.acts)
        await one.end()

    caplog.set_level("INFO", "tidegate.operator.leader")
    virtual_time.run(course())
    said = [record.getMessage() for record in caplog.records if "the Lease" in record.getMessage()]
    assert [text.split(": ")[-1] for text in said if text.startswith("the Lease")] == [
        "nothing answers",
        "the Lease of the leader can be read and written again",
    ]


def test_a_part_that_fails_ends_the_leading_with_its_reason() -> None:
    async def course() -> None:
        leader = Leader(
            Connection(Cluster(), "a"), SETTINGS, virtual_time.now, lambda: 0.0, lambda: 0.5
        )

        async def fails() -> None:
            await asyncio.sleep(1)
            raise ValueError("a defect")

        with pytest.raises(ValueError, match="a defect"):
            await leader.run(fails)
        assert not leader.is_leading

    virtual_time.run(course())


def test_the_lease_says_which_namespaces_are_watched() -> None:
    for namespaces in ((), ("homes", "alarms")):
        settings = replace(SETTINGS, namespaces=namespaces)
        lease = written(None, settings, Turn.TAKE, 0.0)
        assert namespaces_of(lease) == namespaces
        assert lease["metadata"]["labels"] == LEASE_LABELS
