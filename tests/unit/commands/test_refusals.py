"""What the command lines refuse: in one line, of what, and before anything is opened."""

from __future__ import annotations

from pathlib import Path

import pytest

import tidegate
from tidegate import cli
from tidegate.commands.letters import carry_out
from tidegate.commands.wiring import set_up
from tidegate.settings import SettingsError
from tidegate_cosmos.cli import parser as cosmos_parser
from tidegate_hub.cli import options_of
from tidegate_hub.cli import parser as hub_parser
from tidegate_hub.config_json import ConfigError
from unit.commands.one_group import GROUP

ENVIRONMENT = {
    "HUB": "Endpoint=sb://h/;SharedAccessKeyName=k;SharedAccessKey=v",
    "STORE": "UseDevelopmentStorage=true",
}


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "handler.py").write_text("def handle(events, context): pass\n", encoding="utf-8")
    path = tmp_path / "group.yaml"
    path.write_text(GROUP, encoding="utf-8")
    return path


def refused(*words: str) -> None:
    """Carries a command out, up to its refusal."""
    command = cli.parser(words[:1]).parse_args(words)
    cli._command(words[0]).run(command, ENVIRONMENT)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--listen", "x"), "address 'x': write a port"),
        (
            ("--executors", "3"),
            "--executors and --executors-file are for groups with engine: spark",
        ),
    ],
)
def test_a_check_of_a_group_looks_at_every_option(
    file: Path, words: tuple[str, ...], said: str
) -> None:
    with pytest.raises(SettingsError, match=said):
        refused("run", "--check", str(file), *words)


@pytest.mark.parametrize(
    "words",
    [
        ("run", "g.yaml", "--log-level", "LOUD"),
        ("rewind", "g.yaml", "--to", "earliest", "--limit-s", "nan"),
        ("rewind", "g.yaml", "--to", "earliest", "--limit-s", "-1"),
    ],
)
def test_a_value_that_an_option_does_not_have_ends_with_2(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.parser(words[:1]).parse_args(words)
    assert ended.value.code == 2
    assert f"argument {words[-2]}: " in capsys.readouterr().err


async def test_a_replay_of_all_and_of_some_is_refused_and_replays_none(file: Path) -> None:
    words = ("deadletters", "replay", "--all", "3/4", "--file", str(file))
    arguments = cli.parser(words[:1]).parse_args(words)
    setup = set_up(file, ENVIRONMENT, runs_code=False)
    with pytest.raises(SettingsError, match="either --all or the dead letters"):
        await carry_out(setup, arguments)


def test_a_group_file_that_cannot_be_read_is_named_once(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as refused:
        set_up(tmp_path / "none.yaml", {})
    assert str(refused.value) == (
        f"group file {tmp_path / 'none.yaml'} cannot be read: No such file or directory"
    )


def test_a_certificate_that_is_not_there_is_named(tmp_path: Path) -> None:
    (tmp_path / "cert").touch()
    words = ["serve", "--tls-port", "0", "--cert", str(tmp_path / "cert"), "--key", "none.pem"]
    with pytest.raises(ConfigError, match=r"^--key none\.pem: there is no such file$"):
        options_of(hub_parser().parse_args(words))


@pytest.mark.parametrize("parser", [hub_parser, cosmos_parser], ids=["hub", "cosmos"])
def test_every_program_says_its_version(parser: object, capsys: pytest.CaptureFixture[str]) -> None:
    assert callable(parser)
    with pytest.raises(SystemExit) as ended:
        parser().parse_args(["--version"])
    assert (ended.value.code, capsys.readouterr().out) == (0, f"{tidegate.__version__}\n")
