"""Typed settings of the operator's process, with their units in their names.

Rules: made once, from the command line; `checked` refuses what cannot work and says what to write.
Nothing here is about one group: that stands in its ConsumerGroup.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tidegate.settings import SettingsError
from tidegate_operator.commands import KUBECTL, Commands
from tidegate_operator.identity import IdentityHosts
from tidegate_operator.pod_security import Profile

# Nothing is decided on a listing that is older than a little more than this.
_LONGEST_TICK_S = 10.0
_NAMESPACE = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")


@dataclass(frozen=True, slots=True)
class OperatorSettings:
    """How the operator watches, looks and acts."""

    # Of its Lease: its own name among the operators, and where the Lease is.
    identity: str
    leader_namespace: str
    leader_name: str = "tidegate-operator"
    # What is watched; none means all namespaces.
    namespaces: tuple[str, ...] = ()
    # The image of the groups that name none.
    image: str = ""
    image_pull_policy: str = "IfNotPresent"
    # The same for those on Spark; without one the operator makes none of them.
    spark_image: str = ""
    # The profile that the pod templates of groups must keep to.
    pod_security: Profile = Profile.BASELINE
    # Where the operator's own identity may go.
    identity_hosts: IdentityHosts = field(default_factory=IdentityHosts)

    # What messages tell people to type.
    commands: Commands = KUBECTL

    # The leader's Lease: how long it holds, and how often it is renewed.
    lease_s: float = 15.0
    renew_s: float = 5.0

    # Groups that are looked at side by side.
    rounds_at_once: int = 16
    # Groups whose pods are replaced at once because the operator is another one.
    rollouts_at_once: int = 10
    # A group on which nothing goes on is looked at this often. What is decided says how soon to
    # look while something does.
    settled_tick_s: float = 5.0
    # Two looks at one group are never closer than this, whatever happens to it.
    closest_s: float = 0.25
    # After a failure: the first pause, and the longest.
    first_pause_s: float = 1.0
    longest_pause_s: float = 60.0

    # How often Secrets and ConfigMaps are looked at, and how often while one is missing.
    secrets_every_s: float = 30.0
    missing_every_s: float = 5.0
    # How often the source is asked for its ends while no member lives to tell them.
    ends_every_s: float = 30.0
    # The same for a group that is to get pods as soon as an event comes: within 5 s of it.
    asleep_every_s: float = 3.0
    # How often what was applied and is not watched is compared with what the API lists, and how
    # often it is looked at one by one where it cannot be listed.
    unwatched_every_s: float = 30.0
    drift_every_s: float = 300.0

    # What was watched is compared with what the API lists.
    compare_every_s: float = 30.0
    # A process whose watch stays silent, or whose rounds stand still, for so long is not alive.
    unhealthy_s: float = 180.0

    # A finalizer that cannot remove a ledger within this lets go all the same.
    let_go_s: float = 120.0

    @property
    def leads_for_s(self) -> float:
        """How long after a renewal was sent the leader may act: it stops before others may."""
        return self.lease_s * 0.8

    def checked(self) -> OperatorSettings:
        """These settings, or SettingsError."""
        if not self.image:
            raise SettingsError("--image: name the image that the groups' pods run")
        for name in (*self.namespaces, self.leader_namespace):
            if not _NAMESPACE.fullmatch(name):
                raise SettingsError(f"namespace '{name}': write the name of a namespace")
        if not 0 < self.renew_s <= self.leads_for_s / 2:
            raise SettingsError("renew_s must leave time for a second try within the lease")
        if not 1 <= self.settled_tick_s <= _LONGEST_TICK_S:
            raise SettingsError(
                f"--settled-tick-s {self.settled_tick_s:g}: write 1 to {_LONGEST_TICK_S:g} seconds"
            )
        if self.rounds_at_once < 1:
            raise SettingsError("rounds_at_once: write 1 or more")
        if self.rollouts_at_once < 1:
            raise SettingsError("--rollouts-at-once: write 1 or more")
        return self
