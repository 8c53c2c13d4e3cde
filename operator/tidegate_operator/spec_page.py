"""docs/consumergroup.md, from the typed settings.

    python -m tidegate_operator.spec_page > docs/consumergroup.md

Rules: pure. What stands in docs/settings.md is not repeated.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from tidegate.group_file.fields import hints_of, inner_of, is_list
from tidegate.group_file.names import camel_name
from tidegate.group_file.pages import purpose, table
from tidegate.group_file.spec import OPERATORS, Secret
from tidegate.words import snake_name
from tidegate_operator.crd import COLUMNS
from tidegate_operator.reasons import EVENTS, MEANINGS, REASONS
from tidegate_operator.single_words import FAILURES, KEPT
from tidegate_operator.spec import OperatedHandler, OperatedLedger, OperatorSpec
from tidegate_operator.spec_rules import BOUNDS, NAME_RULE, RULES
from tidegate_operator.spec_scaling import CronSpec, FallbackSpec, ObjectiveSpec, ScalingSpec
from tidegate_operator.spec_status import StatusShape

_HEAD = """\
# ConsumerGroup, the resource

`tidegate.dev/v1alpha1`, kind `ConsumerGroup`, short name `cg`, category `tidegate`. This page is
made from the code, by `python -m tidegate_operator.spec_page`; `kubectl explain cg.spec
--recursive` says the same. The twelve lines of
[examples/consumergroup.yaml](../examples/consumergroup.yaml) are a whole group, and
[examples/cluster](../examples/cluster) has others, up to every key at once.

A ConsumerGroup is also a group file: `tidegate run` reads it, and passes over what is the
operator's. What a consumer reads is in [settings.md](settings.md): `engine`, all of `source`,
`delivery` and `spark`, and of `ledger` and `handler` what is not named here.

## Secrets
Wherever a secret is wanted, `{secret: NAME, key: KEY}` names a key of a Secret in the namespace of
the group. The operator mounts that Secret into the consumers and reads it itself, by its name, to
see the ledger; a change of it is rolled out. `{env: NAME}` and `{file: PATH}` are those of the
consumers' container, where `template` puts them. The operator cannot see into a container: a group
whose ledger it cannot read it leaves as it is, and says so."""

_SIZE = """\
## Its size
Left to the operator, `scaling` says within which bounds. `replicas` is a fixed number for as long
as it stands in the spec: written by hand, by `kubectl scale cg/NAME --replicas=N`, or by an
autoscaler. To give it back, take it out: `kubectl patch cg NAME --type=json -p '[{"op": "remove",
"path": "/spec/replicas"}]'`.

An autoscaler reads `/scale`, which the API server refuses while the spec has no `replicas`: write
`scaling: {mode: External}`, and the operator writes the first number, the size that the group has.
`kubectl scale` works without one.

`paused: true` stops the reading and keeps positions; with `pausedReplicas` above 0 that many
consumers stay up, and go on at once when the pause ends.

