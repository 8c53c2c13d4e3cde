"""What a ConsumerGroup asks for, typed: what its consumers read, and what is the operator's alone.

Rules: pure; read by the same reader as a group file, so both say the same of the same mistake. The
schema of the resource and its page are made from the fields and the texts here. A message that the
API server gives as well stands here once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from tidegate.group_file import reading
from tidegate.group_file.spark_spec import EngineKind
from tidegate.group_file.spec import DeliverySpec, FileSpec, HandlerSpec, LedgerSpec, Secret
from tidegate.handlers.telling import STUCK_AFTER
from tidegate.settings import SettingsError
from tidegate_operator.model import STILL_LIMIT_S, Wish
from tidegate_operator.spec_scaling import ScalingSpec

# Until what a member says is seen.
_LOOKS_S = 30.0

REPLICAS_OUTSIDE = (
    "replicas is to be within scaling.min and scaling.max: change those too, or, to stop the "
    "group, write paused: true"
)
KEPT_ABOVE_MAX = "pausedReplicas is above scaling.max: write fewer, or raise that too"
NOT_OUR_ACCOUNT = (
    "serviceAccountAnnotations are for the ServiceAccount that the operator makes: leave out "
    "serviceAccountName, or annotate your own"
)
NOT_ITS_TEMPLATE = (
    "template is of consumers, and engine spark has none: write spark.driver.template and "
    "spark.executor.template"
)
LETTERS_ADDRESS = (
    "delivery.deadLetters.eventHub.connectionString is needed where the source has none: write "
    "{secret: NAME, key: KEY}"
)


class OnDelete(StrEnum):
    """What becomes of the ledger when the ConsumerGroup is deleted."""

    KEEP = "Keep"
    DELETE = "Delete"


def _no_texts() -> Mapping[str, str]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True)
class OperatedLedger(LedgerSpec):
    """A container of Blob storage or of Cosmos DB, in which members and the operator meet."""

    on_delete: OnDelete = field(
        default=OnDelete.KEEP,
        metadata={
            "help": "What becomes of the ledger when the group is deleted. `Keep`: a group of the "
            "same hub and consumer group goes on where this one stood. `Delete`: its checkpoints "
            "are deleted too."
        },
    )


@dataclass(frozen=True, slots=True)
class OperatedHandler(HandlerSpec):
    """Your code, in the image or in a ConfigMap."""

    config_map: str | None = field(
        default=None,
        metadata={
            "help": "A ConfigMap with files of yours, which are put beside the group file, so that "
            "`code` can be `file.py:function`. A change of it is rolled out."
        },
    )


@dataclass(frozen=True, slots=True)
class OperatorSpec(FileSpec):
    """What is wanted of a group: what its consumers read, how many there are, and how they run."""

    # As in FileSpec, with the operator's keys among them.
    ledger: OperatedLedger = field(metadata={"help": "Where the members of the group meet."})
    handler: OperatedHandler = field(metadata={"help": "What is done with the events."})
    replicas: int | None = field(
        default=None,
        metadata={
            "help": "How many consumers: a fixed number for as long as it stands here. Also "
            "written by `kubectl scale` and by autoscalers. Left out, the operator decides."
        },
    )
    scaling: ScalingSpec = field(
        default_factory=ScalingSpec,
        metadata={
            "help": "How many consumers there may be, and who decides it. Left out, and without "
            "`replicas`, the operator keeps 1 to 16 of them, so that no event waits longer than a "
            "minute."
        },
    )
    paused: bool = field(
        default=False,
        metadata={"help": "Nothing is read while this is true. Positions are kept."},
    )
    paused_replicas: int = field(
        default=0, metadata={"help": "How many consumers are kept while the group is paused."}
    )
    paused_partitions: tuple[str, ...] = field(
        default=(), metadata={"help": "Partitions that nobody reads for now, such as ['3', '7']."}
    )
    pins: Mapping[str, str] = field(
        default_factory=_no_texts,
        metadata={
            "help": "Which member is to own a partition, such as {'3': POD}. It holds while that "
            "member lives."
        },
    )
    image: str | None = field(
        default=None,
        metadata={"help": "The consumers' image. Left out: the operator's own setting."},
    )
    service_account_name: str | None = field(
        default=None,
        metadata={"help": "A ServiceAccount that is there. Left out: one is made for the group."},
    )
    service_account_annotations: Mapping[str, str] = field(
        default_factory=_no_texts,
        metadata={
            "help": "Annotations of the ServiceAccount that is made, such as "
            "{azure.workload.identity/client-id: ID}."
        },
    )
    template: Mapping[str, Any] | None = field(
        default=None,
        metadata={
            "help": "A pod template that is merged over the operator's: labels and annotations of "
            "the pods, and their spec. The consumer's container is called `consumer`."
        },
    )

    def checked(self) -> OperatorSpec:
        """This spec, or SettingsError."""
        # Not by super(): with slots, this class is another one than the one that is written here.
        FileSpec.checked(self)
        scaling = self.scaling
        if self.engine is EngineKind.SPARK and self.template is not None:
            raise SettingsError(NOT_ITS_TEMPLATE)
        if self.replicas is not None and not scaling.min <= self.replicas <= scaling.max:
            raise SettingsError(REPLICAS_OUTSIDE)
        if self.paused_replicas > scaling.max:
            raise SettingsError(KEPT_ABOVE_MAX)
        if self.service_account_name is not None and self.service_account_annotations:
            raise SettingsError(NOT_OUR_ACCOUNT)
        letters, hubs = self.delivery.dead_letters.event_hub, self.source.event_hubs
        if letters is not None and letters.connection_string is None:
            if hubs is None or hubs.connection_string is None:
                raise SettingsError(LETTERS_ADDRESS)
        return self


def read_spec(document: Mapping[str, Any]) -> OperatorSpec:
    """What a ConsumerGroup asks for, from its JSON document. Raises SettingsError."""
    return read_spec_and_newer(document)[0]


def read_spec_and_newer(document: Mapping[str, Any]) -> tuple[OperatorSpec, tuple[str, ...]]:
    """The same, and the keys that are of a newer version than this. Raises SettingsError."""
    return reading.read_spec(OperatorSpec, document)


def wish_of(spec: OperatorSpec) -> Wish:
    """What decides the size of a group and its roster."""
    return Wish(
        min_replicas=spec.scaling.min,
        max_replicas=spec.scaling.max,
        replicas=spec.replicas,
        is_paused=spec.paused,
        paused_replicas=spec.paused_replicas,
        pins=spec.pins,
        paused_partitions=frozenset(spec.paused_partitions),
        lease_s=spec.ledger.lease_s,
        hand_over_limit_s=spec.hand_over_limit_s,
        scaling=spec.scaling.policy,
        still_limit_s=max(STILL_LIMIT_S, _tells_after_s(spec.delivery)),
    )


def _tells_after_s(delivery: DeliverySpec) -> float:
    """How long it may take until a member says that a handler which hangs in each call fails."""
    call_s = delivery.timeout_s + delivery.told_s
    pauses_s = (STUCK_AFTER - 1) * delivery.backoff.most_s
    return STUCK_AFTER * call_s + pauses_s + delivery.batch.max_wait_s + _LOOKS_S


def secrets_of(spec: OperatorSpec) -> Mapping[str, frozenset[str]]:
    """The Kubernetes Secrets that the group needs, and which of their keys."""
    found: dict[str, frozenset[str]] = {}
    for each in _secrets_in(spec):
        if each.secret is not None and each.key is not None:
            found[each.secret] = found.get(each.secret, frozenset()) | {each.key}
    return MappingProxyType(found)


def _secrets_in(section: Any) -> Iterator[Secret]:
    for each in fields(section):
        value = getattr(section, each.name)
        if isinstance(value, Secret):
            yield value
        elif is_dataclass(value):
            yield from _secrets_in(value)
