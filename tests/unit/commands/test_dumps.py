"""What a crash leaves behind: no image of a memory that holds secrets."""

from __future__ import annotations

import resource
import sys
from pathlib import Path

import pytest

from support.core_dumps import PROBE, allowing, leaves_none
from support.planted import Planted, new_key
from tidegate.commands.dumps import no_core_dumps
from unit.commands.one_group import GROUP

pytestmark = pytest.mark.slow

# Every program that may hold secrets, with arguments by which it ends at once.
BEGINNINGS = {
    "tidegate": "import sys; from tidegate.cli import main; sys.argv[1:] = ['run', 'none']; main()",
    "tidegate-operator": (
        "from tidegate_operator.cli import main\n"
        "main(['run', '--image', 'i', '--namespace', 'n', '--listen', 'nowhere'])"
    ),
    "kubectl consumergroup": (
        "import sys; from tidegate_operator.plugin.__main__ import main\n"
        "sys.argv[1:] = ['list', '--kubeconfig', 'none']; main()"
    ),
    "tidegate up, from a tree": (
        "import sys; from tidegate_operator.local.__main__ import main\n"
        "sys.argv[1:] = ['up', 'none']; main()"
    ),
    "an agent of conformance": (
        "import runpy; runpy.run_module('tidegate_operator.conformance.agent', None, '__main__')"
    ),
    "a fault proxy": (
        "from tidegate_operator.conformance.proxy_pod import main; main(['--control', 'x:1'])"
    ),
}


@pytest.fixture(autouse=True)
def _dumps_can_be_allowed() -> None:
    if resource.getrlimit(resource.RLIMIT_CORE)[1] == 0:
        pytest.skip("the hard limit for core dumps is 0 here, so that none can be made at all")


@pytest.mark.parametrize("beginning", BEGINNINGS)
def test_no_program_that_holds_secrets_leaves_an_image_of_its_memory(
    beginning: str, tmp_path: Path
) -> None:
    leaves_none(BEGINNINGS[beginning], tmp_path)


def test_an_image_is_made_where_the_machine_allows_it_and_so_does_the_setting(
    tmp_path: Path,
) -> None:
    words = [sys.executable, "-c", PROBE + BEGINNINGS["tidegate"]]
    ran = allowing(words, tmp_path, TIDEGATE_CORE_DUMPS="1")
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    assert f"AT ITS END {hard} {0x33}\n" in ran.stdout, ran.stdout + ran.stderr


def test_what_a_container_of_spark_becomes_leaves_none(tmp_path: Path) -> None:
    entry = [sys.executable, "-I", "-m", "tidegate.spark.entry"]
    ran = allowing([*entry, "sh", "-c", "ulimit -Sc; cat /proc/self/coredump_filter"], tmp_path)
    assert ran.stdout.split() == ["0", "00000000"], ran.stderr


@pytest.mark.parametrize("allowed", ["", "1"])
def test_a_consumer_that_is_aborted_leaves_no_core_though_its_machine_allows_one(
    allowed: str, tmp_path: Path
) -> None:
    pattern = Path("/proc/sys/kernel/core_pattern").read_text(encoding="utf-8").strip()
    if pattern.startswith(("|", "/")) or not pattern:
        pytest.skip(f"core_pattern is {pattern!r} here: no image is written to a folder of ours")
    (tmp_path / "group.yaml").write_text(GROUP, encoding="utf-8")
    (tmp_path / "handler.py").write_text("import os\nos.abort()\n", encoding="utf-8")
    key = new_key()
    secrets = {
        "HUB": f"Endpoint=sb://127.0.0.1:1;SharedAccessKeyName=n;SharedAccessKey={key}",
        "STORE": f"AccountName=a;AccountKey={key};BlobEndpoint=http://127.0.0.1:1/a",
    }
    words = [sys.executable, "-m", "tidegate", "run", "group.yaml"]
    ran = allowing(words, tmp_path, **secrets, TIDEGATE_CORE_DUMPS=allowed)
    assert ran.returncode == -6, ran.stderr
    left = [path for path in tmp_path.iterdir() if pattern.partition("%")[0] in path.name]
    if allowed:
        # What is not to be left is really there where nothing is done about it.
        assert Planted({"key": key}).found_in_files(left)
    else:
        assert left == []


def test_a_filter_that_cannot_be_written_is_said_and_ends_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
    try:
        no_core_dumps({}, tmp_path)  # a folder
        assert resource.getrlimit(resource.RLIMIT_CORE)[0] == 0
    finally:
        resource.setrlimit(resource.RLIMIT_CORE, (soft, hard))
    said = capsys.readouterr().err
    assert "cannot be written (Is a directory)" in said
    assert "core_pattern" in said
