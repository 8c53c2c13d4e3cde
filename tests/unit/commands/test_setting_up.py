"""What a group file and its secrets become, and what is said where they cannot be used."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidegate.commands.wiring import member_settings, set_up
from tidegate.ledger.command import group_names
from tidegate.settings import SettingsError
from unit.commands.one_group import GROUP

HUB = "Endpoint=sb://h/;SharedAccessKeyName=k;SharedAccessKey=v"
SECRETS = {"HUB": HUB, "STORE": "UseDevelopmentStorage=true"}
FIELD = "spec.source.eventHubs.connectionString: "


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "group.yaml"
    path.write_text(GROUP, encoding="utf-8")
    return path


def problem(file: Path, secrets: dict[str, str]) -> str:
    with pytest.raises(SettingsError) as raised:
        set_up(file, secrets)
    return str(raised.value)


def test_members_look_as_often_as_the_file_says(file: Path) -> None:
    assert member_settings(set_up(file, SECRETS), "a").settled_tick_s == 2.0
    text = GROUP.replace("container: ledger,", "container: ledger, settledTickSeconds: 5,")
    file.write_text(text, encoding="utf-8")
    assert member_settings(set_up(file, SECRETS), "a").settled_tick_s == 5.0


@pytest.mark.parametrize("seconds", [0, 0.4, 11])
def test_a_look_that_is_too_often_or_too_seldom_is_refused(file: Path, seconds: float) -> None:
    text = f"container: ledger, settledTickSeconds: {seconds},"
    file.write_text(GROUP.replace("container: ledger,", text), encoding="utf-8")
    said = f"spec.ledger: settledTickSeconds {seconds:g}: write 0.5 to 10 seconds"
    assert said in problem(file, SECRETS)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nonsense", "write it as the portal shows it, such as Endpoint=sb://NAME."),
        (
            "h.servicebus.windows.net",
            "write it as the portal shows it, such as Endpoint=sb://NAME.",
        ),
        ("Endpoint=sb://h/", "write SharedAccessKeyName with SharedAccessKey, or "),
        ("Endpoint=sb://h/;SharedAccessKey=v", "SharedAccessKeyName is missing"),
        ("Endpoint=;SharedAccessKey=v", "part 1 has no value"),
    ],
)
def test_what_is_no_connection_string_is_said_with_its_key_before_anything_is_opened(
    file: Path, text: str, said: str
) -> None:
    assert problem(file, SECRETS | {"HUB": text}).startswith(FIELD + said)


def test_a_key_is_named_once(file: Path) -> None:
    said = problem(file, {"HUB": HUB})
    assert said.startswith("spec.ledger.connectionString: the environment variable STORE")


def test_a_consumer_group_that_the_shell_has_taken_is_said_with_what_to_write() -> None:
    with pytest.raises(SettingsError, match=r"in a shell write 'h:5672/hub/\$Default'"):
        group_names("h:5672/hub/")
