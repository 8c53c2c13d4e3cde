"""Hubs as declared on the command line and in the official emulator's Config.json."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate_hub.config import HubSpec, checked_hub, combine, parse_config, parse_hub
from tidegate_hub.config_json import ConfigError

DECLARED = [
    ("telemetry", HubSpec("telemetry", 4, ("$Default",))),
    ("telemetry:16", HubSpec("telemetry", 16, ("$Default",))),
    ("small:4:analytics,$Default", HubSpec("small", 4, ("$Default", "analytics"))),
    ("small:4:analytics,audit", HubSpec("small", 4, ("$Default", "analytics", "audit"))),
    ("small::analytics", HubSpec("small", 4, ("$Default", "analytics"))),
    ("small:4:$default,", HubSpec("small", 4, ("$Default",))),
    (" a.b-c_d : 1024 : x ", HubSpec("a.b-c_d", 1024, ("$Default", "x"))),
]


@pytest.mark.parametrize(("text", "hub"), DECLARED, ids=[text for text, _ in DECLARED])
def test_a_hub_on_the_command_line(text: str, hub: HubSpec) -> None:
    assert parse_hub(text) == hub


PARTITIONS = "expected a whole number from 1 to 1024"
NAME = "letters, digits, '.', '-' and '_' that begins and ends with a letter or a digit"
WRONG_DECLARED = [
    ("small:four", f'--hub "small:four": partitions: {PARTITIONS}, found "four"'),
    ("small:0", f'partitions: {PARTITIONS}, found "0"'),
    ("small:1025", f'partitions: {PARTITIONS}, found "1025"'),
    ("small:-1", f'partitions: {PARTITIONS}, found "-1"'),
    ("small:" + "9" * 5000, PARTITIONS),
    ("small:²", PARTITIONS),
    ("", f"name: expected a name of 1 to 256 {NAME}"),
    ("-x", NAME),
    ("x/y", NAME),
    ("x" * 257, NAME),
    ("x y", NAME),
    ("small:4:" + "g" * 51, f"groups: expected a name of 1 to 50 {NAME}"),
    ("small:4:a,A", 'groups: expected every group once, found "A"'),
    ("small:4:a:b", "expected name[:partitions[:group,group]]"),
]


@pytest.mark.parametrize(("text", "words"), WRONG_DECLARED, ids=[r[0][:20] for r in WRONG_DECLARED])
def test_a_wrong_hub_on_the_command_line(text: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_hub(text)
    assert words in str(caught.value)


def emulator(**entity: Any) -> dict[str, Any]:
    """The emulator's own configuration, with one hub changed as told."""
    first: dict[str, Any] = {
        "Name": "eh1",
        "PartitionCount": "2",
        "ConsumerGroups": [{"Name": "a"}],
    }
    first.update(entity)
    return {
        "UserConfig": {
            "NamespaceConfig": [
                {"Type": "EventHub", "Name": "emulatorNs1", "Entities": [first]},
            ],
            "LoggingConfig": {"Type": "File"},
        }
    }


