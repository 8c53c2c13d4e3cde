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


def dict_in(what: str, found: object) -> Document:
    """A part of a document that has keys; empty if it is missing. Raises Unreachable."""
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise silence(what, "what answers at its address is something else")
    return found


def items_in(what: str, answer: Document) -> list[Document]:
    """The objects of a list, each with the metadata that all objects have. Raises Unreachable."""
    dict_in(what, answer.get("metadata"))
    found = answer.get("items")
    if not isinstance(found, list | None):
        raise silence(what, "what answers at its address is no list")
    for each in found or ():
        checked(what, each)
    return found or []


def checked(what: str, found: object, *, is_read: bool = True) -> Document:
    """An object whose metadata are of the types that the API gives them; one that is read has
    metadata. Raises Unreachable."""
    document = dict_in(what, found)
    metadata = dict_in(what, document.get("metadata"))
    texts = (metadata.get(key, "") for key in ("name", "namespace", "uid", "resourceVersion"))
    maps = (metadata.get(key) for key in ("labels", "annotations"))
    owners = metadata.get("ownerReferences")
    if not (
        (metadata or not is_read)
        and all(isinstance(text, str) for text in texts)
        and all(isinstance(each, dict | None) for each in maps)
        and isinstance(owners, list | None)
        and all(isinstance(each, dict) for each in owners or ())
        and all(isinstance(document.get(key), dict | None) for key in ("spec", "status"))
    ):
        raise silence(what, "what answers at its address is no object of the API")
    return document


def words_of(problem: Exception) -> str:
    if isinstance(problem, ApiException):  # TLS, as the client tells it
        return str(problem.reason).replace("\n", ": ")
    return f"{type(problem).__name__}: {problem}"
