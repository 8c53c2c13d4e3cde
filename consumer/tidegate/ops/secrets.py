"""Takes secrets out of text: the last thing that is done before a line is shown or written. Pure.

Rules:
- Two nets. What is known to be a secret of this process (`known`) goes wherever and however often
  it stands, also URL-encoded, and so does the beginning of a key, where a text was cut in it. What
  looks like one goes by its form: the keys and signatures of connection strings and SAS tokens, the
  `sig` of a URL, bearer tokens, JSON Web Tokens, and keys of Azure that stand alone, as where one
  was written in place of a name.
- The words around it stay, so that a line still says what it was about.
- It is done on whole, finished text, so that no way of formatting gets around it.
- A text is gone through once, however many secrets are known: one process may know thousands.
- A long text is cut first (`bounded`), and each pattern takes time linear in the text, whatever the
  text is: other people write it, and a pattern holds the whole process while it searches.
"""

from __future__ import annotations

import re
from bisect import insort
from collections.abc import Iterable
from urllib.parse import quote, quote_plus, unquote

from tidegate.bounded import bounded

HIDDEN = "***"

# A shorter text would be found inside ordinary words.
_SHORTEST_KNOWN = 6
# So much of the beginning of a key is a secret too.
_SHORTEST_PART = 12
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
    # From the beginning of the run of characters in which the token stands: a search from each
    # `eyJ` would go through the run again and again.
    re.compile(r"(?P<keep>)(?<![\w-])(?=[\w-]*?\beyJ)[\w-]{11,}+\.[\w-]++\.[\w-]*+"),
)
# 64 bytes, of storage and Cosmos DB, or 32, of a hub. A path may stand before them.
_BARE = re.compile(r"(?<![A-Za-z0-9+/])([A-Za-z0-9+/]{43,}+)(==?)(?![A-Za-z0-9+/=])")
_BARE_CHARS = {"=": 43, "==": 86}
# Cheap enough to look for in every line: no form begins without one of these.
_SUSPICIOUS = re.compile(
    r"key|secret|password|signature|sig(?:=|%3D)|bearer|eyJ", re.IGNORECASE
).search


class Secrets:
    """Hides the secrets of this process, and what looks like one."""

    def __init__(self, known: Iterable[str] = ()) -> None:
        # By the characters that they begin with; the longest first, for one may be a part of
        # another.
        self._known: dict[str, list[str]] = {}
        # Of keys alone, by so much as is looked for.
        self._keys: dict[str, list[str]] = {}
        for secret in known:
            self._know(secret)

    def _know(self, secret: str) -> None:
        for each in {secret, *_values_in(secret)}:
            if len(each) < _SHORTEST_KNOWN:
                continue
            for form in {each, quote(each, safe=""), quote_plus(each)}:
                alike = self._known.setdefault(form[:_SHORTEST_KNOWN], [])
                if form not in alike:
                    insort(alike, form, key=lambda text: -len(text))
                    if not _has_words(each):
                        self._keys.setdefault(form[:_SHORTEST_PART], []).append(form)

    def hide(self, text: str) -> str:
        """The text without secrets."""
        text = self._without_known(bounded(text))
        if _SUSPICIOUS(text):
            for form in _FORMS:
                text = form.sub(rf"\g<keep>{HIDDEN}", text)
        return _BARE.sub(_without_key, text) if "=" in text else text

    def _without_known(self, text: str) -> str:
        parts: list[str] = []
        at = shown = 0
        while self._known and at <= len(text) - _SHORTEST_KNOWN:
            length = 0
            if alike := self._known.get(text[at : at + _SHORTEST_KNOWN]):
                found = next((form for form in alike if text.startswith(form, at)), "")
                length = len(found) or self._begun_at(text, at)
            if length:
                parts += (text[shown:at], HIDDEN)
                shown = at + length
            at += length or 1
        return "".join((*parts, text[shown:]))

    def _begun_at(self, text: str, at: int) -> int:
        """How much of a key that is not whole stands there."""
        longest = 0
        for form in self._keys.get(text[at : at + _SHORTEST_PART], ()):
            pairs = enumerate(zip(form, text[at : at + len(form)], strict=False))
            end = next((i for i, (ours, theirs) in pairs if ours != theirs), len(form))
            longest = max(longest, min(end, len(text) - at))
        return longest


def _has_words(secret: str) -> bool:
    """Whether it is a connection string or a SAS, with which other texts begin as well."""
    return not {";", "&", "="}.isdisjoint(secret.rstrip("="))


def _without_key(found: re.Match[str]) -> str:
    """A run of characters of Base64 without the key of Azure at its end, if it has one."""
    before = len(found[1]) - _BARE_CHARS[found[2]]
    return found[0] if before < 0 else found[1][:before] + HIDDEN


_SIGNATURE = re.compile(r"\bsig=([^&;\s]+)")
_SECRET_PARTS = ("sharedaccesskey", "accountkey", "sharedaccesssignature")


def _values_in(secret: str) -> list[str]:
    """The secret parts of a connection string or a SAS, for they may also stand alone."""
    pairs = (part.partition("=") for part in secret.split(";"))
    found = [value for name, _, value in pairs if name.strip().lower() in _SECRET_PARTS]
    for signature in _SIGNATURE.findall(secret):
        found += [signature, unquote(signature)]
    return found
