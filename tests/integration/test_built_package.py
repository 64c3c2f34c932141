"""The package that ``sam build`` made: its layers, and the function in AWS's runtime client with them alone."""

import asyncio
import filecmp
import io
import json
import os
import re
import subprocess
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import built_function
from tests.support.built_function import DEPLOYED_BUILD, LAMBDA_PYTHON, LOCAL_BUILD, NEEDS_BUILD, ROOT, BuiltFunction
from tests.support.catalogs import publish
from tests.support.lambda_runtime import LambdaRuntime
from tests.unit.test_import_budget import MAX_TOOLFOLD_MODULES, forbidden, ours
from toolfold.mock_api.server import MockApi

pytestmark = [pytest.mark.e2e, NEEDS_BUILD]


CATALOG = ROOT / "catalog/catalog.json"
OF_EXTRAS = (
    "anyio",
    "httpcore2",
    "httpx",
    "mcp",
    "mcp_types",
    "opentelemetry",
    "psycopg",
    "pydantic",
    "pydantic_monty",
    "sqlglot",
)
"""Packages of extras that the layers do not have: a call that needs one says which."""

MAX_ZIPPED_BYTES = 30_000_000
"""A minute of upload at 4 Mbit/s. Five layers were 85 MB."""


def test_every_module_of_the_core_layer_can_be_imported(built: BuiltFunction) -> None:
    code = (
        "import importlib, pkgutil, toolfold\n"
        "for module in pkgutil.walk_packages(toolfold.__path__, 'toolfold.'):\n"
        "    try:\n"
        "        importlib.import_module(module.name)\n"
        "    except ModuleNotFoundError as error:\n"
        f"        if error.name.partition('.')[0] not in {OF_EXTRAS}:\n"
        "            raise\n"
    )
    path = os.pathsep.join(str(layer / "python") for layer in built.layers)
    environment = {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    ran = subprocess.run([LAMBDA_PYTHON, "-c", code], env=environment, capture_output=True, text=True, check=False)

    assert ran.returncode == 0, ran.stderr


def test_the_core_layer_contains_the_catalog_and_no_development_code(built: BuiltFunction) -> None:
    core = built.layers[1] / "python/toolfold"

    assert (core / "catalog/catalog.json").read_bytes() == CATALOG.read_bytes()
    for name in ("build", "cli", "log_analysis", "mock_api", "transports/local_http", "__main__.py"):
        assert not (core / name).exists()
    assert [path.name for path in (core / "explorer/static").iterdir()] == ["answer.html"]
    assert (core / "explorer/static/answer.html").is_file()
    for name in ("feed", "approvals"):
        assert not (core / f"explorer/{name}.py").exists()


def test_compiled_files_do_not_depend_on_file_times(built: BuiltFunction) -> None:
    """Bytes 4 to 8 of a .pyc: 1 = named by a hash that is not checked (PEP 552). SAM sets all times to 1980."""
    sources = [source for layer in built.layers for source in (layer / "python").rglob("*.py")]
    assert len(sources) > 100
    for source in sources:
        compiled = source.parent / "__pycache__" / f"{source.stem}.cpython-313.pyc"
        assert int.from_bytes(compiled.read_bytes()[4:8], "little") == 1, source


def test_compiled_files_contain_no_path_of_this_machine(built: BuiltFunction) -> None:
    for layer in built.layers:
        for compiled in (layer / "python").rglob("*.pyc"):
            assert str(ROOT).encode() not in compiled.read_bytes(), compiled


def test_the_deployed_build_differs_only_in_compiled_packages(built: BuiltFunction) -> None:
    deployed = built_function.load_built_function(DEPLOYED_BUILD)
    assert not differences(deployed.function, built.function)
    assert not differences(deployed.layers[1], built.layers[1])
    # Of the packages: the extension modules, and the records that name them.
    allowed = re.compile(r"\.so$|\.dist-info(/|$)")
    assert not [name for name in differences(deployed.layers[0], built.layers[0]) if not allowed.search(name)]


def test_the_deployed_build_is_small_to_upload() -> None:
    """What SAM uploads: an archive of each folder, without what settings.toml adds by `extras`."""
    sizes = {folder.name: zipped_bytes(folder) for folder in DEPLOYED_BUILD.iterdir() if folder.is_dir()}
    print(", ".join(f"{name} {size / 1e6:.1f} MB" for name, size in sizes.items()))

    assert set(sizes) == {"GatewayFunction", "DependenciesLayer", "CoreLayer"}
    assert sum(sizes.values()) <= MAX_ZIPPED_BYTES, sizes


def zipped_bytes(folder: Path) -> int:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in folder.rglob("*"):
            archive.write(path, path.relative_to(folder))
    return len(content.getvalue())


def differences(left: Path, right: Path) -> list[str]:
    """Files below two folders that are not in both, or not the same byte for byte."""
    files = {str(path.relative_to(side)) for side in (left, right) for path in side.rglob("*") if path.is_file()}
    _, differing, missing = filecmp.cmpfiles(left, right, sorted(files), shallow=False)
    return differing + missing


CONFIGURED_KEY = "canary-configured-9Z4K"
"""An API key that must not turn up in any log line."""


@pytest.fixture(scope="module")
def start(built: BuiltFunction, endpoint: str) -> Callable[..., LambdaRuntime]:
    """Makes a runtime for the built function, with a catalog at ``place`` and further variables."""

    def make(place: str, **variables: str) -> LambdaRuntime:
        return built.runtime({"TOOLFOLD_CATALOG": place, "AWS_ENDPOINT_URL": endpoint, **variables})

    return make


@pytest.fixture(scope="module")
def published(s3: Any) -> str:
    s3.create_bucket(Bucket="published")
    publish(CATALOG.read_bytes(), "s3://published/catalog", s3)
    return "s3://published/catalog"


@pytest.fixture(scope="module")
def runtime(start: Callable[..., LambdaRuntime], published: str) -> Iterator[LambdaRuntime]:
    with MockApi() as mock_api:
        variables = {
            "TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": mock_api.url,
            "TOOLFOLD_ALLOW_KEY_IN_QUERY": "true",
            "TOOLFOLD_LOG_LEVEL": "DEBUG",
        }
        with start(published, **variables) as runtime:
            yield runtime


@pytest.fixture(scope="module")
def url(runtime: LambdaRuntime) -> Iterator[str]:
    with runtime.serve_http("/mcp") as url:
        yield url


def post(url: str, method: str, params: dict[str, Any] | None = None, **headers: str) -> dict[str, Any]:
    """The ``result`` of a JSON-RPC request."""
    content = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}).encode()
    sent = {"content-type": "application/json", "accept": "application/json, text/event-stream", **headers}
    with urllib.request.urlopen(urllib.request.Request(url, content, sent)) as answer:
        return dict(json.load(answer)["result"])


