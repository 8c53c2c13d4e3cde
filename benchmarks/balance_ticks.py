"""How often a settled member looks at the ledger: how soon the dead are noticed, and its price.

Rules: requests are those that members, or the SDK's processors, really make of storage in the
simulator's world, in a group where nothing changes and every partition has events. Each is counted
in the class that it is billed in.

Prices are an assumption, to be edited: what a class costs differs by region, and changes. Those
here are the sample prices of Microsoft's page 'Estimate the cost of using Azure Blob Storage' (hot
tier, flat namespace; July 2024), and the classes those of its page 'Map each REST operation to a
price' (standard general-purpose v2; May 2025).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from balance_sdk import run_sdk
from harness import Line, make_line
from simulation import scenarios
from simulation.history import Did
from simulation.scenarios import CHANGE_AT, changed_at, figures, measure, percentile, settled
from simulation.script import Script, Trouble, What
from simulation.world import World
from tidegate.ports import Operation, WriteCheckpoint
from tidegate.settings import MemberSettings

PARTITIONS = 32
COUNTS = (4, 32)
TICKS_S = (1.0, 2.0, 3.0, 5.0, 10.0)
DEFAULT_TICK_S = MemberSettings("default").settled_tick_s
IDLE_LIMIT_S = 17.0
HOURS_A_MONTH = 730

NOT_QUICK = "wants many runs of 32 members: run without QUICK=1"


class Billed(StrEnum):
    """The classes of the price list."""

    LIST = "list and create container"
    WRITE = "write"
    READ = "read"
    OTHER = "other"
    FREE = "free"


# In US dollars for 10,000 requests.
PRICES = {
    Billed.LIST: 0.055,
    Billed.WRITE: 0.055,
    Billed.READ: 0.0044,
    Billed.OTHER: 0.0044,
    Billed.FREE: 0.0,
}

LISTINGS, RENEWALS, CHECKPOINTS, REST = "listings", "renewals", "checkpoints", "the rest"


@dataclass(frozen=True, slots=True)
class Request:
    """What a kind of request counts as in the table, and in which class it is billed."""

    kind: str
    billed: Billed


# By our operations, as ledger/blob.py carries them out. One of another name is a lease call or Set
# Blob Metadata, which are 'other' alike.
OURS = {
    "List": Request(LISTINGS, Billed.LIST),
    "Renew": Request(RENEWALS, Billed.OTHER),
    "RenewPresence": Request(RENEWALS, Billed.OTHER),
    "WriteCheckpoint": Request(CHECKPOINTS, Billed.WRITE),
    "CreateOwnership": Request(REST, Billed.WRITE),
    "WriteRoster": Request(REST, Billed.WRITE),
    "ReadCheckpoint": Request(REST, Billed.READ),
    "Leave": Request(REST, Billed.FREE),
    "Forget": Request(REST, Billed.FREE),
}
OTHERS = Request(REST, Billed.OTHER)
CHECKPOINT_WITHOUT_BODY = Request(CHECKPOINTS, Billed.OTHER)

# By the SDK's requests. It keeps an ownership by writing it again.
PEERS = {
    "List Blobs": Request(LISTINGS, Billed.LIST),
    "Set Blob Metadata of ownership": Request(RENEWALS, Billed.OTHER),
    "Set Blob Metadata of checkpoint": Request(CHECKPOINTS, Billed.OTHER),
    "Put Blob of ownership": Request(REST, Billed.WRITE),
    "Put Blob of checkpoint": Request(CHECKPOINTS, Billed.WRITE),
}


@dataclass(frozen=True, slots=True)
class Cost:
    """Requests an hour by kind, and what they cost a month, checkpoints apart."""

    an_hour: Counter[str]
    keeping: float
    checkpoints: float


def cost_of(requests: Iterable[tuple[Request, int]], seconds: float) -> Cost:
    an_hour: Counter[str] = Counter()
    dollars: Counter[bool] = Counter()
    for request, count in requests:
        hourly = count * 3600 / seconds
        an_hour[request.kind] += round(hourly)
        price = hourly * HOURS_A_MONTH * PRICES[request.billed] / 10_000
        dollars[request.kind == CHECKPOINTS] += price  # type: ignore[assignment]
    return Cost(an_hour, round(dollars[False], 2), round(dollars[True], 2))


def quiet(count: int, tick_s: float, seconds: float) -> Script:
    """So many members and nothing that happens, for so long after all is settled."""
    nothing = Trouble(CHANGE_AT, What.OPERATOR_DIES)
    made = scenarios.script(0, PARTITIONS, [*settled(0, count), nothing], settled_tick_s=tick_s)
    return replace(made, quiet_from=CHANGE_AT + seconds)


def our_cost(count: int, tick_s: float, seconds: float) -> Cost:
    world = World(quiet(count, tick_s, seconds))
    world.clock.run_until(CHANGE_AT + seconds)
    counts = Counter(
        request_of(record.operation)
        for record in world.records
        if isinstance(record, Did) and record.at >= CHANGE_AT
    )
    return cost_of(counts.items(), seconds)


def request_of(operation: Operation) -> Request:
    """What one of our operations is billed as."""
    if isinstance(operation, WriteCheckpoint) and operation.keeps_body:
        return CHECKPOINT_WITHOUT_BODY
    return OURS.get(type(operation).__name__, OTHERS)


def sdk_cost(count: int, seconds: float) -> Cost:
    run = run_sdk(quiet(count, 1.0, seconds), CHANGE_AT + seconds, CHANGE_AT)
    return cost_of(((PEERS[name], times) for name, times in run.requests.items()), seconds)


def idle_of(count: int, tick_s: float, seed: int) -> tuple[float, ...]:
    """How long each partition of a member that was killed had no reader."""
    return measure(scenarios.killed(seed, PARTITIONS, count, settled_tick_s=tick_s)).idle_s


def sdk_idle_of(count: int, seed: int) -> tuple[float, ...]:
    script = scenarios.killed(seed, PARTITIONS, count)
    return figures(run_sdk(script).records, changed_at(script)).idle_s


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the table: ours at a tick, or the SDK's."""

    who: str
    count: int
    tick_s: float | None
    idle_s: Sequence[float]
    cost: Cost

    def idle(self, share: float) -> float | None:
        return round(percentile(sorted(self.idle_s), share), 3) if self.idle_s else None

    def as_markdown(self) -> str:
        def cell(seconds: float | None) -> str:
            return "-" if seconds is None else f"{seconds:.1f} s"

        hourly = self.cost.an_hour
        cells = (
            str(self.count),
            self.who if self.tick_s is None else f"{self.tick_s:g} s",
            cell(self.idle(0.5)),
            cell(self.idle(0.95)),
            *(f"{hourly[kind]:,}" for kind in (LISTINGS, RENEWALS, CHECKPOINTS)),
            f"${self.cost.keeping:.0f}",
            f"${self.cost.checkpoints:.0f}",
        )
        return f"| {' | '.join(cells)} |"


