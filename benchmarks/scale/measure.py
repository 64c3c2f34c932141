"""One process that serves one catalog, measured.

Imports nothing of the generator's, which would count as memory of the server.
"""

from __future__ import annotations

import json
import resource
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.timing import each_ms, memory_mb, timed


def measure(place: str, names: Sequence[str], queries: Sequence[str], megabytes: int) -> dict[str, Any]:
    """Return the figures of the columns of the tables: times in milliseconds, and memory in MB.

    Args:
        place: The location of the catalog.
        names: Names of tools to get.
        queries: Requests to search for.
        megabytes: The most address space that the process may have; 0: any.
    """
    if megabytes:
        resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))

    from toolfold.app import build_app
    from toolfold.catalog.search import search
    from toolfold.catalog.store import open_store
    from toolfold.settings import Settings
    from toolfold.telemetry import configure
    from toolfold.transports.lambda_handler import LambdaHandler

    settings = Settings.from_environment(
        {
            "TOOLFOLD_CATALOG": place,
            "TOOLFOLD_CATALOG_MAX_AGE_S": "3600",
            "TOOLFOLD_ALLOWED_HOSTS": "platform.example.org",
            "TOOLFOLD_KEY_VARIABLES": "PLATFORM_API_KEY",
        }
    )
    store = open_store(settings)
    catalog, opened = timed(store)
    figures: dict[str, Any] = {"open": opened}
    figures["first get"] = timed(catalog.get, names[0])[1]
    figures["first query"] = timed(search, catalog, queries[0])[1]

    gateway = LambdaHandler(build_app(settings), configure(settings))
    event = json.loads(Path("events/tool-get.json").read_text(encoding="utf-8"))

    def call(name: str, arguments: dict[str, Any]) -> Any:
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
        answer = json.loads(gateway({**event, "body": json.dumps(body)})["body"])["result"]
        assert not answer.get("isError"), answer
        return answer["structuredContent"]

    listing = json.loads(Path("events/tools-list.json").read_text(encoding="utf-8"))
    figures["`tools/list`"] = _round(gateway, [listing] * 50)
    figures["`TOOL_GET`"] = _round(lambda name: call("TOOL_GET", {"tool_name": name}), names)
    figures["`TOOL_LIST(query)`"] = _round(lambda query: call("TOOL_LIST", {"query": query}), queries)
    found = [call("TOOL_GET", {"tool_name": name})["tools"][0] for name in names]
    assert [entry["name"] for entry in found] == names
    return {**figures, "memory": memory_mb()}


def _round(do: Callable[[Any], Any], arguments: Sequence[Any]) -> float:
    """Median of a second round over ``arguments``, after a first."""
    each_ms(do, arguments)
    return statistics.median(each_ms(do, arguments))
