"""SDKs that agents are built on, the MCP Inspector and mcporter: over HTTP and stdio, in both eras, in each mode."""

import json
import os
import re
import subprocess
import sys
import time
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from scripts.release import write_bundle
from tests.conformance.helpers import (
    CHECKS,
    FASTMCP_PYTHON,
    FOLDER,
    INSPECTOR,
    MCPB,
    MCPORTER,
    META_TOOLS,
    QUOTE,
    TOOLFOLD,
    check_entry,
    check_listing,
    check_quote,
    check_tools,
    node,
    output,
    package,
    run,
    start_server,
)
from tests.support.upstream import Upstream

pytestmark = pytest.mark.clients


HANDSHAKE, STATELESS = "2025-11-25", "2026-07-28"

# SDK, how it chooses the version, and the expected version. "auto" prefers the newest that both support.
CLIENTS = [
    ("v1", "legacy", HANDSHAKE),
    *(
        (sdk, mode, version)
        for sdk in ("v2", "mcp", "fastmcp")
        for mode, version in (("legacy", HANDSHAKE), ("auto", STATELESS), (STATELESS, STATELESS))
    ),
]


def script(sdk: str) -> list[str]:
    """Return the command that runs the three steps with an SDK: v1 and v2 are TypeScript's, the others Python's."""
    if sdk in ("v1", "v2"):
        return [node(), str(FOLDER / "three_steps.mjs"), sdk]
    python = FASTMCP_PYTHON if sdk == "fastmcp" else Path(sys.executable)
    assert python.exists(), f"{sdk} is not installed: make clients"
    return [str(python), str(FOLDER / "three_steps.py"), sdk]


@pytest.mark.parametrize(("sdk", "mode", "version"), CLIENTS)
def test_the_three_steps(
    sdk: str, mode: str, version: str, target: list[str], environment: Mapping[str, str], empty: Path
) -> None:
    answers = output([*script(sdk), mode, *target], env=environment, cwd=empty)

    # TypeScript's v1 does not report the negotiated version over stdio.
    assert answers["protocol"] == version or (sdk == "v1" and answers["protocol"] is None)
    assert answers["tools"] == META_TOOLS
    for step, check in zip(answers["steps"], CHECKS, strict=True):
        assert not step.get("isError")
        assert step["content"][0]["text"]
        check(step["structuredContent"])


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


def test_every_schema_travels_through_the_inspector(
    target: list[str], environment: Mapping[str, str], empty: Path
) -> None:
    # With --strict a schema that some provider would refuse ends it with code 6.
    check_tools(inspect(target, environment, empty, "--method", "tools/list", "--strict")["tools"])


def test_the_inspector_makes_the_three_steps(target: list[str], environment: Mapping[str, str], empty: Path) -> None:
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


def mcporter(command: str, target: list[str], environment: Mapping[str, str], empty: Path, *options: str) -> Any:
    """Return what mcporter prints for a server without a configuration."""
    if target[0].startswith("http"):
        how = ["--http-url", target[0], "--allow-http"]
    else:
        how = ["--stdio", target[0], *(part for arg in target[1:] for part in ("--stdio-arg", arg))]
        how += [part for name, value in environment.items() for part in ("--env", f"{name}={value}")]
    return output([*package(MCPORTER), command, *how, *options], env=environment, cwd=empty)


def test_mcporter_lists_the_tools_with_their_schemas(
    target: list[str], environment: Mapping[str, str], empty: Path
) -> None:
    listed = mcporter("list", target, environment, empty, "--schema", "--json")
    assert listed["status"] == "ok"
    check_tools(listed["tools"])


def test_mcporter_looks_a_tool_up_and_calls_it(target: list[str], environment: Mapping[str, str], empty: Path) -> None:
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
def test_mcporter_lists_and_calls_in_each_mode(
    mode: str, tool: str, arguments: Mapping[str, Any], url: str, environment: Mapping[str, str], empty: Path
) -> None:
    target = [f"{url}/{mode}"]
    listed = mcporter("list", target, environment, empty, "--schema", "--json")
    assert tool in {one["name"] for one in listed["tools"]}
    given = json.dumps(arguments)
    check_quote(mcporter("call", target, environment, empty, tool, "--args", given, "--output", "json"))


