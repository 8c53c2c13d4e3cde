"""The program of `helm test`: what it takes for well, and what it says otherwise."""

from __future__ import annotations

import importlib.util
import io
import json
import ssl
import urllib.error
from collections.abc import Callable
from email.message import Message
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from support.tree import ROOT

KINDS = ("consumergroups", "consumergroups/status", "consumergroups/scale")
Answers = Callable[[str], bytes]


@pytest.fixture
def answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The program, in a pod."""
    path = ROOT / "charts" / "tidegate" / "files" / "answers.py"
    spec = importlib.util.spec_from_file_location("chart_answers", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    (tmp_path / "token").write_text("a-token", encoding="utf-8")
    monkeypatch.setattr(module, "ACCOUNT", tmp_path)
    monkeypatch.setattr(module, "READY_S", 0.0)
    monkeypatch.setattr(ssl, "create_default_context", lambda cafile: None)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "fd00::1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    monkeypatch.setenv("OPERATOR", "http://operator:8080")
    return module


def answering(
    monkeypatch: pytest.MonkeyPatch, module: ModuleType, kinds: tuple[str, ...],
    readyz: Exception | bytes,
) -> list[str]:  # fmt: skip
    """Has the cluster answer so; the list is what it was asked."""
    asked: list[str] = []

    def said_by(url: str, *_: Any) -> bytes:
        asked.append(url)
        if url.endswith("/readyz"):
            if isinstance(readyz, Exception):
                raise readyz
            return readyz
        return json.dumps({"resources": [{"name": kind} for kind in kinds]}).encode()

    monkeypatch.setattr(module, "said_by", said_by)
    return asked


def test_a_kind_and_a_ready_operator_are_all_that_it_wants(
    answers: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = answering(monkeypatch, answers, KINDS, b"ok")
    assert answers.main() == 0
    assert asked == [
        "https://[fd00::1]:443/apis/tidegate.dev/v1alpha1",
        "http://operator:8080/readyz",
    ]


def test_a_kind_without_its_parts_is_named(
    answers: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answering(monkeypatch, answers, KINDS[:2], b"ok")
    assert answers.main() == 1
    assert capsys.readouterr().err == "the API server has no consumergroups/scale\n"


@pytest.mark.parametrize(
    ("readyz", "said"),
    [
        (OSError("refused"), "the operator cannot be reached at http://operator:8080: refused"),
        (
            urllib.error.HTTPError("", 503, "", Message(), io.BytesIO(b"stopping\n")),
            "the operator is not ready: stopping",
        ),
    ],
)
def test_an_operator_that_is_not_ready_is_quoted(
    answers: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    readyz: Exception, said: str,
) -> None:  # fmt: skip
    answering(monkeypatch, answers, KINDS, readyz)
    assert answers.main() == 1
    assert capsys.readouterr().err == f"{said}\n"
