"""Which Java Spark runs on: the machine's own, else one unpacked from Debian's package.

Rules: one that JAVA_HOME names comes first, then the one on the PATH, then one that was fetched
before. A Java is taken only after it ran with the module that Spark asks for, which some builds
leave out. Where there is none, `java_package` fetches one, without root; it is kept in a folder of
this user's caches, and deleting that costs time and nothing else.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tidegate.settings import SettingsError

OLDEST = 17
MODULE = "jdk.incubator.vector"  # Spark starts every JVM with it
KEPT = "java-*/usr/lib/jvm/*/bin/java"
SECONDS = 60.0
HOME = re.compile(r"^[ \t]*java\.home = (.+)$", re.MULTILINE)
VERSION = re.compile(r"^[ \t]*java\.specification\.version = (?:1\.)?(\d+)$", re.MULTILINE)

Say = Callable[[str], None]


class NoJavaError(SettingsError):
    """There is no Java for Spark. The message says what was looked at and what to do."""


@dataclass(frozen=True, slots=True)
class Java:
    """A Java that ran."""

    home: Path
    version: int


def ensure_java(environ: Mapping[str, str] = os.environ, say: Say | None = None) -> Path:
    """The folder to give to Spark as JAVA_HOME; fetches a Java where there is none."""
    from tidegate.spark.java_package import fetch_java  # noqa: PLC0415  it needs this module

    tell = say or _to_stderr
    refused: list[str] = []
    for program in candidates(environ):
        found = tried(program)
        if isinstance(found, Java):
            return found.home
        refused.append(found)
    for reason in refused:
        tell(reason)
    fetched = fetch_java(cache_folder(environ), refused, tell)
    found = tried(fetched)
    if isinstance(found, str):
        raise NoJavaError(
            f"{found} Delete the folder {fetched.parents[5]} and try again, or install Java "
            f"{OLDEST} and name it with JAVA_HOME."
        )
    return found.home


def candidates(environ: Mapping[str, str]) -> Iterator[Path]:
    """The Java programs there are, the one to prefer first."""
    named = environ.get("JAVA_HOME")
    if named:
        yield Path(named) / "bin" / "java"
    on_path = shutil.which("java", path=environ.get("PATH", os.defpath))
    if on_path:
        yield Path(on_path)
    yield from sorted(cache_folder(environ).glob(KEPT))


def tried(program: Path) -> Java | str:
    """That Java, or in words why Spark cannot have it."""
    command = [str(program), f"--add-modules={MODULE}", "-XshowSettings:properties", "-version"]
    try:
        ran = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=SECONDS, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except OSError as error:
        return f"{program} does not start: {error.strerror}."
    except subprocess.TimeoutExpired:
        return f"{program} did not answer within {SECONDS:.0f} s."
    return judged(program, ran.returncode, ran.stderr + ran.stdout)


def judged(program: Path, code: int, said: str) -> Java | str:
    """What a Java is, by what it said of itself."""
    home, version = HOME.search(said), VERSION.search(said)
    if code == 0 and home and version and int(version[1]) >= OLDEST:
        return Java(Path(home[1].strip()), int(version[1]))
    if version and int(version[1]) < OLDEST:
        return f"{program} is Java {version[1]}, and Spark needs {OLDEST} or newer."
    if MODULE in said:
        return f"{program} is a Java without the module {MODULE}, which Spark needs."
    # Java 8 and older stop at the first of the options that they do not know.
    first = next((line.strip() for line in said.splitlines() if line.strip()), "nothing")
    return f"{program} is no Java that Spark can use (exit {code}): it says '{first[:200]}'."


def cache_folder(environ: Mapping[str, str]) -> Path:
    """Where this user keeps what Tidegate fetched: TIDEGATE_CACHE, or a folder of the caches."""
    named = environ.get("TIDEGATE_CACHE")
    if named:
        return Path(named).absolute()
    caches = environ.get("XDG_CACHE_HOME") or Path(environ.get("HOME") or Path.home()) / ".cache"
    return Path(caches) / "tidegate"


def _to_stderr(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
