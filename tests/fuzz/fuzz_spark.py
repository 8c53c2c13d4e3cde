"""Fuzz targets: what Spark, its workers and users' options tell the engine `spark`.

Rules: an offset or a report that is none raises NotAnOffsetError, an option SettingsError, a
question of a worker NotAQuestionError. Columns of bodies: what cannot be read is told event by
event, and the others are read.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
from typing import Any

import atheris

from support.fuzzed_documents import document_of, json_seeds, texts_of
from support.fuzzing import Target, main

# Comparisons that are instrumented keep every array of numpy that they are given (10 kB an input);
# what `payloads` finds is compared with `Event`, which is instrumented.
_KEEPS_ARRAYS = ["tidegate.spark.payloads"]
with atheris.instrument_imports(include=["tidegate"], exclude=_KEEPS_ARRAYS):
    from support.stamped_messages import section, stamped
    from tidegate.ports import SourceError
    from tidegate.settings import SettingsError
    from tidegate.sources.native.event import Event
    from tidegate.spark import desk, desk_seal, failures, options
    from tidegate.spark.payloads import piece_of
    from tidegate.spark.positions import NotAnOffsetError, batch_from, offset_of, read_from
    from tidegate_amqp import AmqpError
    from tidegate_amqp.encode import encode_binary
    from tidegate_amqp.sections import DATA

_OFFSETS: tuple[dict[str, Any], ...] = (
    {
        "batch": 3,
        "turns": {"0": {"epoch": 5, "offset": "4096", "after": 7, "to": 9, "member": "m"}},
    },
    {
        "batch": 3,
        "partition": "0",
        "epoch": 5,
        "offset": "4096",
        "sequence": 9,
        "enqueued_at": 1.5,
        "events": 2,
        "bytes": 100,
        "seconds": 0.5,
        "lost": 0,
        "aside": 1,
    },
)


def fuzz_spark_offsets(data: bytes) -> None:
    document = document_of(data, _OFFSETS)
    try:
        batch = batch_from(document)
        assert batch_from(offset_of(batch)) == batch
    except NotAnOffsetError:
        pass
    if isinstance(document, dict):
        with contextlib.suppress(NotAnOffsetError):
            read_from(document)


_OPTIONS: tuple[dict[str, str], ...] = (
    {"file": "group.yaml", "members": "2", "maxEvents": "100", "maxBytes": "5", "member": "m"},
    {"file": "group.yaml", "from": "2026-01-31T00:00:00Z", "to": '{"0": 5}', "schema": "a INT"},
)


def fuzz_spark_options(data: bytes) -> None:
    given = texts_of(data, _OPTIONS)
    for read in (options.check, options.stream_options, options.batch_options, options.file_option):
        try:
            read(given)
        except SettingsError as error:
            assert str(error)
    options.schema_option(given)


def fuzz_spark_errors(data: bytes) -> None:
    """The text of an error of Spark's."""
    text = data.decode("utf-8", "replace")
    failure = failures.failure_of(text)
    assert failure.reason and len(failure.message) < 2_000


_QUESTIONS: tuple[dict[str, Any], ...] = (
    {"ask": "plan", "events": 20_000, "until": {"0": 5}},
    {"ask": "report", "batch": 1},
    {"ask": "aside", "letter": "{}"},
)


def fuzz_desk_questions(data: bytes) -> None:
    """A line of a worker, and of somebody who has not the token."""
    with contextlib.suppress(desk_seal.BrokenSealError):
        desk_seal.Seal("token", "asker", "0" * 32, "f" * 32).opened(data)
        raise AssertionError("a seal was forged")
    line = data[1:] if data[:1] == b"\x01" else json.dumps(document_of(data, _QUESTIONS)).encode()
    try:
        question = desk._question(line)
        desk._count(question, "events")
        desk._until(question)
    except desk.NotAQuestionError:
        return
    if desk_seal.is_nonce(nonce := question.get("nonce")):
        assert isinstance(nonce, str) and nonce.isascii()


def fuzz_payloads(data: bytes) -> None:
    """Messages of a batch, read together: the bodies are those that each alone has."""
    cut = data[0] if data else 0
    payloads = [data[1 : 1 + cut], PLAIN, data[1 + cut :]]
    try:
        piece = piece_of([each for each in payloads if each])
    except (AmqpError, SourceError):
        return
    events = [Event(each) for each in payloads if each]
    assert piece.sequences.tolist() == [event.place.sequence for event in events]
    with contextlib.suppress(AmqpError, SourceError, UnicodeDecodeError):
        assert piece.bodies() == [event.content or event.body_as_str().encode() for event in events]


PLAIN = stamped(7, "4096", 1_800_000_000_000) + section(DATA, encode_binary(b'{"home":"h1"}'))


READERS: list[Any] = []
# It is not in every environment; run.py says so where it leaves the target out.
if importlib.util.find_spec("pyarrow") is not None:
    import pyarrow as pa

    from tidegate.spark.json_bodies import JsonBodies

    _FIELDS = [("home", pa.string()), ("n", pa.int64()), ("list", pa.list_(pa.float64()))]
    READERS.append(JsonBodies([pa.field(name, kind) for name, kind in _FIELDS]))
    # The first reading loads libraries, which takes longer than an input may.
    READERS[0].decode([b"{}"])


def fuzz_json_columns(data: bytes) -> None:
    """A body as columns; of every eighth input two, and a good one beside them."""
    good = b'{"home":"h","n":1,"list":[1.5]}'
    is_one = len(data) % 8
    bodies = [data] if is_one else [good, *data.split(b"\n")[:2]]
    found = READERS[0].decode(bodies)
    assert is_one or all(each.index for each in found.faulty)
    assert all(len(each) == len(bodies) - len(found.faulty) for each in found.columns)


def seeds(name: str) -> list[bytes]:
    return {
        "spark_offsets": json_seeds(_OFFSETS),
        "spark_options": json_seeds(_OPTIONS),
        "spark_errors": [
            b'Traceback (most recent call last):\n  File "a"\nValueError: no\n',
            b"tidegate.ports.source.SourceError: no",
            b"java.lang.OutOfMemoryError: Java heap space",
            b"ExecutorLostFailure (executor 1 exited): reason",
            b'{"workers": [], "activeapps": []}',
        ],
        "desk_questions": json_seeds(_QUESTIONS),
        "payloads": [bytes((len(PLAIN) % 256,)) + PLAIN + PLAIN, b"\x00" + PLAIN],
        "json_columns": [b'{"home":null,"n":2}\n{"list":[1,2],"x":{}}', b'{"n":1e5}\n{"n":"1"}'],
    }[name]


TARGETS: dict[str, Target] = {
    "spark_offsets": fuzz_spark_offsets,
    "spark_options": fuzz_spark_options,
    "spark_errors": fuzz_spark_errors,
    "desk_questions": fuzz_desk_questions,
    "payloads": fuzz_payloads,
    "json_columns": fuzz_json_columns,
}


if __name__ == "__main__":
    main(TARGETS, seeds)
