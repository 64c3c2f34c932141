"""CloudWatch Logs Insights over HTTP, for the queries of this repository: moto does not support ``stats``.

    with LogsInsights({"/aws/lambda/fn": lines}) as insights:
        boto3.client("logs", endpoint_url=insights.url).start_query(…)

The protocol is that of the service (AWS JSON 1.1). Values are texts, and a sum of nothing is missing, as there.
"""

from __future__ import annotations

import json
import math
import re
import threading
import uuid
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

Line = Mapping[str, Any]
_AGGREGATE = re.compile(r"(count|sum|avg|min|max|pct)\(([\w@]*)(?:, *(\d+))?\) as (\w+)")
_CONDITION = re.compile(r"(\w+) (=|>=|>) (\"[^\"]*\"|'[^']*'|[\d.]+)")


class LogsInsights:
    """A server of queries, until the end of a ``with`` statement.

    Args:
        groups: name of a log group → its lines, each with a timestamp.

    Attributes:
        url: its address.
        queries: the requests for them, in order.
    """

    def __init__(self, groups: Mapping[str, Sequence[Line]]) -> None:
        self.groups, self.queries = groups, list[dict[str, Any]]()
        self._results: dict[str, list[dict[str, str]]] = {}
        self._looks: dict[str, int] = {}
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                length = int(self.headers["content-length"])
                operation = self.headers["x-amz-target"].rpartition(".")[2]
                status, answer = outer._answer(operation, json.loads(self.rfile.read(length)))
                body = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("content-type", "application/x-amz-json-1.1")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _answer(self, operation: str, request: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if operation == "StartQuery":
            self.queries.append(request)
            lines = self.groups.get(request["logGroupName"])
            if lines is None:
                return 400, {"__type": "ResourceNotFoundException", "message": "no such group"}
            found = [line for line in lines if request["startTime"] <= _seconds(line) <= request["endTime"]]
            query_id = str(uuid.uuid4())
            self._results[query_id] = run_query(request["queryString"], found)
            self._looks[query_id] = 0
            return 200, {"queryId": query_id}
        self._looks[request["queryId"]] += 1
        if self._looks[request["queryId"]] == 1:
            return 200, {"status": "Running", "results": []}
        rows = self._results[request["queryId"]]
        cells = [[{"field": name, "value": value} for name, value in row.items()] for row in rows]
        return 200, {"status": "Complete", "results": cells}


def run_query(query: str, lines: Iterable[Line]) -> list[dict[str, str]]:
    """Return the rows of a query that counts."""
    commands = [part.strip() for part in re.split(r"\|(?=(?:[^\"]*\"[^\"]*\")*[^\"]*$)", query)]
    rows: list[dict[str, str]] = []
    for command in commands:
        word, _, rest = command.partition(" ")
        if word == "filter":
            conditions = [part.strip() for part in rest.split(" and ")]
            lines = [line for line in lines if all(_holds(condition, line) for condition in conditions)]
        elif word == "stats":
            rows = _stats(rest, lines)
        elif word == "fields":
            names = [name.strip() for name in rest.split(",")]
            rows = [{name: str(_field(line, name)) for name in names} for line in lines]
        elif word == "sort":
            name = rest.split()[0]
            rows.sort(key=lambda row, name=name: _rank(row[name]), reverse=rest.endswith("desc"))
        elif word == "limit":
            rows = rows[: int(rest)]
        else:
            raise ValueError(f"no command: {command}")
    return rows


def _field(line: Line, name: str) -> Any:
    return line.get("timestamp" if name == "@timestamp" else name, "")


def _rank(text: str) -> tuple[float, str]:
    try:
        return float(text), ""
    except ValueError:
        return 0.0, text


def _holds(condition: str, line: Line) -> bool:
    if found := re.fullmatch(r"ispresent\((\w+)\)", condition):
        return found[1] in line
    found = _CONDITION.fullmatch(condition)
    assert found is not None, condition
    value = line.get(found[1])
    if value is None:
        return False
    if found[3][0] in "\"'":
        return found[2] == "=" and value == found[3][1:-1]
    number = float(found[3])
    return {"=": value == number, ">": value > number, ">=": value >= number}[found[2]]


def _stats(text: str, lines: Iterable[Line]) -> list[dict[str, str]]:
    amounts, _, by = text.rpartition(" by ") if " by " in text else (text, "", "")
    names = [name.strip() for name in by.split(",") if name.strip()]
    aggregates = _AGGREGATE.findall(amounts)
    assert len(aggregates) == amounts.count(" as "), text
    groups: dict[tuple[Any, ...], list[Line]] = {}
    for line in lines:
        groups.setdefault(tuple(line.get(name) for name in names), []).append(line)
    rows = []
    for key, members in groups.items():
        row = {name: str(value) for name, value in zip(names, key, strict=True) if value is not None}
        for function, field, percentile, alias in aggregates:
            values = [line[field] for line in members if field in line] if field else members
            if (value := _aggregate(function, values, percentile)) is not None:
                row[alias] = f"{value:.4f}"
        rows.append(row)
    return rows


def _aggregate(function: str, values: Sequence[Any], percentile: str) -> float | None:
    if function == "count":
        return len(values)
    if not values:
        return None
    match function:
        case "sum":
            return math.fsum(values)
        case "avg":
            return math.fsum(values) / len(values)
        case "min":
            return min(values)
        case "max":
            return max(values)
    return sorted(values)[max(0, math.ceil(int(percentile) / 100 * len(values)) - 1)]


def _seconds(line: Line) -> float:
    return datetime.fromisoformat(line["timestamp"]).timestamp()
