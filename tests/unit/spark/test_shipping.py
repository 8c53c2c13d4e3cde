"""What goes to the executors: the files of the group, and what the pipeline imported."""

from __future__ import annotations

import shutil
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tidegate.settings import SettingsError
from tidegate.spark.pipelines import load_pipeline
from tidegate.spark.shipping import found_files, kept, make_importable, pack
from tidegate.spark.standalone import executors_of, wanted_in

PIPELINE = """
import shipped_helper
from shipped_package import inner

def pipeline(df, context): ...
"""


@pytest.fixture(autouse=True)
def imports_as_before() -> Iterator[None]:
    paths, modules = list(sys.path), set(sys.modules)
    yield
    sys.path[:] = paths
    for name in set(sys.modules) - modules:
        del sys.modules[name]


def test_what_the_pipeline_imported_from_beside_it_is_packed_by_its_names(tmp_path: Path) -> None:
    for name, text in (
        ("shipped_pipeline.py", PIPELINE),
        ("shipped_helper.py", "import json\n"),
        ("shipped_package/__init__.py", ""),
        ("shipped_package/inner.py", ""),
        ("never_imported.py", ""),
        ("site-packages/installed_here.py", ""),
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    known = frozenset(sys.modules)
    load_pipeline("shipped_pipeline.py:pipeline", tmp_path)
    make_importable([str(tmp_path / "site-packages" / "installed_here.py")])
    __import__("installed_here")
    packed = tmp_path / "packed.zip"
    assert pack(known, tmp_path, packed)
    assert sorted(zipfile.ZipFile(packed).namelist()) == [
        "shipped_helper.py",
        "shipped_package/__init__.py",
        "shipped_package/inner.py",
        "shipped_pipeline.py",
    ]


def test_a_pipeline_that_is_installed_needs_nothing_packed(tmp_path: Path) -> None:
    assert not pack(frozenset(sys.modules), tmp_path, tmp_path / "packed.zip")


def test_files_are_found_beside_the_group_file_and_urls_are_left_as_they_are(
    tmp_path: Path,
) -> None:
    (tmp_path / "rates.csv").touch()
    url = "https://example.org/more.zip"
    assert found_files(["rates.csv", url], tmp_path) == [str(tmp_path / "rates.csv"), url]
    with pytest.raises(SettingsError, match=r"'none\.py': there is no file"):
        found_files(["none.py"], tmp_path)


def test_files_are_kept_for_later_executors_when_a_volume_replaces_its_folder(
    tmp_path: Path,
) -> None:
    volume, old, new = tmp_path / "volume", "..2026_01", "..2026_02"
    for folder in (old, new):
        (volume / folder).mkdir(parents=True)
        (volume / folder / "rates.csv").write_text(folder, encoding="utf-8")
    # As the kubelet lays it out.
    (volume / "..data").symlink_to(old)
    (volume / "rates.csv").symlink_to("..data/rates.csv")
    url = "https://example.org/more.zip"
    found = found_files(["rates.csv", url], volume)
    copy, other = kept(found, tmp_path / "files")
    assert other == url
    (volume / "..new").symlink_to(new)
    (volume / "..new").replace(volume / "..data")
    shutil.rmtree(volume / old)
    assert (Path(copy).name, Path(copy).read_text(encoding="utf-8")) == ("rates.csv", old)
    # What is found once is found on, by the name that stays.
    assert Path(found[0]).read_text(encoding="utf-8") == new


def test_the_number_of_executors_is_read_again_and_again(tmp_path: Path) -> None:
    file, said = tmp_path / "executors", list[str]()
    assert wanted_in(file, 2, said.append) == 2
    file.write_text("3\n", encoding="utf-8")
    assert wanted_in(file, 2, said.append) == 3
    assert said == []
    for text in ("", "-1", "many", "99999"):
        file.write_text(text, encoding="utf-8")
        assert wanted_in(file, 3, said.append) == 3
    assert len(said) == 3


def test_the_number_on_the_command_line_is_a_whole_number() -> None:
    assert (executors_of(None), executors_of("0"), executors_of("12")) == (1, 0, 12)
    with pytest.raises(SettingsError, match="--executors 'two': write a whole number"):
        executors_of("two")
