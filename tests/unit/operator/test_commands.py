"""Commands that messages name: whole, and as kubectl takes them."""

from __future__ import annotations

import re
import shlex

import pytest

from tidegate_operator.commands import KUBECTL, SELECTOR_LABEL
from tidegate_operator.engines.inputs import GROUP_LABEL
from tidegate_operator.model import GroupKey
from tidegate_operator.plugin.cli import parser
from unit.operator.looked_at import Looks
from unit.operator.observed import group, presence

HOME = GroupKey("homes", "home")


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["m0"], "`kubectl logs -n homes m0`"),
        (["m0", "m1"], "`kubectl logs -n homes -l tidegate.dev/group=home --prefix`"),
        ([], "`kubectl logs -n homes -l tidegate.dev/group=home --prefix`"),
    ],
)
def test_logs_are_of_one_pod_or_by_the_label_of_the_group(names: list[str], said: str) -> None:
    assert KUBECTL.logs(HOME, names) == said
    assert SELECTOR_LABEL == GROUP_LABEL


def test_the_log_of_the_container_before_is_of_one_pod() -> None:
    assert KUBECTL.logs(HOME, ["m0"], previous=True) == "`kubectl logs -n homes m0 --previous`"


@pytest.mark.parametrize("partition", ["3", "-1fff", "1fff-ff"])
def test_a_pause_and_its_end_are_what_the_plugin_takes_of_any_partition(partition: str) -> None:
    """The first range of a Cosmos DB container has a name that begins with a dash."""
    said = KUBECTL.restart(HOME, [partition]).strip("`").split(" && ")
    for command, line in zip(("pause", "resume"), said, strict=True):
        words = shlex.split(line)
        assert words[:3] == ["kubectl", "consumergroup", command]
        asked = parser().parse_args(words[2:])
        assert (asked.name, asked.namespace) == ("home", "homes")
        assert asked.partition == [partition]


@pytest.mark.parametrize("stuck", [("m0",), ("m0", "m1")])
def test_a_message_of_several_members_names_a_command_that_kubectl_takes(
    stuck: tuple[str, ...],
) -> None:
    seen = group(2, 4)
    for partition, name in enumerate(stuck):
        seen.members[name] = presence(name, stuck=frozenset({str(partition)}))
    message = Looks(seen).look().condition("Stuck").message
    (line,) = re.findall(r"`(kubectl logs [^`]*)`", message)
    words = line.split()
    assert words[:4] == ["kubectl", "logs", "-n", "default"]
    # kubectl would take a second name for that of a container.
    assert words[4:] == ["m0"] if len(stuck) == 1 else words[4] == "-l"
    assert all(name in message for name in stuck)
