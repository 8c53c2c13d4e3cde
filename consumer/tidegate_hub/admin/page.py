"""The page of the admin API: one HTML document, put together from its parts.

Rules: it needs nothing from elsewhere, and its policy lets nothing in: only this style and this
script, named by their hashes, run in it, and it talks to its own origin alone.
"""

from __future__ import annotations

from base64 import b64encode
from functools import cache
from hashlib import sha256
from importlib import resources

from tidegate_http.messages import Response
from tidegate_hub.admin.control import Call


def show(_call: Call) -> Response:
    return _page()


@cache
def _page() -> Response:
    style = _part("page.css")
    script = _part("page.js") + _part("page_operations.js")
    html = _part("page.html").replace("/*style*/", style).replace("/*script*/", script)
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    )
    return Response(200, html.encode(), "text/html", {"content-security-policy": policy})


def _part(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"
