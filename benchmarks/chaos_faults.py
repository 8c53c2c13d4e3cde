"""The faults that a group must stand, what is promised for each, and where that is proven.

Rules: pure. A fault of tests/cluster/test_chaos_*.py has the key under which its figures are kept;
one that those tests do not inject says why, and by what it is proven instead.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fault:
    """One line of the page."""

    family: str
    what: str
    promised: str
    key: str = ""
    # Files of tests that prove it without a cluster, or in another suite of the cluster.
    elsewhere: tuple[str, ...] = ()
    why_not: str = ""


LEASE = "15 s"
_UNMOVED = "nothing moves, nothing comes again"
_EVERY, _GROUP = "tests/contract/exactness/test_every_fault.py", "tests/contract/group"
_SIMULATION = "tests/simulation/test_seeds.py"
_HANDS = ("tests/unit/member/test_checkpoint_writes.py", _SIMULATION)
_MOVES = "tests/cluster/test_operator_moves.py"
_OPERATORS = "tests/simulation/test_operator_worlds.py"

FAULTS = (
    Fault(
        "Pods", "a consumer is killed (SIGKILL)",
        "it is back in its place in its own start time; nobody else moves",
        "sigkill", (_MOVES, f"{_GROUP}/test_restarts.py"),
    ),
    Fault(
        "Pods", "a pod is to end while its handler is slow (SIGTERM)",
        "the call that runs is finished; nothing comes again",
        "sigterm-slow-handler", ("tests/contract/handlers/test_running.py",),
    ),
    Fault(
        "Pods", "a consumer is paused for one lease (SIGSTOP)",
        "idle for a lease and a look at most; it comes back without harm",
        "sigstop-1", (_SIMULATION,),
    ),
    Fault(
        "Pods", "… for three leases", "the same", "sigstop-3", (f"{_GROUP}/test_restarts.py",)
    ),
    Fault(
        "Pods", "… for five leases, beyond the patience of its probe", "the same",
        "sigstop-5", (_SIMULATION,),
    ),
    Fault(
        "Pods", "a handler takes all memory (OOM)",
        "as killed: back in its place, nobody else moves", "oom",
    ),
    Fault("Pods", "no processor time: eight others want its one core", _UNMOVED, "cpu-starvation"),
    Fault(
        "Pods", "its node is drained",
        "handed over within 2 s (p95), again where the next one goes too; nothing comes again",
        "drain", (_MOVES,),
    ),
    Fault(
        "Pods", "a rollout", "each partition moves once; nothing comes again",
        "rollout", (_MOVES,),
    ),
    Fault(
        "Pods", "clocks up to 5 minutes off, and up to a tenth too fast or slow; one is killed",
        "safety is epoch and ETag; clocks cost duplicates at most", "clock-skew",
        ("tests/simulation/test_draw.py", _SIMULATION),
    ),
    Fault(
        "Storage", "lease calls refused (409)",
        "a tenure that is refused ends; idle for a lease and a look at most",
        "storage-409", (_EVERY,),
    ),
    Fault("Storage", "checkpoints refused (412)", _UNMOVED, "storage-412", (_EVERY,)),
    Fault("Storage", "too busy (429), for 6 s", _UNMOVED, "storage-429", (_EVERY,)),
    Fault("Storage", "failing (500), for 6 s", _UNMOVED, "storage-500", (_EVERY,)),
    Fault("Storage", "slow: 200 ms a request", _UNMOVED, "storage-slow", (_EVERY,)),
    Fault(
        "Storage", "replies to checkpoints get lost", _UNMOVED, "storage-replies-lost", (_EVERY,)
    ),
    Fault(
        "Storage", "replies to lease calls get lost", _UNMOVED, "storage-lease-replies-lost",
        (f"{_GROUP}/test_storage_faults.py",),
    ),
    Fault(
        "Storage", "it stands still for 8 s", _UNMOVED, "storage-stalls",
        (f"{_GROUP}/test_storage_faults.py",),
    ),
    Fault(
        "Storage", "a lease is broken by hand", "taken again by the next look", "lease-broken",
        ("tests/contract/ledger/test_leases.py", _SIMULATION),
    ),
    Fault(
        "Storage", "a checkpoint is deleted",
        "written again from memory, and told; " + _UNMOVED, "checkpoint-deleted", _HANDS,
    ),
    Fault(
        "Storage", "a checkpoint is set back",
        "written again from memory, and told; " + _UNMOVED, "checkpoint-set-back", _HANDS,
    ),
    Fault(
        "Network", "storage alone cannot be reached, for half a lease", _UNMOVED, "storage-away",
        (_EVERY,),
    ),
    Fault(
        "Network", "storage alone cannot be reached, for 25 s",
        "reading stops before the leases end; nobody steals; on when it is back",
        "storage-away-long", (f"{_GROUP}/test_storage_faults.py",),
    ),
    Fault(
        "Network", "links are detached", _UNMOVED, "link-detach", (f"{_GROUP}/test_hub_faults.py",)
    ),
    Fault(
        "Network", "the hub alone cannot be reached, for 20 s",
        "nothing moves; on within 12 s when it is back", "hub-away", (_EVERY,),
    ),
    Fault(
        "Network", "connections to the hub fall silent and stay open",
        "given up after their idle time, 60 s without a word", "hub-silent",
        ("tests/contract/source/test_faults.py",),
    ),
    Fault(
        "Network", "tokens are refused, for 20 s",
        "nothing moves; on within 12 s when they are taken again", "token-refused", (_EVERY,),
    ),
    Fault(
        "Network", "the Secret is made wrong, and right again",
        "told in `Ready`; what reads reads on", "secret-wrong",
        ("tests/cluster/test_operator_bad_input.py",),
    ),
    Fault(
        "Control plane", "the operator's watches fall silent",
        "what they do not tell is read without them, within a minute",
        elsewhere=("tests/unit/operator/test_watching.py", _OPERATORS),
        why_not="on the cluster the API server is killed instead, and watches end with it",
    ),
    Fault(
        "Control plane", "the ConsumerGroup is edited in mid-hand-over",
        "the newest wish is followed; nothing comes again", "edited-in-mid-hand-over",
        (_OPERATORS,),
    ),
    Fault(
        "Control plane", "the operator is killed in mid-plan",
        "it goes on with it; nothing comes again", "operator-killed-in-mid-plan",
        ("tests/cluster/test_operator_scaling.py",),
    ),
    Fault(
        "Control plane", "the API server is killed",
        "reading goes on as if it were there; " + _UNMOVED,
        elsewhere=("tests/cluster/test_operator_faults.py",),
        why_not="`make test-cluster-faults` does it, as it does a node without a kubelet",
    ),
    Fault(
        "Data", "retention takes what was handled", _UNMOVED, "retention-behind", (_EVERY,)
    ),
    Fault(
        "Data", "retention takes what nobody has handled",
        "told with its numbers (`RetentionLoss`), and nothing else is passed over",
        "retention-ahead", ("tests/contract/handlers/test_figures.py",),
    ),
    Fault(
        "Data", "a Cosmos range is split", "nothing lost, in order, nothing twice",
        elsewhere=("tests/cluster/test_cosmos.py", "tests/contract/group_cosmos/test_ranges.py"),
        why_not="`make test-cluster-scaling` does it, under write",
    ),
    Fault(
        "Data", "an event that cannot be handled",
        "it is put aside where that was asked for, and the partition goes on", "poison",
        ("tests/contract/handlers/test_running.py", "tests/cluster/test_plugin_in_pods.py"),
    ),
    Fault(
        "Data", "a hot partition: 20,000 events at once", "no other partition waits",
        "hot-partition", ("tests/contract/handlers/test_loads.py",),
    ),
)  # fmt: skip
