"""What the Kubernetes API answered: a document, or what went wrong on the way, in words."""

from __future__ import annotations

import json

from kubernetes.client.exceptions import ApiException

from tidegate_operator.kinds import Document
from tidegate_operator.kube_errors import silence


def document_in(what: str, answer: bytes) -> Document:
    # What cannot be read is in ValueError's own words, so that it is no cause of ours.
    try:
        found = json.loads(answer)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise silence(what, "what answers at its address is something else")
    return found


def words_of(problem: Exception) -> str:
    if isinstance(problem, ApiException):  # TLS, as the client tells it
        return str(problem.reason).replace("\n", ": ")
    return f"{type(problem).__name__}: {problem}"
