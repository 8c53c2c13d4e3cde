"""The member blobs and the roster as metadata, and back.

Rules: pure. A member's blob stays below the service's limit of 8 KB: declined partitions that do
not fit are not told, wants wait for the next announcement, and figures have what room is left. A
roster that does not fit is refused whole, because half a roster would tell the members something
else.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from tidegate.ledger import packing
from tidegate.ledger.figures import pack_figures, unpack_figures
from tidegate.ledger.packing import METADATA_LIMIT, Unfit, Unreadable
from tidegate.model import LeaseState, MemberName, Position, Presence, Recalled, Rewind, Roster

T = TypeVar("T")

# What reading a text as JSON and its values as what they should be ends with.
_NO_JSON = (TypeError, ValueError, RecursionError)


def name_metadata(name: MemberName) -> dict[str, str]:
    """A member blob before its member has said anything: its name alone, as it is written."""
    return {"name": packing.escape(name)}


def presence_metadata(presence: Presence) -> dict[str, str]:
    """What a member says of itself; of the longer tables as many rows as fit, in their order."""
    metadata = name_metadata(presence.name) | {"weight": repr(float(presence.weight))}
    if presence.incarnation:
        metadata["incarnation"] = packing.escape(presence.incarnation)
    if presence.is_leaving:
        metadata["leaving"] = "1"
    if presence.pod_uid:
        metadata["poduid"] = packing.escape(presence.pod_uid)
    if presence.started_at:
        metadata["startedat"] = repr(float(presence.started_at))
    if presence.restored_at:
        metadata["restoredat"] = repr(float(presence.restored_at))
    if presence.loads:
        metadata["loads"] = packing.pack_table(
            (partition, repr(float(load))) for partition, load in presence.loads.items()
        )
    if packing.size_of(metadata) > METADATA_LIMIT - len("declinesrecallswants"):
        raise Unfit(
            f"member '{presence.name}' has loads for {len(presence.loads)} partitions, which do "
            f"not fit into {METADATA_LIMIT} bytes of metadata. Run more members."
        )
    metadata |= _fitting("declines", sorted(presence.declines), packing.pack_names, metadata)
    recalls = [(key, _pack_recalled(known)) for key, known in presence.recalls.items()]
    metadata |= _fitting("recalls", recalls, packing.pack_table, metadata)
    wants = [(key, packing.pack_lease_id(lease_id)) for key, lease_id in presence.wants.items()]
    metadata |= _fitting("wants", wants, packing.pack_table, metadata)
    metadata |= _fitting("stuck", sorted(presence.stuck), packing.pack_names, metadata)
    open_circuits = sorted(presence.open_circuits)
    metadata |= _fitting("opencircuits", open_circuits, packing.pack_names, metadata)
    metadata |= _fitting("unread", sorted(presence.unread), packing.pack_names, metadata)
    metadata |= _fitting("trouble", presence.trouble, _escaped, metadata)
    figures = [(key, pack_figures(each)) for key, each in presence.figures.items()]
    return metadata | _fitting("figures", figures, packing.pack_table, metadata)


def _escaped(characters: Sequence[str]) -> str:
    return packing.escape("".join(characters))


def _fitting(
    key: str, rows: Sequence[T], pack: Callable[[Sequence[T]], str], beside: Mapping[str, str]
) -> dict[str, str]:
    """As many of the rows as there is room for."""
    room = METADATA_LIMIT - packing.size_of(beside) - len(key)
    packed = pack(rows)
    while rows and len(packed) > room:
        rows = rows[: len(rows) * 9 // 10]
        packed = pack(rows)
    return {key: packed} if packed else {}


def read_presence(
    key: str,
    etag: str,
    lease: LeaseState,
    metadata: Mapping[str, str],
    modified_at: float = 0.0,
) -> Presence:
    """A member; `key` is its name in lower case, from the blob's own name."""
    name = packing.unescape(metadata.get("name", "")) or key
    if packing.escape(name).lower() != packing.escape(key).lower():
        raise Unreadable(f"it says that it is of member '{name}', which has another blob")
    figures = packing.unpack_table(metadata.get("figures", ""), "figures", unpack_figures)
    return Presence(
        name=name,
        etag=etag,
        lease=lease,
        incarnation=packing.unescape(metadata.get("incarnation", "")),
        weight=packing.read_number(metadata.get("weight", "1"), "weight"),
        loads=packing.unpack_table(
            metadata.get("loads", ""), "loads", lambda text: packing.read_number(text, "load")
        ),
        wants=packing.unpack_table(metadata.get("wants", ""), "wants", packing.unpack_lease_id),
        is_leaving=metadata.get("leaving") == "1",
        declines=packing.unpack_names(metadata.get("declines", "")),
        pod_uid=packing.unescape(metadata.get("poduid", "")),
        started_at=packing.read_number(metadata.get("startedat", "0"), "start"),
        stuck=packing.unpack_names(metadata.get("stuck", "")),
        figures=figures,
        figures_at=modified_at if figures else 0.0,
        unread=packing.unpack_names(metadata.get("unread", "")),
        trouble=packing.unescape(metadata.get("trouble", "")),
        open_circuits=packing.unpack_names(metadata.get("opencircuits", "")),
        recalls=packing.unpack_table(metadata.get("recalls", ""), "recalls", _unpack_recalled),
        restored_at=packing.read_number(metadata.get("restoredat", "0"), "restoration"),
    )


