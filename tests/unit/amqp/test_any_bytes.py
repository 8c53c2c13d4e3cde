"""A connection may be sent anything at any stage: it fails in words, and never otherwise."""

from __future__ import annotations

import tracemalloc

from hypothesis import given, settings
from hypothesis import strategies as st

from support.amqp_owner import Owner
from support.amqp_samples import as_frames, prelude, seeds
from support.amqp_strategies import CHANGES, broken, mutated
from tidegate_amqp import Connection, ConnectionSettings
from tidegate_amqp.events import ConnectionFailed, Event
from tidegate_amqp.frames import frame

SETTINGS = ConnectionSettings("tested", incoming_window=20, max_frame_size=4_096)
# Frames and what is made of them: values decoded, links with their names, deliveries, replies.
MEMORY_FOR_A_BYTE = 400
FREE_MEMORY = 150_000


def _owner(initiator: bool, stage: int, mood: int) -> Owner:
    """A machine, and an owner of it, that have come as far as a stage of a conversation."""
    owner = Owner(Connection(SETTINGS, initiator=initiator), mood)
    for piece in prelude(initiator)[:stage]:
        owner.take(piece)
    return owner


MOODS = st.sampled_from([0, 1, 2, 4, 8, 16, 32, 63])
STAGES = st.integers(0, 7)


@given(
    initiator=st.booleans(),
    stage=STAGES,
    mood=MOODS,
    data=broken([b"".join(prelude(True)), b"".join(prelude(False))]),
)
@settings(max_examples=150, deadline=None)
def test_any_bytes_at_any_stage_raise_nothing(
    initiator: bool, stage: int, mood: int, data: bytes
) -> None:
    owner = _owner(initiator, stage, mood)
    owner.take(data)
    _check(owner)


BODIES = [body for body in seeds("performatives") if len(body) < 256]


@given(
    initiator=st.booleans(),
    mood=MOODS,
    bodies=st.lists(
        st.tuples(st.integers(0, 2), st.sampled_from(BODIES) | broken(BODIES)), max_size=12
    ),
)
@settings(max_examples=250, deadline=None)
def test_any_frames_after_the_handshake_raise_nothing(
    initiator: bool, mood: int, bodies: list[tuple[int, bytes]]
) -> None:
    owner = _owner(initiator, 4 + (mood & 1), mood)
    for channel, body in bodies:
        owner.take(frame(channel, body))
    _check(owner)


@given(initiator=st.booleans(), mood=MOODS, seed=st.data(), changes=CHANGES)
@settings(max_examples=150, deadline=None)
def test_a_conversation_with_changes_raises_nothing(
    initiator: bool, mood: int, seed: st.DataObject, changes: list[tuple[float, int, int]]
) -> None:
    sample = seed.draw(st.sampled_from(seeds("initiator" if initiator else "acceptor")))
    owner = _owner(initiator, sample[0], mood)
    for piece in as_frames(mutated(sample[2:], changes)):
        owner.take(piece)
    _check(owner)


def _check(owner: Owner) -> None:
    failures = [event for event in owner.events if isinstance(event, ConnectionFailed)]
    assert len(failures) <= 1
    for each in failures:
        assert owner.events[-1] is each
        assert owner.connection.is_closed
        assert each.error.description
    assert owner.sent_bytes < 1_000_000
    assert not owner.connection.is_closed or owner.connection.receive(b"more") == []


def _told(initiator: bool, data: bytes, cuts: list[int]) -> tuple[list[str], bytes]:
    connection = Connection(SETTINGS, initiator=initiator)
    events: list[Event] = []
    for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True):
        events += connection.receive(data[start:end])
    # What a broken peer is told may come between, but never differs.
    return [_shape(event) for event in events], b"".join(connection.take_output())


def _shape(event: Event) -> str:
    """An event without the objects in it, which differ between two machines."""
    values = [each for each in event if not hasattr(each, "connection") and not _is_link(each)]
    return f"{type(event).__name__} {values!r}"


def _is_link(value: object) -> bool:
    return hasattr(value, "remote_handle")


@given(
    initiator=st.booleans(),
    changes=st.just([]) | CHANGES,
    places=st.lists(st.floats(0, 1), max_size=30),
)
@settings(max_examples=150, deadline=None)
def test_a_stream_in_any_pieces_tells_the_same(
    initiator: bool, changes: list[tuple[float, int, int]], places: list[float]
) -> None:
    frames = b"".join(frame(0, body) for body in seeds("performatives")[3:])
    whole = mutated(b"".join(prelude(initiator)) + frames, changes) + bytes(5_000)
    at_once = _told(initiator, whole, [])
    assert _told(initiator, whole, sorted(int(place * len(whole)) for place in places)) == at_once


def test_a_stream_byte_by_byte_tells_the_same() -> None:
    for initiator in (True, False):
        frames = b"".join(frame(0, body) for body in seeds("performatives")[3:])
        whole = b"".join(prelude(initiator)) + frames
        assert _told(initiator, whole, list(range(1, len(whole)))) == _told(initiator, whole, [])


@given(
    initiator=st.booleans(),
    stage=STAGES,
    bodies=st.lists(st.sampled_from(BODIES) | broken(BODIES), max_size=8),
)
@settings(max_examples=60, deadline=None)
def test_memory_is_proportional_to_what_was_sent(
    initiator: bool, stage: int, bodies: list[bytes]
) -> None:
    owner = _owner(initiator, stage, 0)
    data = b"".join(frame(0, body) for body in bodies)
    tracemalloc.start()
    owner.take(data)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak <= MEMORY_FOR_A_BYTE * len(data) + FREE_MEMORY
