"""OpenTelemetry spans around the handler, which continue the producers' traces.

Rules:
- Optional: without the package `opentelemetry-api` (extra `otel`), or while no program of the
  process has set a tracer provider, `tracing` gives None and nothing is called for a batch.
- A batch is one span of kind CONSUMER, 'process HUB'. Where all its events carry one and the same
  context, the span is that context's child, so the producer's trace goes on; where they carry
  several, they are links, at most `MAX_LINKS`, which is what the SDK keeps.
- Contexts are what the official SDKs write: application properties `traceparent` and `tracestate`,
  or `Diagnostic-Id` from older ones. A context that cannot be read is none.
- Which exporter, sampling and resource: OpenTelemetry's own settings, not ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

from tidegate import __version__
from tidegate.model import PartitionId
from tidegate.ops.observer import Observer
from tidegate.ports import SourceEvent

if TYPE_CHECKING:
    from opentelemetry.trace import SpanContext, Tracer

MAX_LINKS = 128
_PARENTS = ("traceparent", "Diagnostic-Id")


def tracing(hub: str, group: str) -> Observer | None:
    """Spans for the batches of a hub, or None where nobody would take them."""
    try:
        from opentelemetry import trace  # noqa: PLC0415  optional
    except ImportError:
        return None
    provider = trace.get_tracer_provider()
    if isinstance(provider, trace.ProxyTracerProvider | trace.NoOpTracerProvider):
        return None
    return Tracing(provider.get_tracer("tidegate", __version__), hub, group)


class Tracing(Observer):
    """A span for each batch."""

    def __init__(self, tracer: Tracer, hub: str, group: str) -> None:
        self._tracer = tracer
        self._name = f"process {hub}"
        self._attributes = {
            "messaging.system": "eventhubs",
            "messaging.operation.type": "process",
            "messaging.operation.name": "process",
            "messaging.destination.name": hub,
            "messaging.consumer.group.name": group,
        }

    def handling(
        self, partition: PartitionId, events: Sequence[SourceEvent]
    ) -> AbstractContextManager[None]:
        return self._span(partition, events)

    def call_failed(self, kind: str, message: str, trace: str) -> None:
        from opentelemetry.trace import Status, StatusCode, get_current_span  # noqa: PLC0415

        span = get_current_span()
        # As `record_exception` does; that would ask the error, which is user code, for texts.
        said = {"type": kind, "message": message.removeprefix(f"{kind}: "), "stacktrace": trace}
        span.add_event("exception", {f"exception.{key}": text for key, text in said.items()})
        span.set_status(Status(StatusCode.ERROR, kind))

    @contextmanager
    def _span(self, partition: PartitionId, events: Sequence[SourceEvent]) -> Iterator[None]:
        from opentelemetry.trace import (  # noqa: PLC0415  optional
            Link,
            NonRecordingSpan,
            SpanKind,
            set_span_in_context,
        )

        contexts, do_all_carry = producer_contexts(events)
        is_one = len(contexts) == 1 and do_all_carry
        parent = set_span_in_context(NonRecordingSpan(contexts[0])) if is_one else None
        with self._tracer.start_as_current_span(
            self._name,
            context=parent,
            kind=SpanKind.CONSUMER,
            links=() if is_one else [Link(each) for each in contexts],
            attributes={
                **self._attributes,
                "messaging.destination.partition.id": partition,
                "messaging.batch.message_count": len(events),
            },
        ):
            yield


def producer_contexts(events: Sequence[Any]) -> tuple[list[SpanContext], bool]:
    """The different contexts that events carry, in their order; and whether every event has one."""
    from opentelemetry.trace import get_current_span  # noqa: PLC0415  optional
    from opentelemetry.trace.propagation.tracecontext import (  # noqa: PLC0415  optional
        TraceContextTextMapPropagator,
    )

    carried = [carried_context(event.properties) for event in events]
    read = TraceContextTextMapPropagator().extract
    found: list[SpanContext] = []
    for each in dict.fromkeys(carried):
        if each is None:
            continue
        carrier = {"traceparent": each[0], "tracestate": each[1]}
        context = get_current_span(read(carrier)).get_span_context()
        if context.is_valid:
            found.append(context)
            if len(found) == MAX_LINKS:
                break
    return found, None not in carried


def carried_context(properties: Mapping[Any, Any] | None) -> tuple[str, str] | None:
    """The texts of a context among an event's properties, whose names may be bytes."""
    if not properties:
        return None
    for name in _PARENTS:
        parent = _text(properties, name)
        if parent:
            return parent, _text(properties, "tracestate")
    return None


def _text(properties: Mapping[Any, Any], name: str) -> str:
    value = properties.get(name)
    if value is None:
        value = properties.get(name.encode())
    if isinstance(value, bytes):
        return value.decode("ascii", "replace")
    return value if isinstance(value, str) else ""
