"""Count the figures of a deployment with CloudWatch Logs Insights. AWS bills the bytes that a query reads."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from toolfold.errors import ToolfoldError
from toolfold.log_analysis.figures import HITS, Figures

__all__ = ["QUERIES", "count_figures"]

QUERIES: Mapping[str, str] = {
    "requests": """filter message = "request" and ispresent(tool)
| stats count() as requests, count(error) as failed, sum(tokens) as answered, sum(tokens_saved) as saved,
        sum(schemas_full) as full, sum(schemas_medium) as medium, sum(schemas_minimal) as minimal,
        sum(schemas_unchanged) as unchanged by tool, searched""",
    "empty": """filter message = "request" and searched = 1 and matched = 0
| stats count() as searches""",
    "calls": """filter message = "call"
| stats count() as calls, sum(upstream_requests) as requests by code, cache""",
    "upstream": """filter message = "call" and upstream_requests > 0
| stats pct(upstream_ms, 50) as median, pct(upstream_ms, 99) as p99""",
    "tools": """filter message = "call"
| stats count() as calls by inner_tool
| sort calls desc
| limit 10""",
}

_TIMEOUT_S = 120.0
"""Longest wait for the queries: a month of a busy deployment takes some seconds."""

_POLL_S = 0.5

_CAUSES = {
    "ResourceNotFoundException": "there is no log group {group} in this region; is the name of the stack right?",
    "AccessDeniedException": "the credentials need logs:StartQuery and logs:GetQueryResults on {group}",
    "NoCredentialsError": "there are no AWS credentials; set AWS_PROFILE, or run `aws configure` or `aws sso login`",
    "NoRegionError": "no AWS region is set; set AWS_REGION to that of the stack",
    "ExpiredTokenException": "the AWS credentials are expired; sign in again",
    "UnrecognizedClientException": "AWS does not know the credentials",
    "LimitExceededException": "too many queries run in this account; try again in a minute",
    "EndpointConnectionError": "AWS cannot be reached",
    "ProfileNotFound": "the profile in AWS_PROFILE does not exist",
}
"""Error code of AWS, or class of an exception of botocore → what is wrong."""

Row = dict[str, str]


def count_figures(
    group: str, since: datetime, until: datetime, client: Any = None, sleep: Callable[[float], None] = time.sleep
) -> Figures:
    """Return the figures of a log group.

    Args:
        group: its name.
        since: the beginning.
        until: the end.
        client: a boto3 client of CloudWatch Logs; None: one with the credentials of this machine.
        sleep: waits between two looks at a query.

    Raises:
        ToolfoldError: AWS refuses, cannot be reached, or takes too long.
    """
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        if client is None:
            client = _open_client()
        started = {
            name: client.start_query(
                logGroupName=group,
                startTime=int(since.timestamp()),
                endTime=int(until.timestamp()),
                queryString=query,
            )["queryId"]
            for name, query in QUERIES.items()
        }
        end = time.monotonic() + _TIMEOUT_S
        rows = {name: _wait(client, name, query_id, end, sleep) for name, query_id in started.items()}
    except (BotoCoreError, ClientError) as error:
        code = error.response["Error"]["Code"] if isinstance(error, ClientError) else type(error).__name__
        reason = _CAUSES.get(code, f"AWS answered {code}").format(group=group)
        raise ToolfoldError(f"The log cannot be queried: {reason}.") from None
    figures = _combine(rows)
    figures.first, figures.last = since.isoformat(timespec="seconds"), until.isoformat(timespec="seconds")
    return figures


def _open_client() -> Any:
    import os

    import boto3

    # botocore itself does not read AWS_REGION, which other SDKs do.
    return boto3.session.Session().client("logs", region_name=os.environ.get("AWS_REGION") or None)


def _wait(client: Any, name: str, query_id: str, end: float, sleep: Callable[[float], None]) -> list[Row]:
    """Return the rows of a query when it is complete."""
    while True:
        answer = client.get_query_results(queryId=query_id)
        if answer["status"] == "Complete":
            return [{cell["field"]: cell.get("value", "") for cell in row} for row in answer["results"]]
        if answer["status"] not in ("Scheduled", "Running"):
            raise ToolfoldError(f"The query {name!r} of the log ended as {answer['status']}; try a shorter time.")
        if time.monotonic() >= end:
            raise ToolfoldError(f"The log was not counted within {_TIMEOUT_S:.0f} s; try a shorter time with --since.")
        sleep(_POLL_S)


def _combine(rows: Mapping[str, list[Row]]) -> Figures:
    """Return the figures in the rows of each of :data:`QUERIES`."""
    figures = Figures()
    for row in rows["requests"]:
        tool, requests = row.get("tool", ""), int(_number(row, "requests"))
        figures.requests[tool] += requests
        figures.failed_requests += int(_number(row, "failed"))
        figures.tokens += _number(row, "answered")
        figures.tokens_saved += _number(row, "saved")
        if tool == "TOOL_GET":
            figures.loaded += int(_number(row, "full") + _number(row, "medium"))
            figures.unchanged += int(_number(row, "unchanged"))
        if _number(row, "searched"):
            figures.searches += requests
            figures.search_tokens += _number(row, "answered")
            figures.search_saved += _number(row, "saved")
            for level in ("full", "medium", "minimal"):
                figures.search_schemas[level] += int(_number(row, level))
    figures.empty_searches = sum(int(_number(row, "searches")) for row in rows["empty"])
    for row in rows["calls"]:
        calls, cache = int(_number(row, "calls")), row.get("cache", "")
        figures.codes[row.get("code", "")] += calls
        figures.cacheable += 0 if cache == "bypass" else calls
        figures.hits += calls if cache in HITS else 0
        figures.upstream_requests += int(_number(row, "requests"))
    for row in rows["upstream"]:
        if "median" in row:
            figures.upstream_ms = _number(row, "median"), _number(row, "p99")
    figures.tools.update(
        {row["inner_tool"]: int(_number(row, "calls")) for row in rows["tools"] if "inner_tool" in row}
    )
    return figures


def _number(row: Row, name: str) -> float:
    """Return a value of a row, which is a text; 0 for one that is missing: the sum of nothing."""
    try:
        return float(row.get(name) or 0)
    except ValueError:
        return 0.0
