"""What nodes of our own are told, and what they take from kind."""

from __future__ import annotations

import json
from pathlib import Path

import kind_files
from kind_cluster import kind_config, node_commands, pod_networks

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
