"""What a node image takes from kind's own source: its files, and the manifest of its storage.

Rules: they are taken out of the module that kind is compiled from, never copied into this tree, so
they always fit that version of kind.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

FILES = Path("images/base/files")
STORAGE_SOURCE = Path("pkg/build/nodeimage/const_storage.go")
# In the node, storage is a provisioner and a shell for what it does on the disk.
IMAGE_CONSTANT = re.compile(r'^const (storage\w+Image) = "(.+)"$', re.MULTILINE)


def take(module: Path, target: Path) -> None:
    """Lay kind's files out below `target/root` as they are in a node, and the storage beside."""
    root = target / "root"
    shutil.copytree(module / FILES, root)
    shutil.rmtree(root / "LICENSES")
    for path in root.rglob("*"):
        is_program = path.is_dir() or path.parent.name == "bin"
        path.chmod(0o755 if is_program else 0o644)
    source = (module / STORAGE_SOURCE).read_text(encoding="utf-8")
    manifests = root / "kind" / "manifests"
    manifests.mkdir()
    (manifests / "default-storage.yaml").write_text(storage_manifest(source), encoding="utf-8")
    (target / "storage-images").write_text("\n".join(storage_images(source).values()))


def storage_images(source: str) -> dict[str, str]:
    """The images that the manifest names, by the constants that hold their names."""
    return dict(IMAGE_CONSTANT.findall(source))


def storage_manifest(source: str) -> str:
    """The text of the manifest, with the names of the images in it."""
    start = source.index("const defaultStorageManifest = `")
    parts = source[start:].split("`")[1::2]  # the literal, broken where a constant is put in
    names = re.findall(r"` \+ (\w+) \+ `", source[start:])
    images = storage_images(source)
    text = parts[0]
    for name, part in zip(names, parts[1:], strict=False):
        text += images[name] + part
    return text.strip() + "\n"
