"""What members report to people, by kind: in their logs, and counted by `tidegate_reports_total`.

Rules: this is the one list. `docs/metrics.md` repeats it, and a test compares it with what the code
reports. A kind never changes its meaning: alerts are made of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tidegate.ops.board import FELL_BACK
from tidegate.ops.failing import CIRCUIT_CLOSED, CIRCUIT_OPEN, HALTED

_BY_ITSELF = "nothing: it is tried again"

# Of each kind, what it means, and what to do.
REPORTS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "taken": ("an owner did not give a partition in time, and it was taken",
                  "see why that one did not answer: its log, its CPU"),
        "stopping": ("the process ends, and why", "nothing"),
        "lapsed": ("a lease ended while its owner could not renew it; nothing is checkpointed "
                   "without it", "look at the way to storage, and at the CPU of the pod"),
        "fenced": ("somebody newer owns the partition: this one stops reading it",
                   "nothing, where it is rare"),
        "name-taken": ("two processes have one name; the later one owns nothing",
                       "give each a name of its own"),
        "not-present": ("the member cannot take part, in storage's words", "mend what they say"),
        "ledger-unreachable": ("storage does not answer; leases that end meanwhile are left to "
                               "their owners", "look at the network and the account"),
        "ledger-unreadable": ("storage refuses to list the ledger",
                              "mend the key, the role or the container that it names"),
        "ledger-readable": ("it answers again", "nothing"),
        "unreadable": ("a blob or document of the ledger is not one of ours, or spoilt",
                       "mend it, or delete it: [ledger](ledger.md)"),
        "checkpoint-restored": ("a checkpoint was deleted or written by somebody else, and is "
                                "written again", "move checkpoints by a rewind"),
        "ledger-emptied": ("blobs of the ledger are gone while members run; the members write them "
                           "again from memory", "find out who deleted them"),
        "rewound": ("a rewind was carried out", "nothing"),
        "halted": ("a partition is not read: its state is behind its checkpoint",
                   "rewind it, or clear the state, as the text says"),
        HALTED: ("a partition stands still after `delivery.attempts`, as `onFailure: halt` asks",
                 "mend the handler, or rewind past these events"),
        CIRCUIT_OPEN: ("too many recent events of a partition fail: nothing more is put aside, and "
                       "the partition stops, as `delivery.circuitBreaker` asks",
                       "fix the handler and roll it out: the partition continues"),
        CIRCUIT_CLOSED: ("the handler succeeded again, and the partition continues", "nothing"),
        "stuck": ("the same batch fails again and again", "mend what its error names"),
        "unstuck": ("it goes on", "nothing"),
        "dead-letter": ("an event was put aside, and where it is",
                        "see it: [deadletters](delivery.md#dead-letters)"),
        "dead-letter-failed": ("it could not be put aside, in storage's words", _BY_ITSELF),
        "events-lost": ("retention has passed events that nobody has handled",
                        "keep events longer, or give the group more consumers"),
        "on-close-failed": ("`on_close` of the handler failed", "mend it"),
        "on-error-failed": ("`on_error` of the handler failed", "mend it"),
        "on-stop-failed": ("`on_stop` of the handler failed or did not come back", "mend it"),
        "on-time-failed": ("`on_time` of the handler failed", "mend it"),
        "reader-failed": ("the source refuses a reader, with its error: reported once, and again "
                          "when the cause changes",
                          "fix the cause that it names; it is retried within 30 s"),
        "reads-again": ("a partition is read again after failures", "nothing"),
        "start-unknown": ("the source cannot say where a partition starts, or another reader has "
                          "a partition of which this ledger has no checkpoint",
                          "nothing; in the other case, stop that reader, or give it a consumer "
                          "group"),
        "end-unknown": ("the source cannot say where a partition ends: its lag is not known",
                        _BY_ITSELF),
        "source-unreadable": ("the source cannot say which partitions there are", _BY_ITSELF),
        "source-readable": ("the partitions are known again", "nothing"),
        FELL_BACK: ("the official SDK reads: the service said what our own receiver does not "
                    "understand, or drops its connections", "tell us what it says"),
        "range-kept": ("a range of a container was split or merged, and its state cannot follow",
                       "do what it says; the range waits"),
        "range-split": ("a range goes on as several", "nothing"),
        "range-merged": ("ranges go on as one", "nothing"),
        "scratch-unusable": ("the file that lets a restart go on at once cannot be written",
                             "make room, or name another `--scratch`"),
        "scratch-written": ("it is written again", "nothing"),
    }
)  # fmt: skip


def as_markdown() -> str:
    """The table that `docs/metrics.md` shows."""
    rows = [f"| `{kind}` | {meaning} | {remedy} |" for kind, (meaning, remedy) in REPORTS.items()]
    return "\n".join(["| kind | it means | what to do |", "| --- | --- | --- |", *rows])
