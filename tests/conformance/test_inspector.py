"""The MCP Inspector's command line: schemas that other model providers accept, and the three steps."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.helpers import (
    INSPECTOR,
    QUOTE,
    check_entry,
    check_listing,
    check_quote,
    check_tools,
    output,
    package,
)

pytestmark = pytest.mark.clients


def inspect(target: list[str], environment: Mapping[str, str], empty: Path, *options: str) -> Any:
    """Return what the Inspector prints. It passes only the variables named by ``-e`` to a server."""
    how = ["--transport", "http"] if target[0].startswith("http") else []
    given = [part for name, value in environment.items() for part in ("-e", f"{name}={value}")] if not how else []
    return output([*package(INSPECTOR), "--cli", *given, *target, *how, *options], env=environment, cwd=empty)


def called(target: list[str], environment: Mapping[str, str], empty: Path, tool: str, **arguments: str) -> Any:
    pairs = [part for name, value in arguments.items() for part in ("--tool-arg", f"{name}={value}")]
    answer = inspect(target, environment, empty, "--method", "tools/call", "--tool-name", tool, *pairs)
    assert not answer.get("isError")
    return answer["structuredContent"]


def test_every_schema_travels(target: list[str], environment: Mapping[str, str], empty: Path) -> None:
    # With --strict a schema that some provider would refuse ends it with code 6.
    check_tools(inspect(target, environment, empty, "--method", "tools/list", "--strict")["tools"])


def test_the_three_steps(target: list[str], environment: Mapping[str, str], empty: Path) -> None:
    check_listing(called(target, environment, empty, "TOOL_LIST"))
    check_entry(called(target, environment, empty, "TOOL_GET", tool_name="GLOBAL_QUOTE"))
    arguments = json.dumps(QUOTE)
    check_quote(called(target, environment, empty, "TOOL_CALL", tool_name="GLOBAL_QUOTE", arguments=arguments))


MODES = {"lazy": ("TOOL_CALL", None), "grouped": ("core_stock_apis", "action"), "direct": ("GLOBAL_QUOTE", "")}
"""Mode → the tool that returns a quote there, and the argument that names it; None: by ``tool_name``."""


@pytest.mark.parametrize("mode", MODES)
def test_each_mode_travels_and_calls(mode: str, url: str, environment: Mapping[str, str], empty: Path) -> None:
    target = [f"{url}/{mode}"]
    inspect(target, environment, empty, "--method", "tools/list", "--strict")
    tool, key = MODES[mode]
    named = {} if not key else {key: "GLOBAL_QUOTE"}
    given = {"tool_name": "GLOBAL_QUOTE", "arguments": json.dumps(QUOTE)} if key is None else {**named, **QUOTE}
    check_quote(called(target, environment, empty, tool, **given))
