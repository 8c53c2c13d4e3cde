"""Leases of the dead are broken where their end is confirmed and nothing begins in time."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tidegate_operator.breaks import back_off_s
from tidegate_operator.model import ContainerFacts, PodFacts, Running
from unit.operator.observed import NOW, Seen, ended, pod, presence, settled


def backing_off(name: str, message: str) -> PodFacts:
    facts = ended(name)
    waits = replace(facts.container, waiting="CrashLoopBackOff", waiting_message=message)
    return replace(facts, container=waits)


def broken(seen: Seen) -> set[str]:
    return {step.partition for step in seen.decide().breaks}


CONFIRMED = [
    pytest.param(ended("m1", is_deleting=True), id="it is being deleted"),
    pytest.param(ended("m1", phase="Failed"), id="it was evicted"),
    pytest.param(
        backing_off("m1", "back-off 20s restarting failed container=consumer pod=m1"),
        id="it backs off for longer than a lease",
    ),
]


@pytest.mark.parametrize("dead", CONFIRMED)
def test_the_leases_of_the_dead_are_broken_and_they_are_leaving(dead: PodFacts) -> None:
    seen = settled(4)
    seen.pods["m1"] = dead
    found = seen.decide()
    assert {step.partition for step in found.breaks} == {"1", "5"}
    assert all(step.member == "m1" and step.why for step in found.breaks)
    assert {step.etag for step in found.breaks} == {"etag-of-1-m1", "etag-of-5-m1"}
    assert found.leaving == {"m1"}
    assert found.roster is not None
    assert "m1" in found.roster.leaving


NOT_CONFIRMED = [
    pytest.param(pod("m1", is_deleting=True), id="its container still runs"),
    pytest.param(pod("m1", is_deleting=True, container=ContainerFacts()), id="nothing is known"),
    pytest.param(ended("m1"), id="it restarts in place"),
    pytest.param(pod("m1", phase="Unknown", is_ready=False), id="its node says nothing"),
    pytest.param(
        backing_off("m1", "back-off 10s restarting failed container=consumer pod=m1"),
        id="it comes back before its lease ends",
    ),
    pytest.param(backing_off("m1", "restarting"), id="the back-off is not said"),
    pytest.param(
        replace(
            ended("m1", is_deleting=True),
            container=ContainerFacts(
                running=Running(NOW - 5.0), last_end=ended("m1").container.last_end
            ),
        ),
        id="it runs anew",
    ),
    pytest.param(ended("m1", is_deleting=True, uid="another"), id="the process is another pod's"),
]


@pytest.mark.parametrize("alive", NOT_CONFIRMED)
def test_nothing_is_broken_where(alive: PodFacts) -> None:
    seen = settled(4)
    seen.pods["m1"] = alive
    assert broken(seen) == set()


def test_a_pod_that_vanishes_confirms_nothing() -> None:
    seen = settled(4)
    del seen.pods["m1"]
    assert broken(seen) == set()


def test_what_was_confirmed_before_the_pod_vanished_stays_so_for_a_lease() -> None:
    seen = settled(4)
    seen.pods["m1"] = ended("m1", is_deleting=True)
    seen.has_ledger = False
    assert broken(seen) == set()
    del seen.pods["m1"]
    seen.has_ledger = True
    assert broken(seen) == {"1", "5"}
    seen.now += 60.0
    assert broken(seen) == set()


@pytest.mark.parametrize(
    ("started_at", "is_broken"),
    [
        (NOW - 200.5, False),  # before the container: a clock that is wrong, or another life
        (NOW - 200.0, True),
        (NOW - 10.0, True),  # the kubelet cuts its times off at the second
        (NOW - 9.5, True),
        (NOW - 9.0, False),  # the next life
        (0.0, False),  # it does not say
    ],
)
def test_the_process_must_have_begun_in_the_container_that_ended(
    started_at: float, is_broken: bool
) -> None:
    seen = settled(4)
    seen.pods["m1"] = ended("m1", is_deleting=True)
    seen.members["m1"] = presence("m1", started_at=started_at)
    assert broken(seen) == ({"1", "5"} if is_broken else set())


def test_a_tenure_of_another_life_is_left_alone() -> None:
    seen = settled(4)
    seen.pods["m1"] = ended("m1", is_deleting=True)
    del seen.members["m1"]
    assert broken(seen) == set(), "nobody says when the owner began"
    seen.members["m1"] = presence("m1")
    seen.lives["5"] = "the next life"
    assert broken(seen) == {"1"}


def test_a_break_is_asked_for_once_for_each_listing_until_it_is_seen() -> None:
    seen = settled(4)
    seen.pods["m1"] = ended("m1", is_deleting=True)
    assert broken(seen) == {"1", "5"}
    seen.asked_before_s += 1.0
    assert broken(seen) == set(), "it is the same listing"
    seen.asked_before_s = 0.1
    assert broken(seen) == {"1", "5"}, "the reply was lost"
    seen.owners |= {"1": "", "5": "m2"}
    assert broken(seen) == set()


@pytest.mark.parametrize(
    ("message", "seconds"),
    [
        ("back-off 10s restarting failed container=consumer", 10.0),
        ("back-off 1m20s restarting failed container=consumer", 80.0),
        ("back-off 5m0s restarting failed container=consumer", 300.0),
        ("back-off 1.5s restarting failed container=consumer", 1.5),
        ("", 0.0),
    ],
)
def test_how_long_the_kubelet_backs_off_is_what_it_says(message: str, seconds: float) -> None:
    assert back_off_s(backing_off("m1", message)) == seconds


def test_who_backs_off_is_expected_again_when_it_is_gone_from_the_ledger() -> None:
    seen = settled(3)
    seen.pods["m1"] = backing_off("m1", "back-off 40s restarting failed container=consumer pod=m1")
    seen.follow(seen.decide())
    del seen.members["m1"]
    seen.owners = {p: "m0" if owner == "m1" else owner for p, owner in seen.owners.items()}
    found = seen.decide()
    assert found.roster is not None
    assert set(found.roster.expected) == {"m0", "m1", "m2"}
    assert not found.roster.leaving
