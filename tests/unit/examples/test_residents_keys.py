"""The keys of the links: a file that its owner alone may read."""

from __future__ import annotations

from pathlib import Path

import pytest

from residents.__main__ import main


def test_a_new_key_is_for_its_owner_alone_and_overwrites_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "keys"
    assert main(["key", "--to", str(file)]) == 0
    assert file.stat().st_mode & 0o777 == 0o600
    assert capsys.readouterr().out == "", "it is printed nowhere"
    text = file.read_text(encoding="utf-8")
    assert main(["key", "--to", str(file)]) == 78
    assert file.read_text(encoding="utf-8") == text
    assert main(["link", "home-000017", "--key-file", str(file)]) == 0
    assert "/h/" in capsys.readouterr().out


def test_a_file_of_keys_that_everybody_may_read_is_refused_with_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "keys"
    assert main(["key", "--to", str(file)]) == 0
    file.chmod(0o644)
    assert main(["link", "home-000017", "--key-file", str(file)]) == 78
    said = capsys.readouterr()
    assert f"chmod 600 {file}" in said.err
    assert file.read_text(encoding="utf-8").strip() not in said.err
    # As a Secret in a pod can be mounted: for its group.
    file.chmod(0o440)
    assert main(["link", "home-000017", "--key-file", str(file)]) == 0
