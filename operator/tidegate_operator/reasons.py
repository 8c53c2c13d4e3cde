"""Every reason that a condition of a group can have, for its page: what it means, what to do.

Rules: pure. The message of a condition says the same with the names in it. A test holds this list
and what the code says to each other.
"""

from __future__ import annotations

from collections.abc import Mapping

from tidegate_operator import conditions as kinds
from tidegate_operator import size_conditions as sizes
from tidegate_operator.readiness import READY
from tidegate_operator.ready_reasons import (
    NO,
    NOT_READ,
    PAUSED,
    POSITION_LOST,
    READY_REASONS,
    UNKNOWN,
    YES,
    Reason,
)

# What each condition says where it is True.
MEANINGS: Mapping[str, str] = {
    READY: "What was asked for runs: the pods that are wanted have joined, and every partition has "
    "an owner. `kubectl wait --for=condition=Ready cg/NAME` waits for it.",
    kinds.BALANCED: "Everybody owns what is due, and nothing moves.",
    sizes.SCALING: "The number of pods is changing, or they are being replaced.",
    sizes.BOUND: "More pods would not help: there are not enough partitions.",
    kinds.STUCK: "A handler fails again and again, or does not come back.",
    kinds.LOSS: "Events went before they were handled.",
    kinds.BEHIND: "A partition stands still, because what is stored of it cannot be gone on with.",
    kinds.RESTORED: "Another client deleted or changed checkpoints in the last ten minutes, and "
    "the members have written them again.",
    kinds.PAUSED: "Nothing is read, as was asked.",
}

