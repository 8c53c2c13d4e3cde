"""A member's weight: who runs it says so, by an option or by the environment of the process."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tidegate import cli
from tidegate.commands import run
from tidegate.commands.codes import Code
from tidegate.settings import MemberSettings
from unit.commands.one_group import GROUP

# Carries out `tidegate run` with these options and variables; gives the exit code.
Command = Callable[..., int]


@pytest.fixture
def began() -> list[MemberSettings]:
    """The members that were begun."""
    return []


@pytest.fixture
def command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, began: list[MemberSettings]
) -> Command:
    async def begin(
        _setup: Any, _code: Any, member: MemberSettings, _arguments: argparse.Namespace, _env: Any
    ) -> int:
        began.append(member)
        return Code.DONE

    monkeypatch.setattr(run, "_consume", begin)
    # Handlers are looked for in folders that are added to it.
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(cli, "leave", lambda _: None)
    for name, value in (
        ("HUB", "Endpoint=sb://h/;SharedAccessKeyName=k;SharedAccessKey=v"),
        ("STORE", "UseDevelopmentStorage=true"),
    ):
        monkeypatch.setenv(name, value)
    (tmp_path / "group.yaml").write_text(GROUP, encoding="utf-8")
    (tmp_path / "handler.py").write_text("def handle(batch, context): ...\n", encoding="utf-8")

    def carry_out(*options: str, variable: str | None = None) -> int:
        if variable is not None:
            monkeypatch.setenv(run.WEIGHT, variable)
        words = ("run", str(tmp_path / "group.yaml"), *options)
        return cli._carry_out(cli.parser(("run",)).parse_args(words))

    return carry_out


@pytest.mark.parametrize(
    ("options", "variable", "weight"),
    [
        ((), None, 1.0),
        ((), "", 1.0),
        (("--weight", "2"), None, 2.0),
        (("--weight=0",), None, 0.0),
        ((), "0.5", 0.5),
        (("--weight", "2"), "0.5", 2.0),
    ],
)
def test_a_member_has_the_weight_that_the_option_says_or_else_the_environment_or_else_1(
    command: Command,
    began: list[MemberSettings],
    options: tuple[str, ...],
    variable: str | None,
    weight: float,
) -> None:
    assert command(*options, variable=variable) == Code.DONE
    assert [member.weight for member in began] == [weight]


@pytest.mark.parametrize("text", ["-1", "heavy", "nan", "inf", "-inf", "1,5", "0x2"])
@pytest.mark.parametrize("is_option", [True, False])
def test_a_weight_that_cannot_be_one_is_refused_with_where_it_stands_and_what_to_write(
    command: Command,
    began: list[MemberSettings],
    capsys: pytest.CaptureFixture[str],
    text: str,
    is_option: bool,
) -> None:
    code = command(f"--weight={text}") if is_option else command(variable=text)
    assert (code, began) == (Code.CONFIGURATION, [])
    where = "--weight" if is_option else "TIDEGATE_WEIGHT"
    said = capsys.readouterr().err
    assert said == f"tidegate: {where} '{text}': write a number, 0 or more\n"


def test_a_check_refuses_a_weight_too(command: Command) -> None:
    assert command("--check", "--weight=-1") == Code.CONFIGURATION
    assert command("--check", "--weight=3") == Code.DONE
