"""The file system of Lambda, for a process of the tests: read-only but for /tmp, and without /dev/shm.

Code that makes a lock or a queue of ``multiprocessing``, or writes beside its package, fails there as it does on
Lambda. A namespace of mounts shows that without changing this machine.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]

_SCRIPT = """
set -e
mount --make-rprivate /
mount --bind /tmp /tmp
mount --bind "$0" "$0"
mount -o remount,bind,ro "$0"
mount -t tmpfs -o ro none /dev/shm
mount -o remount,bind,ro /
exec "$@"
"""


def launcher() -> Sequence[str]:
    """Return a command that runs the one behind it in that file system.

    Returns:
        An empty command where this machine does not let its users make namespaces.
    """
    command = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c", _SCRIPT, str(ROOT))
    if shutil.which("unshare") is None:
        return ()
    tried = subprocess.run([*command, "true"], capture_output=True, check=False)
    return () if tried.returncode else command
