"""On paper: what so many groups ask of a storage account, a namespace and a core. Pure.

    load = Load(groups=1_000, partitions=10, members=2, events_per_s=1_000)
    for use in uses(load): print(use.what, use.share)
    binding(load).what       # which quota is reached first
    most_groups(load)        # how many such groups it lets in

Rules: what members ask follows from the settings that are the product's defaults, taken from it; a
simulation counts the same (load_worlds.py). What a look costs is measured (load.py), and passed in.
Quotas are Microsoft's published ones, each with its page; those that a subscription can have raised
are the defaults. One account holds all ledgers and one namespace all hubs, which is the worst case.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tidegate.settings import MemberSettings

_LEARN = "https://learn.microsoft.com/azure/"
ACCOUNT_PAGE = f"{_LEARN}storage/common/scalability-targets-standard-account"
BLOB_PAGE = f"{_LEARN}storage/blobs/scalability-targets"
HUB_PAGE = f"{_LEARN}event-hubs/event-hubs-quotas"
UNITS_PAGE = f"{_LEARN}event-hubs/event-hubs-scalability"

DEFAULTS = MemberSettings("any")
LISTING_PAGE = 5_000  # blobs in one answer of List Blobs
OPERATOR_LOOKS_S = 5.0
# Requests for one hand-over: two checkpoints, the change of the lease and its renewal, the epoch,
# the touch, and what the receiver announces. load_worlds.py counts them.
HAND_OVER = 7
MB = 1_000_000


@dataclass(frozen=True, slots=True)
class Quota:
    """What is published, as of the reading of its page in November 2026."""

    what: str
    allows: float
    page: str


# General-purpose v2, in any region: larger ones have more.
REQUESTS = Quota("requests a second of a storage account", 20_000, ACCOUNT_PAGE)
ONE_BLOB = Quota("requests a second of one blob", 500, BLOB_PAGE)
EGRESS = Quota("MB a second out of a storage account", 50_000 / 8, ACCOUNT_PAGE)


@dataclass(frozen=True, slots=True)
class Tier:
    """One namespace, or cluster, of Event Hubs at its largest without a request to support."""

    name: str
    partitions_of_hub: int
    partitions: int  # of all its hubs
    groups_of_hub: int
    connections: int
    hubs: int
    # What throughput units let in and out; None where a tier publishes none.
    events_in: float | None = None
    events_out: float | None = None
    mb_in: float | None = None
    mb_out: float | None = None


_UNITS = 40  # the most of a standard namespace
TIERS = (
    Tier("standard", 32, 10 * 32, 20, 5_000, 10, _UNITS * 1_000.0, _UNITS * 4_096.0,
         _UNITS * 1.0, _UNITS * 2.0),
    Tier("premium", 100, 16 * 200, 100, 16 * 10_000, 16 * 100),
    Tier("dedicated", 1_024, 10 * 2_000, 1_000, 10 * 100_000, 10 * 50 * 1_000),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Look:
    """What a look at a ledger costs: measured."""

    bytes_of_blob: float
    cpu_us: float  # of each look
    cpu_us_of_blob: float


@dataclass(frozen=True, slots=True)
class Load:
    """So many groups, all alike and all busy; each reads a hub of its own."""

    groups: int
    partitions: int  # of each group
    members: int  # of each group
    events_per_s: float = 1_000.0  # of each group
    event_bytes: int = 200
    # Groups that read the same hub, so that what comes in is sent out so many times.
    sharing: int = 1

    @property
    def blobs(self) -> int:
        """Of one ledger: ownerships, checkpoints, members and the roster."""
        return 2 * self.partitions + self.members + 1

    @property
    def pages(self) -> int:
        return -(-self.blobs // LISTING_PAGE)


@dataclass(frozen=True, slots=True)
class Use:
    """What a load takes of a quota."""

    quota: Quota
    takes: float

    @property
    def share(self) -> float:
        return self.takes / self.quota.allows


def requests_a_second(load: Load, *, moved: float = 0.0) -> dict[str, float]:
    """What all groups ask of storage, by kind, where so large a share of the partitions of all of
    them is handed over within one second."""
    tick = DEFAULTS.fast_tick_s if moved else DEFAULTS.settled_tick_s
    members, partitions = load.groups * load.members, load.groups * load.partitions
    return {
        "listings of members": members * load.pages / tick,
        "listings of the operator": load.groups * load.pages / OPERATOR_LOOKS_S,
        "renewals": (members + partitions) / DEFAULTS.renew_every_s,
        "checkpoints": partitions / DEFAULTS.checkpoint_every_s,
        "figures": members / DEFAULTS.figures_every_s,
        "hand-overs": partitions * moved * HAND_OVER,
    }


def fewest_moves(partitions: int, before: int, after: int) -> int:
    """How many partitions a group that grows must hand over, where shares are as even as they can
    be: those who were there keep the larger ones."""
    share, larger = divmod(partitions, after)
    return partitions - before * share - min(larger, before)


def of_storage(load: Load, look: Look, *, moved: float = 0.0) -> tuple[Use, ...]:
    asked = requests_a_second(load, moved=moved)
    listings = asked["listings of members"] + asked["listings of the operator"]
    sent = listings / load.pages * load.blobs * look.bytes_of_blob / MB
    # No blob has two writers but while it is handed over: a checkpoint, once in its time.
    one = HAND_OVER if moved else 1 / DEFAULTS.checkpoint_every_s
    return (Use(REQUESTS, sum(asked.values())), Use(EGRESS, sent), Use(ONE_BLOB, one))


def of_hubs(load: Load, tier: Tier) -> tuple[Use, ...]:
    """What the hubs take of one namespace; one hub serves as many groups as share it."""
    hubs = load.groups / load.sharing
    came = hubs * load.events_per_s
    sent = load.groups * load.events_per_s
    size = load.event_bytes / MB
    wanted = (
        (f"partitions of a hub, {tier.name}", load.partitions, tier.partitions_of_hub),
        (f"partitions of all hubs, {tier.name}", hubs * load.partitions, tier.partitions),
        (f"hubs of a namespace, {tier.name}", hubs, tier.hubs),
        (f"consumer groups of a hub, {tier.name}", load.sharing, tier.groups_of_hub),
        (f"connections, {tier.name}", load.groups * load.members, tier.connections),
        (f"events a second in, {tier.name}", came, tier.events_in),
        (f"events a second out, {tier.name}", sent, tier.events_out),
        (f"MB a second in, {tier.name}", came * size, tier.mb_in),
        (f"MB a second out, {tier.name}", sent * size, tier.mb_out),
    )
    page = {True: UNITS_PAGE, False: HUB_PAGE}
    return tuple(
        Use(Quota(what, allows, page["second" in what]), takes)
        for what, takes, allows in wanted
        if allows is not None
    )


def of_member(load: Load, look: Look) -> Use:
    """What looking takes of a member's core while its group is settled."""
    us = look.cpu_us + load.blobs * look.cpu_us_of_blob
    return Use(Quota("a member's core, for looking", 1.0, ""), us / 1e6 / DEFAULTS.settled_tick_s)


def uses(load: Load, look: Look, tier: Tier) -> tuple[Use, ...]:
    """All of it, the tightest first."""
    found = (*of_storage(load, look), *of_hubs(load, tier), of_member(load, look))
    return tuple(sorted(found, key=lambda use: -use.share))


def binding(load: Load, look: Look, tier: Tier) -> Use:
    """The quota that is reached first when there are more such groups."""
    grown, now = uses(replace(load, groups=load.groups * 2), look, tier), uses(load, look, tier)
    before = {use.quota.what: use.takes for use in now}
    return next(use for use in grown if use.takes > before[use.quota.what])


def most_groups(load: Load, look: Look, tier: Tier) -> int:
    """How many such groups one account and one namespace take."""
    one = replace(load, groups=load.sharing)
    shares = {use.quota.what: use.share for use in uses(one, look, tier)}
    first = binding(one, look, tier).quota.what
    return int(load.sharing / shares[first])
