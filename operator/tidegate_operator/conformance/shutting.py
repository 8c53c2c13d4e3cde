"""Shuts the consumers' ports to one pod by a NetworkPolicy, and lets that pod try.

Rules: the pod is the agent's, which got through a moment before: else nothing would be said by
that it does not. Everybody else is still let in, and the policy is gone when this ends.
"""

from __future__ import annotations

import asyncio
import time

from tidegate_operator.conformance import manifests as made
from tidegate_operator.conformance.agent_place import PORT
from tidegate_operator.conformance.hands import Hands
from tidegate_operator.conformance.looking import Looking
from tidegate_operator.conformance.options import Options
from tidegate_operator.conformance.record import Reached
from tidegate_operator.conformance.states import facts_of
from tidegate_operator.kinds import NETWORK_POLICY, Document

# Until what enforces a policy has heard of it.
ENFORCED_S = 15.0
_LOOK_S = 0.5


class Shutting:
    """See the module."""

    def __init__(self, hands: Hands, looking: Looking, options: Options) -> None:
        self._hands = hands
        self._looking = looking
        self._options = options

    async def tried(self, dice: float) -> Reached | None:
        """What became of it; None where there is no consumer to try. Raises KubeError."""
        pods = [pod for pod in self._looking.pods if _ports(pod) and _is_there(pod)]
        if not pods:
            return None
        pod = pods[int(dice * len(pods))]
        before = await self._reached(pod, _ports(pod))
        if not before:
            return Reached(self._looking.now(), _name(pod), (), ())
        await self._hands.make([made.policy(self._options)])
        try:
            until = time.monotonic() + ENFORCED_S
            while (still := await self._reached(pod, before)) and time.monotonic() < until:
                await asyncio.sleep(_LOOK_S)
        finally:
            await self._hands.remove(NETWORK_POLICY, made.part(self._options, "shut"))
        return Reached(self._looking.now(), _name(pod), before, still)

    async def _reached(self, pod: Document, ports: tuple[int, ...]) -> tuple[int, ...]:
        """Those of its ports that the agent gets through to."""
        agent = made.part(self._options, "agent")
        body = {"host": pod["status"]["podIP"], "ports": list(ports)}
        said = await self._hands.ask(agent, PORT, "POST", "/connect", body)
        return tuple(said["reached"])


def _name(pod: Document) -> str:
    return str(pod["metadata"]["name"])


def _is_there(pod: Document) -> bool:
    _, is_ready, is_leaving = facts_of(pod)
    return is_ready and not is_leaving and bool((pod.get("status") or {}).get("podIP"))


def _ports(pod: Document) -> tuple[int, ...]:
    return tuple(
        int(port["containerPort"])
        for container in pod["spec"]["containers"]
        for port in container.get("ports") or ()
        if port.get("protocol", "TCP") == "TCP"
    )
