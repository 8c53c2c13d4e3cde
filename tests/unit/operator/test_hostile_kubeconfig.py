"""A kubeconfig, or a group file, that is none: one line for people, and never a traceback."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidegate.settings import SettingsError
from tidegate_operator.conformance.command import _document
from tidegate_operator.kube import connect
from tidegate_operator.kube_errors import Denied
from tidegate_operator.plugin.kubeconfig import _namespace

BOMB = "\n".join(
    ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 10)]
)
KUBECONFIGS = {
    "empty": "",
    "no map": "- 1",
    "a number": "5",
    "no YAML": "a: [",
    "deep": "a: " + "[" * 5_000,
    "bomb": BOMB,
    "contexts are a number": "contexts: 5\ncurrent-context: a\nclusters: []\nusers: []",
    "contexts of numbers": "contexts: [1]\ncurrent-context: a\nclusters: []\nusers: []",
    "contexts without names": "contexts: [{}]\ncurrent-context: a\nclusters: []\nusers: []",
    "a context of null": "contexts: [{name: a, context: null}]\ncurrent-context: a\n"
    "clusters: []\nusers: []",
    "not UTF-8": "a: \udcff",
    "control characters": "a: \x01",
}


@pytest.mark.parametrize("kind", KUBECONFIGS)
def test_a_kubeconfig_that_is_none_is_said(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text(KUBECONFIGS[kind], encoding="utf-8", errors="surrogateescape")
    with pytest.raises(Denied, match=r"cannot be read|has no context"):
        _namespace(str(path), "other")
    with pytest.raises(Denied, match="no cluster to connect to"):
        connect(kubeconfig=str(path), context="a")


@pytest.mark.parametrize("text", [BOMB, "a: " + "[" * 5_000, "a: [", "\x01", "- 1", "5", ""])
def test_a_group_file_for_conformance_that_is_none_is_said(text: str, tmp_path: Path) -> None:
    path = tmp_path / "group.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SettingsError, match=r"group\.yaml"):
        _document(path)
