"""Run the protocol's official conformance suite against toolfold and its peers, and update the table of the results.

    python -m scripts.compare_conformance                 print the table
    python -m scripts.compare_conformance --failures      print also the suite's message of each check not passed
    python -m scripts.compare_conformance --write FILE    put the table between the markers of FILE
    python -m scripts.compare_conformance --check FILE    fail when the table in FILE is not current

Every server has the same three tools over the same mock API (scripts/peers). One run takes one to two minutes.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
import urllib.request
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scripts import measured_tables
from scripts.peers.hosting import write_meta_tools
from tests.conformance.helpers import FOLDER, QUOTE, TOOLFOLD, start_server
from tests.conformance.suite import SCENARIOS, ScenarioResult, expected_failures, run_scenario
from toolfold.meta_tools.result import dumps_compact
from toolfold.mock_api.server import MockApi

COMMAND = "make compare-conformance"
ROOT = Path(__file__).parents[1]
PEERS_PYTHON = ROOT / ".venv-peers" / "bin" / "python"
OURS = "toolfold"

NOTES = """\
The suite's own counts, over its scenarios for a server of tools. A server that offers more has more checks; a
warning is neither passed nor failed.

toolfold is `toolfold serve`. Each check that does not pass needs something that toolfold does not have, and is listed
in [expected-failures.yml](../../tests/conformance/expected-failures.yml): tools of the suite's own example server,
subscriptions, prompts, and a parameter repeated in a header, which no server has. The peers
([scripts/peers](../../scripts/peers)) have the same three tools over the same mock API.
"""


@dataclass(frozen=True, slots=True)
class Server:
    """One column: its heading, and how to start it."""

    heading: str
    command: Sequence[str | Path]


def pinned(package: str) -> str:
    """Return the version of a peer in requirements/peers.txt."""
    found = re.search(rf"^{re.escape(package)}==(\S+)", (ROOT / "requirements/peers.txt").read_text(), re.MULTILINE)
    assert found, f"{package} is not pinned in requirements/peers.txt"
    return found[1]


def servers() -> list[Server]:
    """Return toolfold and its peers."""

    def peer(heading: str, script: str) -> Server:
        return Server(heading, [PEERS_PYTHON, ROOT / "scripts/peers" / f"{script}.py"])

    fastmcp = f"FastMCP {pinned('fastmcp')} + Mangum {pinned('mangum')}"
    return [
        Server(OURS, [TOOLFOLD, "serve", "--port", "0"]),
        peer(f"`mcp` SDK {pinned('mcp')}", "mcp_sdk"),
        peer(fastmcp, "fastmcp_mangum"),
        peer(f"awslabs.mcp-lambda-handler {pinned('awslabs-mcp-lambda-handler')}", "awslabs_handler"),
    ]


def listed_tools(url: str) -> list[dict[str, Any]]:
    """Return a server's tools without output schemas; fail when the tools do not work."""

    def ask(method: str, params: Mapping[str, Any]) -> Any:
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
        headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
        with urllib.request.urlopen(urllib.request.Request(url, body, headers)) as answer:  # noqa: S310 - ours, local
            return json.load(answer)["result"]

    called = ask("tools/call", {"name": "TOOL_CALL", "arguments": {"tool_name": "GLOBAL_QUOTE", "arguments": QUOTE}})
    assert not called.get("isError"), called
    assert "AAPL" in called["content"][0]["text"], called

    compared = ("name", "title", "description", "inputSchema", "annotations")
    return [{key: tool[key] for key in compared} for tool in ask("tools/list", {})["tools"]]


def compare() -> dict[str, list[ScenarioResult]]:
    """Return the results of all :data:`SCENARIOS` by server."""
    verdicts: dict[str, list[ScenarioResult]] = {}
    ours: list[dict[str, Any]] | None = None
    with MockApi() as mock_api, tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": folder,
            "NO_COLOR": "1",
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "layers/core")]),
            "TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": mock_api.url,
            "ALPHA_VANTAGE_API_KEY": "mock-key",
            "TOOLFOLD_ANYONE_MAY_USE_THE_KEY": "true",
            "META_TOOLS": str(home / "meta_tools.json"),
        }
        write_meta_tools(home / "meta_tools.json")
        for number, server in enumerate(servers()):
            of_server = verdicts.setdefault(server.heading, [])
            with start_server(server.command, env=environment, log=home / f"{number}.log") as url:
                tools = listed_tools(url)
                ours = ours or tools
                assert tools == ours, f"{server.heading} has other tools: {dumps_compact(tools)}"
                for version, scenario, _ in SCENARIOS:
                    place = home / f"{number}-{version}-{scenario}"
                    place.mkdir()
                    of_server.append(run_scenario(url, version, scenario, env=environment, cwd=place))
    return verdicts


def cell(results: Iterable[ScenarioResult]) -> str:
    """Return passed and run checks of ``results`` together as text."""
    passed, failed, warned = (sum(counts) for counts in zip(*(one.summary() for one in results), strict=True))
    warnings = f", {warned} {'warning' if warned == 1 else 'warnings'}" if warned else ""
    return f"{passed}/{passed + failed}{warnings}"


def table(verdicts: Mapping[str, Sequence[ScenarioResult]]) -> str:
    """Return the table as Markdown: a row for each version of the protocol."""
    suite = json.loads((FOLDER / "package.json").read_text())["dependencies"]["@modelcontextprotocol/conformance"]
    rows = []
    for version in dict.fromkeys(version for version, *_ in SCENARIOS):
        places = [number for number, scenario in enumerate(SCENARIOS) if scenario[0] == version]
        rows.append([version, *(cell(of_server[number] for number in places) for of_server in verdicts.values())])
    title = f"### Conformance beside the peers, by the official suite {suite}: passed / run"
    return f"{title}\n\n{measured_tables.markdown_table(['version', *verdicts], rows)}\n{NOTES}"


def explained(verdicts: Mapping[str, Sequence[ScenarioResult]]) -> None:
    """Fail when toolfold fails a check that the notes do not explain."""
    for (_, scenario, _), result in zip(SCENARIOS, verdicts[OURS], strict=True):
        failed = set(result.ids("FAILURE") + result.ids("WARNING"))
        assert failed == expected_failures(scenario), f"{scenario}: {dumps_compact(sorted(failed))}"


def failures(verdicts: Mapping[str, Sequence[ScenarioResult]]) -> str:
    """Return the suite's message of each check not passed."""
    lines = []
    for heading, of_server in verdicts.items():
        for (version, scenario, _), result in zip(SCENARIOS, of_server, strict=True):
            lines += [f"{heading}, {version}, {scenario}: {one}" for one in result.failures()]
    return "\n".join(lines)


def main() -> int:
    """Print, write or check the table; return the exit code."""
    options = measured_tables.parse_options(__doc__, "--write FILE", "--check FILE", flags=["--failures"])
    verdicts = compare()
    explained(verdicts)
    if options.failures:
        print(failures(verdicts))
    page = options.write or options.check
    return measured_tables.update_page(page, COMMAND, table(verdicts), write=options.write is not None)


if __name__ == "__main__":
    sys.exit(main())