def test_task_is_polled_until_the_whole_result_is_there(
    environment: Mapping[str, str], empty: Path, tmp_path: Path
) -> None:
    def reply(query: Mapping[str, str]) -> tuple[int, dict[str, str], bytes]:
        # One answer comes at once, also on a busy machine: a call without any becomes no task.
        time.sleep(0.0 if query["symbol"] == "SLOW0" else 0.5)
        return 200, {}, f"symbol,price\n{query['symbol']},1\n".encode()

    symbols = [f"SLOW{number}" for number in range(45)]
    calls = [{"tool_name": "GLOBAL_QUOTE", "arguments": {"symbol": symbol}} for symbol in symbols]
    short = {"TOOLFOLD_TIMEOUT_S": "6", "TOOLFOLD_CONNECT_TIMEOUT_S": "1", "TOOLFOLD_MAX_QUEUE_WAIT_S": "0.5"}
    with Upstream(reply) as upstream:
        variables = {**environment, **short, "TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": upstream.url}
        with start_server([TOOLFOLD, "serve", "--port", "0"], env=variables, log=tmp_path / "log") as url:
            batch = json.dumps({"calls": calls, "max_parallel": 2})
            answer = output([node(), str(FOLDER / "task_steps.mjs"), url, batch], env=variables, cwd=empty)
    assert [method for method in answer["sent"] if method != "tools/list"][:2] == ["tools/call", "tasks/get"]
    assert answer["result"]["structuredContent"]["summary"]["succeeded"] == len(symbols)


_NETWORK = re.compile(r"UV_.*|.*_CA_BUNDLE|SSL_CERT_.*|.*_PROXY", re.IGNORECASE)
"""Variables of this machine by which packages are installed."""

UV = Path(sys.executable).with_name("uv")


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the unpacked bundle."""
    folder = tmp_path_factory.mktemp("release")
    build = [sys.executable, "-m", "build", "--quiet", "--wheel", "--no-isolation", "--outdir", str(folder)]
    subprocess.run([*build, str(FOLDER.parents[1])], check=True, stdout=subprocess.DEVNULL)
    (wheel,) = folder.glob("*.whl")
    write_bundle(folder / "toolfold.mcpb", wheel)
    with zipfile.ZipFile(folder / "toolfold.mcpb") as archive:
        archive.extractall(folder / "installed")
    return folder / "installed"


def test_manifest_of_the_bundle_is_one(bundle: Path, environment: Mapping[str, str]) -> None:
    done = run([*package(MCPB), "validate", bundle / "manifest.json"], env=environment, cwd=bundle)
    assert done.returncode == 0, done.stdout + done.stderr


def test_host_of_the_bundle_starts_it_with_the_key_that_a_person_entered(
    bundle: Path, environment: Mapping[str, str], empty: Path
) -> None:
    manifest = json.loads((bundle / "manifest.json").read_text())
    [asked], how = manifest["user_config"], manifest["server"]["mcp_config"]
    assert manifest["user_config"][asked]["sensitive"]
    entered = {f"${{user_config.{asked}}}": environment["ALPHA_VANTAGE_API_KEY"], "${__dirname}": str(bundle)}
    words = [entered.get(word, word) for word in how["args"]]
    variables = {name: entered.get(value, value) for name, value in how["env"].items()}
    # The machine's own Python: a host without one downloads it, which a test must not.
    variables |= {"UV_PYTHON": sys.executable, "UV_PYTHON_DOWNLOADS": "never"}
    started = ["--stdio", str(UV), *(part for word in words for part in ("--stdio-arg", word))]
    started += [part for name, value in variables.items() for part in ("--env", f"{name}={value}")]
    without_key = {name: value for name, value in environment.items() if name != "ALPHA_VANTAGE_API_KEY"}
    # The first start installs the packages, for which a client's time-out may be too short.
    network = {name: value for name, value in os.environ.items() if _NETWORK.fullmatch(name)}
    installed = run([UV, *words[:-1], "python", "--version"], env={**without_key, **network, **variables}, cwd=empty)
    assert installed.returncode == 0, installed.stderr
    listed = output([*package(MCPORTER), "list", *started, "--schema", "--json"], env=without_key, cwd=empty)
    check_tools(listed["tools"])
    arguments = json.dumps({"tool_name": "GLOBAL_QUOTE", "arguments": QUOTE})
    call = [*package(MCPORTER), "call", *started, "TOOL_CALL", "--args", arguments, "--output", "json"]
    check_quote(output(call, env=without_key, cwd=empty))
