"""The secret by which Spark's processes on this machine know one another, in a folder of settings.

Rules: made anew for each driver, in a file that this user alone can read, and gone with it: what
stands on a command line is read by everybody on the machine. What the user has in a folder of
settings stays as it is. In a cluster Spark makes such a secret itself and gives it to executors.
"""

from __future__ import annotations

import secrets
import shutil
from pathlib import Path

# The variable by which Spark's programs find their settings, and the file that they read.
VARIABLE = "SPARK_CONF_DIR"
_FILE = "spark-defaults.conf"
# Master and workers are asked by whoever knows the secret, and in no other way: what the master
# starts runs as this user.
_KNOWN = """\
spark.authenticate true
spark.network.crypto.enabled true
spark.master.rest.enabled false
"""


def make_conf(folder: Path, given: str = "") -> Path:
    """Makes the folder, with all that is in the one that was `given`; gives it."""
    folder.mkdir(mode=0o700, parents=True)
    if given and Path(given).is_dir():
        shutil.copytree(given, folder, dirs_exist_ok=True)
        # It takes over who may read what was given.
        folder.chmod(0o700)
    file = folder / _FILE
    before = file.read_text(encoding="utf-8") if file.exists() else ""
    file.unlink(missing_ok=True)
    # What stands last counts.
    text = f"{before}\n{_KNOWN}spark.authenticate.secret {_secret()}\n"
    file.touch(mode=0o600)
    file.write_text(text, encoding="utf-8")
    return folder


def _secret() -> str:
    return secrets.token_hex(32)
