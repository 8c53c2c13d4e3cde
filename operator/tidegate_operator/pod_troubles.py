"""Why a pod is not ready, in one word and in a sentence that says what to do. Pure.

Rules:
- What stands in a pod's own status decides, not how often somebody looked. A container that fails
  again and again has the same reason while it runs for a second and while it waits to run.
- What passes by itself, for all that is known, is soft: the pod is joining. After a minute it is
  not soft any more.
- Ages are differences between the operator's clock and the API server's or the node's: they decide
  only when a soft reason becomes a firm one, and a few seconds do not matter there.
"""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.commands.codes import Code
from tidegate.spark.failures import OUT_OF_MEMORY_CODES
from tidegate_operator.model import Ended, PodFacts
from tidegate_operator.pod_nouns import Role
from tidegate_operator.view import GroupView
from tidegate_operator.wording import said, stopped

JOINS_WITHIN_S = 60.0
# Where what a pod is made of is written, and what to do where its memory is too little.
TEMPLATES = {
    Role.CONSUMER: "spec.template",
    Role.DRIVER: "spec.spark.driver.template",
    Role.EXECUTOR: "spec.spark.executor.template",
}
_MORE_MEMORY = {
    Role.CONSUMER: "Give it more in spec.template (resources), or let it take less at once: "
    "spec.source.eventHubs.bufferBytes, spec.delivery.",
    Role.DRIVER: "Raise spec.spark.driver.memoryOverhead (its Python) or memory (its JVM), or have "
    "the pipeline bring less to the driver.",
    Role.EXECUTOR: "Raise spec.spark.executor.memoryOverhead (its Python workers) or memory (its "
    "JVM), or lower spec.spark.maxEvents.",
}

_IMAGE = frozenset(
    (
        "ErrImageNeverPull",
        "ErrImagePull",
        "ImageInspectError",
        "ImagePullBackOff",
        "InvalidImageName",
        "RegistryUnavailable",
        "SignatureValidationFailed",
    )
)
_NOT_MADE = frozenset(("CreateContainerConfigError", "CreateContainerError", "RunContainerError"))
_BACK_OFF = "CrashLoopBackOff"
# The code of who was ended by SIGKILL.
_KILLED = 128 + 9
# What a consumer that ends with 78 says first: see tidegate.settings.SettingsError.
_OF_CONFIGURATION = ("HandlerNotImported", "SourceRenamed", "ConfigurationRefused")
# What a driver says last where its JVM was short of memory.
_LAST_WORDS_OF_MEMORY = ("DriverOutOfMemory: ", "DriverKilled: ")

