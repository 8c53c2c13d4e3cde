"""What writes make of an object: merge patches, and server-side apply. Pure.

Rules: as the API server does it, as far as our manifests go. A merge patch replaces what is no map,
and null takes away. An applied manifest takes away what the same manager applied before and no
longer says, and leaves what others say; things in lists that have a name are merged by it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tidegate_operator.merge import key_of


def patched(live: Any, changes: Any) -> Any:
    """A JSON merge patch, carried out."""
    if not isinstance(changes, Mapping):
        return changes
    found = dict(live) if isinstance(live, Mapping) else {}
    for key, value in changes.items():
        if value is None:
            found.pop(key, None)
        else:
            found[key] = patched(found.get(key), value)
    return found


def applied(live: Any, before: Any, now: Any, name: str = "") -> Any:
    """What an object is when `now` is applied, by whom `before` was applied last."""
    if isinstance(now, Mapping):
        return _applied_map(_map(live), _map(before), now)
    keys = _keys(name, now)
    if keys is None:
        return now
    return _applied_list(
        _named(name, live), _named(name, before), dict(zip(keys, now, strict=True))
    )


def _applied_map(
    live: Mapping[str, Any], before: Mapping[str, Any], now: Mapping[str, Any]
) -> dict[str, Any]:
    found = {key: value for key, value in live.items() if key in now or key not in before}
    # What was said of a part, and is said no more, takes only that from the part.
    for key in before.keys() & live.keys() - now.keys():
        rest = without(live[key], before[key], key)
        if rest is not None:
            found[key] = rest
    for key, value in now.items():
        found[key] = applied(live.get(key), before.get(key), value, key)
    return found


def without(live: Any, before: Any, name: str = "") -> Any:
    """What is left of `live` without what `before` says; None where nothing is."""
    if isinstance(live, Mapping) and isinstance(before, Mapping):
        kept = {}
        for key, value in live.items():
            rest = without(value, before[key], key) if key in before else value
            if rest is not None:
                kept[key] = rest
        return kept or None
    said = _named(name, before)
    if said and isinstance(live, Sequence):
        others = [item for item in live if key_of(name, item) not in said]
        return others or None
    return None


Named = Mapping[tuple[Any, ...], Any]


def _applied_list(live: Named, before: Named, now: Named) -> list[Any]:
    kept = {key: item for key, item in live.items() if key in now or key not in before}
    order = [*(key for key in kept if key in now), *(key for key in now if key not in kept)]
    others = [key for key in kept if key not in now]
    made = {key: applied(live.get(key), before.get(key), now[key]) for key in order}
    return [*made.values(), *(kept[key] for key in others)]


def _keys(name: str, items: Any) -> list[tuple[Any, ...]] | None:
    """What each item of a list is known by; None where they have no names."""
    if not isinstance(items, list) or not items:
        return None
    keys = [key_of(name, item) for item in items]
    found = [key for key in keys if key is not None]
    return found if len(found) == len(keys) == len(set(found)) else None


def _named(name: str, items: Any) -> Named:
    keys = _keys(name, items)
    return dict(zip(keys, items, strict=True)) if keys is not None else {}


def _map(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
