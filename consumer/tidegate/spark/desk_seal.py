"""How the desk and those who ask it know each other: every line proves that its speaker has the
token, which is never said itself. Pure.

    {"nonce": "5f..."}           who asks, in the open; then the desk as well
    9c41... {"ask": "plan"}      every line after these: a proof, and the message

Rules:
- A proof is an HMAC of the message, its speaker, its number among the speaker's lines, and the
  nonces of both. So no line can be made without the token, nor said again: neither later in a
  connection, nor in another one, nor back to its speaker.
- Nothing is encrypted: who can listen reads what is said.
"""

from __future__ import annotations

import hmac
import re

NONCE_BYTES = 16
_NONCE = re.compile(r"[0-9a-f]{32}")
_PROOF_CHARS = 64


class BrokenSealError(ValueError):
    """A line was not said, or not here and now, by who has the token."""


def is_nonce(text: object) -> bool:
    """Whether it is one as both sides make them: so many bytes as lower-case digits."""
    return isinstance(text, str) and _NONCE.fullmatch(text) is not None


class Seal:
    """What one side says in a connection; the other has the same to check it by.

    `speaker` is "desk" or "asker"; the nonces are of who asks and of the desk.
    """

    def __init__(self, token: str, speaker: str, asker: str, desk: str) -> None:
        place = f"tidegate desk 1 {speaker} {asker} {desk}".encode()
        # JSON may hold what is no Unicode text.
        self._key = hmac.digest(token.encode(errors="surrogatepass"), place, "sha256")
        self._said = 0

    def sealed(self, message: bytes) -> bytes:
        """The line of the next message, with its end."""
        return b"%b %b\n" % (self._proof(message), message)

    def opened(self, line: bytes) -> bytes:
        """The next message. Raises BrokenSealError."""
        proof, message = line[:_PROOF_CHARS], line[_PROOF_CHARS + 1 :].removesuffix(b"\n")
        if not hmac.compare_digest(proof, self._proof(message)):
            raise BrokenSealError("this line is not of who has the token")
        return message

    def _proof(self, message: bytes) -> bytes:
        self._said += 1
        counted = b"%d %b" % (self._said, message)
        return hmac.digest(self._key, counted, "sha256").hex().encode()
