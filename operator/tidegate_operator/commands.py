"""Commands that messages name, so that people can type them exactly as they are printed. Pure.

Rules: a message has a command between backticks, whole, with all that it needs: the namespace, the
names, the values. The operator in a cluster names those of `kubectl`; `tidegate up` gives its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from tidegate_operator.model import GroupKey

# The label by which a group's pods are found.
SELECTOR_LABEL: Final = "tidegate.dev/group"
# More partitions than these would make a command too long to read.
_FEW: Final = 8


class Commands(Protocol):
    """One place where groups run."""

    def logs(self, group: GroupKey, pods: Sequence[str], *, previous: bool = False) -> str:
        """The log of a pod, or of all that the group has."""

    def describe(self, group: GroupKey, kind: str, name: str) -> str:
        """What is known of an object of the group."""

    def rewind(self, group: GroupKey) -> str:
        """A rewind of the whole group to the first event that is left."""

    def restart(self, group: GroupKey, partitions: Sequence[str]) -> str:
        """A pause of the partitions, and their resumption."""


class Kubectl:
    """`kubectl` and its plugin."""

    def logs(self, group: GroupKey, pods: Sequence[str], *, previous: bool = False) -> str:
        if len(pods) != 1:
            # kubectl takes one name, or a selector.
            return f"`kubectl logs -n {group.namespace} -l {SELECTOR_LABEL}={group.name} --prefix`"
        which = f"{pods[0]} --previous" if previous else pods[0]
        return f"`kubectl logs -n {group.namespace} {which}`"

    def describe(self, group: GroupKey, kind: str, name: str) -> str:
        return f"`kubectl describe {kind} -n {group.namespace} {name}`"

    def rewind(self, group: GroupKey) -> str:
        return f"`kubectl consumergroup rewind {group.name} -n {group.namespace} --to earliest`"

    def restart(self, group: GroupKey, partitions: Sequence[str]) -> str:
        which = f"{group.name} -n {group.namespace}{chosen(partitions)}"
        return f"`kubectl consumergroup pause {which} && kubectl consumergroup resume {which}`"


def chosen(partitions: Sequence[str]) -> str:
    """The options that name the partitions; none if they are many, which stands for all."""
    few = partitions if len(partitions) <= _FEW else ()
    # That of a feed range may begin with a dash, which would be an option by itself.
    return "".join(f" --partition={each}" for each in few)


KUBECTL: Final = Kubectl()