# The reasons, the one that explains most first.
REASONS = (
    "HandlerNotImported",
    "SourceRenamed",
    "ConfigurationRefused",
    "ImageCannotBePulled",
    "ContainerCannotStart",
    "OutOfMemory",
    "CrashLoop",
    "Unschedulable",
    "PodsNotReady",
    "Joining",
)


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why a pod is not ready."""

    reason: str
    message: str  # which pod, what happened, what to do
    is_soft: bool = False


def trouble_of(view: GroupView, pod: PodFacts) -> Trouble | None:
    """What keeps a pod from being ready; None where nothing does."""
    if pod.is_ready:
        return None
    container, name, template = pod.container, pod.called, TEMPLATES[pod.role]
    if not pod.is_scheduled and pod.unscheduled_message:
        return Trouble(
            "Unschedulable",
            f"No node takes pod {name}: {stopped(said(pod.unscheduled_message))} Add nodes, or "
            f"ask for less in {template} (resources, affinity, tolerations).",
        )
    if container.waiting in _IMAGE:
        return Trouble(
            "ImageCannotBePulled",
            f"The image of pod {name} cannot be pulled: "
            f"{stopped(said(container.waiting_message) or container.waiting)} Mend spec.image, "
            f"or give the pull secret in {template} (imagePullSecrets).",
        )
    if container.waiting in _NOT_MADE:
        why = said(container.waiting_message) or container.waiting
        return _not_started(view, pod, why)
    end = container.last_end
    if end is not None and (end.exit_code != Code.DONE or container.waiting == _BACK_OFF):
        return _ended(view, pod, end)
    return _not_joined(view, pod)


def _not_started(view: GroupView, pod: PodFacts, why: str) -> Trouble:
    return Trouble(
        "ContainerCannotStart",
        f"The container of pod {pod.called} cannot be started: {stopped(why)} Mend what it names "
        f"in {TEMPLATES[pod.role]} or spec.image: "
        f"{view.commands.describe(view.key, 'pod', pod.called)}.",
    )


def _ended(view: GroupView, pod: PodFacts, end: Ended) -> Trouble:
    """Its process has ended in a way that it should not."""
    name, restarts = pod.called, pod.container.restarts
    if end.exit_code == Code.CONFIGURATION and pod.role is not Role.EXECUTOR:
        return _of_configuration(pod, end)
    if _had_too_small_a_heap(pod, end):
        # Of a driver it is its Java, which ends before it: its last words say so.
        why = f"its JVM ended with code {end.exit_code}"
        if pod.role is Role.DRIVER:
            why = stopped(said(end.message).partition(": ")[2]).removesuffix(".")
        return Trouble(
            "OutOfMemory",
            f"The {pod.role} of pod {name} had too little memory: {why}. {_MORE_MEMORY[pod.role]}",
        )
    if end.reason == "OOMKilled":
        return Trouble(
            "OutOfMemory",
            f"The {pod.role} of pod {name} was ended because it used more memory than its limit. "
            f"{_MORE_MEMORY[pod.role]}",
        )
    if end.reason in ("StartError", "ContainerCannotRun"):
        return _not_started(view, pod, said(end.message) or end.reason)
    message = (
        f"The {pod.role} of pod {name} has ended with code {end.exit_code}"
        f"{f', {restarts} times by now' if restarts > 1 else ''}: "
        f"{stopped(_last_words(end))} See "
        f"{view.commands.logs(view.key, [name], previous=True)}."
    )
    is_again = restarts > 1 or pod.container.waiting == _BACK_OFF
    return Trouble("CrashLoop" if is_again else "Joining", message, is_soft=not is_again)


def _last_words(end: Ended) -> str:
    """What it said, else what its node did. Who outgrows its memory is killed, and is told as
    `OOMKilled` only by a node that was not too busy to see why."""
    words = said(end.message) or end.reason or "it said nothing"
    if end.exit_code != _KILLED:
        return words
    return f"{words}. It was killed: see whether it may have used more memory than its limit"


def _had_too_small_a_heap(pod: PodFacts, end: Ended) -> bool:
    if pod.role is Role.DRIVER:
        return said(end.message).startswith(_LAST_WORDS_OF_MEMORY)
    return pod.role is Role.EXECUTOR and end.exit_code in OUT_OF_MEMORY_CODES


def _of_configuration(pod: PodFacts, end: Ended) -> Trouble:
    """The group file, a secret or the handler cannot be used: the consumer's own words say why."""
    reason, _, rest = said(end.message).partition(": ")
    if reason not in _OF_CONFIGURATION:
        reason, rest = "ConfigurationRefused", said(end.message)
    remedy = (
        "Mend the code in the image or in the ConfigMap of spec.handler."
        if reason == "HandlerNotImported"
        else "Mend spec, or the secret that it names."
    )
    why = stopped(rest or "the consumer said nothing")
    return Trouble(reason, f"The {pod.role} of pod {pod.called} cannot begin: {why} {remedy}")


def _not_joined(view: GroupView, pod: PodFacts) -> Trouble:
    """Nothing has failed: it is starting, or hangs."""
    running = pod.container.running
    age_s = max(view.now - (running.since if running is not None else pod.created_at), 0.0)
    if age_s <= JOINS_WITHIN_S:
        doing = "is joining the group" if running is not None else "is being started"
        return Trouble("Joining", f"Pod {pod.called} {doing}.", is_soft=True)
    if running is not None:
        return Trouble(
            "PodsNotReady",
            f"Pod {pod.called} runs, and has not joined the group for more than a minute: does it "
            f"reach its storage and its source? See {view.commands.logs(view.key, [pod.called])}.",
        )
    return Trouble(
        "PodsNotReady",
        f"Pod {pod.called} has not started for more than a minute: see "
        f"{view.commands.describe(view.key, 'pod', pod.called)} (a volume that cannot be "
        "mounted, a node that does not answer).",
    )
