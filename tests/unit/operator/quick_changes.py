"""What may go on in a group of two members while it is looked at: written as its members would.

Four partitions; home-a owns 0 and 2, home-b 1 and 3.
"""

from __future__ import annotations

from dataclasses import replace

from tidegate.ledger.layout import Kind, Place
from tidegate.model import Figures, LeaseState, Owner, Presence
from unit.operator.small_storage import SmallStorage

A, B = Owner("home-a", "life-1"), Owner("home-b", "life-1")


def member(owner: Owner, *partitions: str, handled: int = 5) -> Presence:
    """A member that lives and says how far it is with all that it owns."""
    figures = {each: Figures(end=9, handled=handled) for each in partitions}
    return Presence(owner.name, "", LeaseState.LEASED, owner.incarnation, figures=figures)


# --- what members tell of


def _moved(storage: SmallStorage) -> None:
    storage.own("2", B)
    storage.join(member(A, "0"))
    storage.join(member(B, "1", "2", "3"))


def _moving(storage: SmallStorage) -> None:
    """The taker has asked for it, and neither has said anything else yet."""
    storage.own("2", B)
    storage.join(replace(member(B, "1", "3"), wants={"2": "5b1f7d0e-55a3-4b8e-9a3b-0c6f7c9e8d21"}))


def _leaving(storage: SmallStorage) -> None:
    storage.own("2", B)
    storage.join(replace(member(A, "0", "2"), is_leaving=True))


def _died(storage: SmallStorage) -> None:
    storage.own("0", A, "expired")
    storage.own("2", A, "expired")
    storage.join(member(A, "0", "2"), "expired")


def _left(storage: SmallStorage) -> None:
    storage.own("0", None, "available")
    storage.own("2", None, "available")
    storage.delete(Place(Kind.MEMBER, A.name))


def _came(storage: SmallStorage) -> None:
    storage.join(member(Owner("home-c", "life-1")))


def _began_anew(storage: SmallStorage) -> None:
    """In its place: under its name, with the partitions that it had before."""
    again = Owner(A.name, "life-2")
    storage.own("0", again)
    storage.own("2", again)
    storage.join(member(again, "0", "2"))


def _lost_one(storage: SmallStorage) -> None:
    storage.own("2", A, "broken")
    storage.join(member(A, "0"))


def _grew(storage: SmallStorage) -> None:
    """The source has a partition more."""
    storage.own("4", A)
    storage.join(member(A, "0", "2", "4"))


CHANGES = (_moved, _moving, _leaving, _died, _left, _came, _began_anew, _lost_one, _grew)


# --- what they do not tell of, or not of all


def _unread(storage: SmallStorage) -> None:
    storage.own("2", None, "available")
    storage.join(member(A, "0"))


def _said_in_part(storage: SmallStorage) -> None:
    """As of a member whose figures do not all fit."""
    storage.join(member(A, "0"))


def _let_go(storage: SmallStorage) -> None:
    """Its lease has ended, and its owner does not know yet."""
    storage.own("2", A, "expired")


def _owned_by_nobody_there(storage: SmallStorage) -> None:
    storage.delete(Place(Kind.MEMBER, A.name))


def _not_begun(storage: SmallStorage) -> None:
    for owner, partitions in ((A, "02"), (B, "13")):
        storage.delete(Place(Kind.MEMBER, owner.name))
        for partition in partitions:
            storage.delete(Place(Kind.OWNERSHIP, partition))


def _another_processor(storage: SmallStorage) -> None:
    storage.put(Place(Kind.OWNERSHIP, "2"), {"ownerid": "theirs"}, "available")
    storage.join(member(A, "0"))


UNSURE = (
    _unread, _said_in_part, _let_go, _owned_by_nobody_there, _not_begun, _another_processor
)  # fmt: skip
