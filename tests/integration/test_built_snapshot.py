"""The built package with SnapStart, in AWS's runtime client: warm before its first request, correct after a restore."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support import built_function
from tests.support.built_function import LOCAL_BUILD, NEEDS_BUILD, ROOT
from tests.support.catalogs import publish
from tests.support.lambda_runtime import LambdaRuntime
from tests.support.mcp_requests import message
from toolfold.mock_api.server import MockApi

CATALOG = (ROOT / "catalog/catalog.json").read_bytes()
CHANGED = CATALOG.replace(b" tools. Next:", b" tools. Then:", 1)  # in the listing, which is in the head
PLACE = "s3://snapshots/catalog"

pytestmark = [pytest.mark.e2e, NEEDS_BUILD]


@pytest.fixture(scope="module")
def s3_url() -> Iterator[str]:
    from tests.support import aws_services  # a second to import: not when these tests are skipped

    with aws_services.serving() as url:
        yield url


@pytest.fixture
def s3(s3_url: str) -> Any:
    import boto3

    keys = {"aws_access_key_id": "t", "aws_secret_access_key": "t"}
    client: Any = boto3.client("s3", endpoint_url=s3_url, region_name="us-east-1", **keys)
    client.create_bucket(Bucket="snapshots")
    yield client
    for item in client.list_objects_v2(Bucket="snapshots").get("Contents", ()):
        client.delete_object(Bucket="snapshots", Key=item["Key"])
    client.delete_bucket(Bucket="snapshots")


@pytest.fixture
def runtime(s3_url: str, s3: Any, mock_api: MockApi) -> Iterator[LambdaRuntime]:
    variables = {
        "AWS_LAMBDA_INITIALIZATION_TYPE": "snap-start",
        "AWS_ENDPOINT_URL": s3_url,
        "TOOLFOLD_CATALOG": PLACE,
        "TOOLFOLD_CACHE": "memory",
        "TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": mock_api.url,
        "ALPHA_VANTAGE_API_KEY": "mock-key",
        "TOOLFOLD_ANYONE_MAY_USE_THE_KEY": "true",
    }
    with built_function.load_built_function(LOCAL_BUILD).runtime(variables) as runtime:
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
