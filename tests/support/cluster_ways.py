"""Ways from this machine to Services of a cluster that outlive what is done to the cluster.

    with steady_way(kubectl, "service/tidegate-azurite", 10000) as port:
        ...   # the same port, also after the API server was restarted

Rules: a way that breaks is opened again, on its port, for as long as the block lasts; whoever comes
meanwhile is refused, as by any server that is not there.
"""

from __future__ import annotations

import contextlib
import socket
import subprocess
import threading
from collections.abc import Iterator

from support.cluster_kubectl import Kubectl
from support.wait import wait_until
from tidegate_operator.local.ports import free_port

_OPEN_SECONDS = 30.0
_PAUSE_S = 0.3


@contextlib.contextmanager
def steady_way(kubectl: Kubectl, target: str, port: int) -> Iterator[int]:
    """A port of loopback that leads to a Service."""
    here, stop = free_port(), threading.Event()
    command = kubectl.command("port-forward", target, f"{here}:{port}")
    running: list[subprocess.Popen[bytes]] = []

    def keep_open() -> None:
        while not stop.is_set():
            with subprocess.Popen(
                command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            ) as process:
                running[:] = [process]
                if stop.is_set():
                    process.terminate()
            stop.wait(_PAUSE_S)

    thread = threading.Thread(target=keep_open, name=f"way to {target}", daemon=True)
    thread.start()
    try:
        wait_until(lambda: _answers(here), _OPEN_SECONDS, f"the way to {target}")
        yield here
    finally:
        stop.set()
        for process in running:
            process.terminate()
        thread.join(10)


def _answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True
