"""What every file of fuzz targets shares: how one is run, and how its seeds get to the fuzzer.

Rules:
- A target is a function of bytes. What it raises is what the fuzzer finds.
- `run.py` starts a file of targets once for each parser, because the fuzzer ends the process when
  it is done, and gives it the path that imports need.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import atheris

T = TypeVar("T")
Target = Callable[[bytes], None]
Seeds = Callable[[str], Sequence[bytes]]


def main(targets: Mapping[str, Target], seeds: Seeds) -> None:
    """FILE PARSER [option of libFuzzer ...] or FILE PARSER --replay INPUT"""
    name, *options = sys.argv[1:]
    target = targets[name]
    if options[:1] == ["--replay"]:
        target(Path(options[1]).read_bytes())
        return
    with tempfile.TemporaryDirectory() as corpus:
        for number, seed in enumerate(seeds(name)):
            Path(corpus, str(number)).write_bytes(seed)
        atheris.Setup([sys.argv[0], *options, corpus], target)
        atheris.Fuzz()


def at_once(work: Coroutine[Any, Any, T]) -> T:
    """What a coroutine gives that never waits for anything: no event loop, which would cost most of
    the time of an input."""
    try:
        work.send(None)
    except StopIteration as done:
        found: T = done.value
        return found
    work.close()
    raise AssertionError("it waits for something")


def in_a_loop(work: Callable[[bytes], Coroutine[Any, Any, None]]) -> Target:
    """A target that needs an event loop: one loop for all inputs."""
    runner = asyncio.Runner()

    def target(data: bytes) -> None:
        runner.run(work(data))

    return target
