"""What nodes of our own are told, and what they take from kind."""

from __future__ import annotations

import json
from pathlib import Path

import kind_files
from kind_cluster import Cluster, Tools, kind_config, late_pods, node_commands, pod_networks
from store import Store
from support.quiet_engine import QuietEngine

SOURCE = """
const storageProvisionerImage = "registry.example/provisioner:v1"
const storageHelperImage = "registry.example/helper:v2"
const defaultStorageManifest = `
image: ` + storageProvisionerImage + `
args: [` + storageHelperImage + `]
---
last: line
`
"""
NODES = {
    "items": [
        {
            "metadata": {"name": name},
            "spec": {"podCIDR": network},
            "status": {
                "addresses": [
                    {"type": "Hostname", "address": name},
                    {"type": "InternalIP", "address": address},
                ]
            },
        }
        for name, address, network in (
            ("first", "172.18.0.2", "10.244.0.0/24"),
            ("second", "172.18.0.3", "10.244.1.0/24"),
        )
    ]
}
ANSWER = f"""case "$*" in *"get pods"*) echo '{{"items": []}}'; exit;; esac
cat <<'END'\n{json.dumps(NODES)}\nEND
"""


def test_each_node_has_a_way_to_the_pods_of_the_others() -> None:
    networks = pod_networks(NODES)
    route, _ = node_commands("first", networks)
    assert route == "ip route replace 10.244.1.0/24 via 172.18.0.3"
    route, _ = node_commands("second", networks)
    assert route == "ip route replace 10.244.0.0/24 via 172.18.0.2"


def test_each_node_gives_its_pods_addresses_of_its_own_network() -> None:
    (*_, command) = node_commands("second", pod_networks(NODES))
    config = json.loads(command.partition("echo '")[2].partition("'")[0])
    assert config["plugins"][0]["ipam"]["ranges"] == [[{"subnet": "10.244.1.0/24"}]]


def test_nodes_that_were_started_again_find_each_others_pods_again(tmp_path: Path) -> None:
    kubectl = tmp_path / "kubectl"
    kubectl.write_text(f"#!/bin/sh\n{ANSWER}")
    kubectl.chmod(0o755)
    store, engine = Store(tmp_path), QuietEngine({}, True, tmp_path)
    store.logs.mkdir(exist_ok=True)
    cluster = Cluster("mine", engine, store)
    cluster.kubeconfig.parent.mkdir()
    cluster.kubeconfig.write_text("")
    cluster.create(Tools(tmp_path / "kind", kubectl, "node"), 2)
    said = [" ".join(each) for each in engine.done]
    assert "exec first sh -ec ip route replace 10.244.1.0/24 via 172.18.0.3" in said
    assert "exec second sh -ec ip route replace 10.244.0.0/24 via 172.18.0.2" in said


def test_a_cluster_is_used_once_it_says_itself_that_it_is_ready(tmp_path: Path) -> None:
    """Its API server refuses everybody for a moment after a start: `nodes is forbidden`."""
    asked = tmp_path / "asked"
    kubectl = tmp_path / "kubectl"
    kubectl.write_text(
        f"""#!/bin/sh
        case "$*" in *readyz*) echo once more >> {asked}; [ $(wc -l < {asked}) -ge 3 ]; exit;; esac
        [ $(wc -l < {asked}) -ge 3 ] || {{ echo forbidden >&2; exit 1; }}
        {ANSWER}"""
    )
    kubectl.chmod(0o755)
    store = Store(tmp_path)
    store.logs.mkdir(exist_ok=True)
    cluster = Cluster("mine", QuietEngine({}, True, tmp_path), store)
    cluster.kubeconfig.parent.mkdir()
    cluster.kubeconfig.write_text("")
    cluster.create(Tools(tmp_path / "kind", kubectl, "node"), 2)
    assert asked.read_text().count("once more") >= 3


def _pod(began: str, is_ready: bool = True) -> dict[str, object]:
    status = {"ready": is_ready, "state": {"running": {"startedAt": began}}}
    return {"metadata": {"name": began}, "status": {"containerStatuses": [status]}}


def test_what_ran_before_its_node_was_started_again_is_not_taken_for_ready() -> None:
    before, after = "2026-11-19T19:48:46Z", "2026-11-19T19:48:48Z"
    began = "2026-11-19T19:48:47.86Z"
    assert late_pods({"items": [_pod(before), _pod(after)]}, began) == [before]
    assert late_pods({"items": [_pod(after, is_ready=False)]}, began) == [after]
    nowhere = {"metadata": {"name": "new"}, "status": {}}
    assert late_pods({"items": [nowhere]}, began) == ["new"]


def test_the_first_node_has_the_control_plane() -> None:
    config = json.loads(kind_config(3, own_network=True))
    assert [node["role"] for node in config["nodes"]] == ["control-plane", "worker", "worker"]
    assert config["networking"] == {"disableDefaultCNI": True}


def test_the_manifest_of_kinds_storage_is_read_with_its_images() -> None:
    assert kind_files.storage_manifest(SOURCE) == (
        "image: registry.example/provisioner:v1\nargs: [registry.example/helper:v2]\n"
        "---\nlast: line\n"
    )
    assert list(kind_files.storage_images(SOURCE).values()) == [
        "registry.example/provisioner:v1",
        "registry.example/helper:v2",
    ]


def test_kinds_files_are_laid_out_as_in_a_node(tmp_path: Path) -> None:
    module, target = tmp_path / "module", tmp_path / "target"
    for name in ("usr/local/bin/entrypoint", "etc/containerd/config.toml", "LICENSES/README.txt"):
        path = module / kind_files.FILES / name
        path.parent.mkdir(parents=True)
        path.write_text(name)
        path.chmod(0o444)
    (module / kind_files.FILES / "kind").mkdir()
    storage = module / kind_files.STORAGE_SOURCE
    storage.parent.mkdir(parents=True)
    storage.write_text(SOURCE)
    target.mkdir()
    kind_files.take(module, target)
    root = target / "root"
    assert (root / "usr/local/bin/entrypoint").stat().st_mode & 0o777 == 0o755
    assert (root / "etc/containerd/config.toml").stat().st_mode & 0o777 == 0o644
    assert "provisioner:v1" in (root / "kind/manifests/default-storage.yaml").read_text()
    assert not (root / "LICENSES").exists()
