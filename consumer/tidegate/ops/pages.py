"""What every page of ours is served with: its files, and the headers that keep others out of it.

Rules: a page runs the scripts and styles that came with it and nothing else: no inline code, nobody
else's files, no frames. Files are read once, from the package, and are asked for anew by their
digest, so that a page and its scripts are always of one version.
"""

from __future__ import annotations

import mimetypes
from hashlib import sha256
from importlib import resources

from aiohttp import web

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "img-src 'self'",
        "manifest-src 'self'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
    )
)
_HEADERS = {
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    # With no-referrer a browser does not say where a form of ours comes from.
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_TYPES = {".css": "text/css", ".html": "text/html", ".js": "text/javascript"}


async def secure(_request: web.Request, response: web.StreamResponse) -> None:
    """The headers of every answer: for `on_response_prepare`. No page is kept by anybody."""
    response.headers.setdefault("Cache-Control", "no-store")
    for name, value in _HEADERS.items():
        response.headers.setdefault(name, value)
    response.headers.popall("Server", None)


class Files:
    """The files of a page, which lie in a folder of a package."""

    def __init__(self, package: str, folder: str = "static") -> None:
        self._found = {
            each.name: each.read_bytes()
            for each in resources.files(package).joinpath(folder).iterdir()
            if each.is_file()
        }

    def html(self, name: str, status: int = 200) -> web.Response:
        """A page itself, which no browser keeps."""
        return web.Response(
            body=self._found[name], status=status, content_type="text/html", charset="utf-8"
        )

    async def asset(self, request: web.Request) -> web.StreamResponse:
        """A style, a script or a picture: for the route /assets/{name}."""
        name = request.match_info["name"]
        body = self._found.get(name)
        if body is None or name.endswith(".html"):
            raise web.HTTPNotFound(text="There is no such file.\n")
        tag = sha256(body).hexdigest()[:32]
        headers = {"Cache-Control": "no-cache", "ETag": f'"{tag}"'}
        if any(each.value == tag for each in request.if_none_match or ()):
            return web.Response(status=304, headers=headers)
        suffix = name[name.rfind(".") :]
        kind = _TYPES.get(suffix) or mimetypes.types_map.get(suffix, "application/octet-stream")
        charset = "utf-8" if kind.startswith("text/") else None
        return web.Response(body=body, headers=headers, content_type=kind, charset=charset)
