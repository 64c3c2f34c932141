"""Put the page of the web explorer into wheels and source distributions, built from web/ where it is missing."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PAGE = Path("layers/core/toolfold/explorer/static/index.html")

WITHOUT = "The package is built without the page of `toolfold ui`"


class PageBuildHook(BuildHookInterface[Any]):
    """Build the page before a package is built. An editable install serves what `make ui` writes.

    Without the page a package is complete but for `toolfold ui`, which then says how to build it: installing a
    checkout must not need Node.js.
    """

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the page where it is missing and npm is there."""
        root = Path(self.root)
        if version == "editable" or (root / PAGE).is_file():
            return
        npm = shutil.which("npm")
        if npm is None:
            self.app.display_warning(f"{WITHOUT}: npm (Node.js 20 or newer) is missing.")
            return
        for command in (["ci", "--loglevel=error"], ["run", "--silent", "build"]):
            done = subprocess.run(  # noqa: S603 - npm, with its own lock file
                [npm, *command], check=False, cwd=root / "web", stdout=subprocess.PIPE, stderr=subprocess.STDOUT
            )
            if done.returncode:
                reason = "\n".join(done.stdout.decode(errors="replace").strip().splitlines()[-5:])
                self.app.display_warning(f"{WITHOUT}: npm {command[0]} failed.\n{reason}")
                return
