"""Why a server cannot listen where it was told to, and what to do about it. Pure."""

from __future__ import annotations

import errno

_PORT = "Choose another port, or 0 for any that is free"
_HOST = "Choose 127.0.0.1, another address of this machine, or 0.0.0.0 for all of them"


def listening_problem(error: Exception, host: str, port: int) -> str:
    """One line: what could not be had, why, and what to do."""
    reason, advice = _reason_and_advice(error)
    return f"cannot listen on {host}:{port}: {reason}. {advice}."


def _reason_and_advice(error: Exception) -> tuple[str, str]:
    code = error.errno if isinstance(error, OSError) else None
    # The resolver numbers its errors on its own; only its class tells them from the system's.
    if type(error).__name__ == "gaierror" or isinstance(error, ValueError):
        return "no host of this name is known", _HOST
    if code == errno.EADDRINUSE:
        return "address already in use", _PORT
    if code in (errno.EACCES, errno.EPERM):
        return "not permitted: ports below 1024 need privileges", _PORT
    # Newer versions of asyncio give no number where none of the host's addresses could be had.
    if code == errno.EADDRNOTAVAIL or (isinstance(error, OSError) and code is None):
        return "this machine has no such address", _HOST
    if isinstance(error, OverflowError):
        return "there is no such port", "Choose one from 1 to 65535, or 0 for any that is free"
    said = error.strerror if isinstance(error, OSError) else None
    return f"{said or error}", "Choose another address or port"
