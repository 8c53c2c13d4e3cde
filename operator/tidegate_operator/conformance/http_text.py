"""HTTP as text on a stream, as far as a proxy between a client and a server needs it."""

from __future__ import annotations

import asyncio

from tidegate_operator.conformance.faults import Request


async def message(reader: asyncio.StreamReader, *, has_body: bool = True) -> tuple[bytes, bytes]:
    """A whole HTTP request or reply: its head, and its body as it stands on the wire."""
    head = await reader.readuntil(b"\r\n\r\n")
    headers = _headers(head)
    is_empty = not has_body or head.split(b" ", 2)[1:2] in ([b"204"], [b"304"])
    if is_empty:
        return head, b""
    if headers.get("transfer-encoding", "").lower() == "chunked":
        return head, await _chunks(reader)
    return head, await reader.readexactly(int(headers.get("content-length", "0")))


async def _chunks(reader: asyncio.StreamReader) -> bytes:
    body = b""
    while True:
        line = await reader.readuntil(b"\r\n")
        size = int(line.split(b";")[0], 16)
        body += line + await reader.readexactly(size + 2)
        if size == 0:
            return body


def _headers(head: bytes) -> dict[str, str]:
    lines = head.decode("latin-1").split("\r\n")[1:]
    pairs = (line.partition(":") for line in lines if line)
    return {name.strip().lower(): value.strip() for name, _, value in pairs}


def parse(head: bytes) -> Request:
    name, target, _ = head.decode("latin-1").split("\r\n", 1)[0].split(" ", 2)
    return Request(name, target, _headers(head))


def reply(status: int) -> bytes:
    return (
        f"HTTP/1.1 {status} Fault\r\nContent-Length: 0\r\nx-ms-error-code: ServerBusy\r\n\r\n"
    ).encode()
