"""Measure how long an agent waits for toolfold and its peers over stdio: ``make bench-stdio``.

python -m benchmarks.stdio            print the table; some two minutes, and the time to install the peers
python -m benchmarks.stdio --write    put it into docs/reference/measurements.md
python -m benchmarks.stdio --quick    few starts; not to be written

Each server has a virtual environment of its own, pinned, installed and compiled as pip does:

    build/stdio/{toolfold,marketdata,fastmcp_stdio}              environments
    build/stdio/peers                                            the servers in scripts/peers, which have no packages
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import harness, peers, servers
from benchmarks.harness import ROOT
from benchmarks.peers import WrongResponse
from benchmarks.timing import elapsed_ms, memory_mb, spread
from scripts.measured_tables import markdown_table
from toolfold import __version__

FULL, QUICK = 21, 3
FOLDER = ROOT / "build/stdio"
PYTHON = "3.13"
"""The lowest version that all servers support; the server of Alpha Vantage requires it."""

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
    ]


def install(everyone: Sequence[MeasuredServer]) -> None:
    """Make the environments that have changed."""
    for one in everyone:
        if one.name != FLOOR:
            _install(one)
    shutil.rmtree(_PEERS, ignore_errors=True)
    _PEERS.mkdir(parents=True)
    for name in ("meta_tools", "fastmcp_tools", "fastmcp_stdio"):
        shutil.copy(peers.FOLDER / f"{name}.py", _PEERS)
    peers.write_meta_tools(_PEERS / "meta_tools.json")
    peers.run(_folder(TOOLFOLD) / "bin/python", "-m", "compileall", "-q", _PEERS)


def python_version() -> str:
    """Return the version of the Python that runs all servers."""
    return peers.run(_folder(TOOLFOLD) / "bin/python", "-V").split()[1]


def _pinned(
    name: str, title: str, package: str, arguments: Sequence[str] = (), script: str = "python", calls: bool = True
) -> MeasuredServer:
    # What calls the tools is toolfold's core, imported by the first call.
    paths = {"PYTHONPATH": f"{_PEERS}:{_site_packages(TOOLFOLD)}"} if script == "python" else {}
    title = f"{title} {peers.version(name, package)}"
    return MeasuredServer(name, title, arguments, peers.requirements(name), script, calls, paths)


def _folder(name: str) -> Path:
    return FOLDER / (TOOLFOLD if name == FLOOR else name)


def _site_packages(name: str) -> Path:
    return _folder(name) / f"lib/python{PYTHON}/site-packages"


def _install(server: MeasuredServer) -> None:
    folder = _folder(server.name)
    FOLDER.mkdir(parents=True, exist_ok=True)
    wheel = _wheel() if server.name == TOOLFOLD else None
    made_of = [server.requirements, Path(__file__), *([wheel] if wheel else [])]
    with peers.unless_done(FOLDER / f"{server.name}.done", made_of, server.title) as to_do:
        if to_do:
            python = peers.run(ROOT / "scripts/find-python", PYTHON)
            peers.run(peers.UV, "venv", "--quiet", "--clear", "--python", python, folder)
            install = [peers.UV, "pip", "install", "--quiet", "--python", folder / "bin/python", "--compile-bytecode"]
            peers.run(*install, "--require-hashes", "-r", server.requirements)
            if wheel:
                peers.run(*install, "--no-deps", wheel)


def _wheel() -> Path:
    """Build the wheel that users install. The build is reproducible."""
    target = FOLDER / "wheel"
    shutil.rmtree(target, ignore_errors=True)
    peers.run(ROOT / ".venv/bin/python", "-m", "build", "--wheel", "--no-isolation", "--outdir", target, ROOT)
    return next(target.glob("*.whl"))


INITIALIZE, LIST, TOOL_LIST, TOOL_CALL = "initialize", "tools/list", "TOOL_LIST", "TOOL_CALL"
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "benchmark", "version": "1"}}
QUOTE = {"tool_name": "GLOBAL_QUOTE", "arguments": {"symbol": "IBM"}}
_TOOLS = ["TOOL_CALL", "TOOL_GET", "TOOL_LIST"]


class Start(NamedTuple):
    """Milliseconds from the start of the process to each response, and the peak memory in MB.

    The memory is that when the tools were listed, and that in the end.
    """

    answered_ms: Mapping[str, float]
    memory: tuple[float, float]


class _Process:
    def __init__(self, server: MeasuredServer, environment: Mapping[str, str]) -> None:
        self._started, self._title, self._id = time.perf_counter(), server.title, 0
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        self._process = subprocess.Popen(server.command, env={**environment, **server.environment}, **pipes)

    def ask(self, method: str, params: Mapping[str, Any]) -> tuple[float, Any]:
        """Return the milliseconds since the start of the process at the response, and the response."""
        self._id += 1
        self.notify({"jsonrpc": "2.0", "id": self._id, "method": method, "params": params})
        line = self._process.stdout.readline()
        took = elapsed_ms(self._started)
        if not line:
            raise WrongResponse(f"{self._title} has ended: {self._process.stderr.read().decode()[-2000:]}")
        return took, json.loads(line)

    def notify(self, message: Mapping[str, Any]) -> None:
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()

    def memory(self) -> float:
        return memory_mb(self._process.pid)

    def end(self) -> None:
        self._process.kill()
        self._process.communicate()


def start(server: MeasuredServer, environment: Mapping[str, str]) -> Start:
    """Start it once, with an empty cache folder.

    Raises:
        WrongResponse: the response is wrong.
    """
    with tempfile.TemporaryDirectory() as home, _running(server, {**environment, "HOME": home}) as process:
        answered: dict[str, float] = {}

        def ask(what: str, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
            answered[what], answer = process.ask(method, params)
            if server.name == FLOOR:
                return {}
            if "result" not in answer or answer["result"].get("isError"):
                raise WrongResponse(f"{server.title}, {what}: {str(answer)[:500]}")
            return dict(answer["result"])

        ask(INITIALIZE, "initialize", HELLO)
        if server.name == FLOOR:
            return Start(answered, (process.memory(), process.memory()))
        process.notify({"jsonrpc": "2.0", "method": "notifications/initialized"})
        if sorted(tool["name"] for tool in ask(LIST, "tools/list", {})["tools"]) != _TOOLS:
            raise WrongResponse(f"{server.title} has other tools")
        memory = process.memory()
        if "GLOBAL_QUOTE" not in str(ask(TOOL_LIST, "tools/call", {"name": "TOOL_LIST", "arguments": {}})):
            raise WrongResponse(f"{server.title} lists other tools")
        if server.calls and "IBM" not in str(ask(TOOL_CALL, "tools/call", {"name": "TOOL_CALL", "arguments": QUOTE})):
            raise WrongResponse(f"{server.title} answered another call")
        return Start(answered, (memory, process.memory()))


@contextmanager
def _running(server: MeasuredServer, environment: Mapping[str, str]) -> Iterator[_Process]:
    process = _Process(server, environment)
    try:
        yield process
    finally:
        process.end()


NOTE = """\
Medians from the start of the process, and in brackets the quartiles. Memory is VmHWM, when the tools were listed and in
the end. FastMCP has the same three tools; marketdata-mcp-server is the server of Alpha Vantage.
"""


def run(options: argparse.Namespace) -> str:
    """Return the table and its notes."""
    everyone = measured_servers()
    install(everyone)
    starts = measure(everyone, QUICK if options.quick else FULL)
    return page(everyone, starts)


def measure(everyone: Sequence[MeasuredServer], times: int) -> dict[str, list[Start]]:
    """Return the starts of each server, made in turn, without the first one of each."""
    with servers.mock_api() as url:
        given = {"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"}
        given |= {"TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": url, "ALPHA_VANTAGE_API_KEY": "mock-key"}
        rounds = harness.track(range(times + 1), lambda number: f"Starts over stdio, round {number + 1}")
        started = [{one.name: start(one, given) for one in everyone} for _ in rounds]
        return {one.name: [of_round[one.name] for of_round in started[1:]] for one in everyone}


def page(everyone: Sequence[MeasuredServer], starts: Mapping[str, Sequence[Start]]) -> str:
    """Return the table and its notes."""
    heads = ["", f"`{INITIALIZE}`, ms", "ratio", *(f"`{name}`" for name in (LIST, TOOL_LIST, TOOL_CALL)), "memory, MB",
             "packages"]  # fmt: skip
    rows = [_row(one, starts[one.name], starts[FLOOR]) for one in everyone]
    measured = f"Python {python_version()}; toolfold {__version__}; {len(starts[FLOOR])} starts of each."
    title = "### Start over stdio, beside the peers\n"
    return "\n".join([title, f"{measured} {harness.measured_on()}", markdown_table(heads, rows), NOTE])


def _row(one: MeasuredServer, starts: Sequence[Start], floor: Sequence[Start]) -> list[str]:
    times = {what: [start.answered_ms[what] for start in starts] for what in starts[0].answered_ms}
    first = statistics.median(times[INITIALIZE])
    ratio = first / statistics.median(start.answered_ms[INITIALIZE] for start in floor)
    later = [spread(times[what]) if what in times else "–" for what in (LIST, TOOL_LIST, TOOL_CALL)]
    memory = [statistics.median(start.memory[at] for start in starts) for at in (0, 1)]
    of_memory = " → ".join(f"{size:.0f}" for size in memory[: 1 if one.name == FLOOR else 2])
    count, size = one.installed
    packages = f"{count}: {size / 1e6:,.1f} MB" if one.name != FLOOR else "–"
    return [one.title, spread(times[INITIALIZE]), f"{ratio:.1f}", *later, of_memory, packages]


if __name__ == "__main__":
    sys.exit(harness.run(__doc__, "make bench-stdio", run, "docs/reference/measurements.md", "--quick"))