def call(url: str, name: str, arguments: dict[str, Any], **headers: str) -> dict[str, Any]:
    """The result of a meta-tool."""
    return post(url, "tools/call", {"name": name, "arguments": arguments}, **headers)


class TestConversation:
    def test_tool_list_names_every_tool_of_the_published_catalog(self, url: str) -> None:
        listed = call(url, "TOOL_LIST", {})["structuredContent"]

        assert listed["total"] == len(listed["tools"]) > 100
        assert "GLOBAL_QUOTE" in {tool["name"] for tool in listed["tools"]}

    @pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
    def test_the_client_of_the_sdk_can_call_tools(
        self, start: Callable[..., LambdaRuntime], published: str, era: str
    ) -> None:
        from mcp.client.client import Client

        async def talk(url: str) -> tuple[int, bool]:
            async with Client(url, mode=era) as client:
                tools = (await client.list_tools()).tools
                arguments = {"tool_name": "GLOBAL_QUOTE", "arguments": {"symbol": "AAPL"}}
                return len(tools), bool((await client.call_tool("TOOL_CALL", arguments)).is_error)

        with (
            MockApi() as mock_api,
            start(
                published,
                TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL=mock_api.url,
                ALPHA_VANTAGE_API_KEY=CONFIGURED_KEY,
                TOOLFOLD_ANYONE_MAY_USE_THE_KEY="true",
            ) as runtime,
            runtime.serve_http() as url,
        ):
            assert asyncio.run(talk(url)) == (3, False)
        assert CONFIGURED_KEY not in "\n".join(runtime.log)


