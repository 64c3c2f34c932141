"""The package that `sam build` made runs in AWS's runtime client, with its layers and nothing else.

The catalog comes from an imitation of S3, the data from the mock API. What is run is the build for this machine;
test_built_package.py shows that it differs from the deployed one in compiled packages only. Every event has its status
in test_sam_local.py; publications, keys and the loss of services are in test_built_life_cycle.py.
"""

import asyncio
import json
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.support.built_function import NEEDS_BUILD, ROOT, BuiltFunction
from tests.support.catalogs import publish
from tests.support.lambda_runtime import LambdaRuntime
from tests.unit.test_import_budget import MAX_TOOLFOLD_MODULES, forbidden, ours
from toolfold.mock_api.server import MockApi

CATALOG = ROOT / "catalog/catalog.json"

CONFIGURED_KEY = "canary-configured-9Z4K"
"""An API key that must not turn up in any log line."""

pytestmark = [pytest.mark.e2e, NEEDS_BUILD]


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
        changed = content.replace(b" tools. Next:", b" tools. Then:", 1)  # in the listing, which is in the head
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
                    assert " tools. Then:" in json.dumps(call(url, "TOOL_LIST", {}))
                    quote = call(url, "TOOL_CALL", {"tool_name": "GLOBAL_QUOTE", "arguments": {"symbol": "IBM"}})
                assert quote["structuredContent"]["result"]["symbol"] == "IBM"
                assert len(mock_api.requests) == 1
        assert len(runtime.init_times_s) == 1
        assert [line for line in runtime.log if "failed" in line or "Traceback" in line] == []
