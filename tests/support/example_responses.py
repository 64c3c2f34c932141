"""Responses of the mock API to the example of every tool, in each format, fetched once over HTTP."""

import functools
import json
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.unit.catalog.test_alpha_vantage_catalog import EXAMPLES
from toolfold.catalog.entries import Tool
from toolfold.catalog.store import FileStore, bundled_path
from toolfold.execution import validation
from toolfold.mock_api.server import MockApi
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

    @property
    def id(self) -> str:
        return f"{self.tool.name}.{self.kind}"


@functools.cache
def example_responses() -> dict[str, ExampleResponse]:
    """Return the response to the example of each tool by ``TOOL.kind``."""
    catalog = FileStore(bundled_path())()
    found = {}
    with MockApi() as mock_api:
        for name, example in EXAMPLES.items():
            tool = catalog.get(name)
            assert tool is not None
            for kind in tool.formats:
                takes = tool.parameters["properties"]
                asked = "datatype" in takes
                arguments = {**example, **({"datatype": kind} if asked else {})}
                for parameter, few in FEW_ROWS.items():
                    if few in takes.get(parameter, {}).get("enum", ()):
                        arguments[parameter] = few
                checked, problems = validation.validate_arguments(tool.parameters, tool.call, arguments)
                assert problems == []
                query = "&".join([*bind(tool.call, checked).query, "apikey=mock-key"])
                with urllib.request.urlopen(f"{mock_api.url}?{query}") as response:
                    answer = ExampleResponse(tool, kind, _first_rows(response.read().decode(), kind))
                found[answer.id] = answer
    return found


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
    catalog = FileStore(bundled_path())()
    for name in EXAMPLES:
        tool = catalog.get(name)
        assert tool is not None
        yield from ((name, kind) for kind in tool.formats)


RESPONSE_IDS = [f"{name}.{kind}" for name, kind in _names()]
"""The keys of :func:`example_responses`, known before any test runs."""

ONE_RESPONSE_PER_TOOL = [f"{name}.{kind}" for name, kind in dict(reversed(list(_names()))).items()]
"""The first format of every tool."""
