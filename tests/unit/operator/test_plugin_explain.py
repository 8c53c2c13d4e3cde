"""`kubectl consumergroup explain`: what it works out is what the operator itself would decide.

The groups are those of a little world; all that is known of them here is their status.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from support.plugin_api import PluginApi
from tidegate_operator.plugin.explaining import as_document, explain, page
from tidegate_operator.plugin.what_if import decision_of, standing_of, turns_of
from tidegate_operator.scaling import Mode, Policy, Report, decide
from tidegate_operator.scaling.proven import Proven
from tidegate_operator.scaling.report import document_of
from unit.operator.plugin_groups import NAME, NAMESPACE, Run, group
from unit.operator.sized_world import SizedWorld

Document = dict[str, Any]
CHANGES_AT = 300.0


@cache
def world_of(rate: float, seconds: float, mode: Mode = Mode.AUTO) -> SizedWorld:
    """Eight partitions that get 5 events/s each, and another rate after five minutes."""
    policy = Policy(mode=mode)
    world = SizedWorld(lambda _, at: rate if at >= CHANGES_AT else 5.0, policy)
    world.run(seconds)
    return world


def report_of(world: SizedWorld) -> Report:
    report = world.operators[0].memory.sizing.report
    assert report is not None
    return report


def resource(world: SizedWorld, *, is_large: bool = False, **spec: Any) -> Document:
    """The ConsumerGroup as the operator of the world tells it."""
    report = report_of(world)
    sample = report.history.sample
    assert sample is not None
    found = group(spec=spec)
    found["status"].update(
        wanted=world.replicas,
        partitions=len(sample.partitions),
        lag=report.decision.inputs.lag,
        members=[{"name": f"m-{number}", "ready": True} for number in range(sample.members)],
        scaling=document_of(report),
    )
    del found["status"]["partitionStates"]
    if not is_large:
        found["status"]["partitionStates"] = [
            {
                key: value
                for key, value in (
                    ("partition", partition),
                    ("owner", seen.owner),
                    ("lag", seen.lag),
                    ("behindSeconds", seen.behind_s),
                    ("sequenceNumber", seen.handled),
                )
                if value is not None
            }
            for partition, seen in sample.partitions.items()
        ]
    return found


OBJECTIVES = (
    {"within_s": 60.0},
    {"within_s": 10.0},
    {"within_s": None, "drain_within_s": 30.0},
    {"within_s": None, "lag_per_replica": 100},
)


@pytest.mark.slow
@pytest.mark.parametrize("is_large", [False, True])
@pytest.mark.parametrize("objective", OBJECTIVES, ids=str)
@pytest.mark.parametrize("rate", [5.0, 20.0, 30.0, 60.0, 90.0, 130.0])
def test_what_if_is_what_the_operator_would_decide_with_all_that_it_knows(
    rate: float, objective: Document, is_large: bool
) -> None:
    world = world_of(rate, 600.0)
    report = report_of(world)
    other = replace(report.policy, **objective)
    knows = decide(report.history, other, world.now)
    standing = standing_of(resource(world, is_large=is_large), other, world.now)
    assert standing is not None
    found = decision_of(standing)
    assert (found.replicas, found.inputs.needed, found.inputs.calm, found.bound) == (
        knows.replicas, knows.inputs.needed, knows.inputs.calm, knows.bound,
    )  # fmt: skip


def test_the_objectives_do_differ_in_these_groups() -> None:
    """Otherwise the test above would show nothing."""
    world = world_of(20.0, 310.0)
    standing = standing_of(resource(world), report_of(world).policy, world.now)
    assert standing is not None
    policies = [replace(standing.policy, **each) for each in OBJECTIVES]
    asked = {decision_of(replace(standing, policy=each)).inputs.needed for each in policies}
    assert len(asked) > 1


@pytest.mark.slow
def test_the_group_grows_from_the_rate_on_that_is_told_and_not_before() -> None:
    world = world_of(5.0, 600.0)
    standing = standing_of(resource(world), report_of(world).policy, world.now)
    assert standing is not None and world.replicas == 1
    told = turns_of(standing).more_arriving
    assert told is not None and told > 40.0
    below, above = (world_of(told * share / 8, 900.0).replicas for share in (0.9, 1.1))
    assert below == 1 < above


@pytest.mark.slow
def test_the_group_shrinks_below_the_rate_that_is_told_and_not_above_it() -> None:
    def left(rate: float) -> int:
        """The group below, ten minutes after it got another rate."""

        def arriving(_: int, at: float) -> float:
            return rate / 8 if at >= 600 else 30.0 if at >= CHANGES_AT else 5.0

        world = SizedWorld(arriving)
        world.run(1200.0)
        return world.replicas

    world = world_of(30.0, 600.0)
    standing = standing_of(resource(world), report_of(world).policy, world.now)
    assert standing is not None
    told = turns_of(standing).fewer_arriving
    assert told is not None and 0 < told < 240
    assert left(told * 0.9) < world.replicas == left(told * 1.1)


def test_the_group_would_grow_for_what_waits_from_the_number_on_that_is_told() -> None:
    world = world_of(20.0, 600.0)
    document, policy = resource(world), report_of(world).policy
    standing = standing_of(document, policy, world.now)
    assert standing is not None
    told = turns_of(standing).more_lag
    assert told is not None and told > 0
    for share, grows in ((0.9, False), (1.1, True)):
        for each in document["status"]["partitionStates"]:
            each["lag"] = round(told * share / 8)
        changed = standing_of(document, policy, world.now)
        assert changed is not None
        assert (decision_of(changed, Proven()).replicas > world.replicas) == grows


def test_all_that_waits_is_counted_where_the_status_tells_no_partition() -> None:
    document = resource(world_of(20.0, 600.0), is_large=True)
    document["status"].update(lag=1003, partitions=200)
    standing = standing_of(document, Policy(), 0.0)
    assert standing is not None and standing.lag == 1003


def test_the_page_says_why_what_would_change_it_and_what_was_decided() -> None:
    world = world_of(20.0, 600.0)
    document, policy = resource(world), report_of(world).policy
    lines = page(explain(document, policy, world.now))
    said = document["status"]["scaling"]
    assert lines[0] == f"{NAMESPACE}/{NAME} · {world.replicas} consumers · within 60s"
    assert lines[1] == f"{said['reason']}: {said['message']}"
    assert "scaling.mode is Auto" in lines[2]
    text = "\n".join(lines)
    assert "more, when about" in text and "events wait" in text
    rows = [line.split() for line in lines if line[:4].isdecimal()]
    assert [row[3] for row in rows] == [each["reason"] for each in said["decisions"]]
    assert "What if" not in text


@pytest.mark.parametrize("waiting", [0, 400_000])
def test_what_the_operator_calls_enough_is_not_called_too_few_in_the_same_answer(
    waiting: int,
) -> None:
    world = world_of(20.0, 600.0)
    document, policy = resource(world), report_of(world).policy
    document["status"]["scaling"].update(
        reason="AsNeeded", message="160 events/s arrive: that is enough", wanted=world.replicas
    )
    for each in document["status"]["partitionStates"]:
        each["lag"] = waiting // 8
    found = explain(document, policy, world.now)
    text = "\n".join(page(found))
    assert "that is enough" in text and "called for" not in text
    would = as_document(found)["wouldChange"]
    assert 0 not in (would["moreFromArriving"], would["moreFromLag"])
    if waiting:
        assert "if consumers do not keep up with what arrives and waits" in text
        document["status"]["scaling"]["wanted"] = world.replicas + 2
        assert "more are called for" in "\n".join(page(explain(document, policy, world.now)))


def test_a_size_that_cannot_grow_says_what_the_most_is() -> None:
    world = world_of(90.0, 600.0)
    text = "\n".join(page(explain(resource(world), report_of(world).policy, world.now)))
    assert "nothing makes it more: 8 is the most" in text


@pytest.mark.parametrize(
    ("mode", "said"),
    [
        (Mode.OBSERVE, "says what it would decide, and changes nothing"),
        (Mode.EXTERNAL, "whoever writes spec.replicas decides"),
    ],
)
def test_a_size_that_is_not_the_operators_to_decide_says_whose_it_is_and_what_would_be(
    mode: Mode, said: str
) -> None:
    world = world_of(90.0, 600.0, mode)
    found = explain(resource(world), report_of(world).policy, world.now)
    text = "\n".join(page(found))
    assert said in text and world.replicas == 1
    assert "By it there would be 8 consumers." in text
    assert as_document(found)["isFollowed"] is False


def test_what_is_done_in_its_place_is_said() -> None:
    world = world_of(20.0, 600.0)
    document = resource(world)
    document["status"]["scaling"]["instead"] = "spec.replicas says 7"
    document["status"]["wanted"] = 7
    text = "\n".join(page(explain(document, Policy(), world.now)))
    assert "This is not followed: spec.replicas says 7." in text


def test_where_what_a_consumer_handles_is_not_known_nothing_is_made_up() -> None:
    world = world_of(5.0, 600.0)
    document = resource(world)
    for key in ("perConsumer", "arriving", "lag"):
        del document["status"]["scaling"][key]
    for each in document["status"]["partitionStates"]:
        each.pop("lag", None)
    other = Policy(within_s=30.0)
    found = explain(document, Policy(), world.now, other)
    text = "\n".join(page(found))
    assert "that is not known yet" in text and "unknown events wait" in text
    assert found.what_if is not None and found.what_if.replicas == world.replicas
    assert "not been known" in found.what_if.message


# --- the command


@pytest.fixture
def explained(groups_api: PluginApi) -> SizedWorld:
    world = world_of(20.0, 600.0)
    groups_api.put_group(resource(world))
    return world


def test_programs_get_a_document_with_the_status_as_it_is(
    run: Run, explained: SizedWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("explain", NAME, "-o", "json", "--drain-within", "1m30s") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["scaling"] == document_of(report_of(explained))
    assert (told["mode"], told["replicas"], told["isFollowed"]) == (
        "Auto", explained.replicas, True,
    )  # fmt: skip
    assert told["whatIf"]["objective"] == "drainWithin 90s"
    assert told["wouldChange"]["moreFromArriving"] > 100


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--within", "30s"), "within 30s"),
        (("--drain-within", "2m"), "drainWithin 2m"),
        (("--lag-per-replica", "500"), "lagPerReplica 500"),
    ],
)
def test_another_objective_is_worked_out(
    run: Run,
    explained: SizedWorld,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    said: str,
) -> None:
    assert run("explain", NAME, *words) == 0
    assert f"What if the objective were {said}:" in capsys.readouterr().out


@pytest.mark.parametrize(
    "words",
    [
        ("--within", "soon"),
        ("--within", "30"),
        ("--within", "30s", "--lag-per-replica", "5"),
        ("--lag-per-replica", "0"),
        ("--lag-per-replica", "-3"),
        ("--drain-within", "0s"),
    ],
)
def test_an_objective_that_is_none_ends_with_2(run: Run, words: tuple[str, ...]) -> None:
    with pytest.raises(SystemExit) as ended:
        run("explain", NAME, *words)
    assert ended.value.code == 2


def test_a_group_of_which_no_operator_has_said_anything_says_so(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("explain", NAME) == 0
    assert "the operator has not said anything of its size yet" in capsys.readouterr().out
    assert run("explain", NAME, "--within", "30s") == 1
    assert "cannot be worked out" in capsys.readouterr().out
