"""Letters that are too large for one item of a container: their event in parts beside them. Pure.

Rules:
- An item of the service holds 2 MB, and an event in base64 is a third longer than it was. A large
  letter goes without the text for people; what is larger still keeps place, error and trace in its
  item, and has the event in parts of their own.
- The tag of the parts follows from the event, so that a letter that is written twice has the same
  parts. They are written before the letter that names them, and removed after it: whoever sees a
  letter can read it. A process that dies between leaves parts that no list shows; they are taken
  over where the same event is put aside again, and go with its letter.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

# Of JSON in ASCII, which is how items are sent. A request of more than 1 MB holds up the loop that
# sends it, and quotes may double the length of a part.
_WHOLE = 1_000_000
_PART = 500_000
_EVENT = ("body", "properties", "systemProperties")
_NOTHING = {"body": "", "properties": {}, "systemProperties": {}}


def divided(letter: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """A letter's JSON as its item is to hold it, and the texts of its parts."""
    item = dict(letter)
    if len(json.dumps(item)) <= _WHOLE:
        return item, []
    item.pop("text", None)
    size = len(json.dumps(item))
    if size <= _WHOLE:
        return item, []
    event = json.dumps({name: item.pop(name) for name in _EVENT})
    texts = [event[at : at + _PART] for at in range(0, len(event), _PART)]
    tag = sha256(event.encode()).hexdigest()[:16]
    return item | {"parts": len(texts), "partsTag": tag, "size": size}, texts


def parts_of(item: Mapping[str, Any]) -> list[str]:
    """How the parts of an item are told apart; none where it is whole. Raises ValueError."""
    number = int(item.get("parts", 0))
    return [f"{item.get('partsTag')}!{index}" for index in range(number)]


def joined(item: Mapping[str, Any], texts: Sequence[str]) -> dict[str, Any]:
    """The letter's JSON again. Raises ValueError."""
    event = json.loads("".join(texts)) if texts else {}
    if not isinstance(event, dict):
        raise ValueError("the event is no object of JSON")
    return {**item, **event}


def without_event(item: Mapping[str, Any]) -> dict[str, Any]:
    """The letter's JSON with nothing for what is in parts: for a list."""
    return {**_NOTHING, **item}
