"""The built package with SnapStart, in AWS's runtime client: warm before its first request, correct after a restore."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.built_function import NEEDS_BUILD, ROOT, BuiltFunction
from tests.support.catalogs import publish
from tests.support.lambda_runtime import LambdaRuntime
from tests.support.mcp_requests import message
from toolfold.mock_api.server import MockApi

CATALOG = (ROOT / "catalog/catalog.json").read_bytes()
CHANGED = CATALOG.replace(b" tools. Next:", b" tools. Then:", 1)  # in the listing, which is in the head
PLACE = "s3://snapshots/catalog"

pytestmark = [pytest.mark.e2e, NEEDS_BUILD]


@pytest.fixture
def runtime(endpoint: str, s3: Any, built: BuiltFunction, mock_api: MockApi) -> Iterator[LambdaRuntime]:
    from tests.support import aws_services  # a second to import: not when these tests are skipped

    variables = {
        "AWS_LAMBDA_INITIALIZATION_TYPE": "snap-start",
        "AWS_ENDPOINT_URL": endpoint,
        "TOOLFOLD_CATALOG": PLACE,
        "TOOLFOLD_CACHE": "memory",
        "TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": mock_api.url,
        "ALPHA_VANTAGE_API_KEY": "mock-key",
        "TOOLFOLD_ANYONE_MAY_USE_THE_KEY": "true",
    }
    with aws_services.bucket("snapshots", s3), built.runtime(variables) as runtime:
        yield runtime


def called(runtime: LambdaRuntime, name: str, **arguments: Any) -> str:
    """The body of the answer to one call of a meta-tool."""
    event = json.loads((ROOT / "events/tool-call.json").read_text())
    event["body"] = json.dumps(message("tools/call", {"name": name, "arguments": arguments}))
    answer = runtime.invoke(event)
    assert answer["statusCode"] == 200
    return str(answer["body"])


def test_a_restored_snapshot_serves_the_current_catalog(runtime: LambdaRuntime, s3: Any, mock_api: MockApi) -> None:
    publish(CATALOG, PLACE, s3)
    mock_api.clear_requests()
    runtime.start()
    assert mock_api.requests == []
    publish(CHANGED, PLACE, s3)

    assert " tools. Then:" in called(runtime, "TOOL_LIST")
    quote = called(runtime, "TOOL_CALL", tool_name="GLOBAL_QUOTE", arguments={"symbol": "IBM"})
    assert '\\"symbol\\":\\"IBM\\"' in quote
    assert len(mock_api.requests) == 1
    runtime.stop()
    assert len(runtime.init_times_s) == 1
    assert [line for line in runtime.log if "failed" in line or "Traceback" in line] == []
