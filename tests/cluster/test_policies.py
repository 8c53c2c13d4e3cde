"""NetworkPolicies, on a cluster that enforces them: `make test-cluster-policies`.

Rules: what must not get through did get through before, from the same pod; what is refused is a
connection that nothing answers. A cluster that enforces nothing fails here, and is not left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.cluster_conformance import conformance
from support.cluster_group import Group, a_group, groups
from support.cluster_groups import example
from support.cluster_manifests import config_map, deployment, python, service
from support.cluster_release import OPERATOR, Release, event_hubs, ledger
from support.cluster_spark import SMALL
from support.tree import ROOT
from support.wait import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

POLICY = ROOT / "examples" / "networkpolicy.yaml"
OPERATORS, CONSUMERS, ELSEWHERE = 8080, 9090, 9999
ENFORCED_S = 30.0
WAITING = "import signal; signal.pause()"
LISTENING = f"""
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
ThreadingHTTPServer(("", {ELSEWHERE}), SimpleHTTPRequestHandler).serve_forever()
"""
CONNECT = """
import socket, sys
try:
    socket.create_connection((sys.argv[1], int(sys.argv[2])), 2).close()
except TimeoutError:
    print("nothing answers")
except ConnectionRefusedError:
    print("refused")
else:
    print("through")
"""


@pytest.fixture(scope="module", autouse=True)
def others(release: Release) -> Iterator[None]:
    """Pods that are nobody to Tidegate: two that ask, one that listens."""
    names = ("stranger", "friend", "elsewhere")
    release.inside.apply(
        deployment("stranger", python(WAITING)),
        deployment("friend", python(WAITING)),
        deployment("elsewhere", python(LISTENING)),
        service("elsewhere", ELSEWHERE),
    )
    release.inside.wait_until_ready(*names)
    asked = (release, "deployment/stranger", "elsewhere", ELSEWHERE)
    wait_until(lambda: answer(*asked) == "through", ENFORCED_S, "who listens to be reached")
    yield
    release.inside.said("delete", "deployment", *names, "--wait=false")
    release.inside.said("delete", "service", "elsewhere")


def answer(release: Release, who: str, host: str, port: int) -> str:
    """What becomes of a pod's connection to there."""
    return release.inside.said(
        "exec", who, "--", "python", "-c", CONNECT, host, str(port)
    ).strip()  # fmt: skip


def gets_through(release: Release, who: str, host: str, port: int) -> bool:
    """Whether a pod is answered there; nobody refuses a connection that no policy forbids."""
    said = answer(release, who, host, port)
    assert said in ("through", "nothing answers"), said
    return said == "through"


def until_shut(release: Release, who: str, host: str, port: int) -> None:
    what = f"{host}:{port} to be shut to {who}: does this cluster enforce NetworkPolicies?"
    wait_until(lambda: not gets_through(release, who, host, port), ENFORCED_S, what)


def test_only_who_is_named_may_ask_the_operator_for_its_metrics(release: Release) -> None:
    asked = (OPERATOR, OPERATORS)
    for who in ("stranger", "friend"):
        assert gets_through(release, f"deployment/{who}", *asked)
    named = [{"podSelector": {"matchLabels": {"app": "friend"}}}]
    release.change("upgrade", networkPolicy={"metricsFrom": named})
    try:
        until_shut(release, "deployment/stranger", *asked)
        assert gets_through(release, "deployment/friend", *asked)
        # The chart's own test is let in by its name.
        ran = release.helm.tried("test", "tidegate", "--namespace", release.namespace)
        assert ran.returncode == 0, ran.stderr + ran.stdout
    finally:
        release.change("upgrade")
    wait_until(lambda: gets_through(release, "deployment/stranger", *asked), ENFORCED_S,
               "everybody to be let in again")  # fmt: skip


def test_the_operator_gets_through_to_nothing_but_what_its_policy_names(release: Release) -> None:
    operator = f"deployment/{OPERATOR}"
    assert gets_through(release, "deployment/stranger", "elsewhere", ELSEWHERE)
    until_shut(release, operator, "elsewhere", ELSEWHERE)
    assert gets_through(release, operator, "tidegate-hub", 5672)
    assert gets_through(release, operator, "kubernetes.default", 443)


def test_a_group_reads_behind_its_policy_and_gets_through_to_nothing_else(release: Release) -> None:
    counting = "async def handle(events, context):\n    print('handled', len(events), flush=True)\n"
    release.inside.apply(config_map("behind", {"behind.py": counting}))
    handler = {"configMap": "behind", "code": "behind.py:handle"}
    with a_group(release, "behind", hub="words", handler=handler, replicas=1) as group:
        group.until_settled(1, 60)
        (first,) = group.pod_names()
        address = release.inside.read("pod", first)["status"]["podIP"]
        assert gets_through(release, f"pod/{first}", "elsewhere", ELSEWHERE)
        assert gets_through(release, "deployment/stranger", address, CONSUMERS)
        release.inside.said("apply", "--filename", str(POLICY))
        try:
            until_shut(release, f"pod/{first}", "elsewhere", ELSEWHERE)
            until_shut(release, "deployment/stranger", address, CONSUMERS)
            # Its connections are there already: those of another pod are all made behind it.
            group.scale(2)
            group.until_settled(2, 60)
            release.send("words", 100)
            group.until("all to be handled", lambda: handled(release, group) >= 100, 30)
            for pod in group.pod_names():
                assert not gets_through(release, f"pod/{pod}", "elsewhere", ELSEWHERE)
            assert gets_through(release, f"pod/{first}", address, CONSUMERS)
        finally:
            release.inside.said("delete", "--filename", str(POLICY))


def test_a_driver_and_its_executors_are_made_and_read_behind_it(release: Release) -> None:
    counting = "def pipeline(df, context):\n    print(df.count(), flush=True)\n"
    release.inside.apply(config_map("first-pipeline", {"pipeline.py": counting}))
    document = example("spark.yaml")
    document["spec"] |= {
        "source": event_hubs("first"), "ledger": ledger("policed"), "spark": SMALL, "replicas": 2,
        "handler": {"configMap": "first-pipeline", "code": "pipeline.py:pipeline"},
    }  # fmt: skip
    release.send("first", 400)
    release.inside.said("apply", "--filename", str(POLICY))
    try:
        with groups(release, document) as (group,):
            group.until("two executors", lambda: group.status().get("ready") == "2/2", 180)
            group.until("all to be handled", lambda: group.status().get("lag") == 0, 60)
            assert (group.status()["spark"].get("lastBatch") or {}).get("events")
    finally:
        release.inside.said("delete", "--filename", str(POLICY))


def handled(release: Release, group: Group) -> int:
    lines = [
        line for pod in group.pod_names() for line in release.inside.log(f"pod/{pod}").splitlines()
    ]
    return sum(int(line.split()[1]) for line in lines if line.startswith("handled "))


def test_conformance_says_that_policies_are_enforced(
    release: Release, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = conformance(release, tmp_path, "--minutes", "1", "--seed", "1", "--only", "shut")
    with capsys.disabled():
        print(f"\n{ran.told}\n{ran.said}")
    assert ran.code == 0, ran.said + ran.told
    assert ran.outcome("NP") == "held", ran.said