def namespace(data: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = data["UserConfig"]["NamespaceConfig"][0]
    return found


def test_the_emulators_own_configuration_is_read() -> None:
    assert parse_config(json.dumps(emulator())) == (HubSpec("eh1", 2, ("$Default", "a")),)


ACCEPTED = [
    ("a count as a number", {"PartitionCount": 32}, HubSpec("eh1", 32, ("$Default", "a"))),
    ("no groups", {"ConsumerGroups": None}, HubSpec("eh1", 2, ("$Default",))),
    ("an empty list of groups", {"ConsumerGroups": []}, HubSpec("eh1", 2, ("$Default",))),
    ("the default group named", {"ConsumerGroups": [{"Name": "$default"}]},
     HubSpec("eh1", 2, ("$Default",))),
    ("more than the emulator allows", {"PartitionCount": "100"},
     HubSpec("eh1", 100, ("$Default", "a"))),
    ("retention", {"RetentionHours": 1.5, "RetentionBytes": 1000},
     HubSpec("eh1", 2, ("$Default", "a"), 1.5, 1000)),
    ("a key of a newer emulator", {"CaptureDescription": {}}, HubSpec("eh1", 2, ("$Default", "a"))),
]  # fmt: skip


@pytest.mark.parametrize(
    ("entity", "hub"), [row[1:] for row in ACCEPTED], ids=[row[0] for row in ACCEPTED]
)
def test_a_configuration_that_is_accepted(entity: dict[str, Any], hub: HubSpec) -> None:
    assert parse_config(json.dumps(emulator(**entity))) == (hub,)


def test_logging_may_be_missing_and_a_byte_order_mark_may_be_there() -> None:
    data = emulator()
    del data["UserConfig"]["LoggingConfig"]
    assert len(parse_config("\ufeff" + json.dumps(data))) == 1


ENTITY = "Config.json: UserConfig.NamespaceConfig[0].Entities[0]"
WRONG_ENTITIES = [
    ({"PartitionCount": "four"}, f'{ENTITY}.PartitionCount: {PARTITIONS}, found "four"'),
    ({"PartitionCount": 0}, f"{ENTITY}.PartitionCount: {PARTITIONS}, found 0"),
    ({"PartitionCount": 2.5}, f"{ENTITY}.PartitionCount: {PARTITIONS}, found 2.5"),
    ({"PartitionCount": True}, f"{ENTITY}.PartitionCount: {PARTITIONS}, found true"),
    ({"PartitionCount": None}, f"{ENTITY}.PartitionCount: is missing; {PARTITIONS}"),
    ({"Name": None}, f"{ENTITY}.Name: is missing; expected the hub's name"),
    ({"Name": 5}, f"{ENTITY}.Name: expected a name of 1 to 256"),
    ({"ConsumerGroups": {}}, f"{ENTITY}.ConsumerGroups: expected a list, found {{}}"),
    ({"ConsumerGroups": ["a"]}, f'{ENTITY}.ConsumerGroups[0]: expected an object, found "a"'),
    ({"ConsumerGroups": [{}]},
     f"{ENTITY}.ConsumerGroups[0].Name: is missing; expected the group's name"),
    ({"ConsumerGroups": [{"Name": "a"}, {"Name": "A"}]},
     f'{ENTITY}.ConsumerGroups[1].Name: expected every group once, found "A"'),
    ({"RetentionHours": -1}, f"{ENTITY}.RetentionHours: expected a number greater than 0"),
    ({"RetentionBytes": float("inf")}, "RetentionBytes: expected a number greater than 0"),
]  # fmt: skip


@pytest.mark.parametrize(("entity", "words"), WRONG_ENTITIES, ids=[r[1] for r in WRONG_ENTITIES])
def test_a_wrong_entity_is_named_by_its_path(entity: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_config(json.dumps(emulator(**entity)))
    assert words in str(caught.value)


def test_a_misspelt_key_is_not_silently_ignored() -> None:
    data = emulator()
    entity = namespace(data)["Entities"][0]
    entity["ConsumerGroup"] = entity.pop("ConsumerGroups")
    with pytest.raises(ConfigError) as caught:
        parse_config(json.dumps(data))
    assert str(caught.value) == (
        f'{ENTITY}: unknown key "ConsumerGroup"; did you mean "ConsumerGroups"?'
    )


def test_a_configuration_for_another_service_is_refused() -> None:
    data = emulator()
    namespace(data)["Type"] = "ServiceBus"
    with pytest.raises(ConfigError, match='expected "EventHub", found "ServiceBus"'):
        parse_config(json.dumps(data))


def test_there_is_exactly_one_namespace_and_at_least_one_hub() -> None:
    two, none = emulator(), emulator()
    two["UserConfig"]["NamespaceConfig"].append(namespace(emulator()))
    namespace(none)["Entities"].clear()
    with pytest.raises(ConfigError, match="expected exactly one namespace, found 2"):
        parse_config(json.dumps(two))
    with pytest.raises(ConfigError, match="Entities: expected at least one event hub"):
        parse_config(json.dumps(none))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{\n "UserConfig": {,\n}', "hubs.json: line 2, column 17: not valid JSON"),
        ("", "hubs.json: line 1, column 1: not valid JSON"),
        ("[]", "hubs.json: expected an object, found []"),
        (
            "{}",
            "hubs.json: UserConfig: is missing; expected an object with NamespaceConfig",
        ),
        (
            '{"UserConfig": {}}',
            "NamespaceConfig: is missing; expected a list of exactly one namespace",
        ),
        (
            '{"UserConfig": {"NamespaceConfig": [{}]}}',
            "Entities: is missing; expected a list of at least one event hub",
        ),
        ('{"UserConfig": 1}', "hubs.json: UserConfig: expected an object, found 1"),
        ("[" * 100_000, "nested too deeply"),
        ("9" * 5000, "too long a number"),
    ],
    ids=[
        "a comma",
        "nothing",
        "a list",
        "an empty object",
        "no namespaces",
        "no hubs",
        "a number",
        "depth",
        "digits",
    ],
)
def test_text_that_is_not_a_configuration_says_where(text: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_config(text, "hubs.json")
    assert words in str(caught.value)


def test_a_hub_is_declared_once_over_all_sources() -> None:
    hub, same, other = HubSpec("telemetry"), HubSpec("Telemetry"), HubSpec("other")
    assert combine([("--hub", hub), ("Config.json", other)]) == (hub, other)
    with pytest.raises(ConfigError) as caught:
        combine([("--hub", hub), ("--hub", other), ("Config.json", same)])
    assert str(caught.value) == (
        'hub "Telemetry" is declared in --hub and in Config.json. Keep one of the two.'
    )
    with pytest.raises(ConfigError, match="declared twice in --hub"):
        combine([("--hub", hub), ("--hub", same)])


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["UserConfig", "NamespaceConfig", "Entities", "Name", "Type", "x"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=20,
)


@given(st.text() | json_values.map(json.dumps))
def test_no_document_makes_the_reader_fail_in_another_way(text: str) -> None:
    try:
        hubs = parse_config(text)
    except ConfigError as error:
        assert str(error).startswith(("Config.json", "hub "))
    else:
        assert all(hub.name for hub in hubs)


def test_parts_that_a_program_gives_are_checked_as_those_of_a_file_are() -> None:
    hub = checked_hub("add_hub", "telemetry", 4, ["analytics"])
    assert hub == HubSpec("telemetry", 4, ("$Default", "analytics"))


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        (("telemetry", 0), f"add_hub: partitions: {PARTITIONS}, found 0"),
        (("telemetry", 1025), f"add_hub: partitions: {PARTITIONS}, found 1025"),
        (("a b", 1), "add_hub: name: expected a name of 1 to 256"),
        (("telemetry", 1, ["a", "A"]), 'add_hub: groups: expected every group once, found "A"'),
        (("telemetry", 1, "abc"), 'add_hub: groups: expected a list of names, found "abc"'),
    ],
    ids=["none", "too many", "a space", "a group twice", "groups that are one text"],
)
def test_parts_that_cannot_be_say_what_was_expected(parts: tuple[Any, ...], words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        checked_hub("add_hub", *parts)
    assert words in str(caught.value)
