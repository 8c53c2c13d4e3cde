"""The objects of a run: the group, the agent, and what is embedded, as the API server takes them.

Rules: pure. Each has the run's label and a name that begins with the run's. Pods keep to the
profile 'restricted'. The group goes through the proxy, the agent and what handlers write do not.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tidegate_operator.conformance.agent_place import (
    COSMOS,
    EVENTS,
    PORT,
    SETTING,
    STORAGE,
    AgentPlace,
)
from tidegate_operator.conformance.options import LABEL, Options, Source, secret_of
from tidegate_operator.engines.inputs import GROUP_LABEL
from tidegate_operator.kinds import NETWORK_POLICY, Document

HUB_PORT, STORAGE_PORT, COSMOS_PORT, ADMIN_PORT = 5672, 10000, 8081, 5301
CONTROL_PORT = 9400
HUB, DATABASE, ITEMS, RANGES = "conformance", "conformance", "items", 4
EVERY_S, BATCH, CHECKPOINT_S = 0.2, 50, 1.0
# Published, of every emulator: they guard nothing.
_ACCOUNT = "devstoreaccount1"
_STORAGE_KEY = (
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
)
_COSMOS_KEY = (
    "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw=="
)


def part(options: Options, what: str) -> str:
    """What an object of the run is called."""
    return f"{options.name}-{what}"


def _meta(options: Options, name: str) -> Document:
    return {
        "name": name,
        "namespace": options.namespace,
        "labels": {LABEL: options.name, f"{LABEL}-part": name},
    }


def pod(options: Options, what: str, container: Document, **more: Any) -> Document:
    """A pod of one container that keeps to the profile."""
    name = part(options, what)
    main = {
        "name": "main",
        "imagePullPolicy": "IfNotPresent",
        "resources": {"requests": {"cpu": "10m"}, "limits": {"memory": "512Mi"}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
        "volumeMounts": [{"name": "scratch", "mountPath": "/tmp"}],
        **container,
    }
    spec = {
        "containers": [main],
        "volumes": [{"name": "scratch", "emptyDir": {}}],
        "automountServiceAccountToken": False,
        "terminationGracePeriodSeconds": 5,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": 65532,
            "fsGroup": 65532,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        **more,
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": _meta(options, name), "spec": spec}


def service(options: Options, what: str, *ports: int) -> Document:
    name = part(options, what)
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": _meta(options, name),
        "spec": {
            "selector": {f"{LABEL}-part": name},
            "ports": [{"name": f"p{port}", "port": port} for port in ports],
        },
    }


def _ready(port: int) -> Document:
    return {"tcpSocket": {"port": port}, "periodSeconds": 1}


def host(options: Options, what: str) -> str:
    return f"{part(options, what)}.{options.namespace}.svc"


def events_at(where: str) -> str:
    return (
        f"Endpoint=sb://{where}:{HUB_PORT};SharedAccessKeyName=RootManageSharedAccessKey;"
        "SharedAccessKey=SAS_KEY_VALUE;UseDevelopmentEmulator=true"
    )


def storage_at(where: str) -> str:
    return (
        f"DefaultEndpointsProtocol=http;AccountName={_ACCOUNT};AccountKey={_STORAGE_KEY};"
        f"BlobEndpoint=http://{where}:{STORAGE_PORT}/{_ACCOUNT};"
    )


def embedded(options: Options) -> list[Document]:
    """Storage, hub or Cosmos, the proxy before them, and the Secret that says where they are."""
    images = options.images
    storage = {
        "image": images.storage,
        "args": ["--blobHost", "0.0.0.0", "--inMemoryPersistence", "--extentMemoryLimit", "256",
                 "--skipApiVersionCheck", "--disableProductStyleUrl", "--disableTelemetry",
                 "--silent"],
        "readinessProbe": _ready(STORAGE_PORT),
    }  # fmt: skip
    said = {
        "storage": storage_at(host(options, "proxy")),
        "direct-storage": storage_at(host(options, "storage")),
    }
    ways = ["--http", f"storage=0.0.0.0:{STORAGE_PORT}={host(options, 'storage')}:{STORAGE_PORT}"]
    made = [pod(options, "storage", storage), service(options, "storage", STORAGE_PORT)]
    proxied = [STORAGE_PORT]
    if options.source is Source.HUB:
        arguments = ["hub", "--host", "0.0.0.0", "--hub", f"{HUB}:{options.partitions}"]
        container = {
            "image": images.hub, "args": arguments, "readinessProbe": _ready(HUB_PORT),
        }  # fmt: skip
        made += [pod(options, "hub", container), service(options, "hub", HUB_PORT)]
        ways += ["--tcp", f"hub=0.0.0.0:{HUB_PORT}={host(options, 'hub')}:{HUB_PORT}"]
        proxied.append(HUB_PORT)
        said["events"] = events_at(host(options, "proxy"))
        said["direct-events"] = events_at(host(options, "hub"))
    else:
        made += _cosmos(options)
        account = f"AccountEndpoint=http://{host(options, 'cosmos')}:{COSMOS_PORT}/"
        said["cosmos"] = f"{account};AccountKey={_COSMOS_KEY};"
    command = ["tini", "--", "python", "-m", "tidegate_operator.conformance.proxy_pod"]
    proxy = {
        "image": images.tidegate,
        "command": [*command, "--control", f"0.0.0.0:{CONTROL_PORT}", *ways],
        "readinessProbe": _ready(CONTROL_PORT),
    }
    made += [pod(options, "proxy", proxy), service(options, "proxy", *proxied)]
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": _meta(options, options.name)}
    return [*made, secret | {"stringData": said}]


def _cosmos(options: Options) -> list[Document]:
    arguments = [
        "cosmos", "--host", "0.0.0.0", "--port", str(COSMOS_PORT),
        "--container", f"{DATABASE}/{ITEMS}:/home:{RANGES}",
        "--admin-host", "0.0.0.0", "--admin-port", str(ADMIN_PORT),
    ]  # fmt: skip
    container = {
        "image": options.images.hub, "args": arguments, "readinessProbe": _ready(COSMOS_PORT),
    }  # fmt: skip
    return [
        pod(options, "cosmos", container), service(options, "cosmos", COSMOS_PORT, ADMIN_PORT),
    ]  # fmt: skip


def agent_place(options: Options) -> AgentPlace:
    """What the agent is told."""
    is_cosmos = options.source is Source.COSMOS
    if options.given is not None:
        source = options.given.source["cosmos" if is_cosmos else "eventHubs"]
        container = str(options.given.ledger["container"])
        hub = str(source.get("hub", ""))
        group = options.name if is_cosmos else str(source.get("consumerGroup", "$Default"))
        within = f"{hub}/{group}/".lower() if not is_cosmos else ""
        return AgentPlace(
            str(options.source), container, within, container, f"conformance/{options.name}", hub,
            str(source.get("database", "")), str(source.get("container", "")),
            every_s=EVERY_S, creates_seen=False,
        )  # fmt: skip
    ranges = f"http://{host(options, 'cosmos')}:{ADMIN_PORT}" if is_cosmos else ""
    return AgentPlace(
        str(options.source), ledger_name(options), "", part(options, "seen"), "seen", HUB,
        DATABASE, ITEMS, ranges, EVERY_S,
    )  # fmt: skip


def ledger_name(options: Options) -> str:
    return part(options, "ledger")


def _variable(name: str, secret: str, key: str) -> Document:
    return {"name": name, "valueFrom": {"secretKeyRef": {"name": secret, "key": key}}}


def secret_keys(options: Options) -> dict[str, tuple[str, str]]:
    """Which key of which Secret the agent's variables come from."""
    is_cosmos = options.source is Source.COSMOS
    if options.given is None:
        source = "cosmos" if is_cosmos else "direct-events"
        return {
            STORAGE: (options.name, "direct-storage"),
            (COSMOS if is_cosmos else EVENTS): (options.name, source),
        }
    given = options.given.source["cosmos" if is_cosmos else "eventHubs"]
    return {
        STORAGE: secret_of(options.given.ledger),
        (COSMOS if is_cosmos else EVENTS): secret_of(given),
    }


