"""What the Lambda function may import before its first response.

Each import makes every cold start longer. What the runtime client has imported before it loads the handler costs
nothing more. ``tests/integration/test_built_package.py`` checks the same for the built package in the real client.
"""

import functools
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Set
from graphlib import TopologicalSorter
from pathlib import Path

import grimp
import pytest

from toolfold.mock_api.server import MockApi

RUNTIME = "concurrent.futures.thread decimal importlib.util json logging math pwd runpy string traceback"
"""Modules that awslambdaric 4 imports, with all that these import."""

FORBIDDEN = {
    # Clients of AWS but for obstore, and of the upstream: made by the first call. Powertools imports the package
    # botocore itself, which is small, to add its name to the user agent.
    "boto3", "botocore.client", "botocore.credentials", "botocore.session", "obstore", "requests", "urllib3",
    "http.client", "ssl", "aws_lambda_powertools.utilities.parameters",
    # Used by a call, or when a name is not found.
    "jsonschema_rs", "rapidfuzz", "sqlite3", "zoneinfo",
    # Build time, other servers, traces.
    "aws_xray_sdk", "jsonschema", "mcp", "mcp_types", "pydantic", "yaml",
    # Not used on Lambda at all.
    "aiohttp", "argparse", "asyncio", "platformdirs",
}  # fmt: skip
"""Packages and modules, with everything below them, that no first response needs."""

MAX_TOOLFOLD_MODULES = 35
"""Modules of toolfold, packages included, in the first response. Raise it for code that every request needs."""

MAX_MODULES = 129
"""All modules that the handler imports for ``tools/list``: ours, Powertools and what they import.

The count is that of Python 3.13, which the function runs on: its standard library is divided into five modules more
than that of 3.11 and 3.12 for the same imports.
"""

FIRST_RESPONSES = ["initialize", "tools-list", "server-discover", "tool-list", "tool-get", "get", "not-json"]

PROGRAM = """
import importlib, importlib.util, json, sys
event = json.load(open(sys.argv[1]))
for name in sys.argv[2:]:
    importlib.import_module(name)
before = set(sys.modules)
spec = importlib.util.spec_from_file_location("app", "handlers/gateway/app.py")
app = importlib.util.module_from_spec(spec)
spec.loader.exec_module(app)
class Context:
    function_name = invoked_function_arn = aws_request_id = "1"
    memory_limit_in_mb = 1024
    get_remaining_time_in_millis = staticmethod(lambda: 29000)
response = app.handler(event, Context)
print(json.dumps({"status": response["statusCode"], "modules": sorted(set(sys.modules) - before)}))
"""


@functools.cache
def imported(event: str) -> Set[str]:
    """Return the modules that a new process imports to answer ``event``, without those of the runtime client."""
    command = [sys.executable, "-c", PROGRAM, str(Path("events") / f"{event}.json"), *RUNTIME.split()]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    answer = json.loads(done.stdout.splitlines()[-1])
    assert answer["status"] < 500
    return set(answer["modules"])


def forbidden(modules: Iterable[str]) -> set[str]:
    """Return those of ``modules`` that are in ``FORBIDDEN`` or below it."""
    return {module for module in modules if any(module == name or module.startswith(f"{name}.") for name in FORBIDDEN)}


def ours(modules: Iterable[str]) -> set[str]:
    """Return those of ``modules`` that belong to toolfold."""
    return {module for module in modules if module.partition(".")[0] == "toolfold"}


@pytest.mark.parametrize("event", FIRST_RESPONSES)
def test_a_first_response_imports_nothing_forbidden(event: str) -> None:
    assert not forbidden(imported(event))


def test_the_first_response_imports_no_more_modules_than_before() -> None:
    modules = imported("tools-list")

    assert "dataclasses" not in modules, "making classes of them takes longer than all else in a module"
    assert len(ours(modules)) <= MAX_TOOLFOLD_MODULES, sorted(ours(modules))
    assert len(modules) <= MAX_MODULES, sorted(modules)


def test_the_first_response_imports_no_meta_tool() -> None:
    for name in ("tool_list", "tool_get", "plan"):
        assert f"toolfold.meta_tools.{name}" not in imported("tools-list")


@pytest.mark.parametrize("event", ["tool-list", "tool-get"])
def test_listing_and_describing_tools_imports_nothing_that_calls_need(event: str) -> None:
    packages = {".".join(module.split(".")[:2]) for module in ours(imported(event))}

    assert packages.isdisjoint({"toolfold.cache", "toolfold.network", "toolfold.sources"})


def test_a_cached_response_imports_neither_requests_nor_scripts(mock_api: MockApi, tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "from toolfold.app import build_app\n"
        "from toolfold.settings import Settings\n"
        "tools = build_app(Settings.from_environment()).server.tools\n"
        "result = tools.call('TOOL_CALL', {'tool_name': 'CPI', 'arguments': {}})\n"
        "scripts = {'pydantic_monty', 'toolfold.scripts'}.intersection(sys.modules)\n"
        "print(result.structured.get('cached', False), 'requests' in sys.modules, *scripts)\n"
    )
    environment = {
        **os.environ,
        "ALPHA_VANTAGE_API_KEY": "mock-key",
        "TOOLFOLD_ANYONE_MAY_USE_THE_KEY": "true",
        "TOOLFOLD_CACHE": str(tmp_path / "cache.sqlite"),
        "TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": mock_api.url,
    }
    command = [sys.executable, "-c", program]
    printed = [
        subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout for _ in range(2)
    ]
    assert printed == ["False True\n", "True False\n"]


def test_no_files_import_each_other_in_a_circle() -> None:
    """Imports inside functions and those for types count too: what is in a circle can only be read together."""
    graph = grimp.build_graph("toolfold", exclude_type_checking_imports=False)
    sorter = TopologicalSorter({module: graph.find_modules_directly_imported_by(module) for module in graph.modules})

    sorter.prepare()


def test_the_demo_needs_no_extra() -> None:
    program = "import sys; sys.modules.update(dict.fromkeys(sys.argv[1:], None)); sys.argv[1:] = ['demo']\n"
    program += "from toolfold.cli import entry_point; sys.exit(entry_point.main())"
    extras = ("boto3", "mcp", "pydantic", "starlette", "uvicorn", "yaml")
    done = subprocess.run([sys.executable, "-c", program, *extras], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
