"""Words of a status that are no condition's, for the page: why a size is kept, what fails on Spark.

Rules: pure. Tests hold both lists and what the code says to each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tidegate_operator.scaling.nouns import Reason

# Why the number stays as it is. Those with which it changes are Events too.
KEPT: Mapping[str, str] = MappingProxyType(
    {
        Reason.ENOUGH: "What there is handles what arrives, and nothing waits for too long.",
        Reason.HELD: "More are needed, and are not allowed or of no use: `bound` has the limit.",
        Reason.WAITING: "Fewer would do; whether they have for long enough is not sure yet.",
        Reason.UNKNOWN: "Of one partition at least it is not known how much waits. Fewer are not "
        "asked for.",
        Reason.LEARNING: "What one consumer handles is not known yet: nothing has come, or nothing "
        "has been handled.",
    }
)

_LOGS = "See the logs of the driver and of its executors."
_STORAGE = "Look at the storage account that it names, and at who may write there."
_ITSELF = "Its own words say what to do."
# The first word of `failure`, and of a driver's last words: what it means, what to do. Events may
# be to blame for the first alone.
FAILURES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "PipelineFailed": ("What the pipeline's own code raised.", "Mend it, or the events that it "
                           "meets: [poison events](delivery.md)."),
        "BatchRefused": ("A batch that was not read as it was planned cannot be checkpointed; it "
                         "is read again.", _LOGS),
        "Cancelled": ("Spark ended the job.", "See the log of the driver."),
        "DriverKilled": ("The driver's JVM was killed.", _ITSELF),
        "DriverLost": ("The driver's JVM ended or does not answer.", "See the log of the driver."),
        "DriverOutOfMemory": ("The driver's JVM had too little memory.", _ITSELF),
        "ExecutorLost": ("Executors ended in the middle of a batch.",
                         "Look at the executors' pods: why have they ended?"),
        "HubNotRead": ("An executor cannot read the hub or the container.",
                       "Executors read it themselves: do they reach it, and may they?"),
        "LedgerNotReached": ("The ledger's storage refused or does not answer.", _STORAGE),
        "LetterNotWritten": ("An event could not be put aside.", _STORAGE),
        "MasterLost": ("Spark's own master ended (on one machine).", "It is begun again."),
        "OfficeEnded": ("What holds the driver's partitions ended.", _LOGS),
        "OfficeNotReached": ("An executor cannot reach the driver's desk, or partitions of the "
                             "group did not come.", _LOGS),
        "OfficeRefused": ("The driver's desk refused an executor's question.", _LOGS),
        "OutOfMemory": ("An executor or the driver had too little memory.", _ITSELF),
        "ReadTwice": ("One job reads its frame twice.", _ITSELF),
        "SlicesNotWritten": ("A slice could not be written.", _STORAGE),
        "SparkNotStarted": ("Spark did not begin.", "See the log of the driver: Java, memory, "
                            "`sparkConf`."),
    }
)  # fmt: skip
