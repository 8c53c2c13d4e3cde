"""What the API server itself refuses of `spec.spark`, as spec_rules.py has it for the rest.

Rules: pure. Of `sparkConf` each reason is a rule of its own, so that the key is named with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidegate.group_file.spark_spec import DepsSpec, OutputSpec, ProcessSpec, SparkSpec
from tidegate.spark.owned_keys import by_reason
from tidegate_operator.spec_rule import (
    ABOVE_0,
    CONTAINER,
    WHOLE_ABOVE_0,
    Rule,
    Schema,
    bounded_text,
)

_SIZE = bounded_text(16, pattern="^[1-9][0-9]*(Mi|Gi|m|g)$")
_NO_SETTING = Rule(
    "self.all(key, key.startsWith('spark.'))",
    "settings of Spark begin with 'spark.'",
)


def _rules_of_conf() -> list[dict[str, str]]:
    owned = (_owned(why, keys) for why, keys in by_reason().items())
    return [rule.document for rule in (_NO_SETTING, *owned)]


def _owned(why: str, keys: list[str]) -> Rule:
    names = ", ".join(f"'{key}'" for key in keys if not key.endswith("*"))
    asked = [f"key in [{names}]"] if names else []
    asked += [f"key.startsWith('{key[:-1]}')" for key in keys if key.endswith("*")]
    is_owned = " || ".join(asked)
    rule = f"!self.exists(key, {is_owned})"
    if len(asked) == 1 and len(keys) == 1 and names:
        return Rule(rule, f"'{keys[0]}' is not yours to set: {why}")
    words = why.replace("'", "\\'")
    return Rule(
        rule,
        f"{', '.join(keys)} are not yours to set: {why}",
        telling=f"'\\'' + self.filter(key, {is_owned})[0] + '\\' is not yours to set: {words}'",
    )


SPARK_BOUNDS: Mapping[tuple[type[Any], str], Schema] = {
    (SparkSpec, "schema"): bounded_text(65536),
    (SparkSpec, "trigger_s"): ABOVE_0,
    (SparkSpec, "max_events"): WHOLE_ABOVE_0,
    (SparkSpec, "max_bytes"): {**WHOLE_ABOVE_0, "format": "int64"},
    (SparkSpec, "options"): {
        "maxProperties": 128,
        "additionalProperties": {"type": "string", "maxLength": 4096},
    },
    (SparkSpec, "spark_conf"): {
        "maxProperties": 256,
        "additionalProperties": {"type": "string", "maxLength": 8192},
        "x-kubernetes-validations": _rules_of_conf(),
    },
    (ProcessSpec, "cores"): {"minimum": 1, "maximum": 256, "format": "int32"},
    (ProcessSpec, "memory"): _SIZE,
    (ProcessSpec, "memory_overhead"): _SIZE,
    (DepsSpec, "packages"): {
        "maxItems": 64,
        "items": {"type": "string", "maxLength": 512, "pattern": r"^[\w.-]+:[\w.-]+:[\w.-]+$"},
    },
    (DepsSpec, "files"): {
        "maxItems": 64,
        "items": {"type": "string", "minLength": 1, "maxLength": 2048},
    },
    (OutputSpec, "container"): bounded_text(63, CONTAINER),
    (OutputSpec, "prefix"): bounded_text(512),
}
