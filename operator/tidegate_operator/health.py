"""Whether the operator is alive, and its metrics, for `/healthz`, `/readyz` and `/metrics`.

Rules:
- Not alive is what a new start would mend: a watch that stays silent, a round or the leader's own
  loop that stands still. An API server or a storage account that does not answer is not: a new
  start would not change it, and the groups go on by themselves.
- Ready: everything that there is has been told of. Whoever does not lead is ready to. A status that
  cannot be written makes nobody unready: it is said here, because the status cannot say it.
- Each answer says why, in words. A loop that hangs does not answer at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from prometheus_client import REGISTRY
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector, CollectorRegistry

from tidegate.ops.health import Verdict
from tidegate.ops.metrics import Both
from tidegate_operator.cache import Cache
from tidegate_operator.condition import conditions_in
from tidegate_operator.group_pages import GroupPages
from tidegate_operator.leader import Leader
from tidegate_operator.readiness import READY, WISHED
from tidegate_operator.settings import OperatorSettings
from tidegate_operator.untold import Untold
from tidegate_operator.watching import Watches
from tidegate_operator.workers import Workers


@dataclass(frozen=True, slots=True)
class Vitals:
    """What health and metrics are told from."""

    settings: OperatorSettings
    cache: Cache
    watches: Watches
    leader: Leader
    workers: Workers
    now: Callable[[], float]
    untold: Untold = field(default_factory=Untold)

    @property
    def groups(self) -> GroupPages:
        return GroupPages(self.cache, self.watches, self.leader, self.untold)


class OperatorHealth:
    """See the module."""

    def __init__(self, vitals: Vitals) -> None:
        self._vitals = vitals
        # What the start waits for, in words.
        self.waits_for = "the watches have not told of everything yet"
        self.is_stopping = False

    def alive(self, now: float) -> Verdict:
        vitals, limit_s = self._vitals, self._vitals.settings.unhealthy_s
        for kind, watch in vitals.watches.watches.items():
            if watch.silent_since is not None and now - watch.silent_since > limit_s:
                silent = now - watch.silent_since
                return Verdict(False, f"the watch of {kind.resource} is silent for {silent:.0f} s")
        for key, began in vitals.workers.counts.running.items():
            if now - began > limit_s:
                return Verdict(
                    False, f"the round of group {key} stands still for {now - began:.0f} s"
                )
        still = now - vitals.leader.tried_at
        if still > limit_s:
            return Verdict(False, f"the loop of the leader's Lease stands still for {still:.0f} s")
        return Verdict(True, "alive")

    def ready(self, _now: float, /) -> Verdict:
        vitals = self._vitals
        if self.is_stopping:
            return Verdict(False, "stopping")
        if not vitals.watches.complete.is_set():
            return Verdict(False, vitals.watches.trouble or self.waits_for)
        leads = "leads" if vitals.leader.is_leading else f"{vitals.leader.holder or 'nobody'} leads"
        told = f"{len(vitals.cache.groups())} groups; {leads}"
        untold = vitals.untold.words()
        return Verdict(True, f"{told}; {untold}" if untold else told)


class _Shown(Collector):
    """What is to be measured, at the time of asking."""

    def __init__(self, vitals: Vitals) -> None:
        self._vitals = vitals

    def collect(self) -> Iterable[Metric]:
        vitals, counts = self._vitals, self._vitals.workers.counts
        yield GaugeMetricFamily(
            "tidegate_operator_groups", "ConsumerGroups that are looked after.",
            value=len(vitals.cache.groups()),
        )  # fmt: skip
        yield GaugeMetricFamily(
            "tidegate_operator_groups_failing", "Of them, those whose last round failed.",
            value=len(vitals.workers.failures),
        )  # fmt: skip
        rounds = HistogramMetricFamily(
            "tidegate_operator_reconcile_seconds", "Time that one round of a group took."
        )
        rounds.add_metric([], counts.seconds.buckets(), counts.seconds.sum)
        yield rounds
        yield self._ready()
        yield from vitals.groups.metrics()
        yield CounterMetricFamily(
            "tidegate_operator_failures", "Rounds that failed.", value=counts.failed
        )
        yield from _untold(vitals.untold)
        ages = GaugeMetricFamily(
            "tidegate_operator_watch_age_seconds",
            "How long ago a watch was last seen to tell everything.",
            labels=["kind"],
        )
        for kind in vitals.watches.watches:
            ages.add_metric([kind.plural], vitals.watches.age_s(kind))
        yield ages
        yield GaugeMetricFamily(
            "tidegate_operator_leader", "1 where this operator leads.",
            value=float(vitals.leader.is_leading),
        )  # fmt: skip

    def _ready(self) -> Metric:
        """Of each group: where no consumer of it runs, nobody else would say so."""
        found = GaugeMetricFamily(
            "tidegate_operator_group_ready",
            "Whether a group is Ready; nothing is said of one that is paused or being deleted.",
            labels=["group_namespace", "group"],
        )
        for key, document in self._vitals.cache.documents():
            said = conditions_in(document.get("status") or {}).get(READY)
            if said is None or said.reason not in WISHED:
                is_ready = said is not None and said.is_true
                found.add_metric([key.namespace, key.name], float(is_ready))
        return found


def _untold(untold: Untold) -> Iterable[Metric]:
    """What people are not told."""
    yield GaugeMetricFamily(
        "tidegate_operator_groups_untold",
        "Groups whose status cannot be written; they are decided on all the same.",
        value=len(untold.groups),
    )
    for name, meaning, count in (
        ("tidegate_operator_status_failures", "Statuses of groups that could not be written.",
         untold.statuses_failed),
        ("tidegate_operator_event_failures", "Events that could not be written when it was tried.",
         untold.events_failed),
        ("tidegate_operator_events_lost", "Events that were given up after a while.",
         untold.events_lost),
    ):  # fmt: skip
        yield CounterMetricFamily(name, meaning, value=count)


class OperatorMetrics:
    """Writes it down, in the form that the asker accepts."""

    def __init__(self, vitals: Vitals) -> None:
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(_Shown(vitals))

    def write(self, accept: str = "") -> tuple[bytes, str]:
        encode, content_type = choose_encoder(accept)
        return encode(Both(self._registry, REGISTRY)), content_type