REASONS: Mapping[str, Mapping[str, Reason]] = {
    READY: READY_REASONS,
    kinds.BALANCED: {
        "Balanced": Reason(YES, "All is as planned."),
        "Paused": Reason(YES, "Nobody is to own anything."),
        "ScaledToZero": Reason(YES, "Nobody is to own anything."),
        "Moving": Reason(NO, "Partitions are being handed over; the first moves are named."),
        "Waiting": Reason(NO, "Partitions wait for members that are expected."),
        "Joining": Reason(NO, "Pods have joined, and the ledger does not say so yet."),
        "NoMembers": Reason(NO, "No member is alive.", "See `Ready`."),
        "PartitionsUnowned": Reason(NO, "Nobody owns these partitions.", "See `Ready`."),
        "OtherProcessors": Reason(
            NO,
            "Another kind of processor, such as an official one, owns partitions of the group.",
            "Stop it, or set `ledger.takesFromForeign: true`.",
        ),
        "LedgerNotRead": NOT_READ,
    },
    sizes.SCALING: {
        "AsWanted": Reason(NO, "As many pods stand as are wanted."),
        "ScalingOut": Reason(YES, "More pods are being made."),
        "ScalingIn": Reason(YES, "Pods hand over, and then go."),
        "RollingOut": Reason(YES, "Pods of an older revision are being replaced."),
        "ObjectiveOutOfReach": Reason(
            NO,
            "More pods are not allowed or are of no use, and the objective is not kept.",
            "The message names the bound that stops it, and what to change.",
        ),
        "NoWorkload": Reason(UNKNOWN, "There is no Deployment yet.", "See `Ready`."),
        "RevisionUnknown": Reason(
            UNKNOWN, "It is not known which pods are of the newest revision.", "See `Ready`."
        ),
    },
    sizes.BOUND: {
        "EnoughPartitions": Reason(NO, "There is something to own for every pod."),
        "MorePodsThanPartitions": Reason(
            YES,
            "Some pods own nothing.",
            "Want fewer pods, or give the hub more partitions.",
        ),
        "PartitionTooHot": Reason(
            YES,
            "One partition alone gets more than one consumer can handle of it.",
            "Use more partition keys, or a faster handler.",
        ),
        "NoMorePartitions": Reason(
            YES,
            "Every partition has a pod for itself, and that is not enough.",
            "Make the handler faster, or give the hub more partitions.",
        ),
        "PartitionsUnknown": Reason(UNKNOWN, "The source has not said its partitions yet."),
    },
    kinds.STUCK: {
        "NotStuck": Reason(NO, "All handlers come back."),
        "HandlerFails": Reason(
            YES,
            "A batch fails again and again. It is tried again for ever, or its partition stands "
            "still with `delivery.onFailure: halt`; nothing is skipped.",
            "Mend the handler, or set `delivery.onFailure: deadLetter`.",
        ),
        "CircuitOpen": Reason(
            YES,
            "More than `delivery.circuitBreaker.failurePercent` of the recent events of a "
            "partition fail. It puts no more events aside and stops until an event succeeds.",
            "Fix the handler and roll it out, or mend what it writes to: the partition continues "
            "after the next probe, or at once after `pause` and `resume`. Rewind it to pass the "
            "events.",
        ),
        "PipelineFails": Reason(
            YES,
            "With Spark: batches fail again and again. They are tried again for ever, or with "
            "`delivery.onFailure: halt` the partition stands still; nothing is skipped.",
            "Mend the pipeline, or set `delivery.onFailure: deadLetter`; the message has what the "
            "driver says.",
        ),
        "BatchesFail": Reason(
            YES,
            "With Spark: batches fail again and again for a reason that is no fault of their "
            "events, such as memory or a hub that is not reached. No event is put aside.",
            "The message has what the driver says, and what to do.",
        ),
        "QueryFails": Reason(
            YES,
            "Spark's query ends by itself and is begun anew, after pauses of up to 30 s.",
            "The message has what the driver says; see its log.",
        ),
        "PositionStands": Reason(
            YES,
            "A member owns a partition and lives, events come, and its position does not move. "
            "The partition is given to another.",
            "See the member's log.",
        ),
        "PartitionsSetAside": Reason(
            YES,
            "Two members in a row stood still at the same position. Nobody reads the partition for "
            "a quarter of an hour, then it is tried again.",
            "See the members' logs.",
        ),
        "HandlerHangs": Reason(
            YES,
            "A handler has not come back within `delivery.timeoutSeconds`. Others take the "
            "partition where they can.",
            "See the member's log.",
        ),
        "LedgerNotRead": NOT_READ,
    },
    kinds.LOSS: {
        "NothingLost": Reason(NO, "The source has all that is not handled yet."),
        "EventsLost": Reason(
            YES,
            "Retention has passed what was not handled; reading goes on behind the gap, which is "
            "named.",
            "Want more pods, or a longer retention.",
        ),
        "LagUnknown": Reason(UNKNOWN, "It is not known how far the group is behind."),
    },
    kinds.BEHIND: {
        "StatesMatch": Reason(NO, "Every state fits its position."),
        "StateBehind": Reason(
            YES,
            "Somebody else has moved a position and left the state; nobody reads on there.",
            "`kubectl consumergroup rewind`: to the state's position, or clearing the state.",
        ),
        "LedgerUnreadable": Reason(
            YES,
            "A blob of the ledger cannot be read; nobody reads on there.",
            "Restore or delete the blob that is named.",
        ),
        "PositionLost": POSITION_LOST,
        "LedgerNotRead": NOT_READ,
    },
    kinds.RESTORED: {
        "Untouched": Reason(NO, "Only the members have written or deleted checkpoints."),
        "WrittenAgain": Reason(
            YES,
            "The container was deleted, or blobs in it, or another program wrote them. Members "
            "wrote their checkpoints again from memory: nothing is lost.",
            "Find out who did it. `kubectl consumergroup rewind` moves checkpoints.",
        ),
        "LedgerNotRead": NOT_READ,
    },
    kinds.PAUSED: {
        "NotPaused": Reason(NO, "Everything is to be read."),
        "AsAsked": Reason(YES, PAUSED, "Set it to false to go on."),
        "PartitionsPaused": Reason(
            NO, "`spec.pausedPartitions` names partitions; the others go on."
        ),
    },
}

# Events with reasons of their own; the others are those of the conditions.
EVENTS: Mapping[str, str] = {
    "Paused": "The group is paused.",
    "Resumed": "It goes on.",
    "HandingOver": "Members give their partitions away, and will go.",
    "MoreArrives": "More pods, for what arrives.",
    "BacklogTooLong": "More pods, for what waits.",
    "EventsAreThere": "There were no pods, and events have come.",
    "CheckpointsToBegin": "There were no pods, and partitions need their first checkpoint.",
    "Floor": "More pods, as `scaling.cron` says.",
    "Fallback": "More pods, as `scaling.fallback` says: the lag is not known.",
    "FewerAreEnough": "Fewer pods have been enough for a while.",
    "NothingComes": "No pods, for nothing has come for a while.",
    "StepGainedNothing": "Pods that were of no use go again; it is not tried again for a while.",
    "DownstreamIsSlower": "The same, and each event costs more, downstream.",
    "Bounds": "`scaling.min` and `scaling.max` allow no other number.",
    "LeaseBroken": "A member has died, and others take its partitions at once.",
    "PartitionSplit": "A range of the container was split; its parts go on where it stood.",
    "PartitionsMerged": "Ranges of the container were merged, and are one partition now.",
    "LedgerErased": "The ledger went with its group, as `ledger.onDelete: Delete` says.",
    "LedgerLeft": "It could not be removed and stays; the message says why.",
}
