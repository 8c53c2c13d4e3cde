"""A blob of a ledger that nobody keeps: as a listing shows it, and as it is read.

Rules: it has another ETag and time when it says something else, and it never has a body.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import formatdate
from xml.sax.saxutils import escape

from aiohttp import web

from tidegate.model import LeaseState as Lease

# No number is given twice.
numbers = itertools.count(1)


@dataclass(slots=True)
class Blob:
    """As a listing shows it."""

    name: str
    metadata: dict[str, str]
    lease: Lease
    etag: str = ""
    written_at: float = 0.0
    text: bytes = b""

    def write(self, metadata: dict[str, str]) -> None:
        self.metadata, self.written_at = metadata, time.time()
        self.etag = f"0x{next(numbers):015X}"
        self.render()

    def render(self) -> None:
        pairs = "".join(f"<{key}>{escape(value)}</{key}>" for key, value in self.metadata.items())
        modified = formatdate(self.written_at, usegmt=True)
        self.text = (
            f"<Blob><Name>{escape(self.name)}</Name><Properties><Last-Modified>{modified}"
            f"</Last-Modified><Etag>{self.etag}</Etag><LeaseState>{self.lease}</LeaseState>"
            f"</Properties><Metadata>{pairs}</Metadata></Blob>"
        ).encode()

    def read(self, headers: Mapping[str, str]) -> web.Response:
        """Of no body there is no range."""
        if "x-ms-range" in headers or "Range" in headers:
            return web.Response(status=416, headers={"x-ms-error-code": "InvalidRange"})
        said = {f"x-ms-meta-{key}": value for key, value in self.metadata.items()}
        modified = formatdate(self.written_at, usegmt=True)
        more = {"ETag": f'"{self.etag}"', "Last-Modified": modified, "x-ms-blob-type": "BlockBlob"}
        return web.Response(headers=said | more)
