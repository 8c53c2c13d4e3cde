"""Fuzz targets: group files, ConsumerGroups as the API server has them, and other declarations.

Rules: what cannot be is told as the one error of settings (of the hub's: ConfigError), and nothing
else is raised. What could be read of a ConsumerGroup can be made into objects.
"""

from __future__ import annotations

from typing import Any

import atheris

from support.fuzzed_documents import document_of, json_seeds
from support.fuzzing import Target, main
from support.tree import ROOT

with atheris.instrument_imports(include=["tidegate", "tidegate_operator", "tidegate_hub"]):
    from tidegate.group_file.durations import seconds_of
    from tidegate.group_file.reading import read_group
    from tidegate.settings import SettingsError
    from tidegate_cosmos.options import ConfigError as ContainerError
    from tidegate_cosmos.options import parse_container
    from tidegate_hub.config import parse_config, parse_hub
    from tidegate_hub.config_json import ConfigError
    from tidegate_operator.engines import RenderInput, engine_of
    from tidegate_operator.identity import hosts_of
    from tidegate_operator.model import GroupKey
    from tidegate_operator.spec import read_spec, secrets_of, wish_of
    from tidegate_operator.spec_group_file import group_document

FILES = [
    (ROOT / path).read_bytes()
    for path in (
        "examples/consumergroup.yaml",
        "examples/cosmos.yaml",
        "examples/orders.yaml",
        *sorted(str(each.relative_to(ROOT)) for each in (ROOT / "examples/groups").glob("*.yaml")),
    )
]
_SECRET = {"secret": "servers", "key": "events"}
GROUPS: tuple[dict[str, Any], ...] = (
    {
        "metadata": {"name": "g", "namespace": "n", "uid": "u"},
        "spec": {
            "source": {
                "eventHubs": {"hub": "telemetry", "connectionString": _SECRET, "start": "earliest"}
            },
            "ledger": {"container": "ledger", "create": True, "connectionString": _SECRET},
            "handler": {"code": "handler.py:handle", "configMap": "code"},
            "scaling": {"min": 1, "max": 8, "mode": "Auto", "objective": {"within": "60s"}},
            "delivery": {
                "onFailure": "deadLetter",
                "batch": {"maxEvents": 50},
                "deadLetters": {"blob": {"container": "letters"}},
            },
            "pins": {"0": "g-0"},
            "pausedPartitions": ["1"],
            "replicas": 2,
        },
    },
    {
        "metadata": {"name": "g", "namespace": "n", "uid": "u"},
        "spec": {
            "source": {
                "cosmos": {
                    "database": "shop",
                    "container": "orders",
                    "connectionString": _SECRET,
                    "start": {"time": "2026-01-31T00:00:00Z"},
                }
            },
            "ledger": {
                "cosmos": {"database": "shop", "container": "leases", "connectionString": _SECRET}
            },
            "handler": {"code": "handler.py:handle"},
        },
    },
    {
        "metadata": {"name": "g", "namespace": "n", "uid": "u"},
        "spec": {
            "engine": "spark",
            "spark": {"conf": {"spark.executor.memory": "1g"}, "executor": {}},
            "source": {"eventHubs": {"hub": "telemetry", "connectionString": _SECRET}},
            "ledger": {"container": "ledger", "connectionString": _SECRET},
            "handler": {"code": "pipeline.py:pipeline"},
        },
    },
)


def fuzz_group_files(data: bytes) -> None:
    """As text: whatever a user has written."""
    text = data[1:].decode("utf-8", "replace")
    try:
        read_group(text, "group.yaml", runs_code=not (data[:1] > b"\x80"))
    except SettingsError as error:
        assert str(error)


def fuzz_consumer_groups(data: bytes) -> None:
    """As the API server gives them; of what can be read every eighth is rendered, which takes as
    long as reading all of them."""
    document = document_of(data, GROUPS)
    if not isinstance(document, dict):
        return
    try:
        spec = read_spec(document)
    except SettingsError as error:
        assert str(error)
        return
    wish_of(spec)
    secrets_of(spec)
    if data[-1] % 8:
        return
    text = group_document("g", spec)
    wanted = RenderInput(GroupKey("n", "g"), "u", text, "none.example/c:1")
    for each in engine_of(spec.engine).manifests(wanted):
        assert each["metadata"]["namespace"] == "n"


def fuzz_declarations(data: bytes) -> None:
    """Hubs and containers on command lines, Config.json, durations, hosts."""
    text = data.decode("utf-8", "surrogateescape")
    for read in (parse_hub, parse_config):
        try:
            read(text)
        except ConfigError as error:
            assert str(error)
    for other in (parse_container, lambda said: hosts_of("--identity-hosts", said)):
        try:
            other(text)
        except (SettingsError, ContainerError) as error:
            assert str(error)
    seconds_of(text)


_CONFIG = (
    b'{"UserConfig":{"NamespaceConfig":[{"Type":"EventHub","Name":"n","Entities":[{"Name":"hub",'
    b'"PartitionCount":"2","ConsumerGroups":[{"Name":"g"}]}]}],"LoggingConfig":{"Type":"File"}}}'
)


def seeds(name: str) -> list[bytes]:
    return {
        "group_files": [b"\x00" + each for each in FILES],
        "consumer_groups": json_seeds(GROUPS),
        "declarations": [
            _CONFIG,
            b"telemetry:16:a,b",
            b"shop/orders:/customer:4",
            b"1h30m",
            b".blob.core.windows.net,a.example",
        ],
    }[name]


TARGETS: dict[str, Target] = {
    "group_files": fuzz_group_files,
    "consumer_groups": fuzz_consumer_groups,
    "declarations": fuzz_declarations,
}


if __name__ == "__main__":
    main(TARGETS, seeds)