## What is made
For a group `NAME` with `engine: python` the operator makes a Deployment, a Service without an
address of its own, a ServiceAccount and a PodDisruptionBudget, all called `NAME`, and a ConfigMap
`NAME-group` with the group file. They carry the label `tidegate.dev/group: NAME`, belong to the
ConsumerGroup and go with it. What is changed in them by hand is put back: change the
ConsumerGroup, whose `template` is merged over the pods'. The ledger stays when a group is deleted,
unless `ledger.onDelete` says otherwise. What is made with `engine: spark` is in
[spark.md](spark.md#what-is-made).

"""

_REFUSED = """\
## What is refused at once
The API server itself refuses these, with the words on the right. What only a look at the cluster
can tell is said by the condition `Ready`: a secret that is missing, an image that cannot be pulled.

| where | what is said |
| --- | --- |
"""

_COLUMNS = """\
## kubectl get
Those from `Hub` on are shown with `--output wide`. STATUS, which is `.status.state`, is the first
of these that is so: `Deleting` or `Paused`; the reason of [`Ready`](#ready) where that is not so by
more than what the ledger says (`NotReady` stands for `PodsNotReady`); the reason of
[`StateBehind`](#statebehind); `RetentionLoss`; `Stuck`; `Joining`, `NoPods` or `PartitionsUnowned`;
`ScaledToZero`; else the reason of [`Balanced`](#balanced).

| column | what it shows |
| --- | --- |
"""

_CONDITIONS = """\
## Conditions and their reasons
`kubectl describe cg NAME` shows them, with a message that says what they are about. A message has
the remedy in it; the tables have it too.
"""

_KEPT = """\
## Why the size stays
`.status.scaling.reason` is one of these, or one of the [Events](#events) from `MoreArrives` to
`Bounds`, with which the size changes. [Scaling](scaling.md) says how it is decided.

| reason | meaning |
| --- | --- |
"""

_FAILURES = """## What fails on Spark
The first word of `.status.spark.failure`, of a driver's last words, and the `reason` of
`tidegate_spark_batches_failed_total`:

| word | meaning | what to do |
| --- | --- | --- |
"""

_EVENTS = """\
## Events
A condition that becomes worse is a Warning with the same reason and the same words, and one that
is well again is a Normal one. If `Ready` lacks something that may only be late, such as a Secret, a
node, the hub or the storage, the Warning follows when it has lacked it for 15 s. Beside them:

| reason | meaning |
| --- | --- |
"""

# Where each class of settings stands, for those that rules are about.
_SECTIONS: tuple[tuple[type[Any], str], ...] = (
    (OperatorSpec, "spec"),
    (OperatedLedger, "spec.ledger"),
    (OperatedHandler, "spec.handler"),
    (ScalingSpec, "spec.scaling"),
    (ObjectiveSpec, "spec.scaling.objective"),
    (CronSpec, "spec.scaling.cron"),
    (FallbackSpec, "spec.scaling.fallback"),
)


def page() -> str:
    """The whole page."""
    names = {path: tuple(snake_name(key) for key in keys) for path, keys in OPERATORS.items()}
    parts = [_HEAD]
    for section, path in _SECTIONS:
        shown = names.get(path, tuple(each.name for each in fields(section)))
        parts += [f"## {path}\n{purpose(section)}\n", table(section, path, shown)]
    columns = "\n".join(f"| {name.upper()} | {text} |" for name, _, _, text, _ in COLUMNS)
    parts += [_SIZE, _REFUSED + "\n".join(_refusals()) + "\n", _COLUMNS + columns + "\n"]
    parts += [*_status(StatusShape, "status"), _CONDITIONS, *_conditions(), _EVENTS + _events()]
    parts += [_KEPT + _kept(), _FAILURES + _failures()]
    return "\n".join(part.rstrip("\n") + "\n" for part in parts)


def _refusals() -> Iterator[str]:
    yield _row("metadata.name", NAME_RULE.message)
    places = dict(_places(OperatorSpec, "spec"))
    for section, path in places.items():
        for base in reversed(section.__mro__):
            for rule in RULES.get(base, ()):
                yield _row("a secret" if section is Secret else path, rule.message)
        for each in fields(section):
            for base in reversed(section.__mro__):
                bounds = BOUNDS.get((base, each.name), {})
                for rule in bounds.get("x-kubernetes-validations", ()):
                    yield _row(f"{path}.{camel_name(each.name)}", rule["message"])


def _row(path: str, message: str) -> str:
    shown = path if " " in path else f"`{path}`"
    return f"| {shown} | {message} |".replace("…", "...")


def _places(section: type[Any], path: str) -> Iterator[tuple[type[Any], str]]:
    yield section, path
    for name, hint in hints_of(section).items():
        if is_dataclass(hint) and isinstance(hint, type):
            yield from _places(hint, f"{path}.{camel_name(name)}")


def _status(section: type[Any], path: str) -> Iterator[str]:
    yield f"## {path}\n{purpose(section)}\n"
    names = tuple(each.name for each in fields(section))
    yield table(section, path, names, shows_defaults=False)
    for name, hint in hints_of(section).items():
        inner = inner_of(hint) if is_list(hint) else hint
        if is_dataclass(inner) and isinstance(inner, type):
            yield from _status(inner, f"{path}.{camel_name(name)}")


def _conditions() -> Iterator[str]:
    for kind, reasons in REASONS.items():
        lines = [
            f"| `{name}` | {reason.truth} | {reason.meaning} | {reason.remedy} |"
            for name, reason in reasons.items()
        ]
        head = "| reason | status | meaning | what to do |\n| --- | --- | --- | --- |\n"
        yield f"### {kind}\n{MEANINGS[kind]}\n\n{head}" + "\n".join(lines)


def _events() -> str:
    return "\n".join(f"| `{name}` | {text} |" for name, text in EVENTS.items())


def _kept() -> str:
    return "\n".join(f"| `{name}` | {text} |" for name, text in KEPT.items())


def _failures() -> str:
    return "\n".join(
        f"| `{name}` | {meaning} | {remedy} |" for name, (meaning, remedy) in FAILURES.items()
    )


if __name__ == "__main__":
    print(page(), end="")
