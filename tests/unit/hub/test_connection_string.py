"""Connection strings that the official clients read, and errors that keep secrets."""

from __future__ import annotations

from dataclasses import replace

import pytest
from azure.eventhub import EventHubConnectionStringProperties, parse_connection_string

from tidegate_hub.connection_string import (
    DEFAULT_KEY,
    DEFAULT_KEY_NAME,
    ConnectionString,
    ConnectionStringError,
    make,
    parse,
)

SECRET = "c2VjcmV0LXNlY3JldA=="


PRINTED = ConnectionString("localhost", 5672, DEFAULT_KEY_NAME, DEFAULT_KEY, emulator=True)


def test_what_an_embedded_hub_prints() -> None:
    assert make(PRINTED) == (
        "Endpoint=sb://localhost:5672;SharedAccessKeyName=RootManageSharedAccessKey;"
        "SharedAccessKey=SAS_KEY_VALUE;UseDevelopmentEmulator=true"
    )
    with_tls = replace(PRINTED, port=5671, hub="telemetry", emulator=False)
    assert make(with_tls) == (
        "Endpoint=sb://localhost:5671;SharedAccessKeyName=RootManageSharedAccessKey;"
        "SharedAccessKey=SAS_KEY_VALUE;EntityPath=telemetry"
    )


def test_the_official_client_reads_what_is_printed() -> None:
    read: EventHubConnectionStringProperties = parse_connection_string(
        make(replace(PRINTED, hub="telemetry"))
    )
    assert read.fully_qualified_namespace == "localhost:5672"
    assert read.eventhub_name == "telemetry"
    assert read.shared_access_key_name == "RootManageSharedAccessKey"
    assert read.shared_access_key == "SAS_KEY_VALUE"


@pytest.mark.parametrize(
    "parts",
    [
        ConnectionString("localhost", 5672, "Root", SECRET, emulator=True),
        ConnectionString("ns.servicebus.windows.net", None, "Root", SECRET, hub="telemetry"),
        ConnectionString("::1", 5672, "Root", SECRET, emulator=True),
        ConnectionString("localhost", 1, signature="SharedAccessSignature sr=a&sig=b%3D&se=1"),
    ],
)
def test_a_connection_string_is_read_back_as_it_was_made(parts: ConnectionString) -> None:
    assert parse(make(parts)) == parts
    assert str(parts) == make(parts)


def test_names_are_read_in_any_case_and_unknown_ones_are_ignored() -> None:
    text = f"endpoint=SB://localhost/;sharedAccessKeyName=Root;SHAREDACCESSKEY={SECRET};Other=1;"
    assert parse(text) == ConnectionString("localhost", None, "Root", SECRET)


def test_the_emulator_flag_counts_only_as_the_clients_spell_it() -> None:
    plain = f"Endpoint=sb://h;SharedAccessKeyName=n;SharedAccessKey={SECRET};"
    assert parse(plain + "UseDevelopmentEmulator=true").emulator
    assert not parse(plain + "UseDevelopmentEmulator=True").emulator


KEYS = f"SharedAccessKeyName=Root;SharedAccessKey={SECRET}"
WRONG = [
    ("", "Endpoint is missing"),
    (KEYS, "Endpoint is missing"),
    ("Endpoint=sb://h", "found neither"),
    ("Endpoint=sb://h;SharedAccessKeyName=Root", "SharedAccessKey is missing"),
    (f"Endpoint=sb://h;SharedAccessKey={SECRET}", "SharedAccessKeyName is missing"),
    (f"Endpoint=sb://h;{KEYS};SharedAccessSignature={SECRET}", "found both"),
    (f"Endpoint=sb://h;{KEYS};SharedAccessKey={SECRET}", "part 4: an earlier part has this name"),
    (f"Endpoint=sb://h;{KEYS};{SECRET.rstrip('=')}", "part 4: expected Name=value"),
    (f"Endpoint=sb://h;{KEYS};{SECRET};{SECRET}", "part 5: an earlier part has this name"),
    (f"Endpoint=http://h;{KEYS}", "Endpoint: expected sb://host:port"),
    (f"SharedAccessSignature={SECRET};Endpoint=http://h,{KEYS}", "Endpoint: expected"),
    (f"Endpoint=localhost;{KEYS}", "Endpoint: expected"),
    (f"Endpoint=sb://:5672;{KEYS}", "Endpoint: expected"),
    (f"Endpoint=sb://h:port;{KEYS}", "Endpoint: expected"),
    (f"Endpoint=sb://h:99999;{KEYS}", "Endpoint: expected"),
    (f"Endpoint=sb://[::1;{KEYS}", "Endpoint: expected"),
]


@pytest.mark.parametrize(("text", "words"), WRONG, ids=[words for _, words in WRONG])
def test_a_wrong_connection_string_says_what_is_wrong_and_no_secret(text: str, words: str) -> None:
    with pytest.raises(ConnectionStringError) as caught:
        parse(text)
    assert words in str(caught.value)
    assert SECRET.rstrip("=") not in str(caught.value)


def test_secrets_are_kept_out_of_the_repr() -> None:
    parts = ConnectionString("h", 1, "Root", SECRET, signature=f"SharedAccessSignature {SECRET}")
    assert SECRET not in repr(parts)
