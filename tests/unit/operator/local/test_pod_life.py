"""What a pod's status says of its process, and when it is started again."""

from __future__ import annotations

import pytest

from tidegate_operator.breaks import back_off_s
from tidegate_operator.facts import pod_facts
from tidegate_operator.kinds import Document
from tidegate_operator.local.pod_life import Life, Probe

AT = 1_700_000_000.75


def pod_of(life: Life) -> Document:
    return {"metadata": {"name": "a"}, "spec": {"nodeName": "here"}, "status": life.status()}


def test_the_operator_reads_of_a_process_what_it_reads_of_a_container() -> None:
    life = Life()
    facts = pod_facts(pod_of(life))
    assert (facts.phase, facts.is_scheduled, facts.container.running) == ("Pending", True, None)
    life = life.started(AT)
    facts = pod_facts(pod_of(life))
    assert facts.phase == "Running" and not facts.is_ready
    assert facts.container.running is not None and facts.container.running.since == int(AT)
    assert pod_facts(pod_of(life.now_ready(True))).is_ready
    ended = pod_facts(pod_of(life.now_ready(True).ended(AT + 5, 78, "HandlerNotImported: x")))
    assert not ended.is_ready and ended.container.running is None
    end = ended.container.last_end
    assert end is not None
    assert (end.began, end.ended, end.exit_code) == (int(AT), int(AT + 5), 78)
    assert end.message == "HandlerNotImported: x"


def test_a_kill_is_the_exit_code_that_a_shell_would_say() -> None:
    end = pod_facts(pod_of(Life().started(AT).ended(AT, -9, ""))).container.last_end
    assert end is not None and end.exit_code == 137


def test_who_ends_once_is_started_at_once_and_who_ends_again_and_again_rests_longer() -> None:
    life, rests = Life(), []
    for _ in range(9):
        life = life.started(AT).ended(AT + 1, 1, "")
        rests.append(life.rest_s)
    assert rests == [0, 1, 2, 4, 8, 16, 30, 30, 30]
    assert life.restarts == 8
    life = life.started(AT).ended(AT + 61, 1, "")
    assert life.rest_s == 0, "it ran well in between"


def test_the_rest_is_said_as_the_operator_reads_it() -> None:
    life = Life()
    for _ in range(5):
        life = life.started(AT).ended(AT + 1, 1, "")
    facts = pod_facts(pod_of(life.resting("a")))
    assert back_off_s(facts) == life.rest_s == 8


def test_what_cannot_be_made_says_why() -> None:
    facts = pod_facts(pod_of(Life().not_made("Secret 'x' is not there")))
    assert facts.container.waiting == "CreateContainerConfigError"
    assert facts.container.waiting_message == "Secret 'x' is not there"


def test_a_probe_is_lost_when_nothing_has_answered_for_as_long_as_is_allowed() -> None:
    said = {"p": {"httpGet": {"path": "/x"}, "periodSeconds": 10, "failureThreshold": 3}}
    probe = Probe.of(said, "p")
    assert probe is not None
    probe = probe.heard(0, is_good=False).heard(29, is_good=False)
    assert not probe.is_lost and not probe.is_good
    assert probe.heard(30, is_good=False).is_lost
    assert not probe.heard(30, is_good=True).heard(31, is_good=False).is_lost


@pytest.mark.parametrize("said", [{}, {"p": {"exec": {}}}])
def test_what_is_not_asked_over_http_is_not_asked(said: Document) -> None:
    assert Probe.of(said, "p") is None
