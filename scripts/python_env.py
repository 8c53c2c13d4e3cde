"""The Python environment of this tree: `.venv`, filled from the lock files in `requirements/`.

Rules: what is installed is exactly what a lock file names, checked by hash. A stamp for each lock
file is written last and names everything that the install depended on, so a changed lock, another
Python or a moved folder installs anew. An install that was broken off is never taken for finished,
and costs only itself: the locks agree on every pin, so that a layer changes nothing of another one.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
import re
import shutil
import sys
from pathlib import Path

from steps import Size, StopError, is_complete, require_space, run, say, step, write_stamp

APT_PACKAGE = "python3-venv"
BUSY = "busy"  # in .venv while it is made; found at the start, it means 'broken off'
SIZE_LINE = re.compile(r"^# size: (\d+) MB to fetch, (\d+) MB on disk$", re.MULTILINE)
LAYERS_FROM_SOURCE = frozenset({"spark"})  # pyspark has no wheel: its archive holds only files
# Packages that build such a layer. On its own, pip would fetch other versions without a hash.
BUILD_LAYER = "build"
FROM_SOURCE = ("--no-build-isolation", "--use-pep517")


def lock_file(root: Path, layer: str) -> Path:
    """The lock file of a layer: one of those in `requirements/`."""
    path = root / "requirements" / f"{layer}.lock"
    if not path.exists():
        known = ", ".join(sorted(lock.stem for lock in path.parent.glob("*.lock")))
        raise StopError(f"There is no lock file {path.name}. Known: {known}.")
    return path


def size_of(lock_text: str) -> Size:
    """What a lock file's own first lines say of its size."""
    found = SIZE_LINE.search(lock_text)
    if found is None:
        raise StopError("A lock file has no '# size:' line. Write it again with `make lock`.")
    return Size(fetch_mb=int(found[1]), disk_mb=int(found[2]))


def layer_key(root: Path, lock_text: str) -> str:
    """Everything that an installed layer depends on, in one short text."""
    depends_on = "\0".join((lock_text, sys.version, sys.base_prefix, str(root)))
    return hashlib.sha256(depends_on.encode()).hexdigest()


def ensure_venv_module(root: Path) -> None:
    """Python can make environments: install Debian's package as root, else name it and stop."""
    if importlib.util.find_spec("ensurepip") is not None:
        return
    say("-> this Python cannot make virtual environments: its ensurepip module is missing")
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise StopError(
            f"Run this, then the same command again:\nsudo apt-get install -y {APT_PACKAGE}"
        )
    quiet = {"DEBIAN_FRONTEND": "noninteractive"}
    with step(f"{APT_PACKAGE} from Debian", Size(fetch_mb=12, disk_mb=6), []):
        logs = root / ".tools" / "logs"
        run(["apt-get", "update"], logs / "apt-update.log", cwd=root, env=quiet)
        run(
            ["apt-get", "install", "-y", "--no-install-recommends", APT_PACKAGE],
            logs / "apt-install.log",
            cwd=root,
            env=quiet,
        )
    importlib.invalidate_caches()
    if importlib.util.find_spec("ensurepip") is None:
        raise StopError(
            f"{APT_PACKAGE} is installed, but not for {sys.executable}. Use Debian's own Python: "
            f"make PYTHON=/usr/bin/python3 ..."
        )


def ensure_layers(root: Path, layers: list[str]) -> None:
    """`.venv` holds these layers and this tree itself, whole; what is already there is kept."""
    if LAYERS_FROM_SOURCE.intersection(layers):
        layers = list(dict.fromkeys([BUILD_LAYER, *layers]))
    venv = root / ".venv"
    keys = {layer: layer_key(root, lock_file(root, layer).read_text()) for layer in layers}
    if (venv / BUSY).exists() or _holds_other_than(root, venv):
        shutil.rmtree(venv)
    missing = [layer for layer in layers if not is_complete(_stamp(venv, layer), keys[layer])]
    if missing and not (venv / "bin" / "python").exists():
        _create(root, venv)
    for layer in missing:
        _install_layer(root, venv, layer, keys[layer])
        write_stamp(_stamp(venv, layer), keys[layer])
    if "dev" in layers:  # its build tool is among the packages of that layer
        _install_tree(root, venv)


