"""What every peer is given: toolfold's meta-tools over the sandbox, and a way to say where it listens.

Peers run in an environment of their own (.venv-peers), which finds toolfold and tests.support on PYTHONPATH.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

from tests.support import http_api
from toolfold.calling.caller import Caller
from toolfold.catalog.store import open_store
from toolfold.meta_tools.dispatch import MetaTools
from toolfold.settings import Settings

settings = Settings.from_environment(os.environ)
tools = MetaTools(open_store(settings), Caller(settings))
definitions: dict[str, dict[str, Any]] = {definition["name"]: definition for definition in tools.definitions()}


def announce(url: str) -> None:
    """Tell whoever started this process where it listens, as ``toolfold serve`` does."""
    print(f"listening on {url}", file=sys.stderr, flush=True)


def serve_events(make: Callable[[], Callable[[Mapping[str, Any], Any], Any]]) -> None:
    """Serve a Lambda handler behind what API Gateway does to requests, until the process is ended.

    ``make`` builds the handler. It is built, and called with one event at a time, in one thread: as in Lambda.
    """
    with ThreadPoolExecutor(1) as lambda_thread:
        handler = lambda_thread.submit(make).result()

        def answer(event: Mapping[str, Any]) -> Any:
            return lambda_thread.submit(handler, event, None).result()

        with http_api.serve(answer) as url:
            announce(url)
            Event().wait()
