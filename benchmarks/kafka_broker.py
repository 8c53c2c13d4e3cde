"""A Kafka broker of its own jars, in a process of its own, for librdkafka to read from.

Rules: where the jars are not set up, `missing` says why and nothing is started; the broker listens
on loopback alone, plain and over TLS, and its folder goes with it.
"""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
import tempfile
import time
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from support.certificates import Certificates
from tidegate_operator.local.ports import free_port

JARS = Path(__file__).resolve().parents[1] / ".tools" / "kafka" / "lib"
READY_LIMIT_S = 60.0
STOP_LIMIT_S = 30.0


@dataclass(frozen=True, slots=True)
class Broker:
    """A broker that runs, with and without TLS."""

    plain: str
    tls: str
    ca_file: Path

    def address(self, transport: str) -> str:
        return self.tls if transport == "TLS" else self.plain


def missing() -> str | None:
    """Why there is no broker here, or None."""
    if not JARS.is_dir():
        return "Kafka's jars are not set up: they want Java 17 and Maven"
    return None if shutil.which("java") else "there is no Java to run Kafka's jars with"


@contextlib.contextmanager
def broker(made: Certificates) -> Iterator[Broker]:
    """A broker of one node, empty at first."""
    with tempfile.TemporaryDirectory(prefix="bench-kafka-") as name:
        folder = Path(name)
        plain, tls, control = (f"127.0.0.1:{free_port()}" for _ in range(3))
        settings = folder / "broker.properties"
        settings.write_text(_settings(folder, plain, tls, control, made), encoding="utf-8")
        cluster = urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        _java("kafka.tools.StorageTool", "format", "-t", cluster, "-c", str(settings)).wait()
        process = _java("kafka.Kafka", str(settings))
        try:
            _wait_until_it_listens(process, plain)
            yield Broker(plain, tls, made.authority)
        finally:
            process.terminate()
            process.wait(STOP_LIMIT_S)


def fill(broker: Broker, hub: str, partitions: int, size: int, events: int) -> None:
    """Stores so many events, in partitions of equal length."""
    from confluent_kafka import Producer  # noqa: PLC0415 - only where there is a broker
    from confluent_kafka.admin import AdminClient  # noqa: PLC0415
    from confluent_kafka.cimpl import NewTopic  # noqa: PLC0415

    admin = AdminClient({"bootstrap.servers": broker.plain})
    for made in admin.create_topics([NewTopic(hub, partitions)]).values():
        made.result()
    producer = Producer({"bootstrap.servers": broker.plain, "linger.ms": 50, "acks": 1})
    body = bytes(size)
    for number in range(events):
        while True:
            try:
                producer.produce(hub, body, partition=number % partitions)
                break
            except BufferError:  # its queue is full: it is given time to send
                producer.poll(0.1)
    left = producer.flush(STOP_LIMIT_S)
    if left:
        raise TimeoutError(f"{left} events were not stored within {STOP_LIMIT_S:.0f} s")


def _settings(folder: Path, plain: str, tls: str, control: str, made: Certificates) -> str:
    # A PEM file as the value of a property: its lines are one.
    chain = "\\n".join(made.certificate.read_text(encoding="utf-8").splitlines())
    key = "\\n".join(made.private_key.read_text(encoding="utf-8").splitlines())
    return f"""\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@{control}
controller.listener.names=CONTROL
listeners=PLAINTEXT://{plain},SSL://{tls},CONTROL://{control}
advertised.listeners=PLAINTEXT://{plain},SSL://{tls}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,SSL:SSL,CONTROL:PLAINTEXT
inter.broker.listener.name=PLAINTEXT
log.dirs={folder / "data"}
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
ssl.keystore.type=PEM
ssl.keystore.certificate.chain={chain}
ssl.keystore.key={key}
"""


def _java(program: str, *arguments: str) -> subprocess.Popen[bytes]:
    command = ["java", "-Xmx1g", "-cp", str(JARS / "*"), program, *arguments]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _wait_until_it_listens(process: subprocess.Popen[bytes], address: str) -> None:
    host, _, port = address.partition(":")
    deadline = time.monotonic() + READY_LIMIT_S
    while time.monotonic() < deadline:
        with contextlib.suppress(ConnectionRefusedError):
            socket.create_connection((host, int(port))).close()
            return
        if process.poll() is not None:
            raise ChildProcessError(f"Kafka ended with {process.returncode}")
        time.sleep(0.1)
    raise TimeoutError(f"Kafka did not listen on {address} within {READY_LIMIT_S:.0f} s")
