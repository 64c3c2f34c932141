"""``toolfold stats``: what agents do with the tools, and what it saves, from a log.

Count the figures of a deployment with CloudWatch Logs Insights. AWS bills the bytes that a query reads.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from toolfold.cli.application import Options, fail
from toolfold.cli.output import print_json, print_wrapped
from toolfold.cli.progress import waiting
from toolfold.cli.terminal import print_fields, print_table
from toolfold.dates import parse_date
from toolfold.errors import ToolfoldError
from toolfold.log_analysis.figures import MOST_CALLED, SUMMED, Figures, as_json, read_log, seven_figures
from toolfold.settings import Settings

QUERIES: Mapping[str, str] = {
    "requests": """filter message = "request" and ispresent(tool)
| stats count() as requests, count(error) as failed, sum(tokens) as answered, sum(tokens_saved) as saved,
        sum(schemas_full) as full, sum(schemas_medium) as medium, sum(schemas_minimal) as minimal,
        sum(schemas_unchanged) as unchanged by tool, searched""",
    "empty": """filter message = "request" and searched = 1 and matched = 0
| stats count() as searches""",
    "calls": """filter ispresent(cache)
| stats count() as calls, sum(upstream_requests) as requests by code, cache""",
    "upstream": """filter ispresent(cache) and upstream_requests > 0
| stats pct(upstream_ms, 50) as median, pct(upstream_ms, 99) as p99""",
    "tools": """filter ispresent(cache)
| stats count() as calls by inner_tool
| sort calls desc
| limit 10""",
}

_ALIASES = {"tokens": "answered", "tokens_saved": "saved"}
"""Figure of a line → what its sum is called in a query; others have their own name without ``schemas_``."""

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
    """Return the figures of a log group, by a boto3 client of CloudWatch Logs; None: that of this machine."""
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        client = client or _open_client()
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
    import boto3

    # botocore itself does not read AWS_REGION, which other SDKs do.
    return boto3.session.Session().client("logs", region_name=os.environ.get("AWS_REGION") or None)


def _wait(client: Any, name: str, query_id: str, end: float, sleep: Callable[[float], None]) -> list[Row]:
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
    figures = Figures()
    for row in rows["requests"]:
        sums = {name: _figure(row, _ALIASES.get(name, name.removeprefix("schemas_"))) for name in SUMMED}
        figures.add_requests(row.get("tool", ""), int(_figure(row, "requests")), int(_figure(row, "failed")), sums)
    figures.empty_searches = sum(int(_figure(row, "searches")) for row in rows["empty"])
    for row in rows["calls"]:
        code, cache = row.get("code", ""), row.get("cache", "")
        figures.add_calls(code, cache, int(_figure(row, "calls")), int(_figure(row, "requests")))
    for row in rows["upstream"]:
        if "median" in row:
            figures.counted_ms = _figure(row, "median"), _figure(row, "p99")
    figures.tools.update(
        {row["inner_tool"]: int(_figure(row, "calls")) for row in rows["tools"] if "inner_tool" in row}
    )
    return figures


def _figure(row: Row, name: str) -> float:
    """Return a value of a row, which is a text; 0 for one that is missing: the sum of nothing."""
    try:
        return float(row.get(name) or 0)
    except ValueError:
        return 0.0


_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_DEFAULT_AWS = timedelta(days=1)
"""Time of a deployment's log that is counted by default: AWS bills what is read."""


def parse_since(text: str) -> datetime:
    """Parse a length of time until now, or a date or time, which is in UTC unless it says otherwise."""
    if found := re.fullmatch(r"(\d{1,6})([mhdw])", text):
        return datetime.now(UTC) - timedelta(**{_UNITS[found[2]]: int(found[1])})
    readings = parse_date(text)
    if len(readings) != 1:
        raise fail(f"--since: {text!r} is no time such as 1d, 12h or 2026-01-14.")
    return readings[0].low