HEADINGS = (
    "members", "settled tick", "idle p50", "p95", "listings/h", "renewals/h", "checkpoints/h",
    "a month", "checkpoints a month",
)  # fmt: skip


def as_markdown(rows: Sequence[Row]) -> str:
    """The table that docs/balancing.md shows."""
    head = [f"| {' | '.join(HEADINGS)} |", f"|{' --- |' * len(HEADINGS)}"]
    return "\n".join([*head, *(row.as_markdown() for row in rows)])


def lines_of(row: Row, peer: Row) -> Iterator[Line]:
    """The figures of one tick, beside the SDK's for as many members."""
    name = f"{row.count} members, {row.tick_s:g} s settled tick"
    is_default = row.tick_s == DEFAULT_TICK_S
    p95 = row.idle(0.95)
    yield make_line(
        f"{name}: idle after SIGKILL, p95", "s", target=IDLE_LIMIT_S if is_default else None,
        ours=p95, peer=peer.idle(0.95), reason=NOT_QUICK if p95 is None else None,
    )  # fmt: skip
    # Only the listings depend on the tick.
    for kind in (LISTINGS, RENEWALS, CHECKPOINTS) if is_default else (LISTINGS,):
        yield make_line(
            f"{name}: {kind}", "an hour", ours=row.cost.an_hour[kind], peer=peer.cost.an_hour[kind]
        )
    yield make_line(
        f"{name}: price without checkpoints", "$/month",
        ours=row.cost.keeping, peer=peer.cost.keeping,
    )  # fmt: skip
    if is_default:
        yield make_line(
            f"{name}: price of checkpoints", "$/month",
            ours=row.cost.checkpoints, peer=peer.cost.checkpoints,
        )  # fmt: skip
