"""A group whose lease container has what others wrote: it says so, and writes nothing over it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

import tidegate
from support.container_group import DATABASE, ContainerGroup
from support.foreign_leases import documents, write_leases
from support.wait import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

NewGroup = Callable[..., ContainerGroup]
_LEDGER = """\
  ledger:
    cosmos:
      database: home
      container: {leases}
      connectionString: {{env: COSMOS}}
      dialect: javaEpk
      prefix: {prefix}
"""


def on_leases(group: ContainerGroup, *, prefix: str) -> Path:
    """Its file, with the ledger in a lease container of its own."""
    ledger = _LEDGER.format(leases=leases_of(group), prefix=prefix).splitlines()
    lines = group.file.read_text().splitlines()
    (place,) = [at for at, line in enumerate(lines) if line.startswith("  ledger:")]
    file = group.folder / "leased.yaml"
    file.write_text("\n".join([*lines[:place], *ledger, *lines[place + 1 :]]) + "\n")
    group.cosmos.add_container(DATABASE, leases_of(group), "/id")
    return file


def leases_of(group: ContainerGroup) -> str:
    return f"{group.name}-leases"


def lay(group: ContainerGroup, *, dialect: str, prefix: str) -> dict[str, dict[str, object]]:
    """Leases of a processor of Microsoft's; all that then stands in the container."""
    asyncio.run(
        write_leases(
            group.cosmos, DATABASE, group.name, leases_of(group), dialect=dialect, prefix=prefix
        )
    )
    return documents(group.cosmos, DATABASE, leases_of(group))


def test_leases_of_the_same_name_in_another_dialect_stop_a_member_and_stay_as_they_are(
    new_group: NewGroup,
) -> None:
    group = new_group(ranges=1)
    file = on_leases(group, prefix="shop")
    before = lay(group, dialect="netEpk", prefix="shop")
    group.write(5)
    group.start("a", file=file)
    said = "are in the dialect netEpk, and the group is to share leases in javaEpk"
    wait_until(lambda: said in group.output("a"), 90, "the refusal to be said", group.outputs)
    assert "Nothing was overwritten" in group.output("a")
    group.stop("a")
    assert documents(group.cosmos, DATABASE, leases_of(group)) == before
    assert not group.seen(), "nothing was read either"


def test_asking_how_far_a_group_is_changes_nothing_of_the_leases_that_it_shares(
    new_group: NewGroup,
) -> None:
    group = new_group(ranges=1)
    file = on_leases(group, prefix="shop")
    before = lay(group, dialect="javaEpk", prefix="shop")
    found = asyncio.run(tidegate.estimate(file, group.environment))
    assert found.total.partitions == 1
    assert documents(group.cosmos, DATABASE, leases_of(group)) == before


@pytest.mark.parametrize("dialect", ["javaEpk", "netEpk"])
def test_leases_of_another_processor_of_the_same_container_stay_as_they_are_beside_ours(
    new_group: NewGroup, dialect: str
) -> None:
    group = new_group(ranges=1)
    file = on_leases(group, prefix="ours-")
    before = lay(group, dialect=dialect, prefix="theirs-")
    group.write(5)
    group.start("a", file=file)
    group.wait_until_all_seen(90)
    group.stop("a")
    assert group.repeats() == 0, "their positions are not ours"
    after = documents(group.cosmos, DATABASE, leases_of(group))
    assert {id: after.get(id) for id in before} == before
    assert len(after) > len(before), "ours stand beside them"
