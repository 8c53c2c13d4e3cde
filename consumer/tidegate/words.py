"""Mapping from a field of the CRD (camelCase) to our name (snake_case, with its unit). Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable


class WordError(ValueError):
    """A name breaks a rule of this module; the message says which and what to write."""


# The last part of a field's name that is a unit, and how our names write that unit.
UNITS = {"seconds": "s", "milliseconds": "ms", "minutes": "min", "bytes": "bytes"}

# Fields whose value is a duration in words ('60s'), which our names hold as seconds.
IRREGULAR = {"within": "within_s", "drainWithin": "drain_within_s"}

_CAMEL = re.compile(r"[a-z][a-z0-9]*(?:[A-Z][a-z0-9]*)*")


def snake_name(field: str) -> str:
    """Our name for a field of the CRD: `leaseDurationSeconds` is `lease_duration_s`."""
    if field in IRREGULAR:
        return IRREGULAR[field]
    if not _CAMEL.fullmatch(field):
        raise WordError(f"CRD field '{field}' is not camelCase. Write it like leaseDuration.")
    if re.search(r"[A-Z]{2}", field):
        raise WordError(
            f"CRD field '{field}' has capitals in a row. Write an acronym like a word: leaseId."
        )
    *front, last = re.findall(r"[a-z0-9]+|[A-Z][a-z0-9]*", field)
    return "_".join([*(part.lower() for part in front), UNITS.get(last.lower(), last.lower())])


def snake_names(fields: Iterable[str]) -> dict[str, str]:
    """Our names for the fields of one object; two fields may not become one name."""
    names: dict[str, str] = {}
    taken: dict[str, str] = {}
    for field in fields:
        name = snake_name(field)
        if name in taken and taken[name] != field:
            raise WordError(
                f"CRD fields '{taken[name]}' and '{field}' would both be '{name}' in the code. "
                "Rename one of them."
            )
        names[field] = name
        taken[name] = field
    return names
