"""Every reason of the condition Ready, for the page of the resource: what it means, what to do.

Rules: as in reasons.py, which has the other conditions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Reason:
    """What one reason says. Where nothing has to be done there is no remedy."""

    truth: str
    meaning: str
    remedy: str = ""


YES, NO, UNKNOWN = "True", "False", "Unknown"
NOT_READ = Reason(UNKNOWN, "The ledger was not read yet, or not lately.", "See `Ready`.")
POSITION_LOST = Reason(
    YES,
    "A stored position means nothing to the source any more: its hub or container was made anew, "
    "or it is older than what all versions and deletes are kept for. Nobody reads on there, and "
    "what is stored stays as it is.",
    "`kubectl consumergroup rewind`, to `earliest`, `latest` or a time; or begin anew under "
    "another name.",
)
PAUSED = "`spec.paused` is true."

_READY: dict[str, Reason] = {
    "Ready": Reason(YES, "All is well."),
    "ScaledToZero": Reason(YES, "No pod is wanted."),
    "Joining": Reason(NO, "Pods are starting, or partitions are being taken up."),
    "NoPods": Reason(
        NO,
        "Kubernetes has made no pod yet.",
        "If it stays so: `kubectl describe deployment NAME`.",
    ),
    "Paused": Reason(NO, PAUSED, "Set it to false to go on."),
    "Deleting": Reason(NO, "The group is being deleted."),
    "PodsNotReady": Reason(
        NO,
        "A pod runs and has not joined for a minute, or has not started for a minute.",
        "`kubectl logs` and `kubectl describe pod` of the pod that is named: can it reach the hub "
        "and the storage account?",
    ),
    "PartitionsUnowned": Reason(
        NO,
        "Nobody has owned these partitions for more than 15 s.",
        "See `StateBehind` and `Stuck`, and the pods' logs.",
    ),
    "PartitionsNotRead": Reason(
        NO,
        "These partitions have owners, and for more than 8 s the source has not let them read.",
        "The message has the source's own words. Is all there that `spec.source` names (of a hub "
        "its consumer group, too), and may the group read it?",
    ),
    "PositionLost": replace(POSITION_LOST, truth=NO),
}
_OF_THE_SPEC: dict[str, Reason] = {
    "SpecInvalid": Reason(
        NO,
        "The spec cannot be read. What stood before goes on.",
        "Correct the key that is named.",
    ),
    "SettingsInvalid": Reason(
        NO,
        "A secret or a setting does not fit, or the operator, who needs it too, cannot see it: "
        "`{env: ...}`, `{file: ...}`, a `caFile`. What stood before goes on.",
        "Correct what is named. Write secrets as `{secret: NAME, key: KEY}`, and mount a `caFile` "
        "into the operator as well.",
    ),
    "SecretMissing": Reason(
        NO, "A Secret that is named is not in the namespace.", "Create it, or correct the name."
    ),
    "SecretKeyMissing": Reason(
        NO, "The Secret has no such key.", "Add the key, or correct it; those it has are named."
    ),
    "ConfigMapMissing": Reason(
        NO, "The handler's ConfigMap is not in the namespace.", "Create it, or correct the name."
    ),
    "EngineNotThere": Reason(
        NO,
        "The operator was installed without Spark.",
        "Set `spark.enabled: true` among the values of its [chart](helm.md).",
    ),
    "TemplateImpossible": Reason(
        NO,
        "A pod template wants something that a consumer, a driver or an executor cannot run with, "
        "or that the [operator's Pod Security profile](security.md#who-may-write-a-consumergroup) "
        "refuses.",
        "Take out what is named.",
    ),
    "Refused": Reason(
        NO,
        "The API server does not take an object of the group. Only pods that cannot start without "
        "it wait for that.",
        "Correct the field that is named, mostly one of `spec.template`, or mend the rule that "
        "forbids it (a quota, an admission webhook).",
    ),
}
_OF_THE_PODS: dict[str, Reason] = {
    "HandlerNotImported": Reason(
        NO,
        "The handler cannot be imported, or there is no such function.",
        "Mend the code in the image or in the ConfigMap: the message has Python's own words.",
    ),
    "SourceRenamed": Reason(
        NO,
        "The connection string or `namespace` reaches the same hub or container by another host "
        "than the group does so far. A consumer that reads under the new name would start over, "
        "beside those that run; so it does not begin.",
        "Write `spec.ledger.host` with the host that the message names, to continue from the "
        "group's checkpoints; with the new host, to start over.",
    ),
    "ConfigurationRefused": Reason(
        NO,
        "The consumer refuses its group file or its secrets.",
        "Mend the spec, or the secret that it names.",
    ),
    "ImageCannotBePulled": Reason(
        NO,
        "The image cannot be pulled.",
        "Mend `spec.image`, or give `imagePullSecrets` in `spec.template`.",
    ),
    "ContainerCannotStart": Reason(
        NO,
        "The container cannot be started.",
        "Mend what is named, in `spec.template` or `spec.image`.",
    ),
    "OutOfMemory": Reason(
        NO,
        "The consumer used more memory than its limit.",
        "Raise the limit in `spec.template`, or lower `source.eventHubs.bufferBytes`.",
    ),
    "CrashLoop": Reason(
        NO, "The consumer ends again and again.", "`kubectl logs --previous` of the pod."
    ),
    "Unschedulable": Reason(
        NO, "No node takes the pod.", "Add nodes, or ask for less in `spec.template`."
    ),
    "QuotaExceeded": Reason(
        NO,
        "The namespace's quota allows no more pods.",
        "Raise the ResourceQuota, or ask for fewer or smaller pods.",
    ),
    "PodsRefused": Reason(
        NO,
        "The cluster does not let the pods be made.",
        "Mend `spec.template`, or the rule that forbids them (pod security, a webhook).",
    ),
}
_OF_LEDGER_AND_HUB: dict[str, Reason] = {
    "LedgerDenied": Reason(
        NO,
        "Storage does not let the operator in.",
        "Correct the secret, or give the identity the role *Storage Blob Data Contributor*; for "
        "`ledger.cosmos` *Cosmos DB Built-in Data Contributor*.",
    ),
    "LedgerMissing": Reason(
        NO,
        "The container is not there.",
        "Create it, correct `ledger.container`, or set `ledger.create: true`.",
    ),
    "LedgerShared": Reason(
        NO,
        "Another ConsumerGroup came first to the same ledger: the same hub, consumer group and "
        "container. This one gets no pods; what it has already is left as it is.",
        "Delete one of the two, or make it anew with a consumer group of its own; for a change "
        "feed, with a ledger container of its own.",
    ),
    "IdentityHostNotAllowed": Reason(
        NO,
        "The group is reached without a key, and the operator's own identity may not go to the "
        "host that it names. The group's pods run all the same.",
        "Have the host added to `identityHosts`, a value of the operator's [chart](helm.md), or "
        "give the group a key.",
    ),
    "LedgerInvalid": Reason(
        NO,
        "Storage does not understand the request.",
        "Correct `ledger.apiVersion`, or the URL or endpoint of the account.",
    ),
    "LedgerUnreachable": Reason(
        f"{UNKNOWN}, or {NO} while pods are missing",
        "Storage does not answer the operator. Nothing is changed; members may well go on.",
        "Look at the network, and at the account's firewall.",
    ),
    "RosterRefused": Reason(
        NO,
        "The roster cannot be written although nobody else has written it. Until it can be, nobody "
        "is told to leave and nothing shrinks.",
        "Break the lease on the blob `roster` if somebody holds one; else look at what stands "
        "between the operator and storage, as for `ledger.cosmos`.",
    ),
    "LedgerNotRead": NOT_READ,
    "HubUnknown": Reason(
        NO,
        "There is no such hub or consumer group; of Cosmos DB, no such database or container.",
        "Create it. Another name is another group: make the ConsumerGroup anew.",
    ),
    "HubDenied": Reason(
        NO,
        "The hub, or the account of Cosmos DB, does not let us in.",
        "Correct the secret, or give the identity the role *Azure Event Hubs Data Receiver*; for a "
        "container *Cosmos DB Built-in Data Reader*.",
    ),
    "HubUnreachable": Reason(
        f"{NO}, while pods are missing",
        "The hub, or the account of Cosmos DB, does not answer the operator. Members may well "
        "reach it.",
        "Look at the network: port 5671, or 443 with `webSockets: true` and for Cosmos DB.",
    ),
}
_OF_THE_CLUSTER: dict[str, Reason] = {
    "NameTaken": Reason(
        NO,
        "An object of the name that the group needs is somebody else's.",
        "Delete it, or give the group another name.",
    ),
    "Contested": Reason(
        NO,
        "Somebody changes back what the operator puts right.",
        "Let one of the two write it; the message names the other.",
    ),
    "Denied": Reason(
        NO,
        "The operator's role lacks something.",
        "Give it the verb and the resource that are named; the chart's role has all of them.",
    ),
    "RevisionUnknown": Reason(
        NO,
        "The group's ReplicaSets cannot be listed, so it is not known which pods are new: nobody "
        "is told to leave, and nothing shrinks.",
        "Let the operator's role list `replicasets.apps`; the chart's role does.",
    ),
    "ExecutorsUnknown": Reason(
        NO,
        "With Spark: the driver's StatefulSet cannot be read, or why its pods are missing. Nothing "
        "is changed while it is not known which executors there are.",
        "Let the operator's role get `statefulsets.apps` and list `events`; the chart's does, with "
        "`spark.enabled: true`.",
    ),
    "KubernetesUnreachable": Reason(
        f"{NO}, while pods are missing", "The Kubernetes API did not answer. It is asked again."
    ),
    "KubernetesFailed": Reason(
        NO, "The Kubernetes API gave an answer that is not known.", "See the message."
    ),
    "OperatorFailed": Reason(
        NO,
        "The operator itself failed at this group. Its consumers go on.",
        "See the operator's log, and tell us.",
    ),
}

READY_REASONS: Mapping[str, Reason] = (
    _READY | _OF_THE_SPEC | _OF_THE_PODS | _OF_LEDGER_AND_HUB | _OF_THE_CLUSTER
)
