"""`tidegate send` as it is written: what is refused before anything is sent, without a secret."""

from __future__ import annotations

import pytest

from tidegate.cli import parser
from tidegate.sending.command import MISUSED, run
from tidegate.settings import EVENTS_SECRET

SECRET = "topsecretkey"
WRONG = f"Endpint=sb://x;SharedAccessKeyName=a;SharedAccessKey={SECRET}"
RIGHT = f"Endpoint=sb://x;SharedAccessKeyName=a;SharedAccessKey={SECRET}"


def refused(capsys: pytest.CaptureFixture[str], secret: str, *options: str) -> str:
    """What is said where the command cannot be carried out."""
    arguments = parser().parse_args(["send", "--hub", "telemetry", *options])
    assert run(arguments, {EVENTS_SECRET: secret}) == MISUSED
    said = capsys.readouterr().err
    assert said.startswith("tidegate send: ")
    assert SECRET not in said
    return said


def test_no_connection_string_is_said_with_the_name_of_the_variable(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert f"set {EVENTS_SECRET} to the connection string" in refused(capsys, "")


@pytest.mark.parametrize("transport", ["native", "sdk"])
def test_a_wrong_connection_string_is_said_without_its_secret(
    capsys: pytest.CaptureFixture[str], transport: str
) -> None:
    assert EVENTS_SECRET in refused(capsys, WRONG, "--transport", transport)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--rate", "5"], "--rate is for generated sensors: write --homes too"),
        (["--seed", "0"], "--seed is for generated sensors"),
        (["--homes", "5", "--json"], "--json is for standard input"),
        (["--namespace", RIGHT], "--namespace: write the host name alone"),
    ],
)
def test_options_that_do_nothing_together_are_refused(
    capsys: pytest.CaptureFixture[str], options: list[str], words: str
) -> None:
    assert words in refused(capsys, RIGHT, *options)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--homes", "0"),
        ("--homes", "some"),
        ("--rate", "-1"),
        ("--rate", "inf"),
        ("--seconds", "0"),
        ("--transport", "pigeon"),
    ],
)
def test_a_value_that_cannot_be_is_named(
    capsys: pytest.CaptureFixture[str], option: str, value: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        parser().parse_args(["send", "--hub", "telemetry", option, value])
    assert ended.value.code == 2
    assert repr(value) in capsys.readouterr().err
