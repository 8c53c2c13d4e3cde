"""Starting and stopping a hub within a process, as the pytest fixture does."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

from support.amqp_peer import Peer, SocketLine
from support.certificates import make_certificates
from support.hub_messages import data
from tidegate_amqp import Accepted
from tidegate_hub.config import HubSpec
from tidegate_hub.fault_json import FaultError
from tidegate_hub.server import StartError
from tidegate_hub.storage.errors import StorageLocked
from tidegate_hub.testing import RunningHub, running_hub


def send(hub: RunningHub, address: str) -> bool:
    with Peer(SocketLine(hub.port)) as peer:
        return bool(peer.publish(peer.attach_sender(address), data(b"x")) == Accepted())


def test_a_hub_that_cannot_listen_leaves_its_data_free(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with (
            pytest.raises(StartError, match=f"cannot listen on 127.0.0.1:{port}"),
            running_hub(data=tmp_path, port=port),
        ):
            pass
    with running_hub(data=tmp_path) as hub:
        hub.add_hub("telemetry", 1)
        assert send(hub, "telemetry")


def test_a_hub_without_its_certificate_leaves_its_port_free(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    missing = tmp_path / "missing.pem"
    with (
        pytest.raises(StartError, match=r"cannot use .*missing\.pem"),
        running_hub(port=port, tls_port=0, certificate=missing, private_key=missing),
    ):
        pass
    with running_hub(port=port) as hub:
        assert hub.port == port


def test_a_key_with_a_password_is_refused_and_nobody_is_asked_for_it(tmp_path: Path) -> None:
    made = make_certificates(tmp_path)
    key = load_pem_private_key(made.private_key.read_bytes(), None)
    made.private_key.write_bytes(
        key.private_bytes(
            Encoding.PEM, PrivateFormat.TraditionalOpenSSL, BestAvailableEncryption(b"sesame")
        )
    )
    with (
        pytest.raises(StartError, match=r"key\.pem is encrypted with a password"),
        running_hub(tls_port=0, certificate=made.certificate, private_key=made.private_key),
    ):
        pass


def test_the_default_hub_is_made_only_where_there_is_no_other(tmp_path: Path) -> None:
    default = (HubSpec("telemetry", 2),)
    with running_hub(default_hubs=default) as hub:
        assert send(hub, "telemetry/Partitions/1")
    with running_hub(data=tmp_path, hubs=(HubSpec("other", 1),)):
        pass
    with (
        running_hub(data=tmp_path, default_hubs=default) as hub,
        Peer(SocketLine(hub.port)) as peer,
    ):
        assert peer.refusal(peer.attach_sender("telemetry")).condition == "amqp:not-found"


def test_two_hubs_run_beside_each_other(tmp_path: Path) -> None:
    with running_hub() as one, running_hub(data=tmp_path) as other:
        for hub in (one, other):
            hub.add_hub("telemetry", 1)
        assert send(one, "telemetry")
        assert one.range_of("telemetry", "0") == (0, 1)
        assert other.range_of("telemetry", "0") == (0, 0)


def test_a_directory_belongs_to_one_hub_at_a_time(tmp_path: Path) -> None:
    with (
        running_hub(data=tmp_path),
        pytest.raises(StorageLocked, match="is in use by another tidegate-hub"),
        running_hub(data=tmp_path),
    ):
        pass


def test_hubs_that_are_declared_are_there_at_the_start(tmp_path: Path) -> None:
    hubs = (HubSpec("telemetry", 3, ("analytics",)),)
    with running_hub(hubs=hubs, data=tmp_path) as hub:
        assert send(hub, "telemetry/Partitions/2")
    with running_hub(data=tmp_path) as again:
        assert again.range_of("telemetry", "2") == (0, 1)


def test_a_hub_that_was_grown_stays_so(tmp_path: Path) -> None:
    with running_hub(data=tmp_path) as hub:
        hub.add_hub("telemetry", 1)
        hub.grow_hub("telemetry", 4)
        assert send(hub, "telemetry/Partitions/3")
    with running_hub(data=tmp_path) as again:
        again.add_hub("telemetry", 2, ["late"])
        assert again.range_of("telemetry", "3") == (0, 1)


def test_a_misspelt_fault_is_refused_by_the_fixture() -> None:
    with running_hub() as hub:
        with pytest.raises(FaultError, match="kind: expected one of server_busy"):
            hub.inject("server_bussy")
        with pytest.raises(FaultError, match="parameters: expected only on, wait_seconds"):
            hub.inject("server_busy", wait=3)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "0.0.0.0"])
def test_the_connection_string_names_a_host_that_clients_can_reach(host: str) -> None:
    with running_hub(host=host) as hub:
        assert hub.connection_string.startswith(f"Endpoint=sb://localhost:{hub.port};")
        assert hub.connection_string.endswith(";UseDevelopmentEmulator=true")