class TestColdStart:
    def test_the_import_budget_holds_in_the_runtime_client(self, start: Callable[..., LambdaRuntime]) -> None:
        """The budget of tests/unit/test_import_budget.py, for the built package in the real client."""
        event = json.loads((ROOT / "events/tools-list.json").read_text(encoding="utf-8"))
        with start("", PYTHONPROFILEIMPORTTIME="1") as runtime:
            runtime.invoke(event)
        lines = [line.rpartition("|")[2].strip() for line in runtime.log if line.startswith("import time:")]
        # A package is listed after what it imports: the first module of the handler's is the first of Powertools.
        first = next(number for number, name in enumerate(lines) if name.startswith("aws_lambda_powertools"))
        modules = set(lines[first:])

        assert not forbidden(modules)
        assert 0 < len(ours(modules)) <= MAX_TOOLFOLD_MODULES


class TestTraces:
    def test_the_layers_contain_what_tracing_needs(self, start: Callable[..., LambdaRuntime]) -> None:
        with start("", TOOLFOLD_TRACE="true") as runtime:
            response = runtime.invoke(json.loads((ROOT / "events/tools-list.json").read_text(encoding="utf-8")))

        assert response["statusCode"] == 200
        assert not [line for line in runtime.log if "Traceback" in line or "Error" in line]


class TestMetrics:
    def test_cold_starts_and_calls_are_counted(self, start: Callable[..., LambdaRuntime]) -> None:
        event = json.loads((ROOT / "events/tool-call.json").read_text(encoding="utf-8"))
        with MockApi() as mock_api, start("", TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL=mock_api.url) as runtime:
            for _ in range(2):
                runtime.invoke(event)
        metrics = [json.loads(line) for line in runtime.log if '"_aws"' in line]

        assert sum("ColdStart" in metric for metric in metrics) == 1
        assert [metric["code"] for metric in metrics if "Calls" in metric] == ["OK", "OK"]


class TestSnapshot:
    def test_a_restored_one_serves_the_current_catalog(self, start: Callable[..., LambdaRuntime], s3: Any) -> None:
        """Warm before its first request, without a request to the upstream; correct after a restore."""
        from tests.support import aws_services  # a second to import: not when these tests are skipped

        place, content = "s3://snapshots/catalog", CATALOG.read_bytes()
        changed = content.replace(b"Stocks, options,", b"Shares, options,", 1)  # of a source, in the head
        with MockApi() as mock_api, aws_services.bucket("snapshots", s3):
            variables = {
                "AWS_LAMBDA_INITIALIZATION_TYPE": "snap-start",
                "TOOLFOLD_CACHE": "memory",
                "TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": mock_api.url,
                "ALPHA_VANTAGE_API_KEY": CONFIGURED_KEY,
                "TOOLFOLD_ANYONE_MAY_USE_THE_KEY": "true",
            }
            publish(content, place, s3)
            with start(place, **variables) as runtime:
                runtime.start()
                assert mock_api.requests == []
                publish(changed, place, s3)
                with runtime.serve_http("/mcp") as url:
                    assert "Shares, options," in json.dumps(call(url, "TOOL_LIST", {}))
                    quote = call(url, "TOOL_CALL", {"tool_name": "GLOBAL_QUOTE", "arguments": {"symbol": "IBM"}})
                assert quote["structuredContent"]["result"]["symbol"] == "IBM"
                assert len(mock_api.requests) == 1
        assert len(runtime.init_times_s) == 1
        assert [line for line in runtime.log if "failed" in line or "Traceback" in line] == []


