"""An argument that is not known is said by the command that it was given to."""

from __future__ import annotations

import pytest

from tidegate import cli
from tidegate.commands.arguments import parsed
from tidegate_operator.plugin.cli import carried_out


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("run --wieght 2 group.yaml", "tidegate run: error: unrecognized arguments: --wieght"),
        ("run --wieght 2 group.yaml", "did you mean --weight?"),
        ("run --wieght=2 group.yaml", "did you mean --weight?"),
        ("run group.yaml other.yaml", "tidegate run: error: unrecognized arguments: other.yaml\n"),
        ("up --cosnole 8081 group.yaml", "tidegate up: error: unrecognized arguments: --"),
        ("deadletters list --file f --partitoin 1", "tidegate deadletters list: error: "),
        ("deadletters list --file f --partitoin 1", "did you mean --partition?"),
    ],
)
def test_the_command_says_it_and_what_was_probably_meant(
    given: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = given.split()
    with pytest.raises(SystemExit) as ended:
        parsed(cli.parser(words[:1]), words)
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


def test_the_plugin_does_so_too(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        carried_out(["partitions", "home", "--from-legder"])
    assert ended.value.code == 2
    assert "partitions: error: unrecognized arguments: --from-legder: did you mean" in (
        capsys.readouterr().err
    )