def agent(options: Options) -> Document:
    variables = [_variable(name, *where) for name, where in secret_keys(options).items()]
    container = {
        "image": options.images.tidegate,
        "command": ["tini", "--", "python", "-m", "tidegate_operator.conformance.agent"],
        "env": [*variables, {"name": SETTING, "value": agent_place(options).as_text()}],
        "readinessProbe": _ready(PORT),
    }
    return pod(options, "agent", container)


def policy(options: Options) -> Document:
    """Lets everybody in to the consumers but the agent's pod."""
    others = {"key": f"{LABEL}-part", "operator": "NotIn", "values": [part(options, "agent")]}
    return {
        "apiVersion": NETWORK_POLICY.api_version, "kind": NETWORK_POLICY.name,
        "metadata": _meta(options, part(options, "shut")),
        "spec": {
            "podSelector": {"matchLabels": {GROUP_LABEL: options.name}},
            "policyTypes": ["Ingress"],
            "ingress": [{"from": [{
                "namespaceSelector": {}, "podSelector": {"matchExpressions": [others]},
            }]}],
        },
    }  # fmt: skip


def handler(options: Options) -> Document:
    """The ConfigMap with the handler's file."""
    code = Path(__file__).with_name("recorder.py").read_text(encoding="utf-8")
    name = part(options, "handler")
    return {
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": _meta(options, name),
        "data": {"recorder.py": code},
    }  # fmt: skip


def recorder_env(options: Options) -> list[Document]:
    """Where the handler writes what it was given."""
    place = agent_place(options)
    return [
        _variable("CONFORMANCE_STORAGE", *secret_keys(options)[STORAGE]),
        {"name": "CONFORMANCE_SEEN", "value": f"{place.seen} {place.folder}"},
    ]
