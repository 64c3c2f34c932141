"""Peers as servers of this machine, for `make compare-conformance`. In Lambda none of this is needed.

They run in an environment of their own (.venv-peers), which finds toolfold and tests.support on PYTHONPATH.
"""

from __future__ import annotations

import json
import queue
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from tests.support import http_api


def write_meta_tools(path: Path) -> None:
    """Write the definitions that ``meta_tools`` reads."""
    from toolfold.catalog.store import open_store
    from toolfold.execution.executor import ToolExecutor
    from toolfold.meta_tools.dispatcher import MetaTools
    from toolfold.settings import Settings

    settings = Settings.from_environment({})
    tools = MetaTools(open_store(settings), ToolExecutor(settings))
    given = {"instructions": tools.instructions(), "tools": tools.definitions()}
    path.write_text(json.dumps(given), encoding="utf-8")


def announce(url: str) -> None:
    """Print the URL of this process, as ``toolfold serve`` does."""
    print(f"listening on {url}", file=sys.stderr, flush=True)


def serve_events(handler: Callable[[Mapping[str, Any], Any], Any]) -> None:
    """Serve a Lambda handler behind what API Gateway does to requests, until the process is ended.

    The handler is called with one event at a time, in the thread that made it: as in Lambda.
    """
    work: queue.SimpleQueue[tuple[Mapping[str, Any], Future[Any]]] = queue.SimpleQueue()

    def answer(event: Mapping[str, Any]) -> Any:
        answered: Future[Any] = Future()
        work.put((event, answered))
        return answered.result()

    with http_api.serve(answer) as url:
        announce(url)
        while True:
            event, answered = work.get()
            try:
                answered.set_result(handler(event, None))
            except Exception as error:  # noqa: BLE001 - it belongs to the request
                answered.set_exception(error)
