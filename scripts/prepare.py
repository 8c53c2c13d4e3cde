"""Makes this tree ready to run: `python3 scripts/prepare.py dev azurite js`.

What is already complete is left as it is, so every make target calls this first. Words that are
layers of the Python environment (lock files in `requirements/`) come from there; `azurite`, `js`
and `axe` come from npm, `java` and `kafka` from Maven, `go` and `rust` from their registries,
`chromium` from Debian; without Java `kafka` is left out, and says so.
"""

from __future__ import annotations

import sys
from pathlib import Path

if sys.version_info < (3, 11):  # noqa: UP036  this file alone is read by whatever Python there is
    sys.exit(
        "Tidegate needs Python 3.11 or newer, and this is "
        + sys.version.split()[0]
        + ". Name a newer one: make PYTHON=python3.11 ..."
    )

from chromium_env import ensure_chromium
from java_env import build_java, missing_of_java, require_java
from node_env import ensure_node, npm_install
from python_env import ensure_layers
from sdk_env import GO, RUST, build_program, require_toolchain
from steps import exit_code_of, one_at_a_time, say

ROOT = Path(__file__).resolve().parents[1]
AZURITE = ROOT / "tests" / "tools" / "azurite"
AXE = ROOT / "tests" / "tools" / "axe"
JAVASCRIPT_SDK = ROOT / "tests" / "contract" / "hub" / "js"
JAVA_SDK = ROOT / "tests" / "java"
KAFKA = ROOT / "benchmarks" / "kafka"
NPM_WORDS = ("azurite", "js", "axe")
TOOLCHAINS = {"go": GO, "rust": RUST}
OTHER_WORDS = (*NPM_WORDS, *TOOLCHAINS, "chromium", "java", "kafka")


def prepare(words: list[str]) -> None:
    """Make everything that the words name ready, in the order in which it needs each other."""
    if "java" in words:
        require_java()  # before anything is fetched for a target that cannot run
    compiled = {word: chain for word, chain in TOOLCHAINS.items() if word in words}
    for chain in compiled.values():
        require_toolchain(chain)
    with one_at_a_time(ROOT / ".tools" / "lock"):
        ensure_layers(ROOT, [word for word in words if word not in OTHER_WORDS])
        if "azurite" in words:
            npm_install(ROOT, AZURITE, ROOT / ".tools" / "azurite")
        if "js" in words:
            npm_install(ROOT, JAVASCRIPT_SDK, ROOT / ".tools" / "contract-js")
        if "axe" in words:
            npm_install(ROOT, AXE, ROOT / ".tools" / "axe")
        if "chromium" in words:
            ensure_chromium(ROOT)
        if any(word in words for word in NPM_WORDS):
            ensure_node(ROOT)
        if "java" in words:
            what = "the Java SDK from Maven, and the program that runs it"
            build_java(ROOT, JAVA_SDK, "java", what)
        for word, chain in compiled.items():
            build_program(chain, ROOT, ROOT / "tests" / word, word)
        if "kafka" in words:
            _prepare_kafka()


def _prepare_kafka() -> None:
    """A Kafka for the benchmark that compares with its client; the benchmark does without, too."""
    if missing := missing_of_java():
        say(f"-> Kafka is left out: it wants {' and '.join(missing)}")
        return
    build_java(ROOT, KAFKA, "kafka", "Kafka from Maven, to measure its client beside ours")


if __name__ == "__main__":
    sys.exit(exit_code_of(lambda: prepare(sys.argv[1:])))