def _pack_recalled(known: Recalled) -> str:
    begun = "" if known.begun_at is None else repr(float(known.begun_at))
    return f"{known.epoch}:{known.sequence}:{int(known.is_own)}:{begun}"


def _unpack_recalled(text: str) -> Recalled:
    try:
        epoch, sequence, is_own, begun = text.split(":")
        begun_at = packing.read_number(begun, "begin") if begun else None
        return Recalled(int(epoch), int(sequence), is_own == "1", begun_at)
    except ValueError:
        raise Unreadable(f"{text[:40]!r} is no checkpoint that a member remembers") from None


def roster_metadata(roster: Roster) -> dict[str, str]:
    content = {
        "generation": roster.generation,
        "expected": list(roster.expected),
        "leaving": list(roster.leaving),
        "pins": dict(roster.pins),
        "paused": sorted(roster.paused),
        "isPaused": roster.is_paused,
        "rewinds": [
            {
                "id": rewind.id,
                "partition": rewind.partition,
                "offset": rewind.position.offset,
                "sequence": rewind.position.sequence,
                **({} if rewind.at is None else {"at": rewind.at}),
            }
            for rewind in roster.rewinds
        ],
    }
    metadata = {"roster": packing.squeeze(json.dumps(content, separators=(",", ":")))}
    size = packing.size_of(metadata)
    if size > METADATA_LIMIT:
        raise Unfit(
            f"the roster takes {size} bytes and a blob's metadata holds {METADATA_LIMIT}. "
            "Remove pins, or pause the whole group rather than its partitions."
        )
    return metadata


def read_roster(etag: str, modified_at: float, metadata: Mapping[str, str]) -> Roster:
    try:
        content: Any = json.loads(packing.unsqueeze(metadata.get("roster", "")))
        return Roster(
            etag=etag,
            generation=_typed(content.get("generation", 0), int),
            expected=tuple(_texts(content.get("expected", []))),
            leaving=tuple(_texts(content.get("leaving", []))),
            pins=_pins(content.get("pins", {})),
            paused=frozenset(_texts(content.get("paused", []))),
            is_paused=_typed(content.get("isPaused", False), bool),
            rewinds=tuple(_rewind(rewind) for rewind in content.get("rewinds", [])),
            written_at=modified_at,
        )
    except Unreadable:
        raise
    except (AttributeError, LookupError, OverflowError, *_NO_JSON) as problem:
        raise Unreadable(f"its roster is not one ({type(problem).__name__})") from None


def _rewind(content: Any) -> Rewind:
    return Rewind(
        id=_typed(content["id"], str),
        partition=_typed(content["partition"], str),
        position=Position(_typed(content["offset"], str), _typed(content["sequence"], int)),
        at=None if content.get("at") is None else float(content["at"]),
    )


def _pins(content: Any) -> dict[str, str]:
    return {key: _typed(value, str) for key, value in _typed(content, dict).items()}


def _texts(content: Any) -> list[str]:
    return [_typed(value, str) for value in _typed(content, list)]


def _typed(value: Any, kind: type) -> Any:
    if type(value) is not kind:
        raise TypeError
    return value
