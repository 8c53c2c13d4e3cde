"""Takes secrets out of text: the last thing that is done before a line is shown or written. Pure.

Rules:
- Two nets. What is known to be a secret of this process (`known`) goes wherever and however often
  it stands, also URL-encoded. What looks like one goes by its form: the keys and signatures of
  connection strings and SAS tokens, the `sig` of a URL, bearer tokens, JSON Web Tokens.
- The words around it stay, so that a line still says what it was about.
- It is done on whole, finished text, so that no way of formatting gets around it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import quote, quote_plus, unquote

HIDDEN = "***"

# A shorter text would be found inside ordinary words.
_SHORTEST_KNOWN = 6
# Ends of a value in a connection string, in JSON, in a repr, in a log line.
_VALUE = r"[^;\s\"'<>,}&]+"
_FORMS = (
    re.compile(
        rf"(?P<keep>\b(?:SharedAccessKey|AccountKey|AccessKey|ClientSecret|client_secret|Password)"
        rf"(?:\"|')?\s*[=:]\s*(?:\"|')?){_VALUE}",
        re.IGNORECASE,
    ),
    # The whole token: 'SharedAccessSignature sr=...&sig=...&se=...' or '...=sr=...'.
    re.compile(r"(?P<keep>\bSharedAccessSignature[ =:]\s*)[^;\s\"'<>,}]+", re.IGNORECASE),
    re.compile(r"(?P<keep>(?:\b|%26|%3F)sig(?:=|%3D))[^&;\s\"'<>]+", re.IGNORECASE),
    re.compile(r"(?P<keep>\bBearer\s+)[\w.~+/=-]{8,}", re.IGNORECASE),
    re.compile(r"(?P<keep>\bSharedKey(?:Lite)? \w+:)[\w+/=]+"),
    re.compile(r"(?P<keep>)\beyJ[\w-]{8,}\.[\w-]+\.[\w-]*"),
)
# Cheap enough to look for in every line: no form begins without one of these.
_SUSPICIOUS = re.compile(
    r"key|secret|password|signature|sig(?:=|%3D)|bearer|eyJ", re.IGNORECASE
).search


class Secrets:
    """Hides the secrets of this process, and what looks like one."""

    def __init__(self, known: Iterable[str] = ()) -> None:
        texts = {
            form
            for secret in known
            for each in (secret, *_values_in(secret))
            if len(each) >= _SHORTEST_KNOWN
            for form in (each, quote(each, safe=""), quote_plus(each))
        }
        # Longest first: one may be a part of another.
        ordered = sorted(texts, key=lambda text: (-len(text), text))
        self._known = re.compile("|".join(map(re.escape, ordered))) if ordered else None

    def hide(self, text: str) -> str:
        """The text without secrets."""
        if self._known is not None:
            text = self._known.sub(HIDDEN, text)
        if _SUSPICIOUS(text):
            for form in _FORMS:
                text = form.sub(rf"\g<keep>{HIDDEN}", text)
        return text


_SIGNATURE = re.compile(r"\bsig=([^&;\s]+)")
_SECRET_PARTS = ("sharedaccesskey", "accountkey", "sharedaccesssignature")


def _values_in(secret: str) -> list[str]:
    """The secret parts of a connection string or a SAS, for they may also stand alone."""
    pairs = (part.partition("=") for part in secret.split(";"))
    found = [value for name, _, value in pairs if name.strip().lower() in _SECRET_PARTS]
    for signature in _SIGNATURE.findall(secret):
        found += [signature, unquote(signature)]
    return found
