"""Responses of the mock API to the example of every tool, in each format."""

import functools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from tests.unit.catalog.test_alpha_vantage_catalog import EXAMPLES
from toolfold.catalog.entries import Tool
from toolfold.catalog.model import Catalog
from toolfold.catalog.store import FileStore, bundled_path
from toolfold.execution import validation
from toolfold.mock_api.router import PATH, Api, Sent, open_api
from toolfold.sources.http_api.binding import bind

FEW_ROWS = {"interval": "monthly", "outputsize": "compact"}
MOST_ROWS = 300
"""Rows are alike: some hundreds test as much as thousands, in less time."""


@dataclass(frozen=True)
class ExampleResponse:
    """The upstream's response: ``body`` in the format ``kind`` (json or csv)."""

    tool: Tool
    kind: str
    body: str


@functools.cache
def example_response(id_: str) -> ExampleResponse:
    """Return the response of the kind in ``TOOL.kind`` to the example of the tool."""
    name, _, kind = id_.rpartition(".")
    tool = _catalog().get(name)
    assert tool is not None
    takes = tool.parameters["properties"]
    arguments = {**EXAMPLES[name], **({"datatype": kind} if "datatype" in takes else {})}
    for parameter, few in FEW_ROWS.items():
        if few in takes.get(parameter, {}).get("enum", ()):
            arguments[parameter] = few
    checked, problems = validation.ArgumentValidator(tool.parameters, tool.call).validate(arguments)
    assert problems == []
    query = parse_qsl("&".join([*bind(tool.call, checked).query, "apikey=mock-key"]), keep_blank_values=True)
    response, _ = _api().answer(Sent("GET", PATH, query))
    return ExampleResponse(tool, kind, _first_rows(response.body.decode(), kind))


@functools.cache
def _catalog() -> Catalog:
    return FileStore(bundled_path())()


@functools.cache
def _api() -> Api:
    return open_api()


def _first_rows(body: str, kind: str) -> str:
    if kind == "csv":
        return "".join(body.splitlines(keepends=True)[: MOST_ROWS + 1])
    return json.dumps(_fewer(json.loads(body)))


def _fewer(value: Any) -> Any:
    if isinstance(value, list):
        return [_fewer(item) for item in value[:MOST_ROWS]]
    if isinstance(value, dict):
        return {key: _fewer(item) for key, item in list(value.items())[:MOST_ROWS]}
    return value


def _names() -> Iterator[tuple[str, str]]:
    for name in EXAMPLES:
        tool = _catalog().get(name)
        assert tool is not None
        yield from ((name, kind) for kind in tool.formats)


RESPONSE_IDS = [f"{name}.{kind}" for name, kind in _names()]
"""What :func:`example_response` takes."""

ONE_RESPONSE_PER_TOOL = [f"{name}.{kind}" for name, kind in dict(reversed(list(_names()))).items()]
"""The first format of every tool."""
