"""Put the page of the web explorer into wheels and source distributions, built from web/ where it is missing."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PAGE = Path("layers/core/toolfold/explorer/static/index.html")

WAYS = "Run `make ui` first, or build without the page: HATCH_BUILD_NO_HOOKS=true."


class PageBuildHook(BuildHookInterface[Any]):
    """Build the page before a package is built. An editable install serves what `make ui` writes."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the page where it is missing, and stop where that is impossible."""
        root = Path(self.root)
        if version == "editable" or (root / PAGE).is_file():
            return
        npm = shutil.which("npm")
        if npm is None:
            self.app.abort(f"The page of `toolfold ui` is not built, and npm (Node.js 20 or newer) is missing. {WAYS}")
        for command in (["ci", "--loglevel=error"], ["run", "--silent", "build"]):
            done = subprocess.run(  # noqa: S603 - npm, with its own lock file
                [npm, *command], check=False, cwd=root / "web", stdout=subprocess.PIPE, stderr=subprocess.STDOUT
            )
            if done.returncode:
                lines = done.stdout.decode(errors="replace").strip().splitlines()[-5:]
                reason = "\n".join(lines)
                self.app.abort(f"The page of `toolfold ui` cannot be built: npm {command[0]} failed. {WAYS}\n{reason}")
