"""What goes from the driver to its executors: the files of the group, and the pipeline's own code.

Rules: a module that the pipeline imported from beside the group file is found there by the workers
as well, under the name by which it was imported. Nothing that is installed is sent along.
"""

from __future__ import annotations

import os
import shutil
import sys
import zipfile
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from tidegate.settings import SettingsError

# What Python can import; anything else is a file to read.
_IMPORTABLE = (".py", ".zip", ".egg")
_INSTALLED = ("site-packages", "dist-packages")


def found_files(files: Iterable[str], folder: Path) -> list[str]:
    """The files of `deps`, each by its whole path or its URL. Raises SettingsError."""
    found = []
    for each in files:
        # A volume of Kubernetes is links into a folder that is replaced when the volume changes:
        # the name stays, and what it leads to goes.
        path = Path(os.path.normpath((folder / each).absolute()))
        if "://" not in each and not path.is_file():
            raise SettingsError(f"spec.spark.deps.files: '{each}': there is no file {path}")
        found.append(each if "://" in each else str(path))
    return found


def kept(files: Iterable[str], folder: Path) -> list[str]:
    """The same files, copied: Spark gives them to executors for as long as it runs, and where they
    came from they may be replaced, or gone."""
    found = []
    for number, each in enumerate(files):
        if "://" in each:
            found.append(each)
            continue
        # Spark calls them by their last names.
        copy = folder / str(number) / Path(each).name
        copy.parent.mkdir(parents=True)
        shutil.copyfile(each, copy)
        found.append(str(copy))
    return found


def is_importable(file: str) -> bool:
    return file.endswith(_IMPORTABLE)


def make_importable(files: Iterable[str]) -> None:
    """Files of `deps` that Python can import are found by the pipeline in this process too."""
    for each in files:
        if is_importable(each) and "://" not in each:
            place = str(Path(each).parent) if each.endswith(".py") else each
            if place not in sys.path:
                sys.path.insert(0, place)


def pack(known: Collection[str], folder: Path, target: Path) -> bool:
    """Writes the modules of `folder` that were imported since `known` was what there was.

    Gives whether there are any.
    """
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, path in _imported(known, folder):
            is_package = path.name == "__init__.py"
            inner = name.replace(".", "/") + ("/__init__.py" if is_package else ".py")
            packed.write(path, inner)
        return bool(packed.namelist())


def _imported(known: Collection[str], folder: Path) -> Iterator[tuple[str, Path]]:
    root = folder.resolve()
    for name, module in sorted(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if name in known or not file or not file.endswith(".py"):
            continue
        path = Path(file).resolve()
        if path.is_relative_to(root) and not set(_INSTALLED) & set(path.parts):
            yield name, path
