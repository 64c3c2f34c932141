"""The peers of scripts/peers beside which toolfold is measured: their pinned packages, installed once."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.harness import ROOT
from toolfold.catalog.store import open_store
from toolfold.execution.executor import ToolExecutor
from toolfold.meta_tools.dispatcher import MetaTools
from toolfold.settings import Settings

FOLDER = ROOT / "scripts/peers"
UV = ROOT / ".venv/bin/uv"


class WrongResponse(Exception):
    """A server returned a wrong response, so its times have no meaning."""


def requirements(name: str) -> Path:
    """Return the file with the pinned packages of a peer."""
    return FOLDER / "requirements" / f"{name}.txt"


def version(name: str, package: str) -> str:
    """Return the version of a package that a peer is pinned to."""
    found = re.search(rf"^{package}==(\S+)", requirements(name).read_text(encoding="utf-8"), re.MULTILINE)
    assert found, f"{package} is not pinned in {name}.txt"
    return found[1]


def write_meta_tools(path: Path) -> None:
    """Write the definitions that ``scripts/peers/meta_tools.py`` reads."""
    settings = Settings.from_environment({})
    tools = MetaTools(open_store(settings), ToolExecutor(settings))
    listed = json.loads(tools.list_page().tools)
    path.write_text(json.dumps({"instructions": tools.instructions(), "tools": listed}), encoding="utf-8")


@contextmanager
def unless_done(mark: Path, sources: Sequence[Path], title: str) -> Iterator[bool]:
    """Yield whether ``sources`` have changed since ``mark`` was written; write ``mark`` afterwards."""
    mark.parent.mkdir(parents=True, exist_ok=True)
    state = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()
    to_do = not mark.exists() or mark.read_text() != state
    if to_do:
        mark.unlink(missing_ok=True)
        print(f"installing {title}", file=sys.stderr)
    yield to_do
    mark.write_text(state)


def run(*command: str | Path) -> str:
    """Run a command that installs or builds, without the variables of this Python; return what it prints."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    environment |= {"SOURCE_DATE_EPOCH": "1700000000", "UV_SYSTEM_CERTS": os.environ.get("UV_SYSTEM_CERTS", "true")}
    return subprocess.check_output([str(part) for part in command], text=True, env=environment, cwd=ROOT).strip()
