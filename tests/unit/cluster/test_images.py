"""Images: what they may weigh, which of them a cluster gets, and what is left out of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import images
import manage
from engine import Engine
from image.prune_jars import left_out, main, patterns
from kind_cluster import Cluster, Tools
from steps import StopError
from store import Store

JARS = ("breeze_2.13-2.1.0.jar", "breeze-macros_2.13-2.1.0.jar", "spark-core_2.13-4.2.0.jar")
AskEngine = Callable[[str], Engine]


@pytest.fixture
def engine_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AskEngine:
    """Makes an engine whose client does what a script says."""

    def made(script: str) -> Engine:
        program = tmp_path / "docker"
        program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        program.chmod(0o755)
        return Engine({"PATH": f"{tmp_path}:/usr/bin:/bin"}, is_ours=True, logs=tmp_path / "logs")

    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return made


def test_an_image_that_is_larger_than_promised_is_refused(engine_that: AskEngine) -> None:
    images._say_size(engine_that("echo 900000000"), images.SPARK)
    with pytest.raises(StopError, match=r"spark:dev is larger than 900 MB: see what was added"):
        images._say_size(engine_that("echo 901000000"), images.SPARK)


def test_spark_is_on_a_cluster_only_where_it_is_asked_for() -> None:
    assert images.SPARK not in manage.Wanted().images()
    assert manage.Wanted(spark=True).images()[-1] == images.SPARK


def test_an_image_that_is_on_the_nodes_is_put_there_again_only_when_it_changed(
    engine_that: AskEngine, tmp_path: Path
) -> None:
    log = tmp_path / "loaded"
    kind = tmp_path / "kind"
    kind.write_text(f'#!/bin/sh\nshift 4; echo "$@" >> {log}\n', encoding="utf-8")
    kind.chmod(0o755)
    tools = Tools(kind, kind, node_image=None)
    (tmp_path / "clusters").mkdir()

    def load(said: str, *names: str) -> None:
        Cluster("one", engine_that(f"echo {said}"), Store(tmp_path)).load(tools, names)

    load("id-a id-b", "a", "b")
    load("id-a id-b", "a", "b")
    load("id-a id-b id-spark", "a", "b", "spark")
    load("id-a new-b", "a", "b")
    load("id-a new-b id-spark", "a", "b", "spark")
    assert log.read_text().splitlines() == ["a b", "spark", "b"]


def test_a_pattern_takes_out_all_that_it_fits_and_nothing_else() -> None:
    listed = patterns("# Linear algebra.\n\nbreeze*\n")
    assert left_out(JARS, listed) == set(JARS[:2])


def test_a_pattern_that_fits_no_jar_stops_the_build() -> None:
    with pytest.raises(ValueError, match=r"No jar is called spire\*, cats-\*: take that out"):
        left_out(JARS, ["breeze*", "spire*", "cats-*"])


def test_jars_and_folders_of_jars_are_taken_out(tmp_path: Path) -> None:
    jars = tmp_path / "jars"
    (jars / "connect-repl").mkdir(parents=True)
    (jars / "connect-repl" / "inner.jar").touch()
    for name in JARS:
        (jars / name).touch()
    listed = tmp_path / "list"
    listed.write_text("connect-repl\nbreeze*\n", encoding="utf-8")
    main(jars, listed)
    assert [path.name for path in jars.iterdir()] == [JARS[2]]
