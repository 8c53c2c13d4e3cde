"""Where builds get packages from: what this machine says, and nothing that only it has."""

from __future__ import annotations

import pytest

from sources import apt_settings, apt_sources, mirror, pip_settings
from steps import StopError

TARGETS = """\
http://mirror.example/debian bookworm main
http://mirror.example/debian bookworm contrib
http://mirror.example/debian bookworm-updates main
http://mirror.example/debian-security bookworm-security main
https://others.example/apt tools-bookworm main
https://others.example/apt bookworm-pgdg main
"""
SOURCES = """\
deb http://mirror.example/debian bookworm main
deb http://mirror.example/debian bookworm-updates main
deb http://mirror.example/debian-security bookworm-security main
"""


def test_the_sources_are_debians_own_from_the_mirrors_of_the_machine() -> None:
    assert apt_sources(TARGETS, "bookworm") == SOURCES


def test_a_machine_with_another_release_gives_its_mirrors() -> None:
    assert apt_sources(TARGETS.replace("bookworm", "trixie"), "trixie") == SOURCES


def test_the_base_comes_from_the_mirror_of_debian_itself() -> None:
    assert mirror(SOURCES) == "http://mirror.example/debian"


def test_a_machine_without_a_mirror_is_told_to_name_one() -> None:
    with pytest.raises(StopError, match="names no mirror of Debian"):
        mirror(apt_sources("https://others.example/apt stable main\n", "bookworm"))


def test_only_how_to_reach_a_mirror_is_taken_from_the_settings_of_apt() -> None:
    dumped = (
        'APT::Architecture "amd64";\nAcquire::http::Proxy "http://proxy.example:3128";\n'
        'Acquire::cdrom::mount "/media/cdrom/";\nAcquire::Check-Valid-Until "false";\n'
    )
    assert apt_settings(dumped) == (
        'Acquire::http::Proxy "http://proxy.example:3128";\nAcquire::Check-Valid-Until "false";\n'
    )


def test_an_index_of_ones_own_is_told_to_pip() -> None:
    listed = (
        ":env:.find-links='/wheels'\nglobal.cert='/certificates.crt'\n"
        "global.index-url='https://index.example/simple'\n"
    )
    assert pip_settings(listed, has_certificates=True) == (
        "[global]\ncert = /run/secrets/ca\nindex-url = https://index.example/simple\n"
    )


def test_pip_is_told_nothing_where_nothing_is_set() -> None:
    assert pip_settings("", has_certificates=False) == "[global]\n"