SAM_PYTHON = ROOT / ".venv-sam/bin/python"

NEEDS_SAM = pytest.mark.skipif(not SAM_PYTHON.exists(), reason="needs SAM: make e2e")

RUN_BY_SAM = """
import json, sys
from unittest.mock import Mock
from samcli.commands.local.lib.local_lambda import LocalLambdaRunner
from samcli.lib.providers.sam_function_provider import SamFunctionProvider
from samcli.lib.providers.sam_stack_provider import SamLocalStackProvider

function = SamFunctionProvider(SamLocalStackProvider.get_stacks(sys.argv[1])[0]).get("GatewayFunction")
json.dump(LocalLambdaRunner(Mock(), Mock(), ".", None)._make_env_vars(function).resolve(), sys.stdout)
"""
"""Prints the environment that ``sam local invoke`` gives to the function, which resources have their logical ids in."""

NOWHERE = "http://127.0.0.1:9"
"""The discard port: a request that leaves the process fails at once."""


def environment_of_sam(template: Path) -> dict[str, str]:
    """Return what ``sam local invoke`` computes, without the container."""
    command = [str(SAM_PYTHON), "-P", "-c", RUN_BY_SAM, str(template)]
    variables = {"AWS_DEFAULT_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true", "HOME": "/nonexistent"}
    ran = subprocess.run(command, env=variables, capture_output=True, text=True, check=True, timeout=60)
    found: dict[str, str] = json.loads(ran.stdout)
    return found


@pytest.fixture(scope="module")
def local_runtime() -> Iterator[LambdaRuntime]:
    template = LOCAL_BUILD / "template.yaml"
    environment = environment_of_sam(template)
    assert environment["AWS_SAM_LOCAL"] == "true"
    built = built_function.load_built_function(LOCAL_BUILD)
    unreachable = {"AWS_ENDPOINT_URL": NOWHERE, "HTTPS_PROXY": NOWHERE, "HTTP_PROXY": NOWHERE, "NO_PROXY": "127.0.0.1"}
    with LambdaRuntime(
        function=built.function,
        layers=built.layers,
        python=built_function.LAMBDA_PYTHON,
        handler=built.handler,
        environment={**environment, **unreachable},
        timeout_s=built.timeout_s,
    ) as local_runtime:
        yield local_runtime


def statuses() -> dict[str, int]:
    """Return event → status, as events/README.md has them."""
    text = (ROOT / "events/README.md").read_text(encoding="utf-8")
    return {name: int(status) for name, status in re.findall(r"^\| \[(.+?)\]\(.*\| (\d+) \|$", text, re.MULTILINE)}


@NEEDS_SAM
@pytest.mark.parametrize(("event", "status"), statuses().items())
def test_every_event_gets_its_status_without_a_request_that_leaves(
    local_runtime: LambdaRuntime, event: str, status: int
) -> None:
    answer: Any = local_runtime.invoke(json.loads((ROOT / "events" / event).read_text(encoding="utf-8")))

    assert answer["statusCode"] == status, (answer, local_runtime.log[-5:])


@NEEDS_SAM
def test_the_log_says_that_the_run_is_local(local_runtime: LambdaRuntime) -> None:
    local_runtime.invoke(json.loads((ROOT / "events/tools-list.json").read_text(encoding="utf-8")))

    assert [line for line in local_runtime.log if "sam local: " in line and "TOOLFOLD_CACHE=memory" in line]
    assert not [line for line in local_runtime.log if "CacheTable" in line or "ConnectError" in line]
