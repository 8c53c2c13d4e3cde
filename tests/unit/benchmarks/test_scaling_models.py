"""The models of the scaling comparison say what their originals say: published figures, each."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from statistics import fmean

import pytest

import scaling_departures
from balance_sdk import run_sdk
from scaling_fleet import Fleet, Tidegate
from scaling_flink import LEAST_FACTOR, capacity_for, parallelism_for
from scaling_functions import DEFAULT_TARGET, throttled, valid_counts, workers_for
from scaling_keda import Keda, KedaSettings, metric_of, up_to, wished
from scaling_sdk import Processors
from scaling_traces import MEMBER_RATE, PARTITIONS, TRACES
from scaling_world import Outage, Slowness, Span, Trace, World
from simulation import scenarios
from simulation.scenarios import changed_at, figures

CHANGE_AT = 60


def plain(partitions: int, starts_with: int, seconds: int, rate: float = 0.5, **more: object) -> (
    Trace
):  # fmt: skip
    """So many events a second come to each partition."""
    came = tuple(
        array("d", (rate * second for second in range(seconds + 1))) for _ in range(partitions)
    )
    return Trace("plain", came, MEMBER_RATE, starts_with, most=64, **more)  # type: ignore[arg-type]


@dataclass
class Deployment:
    """So many replicas, and nothing behind them."""

    wanted: int
    moves: int = 0
    pods: int = 0

    def step(self, now: int) -> None: ...

    def want(self, replicas: int, now: int) -> None:
        self.wanted = replicas

    def hands(self, now: int) -> list[list[int]]:
        return []


# --- KEDA and the HorizontalPodAutoscaler


@pytest.mark.parametrize(("lag", "partitions", "expected"), [(100, 2, 20), (100, 20, 100)])
def test_kedas_metric_is_the_lag_as_far_as_partitions_go(
    lag: int, partitions: int, expected: int
) -> None:
    # kedacore/keda, azure_eventhub_scaler_test.go: TestGetATotalLagOf20For2Partitions… and …100
    assert metric_of(lag, partitions, 10) == expected


@pytest.mark.parametrize(
    ("metric", "replicas", "expected"),
    # Kubernetes, 'Horizontal Pod Autoscaling': 200m for 100m doubles, 50m halves, 1.09 is near.
    [(200 * 4, 4, 8), (50 * 4, 4, 2), (109 * 4, 4, 4), (111 * 4, 4, 5), (91 * 4, 4, 4)],
)
def test_replicas_follow_the_metric_beyond_a_tolerance(
    metric: int, replicas: int, expected: int
) -> None:
    assert wished(metric, 100, replicas) == expected


def test_a_step_up_is_double_or_four_pods() -> None:
    assert [up_to(replicas) for replicas in (1, 3, 4, 10)] == [5, 7, 8, 20]


def keda_over(trace: Trace, seconds: int, settings: KedaSettings) -> list[int]:
    """The replicas by second, where nobody handles anything before the whole is stored."""
    world, deployment = World(trace), Deployment(trace.starts_with)
    keda, found = Keda(world, deployment, settings), []
    for now in range(seconds):
        deployment.wanted = keda.wanted(now)
        found.append(deployment.wanted)
        if now == 60:
            # All is handled, and nothing more comes.
            world.stored = [came[-1] for came in trace.arrived]
    return found


def once(least: int) -> Trace:
    """2,560 events at once: more than four partitions times 64, so four pods."""
    came = tuple(array("d", [0.0] + [640.0] * 800) for _ in range(4))
    return Trace("once", came, 1.0, 1, least=least)


def test_fewer_only_when_nothing_has_asked_for_more_for_five_minutes() -> None:
    replicas = keda_over(once(least=1), 800, KedaSettings())
    assert replicas[15] == 4
    # Second 60 is the last that asks for four; the first look without it in its window is 375.
    assert replicas.index(1, 15) == 375


def test_none_when_nothing_has_been_there_for_the_cooldown() -> None:
    replicas = keda_over(once(least=0), 800, KedaSettings())
    assert replicas.index(0, 15) == 360


def test_an_outage_changes_nothing_unless_there_is_a_fallback() -> None:
    trace = plain(4, 2, 400, outages=((Outage.HUB, Span(0, 400)),))
    assert set(keda_over(trace, 400, KedaSettings())) == {2}
    assert keda_over(trace, 400, KedaSettings(fallback=6))[-1] == 6


# --- Azure Functions: Azure/azure-sdk-for-net, EventHubsTargetScalerTests.cs


@pytest.mark.parametrize(
    ("partitions", "counts"),
    [
        (10, [0, 1, 2, 3, 4, 5, 10]),
        (1, [0, 1]),
        (5, [0, 1, 2, 3, 5]),
        (20, [0, 1, 2, 3, 4, 5, 7, 10, 20]),
    ],
)
def test_valid_worker_counts(partitions: int, counts: list[int]) -> None:
    assert valid_counts(partitions) == counts


@pytest.mark.parametrize(
    ("events", "expected"), [(10, 1), (20, 2), (30, 3), (60, 10), (70, 10), (150, 10)]
)
def test_workers_for_a_target_of_ten(events: int, expected: int) -> None:
    assert workers_for(events, 10, 10) == expected
    assert DEFAULT_TARGET == 100


@pytest.mark.parametrize(
    ("vote", "since_up_s", "expected"), [(10, 100, 10), (9, 100, 10), (9, 179, 10), (9, 180, 9)]
)
def test_nothing_is_taken_away_soon_after_something_was_added(
    vote: int, since_up_s: int, expected: int
) -> None:
    assert throttled(vote, 10 if vote < 10 else 9, since_up_s) == expected


# --- Flink: apache/flink-kubernetes-operator, JobVertexScalerTest.java


@pytest.mark.parametrize(
    ("now", "partitions", "factor", "expected"),
    [
        (1, 720, 0.0001, 1),
        (2, 720, 0.1, 1),
        (6, 720, 0.8, 5),
        (16, 128, 1.5, 32),
        (200, 720, 1e9, 720),
    ],
)
def test_parallelism_divides_the_partitions(
    now: int, partitions: int, factor: float, expected: int
) -> None:
    assert parallelism_for(now, factor, partitions, partitions) == expected


@pytest.mark.parametrize(
    ("now", "rate", "true_rate", "utilisation", "expected"),
    [(2, 100, 40, 0.5, 10), (2, 100, 100, 0.6, 4), (10, 10, 100, 1.0, 4)],
)
def test_parallelism_follows_the_capacity_that_is_wanted(
    now: int, rate: float, true_rate: float, utilisation: float, expected: int
) -> None:
    wanted = capacity_for(rate, 0.0, utilisation, restarts=False)
    factor = max(wanted / true_rate, LEAST_FACTOR)
    assert parallelism_for(now, factor, 720, 720) == expected


def test_capacity_is_for_the_backlog_the_restart_and_the_arrivals() -> None:
    # AutoScalerUtils: LAG/CATCH_UP + INPUT_RATE*RESTART/CATCH_UP + INPUT_RATE/TARGET_UTIL
    expected = 18_000 / 1800 + 700 * 300 / 1800 + 700 / 0.7
    assert capacity_for(700, 18_000, 0.7, restarts=True) == round(expected)


# --- the fleets


@dataclass
class Fitted:
    """What a change cost a fleet."""

    balanced_s: float
    moves: int


def changed(kind: Callable[[World, Random], Fleet], before: int, after: int, seed: int) -> Fitted:
    """From so many pods that are there at once to so many, of 32 partitions."""
    trace = plain(32, before, 400, pod_start_s=1.0)
    world = World(trace)
    fleet, last = kind(world, Random(seed)), CHANGE_AT
    for now in range(trace.seconds):
        moves = fleet.moves
        if now == CHANGE_AT:
            fleet.want(after, now)
        fleet.step(now)
        last = now if fleet.moves != moves else last
    return Fitted(last - CHANGE_AT, fleet.moves)


@pytest.mark.slow
@pytest.mark.parametrize(("before", "after"), [(4, 8), (8, 16), (8, 4)])
def test_processors_take_as_long_as_whole_ones_in_the_simulator(before: int, after: int) -> None:
    make = scenarios.growing if after > before else scenarios.shrinking
    whole = []
    for seed in range(6):
        script = make(seed, 32, before, after)
        whole.append(figures(run_sdk(script).records, changed_at(script)))
    ours = [changed(Processors, before, after, seed) for seed in range(30)]
    assert fmean(one.moves for one in ours) == pytest.approx(fmean(w.moves for w in whole), abs=1)
    expected_s = fmean(one.balanced_s for one in whole)
    assert fmean(one.balanced_s for one in ours) == pytest.approx(expected_s, rel=0.15)


@pytest.mark.parametrize(("before", "after"), [(4, 8), (8, 16), (8, 4)])
def test_our_fleet_moves_as_few_as_can_be_within_seconds(before: int, after: int) -> None:
    found = changed(Tidegate, before, after, 1)
    assert found.moves == 16
    assert found.balanced_s <= 10


def test_our_rollout_moves_each_partition_once_and_none_is_handled_twice() -> None:
    trace = plain(32, 8, 600, rate=100.0, rollouts=(60,))
    world = World(trace)
    fleet = Tidegate(world, Random(1))
    for now in range(trace.seconds):
        fleet.step(now)
        world._handle(now, fleet.hands(now))
    assert fleet.moves == 32 and fleet.pods == 8
    assert all(pod.revision == 1 for pod in fleet.members)
    assert world.duplicates == 0


def test_processors_handle_again_what_no_checkpoint_covers() -> None:
    trace = plain(32, 4, 400, rate=10.0, pod_start_s=1.0)

    class Steps:
        def wanted(self, now: int) -> int:
            return 8 if now >= CHANGE_AT else 4

    world = World(trace)
    outcome = world.live(Processors(world, Random(1)), Steps())
    # 16 moves, 10 events a second, and a checkpoint every 5 s: 2.5 s of them in the mean.
    assert outcome.duplicates == pytest.approx(16 * 10 * 2.5, rel=0.4)


# --- the world


def test_the_oldest_event_waits_as_long_as_arithmetic_says() -> None:
    # Ten times what one member handles: after 20 s it is where the arrivals of second 2 end.
    trace = plain(1, 1, 20, rate=MEMBER_RATE * 10)
    world = World(trace)

    class One:
        def wanted(self, now: int) -> int:
            return 1

    outcome = world.live(Tidegate(world, Random(1)), One())
    assert outcome.worst_s == pytest.approx(18.0)
    assert outcome.pod_hours == pytest.approx(20 / 3600)


def test_a_member_starves_no_partition() -> None:
    came = [array("d", [0.0, 5000.0]), array("d", [0.0, 300.0]), array("d", [0.0, 400.0])]
    world = World(Trace("uneven", tuple(came), 1000.0, 1))
    world._handle(0, [[0, 1, 2]])
    assert world.positions == [350.0, 300.0, 350.0]


def test_a_shared_downstream_has_a_number_of_members_beyond_which_more_do_less() -> None:
    slowness = Slowness(Span(0, 1), sigma=0.05, kappa=0.02)
    together = {members: members * slowness.share(members) for members in (1, 6, 7, 8, 16)}
    assert together[1] == 1.0
    assert together[7] > together[6] and together[7] > together[8] > together[16]


def test_the_real_trace_is_a_week_of_departures() -> None:
    minutes = scaling_departures.by_minute()
    assert len(minutes) == 7 * 24 * 60
    assert 6000 < sum(minutes) < 7000


def test_every_trace_is_the_same_for_the_same_seed() -> None:
    make = TRACES[2]
    assert make(3).arrived == make(3).arrived
    assert make(3).arrived != make(4).arrived
    assert len(make(3).arrived) == PARTITIONS
