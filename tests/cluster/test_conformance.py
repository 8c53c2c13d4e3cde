"""`tidegate conformance` on the cluster: a short run holds, one that is broken off leaves nothing.

The four kinds have a target of their own: `make test-conformance`.
"""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest

from support.cluster_conformance import command, conformance, environment, until_nothing_is_left
from support.cluster_release import Release
from support.role_holder import role_holder
from tidegate_operator.conformance.rights import roles

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def test_a_short_run_with_its_own_rights_alone_holds_all_that_it_tries_and_leaves_nothing_behind(
    release: Release, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    allowed = roles(release.namespace, release.namespace)
    who = role_holder(release.inside, "tries", allowed, tmp_path / "kubeconfig")
    ran = conformance(release, tmp_path, "--minutes", "1.5", "--seed", "3", who=who)
    with capsys.disabled():
        print(f"\n{ran.told}\n{ran.said}")
    assert ran.code == 0, ran.said + ran.told
    assert ran.held >= {"P1", "P2", "P3", "P4", "P5", "P8"}
    assert (tmp_path / "report.html").read_text(encoding="utf-8").endswith("</html>\n")
    until_nothing_is_left(release.inside)


def test_a_run_that_is_broken_off_removes_what_it_made_and_says_so(release: Release) -> None:
    with subprocess.Popen(
        command(release, "--minutes", "3"), env=environment(release), text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stderr is not None
        for line in process.stderr:
            if "the group is settled" in line:
                break
        process.send_signal(signal.SIGINT)
        said, told = process.communicate(timeout=120)
    assert process.returncode == 130, said + told
    assert "TROUBLE: the run was broken off" in said
    until_nothing_is_left(release.inside)
