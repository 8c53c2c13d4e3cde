"""Spans continue the traces of the producers, and cost nothing where nobody takes them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from tidegate.model import BEGINNING, Position
from tidegate.ops.observer import Observer, Observers
from tidegate.ops.tracing import MAX_LINKS, Tracing, producer_contexts, tracing


@dataclass
class TracedEvent:
    """As much of an event as a trace needs."""

    properties: Mapping[Any, Any] | None = field(default_factory=dict)
    position: Position = BEGINNING
    enqueued_at: float | None = None


def parent(trace_id: int, span_id: int = 7) -> str:
    return f"00-{trace_id:032x}-{span_id:016x}-01"


class Traces:
    """A tracer whose finished spans are kept."""

    def __init__(self) -> None:
        self._kept = InMemorySpanExporter()
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(self._kept))
        self.listener = Tracing(provider.get_tracer("test"), "telemetry", "home-activity")

    def finished(self) -> tuple[ReadableSpan, ...]:
        return self._kept.get_finished_spans()

    def span(self, *events: TracedEvent) -> ReadableSpan:
        """The span of a batch of these events."""
        with self.listener.handling("3", events):
            pass
        return self.finished()[-1]


def trace_of(span: ReadableSpan) -> int:
    assert span.context is not None
    return int(span.context.trace_id)


@pytest.mark.parametrize(
    "properties",
    [
        {"traceparent": parent(5)},
        {b"traceparent": parent(5).encode()},
        {b"Diagnostic-Id": parent(5).encode()},
        {"Diagnostic-Id": parent(5)},
        {"traceparent": parent(5), "tracestate": "vendor=x"},
    ],
)
def test_the_producers_trace_goes_on_however_its_context_was_written(
    properties: Mapping[Any, Any],
) -> None:
    span = Traces().span(TracedEvent(properties), TracedEvent(properties))
    assert trace_of(span) == 5
    assert span.parent is not None
    assert span.parent.span_id == 7
    assert span.parent.is_remote
    assert not span.links


def test_events_of_several_traces_are_linked_each_once() -> None:
    events = [TracedEvent({"traceparent": parent(number)}) for number in (5, 6, 5)]
    span = Traces().span(*events)
    assert span.parent is None
    assert [link.context.trace_id for link in span.links] == [5, 6]


def test_events_without_a_context_begin_a_trace_of_their_own() -> None:
    span = Traces().span(TracedEvent(), TracedEvent(None))
    assert span.parent is None
    assert not span.links


def test_a_batch_that_is_only_partly_traced_is_linked_and_not_taken_into_one_trace() -> None:
    span = Traces().span(TracedEvent({"traceparent": parent(5)}), TracedEvent())
    assert span.parent is None
    assert [link.context.trace_id for link in span.links] == [5]


def test_a_span_says_what_was_handled_where() -> None:
    span = Traces().span(TracedEvent())
    assert span.name == "process telemetry"
    assert span.kind is SpanKind.CONSUMER
    assert dict(span.attributes or {}) == {
        "messaging.system": "eventhubs",
        "messaging.operation.type": "process",
        "messaging.operation.name": "process",
        "messaging.destination.name": "telemetry",
        "messaging.consumer.group.name": "home-activity",
        "messaging.destination.partition.id": "3",
        "messaging.batch.message_count": 1,
    }


@pytest.mark.parametrize("is_raised", [True, False])
def test_a_handler_that_fails_is_an_error_in_its_span(is_raised: bool) -> None:
    traces, error = Traces(), ValueError("bad")
    around = Observers(Observer(), traces.listener)
    if is_raised:
        with pytest.raises(ValueError, match="bad"), around.handling("3", [TracedEvent()]):
            raise error
    else:
        with around.handling("3", [TracedEvent()]):
            around.call_failed("ValueError", f"ValueError: {error}", "Traceback ...")
    (failed,) = traces.finished()
    assert failed.status.status_code is StatusCode.ERROR
    (told,) = failed.events
    assert (told.attributes or {})["exception.message"] == "bad"


async def test_what_the_handler_does_is_within_the_span_also_on_a_thread() -> None:
    traces = Traces()
    with traces.listener.handling("3", [TracedEvent({"traceparent": parent(5)})]):
        here = trace.get_current_span().get_span_context().trace_id
        there = await asyncio.to_thread(
            lambda: trace.get_current_span().get_span_context().trace_id
        )
    assert here == there == 5
    assert not trace.get_current_span().get_span_context().is_valid


def test_links_have_a_limit() -> None:
    events = [TracedEvent({"traceparent": parent(n)}) for n in range(1, MAX_LINKS + 50)]
    assert len(Traces().span(*events).links) == MAX_LINKS


@given(st.one_of(st.text(), st.binary(), st.integers(), st.none(), st.lists(st.integers())))
def test_a_context_that_cannot_be_read_is_none(value: Any) -> None:
    assert producer_contexts([TracedEvent({"traceparent": value})])[0] == []


def test_where_no_program_takes_spans_there_is_no_listener() -> None:
    assert tracing("telemetry", "home-activity") is None
