"""Long texts cut to a size that costs little to search and to write. Pure.

Rules:
- A text from outside (a message of user code, an event in an exception, an answer of a service) is
  cut before anything searches it, so that no text can occupy the process.
- A cut never leaves a part of a word: half a key is a secret too, and no pattern finds it.
"""

from __future__ import annotations

LONGEST = 16_384
# Characters of keys, of connection strings and of tokens: a cut is made between two others.
_OF_WORDS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=%_.~&;:-")


def bounded(text: str, longest: int = LONGEST) -> str:
    """The text; of a long one its beginning and its end, and how much is left out."""
    if len(text) <= longest:
        return text
    half = longest // 2
    end = next((at for at in range(half, 0, -1) if text[at - 1] not in _OF_WORDS), half)
    first = len(text) - half
    begin = next((at for at in range(first, len(text)) if text[at] not in _OF_WORDS), len(text))
    return f"{text[:end]}[{begin - end} characters left out]{text[begin:]}"
