"""A Lambda function responds before its time is up, in every kind of wait."""

import json
import logging
from typing import Any

import pytest

from tests.faults.scenario import BUCKET, KEY, QUOTE, SERIES, TABLE, Aws, Row, all_rows, parametrize_rows
from tests.support.cpu_time import ends_within
from tests.support.lambda_handler import http_event, make_handler
from tests.support.mcp_requests import tool_call
from tests.support.proxies import Fault
from toolfold.mock_api.server import MockApi

MARGIN_S = 1.0
SETTINGS = {
    "TOOLFOLD_CACHE": f"dynamodb://{TABLE}",
    "TOOLFOLD_OFFLOAD": f"s3://{BUCKET}/long",
    "TOOLFOLD_MAX_TOKENS": "500",
    "TOOLFOLD_CACHE_TIMEOUT_S": "1",
    "TOOLFOLD_RETRY_BACKOFF_S": "20",
    "TOOLFOLD_MAX_QUEUE_WAIT_S": "10",
}

Call = tuple[str, str, float, dict[str, Fault]]
"""The tool, its symbol, the seconds that are left of the invocation, and the faults of AWS."""

CALLS: dict[str, Call] = {
    "upstream slow, time short": (QUOTE, "FAULT.SLOW.60", 4.0, {}),
    "upstream dripping, time short": (SERIES, "FAULT.DRIP.60", 4.0, {}),
    "upstream busy, no time for another try": (QUOTE, "FAULT.HTTP503", 5.5, {}),
    "no time left": (QUOTE, "IBM", 0.9, {}),
    "DynamoDB slow, time short": (QUOTE, "IBM", 8.0, {"DynamoDB": Fault(is_silent=True)}),
    "S3 slow, time short": (SERIES, "IBM", 8.0, {"PUT": Fault(is_silent=True)}),
}


def event(tool: str, symbol: str) -> dict[str, Any]:
    return http_event(tool_call(tool, {"symbol": symbol}), {"x-api-key": KEY})


@pytest.mark.slow
@parametrize_rows("test_out_of_time")
def test_out_of_time(row: Row, mock_api: MockApi, aws: Aws, log_records: list[logging.LogRecord]) -> None:
    tool, symbol, left_s, faults = CALLS[row.fault]
    gateway = make_handler({"TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": mock_api.url, **SETTINGS})
    gateway(event(QUOTE, "MSFT"), remaining_s=29.0)  # what a first call imports
    mock_api.clear_requests()
    log_records.clear()
    aws.faulty.faults.update(faults)
    with ends_within(left_s):
        response = gateway(event(tool, symbol), remaining_s=left_s)
    assert response["statusCode"] == 200
    result = json.loads(response["body"])["result"]
    content = result["structuredContent"]
    if row.code == "OK":
        assert not result["isError"], result
        assert content["result"]
    else:
        error = content["error"]
        assert (error["code"], error["message"], error["suggestion"]) == (row.code, row.message, row.next_step)
    assert len(mock_api.requests) == int(row.requests)
    lines = [vars(line) for line in log_records if line.getMessage() == "call"]
    assert [line["code"] for line in lines] == [row.code]
    warnings = [f"WARNING {line.getMessage()}" for line in log_records if line.levelname == "WARNING"]
    assert warnings == ([] if row.log.startswith("`call`") else [row.log.strip("`")])
    aws.faulty.faults.clear()
    after = json.loads(gateway(event(QUOTE, "AAPL"), remaining_s=29.0)["body"])["result"]
    assert not after["isError"]
    if row.code != "OK":  # nothing is cached
        before = len(mock_api.requests)
        gateway(event(tool, symbol), remaining_s=MARGIN_S + 4)
        assert len(mock_api.requests) > before


def test_every_prepared_fault_is_in_the_table() -> None:
    assert {row.fault for row in all_rows() if row.test == "test_out_of_time"} == set(CALLS)


def test_a_cached_response_needs_no_time(mock_api: MockApi) -> None:
    gateway = make_handler({"TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": mock_api.url})
    gateway(event(QUOTE, "IBM"), remaining_s=29.0)
    late = json.loads(gateway(event(QUOTE, "IBM"), remaining_s=0.9)["body"])["result"]
    assert late["structuredContent"]["cached"]
