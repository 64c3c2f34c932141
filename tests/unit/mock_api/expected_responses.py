"""Known facts about the vendor's responses, and helpers that build queries.

``expected_responses.json`` holds one valid query per function, its formats, top-level keys, row keys and CSV header.
The mock API does not read it.
"""

import json
from datetime import datetime
from pathlib import Path
from typing import Any

from toolfold.mock_api import Response
from toolfold.mock_api.endpoint import Query
from toolfold.mock_api.router import PATH, Sent, open_api

EXPECTED: dict[str, dict[str, Any]] = json.loads(Path(__file__).with_name("expected_responses.json").read_text())


def handle_query(query: Query, now: datetime | None = None) -> Response:
    """Return the response to the query of a function of the catalog in the package."""
    return open_api().answer(Sent("GET", PATH, query), now)[0]


def query(function: str, **more: str) -> list[tuple[str, str]]:
    sent = [(name, value) for name, value in EXPECTED[function]["query"] if name not in more]
    return [("function", function), ("apikey", more.pop("apikey", "any")), *sent, *more.items()]


def interval(function: str) -> str:
    return dict(map(tuple, EXPECTED[function]["query"])).get("interval", "")


def document(function: str, **more: str) -> Any:
    response = handle_query(query(function, **more))
    assert (response.status, response.content_type) == (200, "application/json")
    return json.loads(response.body)


def rows_of(function: str, found: Any) -> list[dict[str, Any]]:
    facts = EXPECTED[function]
    rows: list[dict[str, Any]] = []
    for path in facts["rows"].split("|"):
        part = found
        for key in path.replace("{interval}", interval(function)).split(".") if path else []:
            part = part[key]
        rows += part if facts["kind"] == "list" else part.values() if facts["kind"] == "map" else [part]
    return rows
