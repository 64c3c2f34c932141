"""The measured servers, each in a virtual environment of its own: pinned, installed and compiled as pip does.

build/stdio/{toolfold,marketdata,fastmcp_stdio,sdk_stdio}    environments
build/stdio/peers                                            the servers in scripts/peers, which have no packages
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from scripts.peers.hosting import write_meta_tools

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "build/stdio"
PYTHON = "3.13"
"""The lowest version that all servers support; the server of Alpha Vantage requires it."""

_UV = ROOT / ".venv/bin/uv"
_SCRIPTS = ROOT / "scripts/peers"
_PEERS = FOLDER / "peers"
_ECHO = "import sys\nfor _ in sys.stdin.buffer:\n    print('{}', flush=True)"

FLOOR, TOOLFOLD, MARKETDATA = "floor", "toolfold", "marketdata"


@dataclass(frozen=True)
class MeasuredServer:
    """One measured server.

    ``name`` is the name of its environment. Its command is the interpreter, or ``script`` of the environment, with
    ``arguments``. ``calls``: whether its calls can be sent to the mock API.
    """

    name: str
    title: str
    arguments: Sequence[str]
    requirements: Path
    script: str = "python"
    calls: bool = True
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def command(self) -> list[str]:
        return [str(_folder(self.name) / "bin" / self.script), *self.arguments]

    @cached_property
    def installed(self) -> tuple[int, int]:
        """Return the number of its packages, and their size in bytes, compiled."""
        packages = _site_packages(self.name)
        files = [file for file in packages.rglob("*") if file.is_file() and not file.name.startswith("_virtualenv")]
        return len(list(packages.glob("*.dist-info"))), sum(file.stat().st_size for file in files)


def measured_servers() -> list[MeasuredServer]:
    """Return all of them, in the order of the table."""
    package = ROOT / "requirements/package.txt"
    return [
        MeasuredServer(FLOOR, "a Python that answers `{}`", ("-c", _ECHO), package, calls=False),
        MeasuredServer(TOOLFOLD, "toolfold", ("stdio",), package, "toolfold"),
        _pinned(MARKETDATA, "marketdata-mcp-server", "marketdata-mcp-server", script="marketdata-mcp", calls=False),
        _pinned("fastmcp_stdio", "FastMCP", "fastmcp", ("-m", "fastmcp_stdio")),
        _pinned("sdk_stdio", "`mcp` SDK", "mcp", ("-m", "sdk_stdio")),
    ]


def install(everyone: Sequence[MeasuredServer]) -> None:
    """Make the environments that have changed."""
    for one in everyone:
        if one.name != FLOOR:
            _install(one)
    shutil.rmtree(_PEERS, ignore_errors=True)
    _PEERS.mkdir(parents=True)
    for name in ("meta_tools", "fastmcp_tools", "fastmcp_stdio", "sdk_tools", "sdk_stdio"):
        shutil.copy(_SCRIPTS / f"{name}.py", _PEERS)
    write_meta_tools(_PEERS / "meta_tools.json")
    _run(_folder(TOOLFOLD) / "bin/python", "-m", "compileall", "-q", _PEERS)


def python_version() -> str:
    command = [_folder(TOOLFOLD) / "bin/python", "-c", "import platform; print(platform.python_version())"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def _pinned(
    name: str, title: str, package: str, arguments: Sequence[str] = (), script: str = "python", calls: bool = True
) -> MeasuredServer:
    requirements = _SCRIPTS / "requirements" / f"{name}.txt"
    version = re.search(rf"^{package}==(\S+)", requirements.read_text(encoding="utf-8"), re.MULTILINE)
    assert version, f"{package} is not pinned in {requirements.name}"
    # What calls the tools is toolfold's core, imported by the first call.
    paths = {"PYTHONPATH": f"{_PEERS}:{_site_packages(TOOLFOLD)}"} if script == "python" else {}
    return MeasuredServer(name, f"{title} {version[1]}", arguments, requirements, script, calls, paths)


def _folder(name: str) -> Path:
    return FOLDER / (TOOLFOLD if name == FLOOR else name)


def _site_packages(name: str) -> Path:
    return _folder(name) / f"lib/python{PYTHON}/site-packages"


def _install(server: MeasuredServer) -> None:
    folder, mark = _folder(server.name), FOLDER / f"{server.name}.done"
    FOLDER.mkdir(parents=True, exist_ok=True)
    wheel = _wheel() if server.name == TOOLFOLD else None
    made_of = [server.requirements, Path(__file__), *([wheel] if wheel else [])]
    state = hashlib.sha256(b"".join(file.read_bytes() for file in made_of)).hexdigest()
    if mark.exists() and mark.read_text() == state:
        return
    print(f"installing {server.title}", file=sys.stderr)
    python = subprocess.run([ROOT / "scripts/find-python", PYTHON], capture_output=True, text=True, check=True)
    _run(_UV, "venv", "--quiet", "--clear", "--python", python.stdout.strip(), folder)
    install = [_UV, "pip", "install", "--quiet", "--python", folder / "bin/python", "--compile-bytecode"]
    _run(*install, "--require-hashes", "-r", server.requirements)
    if wheel:
        _run(*install, "--no-deps", wheel)
    mark.write_text(state)


def _wheel() -> Path:
    """Build the wheel that users install. The build is reproducible."""
    target = FOLDER / "wheel"
    shutil.rmtree(target, ignore_errors=True)
    _run(ROOT / ".venv/bin/python", "-m", "build", "--wheel", "--no-isolation", "--outdir", target, ROOT)
    return next(target.glob("*.whl"))


def _run(*command: str | Path) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment |= {"SOURCE_DATE_EPOCH": "1700000000", "UV_SYSTEM_CERTS": os.environ.get("UV_SYSTEM_CERTS", "true")}
    subprocess.run([str(part) for part in command], check=True, stdout=subprocess.DEVNULL, env=environment, cwd=ROOT)
