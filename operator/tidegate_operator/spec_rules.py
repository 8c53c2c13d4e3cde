"""What the API server itself refuses of a ConsumerGroup, and what it says then.

Rules: pure. `BOUNDS` has what a single field may be, `RULES` what fields of a section mean to each
other, both by the class of the settings; where a message can be given it says what to write. The
typed settings have the last word, and refuse what the API server let through before it knew a rule.
Every text and list is bounded, for the API server works out beforehand what a rule may cost.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidegate.delivery.policy import Backoff, Batch, Cadence
from tidegate.group_file.ledger_spec import ITS_OWN_KEYS, ONE_LEDGER
from tidegate.group_file.spec import (
    BLOBS_ON_SPARK,
    NATIVE_ON_SPARK,
    NOT_BY_HAND_ON_SPARK,
    ONLY_ON_SPARK,
    SHARED_ON_HUBS,
    SHARED_VERSIONS,
    BlobLetters,
    DeliverySpec,
    EventHubsSpec,
    FileSpec,
    HandlerSpec,
    HubLetters,
    LedgerSpec,
    LettersSpec,
    Secret,
    SourceSpec,
)
from tidegate_operator import spec as texts
from tidegate_operator import spec_scaling as sizes
from tidegate_operator.spec import OperatedHandler, OperatorSpec
from tidegate_operator.spec_cosmos_rules import COSMOS_BOUNDS, COSMOS_RULES
from tidegate_operator.spec_rule import (
    ABOVE_0,
    ANOTHER_GROUP,
    CONTAINER,
    WHOLE_ABOVE_0,
    Rule,
    Schema,
    bounded_text,
    stays,
)
from tidegate_operator.spec_scaling import CronSpec, FallbackSpec, ObjectiveSpec, ScalingSpec
from tidegate_operator.spec_spark_rules import SPARK_BOUNDS

_COUNT: Schema = {"minimum": 0, "maximum": 2048, "format": "int32"}

# A name of a Kubernetes object.
_NAME = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
_HUB_NAME = r"^[A-Za-z0-9]([-._A-Za-z0-9]*[A-Za-z0-9])?$"

BOUNDS: Mapping[tuple[type[Any], str], Schema] = {
    **SPARK_BOUNDS,
    **COSMOS_BOUNDS,
    (Secret, "env"): bounded_text(253),
    (Secret, "file"): bounded_text(1024),
    (Secret, "secret"): bounded_text(253, pattern=_NAME),
    (Secret, "key"): bounded_text(253, pattern=r"^[-._a-zA-Z0-9]+$"),
    (EventHubsSpec, "hub"): bounded_text(256, stays(f"the hub {ANOTHER_GROUP}"), pattern=_HUB_NAME),
    (EventHubsSpec, "consumer_group"): bounded_text(
        50,
        stays(f"the consumer group {ANOTHER_GROUP}"),
        pattern=r"^(\$Default|[A-Za-z0-9]([-._A-Za-z0-9]*[A-Za-z0-9])?)$",
    ),
    (EventHubsSpec, "namespace"): bounded_text(
        260,
        Rule(
            r"self.matches('^[A-Za-z0-9]([-.A-Za-z0-9]*[A-Za-z0-9])?(:[0-9]+)?$')",
            "write the host alone, such as NAME.servicebus.windows.net",
        ),
        stays(f"the namespace {ANOTHER_GROUP}"),
    ),
    (EventHubsSpec, "buffer_bytes"): {"minimum": 65536},
    (LedgerSpec, "container"): bounded_text(
        63, CONTAINER, stays(f"the ledger's container {ANOTHER_GROUP}")
    ),
    (LedgerSpec, "account_url"): bounded_text(
        1024,
        Rule(
            "self.matches('^https?://[^/?#]')",
            "write a URL such as https://NAME.blob.core.windows.net",
        ),
        Rule(
            "!self.contains('?')",
            "write the URL without a SAS, and the SAS as sasToken: {secret: NAME, key: KEY}",
        ),
        stays(f"the ledger's account {ANOTHER_GROUP}"),
    ),
    (LedgerSpec, "api_version"): bounded_text(10, pattern=r"^20[0-9]{2}-[0-9]{2}-[0-9]{2}$"),
    (LedgerSpec, "lease_s"): {"minimum": 15, "maximum": 60, "multipleOf": 1},
    (LedgerSpec, "settled_tick_s"): {"minimum": 0.5, "maximum": 10},
    (LedgerSpec, "hand_over_limit_s"): ABOVE_0,
    (LedgerSpec, "reader_silence_s"): ABOVE_0,
    (HandlerSpec, "code"): bounded_text(
        1024,
        Rule(
            "self.matches('^.+:[^:]+$')",
            "write file.py:function or package.module:function",
        ),
    ),
    (OperatedHandler, "config_map"): bounded_text(253, pattern=_NAME),
    (DeliverySpec, "attempts"): WHOLE_ABOVE_0,
    (DeliverySpec, "timeout_s"): ABOVE_0,
    (DeliverySpec, "told_s"): ABOVE_0,
    (DeliverySpec, "max_state_bytes"): WHOLE_ABOVE_0,
    (Backoff, "first_s"): ABOVE_0,
    (Backoff, "most_s"): ABOVE_0,
    (Batch, "max_events"): WHOLE_ABOVE_0,
    (Batch, "max_bytes"): WHOLE_ABOVE_0,
    (Batch, "target_s"): {"minimum": 0, "maximum": 60},
    (Batch, "max_wait_s"): {"minimum": 0, "maximum": 60},
    (Cadence, "every_s"): ABOVE_0,
    (Cadence, "every_events"): WHOLE_ABOVE_0,
    (Cadence, "duplicate_budget"): WHOLE_ABOVE_0,
    (BlobLetters, "container"): bounded_text(63, CONTAINER),
    (HubLetters, "hub"): bounded_text(256, pattern=_HUB_NAME),
    (ScalingSpec, "min"): _COUNT,
    (ScalingSpec, "max"): {**_COUNT, "minimum": 1},
    (ScalingSpec, "cron"): {"maxItems": 32},
    (ScalingSpec, "shrink_after_s"): {"minimum": 30, "maximum": 86400},
    (ScalingSpec, "idle_after_s"): {"minimum": 30, "maximum": 86400},
    (ObjectiveSpec, "lag_per_replica"): {**WHOLE_ABOVE_0, "format": "int64"},
    (CronSpec, "start"): bounded_text(128),
    (CronSpec, "end"): bounded_text(128),
    (CronSpec, "timezone"): bounded_text(64),
    (CronSpec, "replicas"): {**_COUNT, "minimum": 1},
    (FallbackSpec, "replicas"): {**_COUNT, "minimum": 1},
    (FallbackSpec, "after_s"): {"minimum": 30, "maximum": 86400},
    (FileSpec, "engine"): {
        "x-kubernetes-validations": [
            stays(
                "the engine cannot be changed: delete the group, which keeps its ledger, and make "
                "it again; it goes on where it stood"
            ).document
        ]
    },
    (OperatorSpec, "replicas"): _COUNT,
    (OperatorSpec, "paused_replicas"): _COUNT,
    (OperatorSpec, "paused_partitions"): {
        "maxItems": 2048,
        "x-kubernetes-list-type": "set",
        "items": {"type": "string", "minLength": 1, "maxLength": 128},
    },
    (OperatorSpec, "pins"): {
        "maxProperties": 2048,
        "additionalProperties": {"type": "string", "minLength": 1, "maxLength": 253},
    },
    (OperatorSpec, "image"): bounded_text(512),
    (OperatorSpec, "service_account_name"): bounded_text(253, pattern=_NAME),
    (OperatorSpec, "service_account_annotations"): {
        "maxProperties": 64,
        "additionalProperties": {"type": "string", "maxLength": 4096},
    },
}

RULES: Mapping[type[Any], tuple[Rule, ...]] = {
    Secret: (
        Rule(
            "[has(self.env), has(self.file), has(self.secret)].filter(is, is).size() == 1",
            "write one of secret: NAME with key: KEY, env: NAME or file: PATH",
        ),
        Rule("has(self.secret) == has(self.key)", "secret: NAME and key: KEY go together"),
    ),
    SourceSpec: (
        Rule(
            "has(self.eventHubs) != has(self.cosmos)",
            "write one source: eventHubs: {hub: NAME, connectionString: {secret: NAME, key: KEY}} "
            "or cosmos: {database: NAME, container: NAME, connectionString: {secret: NAME, key: "
            "KEY}}",
        ),
    ),
    EventHubsSpec: (
        Rule(
            "has(self.connectionString) != has(self.__namespace__)",
            "write either connectionString: {secret: NAME, key: KEY} or namespace: "
            "NAME.servicebus.windows.net",
        ),
        Rule(
            "self.transport != 'sdk' || !has(self.__namespace__)",
            "transport sdk reads with a connectionString",
        ),
    ),
    **COSMOS_RULES,
    LedgerSpec: (
        Rule("has(self.container) != has(self.cosmos)", ONE_LEDGER),
        Rule(
            "!has(self.cosmos) || !(has(self.accountUrl) || has(self.connectionString) || "
            "has(self.accountKey) || has(self.sasToken) || has(self.caFile) || self.create)",
            ITS_OWN_KEYS,
        ),
        Rule(
            "has(self.cosmos) || has(self.connectionString) != has(self.accountUrl)",
            "write either connectionString: {secret: NAME, key: KEY} or accountUrl: "
            "https://NAME.blob.core.windows.net",
        ),
        Rule(
            "!has(self.connectionString) || (!has(self.accountKey) && !has(self.sasToken))",
            "accountKey and sasToken go with accountUrl: a connectionString has its own",
        ),
        Rule(
            "!(has(self.accountKey) && has(self.sasToken))",
            "write accountKey or sasToken, not both; with neither, the pods' identity is used",
        ),
        Rule(
            "!has(self.accountUrl) || self.accountUrl.startsWith('https:') || "
            "has(self.accountKey) || has(self.sasToken)",
            "an identity's tokens are sent over https only: write accountUrl: https://…, or give "
            "an accountKey or a sasToken",
        ),
    ),
    Backoff: (
        Rule(
            "self.mostSeconds >= self.firstSeconds",
            "mostSeconds is below firstSeconds: raise the one or lower the other",
        ),
    ),
    Cadence: (
        Rule(
            "!(has(self.duplicateBudget) && has(self.everyEvents))",
            "write duplicateBudget or everyEvents, not both",
        ),
    ),
    LettersSpec: (
        Rule(
            "[has(self.blob), has(self.eventHub), has(self.cosmos)].filter(is, is).size() <= 1",
            "write one of blob, eventHub and cosmos",
        ),
    ),
    ScalingSpec: (
        Rule("self.min <= self.max", sizes.MIN_ABOVE_MAX),
        Rule("!has(self.fallback) || self.fallback.replicas <= self.max", sizes.FALLBACK_ABOVE_MAX),
        Rule(
            "!has(self.cron) || self.cron.all(each, each.replicas <= self.max)",
            sizes.CRON_ABOVE_MAX,
        ),
    ),
    ObjectiveSpec: (
        Rule(
            "[has(self.within), has(self.drainWithin), has(self.lagPerReplica)]"
            ".filter(is, is).size() == 1",
            sizes.ONE_OBJECTIVE,
        ),
    ),
    FileSpec: (
        Rule(
            "!has(self.ledger.cosmos) || !has(self.ledger.cosmos.dialect) || "
            "has(self.source.cosmos)",
            SHARED_ON_HUBS,
        ),
        Rule(
            "!has(self.ledger.cosmos) || !has(self.ledger.cosmos.dialect) || "
            "!has(self.source.cosmos) || !has(self.source.cosmos.mode) || "
            "self.source.cosmos.mode != 'allVersionsAndDeletes'",
            SHARED_VERSIONS,
        ),
        Rule("self.engine != 'spark' || !has(self.ledger.cosmos)", BLOBS_ON_SPARK),
        Rule("!has(self.spark) || self.engine == 'spark'", ONLY_ON_SPARK),
        Rule(
            "self.engine != 'spark' || !has(self.source.eventHubs) || "
            "self.source.eventHubs.transport != 'sdk'",
            NATIVE_ON_SPARK,
        ),
        Rule(
            "self.engine != 'spark' || !has(self.delivery) || !has(self.delivery.checkpoint) || "
            "!has(self.delivery.checkpoint.byHand) || !self.delivery.checkpoint.byHand",
            NOT_BY_HAND_ON_SPARK,
        ),
    ),
    OperatorSpec: (
        Rule("!(self.engine == 'spark' && has(self.template))", texts.NOT_ITS_TEMPLATE),
        Rule(
            "!has(self.replicas) || "
            "(self.scaling.min <= self.replicas && self.replicas <= self.scaling.max)",
            texts.REPLICAS_OUTSIDE,
        ),
        Rule("self.pausedReplicas <= self.scaling.max", texts.KEPT_ABOVE_MAX),
        Rule(
            "!(has(self.serviceAccountName) && has(self.serviceAccountAnnotations))",
            texts.NOT_OUR_ACCOUNT,
        ),
        Rule(
            "!has(self.delivery) || !has(self.delivery.deadLetters) || "
            "!has(self.delivery.deadLetters.eventHub) || "
            "has(self.delivery.deadLetters.eventHub.connectionString) || "
            "(has(self.source.eventHubs) && has(self.source.eventHubs.connectionString))",
            texts.LETTERS_ADDRESS,
        ),
    ),
}

# Of the whole document: its name is that of the Service, and begins the pods' names.
NAME_RULE = Rule(
    "self.metadata.name.matches('^[a-z]([-a-z0-9]{0,50}[a-z0-9])?$')",
    "name the group with at most 52 lower-case letters, digits and dashes, a letter first: its "
    "Service and its pods are called so",
)
