"""A position that its source knows no more: what the resource says of it, and to whom."""

from __future__ import annotations

from tidegate.ports import of_lost_position
from tidegate_operator.model import Ends, Steps
from tidegate_operator.plugin.explaining import explain, page
from tidegate_operator.scaling import Policy
from unit.operator.looked_at import Looks
from unit.operator.observed import NOW, group, presence

SAID = "range 0-ff of shop/orders: the service does not know the stored position any more"


def test_it_is_told_where_its_owner_meets_it_until_something_else_is_wrong() -> None:
    seen = group(2, 4)
    own = frozenset(p for p, owner in seen.owners.items() if owner == "m0")
    seen.members["m0"] = presence("m0", unread=own, trouble=of_lost_position(SAID))
    looks = Looks(seen).look().look(after_s=1.0)
    assert looks.says("StateBehind") == ("True", "PositionLost")
    assert looks.says("Ready") == ("False", "PositionLost")
    for type in ("StateBehind", "Ready"):
        text = looks.condition(type).message
        assert SAID in text and "rewind" in text and "PositionLost" not in text
    assert looks.told["state"] == "PositionLost"
    seen.members["m0"] = presence("m0", unread=own, trouble="the service failed (503/0)")
    looks.look(after_s=1.0)
    assert looks.says("StateBehind")[0] == "False"
    assert looks.says("Ready") == ("False", "PartitionsNotRead")


def test_of_a_group_without_pods_it_is_told_by_the_operators_own_question() -> None:
    looks = Looks(group(0)).look(steps=Steps(wanted=0))
    looks.ends = Ends({"0-ff": None}, lost={"0-ff": SAID})
    looks.look(after_s=1.0, steps=Steps(wanted=0))
    assert looks.says("StateBehind") == ("True", "PositionLost")
    assert SAID in looks.condition("StateBehind").message
    assert looks.told["state"] == "PositionLost"
    assert looks.events == [("Warning", "PositionLost")]
    looks.ends = Ends({"0-ff": None})
    assert looks.look(after_s=1.0, steps=Steps(wanted=0)).says("StateBehind")[0] == "False"


def test_explain_says_it_too() -> None:
    looks = Looks(group(0)).look(steps=Steps(wanted=0))
    document = {"metadata": {"name": "orders"}, "spec": {}, "status": looks.told}
    assert not explain(document, Policy(), NOW).troubles
    looks.ends = Ends({"0-ff": None}, lost={"0-ff": SAID})
    looks.look(after_s=1.0, steps=Steps(wanted=0))
    shown = page(explain(document | {"status": looks.told}, Policy(), NOW))
    told = [line for line in shown if line.startswith("StateBehind (PositionLost): ")]
    assert len(told) == 1 and SAID in told[0]
