"""Long texts cut to a size that costs little to search and to write. Pure.

Rules:
- A text from outside (a message of user code, an event in an exception, an answer of a service) is
  cut before anything searches it, so that no text can occupy the process.
- A cut never leaves a part of a word: half a key is a secret too, and no pattern finds it.
- A text for people is cut at the end of a sentence, if one ends late enough: the rest stays true,
  and a remedy is whole or absent.
"""

from __future__ import annotations

import re

LONGEST = 16_384
# Characters of keys, of connection strings and of tokens: a cut is made between two others.
_OF_WORDS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=%_.~&;:-")

_SENTENCE_END = re.compile(r"[.!?](?=\s)")
# A sentence that ends before this part of the room is too little of the text.
_LEAST_PART = 1 / 3
_LEFT_OUT = " …"


def cut(text: str, chars: int) -> str:
    """The beginning of a text, cut at the end of a sentence or at least of a word."""
    if len(text) <= chars:
        return text
    # One more shows whether the last word or sentence ends there.
    head = text[: chars - len(_LEFT_OUT) + 1]
    ends = [found.end() for found in _SENTENCE_END.finditer(head)]
    if ends and ends[-1] >= chars * _LEAST_PART:
        return head[: ends[-1]] + _LEFT_OUT
    words = head.rpartition(" ")[0].rstrip(" ,;:([")
    return words + _LEFT_OUT if words else _LEFT_OUT.strip()


def bounded(text: str, longest: int = LONGEST) -> str:
    """The text; of a long one its beginning and its end, and how much is left out."""
    if len(text) <= longest:
        return text
    half = longest // 2
    end = next((at for at in range(half, 0, -1) if text[at - 1] not in _OF_WORDS), half)
    first = len(text) - half
    begin = next((at for at in range(first, len(text)) if text[at] not in _OF_WORDS), len(text))
    return f"{text[:end]}[{begin - end} characters left out]{text[begin:]}"
