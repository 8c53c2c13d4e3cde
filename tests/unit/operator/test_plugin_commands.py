"""`kubectl consumergroup` against an API server on loopback: what it shows, writes and says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.plugin_api import PluginApi, group_path
from tidegate_operator.plugin.cli import carried_out, parser
from unit.operator.plugin_groups import NAME, NAMESPACE, Run, group, state

GROUP = group_path(NAMESPACE, NAME)
SECRET = f"/api/v1/namespaces/{NAMESPACE}/secrets/servers"


def spec(groups_api: PluginApi) -> dict[str, Any]:
    found: dict[str, Any] = groups_api.objects[GROUP]["spec"]
    return found


# --- looking


def test_partitions_are_shown_in_the_namespace_of_the_context(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("partitions", NAME) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0].startswith(f"{NAMESPACE}/{NAME} · Balanced")
    assert [line.split()[:2] for line in out[3:]] == [
        ["0", "home-a"], ["1", "home-b"], ["2", "home-a"], ["3", "home-b"],
    ]  # fmt: skip


def test_programs_get_a_document(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("partitions", NAME, "-o", "json") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["state"], told["lag"], told["isCurrent"]) == ("Balanced", 1203, True)
    assert [each["owner"] for each in told["partitionStates"]] == ["home-a", "home-b"] * 2


@pytest.mark.parametrize(
    "words",
    [
        ("partitions", NAME, "-n", NAMESPACE, "--context", "there"),
        ("-n", NAMESPACE, "--context=there", "partitions", NAME),
        ("partitions", "-n", NAMESPACE, "--context", "there", NAME),
    ],
)
def test_kubectls_own_options_may_stand_anywhere(run: Run, words: tuple[str, ...]) -> None:
    assert run(*words) == 0


# --- what is not there, or not allowed


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("partitions", "home-activty"), "did you mean 'home-activity'?"),
        (("partitions", "zzz"), "there are: home-activity"),
        (
            ("partitions", NAME, "-n", "elsewhere"),
            f"there is one in {NAMESPACE}: add -n {NAMESPACE}",
        ),
        (("partitions", "zzz", "-n", "elsewhere"), "there is none at all"),
    ],
)
def test_a_group_that_is_not_there_is_answered_with_what_was_meant(
    run: Run, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str
) -> None:
    assert run(*words) == 1
    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""


def test_a_cluster_without_the_kind_says_what_to_install(
    run: Run, groups_api: PluginApi, capsys: pytest.CaptureFixture[str]
) -> None:
    groups_api.has_kind = False
    assert run("partitions", NAME) == 1
    assert "CustomResourceDefinition" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("verb", "path", "words", "right"),
    [
        ("get", GROUP, ("partitions", NAME), "get consumergroups.tidegate.dev"),
        ("patch", GROUP, ("pause", NAME), "patch consumergroups.tidegate.dev"),
        ("get", SECRET, ("deadletters", "list", NAME), "get secrets"),
    ],
)
def test_who_may_not_is_told_which_right_is_missing(
    run: Run, groups_api: PluginApi, capsys: pytest.CaptureFixture[str], verb: str, path: str,
    words: tuple[str, ...], right: str,
) -> None:  # fmt: skip
    _, resource = right.split()
    name, _, group_name = resource.partition(".")
    groups_api.forbidden[f"{verb} {path}"] = (
        f'forbidden: User "ann" cannot {verb} resource "{name}" in API group "{group_name}" '
        f'in the namespace "{NAMESPACE}"'
    )
    assert run(*words) != 0
    assert f"ann may not {right}" in capsys.readouterr().err


def test_a_context_that_is_not_there_is_answered_with_those_that_are(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("partitions", NAME, "--context", "nowhere") == 1
    assert "has no context 'nowhere'; it has: here, there" in capsys.readouterr().err


def test_an_api_server_that_does_not_answer_is_said(
    groups_api: PluginApi, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    groups_api.port = 1
    config = groups_api.kubeconfig(tmp_path, NAMESPACE)
    assert carried_out(["partitions", NAME, "--kubeconfig", str(config)]) == 1
    assert "does not answer" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("partition", NAME),
        ("partitions",),
        ("move", NAME, "0"),
        ("move", NAME, "0", "--to", "a", "--unpin"),
        ("rewind", NAME),
        ("watch", NAME, "--every-s", "soon"),
        ("partitions", NAME, "-o", "xml"),
    ],
)
def test_what_cannot_be_understood_ends_with_2(run: Run, words: tuple[str, ...]) -> None:
    with pytest.raises(SystemExit) as ended:
        run(*words)
    assert ended.value.code == 2


def test_every_command_says_what_it_does() -> None:
    said = parser().format_help()
    for name in (
        "partitions",
        "explain",
        "watch",
        "pause",
        "resume",
        "move",
        "rewind",
        "deadletters",
    ):
        assert name in said


# --- pausing and pinning


def test_a_group_is_paused_and_resumed(
    run: Run, groups_api: PluginApi, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("pause", NAME) == 0
    assert spec(groups_api)["paused"] is True
    assert run("resume", NAME) == 0
    assert spec(groups_api)["paused"] is False
    assert set(groups_api.managers) == {"kubectl-consumergroup"}
    assert capsys.readouterr().out == f"{NAMESPACE}/{NAME}: paused\n{NAMESPACE}/{NAME}: resumed\n"


def test_partitions_are_paused_one_by_one(
    run: Run, groups_api: PluginApi, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("pause", NAME, "--partition", "3", "--partition", "1", "-o", "json") == 0
    assert json.loads(capsys.readouterr().out) == {
        "namespace": NAMESPACE, "name": NAME, "changed": True,
        "message": "partitions 1 3 are paused",
    }  # fmt: skip
    assert spec(groups_api)["pausedPartitions"] == ["1", "3"]
    assert run("resume", NAME, "--partition", "1") == 0
    assert spec(groups_api)["pausedPartitions"] == ["3"]


def test_nothing_is_written_where_it_is_so_already(run: Run, groups_api: PluginApi) -> None:
    assert run("resume", NAME) == 0
    assert groups_api.patches == []


def test_what_somebody_else_paused_meanwhile_stays_paused(run: Run, groups_api: PluginApi) -> None:
    groups_api.before_patch = lambda: groups_api.put_group(group(spec={"pausedPartitions": ["0"]}))
    assert run("pause", NAME, "--partition", "2") == 0
    assert spec(groups_api)["pausedPartitions"] == ["0", "2"]


def test_a_partition_that_is_not_there_is_refused_before_anything_is_written(
    run: Run, groups_api: PluginApi, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("pause", NAME, "--partition", "16") == 78
    assert "has no partition '16'; it has 0-3" in capsys.readouterr().err
    assert groups_api.patches == []


def test_a_move_pins_and_waits_until_the_member_owns_it(
    run: Run, groups_api: PluginApi, capsys: pytest.CaptureFixture[str]
) -> None:
    def members_follow() -> None:
        document = group()
        document["status"]["partitionStates"][0] = state("0", "home-b")
        groups_api.put_group(document)

    groups_api.before_patch = members_follow
    assert run("move", NAME, "0", "--to", "home-b") == 0
    assert spec(groups_api)["pins"] == {"0": "home-b"}
    assert capsys.readouterr().out.splitlines() == [
        f"{NAMESPACE}/{NAME}: partition 0 pinned to home-b",
        "partition 0 is with home-b",
    ]


def test_a_move_that_takes_too_long_says_who_has_it_and_stays(
    run: Run, groups_api: PluginApi, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("move", NAME, "0", "--to", "home-b", "--limit-s", "0.1") == 1
    assert "still with home-a after 0.1 s" in capsys.readouterr().err
    assert spec(groups_api)["pins"] == {"0": "home-b"}


def test_a_move_to_nobody_is_refused_with_who_was_meant(
    run: Run, groups_api: PluginApi, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("move", NAME, "0", "--to", "hone-b") == 78
    assert "did you mean 'home-b'?" in capsys.readouterr().err
    assert groups_api.patches == []


def test_a_pin_is_taken_away(run: Run, groups_api: PluginApi) -> None:
    groups_api.put_group(group(spec={"pins": {"0": "home-b", "1": "home-a"}}))
    assert run("move", NAME, "0", "--unpin") == 0
    assert spec(groups_api)["pins"] == {"1": "home-a"}