def _stamp(venv: Path, layer: str) -> Path:
    return venv / f"complete-{layer}"


def _begun(venv: Path, layer: str) -> Path:
    """There while a layer is put in, and holds its key; found later, that was broken off."""
    return venv / f"begun-{layer}"


def _holds_other_than(root: Path, venv: Path) -> bool:
    """Whether some layer of the environment is not what its lock file names now."""
    if not venv.exists():
        return False
    for stamp in (*venv.glob("complete-*"), *venv.glob("begun-*")):
        lock = root / "requirements" / f"{stamp.name.partition('-')[2]}.lock"
        if not lock.exists() or not is_complete(stamp, layer_key(root, lock.read_text())):
            say("-> the locks, the Python or the folder changed: making .venv anew")
            return True
    return False


def _create(root: Path, venv: Path) -> None:
    ensure_venv_module(root)
    venv.mkdir(exist_ok=True)
    (venv / BUSY).touch()
    with step("virtual environment in .venv", Size(fetch_mb=0, disk_mb=20), [venv]):
        log = root / ".tools" / "logs" / "venv.log"
        run([sys.executable, "-m", "venv", venv], log, cwd=root)
    (venv / BUSY).unlink()


def _install_layer(root: Path, venv: Path, layer: str, key: str) -> None:
    lock = lock_file(root, layer)
    size = size_of(lock.read_text())
    require_space(venv, size)
    fetched = root / ".tools" / "fetching"  # the temporary folder of pip, where growth can be seen
    shutil.rmtree(fetched, ignore_errors=True)
    fetched.mkdir(parents=True)
    begun = _begun(venv, layer)
    was_broken_off = begun.exists()
    write_stamp(begun, key)
    command: list[str | Path] = [
        venv / "bin" / "python", "-m", "pip", "install", "--no-input", "--no-deps",
        "--disable-pip-version-check", "--require-hashes", "--requirement", lock,
    ]  # fmt: skip
    if was_broken_off:
        # What is half there must be neither taken for whole nor removed by a list that is missing.
        command.append("--ignore-installed")
    if layer in LAYERS_FROM_SOURCE:
        command += FROM_SOURCE
        # The wheel that is made of them is unpacked at once: to compress it takes a minute.
        # Somebody waits for them: what is used of them is compiled when it is.
        command += ["--config-settings", "--build-option=--compression=stored", "--no-compile"]
    else:
        command.append("--only-binary=:all:")
    try:
        with step(f"Python packages of requirements/{lock.name}", size, [venv, fetched]):
            log = root / ".tools" / "logs" / f"pip-{layer}.log"
            run(command, log, cwd=root, env={"TMPDIR": str(fetched)})
    finally:
        shutil.rmtree(fetched, ignore_errors=True)
    begun.unlink()


def _install_tree(root: Path, venv: Path) -> None:
    """Make this tree importable and its commands runnable; again when its version does."""
    stamp = venv / "tree-installed"
    version_file = root / "consumer" / "tidegate" / "__init__.py"
    key = layer_key(root, (root / "pyproject.toml").read_text() + version_file.read_text())
    if is_complete(stamp, key):
        return
    command: list[str | Path] = [
        venv / "bin" / "python", "-m", "pip", "install", "--no-input", "--no-deps",
        "--disable-pip-version-check", "--no-build-isolation", "--editable", root,
    ]  # fmt: skip
    with step("this tree, as an editable package", Size(fetch_mb=0, disk_mb=1), []):
        run(command, root / ".tools" / "logs" / "pip-tree.log", cwd=root)
    write_stamp(stamp, key)
