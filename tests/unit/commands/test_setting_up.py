"""What a group file and its secrets become, and what is said where they cannot be used."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidegate.commands.wiring import member_settings, set_up
from tidegate.ledger.command import group_names
from tidegate.ledger.cosmos.ids import Ids
from tidegate.ledger.layout import GroupNames
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


def test_a_living_owner_is_waited_for_as_long_as_its_call_may_take_unless_the_file_says_so(
    file: Path,
) -> None:
    assert member_settings(set_up(file, SECRETS), "a").hand_over_limit_s == 300 + 10 + 10
    text = GROUP.replace("container: ledger,", "container: ledger, handOverLimitSeconds: 45,")
    file.write_text(text, encoding="utf-8")
    assert member_settings(set_up(file, SECRETS), "a").hand_over_limit_s == 45
    file.write_text(GROUP + "  delivery: {timeoutSeconds: 5}\n", encoding="utf-8")
    assert member_settings(set_up(file, SECRETS), "a").hand_over_limit_s == 60


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


COSMOS = (
    "{{apiVersion: tidegate.dev/v1alpha1, kind: ConsumerGroup, metadata: {{name: {group}}}, "
    "spec: {{source: {{cosmos: {{database: {database}, container: {container}, "
    "connectionString: {{env: COSMOS}}}}}}, "
    "ledger: {{container: ledger, connectionString: {{env: STORE}}}}, "
    "handler: {{code: 'x.py:handle'}}}}}}"
)
ACCOUNT = {"COSMOS": "AccountEndpoint=https://a.example/;AccountKey=k", **SECRETS}


def names_of_feed(file: Path, database: str, container: str, group: str) -> GroupNames:
    text = COSMOS.format(database=database, container=container, group=group)
    file.write_text(text, encoding="utf-8")
    return set_up(file, ACCOUNT, runs_code=False).names


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("a.b", "c", "g"), ("a", "b.c", "g")),
        (("shop", "orders", "g"), ("Shop", "orders", "g")),
        (("shop", "orders", "g"), ("shop", "ORDERS", "g")),
        (("shop", "orders", "billing"), ("shop", "orders", "Billing")),
        (("a.b", "c", "g"), ("a%2eb", "c", "g")),
        (("Ärger", "c", "g"), ("ärger", "c", "g")),
    ],
)
def test_two_containers_or_groups_never_share_a_ledger(
    file: Path, one: tuple[str, str, str], other: tuple[str, str, str]
) -> None:
    names = [names_of_feed(file, *one), names_of_feed(file, *other)]
    assert names[0].prefix != names[1].prefix
    # As documents of a lease container, too.
    assert Ids(names[0]).prefix != Ids(names[1]).prefix
    assert Ids(names[0]).states_prefix != Ids(names[1]).states_prefix


def test_the_ledger_of_a_container_has_its_name_and_that_of_its_database(file: Path) -> None:
    assert names_of_feed(file, "shop", "orders-2", "bills.all").prefix == (
        "a.example/shop.orders-2/bills.all/"
    )
    names = names_of_feed(file, "My.Shop", "Orders", "g")
    assert names.prefix == "a.example/%4dy%2e%53hop.%4frders/g/"
    # As people give it to `tidegate ledger`.
    assert group_names(names.prefix.rstrip("/")).prefix == names.prefix
