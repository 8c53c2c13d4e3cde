"""What rules of the API server are made of: CEL, and bounds that stand in more than one section.

Rules: pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Schema = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Rule:
    """A CEL rule, and what is said where it does not hold.

    CEL has words of its own: the field `namespace` is `__namespace__` in a rule.
    """

    rule: str
    message: str
    # Whether it refuses a change and not a value.
    is_of_change: bool = False
    # The same in CEL, where it can name what is wrong.
    telling: str = ""

    @property
    def document(self) -> dict[str, str]:
        found = {"rule": self.rule, "message": self.message}
        if self.telling:
            found["messageExpression"] = self.telling
        if self.is_of_change:
            found["reason"] = "FieldValueForbidden"
        return found


def stays(message: str) -> Rule:
    return Rule("self == oldSelf", message, is_of_change=True)


def bounded_text(most: int, *rules: Rule, pattern: str = "") -> Schema:
    found: dict[str, Any] = {"minLength": 1, "maxLength": most}
    if pattern:
        found["pattern"] = pattern
    if rules:
        found["x-kubernetes-validations"] = [rule.document for rule in rules]
    return found


WHOLE_ABOVE_0: Schema = {"minimum": 1}
ABOVE_0: Schema = {"minimum": 0, "exclusiveMinimum": True}
CONTAINER = Rule(
    r"self.matches('^[a-z0-9](-?[a-z0-9]){2,62}$')",
    "write 3 to 63 lower-case letters, digits and single dashes",
)
ANOTHER_GROUP = (
    "cannot be changed: positions mean nothing there. Make another ConsumerGroup, or delete this "
    "one and make it again"
)
