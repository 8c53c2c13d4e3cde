"""What befalls a world with an operator, from a seed. Frozen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random
from typing import TYPE_CHECKING

from simulation.script import Kind, Script
from simulation.weather import Rates

if TYPE_CHECKING:
    from simulation.operator_cluster import Pod
    from simulation.operator_world import OperatorWorld

Befalls = tuple[tuple[float, str, int], ...]


@dataclass(frozen=True, slots=True)
class OperatorScript:
    """A world's script, and what befalls its cluster and its operator: when, what, a number."""

    base: Script
    pods: int
    befalls: Befalls = ()
    start_s: float = 3.0
    # From joining to the first good readiness probe.
    probed_s: float = 1.5
    # From the deletion of a pod until its process hears of it, at most: a kubelet that is busy.
    stopped_s: float = 0.0
    # How soon an operator lists the ledger again.
    lists_s: float = 1.0
    # Shares of what an operator sends to the API server.
    api_lost: float = 0.0
    api_late: float = 0.0
    # In the end there is one more rollout.
    rolls_at_end: bool = False


def exact(
    seed: int, partitions: int, pods: int, befalls: Befalls, until_s: float, kind: Kind = Kind.CALM
) -> OperatorScript:
    """No weather: the times and the phases of everybody's clocks are the seed's."""
    base = Script(
        seed,
        kind,
        partitions,
        (),
        until_s,
        event_every_s=2.0,
        patience_s=600.0,
    )
    return OperatorScript(base, pods, befalls)


def rolled_out(seed: int, partitions: int, pods: int) -> OperatorScript:
    """A rollout of a group whose partitions came to their owners in any order; nothing fails, and
    the seed chooses all delays."""
    dice = Random(f"rollout {seed}")
    begun = 100.0 + dice.random() * 10.0
    before = ((20.0, "scale", dice.randint(1, 5)), (55.0, "scale", pods))
    script = exact(seed, partitions, pods, (*before, (begun, "roll", 2)), begun + 60.0)
    base = replace(
        script.base,
        latency_s=dice.choice((0.005, 0.02, 0.08)),
        handler_s=dice.choice((0.01, 0.05, 0.4)),
        event_every_s=dice.choice((1.0, 2.0)),
    )
    return replace(
        script,
        base=base,
        start_s=dice.choice((1.0, 2.0, 3.0, 6.0, 12.0)),
        probed_s=dice.choice((0.2, 0.7, 1.5, 3.0)),
        stopped_s=dice.choice((0.0, 0.5, 1.5)),
        lists_s=dice.choice((0.1, 0.3, 1.0)),
    )


def draw(seed: int) -> OperatorScript:
    """A world in which anything may happen to pods, storage, the operator and the API server."""
    dice = Random(f"operator {seed}")
    has_weather = dice.random() < 0.4

    def share(most: float) -> float:
        return dice.random() * most if has_weather and dice.random() < 0.5 else 0.0

    befalls: list[tuple[float, str, int]] = []
    at = dice.uniform(10.0, 30.0)
    for _ in range(dice.randint(1, 8)):
        befalls.append((at, dice.choice(NAMES), dice.randrange(1000)))
        at += dice.choice((0.3, 2.0, 8.0, 30.0, 80.0))
    is_storage_away = any(name == "storage away" for _, name, _ in befalls)
    base = Script(
        seed,
        Kind.EVERYTHING if has_weather or is_storage_away else Kind.KILLS,
        dice.randint(1, 12),
        (),
        # By then whatever lasts is over.
        at + 45.0,
        rates=Rates(
            lost_request=share(0.05),
            lost_reply=share(0.1),
            late=share(0.1),
            twice=share(0.1),
            busy=share(0.1),
            failed_done=share(0.05),
            spike=share(0.1),
        ),
        starts_latest=dice.random() < 0.5,
        has_state=dice.random() < 0.5,
        latency_s=dice.choice((0.003, 0.03, 0.1)),
        drift=dice.choice((0.0, 0.001)),
        hand_over_limit_s=dice.choice((20.0, 60.0)),
        patience_s=1500.0,
    )
    return OperatorScript(
        base,
        dice.randint(1, 6),
        tuple(befalls),
        start_s=dice.choice((1.0, 4.0)),
        api_lost=share(0.2),
        api_late=share(0.2),
        rolls_at_end=dice.random() < 0.7,
    )


NAMES = (
    "scale", "scale", "scale the Deployment", "roll", "roll", "pause", "kill", "kill", "evict",
    "vanish", "cut off", "delete", "by hand", "operator restarts", "operator down", "two operators",
    "silent watch", "operator without storage", "storage away", "unheard",
)  # fmt: skip


def acts_of(world: OperatorWorld) -> dict[str, Callable[[int], object]]:
    """What each name does; the number chooses whom it befalls, or how long it lasts."""
    cluster, loops, clock = world.cluster, world.loops, world.clock

    def somebody(number: int, act: Callable[[Pod], object]) -> None:
        pods = sorted(cluster.pods.values(), key=lambda pod: pod.name)
        if pods:
            act(pods[number % len(pods)])

    def evict(pod: Pod) -> None:
        if pod.running_since is not None and not pod.is_deleting:
            pod.phase = "Failed"
            world.kill_process(pod)

    def vanish(pod: Pod) -> None:
        world.kill_process(pod)
        cluster.vanish(pod.name)

    def cut_off(pod: Pod) -> None:
        """Its object is gone, and its process goes on for a while on a node that says nothing."""
        clock.after(20.0, world.kill_process, pod)
        cluster.vanish(pod.name)

    def roll(number: int) -> None:
        revision = f"r{number % 4}"
        if number % 4 == 3:
            cluster.broken.add(revision)
        cluster.roll(revision)

    def pause(number: int) -> None:
        world.wish = replace(world.wish, is_paused=number % 2 == 0, paused_replicas=number % 3)

    def operator_down(number: int) -> None:
        loops[0].stop()
        clock.after(float(number % 90), loops[0].start)

    def two_operators(number: int) -> None:
        loops[1].start()
        clock.after(float(number % 60), loops[1].stop)

    def silent_watch(number: int) -> None:
        loops[0].is_watch_silent = True
        clock.after(float(number % 60), lambda: setattr(loops[0], "is_watch_silent", False))

    def storage_away(who: str, number: int) -> None:
        down = world.weather.storage_down
        down[who] += 1
        clock.after(float(number % 40), lambda: down.subtract([who]))

    return {
        "scale": lambda n: setattr(world, "wish", replace(world.wish, replicas=n % 8)),
        "scale the Deployment": lambda n: world.size_by_hand(n % 8),
        "roll": roll,
        "pause": pause,
        "kill": lambda n: somebody(n, world.kill_process),
        "evict": lambda n: somebody(n, evict),
        "vanish": lambda n: somebody(n, vanish),
        "cut off": lambda n: somebody(n, cut_off),
        "delete": lambda n: somebody(n, lambda pod: cluster.delete(pod.name)),
        "by hand": lambda n: cluster.make_by_hand(f"hand{n}", clock.now),
        "operator restarts": lambda _: loops[0].start(),
        "operator down": operator_down,
        "two operators": two_operators,
        "silent watch": silent_watch,
        "operator without storage": lambda n: storage_away(loops[0].who, n),
        "storage away": lambda n: storage_away("*", n),
        # A loaded node: its probes get no answer for a while, and its process goes on.
        "unheard": lambda n: somebody(n, lambda p: setattr(p, "unheard_until", clock.now + 8.0)),
    }
