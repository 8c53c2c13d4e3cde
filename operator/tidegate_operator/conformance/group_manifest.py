"""The ConsumerGroup of a run, and for a mixed one the pod in plain Python that joins it.

Rules: pure. The size is written into `replicas`, so that nothing but a step of the plan changes it;
one step gives it to the operator for a while, who would make the group smaller at once if it could.
"""

from __future__ import annotations

import json
from typing import Any

from tidegate_operator.conformance import manifests as made
from tidegate_operator.conformance.options import LABEL, Engine, Options, Source
from tidegate_operator.kinds import CONSUMER_GROUP, Document

# Nothing that arrives wants more than one consumer: left to the operator, it would be one.
SHRINK_S = 30.0
_SMALL_SPARK: Document = {"spark.kubernetes.executor.request.cores": "20m"}


def scaling(options: Options) -> Document:
    return {
        "min": 1,
        "max": options.replicas + 1,
        "objective": {"within": "60s"},
        "shrinkAfterSeconds": SHRINK_S,
    }


def group(options: Options) -> Document:
    spec: Document = {
        "engine": "python" if options.engine is Engine.PYTHON else "spark",
        "source": source(options),
        "ledger": ledger(options),
        "handler": {"configMap": made.part(options, "handler"), "code": code(options)},
        "delivery": delivery(options),
        "scaling": scaling(options),
        "replicas": options.replicas,
    }
    env = made.recorder_env(options)
    if options.engine is Engine.PYTHON:
        container: Document = {"name": "consumer", "env": env}
        spec["template"] = {"spec": {"containers": [container]}}
    else:
        container = {"name": "driver", "env": env, "resources": {"requests": {"cpu": "20m"}}}
        spec["spark"] = {
            "maxEvents": 600,
            "triggerSeconds": 1,
            "sparkConf": _SMALL_SPARK,
            "driver": {"template": {"spec": {"containers": [container]}}},
        }
    if options.given is not None:
        spec |= options.given.others
    return {
        "apiVersion": CONSUMER_GROUP.api_version,
        "kind": CONSUMER_GROUP.name,
        "metadata": {
            "name": options.name, "namespace": options.namespace, "labels": {LABEL: options.name},
        },
        "spec": spec,
    }  # fmt: skip


def code(options: Options) -> str:
    return "recorder.py:handle" if options.engine is Engine.PYTHON else "recorder.py:pipeline"


def delivery(options: Options) -> Document:
    if options.engine is not Engine.PYTHON:
        return {"timeoutSeconds": 60}
    return {
        "batch": {"maxEvents": made.BATCH},
        "checkpoint": {"everySeconds": made.CHECKPOINT_S},
        "timeoutSeconds": 60,
    }


def source(options: Options) -> Document:
    if options.given is not None:
        (kind,) = options.given.source
        return {kind: {**options.given.source[kind], "start": "latest"}}
    if options.source is Source.COSMOS:
        secret = {"secret": options.name, "key": "cosmos"}
        return {
            "cosmos": {
                "database": made.DATABASE, "container": made.ITEMS, "connectionString": secret,
                "start": "earliest", "pollSeconds": 0.5,
            }
        }  # fmt: skip
    secret = {"secret": options.name, "key": "events"}
    return {"eventHubs": {"hub": made.HUB, "connectionString": secret, "start": "earliest"}}


def ledger(options: Options) -> Document:
    if options.given is not None:
        return {**options.given.ledger, "onDelete": "Delete"}
    secret = {"secret": options.name, "key": "storage"}
    return {"container": made.ledger_name(options), "create": True, "connectionString": secret}


def joiner(options: Options) -> Document:
    """The pod in plain Python of a mixed group; its process begins again in its place."""
    document: dict[str, Any] = group(options)
    spec = document["spec"]
    alone = {
        "apiVersion": document["apiVersion"], "kind": document["kind"],
        "metadata": {"name": options.name},
        "spec": {
            "source": _from_environment(spec["source"], "EVENTS"),
            "ledger": _from_environment({"ledger": spec["ledger"]}, "STORAGE")["ledger"],
            "handler": {"code": "recorder.py:handle"},
            "delivery": {
                "batch": {"maxEvents": made.BATCH},
                "checkpoint": {"everySeconds": made.CHECKPOINT_S}, "timeoutSeconds": 60,
            },
        },
    }  # fmt: skip
    script = (
        "mkdir -p group && cd group && cp /code/recorder.py . && "
        'printf %s "$GROUP" > group.yaml && '
        f"exec tidegate run group.yaml --name {made.part(options, 'joiner')} --scratch ../lease"
    )
    (kind,) = spec["source"]
    env = [
        {"name": "GROUP", "value": json.dumps(alone)},
        *(
            {"name": name, "valueFrom": {"secretKeyRef": {
                "name": holder["connectionString"]["secret"],
                "key": holder["connectionString"]["key"]}}}
            for name, holder in (("EVENTS", spec["source"][kind]), ("STORAGE", spec["ledger"]))
        ),
        *made.recorder_env(options),
    ]  # fmt: skip
    container = {
        "image": options.images.tidegate,
        "command": ["tini", "--", "sh", "-c", script],
        "env": env,
        "workingDir": "/scratch",
        "volumeMounts": [
            {"name": "scratch", "mountPath": "/scratch"}, {"name": "code", "mountPath": "/code"},
        ],
    }  # fmt: skip
    volumes = [
        {"name": "scratch", "emptyDir": {}},
        {"name": "code", "configMap": {"name": made.part(options, "handler")}},
    ]
    return made.pod(
        options, "joiner", container, volumes=volumes, restartPolicy="Always",
        terminationGracePeriodSeconds=30,
    )  # fmt: skip


def _from_environment(holder: Document, variable: str) -> Document:
    (kind,) = holder
    taken_out = {key: said for key, said in holder[kind].items() if key != "onDelete"}
    return {kind: {**taken_out, "connectionString": {"env": variable}}}
