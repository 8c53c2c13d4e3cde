"""Makes what stands in the cluster what the manifests say, with as few requests as will do.

Rules:
- An object is written when its manifest has changed, or when a field of ours says something else;
  other fields are left alone. What is known to stand costs no request; what no watch tells of is
  looked at again now and then.
- Every write of an object that is there carries the resourceVersion that was seen, and deletes its
  uid. A conflict is looked at anew, a few times.
- A Deployment's replicas are written with the rest only as they were seen, so that nothing but
  `write_replicas` changes them. A new one makes no pods before its replicas are right.
- An object of the same name that is not the group's is not touched: NameTaken.
- Where somebody changes back what is put right, again and again, it is said and tried rarely.
- What the API refuses is tried again after a pause that doubles; at once where the manifest or the
  object is another by now. It holds up nothing but pods that cannot start without it: a Deployment
  waits for its ConfigMap, and not for its disruption budget. Nothing is removed that pods may still
  use: that waits for the Deployment.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from tidegate_operator.applied import Applied, Looking
from tidegate_operator.drift import (
    Order,
    fingerprint,
    is_as_applied,
    is_owned,
    is_unborn,
    order_of,
    over,
    said_of,
    sign_of,
    taken_by,
    unborn,
)
from tidegate_operator.engines import all_names_of
from tidegate_operator.kinds import BESIDE_PODS, DEPLOYMENT, Document, Kind, ObjectName
from tidegate_operator.kube_errors import Conflict, KubeError
from tidegate_operator.model import GroupKey
from tidegate_operator.objects import FIELD_MANAGER, Objects
from tidegate_operator.trying import Tries

# Controllers write the status of a Deployment many times while it changes.
_TRIES = 10

Seen = Mapping[ObjectName, Document | None]


class NameTaken(KubeError):
    """An object of the name that we need is somebody else's."""

    reason = "NameTaken"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was done, for people."""

    written: tuple[ObjectName, ...] = ()
    removed: tuple[ObjectName, ...] = ()
    # Of those written: what somebody had changed or deleted.
    repaired: tuple[ObjectName, ...] = ()
    # What somebody changes back again and again, and who, in words.
    contested: tuple[str, ...] = ()
    # What the API does not take, each object by itself.
    refused: tuple[KubeError, ...] = ()


class Applier:
    """See the module. `recheck_s` is how long what no watch tells of is believed."""

    def __init__(
        self,
        kube: Objects,
        now: Callable[[], float],
        dice: Callable[[], float],
        *,
        recheck_s: float = 60.0,
    ) -> None:
        self._kube = kube
        self._now = now
        self._dice = dice
        self._recheck_s = recheck_s
        self._looking = Looking(FIELD_MANAGER, now, dice, recheck_s)
        self._known: dict[ObjectName, Applied] = {}
        self._orders: dict[GroupKey, tuple[object, int, tuple[Order, ...]]] = {}
        self._swept: dict[GroupKey, frozenset[ObjectName]] = {}
        self._tries = Tries()
        # The versions of what no watch tells of, as they were listed last.
        self._listed: dict[ObjectName, str | None] = {}

    async def apply(
        self,
        key: GroupKey,
        uid: str,
        manifests: Sequence[Document],
        *,
        names: Collection[ObjectName],
        replicas: int,
        seen: Seen,
    ) -> Outcome:
        """Whatever is needed so that the manifests stand, as far as the API takes it.

        `names` are all objects that the group may ever have had; `replicas` those that a new
        Deployment is made with. `seen` has what a watch tells of:
        an object, or None where it says that there is none. Give the same sequence again while
        nothing has changed: then it is not even looked through.
        """
        done, pods_wait = Outcome(), False
        orders = self._orders_of(key, uid, manifests, replicas)
        for order in orders:
            kind = order.name.kind
            if kind == DEPLOYMENT and pods_wait:
                continue
            try:
                done = await self._settle(order, seen, done)
            except KubeError as problem:
                done = replace(done, refused=(*done.refused, problem))
                pods_wait |= kind not in BESIDE_PODS
        wanted = frozenset(order.name for order in orders)
        if pods_wait or self._swept.get(key) == wanted:
            return done
        return await self._sweep(key, uid, names, wanted, done)

    async def write_replicas(
        self, name: ObjectName, replicas: int, resource_version: str
    ) -> Document:
        """Of the object as it was seen; as it is then. Raises Conflict, NotThere."""
        changes = {"spec": {"replicas": replicas}}
        return await self._kube.patch(
            name.kind, name.namespace, name.name, changes, resource_version=resource_version
        )

    def compare(self, kind: Kind, listed: Mapping[ObjectName, str]) -> set[GroupKey]:
        """Of the versions of a kind that no watch tells of: the groups that are to be applied."""
        changed: set[GroupKey] = set()
        later = self._now() + self._recheck_s
        for key, (_, _, orders) in self._orders.items():
            for name in (order.name for order in orders if order.name.kind == kind):
                known, version = self._known.get(name), listed.get(name)
                if self._listed.get(name, version) != version and self._tries.forget(name):
                    changed.add(key)
                self._listed[name] = version
                if known is None or known.contested:
                    continue
                stands = version == known.version
                self._known[name] = replace(known, look_at=later if stands else -math.inf)
                if not stands:
                    changed.add(key)
        return changed

    def forget(self, key: GroupKey) -> None:
        """The group is gone, or all of it is to be looked at again."""
        self._orders.pop(key, None)
        self._swept.pop(key, None)
        for name in all_names_of(key):
            self._known.pop(name, None)
            self._listed.pop(name, None)
            self._tries.forget(name)

    def _orders_of(
        self, key: GroupKey, uid: str, manifests: Sequence[Document], replicas: int
    ) -> tuple[Order, ...]:
        known = self._orders.get(key)
        if known is not None and known[0] is manifests and known[1] == replicas:
            return known[2]
        orders = tuple(order_of(key, uid, manifest, replicas) for manifest in manifests)
        self._orders[key] = (manifests, replicas, orders)
        return orders

    async def _sweep(
        self,
        key: GroupKey,
        uid: str,
        names: Collection[ObjectName],
        wanted: frozenset[ObjectName],
        done: Outcome,
    ) -> Outcome:
        """Removes what the group has made and no longer wants."""
        removed: list[ObjectName] = []
        refused: list[KubeError] = []
        for name in [name for name in names if name not in wanted]:
            try:
                removed += [name] if await self._removed(name, uid) else []
            except KubeError as problem:
                refused.append(problem)
        if not refused:
            self._swept[key] = wanted
        return replace(done, removed=tuple(removed), refused=(*done.refused, *refused))

    async def _settle(self, order: Order, seen: Seen, done: Outcome) -> Outcome:
        known = self._known.get(order.name)
        if known is not None and known.print != order.print:
            known = None
        if known is not None and self._stands(known, order, seen):
            return _told_of_contest(done, known)
        about = (order.print, sign_of(order, seen.get(order.name)))
        return await self._tries.run(
            order.name, about, lambda: self._looked(order, known, done), self._now, self._dice
        )

    async def _looked(self, order: Order, known: Applied | None, done: Outcome) -> Outcome:
        """With the object as it stands."""
        for _ in range(_TRIES):
            live = await self._kube.find(order.name.kind, order.name.namespace, order.name.name)
            try:
                return await self._put_right(order, live, known, done)
            except Conflict as problem:
                changed = problem
        raise changed

    def _stands(self, known: Applied, order: Order, seen: Seen) -> bool:
        """Whether no request is needed."""
        if known.contested or order.name not in seen:
            return self._now() < known.look_at
        live = seen[order.name]
        if live is None:
            return False
        version = live["metadata"]["resourceVersion"]
        if version == known.version:
            return True
        if fingerprint(said_of(live, order.compared)) != known.said:
            return False
        self._known[order.name] = replace(known, version=version)
        return True

    async def _put_right(
        self, order: Order, live: Document | None, known: Applied | None, done: Outcome
    ) -> Outcome:
        """With what was just seen. Raises Conflict where that has changed since."""
        if live is not None:
            whose = taken_by(live, order.key, order.uid)
            if whose:
                raise NameTaken(
                    f"{order.name} belongs to {whose}. The group needs an object of that name: "
                    "delete it, or give the group another name."
                )
            # The API writes some values in another way than they were sent, such as 1024Mi as 1Gi.
            is_same = is_as_applied(live, order.compared) if known is None else (
                fingerprint(said_of(live, order.compared)) == known.said
            )  # fmt: skip
            if is_same:
                self._known[order.name] = self._looking.as_seen(order, live, known)
                return done
        found = await self._write(order, live)
        self._known[order.name] = self._looking.as_written(order, found, known, live)
        repaired = (*done.repaired, order.name) if known is not None else done.repaired
        return replace(done, written=(*done.written, order.name), repaired=repaired)

    async def _write(self, order: Order, live: Document | None) -> Document:
        if order.name.kind != DEPLOYMENT:
            return await self._kube.apply(over(order.wanted, live) if live else order.wanted)
        if live is None:
            live = await self._kube.apply(unborn(order.wanted))
        replicas = order.replicas if is_unborn(live) else live["spec"]["replicas"]
        spec = {**order.wanted["spec"], "replicas": replicas}
        return await self._kube.apply(over({**order.wanted, "spec": spec}, live))

    async def _removed(self, name: ObjectName, uid: str) -> bool:
        remove = partial(self._remove, name, uid)
        return await self._tries.run(name, uid, remove, self._now, self._dice)

    async def _remove(self, name: ObjectName, uid: str) -> bool:
        """Whether there was anything of the group's."""
        self._known.pop(name, None)
        found = await self._kube.metadata_of(name.kind, name.namespace, name.name)
        if found is None or not is_owned(found, uid):
            return False
        there = found["metadata"]["uid"]
        return await self._kube.delete(name.kind, name.namespace, name.name, uid=there)


def _told_of_contest(done: Outcome, known: Applied) -> Outcome:
    if not known.contested:
        return done
    return replace(done, contested=(*done.contested, known.contested))
