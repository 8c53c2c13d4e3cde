"""`GET /groups/NAMESPACE/NAME` and the metrics of each group, for KEDA, dashboards and alerts.

Rules:
- It is told from what the watches have told, and costs no request to anybody. Every operator
  answers, also one that does not lead: the figures are those that the leader has written.
- Where they may be old nothing is told, and the page says why: while nobody leads, for a moment
  after somebody new does, while the watch is silent, and of a group whose status cannot be written
  or is stale.
- The page is 200 where the lag is known, else 503 with the reason in words: who scales by it then
  knows that it is not 0.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from prometheus_client.core import GaugeMetricFamily, Metric

from tidegate.lag import LagKind
from tidegate.ops.serving import Page
from tidegate_operator.cache import Cache
from tidegate_operator.freshness import stale_text
from tidegate_operator.kinds import CONSUMER_GROUP, Document
from tidegate_operator.leader import Leader
from tidegate_operator.model import GroupKey
from tidegate_operator.outside import outside_of, why_unknown
from tidegate_operator.untold import Untold
from tidegate_operator.watching import Watches

PATH = "/groups/{namespace}/{name}"
# Who begins to lead has looked at all groups by then.
_LOOKED_S = 15.0
_LABELS = ("group_namespace", "group")
# By the names of figures.
_GAUGES = {
    "lag_events": (
        "tidegate_operator_group_lag_events",
        "Events of a group not yet handled. Absent where the lag is unknown.",
    ),
    "lag_s": (
        "tidegate_operator_group_lag_seconds",
        "How long the oldest of them has waited, at most. Absent where unknown.",
    ),
    "drain_s": (
        "tidegate_operator_group_drain_seconds",
        "How long until none of them waits, at the present pace. Absent where it does not end.",
    ),
    "wanted": (
        "tidegate_operator_group_wanted",
        "How many consumers there should be by spec.scaling, whoever decides it.",
    ),
    "replicas": ("tidegate_operator_group_replicas", "How many consumers there are."),
    "ready": ("tidegate_operator_group_replicas_ready", "How many of them have joined."),
    "partitions": ("tidegate_operator_group_partitions", "Partitions that the source has."),
    "unread": (
        "tidegate_operator_group_partitions_unread",
        "Those of them that nobody reads although somebody should.",
    ),
}


@dataclass(frozen=True, slots=True)
class GroupPages:
    """See the module."""

    cache: Cache
    watches: Watches
    leader: Leader
    untold: Untold
    # Seconds since 1970, by which statuses say when the group was seen.
    wall: Callable[[], float] = time.time

    def answer(self, parts: Mapping[str, str]) -> Page:
        """What is told of one group."""
        key = GroupKey(parts["namespace"], parts["name"])
        why = self._why_old()
        document = self.cache.known(key).document
        if why:
            return Page(f"{why}\n", 503)
        if document is None:
            text = f"there is no ConsumerGroup {key} in what this operator looks after\n"
            return Page(text, 404)
        why = self._why_untold(key, document) or why_unknown(document)
        if why:
            return Page(f"ConsumerGroup {key}: {why}\n", 503)
        text = json.dumps(outside_of(document).document())
        return Page(f"{text}\n", content_type="application/json")

    def metrics(self) -> Iterable[Metric]:
        """Of all groups; none where what is known may be old."""
        told = [] if self._why_old() else [
            (key, outside_of(document))
            for key, document in self.cache.documents()
            if not self._why_untold(key, document)
        ]  # fmt: skip
        for figure, (name, meaning) in _GAUGES.items():
            family = GaugeMetricFamily(name, meaning, labels=_LABELS)
            for key, found in told:
                value = getattr(found, figure)
                if value is not None:
                    family.add_metric([key.namespace, key.name], float(value))
            yield family
        kinds = GaugeMetricFamily(
            "tidegate_operator_group_lag_kind",
            "1 for what the lag is: exact, estimated, unknown or lost.",
            labels=(*_LABELS, "kind"),
        )
        for key, found in told:
            for kind in LagKind:
                kinds.add_metric(
                    [key.namespace, key.name, str(kind)], float(kind == found.lag_kind)
                )
        yield kinds

    def _why_old(self) -> str:
        """Why nothing that is known can be told, in words; '' where it can."""
        if not self.watches.complete.is_set():
            return self.watches.trouble or "the watches have not told of everything yet"
        if self.watches.watches[CONSUMER_GROUP].silent_since is not None:
            return "the watch of the ConsumerGroups is silent: what is known of them may be old"
        led_for_s = self.leader.led_for_s
        if led_for_s <= 0.0:
            return "no operator leads, so nobody looks at the groups"
        if led_for_s < _LOOKED_S:
            return (
                f"{self.leader.holder} has led for {led_for_s:.0f} s, and may not have looked yet"
            )
        return ""

    def _why_untold(self, key: GroupKey, document: Document) -> str:
        why = self.untold.groups.get(key)
        if why is not None:
            return f"its status cannot be written: {why}"
        return stale_text(document, self.wall())
