"""mcporter, which makes MCP servers available as a command line for agents and scripts."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.helpers import MCPORTER, QUOTE, check_entry, check_quote, check_tools, output, package

pytestmark = pytest.mark.clients


def mcporter(command: str, target: list[str], environment: Mapping[str, str], empty: Path, *options: str) -> Any:
    """Return what mcporter prints for a server without a configuration."""
    if target[0].startswith("http"):
        how = ["--http-url", target[0], "--allow-http"]
    else:
        how = ["--stdio", target[0], *(part for arg in target[1:] for part in ("--stdio-arg", arg))]
        how += [part for name, value in environment.items() for part in ("--env", f"{name}={value}")]
    return output([*package(MCPORTER), command, *how, *options], env=environment, cwd=empty)


def test_it_lists_the_tools_with_their_schemas(target: list[str], environment: Mapping[str, str], empty: Path) -> None:
    listed = mcporter("list", target, environment, empty, "--schema", "--json")
    assert listed["status"] == "ok"
    check_tools(listed["tools"])


def test_it_looks_a_tool_up_and_calls_it(target: list[str], environment: Mapping[str, str], empty: Path) -> None:
    def call(tool: str, arguments: Mapping[str, Any]) -> Any:
        return mcporter("call", target, environment, empty, tool, "--args", json.dumps(arguments), "--output", "json")

    check_entry(call("TOOL_GET", {"tool_name": ["GLOBAL_QUOTE"]}))
    check_quote(call("TOOL_CALL", {"tool_name": "GLOBAL_QUOTE", "arguments": QUOTE}))


@pytest.mark.parametrize(
    ("mode", "tool", "arguments"),
    [
        ("grouped", "core_stock_apis", {"action": "GLOBAL_QUOTE", **QUOTE}),
        ("direct", "GLOBAL_QUOTE", QUOTE),
        (
            "kinds",
            "connector",
            {"subcommand": "execute", "connector": "alpha_vantage", "action": "GLOBAL_QUOTE", "parameters": QUOTE},
        ),
    ],
)
def test_it_lists_and_calls_in_each_mode(
    mode: str, tool: str, arguments: Mapping[str, Any], url: str, environment: Mapping[str, str], empty: Path
) -> None:
    target = [f"{url}/{mode}"]
    listed = mcporter("list", target, environment, empty, "--schema", "--json")
    assert tool in {one["name"] for one in listed["tools"]}
    given = json.dumps(arguments)
    check_quote(mcporter("call", target, environment, empty, tool, "--args", given, "--output", "json"))
