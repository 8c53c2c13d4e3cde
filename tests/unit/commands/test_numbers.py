"""A number of any command is finite and within limits; what is none is refused in one line."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import pytest

import tidegate_cosmos.cli
import tidegate_hub.cli
import tidegate_operator.cli
import tidegate_operator.plugin.cli
from tidegate import cli
from tidegate.ops.serving import Address
from tidegate.settings import SettingsError

NOT_NUMBERS = ("nan", "-nan", "inf", "-inf", "infinity", "1e999", "9" * 400, "9" * 5_000, "", "x")
# Dice may begin with a number below 0; every other number counts or measures something.
MAY_BE_NEGATIVE = {"--seed"}


def parsers() -> Iterator[argparse.ArgumentParser]:
    yield cli.parser()
    yield cli.parser([""])  # with the commands of other packages
    yield tidegate_hub.cli.parser()
    yield tidegate_cosmos.cli.parser()
    yield tidegate_operator.cli.parser()
    yield tidegate_operator.plugin.cli.parser()


def numbers(parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.Action]]:
    """Every option of it, and of its commands, that becomes a number."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, inner in action.choices.items():
                yield from ((f"{name} {place}", each) for place, each in numbers(inner))
        elif callable(action.type) and action.option_strings:
            for text in ("2", "2s"):
                try:
                    found = action.type(text)
                except (argparse.ArgumentTypeError, ValueError):
                    continue
                if isinstance(found, int | float):
                    yield action.option_strings[-1], action
                    break


ALL = {f"{each.prog}: {place}": action for each in parsers() for place, action in numbers(each)}


def test_the_numbers_of_every_command_are_found() -> None:
    found = " ".join(ALL)
    for option in (
        *("run --grace-s", "rewind --limit-s", "send --rate", "--settled-tick-s"),
        *("move --limit-s", "--rollouts-at-once", "serve --tls-port", "serve --ranges"),
        *("conformance --minutes", "up --partitions", "watch --every-s"),
    ):
        assert option in found, (option, found)


@pytest.mark.parametrize("place", ALL)
def test_what_is_no_number_within_limits_is_refused(place: str) -> None:
    action = ALL[place]
    assert callable(action.type)
    negative = () if action.option_strings[-1] in MAY_BE_NEGATIVE else ("-3", "-0.5", "-1e9")
    for text in (*NOT_NUMBERS, *negative):
        with pytest.raises((argparse.ArgumentTypeError, ValueError)):
            found = action.type(text)
            raise AssertionError(f"{place} took {text[:20]!r} for {found}")


@pytest.mark.parametrize("text", ["-3", "nan", "inf"])
def test_the_command_says_what_to_write(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.parser(["run"]).parse_args(["run", "group.yaml", f"--grace-s={text}"])
    assert ended.value.code == 2
    assert f"--grace-s: '{text}': write a number of seconds from 0 to" in capsys.readouterr().err


@pytest.mark.parametrize(
    "text", ["x", ":", ":-1", ":65536", ":" + "9" * 5_000, ":٣", "a\tb:80", "a\nb:80", "a\0b:80"]
)
def test_an_address_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(SettingsError, match="write a port, or host:port"):
        Address.parse(text)
