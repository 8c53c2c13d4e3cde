"""Whatever answers at the address of the API server is a document, or an error in words."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tidegate_operator.executors import note_of
from tidegate_operator.facts import pod_facts
from tidegate_operator.kube_answers import document_in
from tidegate_operator.kube_errors import KubeError, Unreachable, refusal
from tidegate_operator.outside import outside_of
from tidegate_operator.page.shown import ready_of
from tidegate_operator.pod_nouns import DriverNote, SparkMarks

NESTED = b"[" * 100_000


def test_an_answer_that_nests_without_end_is_none_of_the_api() -> None:
    with pytest.raises(Unreachable, match="something else"):
        document_in("get it", NESTED)
    assert isinstance(refusal("get it", 403, NESTED), KubeError)


@pytest.mark.parametrize("details", [5, "a", {"causes": 5}, {"causes": [5]}])
@pytest.mark.parametrize("status", [404, 422])
def test_details_of_another_form_are_passed_over(details: object, status: int) -> None:
    body = json.dumps({"message": "no", "details": details}).encode()
    assert "no" in str(refusal("get it", status, body))


def test_a_count_that_is_none_is_not_known() -> None:
    status = {"ready": f"{'9' * 5000}/1"}
    assert ready_of(status) is None
    assert outside_of({"metadata": {}, "status": status}).ready is None


@pytest.mark.parametrize(
    "note",
    [
        "[" * 100_000,
        '{"executors":1e999}',
        '{"startedAt":' + "9" * 400 + "}",
        '{"batch":{"at":[]}}',
    ],
)
def test_a_drivers_note_that_is_none_says_nothing(note: str) -> None:
    pod = pod_facts({"metadata": {"name": "counts-driver"}})
    assert note_of(replace(pod, spark=SparkMarks(note=note))) == DriverNote()
