"""Fuzz targets: what the Kubernetes API answers to the operator, and what browsers ask its console.

Rules:
- Whatever answers at the API's address, the operator gets a document or a KubeError.
- Of objects the API server has checked the types and the fields that there must be, and nothing
  else: pods, Deployments and groups with any other values can be read and shown.
- Whatever a browser sends, nobody is let in whom Kubernetes does not know.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import atheris
from aiohttp import web
from multidict import CIMultiDict

from support.fuzzed_documents import document_of, json_seeds
from support.fuzzing import Target, at_once, main
from support.kube_samples import GROUP, NEEDED, OBJECTS, REVIEWS, STATUS

with atheris.instrument_imports(include=["tidegate_operator"]):
    from tidegate_operator import facts
    from tidegate_operator.executors import note_of
    from tidegate_operator.kinds import TOKEN_REVIEW, Document, Kind
    from tidegate_operator.kube_answers import document_in
    from tidegate_operator.kube_errors import KubeError, refusal
    from tidegate_operator.leader import sighting_of, turn_of
    from tidegate_operator.outside import outside_of, why_unknown
    from tidegate_operator.page.admission import COOKIE, ByKubernetes
    from tidegate_operator.page.serving import _check_own
    from tidegate_operator.page.shown import detail_of, row_of
    from tidegate_operator.page.track import Track
    from tidegate_operator.pod_nouns import SparkMarks

NOW = 1_800_000_000.0


def fuzz_kube_objects(data: bytes) -> None:
    document = document_of(data, OBJECTS, keeps_types=True, needed=NEEDED)
    if document is None:
        return
    pod = facts.pod_facts(document)
    note_of(pod)
    if isinstance(document.get("status"), dict) and data[-1] & 1:
        # Whatever a driver's user code has written there.
        note = data[1:].decode("utf-8", "replace")
        note_of(replace(pod, spark=SparkMarks(note=note)))
    facts.group_of(document)
    facts.workload_signs(document)
    facts.newest_revision(document, [document, OBJECTS[0]])
    facts.trimmed(document)
    if isinstance(document.get("spec"), dict):
        turn_of(sighting_of(document, None, NOW), "me", NOW)


_CODES = (400, 401, 403, 404, 409, 410, 412, 413, 415, 422, 429, 500, 503, 302, 418)


def fuzz_kube_answers(data: bytes) -> None:
    """Whatever answers at the address of the API; the first byte says with which status."""
    if len(data) < 2:
        return
    body = data[2:]
    if data[1] & 1:
        body = json.dumps(document_of(data[1:-1] + b"\x00", (STATUS,))).encode()
    found = refusal("get it", _CODES[data[0] % len(_CODES)], body, {"Retry-After": "5"}, NOW)
    assert isinstance(found, KubeError) and str(found)
    with contextlib.suppress(KubeError):
        assert isinstance(document_in("get it", body), dict)


def fuzz_shown_groups(data: bytes) -> None:
    """Groups as the console and /groups show them; all of it is JSON."""
    document = document_of(data, (GROUP,), keeps_types=True, needed=NEEDED)
    if document is None:
        return
    if data[0] & 2:
        json.dumps(detail_of(document))
    else:
        json.dumps([row_of(document), outside_of(document).document()])
        why_unknown(document)
    track = Track()
    track.hear(document, NOW)
    json.dumps(track.samples())


class _Kube:
    """Kubernetes, which knows one token, and says of the others what the input says."""

    def __init__(self, says: Any) -> None:
        self._says = says

    async def review(self, kind: Kind, spec: Mapping[str, Any]) -> Document:
        if kind == TOKEN_REVIEW and spec["token"] == "known":
            return {"authenticated": True, "user": {"username": "anna", "groups": ["staff"]}}
        found: Document = self._says if isinstance(self._says, dict) else {}
        return found


def fuzz_reviews(data: bytes) -> None:
    """What Kubernetes says of a token and of a right: types as its API has them."""
    says = document_of(data, REVIEWS, keeps_types=True)
    admission = ByKubernetes(_Kube(says), lambda: NOW)
    found = at_once(admission.log_in("another"))
    is_known = isinstance(says, dict) and says.get("authenticated") is True
    if not is_known:
        assert found is None
    if found is not None:
        viewer, word = found
        may = at_once(admission.may_see(viewer, "n"))
        assert may is (says.get("allowed") is True and says.get("denied") is not True)
        assert word and word not in repr(viewer)


def fuzz_console_requests(data: bytes) -> None:
    """The headers and the cookie of a browser that nobody knows."""
    headers: CIMultiDict[str] = CIMultiDict({"Host": "localhost"})
    for line in data.decode("latin-1").split("\n"):
        name, _, value = line.partition(":")
        headers.add(name, value.strip())
    cookies = {COOKIE: headers.get("Cookie", "")}
    request: Any = SimpleNamespace(headers=headers, cookies=cookies)
    viewer = at_once(ADMISSION.viewer(request))
    assert viewer is None or headers["Authorization"].endswith("known")
    with contextlib.suppress(web.HTTPForbidden):
        _check_own(request)
        origin = headers.get("Origin")
        assert origin is None or origin.partition("://")[2].lower() == headers["Host"].lower()


ADMISSION = ByKubernetes(_Kube({"authenticated": False}), lambda: NOW)


def seeds(name: str) -> list[bytes]:
    return {
        "kube_objects": json_seeds(OBJECTS),
        "kube_answers": [
            *(bytes((at, 0)) + json.dumps(STATUS).encode() for at in range(len(_CODES))),
            *(b"\x02\x01" + each for each in json_seeds((STATUS,))),
            b"\x00\x00" + b"[" * 1000,
        ],
        "shown_groups": json_seeds((GROUP,)),
        "reviews": json_seeds(REVIEWS),
        "console_requests": [
            b"Authorization: Bearer known",
            b"Cookie: tidegate-console=abc; a=b\nOrigin: http://localhost",
            b"Origin: https://other.example\nSec-Fetch-Site: cross-site",
        ],
    }[name]


TARGETS: dict[str, Target] = {
    "kube_objects": fuzz_kube_objects,
    "kube_answers": fuzz_kube_answers,
    "shown_groups": fuzz_shown_groups,
    "reviews": fuzz_reviews,
    "console_requests": fuzz_console_requests,
}


if __name__ == "__main__":
    main(TARGETS, seeds)
