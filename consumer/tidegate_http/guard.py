"""Keeps web pages of others away from an API. Pure.

Rules:

- A server that listens on loopback serves only requests for a loopback name. A page from elsewhere
  can make its own host name mean 127.0.0.1 (DNS rebinding), but then the Host header has that name.
- A request that changes something must not come from a page of another origin: where there is an
  Origin header it must be the very host that is asked, and Sec-Fetch-Site must not say otherwise.
- Clients that are no browsers send neither header and are let through. This is no authentication:
  whoever can reach the port can use it.
"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_address
from urllib.parse import urlsplit

from tidegate_http.messages import Problem, Request, split_target

_HARMLESS = ("GET", "HEAD")
_OWN_SITE = ("same-origin", "none")


def is_loopback(address: str) -> bool:
    """Whether a host, without port, is this machine to itself."""
    name = address.strip("[]").rstrip(".").lower()
    if name == "localhost":
        return True
    try:
        return ip_address(name.partition("%")[0]).is_loopback
    except ValueError:
        return False


def check(request: Request, *, only_loopback: bool, own_name: str) -> None:
    """Raises Problem where a request must not be served."""
    authority = _authority(request)
    if only_loopback:
        host = _host_of(authority)
        if not is_loopback(host) and host != own_name.lower():
            raise Problem(
                403,
                f'This server listens on loopback, and the request is for host "{host[:100]}".',
                expected="localhost or a loopback address in the Host header",
                field="Host",
            )
    if request.method not in _HARMLESS:
        _check_origin(request.headers, authority)


def _check_origin(headers: Mapping[str, str], authority: str) -> None:
    origin = headers.get("origin")
    if origin is not None and origin.partition("://")[2].lower() != authority.lower():
        raise Problem(
            403,
            f'A page of "{origin[:100]}" must not change this server.',
            expected="a request from the server's own page, or from a program",
            field="Origin",
        )
    site = headers.get("sec-fetch-site")
    if site is not None and site not in _OWN_SITE:
        raise Problem(
            403,
            "A page of another site must not change this server.",
            expected="a request from the server's own page, or from a program",
            field="Sec-Fetch-Site",
        )


def _authority(request: Request) -> str:
    """Host and port that are asked: in the target, if that is a whole URI, else in Host."""
    authority = split_target(request.target).authority
    return request.headers.get("host", "") if authority is None else authority


def _host_of(authority: str) -> str:
    try:
        return (urlsplit(f"//{authority}").hostname or "").lower()
    except ValueError:
        return ""
