"""A proxy before an HTTP server that spoils answers by chance: headers, status, encoding and body.

    with mangling_proxy(target_port, seed) as proxy:
        proxy.share = 1.0        # of the answers are spoilt; 0: none

Rules: the same seed draws the same damage in the same order. A request reaches the server as it
came, and the server carries it out. Each answer has a connection of its own.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field

Headers = list[tuple[str, str]]

_GARBAGE = (
    *("", " ", "-1", "0", "1e999", "nan", "9" * 400, "\xff\xfe", "null", "[]", "=" * 200),
    *("Wed, 99 Foo 0000 99:99:99 GMT", "Wed, 18 Nov 99999 15:40:22 GMT", '"', "a;b,c", "tru\xe9"),
)
_STATUS = (
    *("200 OK", "201 Created", "202 Accepted", "204 No Content", "206 Partial Content"),
    *("301 Moved", "304 Not Modified", "307 Again", "400 Bad", "404 Not Found", "410 Gone"),
    *("412 No", "418 Teapot", "429 Slow", "451 Law", "500 Oh", "503 Busy", "599 What", "999 X"),
)
_BODIES = (
    *(
        b"",
        b"null",
        b"[]",
        b"{}",
        b"5",
        b'"text"',
        b"true",
        b"\xff\xfe\x00\x01",
        b"<html>no</html>",
    ),
    *(b"<?xml version='1.0' encoding='x-none'?><a/>", b"[" * 50_000, b"<a>" * 20_000),
    *(b'{"items": 5}', b'{"items": [5]}', b'{"metadata": 5, "items": [{}]}', b'{"Documents": [1]}'),
    *(b" " * 2_000_000, b"\xef\xbb\xbf{}", b'{"a": 1e999, "b": NaN}', b"9" * 6_000),
    b'<?xml version="1.0"?><EnumerationResults><Blobs><Blob/></Blobs></EnumerationResults>',
)
_VALUES: tuple[object, ...] = (
    None,
    5,
    -1,
    "text",
    "",
    [],
    [1],
    {},
    {"a": 1},
    True,
    "9" * 400,
    1 << 70,
    0.5,
)


@dataclass(slots=True)
class Answer:
    """What is sent back."""

    status: str
    headers: Headers
    body: bytes
    # The length in the header; None for the real one.
    said: str | None = None
    is_cut: bool = False


@dataclass(slots=True)
class ManglingProxy:
    """See the module."""

    target_port: int
    dice: random.Random
    share: float = 1.0
    port: int = 0
    done: Counter[str] = field(default_factory=Counter)
    answers: int = 0

    async def serve(self, started: Future[int], stop: threading.Event) -> None:
        server = await asyncio.start_server(self._client, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        started.set_result(self.port)
        await asyncio.to_thread(stop.wait)
        server.close()

    async def _client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, ValueError):
            head = await reader.readuntil(b"\r\n\r\n")
            length = re.search(rb"(?i)content-length: *(\d+)", head)
            body = await reader.readexactly(int(length[1])) if length else b""
            answer = await self._asked(head, body)
            self.answers += 1
            if self.dice.random() < self.share:
                way = self.dice.choice(_WAYS)
                self.done[way.__name__] += 1
                way(answer, self.dice)
            writer.write(_wire(answer))
            await writer.drain()
        with contextlib.suppress(OSError):
            writer.close()
            await writer.wait_closed()

    async def _asked(self, head: bytes, body: bytes) -> Answer:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.target_port)
        try:
            first, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
            kept = [line for line in lines if not line.lower().startswith("connection:")]
            head = "\r\n".join([first, *kept, "Connection: close"]).encode("latin-1")
            writer.write(head + b"\r\n\r\n" + body)
            found = await reader.read(-1)
        finally:
            writer.close()
        head, _, body = found.partition(b"\r\n\r\n")
        status, *lines = head.decode("latin-1").split("\r\n")
        pairs = [line.partition(":") for line in lines]
        headers = [(name, value.strip()) for name, _, value in pairs]
        if any(name.lower() == "transfer-encoding" for name, _ in headers):
            body = _whole(body)
        left = ("transfer-encoding", "content-length", "connection", "keep-alive")
        is_head = first.startswith("HEAD ")
        length = next((value for name, value in headers if name.lower() == "content-length"), None)
        headers = [(name, value) for name, value in headers if name.lower() not in left]
        return Answer(status.partition(" ")[2], headers, body, length if is_head else None)


def _whole(body: bytes) -> bytes:
    """A body that came in chunks."""
    found = b""
    while body:
        size, _, rest = body.partition(b"\r\n")
        count = int(size.partition(b";")[0], 16)
        if not count:
            break
        found, body = found + rest[:count], rest[count + 2 :]
    return found


def _wire(answer: Answer) -> bytes:
    length = answer.said if answer.said is not None else str(len(answer.body))
    headers = [*answer.headers, ("Connection", "close")]
    headers += [("Content-Length", length)] if length != "none" else []
    head = "".join(f"{name}: {value}\r\n" for name, value in headers)
    body = answer.body[: len(answer.body) // 2] if answer.is_cut else answer.body
    return f"HTTP/1.1 {answer.status}\r\n{head}\r\n".encode("latin-1") + body


# --- the ways


def drop_a_header(answer: Answer, dice: random.Random) -> None:
    if answer.headers:
        answer.headers.pop(dice.randrange(len(answer.headers)))


def drop_every_header(answer: Answer, dice: random.Random) -> None:
    answer.headers.clear()


def garble_a_header(answer: Answer, dice: random.Random) -> None:
    if answer.headers:
        at = dice.randrange(len(answer.headers))
        answer.headers[at] = (answer.headers[at][0], dice.choice(_GARBAGE))


def add_a_header(answer: Answer, dice: random.Random) -> None:
    names = ("Retry-After", "x-ms-retry-after-ms", "Content-Range", "Content-Encoding", "Location",
             "Date", "ETag", "x-ms-error-code", "Content-Type", "x-ms-substatus",
             "x-ms-continuation", "x-ms-lease-state")  # fmt: skip
    answer.headers.append((dice.choice(names), dice.choice(_GARBAGE)))


def say_another_encoding(answer: Answer, dice: random.Random) -> None:
    answer.headers.append(("Content-Encoding", dice.choice(("gzip", "deflate", "br", "none"))))


def say_another_type(answer: Answer, dice: random.Random) -> None:
    kept = [(name, value) for name, value in answer.headers if name.lower() != "content-type"]
    said = dice.choice(("text/html; charset=x-none", "application/json", "application/xml", ";"))
    answer.headers[:] = [*kept, ("Content-Type", said)]


def say_another_length(answer: Answer, dice: random.Random) -> None:
    answer.said = dice.choice(("0", "1", "none", str(len(answer.body) + 100)))


def say_another_status(answer: Answer, dice: random.Random) -> None:
    answer.status = dice.choice(_STATUS)
    if dice.random() < 0.5:
        answer.headers.append(("Location", dice.choice(("http://[", "/", "x:y", "\xff"))))


def say_garbage_first(answer: Answer, dice: random.Random) -> None:
    answer.status = dice.choice(("", "abc", "2", "-200 OK", "20000 OK", "\xff\xff \xff"))


def cut_the_body(answer: Answer, dice: random.Random) -> None:
    answer.is_cut = True


def shorten_the_body(answer: Answer, dice: random.Random) -> None:
    answer.body = answer.body[: dice.randrange(len(answer.body) + 1)]


def replace_the_body(answer: Answer, dice: random.Random) -> None:
    answer.body = dice.choice(_BODIES)


def flip_bytes(answer: Answer, dice: random.Random) -> None:
    body = bytearray(answer.body)
    for _ in range(dice.randrange(1, 9) if body else 0):
        body[dice.randrange(len(body))] = dice.randrange(256)
    answer.body = bytes(body)


def change_a_value(answer: Answer, dice: random.Random) -> None:
    """Of JSON, or the text of an element of XML."""
    try:
        document = json.loads(answer.body)
    except ValueError:
        texts = list(re.finditer(rb">([^<>]+)<", answer.body))
        if texts:
            found = dice.choice(texts)
            said = dice.choice(_GARBAGE).encode("utf-8", "replace")
            answer.body = answer.body[: found.start(1)] + said + answer.body[found.end(1) :]
        return
    places: list[tuple[object, object]] = []

    def walk(value: object) -> None:
        pairs: list[tuple[object, object]] = []
        if isinstance(value, dict):
            pairs = list(value.items())
        elif isinstance(value, list):
            pairs = list(enumerate(value))
        for key, inner in pairs:
            places.append((value, key))
            walk(inner)

    walk(document)
    if places:
        holder, key = dice.choice(places)
        if dice.random() < 0.3:
            del holder[key]  # type: ignore[attr-defined]
        else:
            holder[key] = dice.choice(_VALUES)  # type: ignore[index]
        answer.body = json.dumps(document).encode()


_WAYS: tuple[Callable[[Answer, random.Random], None], ...] = (
    drop_a_header, drop_a_header, drop_every_header, garble_a_header, garble_a_header, add_a_header,
    say_another_encoding, say_another_type, say_another_length, say_another_status,
    say_garbage_first, cut_the_body, shorten_the_body, replace_the_body, flip_bytes, change_a_value,
    change_a_value,
)  # fmt: skip


@contextlib.contextmanager
def mangling_proxy(target_port: int, seed: int) -> Iterator[ManglingProxy]:
    """A proxy to a port of this machine until the block ends."""
    proxy = ManglingProxy(target_port, random.Random(seed))
    started: Future[int] = Future()
    stop = threading.Event()
    thread = threading.Thread(
        target=lambda: asyncio.run(proxy.serve(started, stop)), name="mangling-proxy"
    )
    thread.start()
    try:
        started.result(10)
        yield proxy
    finally:
        stop.set()
        thread.join(10)
