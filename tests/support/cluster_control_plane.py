"""A bare control plane: etcd, the API server and the controller manager, as plain processes.

It answers in seconds, and several can run at once. Nothing runs a pod on it: it is for schemas,
rules, permissions, status and leases. State is in one folder and is gone with it.

Rules: it listens on free ports of loopback only; it is ready when the controllers have given the
default namespace its ServiceAccount; its processes are ended by their own ids.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import secrets
import ssl
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from support.cluster_kubectl import Kubectl
from support.wait import wait_until
from tidegate_operator.local.ports import free_port

READY_SECONDS = 60.0
HOST = "127.0.0.1"
SIGNED_BY = "https://kubernetes.default.svc"


@contextlib.contextmanager
def bare_control_plane(
    programs: Path, folder: Path, options: Sequence[str] = ()
) -> Iterator[Kubectl]:
    """Start one from the folder of Kubernetes' programs; its state goes to the other folder.

    `options` are more of the API server's own.
    """
    folder.mkdir(parents=True)
    running: dict[str, subprocess.Popen[bytes]] = {}

    def start(program: str, *arguments: str) -> None:
        with (folder / f"{program}.log").open("wb") as output:
            running[program] = subprocess.Popen(
                [str(programs / program), *arguments], stdout=output, stderr=subprocess.STDOUT,
                cwd=folder,
            )  # fmt: skip

    def ended() -> str:
        """The last words of those that should run and do not."""
        names = [name for name, process in running.items() if process.poll() is not None]
        return "\n".join((folder / f"{name}.log").read_text()[-1500:] for name in names)

    try:
        token = secrets.token_hex(16)
        _write_keys(folder, token)
        stores, peers, answers, tells = (free_port() for _ in range(4))
        start("etcd", *_etcd(folder, stores, peers))
        start("kube-apiserver", *_api_server(folder, stores, answers), *options)
        kubeconfig = _write_kubeconfig(folder, answers, token)
        wait_until(
            lambda: ended() or _is_ready(folder, answers, token), READY_SECONDS, "the API", ended
        )
        # Only now: controllers that find no API wait for seconds before they ask again.
        start("kube-controller-manager", *_controllers(folder, kubeconfig, tells))
        kubectl = Kubectl(programs / "kubectl", kubeconfig)
        path = "/api/v1/namespaces/default/serviceaccounts/default"
        wait_until(
            lambda: ended() or _answers(folder, answers, token, path),
            READY_SECONDS,
            "the controllers",
            ended,
        )
        assert not ended(), ended()
        yield kubectl
    finally:
        for process in running.values():
            process.kill()  # its state goes anyway, and a gentle stop takes up to 20 s
        for process in running.values():
            process.wait()


def _write_keys(folder: Path, token: str) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )
    (folder / "accounts.key").write_bytes(private)
    (folder / "tokens").write_text(f"{token},admin,admin,system:masters\n")


def _etcd(folder: Path, stores: int, peers: int) -> list[str]:
    here = f"http://{HOST}:{stores}"
    return [
        "--data-dir", str(folder / "etcd"), "--unsafe-no-fsync", "--log-level", "warn",
        "--listen-client-urls", here, "--advertise-client-urls", here,
        "--listen-peer-urls", f"http://{HOST}:{peers}",
    ]  # fmt: skip


def _api_server(folder: Path, stores: int, answers: int) -> list[str]:
    return [
        "--etcd-servers", f"http://{HOST}:{stores}", "--bind-address", HOST,
        "--secure-port", str(answers), "--cert-dir", str(folder / "certificates"),
        "--token-auth-file", str(folder / "tokens"), "--authorization-mode", "RBAC",
        "--service-cluster-ip-range", "10.0.0.0/24", "--service-account-issuer", SIGNED_BY,
        "--service-account-key-file", str(folder / "accounts.key"),
        "--service-account-signing-key-file", str(folder / "accounts.key"),
    ]  # fmt: skip


def _controllers(folder: Path, kubeconfig: Path, tells: int) -> list[str]:
    return [
        "--kubeconfig", str(kubeconfig), "--leader-elect=false", "--bind-address", HOST,
        "--secure-port", str(tells), "--controllers", "*,-node-lifecycle-controller",
        "--service-account-private-key-file", str(folder / "accounts.key"),
        "--kube-api-qps", "500", "--kube-api-burst", "1000",
    ]  # fmt: skip


def _write_kubeconfig(folder: Path, answers: int, token: str) -> Path:
    name = "bare"
    certificate = str(folder / "certificates" / "apiserver.crt")
    cluster = {"server": f"https://{HOST}:{answers}", "certificate-authority": certificate}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [{"name": name, "user": {"token": token}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    }
    path = folder / "kubeconfig"
    path.write_text(json.dumps(config), encoding="utf-8")
    return path


def _is_ready(folder: Path, answers: int, token: str) -> bool:
    return _answers(folder, answers, token, "/readyz")


def _answers(folder: Path, answers: int, token: str, path: str) -> bool:
    certificate = folder / "certificates" / "apiserver.crt"
    if not certificate.exists():
        return False
    connection: http.client.HTTPSConnection | None = None
    try:
        trusted = ssl.create_default_context(cafile=str(certificate))
        connection = http.client.HTTPSConnection(HOST, answers, timeout=2, context=trusted)
        connection.request("GET", path, headers={"Authorization": f"Bearer {token}"})
        return connection.getresponse().status == 200
    except OSError:  # not listening yet, or half of a certificate: asked again until the deadline
        return False
    finally:
        if connection is not None:
            connection.close()
