"""`kubectl consumergroup` where it goes to the ledger itself, or has a pod of the group do it."""

from __future__ import annotations

import base64
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from support.plugin_api import PluginApi
from tidegate.ports import SourceError
from tidegate_operator.plugin.commands import exit_code_of
from unit.operator.plugin_groups import NAME, NAMESPACE, Run, group, member

SECRET = f"/api/v1/namespaces/{NAMESPACE}/secrets/servers"


def test_a_secret_that_is_missing_is_named(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("rewind", NAME, "--to", "earliest") == 78
    assert "Secret 'servers' is not there in namespace 'homes'" in capsys.readouterr().err


def test_a_place_that_cannot_be_meant_is_refused_before_any_secret_is_read(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("rewind", NAME, "--to", "yesterday") == 78
    assert "--to yesterday: write" in capsys.readouterr().err


def test_a_handler_in_the_image_is_not_replayed_here(
    run: Run, groups_api: PluginApi, capsys: pytest.CaptureFixture[str]
) -> None:
    secret = {"metadata": {"name": "servers", "namespace": NAMESPACE}, "data": servers()}
    groups_api.put(SECRET, secret)
    groups_api.put_group(group(spec={"handler": {"code": "homes.activity:handle"}}))
    assert run("deadletters", "replay", NAME, "--all") == 78
    said = capsys.readouterr().err
    assert "--in-pod" in said
    assert "--to-hub" in said


def servers() -> dict[str, str]:
    said = {
        "events": "Endpoint=sb://localhost:1;SharedAccessKeyName=a;SharedAccessKey=b;"
        "UseDevelopmentEmulator=true",
        "storage": "DefaultEndpointsProtocol=http;AccountName=a;AccountKey=Yg==;"
        "BlobEndpoint=http://localhost:1/a;",
    }
    return {key: base64.b64encode(value.encode()).decode() for key, value in said.items()}


# --- in a pod


KUBECTL = """#!/bin/sh
printf '%s\\n' "$@" > "$(dirname "$0")/words"
exit 7
"""


@pytest.fixture
def kubectl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """A kubectl that keeps what it was told to run and ends with 7; gives that."""
    program = tmp_path / "bin" / "kubectl"
    program.parent.mkdir()
    program.write_text(KUBECTL, encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    return lambda: (program.parent / "words").read_text("utf-8").splitlines()


def put_pod(
    groups_api: PluginApi, name: str, *, is_ready: bool, of: str = NAME, role: str = ""
) -> None:
    ready = {"type": "Ready", "status": str(is_ready)}
    labels = {"tidegate.dev/group": of} | ({"tidegate.dev/role": role} if role else {})
    metadata = {"name": name, "namespace": NAMESPACE, "labels": labels}
    groups_api.put(
        f"/api/v1/namespaces/{NAMESPACE}/pods/{name}",
        {"metadata": metadata, "status": {"conditions": [ready]}},
    )


@pytest.mark.parametrize(
    ("words", "inside"),
    [
        (
            ("rewind", NAME, "--to", "earliest", "--partition", "3"),
            ["rewind", "FILE", "--to=earliest", "--limit-s=120", "--partition=3"],
        ),
        (
            ("rewind", NAME, "--to", "earliest", "-o", "json"),
            ["rewind", "FILE", "--to=earliest", "--limit-s=120", "--json"],
        ),
        (
            ("deadletters", "replay", NAME, "3/12", "-o", "json"),
            ["deadletters", "replay", "--file=FILE", "--json", "3/12"],
        ),
        (
            ("deadletters", "list", NAME, "-o", "json", "--partition", "3"),
            ["deadletters", "list", "--file=FILE", "--partition=3", "--json"],
        ),
        (
            ("deadletters", "show", NAME, "3/12"),
            ["deadletters", "show", "--file=FILE", "3/12"],
        ),
        (
            ("deadletters", "replay", NAME, "-n", NAMESPACE, "3/12", "4/1", "--keep"),
            ["deadletters", "replay", "--file=FILE", "--keep", "3/12", "4/1"],
        ),
    ],
)
def test_a_ready_pod_of_the_group_does_it_and_its_exit_code_is_ours(
    run: Run, groups_api: PluginApi, kubectl: Callable[[], list[str]], words: tuple[str, ...],
    inside: list[str],
) -> None:  # fmt: skip
    put_pod(groups_api, "home-a", is_ready=False)
    put_pod(groups_api, "home-b", is_ready=True)
    put_pod(groups_api, "another", is_ready=True, of="another")
    assert run(*words, "--in-pod", "--context", "here") == 7
    file = "/etc/tidegate/group/group.yaml"
    assert kubectl() == [
        "--context=here", "exec", f"--namespace={NAMESPACE}", "home-b", "--container=consumer",
        "--", "tidegate", *(word.replace("FILE", file) for word in inside),
    ]  # fmt: skip


def test_of_a_group_on_spark_its_driver_does_it_and_no_executor(
    run: Run, groups_api: PluginApi, kubectl: Callable[[], list[str]]
) -> None:
    put_pod(groups_api, "a-1", is_ready=True, role="executor")
    put_pod(groups_api, "home-driver", is_ready=True, role="driver")
    assert run("rewind", NAME, "--to", "earliest", "--in-pod") == 7
    assert kubectl()[:4] == [
        "exec", f"--namespace={NAMESPACE}", "home-driver", "--container=driver",
    ]  # fmt: skip


def test_a_group_without_a_pod_that_is_ready_says_so(
    run: Run, groups_api: PluginApi, capsys: pytest.CaptureFixture[str]
) -> None:
    put_pod(groups_api, "home-a", is_ready=False)
    put_pod(groups_api, "a-1", is_ready=True, role="executor")
    assert run("rewind", NAME, "--to", "earliest", "--in-pod") == 1
    assert "has no pod that is ready" in capsys.readouterr().err


def test_without_the_kubernetes_package_it_says_what_to_install() -> None:
    program = (
        "import sys; sys.modules['kubernetes'] = None\n"
        "from tidegate_operator.plugin.__main__ import main; main()"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert (ran.returncode, ran.stdout) == (78, "")
    assert ran.stderr.strip().endswith("install tidegate[operator]")


# --- moving in groups whose partitions are too many for a status


def put_large_group(groups_api: PluginApi, members: int = 2) -> None:
    document = group()
    told = [member(f"home-{number}") for number in range(members)]
    document["status"].update(partitions=200, members=told)
    del document["status"]["partitionStates"]
    groups_api.put_group(document)


@pytest.mark.parametrize(("has_secret", "code"), [(False, 78), (True, 1)])
def test_where_the_ledger_cannot_be_read_nothing_is_pinned_and_what_to_write_is_said(
    run: Run,
    groups_api: PluginApi,
    capsys: pytest.CaptureFixture[str],
    has_secret: bool,
    code: int,
) -> None:
    put_large_group(groups_api)
    if has_secret:
        secret = {"metadata": {"name": "servers", "namespace": NAMESPACE}, "data": servers()}
        groups_api.put(SECRET, secret)
    assert run("move", NAME, "150", "--to", "home-1") == code
    said = capsys.readouterr().err
    assert "Nothing was changed" in said and "--limit-s 0" in said
    # There is no such option here.
    assert "--in-pod" not in said
    assert groups_api.patches == []


def test_one_that_is_not_waited_for_reads_no_secret(run: Run, groups_api: PluginApi) -> None:
    put_large_group(groups_api)
    groups_api.forbidden[f"get {SECRET}"] = "secrets is forbidden"
    assert run("move", NAME, "150", "--to", "home-1", "--limit-s", "0") == 0
    assert groups_api.patches == [{"spec": {"pins": {"150": "home-1"}}}]


def test_of_more_members_than_a_status_tells_any_may_be_meant(
    run: Run, groups_api: PluginApi
) -> None:
    put_large_group(groups_api, members=127)
    assert run("move", NAME, "150", "--to", "home-200", "--limit-s", "0") == 78
    put_large_group(groups_api, members=128)
    assert run("move", NAME, "150", "--to", "home-200", "--limit-s", "0") == 0


@pytest.mark.parametrize(("is_fatal", "has_hint"), [(False, True), (True, False)])
def test_a_hub_that_this_machine_may_not_reach_is_told_with_the_way_through_a_pod(
    capsys: pytest.CaptureFixture[str], *, is_fatal: bool, has_hint: bool
) -> None:
    async def work() -> int:
        raise SourceError("hub: could not connect.", is_fatal=is_fatal)

    assert exit_code_of(work(), "plugin", can_be_in_pod=True) == 1
    assert ("write --in-pod" in capsys.readouterr().err) is has_hint
