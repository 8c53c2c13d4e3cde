"""The test of a release, in a pod: the API server has the kind, and an operator is ready.

Rules: the standard library alone; what is wrong is one line, and the exit code is 1.
"""

from __future__ import annotations

import json
import os
import ssl
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
KINDS = "/apis/tidegate.dev/v1alpha1"
READY_S = 60.0


def said_by(url: str, token: str = "", trusted: ssl.SSLContext | None = None) -> bytes:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    request = urllib.request.Request(url, headers=headers)
    with urllib.request.urlopen(request, timeout=5, context=trusted) as answer:
        body: bytes = answer.read()
    return body


def has_kind() -> str:
    """Whether the API server knows groups: what is wrong, or nothing."""
    token = (ACCOUNT / "token").read_text(encoding="utf-8")
    trusted = ssl.create_default_context(cafile=str(ACCOUNT / "ca.crt"))
    host, port = os.environ["KUBERNETES_SERVICE_HOST"], os.environ["KUBERNETES_SERVICE_PORT"]
    host = f"[{host}]" if ":" in host else host
    try:
        found = json.loads(said_by(f"https://{host}:{port}{KINDS}", token, trusted))
    except urllib.error.HTTPError as error:
        return (
            f"the API server answers {error.code} to {KINDS}: "
            "apply the chart's crds/consumergroups.yaml"
        )
    except OSError as error:
        return f"the API server cannot be asked: {error}"
    kinds = {each["name"] for each in found["resources"]}
    missing = {"consumergroups", "consumergroups/status", "consumergroups/scale"} - kinds
    return f"the API server has no {', '.join(sorted(missing))}" if missing else ""


def is_ready() -> str:
    """Whether the operator is ready: what is wrong, or nothing."""
    try:
        said_by(f"{os.environ['OPERATOR']}/readyz")
    except urllib.error.HTTPError as error:
        said = error.read().decode(errors="replace").strip()
        return f"the operator is not ready: {said}"
    except OSError as error:
        return f"the operator cannot be reached at {os.environ['OPERATOR']}: {error}"
    return ""


def main() -> int:
    until = time.monotonic() + READY_S
    while problem := has_kind() or is_ready():
        if time.monotonic() > until:
            print(problem, file=sys.stderr)
            return 1
        time.sleep(1)
    print("the API server has the kind, and the operator is ready")
    return 0


if __name__ == "__main__":
    sys.exit(main())