def run(options: Options) -> int:
    """Print the figures."""
    since = parse_since(options.since) if options.since else None
    group = options.log_group or (f"/aws/lambda/{options.stack}-gateway" if options.stack else "")
    if group:
        now, source = datetime.now(UTC), f"log group {group}"
        with waiting(f"Waiting for the {source} …"):
            figures = count_figures(group, since or now - _DEFAULT_AWS, now)
    else:
        paths = [*options.log, *options.files] or _own_log()
        source = ", ".join("stdin" if path == "-" else path for path in paths)
        figures = Figures()
        for line in read_log(paths, since):
            figures.add(line)
    if options.json:
        print_json({"source": source, **as_json(figures)}, indent=2)
    elif figures.is_empty:
        start = f" since {since.isoformat(sep=' ', timespec='minutes')}" if since else ""
        print_wrapped(f"There is no request and no call in {source}{start}.")
        print_wrapped("Its lines are JSON, with the message “request” or “call”, as the Lambda function and "
                      "`toolfold serve` write them. `toolfold stats --help` has examples.")  # fmt: skip
    else:
        _print_figures(figures, source)
    return 0


def _own_log() -> list[str]:
    """Return the files that ``TOOLFOLD_CALL_LOG`` names: the one before, and the current one."""
    location = Settings.from_environment().call_log
    if not location:
        raise ToolfoldError(
            "There is no log to count. Name files with --log, or a deployment with --stack.\n"
            "To log what agents on this machine do, set TOOLFOLD_CALL_LOG to a file where the server is configured: "
            "`toolfold stats --help` says what is written."
        )
    path = os.path.expanduser(location)
    found = [one for one in (f"{path}.1", path) if os.path.exists(one)]
    if not found:
        raise ToolfoldError(
            f"Nothing has been logged yet: {path} does not exist. A server that was started before TOOLFOLD_CALL_LOG "
            "was set has to be started again."
        )
    return found


def _print_figures(figures: Figures, source: str) -> None:
    seven = seven_figures(figures)
    print_wrapped(f"{source}: {figures.first} to {figures.last}" if figures.first else source)
    print_table(
        ("progressive loading", "", "of"),
        [
            ("tokens of a search", _number(seven["tokens_per_query"]), f"{figures.searches:,} searches"),
            ("less than all definitions", _percent(seven["token_reduction_percent"]), ""),
            ("tools in full, a search", _number(seven["full_per_query"]), ""),
            ("tools at the medium level, a search", _number(seven["medium_per_query"]), ""),
            ("tools in one line, a search", _number(seven["minimal_per_query"]), ""),
            (
                "schemas loaded on demand",
                _number(seven["loaded_on_demand"]),
                f"{figures.requests['TOOL_GET']:,} TOOL_GET",
            ),
            ("answered from the cache", _percent(seven["cache_hit_percent"]), f"{figures.cacheable:,} calls"),
        ],
    )
    print()
    outcomes = ", ".join(f"{number:,} {code}" for code, number in figures.codes.most_common())
    requests = ", ".join(f"{number:,} {tool}" for tool, number in figures.requests.most_common())
    fields: dict[str, Any] = {
        "requests": f"{requests or 'none'}; {figures.failed_requests:,} failed",
        "searches that found nothing": f"{figures.empty_searches:,} of {figures.searches:,}",
        "tokens answered": f"{figures.tokens:,.0f}",
        "tokens saved": f"{figures.tokens_saved:,.0f}",
        "calls": outcomes or "none",
        "requests to sources": f"{figures.upstream_requests:,}",
    }
    if figures.upstream_ms is not None:
        fields["time in a source"] = "median {:,.0f} ms, 99 % below {:,.0f} ms".format(*figures.upstream_ms)
    print_fields(fields)
    if figures.tools:
        print()
        print_table(("most called", "calls"), figures.tools.most_common(MOST_CALLED))
    sys.stdout.flush()


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:,g}"


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{value:g} %"
