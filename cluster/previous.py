"""The version before this one, for the test that goes from it to this one and back.

Rules: it is the last tagged version that is not this commit's own; where no tag is there it is the
commit below. Its tree comes from git alone, is kept whole under the commit's name, and its images
are built by its own Dockerfile, with its own pins.
"""

from __future__ import annotations

import subprocess
import tarfile
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from engine import Engine
from images import Base, build_image
from steps import Size, StopError
from store import ROOT, Store

# The last commit before ledgers and change feeds of Cosmos DB: its kind, its chart and what its
# members write are all older than this one's.
PINNED = "6bdc7d088808"
IMAGE = "tidegate.local/tidegate:previous"
SPARK_IMAGE = "tidegate.local/spark:previous"


@dataclass(frozen=True, slots=True)
class Previous:
    """Its commit, and its tree as that was."""

    commit: str
    tree: Path


def _git(*arguments: str) -> bytes:
    ran = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, check=False)
    if ran.returncode != 0:
        raise StopError(
            f"git {arguments[0]} of the version before failed: {ran.stderr.decode().strip()}. "
            "Is this a clone with its whole history and its tags?"
        )
    return ran.stdout


def chosen(tags: list[str], own: list[str]) -> str:
    """The newest tag that is not of this commit, else the pinned commit; tags come newest first."""
    return next((tag for tag in tags if tag not in own), PINNED)


def ensure_previous(store: Store) -> Previous:
    """Its tree, taken out of git where it is not kept yet."""
    tags = _git("tag", "--list", "v*", "--merged", "HEAD", "--sort=-v:refname").decode().split()
    own = _git("tag", "--points-at", "HEAD").decode().split()
    commit = _git("rev-parse", f"{chosen(tags, own)}^{{commit}}").decode().strip()

    def unpack(folder: Path) -> None:
        packed = BytesIO(_git("archive", "--format=tar", commit))
        with tarfile.open(fileobj=packed) as archive:
            archive.extractall(folder, filter="data")

    what = f"the tree of the version before ({commit[:10]})"
    return Previous(commit, store.make(what, f"tree-{commit[:12]}", Size(0, 15), unpack))


def build_previous_images(engine: Engine, base: Base, previous: Previous) -> None:
    """Of the consumer and the operator, and of Spark."""
    what, tree = "of the version before", previous.tree
    build_image(engine, base, f"the image {what}", Size(60, 500), IMAGE, tree, ())
    build_image(
        engine, base, f"the image of Spark {what}", Size(650, 2500), SPARK_IMAGE, tree,
        ("--target", "spark"),
    )  # fmt: skip
