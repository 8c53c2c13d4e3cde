"""The names of our own documents in a lease container: those of blobs, as ids of items.

Rules:
- Pure. A blob's name has slashes and percent signs, which no id of an item may have, or not with
  every SDK: they are `!` and `=` here, which no part of a blob's name has.
- All begin with `!tidegate!`, so that no other processor lists them: each lists what begins with
  its own prefix and the account's host. Long states stand below `!tidegate-state!`, so that the
  listing of a group, which every member reads all the time, does not carry them.
"""

from __future__ import annotations

from urllib.parse import quote

from tidegate.ledger.cosmos.dialects import OURS
from tidegate.ledger.layout import GroupNames, Place
from tidegate.ledger.packing import Unfit

STATES = "!tidegate-state!"
SOURCES = "!tidegate-source!"
# Of the service, in bytes.
ID_LIMIT = 1023


class Ids:
    """The ids of one group's documents."""

    def __init__(self, names: GroupNames) -> None:
        self.names = names
        parts = (_part(part) for part in names.prefix.rstrip("/").split("/"))
        self._group = "!".join(parts) + "!"
        self.prefix = OURS + self._group

    def of(self, place: Place) -> str:
        """The id of a document. Raises Unfit."""
        name = self.names.of(place)[len(self.names.prefix) :]
        return _fitting(self.prefix + name.replace("/", "!").replace("%", "="))

    def place(self, document_id: str) -> Place | None:
        """Which part of the ledger an id is; None for one that is not ours to know."""
        if not document_id.startswith(self.prefix):
            return None
        name = document_id[len(self.prefix) :].replace("!", "/").replace("=", "%")
        return self.names.place(self.names.prefix + name)

    @property
    def source_prefix(self) -> str:
        """What the ids of records of sources begin with."""
        return SOURCES + "!".join(_part(part) for part in (self.names.hub, self.names.group)) + "!"

    @property
    def source(self) -> str:
        """The id of the record of the source under this host."""
        return _fitting(self.source_prefix + _part(self.names.host.lower()))

    @property
    def states_prefix(self) -> str:
        """What the ids of long states begin with."""
        return STATES + self._group

    def of_state(self, place: Place, tag: str, number: int) -> str:
        """The id of a part of a state that is long: never written twice."""
        name = self.of(place)[len(self.prefix) :]
        return _fitting(f"{self.states_prefix}{name}!{tag}!{number}")


def _part(text: str) -> str:
    return quote(text, safe="").replace("~", "%7E").replace("%", "=")


def _fitting(document_id: str) -> str:
    if len(document_id.encode()) > ID_LIMIT:
        raise Unfit(f"the id {document_id:.60}… is longer than {ID_LIMIT} bytes: use shorter names")
    return document_id
