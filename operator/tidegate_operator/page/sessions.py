"""Who is logged in to the console: tokens in memory, and what a browser holds in their place.

Rules: a browser gives its cookies to every port of a host, so that what it holds is a random word
that is good for nothing but this console. A session ends with the process, after SESSION_S, when
somebody logs out, and when its token is refused. There are MOST at once; the oldest goes first.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from hashlib import sha256

SESSION_S = 12 * 3600.0
MOST = 1_000


class Sessions:
    """See the module."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        # By a digest of the word: until when, and the token.
        self._tokens: dict[bytes, tuple[float, str]] = {}

    def begin(self, token: str) -> str:
        """The word that stands for the token from now on."""
        for digest in [each for each, (until, _) in self._tokens.items() if until <= self._now()]:
            del self._tokens[digest]
        while len(self._tokens) >= MOST:
            del self._tokens[next(iter(self._tokens))]
        word = secrets.token_urlsafe(32)
        self._tokens[_digest(word)] = (self._now() + SESSION_S, token)
        return word

    def token_of(self, word: str) -> str:
        """'' for a word that stands for none."""
        until, token = self._tokens.get(_digest(word), (0.0, ""))
        return token if until > self._now() else ""

    def end(self, word: str) -> None:
        self._tokens.pop(_digest(word), None)


def _digest(word: str) -> bytes:
    return sha256(word.encode(errors="replace")).digest()
