"""One process that serves one catalog, measured: ``python -m benchmarks.scale.measure PLACE [MEGABYTES]``.

Reads ``{"names", "queries"}`` as JSON; prints JSON: times in milliseconds, memory in MB. With MEGABYTES the process may
have no more address space than that. Imports nothing of the generator's, which would count as memory of the server.
"""

from __future__ import annotations

import json
import resource
import statistics
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any


def main() -> None:
    place = sys.argv[1]
    if len(sys.argv) > 2:
        bytes_ = int(sys.argv[2]) << 20
        resource.setrlimit(resource.RLIMIT_AS, (bytes_, bytes_))

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
    asked = json.load(sys.stdin)
    names, queries = asked["names"], asked["queries"]
    figures: dict[str, Any] = {"memory_before": _peak()}
    store = open_store(settings)
    catalog, figures["open"] = _timed(store)
    figures["first_get"] = _timed(lambda: catalog.get(names[0]))[1]
    figures["first_query"] = _timed(lambda: search(catalog, queries[0]))[1]
    figures["get"] = _round(catalog.get, names)
    figures["query"] = _round(lambda query: search(catalog, query), queries)

    gateway = LambdaHandler(build_app(settings), configure(settings))
    event = json.loads(Path("events/tool-get.json").read_text(encoding="utf-8"))

    def call(name: str, arguments: dict[str, Any]) -> Any:
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
        answer = json.loads(gateway({**event, "body": json.dumps(body)})["body"])["result"]
        assert not answer.get("isError"), answer
        return answer["structuredContent"]

    listing = json.loads(Path("events/tools-list.json").read_text(encoding="utf-8"))
    figures["tools/list"] = _round(gateway, [listing] * 50)
    figures["TOOL_GET"] = _round(lambda name: call("TOOL_GET", {"tool_name": name}), names)
    figures["TOOL_LIST"] = _round(lambda query: call("TOOL_LIST", {"query": query}), queries)
    found = [call("TOOL_GET", {"tool_name": name})["tools"][0] for name in names]
    assert [entry["name"] for entry in found] == names
    figures["memory"] = _peak()
    print("figures:" + json.dumps(figures))


def _timed(do: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    done = do()
    return done, (time.perf_counter() - start) * 1000


def _round(do: Callable[[Any], Any], arguments: Iterable[Any]) -> dict[str, float]:
    """Median and 99th percentile of a second round over ``arguments``, after a first; and the median of the first."""
    first = [_timed(lambda argument=argument: do(argument))[1] for argument in arguments]
    second = [_timed(lambda argument=argument: do(argument))[1] for argument in arguments]
    return {
        "new": statistics.median(first),
        "p50": statistics.median(second),
        "p99": statistics.quantiles(second, n=100)[98],
    }


def _peak() -> float:
    # Not getrusage: its figure starts with that of the process which started this one.
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


if __name__ == "__main__":
    main()
