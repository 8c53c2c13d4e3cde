"""The manifests of a group from what was seen of it, made anew only where something has changed.

Rules: pure but for what is remembered in the notes. A ConsumerGroup that cannot be read, or a
Secret that is missing, leaves what stands as it stands: nothing rolls on half of what it takes. For
a group whose ledger is another's nothing is made at all: see claims.py.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tidegate.group_file.spark_spec import EngineKind
from tidegate_operator.alike import Alike
from tidegate_operator.edges import Notes, Seen, failure_since
from tidegate_operator.engines import EngineNotThereError, engine_of
from tidegate_operator.engines.inputs import hash_of, render_input
from tidegate_operator.kinds import Document
from tidegate_operator.merge import TemplateError
from tidegate_operator.model import Failure
from tidegate_operator.secrets import Sight
from tidegate_operator.settings import OperatorSettings

# What no pod is made from.
_SIZE = frozenset(("replicas", "scaling", "paused", "pausedReplicas", "pausedPartitions", "pins"))
_NO_SPARK = (
    "spec.engine spark: this operator was installed without it. Set spark.enabled: true among the "
    "values of its chart, or, if it runs without the chart, give it --spark-image and the rights "
    "of that chart's role"
)
_REASONS = (TemplateError.reason, EngineNotThereError.reason)


def render(
    settings: OperatorSettings, alike: Alike, seen: Seen, notes: Notes, wanted: int | None
) -> tuple[tuple[Document, ...] | None, tuple[Failure, ...]]:
    """The manifests, or None where nothing is to be applied; and why they cannot be made.

    `wanted`: how many members there are to be in the end.
    """
    spec, sight = seen.spec, seen.sight
    if spec is None or sight is None or sight.failures or not seen.can_be_rendered:
        return None, ()
    key, is_spark = seen.observation.key, spec.engine is EngineKind.SPARK
    # A driver that begins is told how many executors to ask for; it is not begun for none.
    executors = max(wanted or 0, 1) if is_spark else 1
    made_of = (*notes.read, dict(sight.hashes), sight.handler_hash, notes.ledger, executors)
    if notes.rendered is not None and notes.rendered[0] == made_of:
        return notes.rendered[1], ()
    try:
        if is_spark and not settings.spark_image:
            raise EngineNotThereError(_NO_SPARK)
        made = render_input(
            key,
            seen.uid,
            spec,
            image=settings.spark_image if is_spark else settings.image,
            pull_policy=settings.image_pull_policy,
            secret_hashes=sight.hashes,
            handler_hash=sight.handler_hash,
            ledger=notes.ledger,
            asked=_asked(seen.document["spec"], sight),
            executors=executors,
            profile=settings.pod_security,
        )
        manifests = alike.of(spec.engine, engine_of(spec.engine).manifests(made))
    except (TemplateError, EngineNotThereError) as problem:
        notes.rendered = None
        return None, (failure_since(notes, problem.reason, str(problem), seen.observation.now),)
    for reason in _REASONS:
        notes.troubles.pop(reason, None)
    notes.rendered = (made_of, manifests)
    return manifests, ()


def _asked(spec: Mapping[str, Any], sight: Sight) -> str:
    """A hash of all that the user has a hand in and that pods are made from."""
    said = {name: value for name, value in spec.items() if name not in _SIZE}
    return hash_of(
        json.dumps([said, dict(sight.hashes), sight.handler_hash], sort_keys=True, default=str)
    )
