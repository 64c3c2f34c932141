"""Replay a workload against the mock API, over real HTTP, with a clock that the workload sets.

Waits and the upstream's latency move that clock and take no time. Measured for each call are the time on it and, for
toolfold, the real time of its own work; the time of sockets and the mock API is left out on both sides. Calls run one
after another: a call that arrives during another one begins when that ends.
"""

from __future__ import annotations

import functools
import json
import re
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from unittest import mock

import bpe_openai
import requests

from benchmarks.calls.workload import Call
from tests.support.clocks import Clock
from toolfold.catalog.entries import Source
from toolfold.catalog.model import Catalog
from toolfold.catalog.store import FileStore, bundled_path
from toolfold.errors import CallError
from toolfold.execution.credentials import RequestCredentials
from toolfold.execution.executor import ToolExecutor
from toolfold.meta_tools.dispatcher import MetaTools
from toolfold.meta_tools.result import dumps_compact
from toolfold.mock_api import responses, router
from toolfold.mock_api.server import MockApi
from toolfold.models import SourceCredentials, UpstreamResponse
from toolfold.settings import Settings
from toolfold.sources.alpha_vantage import AlphaVantageAdapter, AlphaVantageParser
from toolfold.sources.base import AdapterContext, SourceAdapter
from toolfold.sources.http_api.request import build_query
from toolfold.sources.registry import AdapterRegistry

DAY = "2026-01-14 00:00"
"""A Wednesday. The mock API's newest day is the one before: what a key without live prices sees during this day."""

LATENCY_S = 0.12
KEY = "BENCHMARKKEY0001"


@dataclass(frozen=True, slots=True)
class ModelOutput:
    """The model's input from a call: ``code`` is empty for a response, else the error's. ``seconds`` are real ones."""

    text: str
    code: str = ""
    preview: bool = False
    cached: bool = False
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class CallResult:
    """A call and its result. ``read`` and ``written`` are tokens; ``requests`` reached the upstream."""

    call: Call
    output: ModelOutput
    read: int
    written: int
    requests: int
    seconds: float


@contextmanager
def serve_mock_api(clock: Clock, plan: str | None) -> Iterator[MockApi]:
    """Serve the upstream of a replay, with ``plan`` (``mock_api.server``) for every key."""
    with MockApi(plan=plan, latency_s=LATENCY_S, clock=clock, sleep=clock.sleep) as running:
        yield running


@contextmanager
def memoized_responses() -> Iterator[None]:
    """Compute each response of the mock API once.

    Responses never change, and computing them would take most of the time of a replay.
    """
    computed: dict[Any, tuple[int, str, bytes]] = {}

    def answer(api: router.Api, query: Sequence[tuple[str, str]], now: datetime | None = None) -> responses.Response:
        free = ("apikey", "free") in query
        key = (free, *(pair for pair in query if pair[0] != "apikey"))
        if key not in computed:
            response = original(api, query, now)
            computed[key] = (response.status, response.content_type, zlib.compress(response.body, 1))
        status, content_type, body = computed[key]
        return responses.Response(status, content_type, zlib.decompress(body))

    original = router.Api.answer
    with mock.patch.object(router.Api, "answer", answer):
        yield


class Toolfold:
    """toolfold in this process; ``cache`` as ``TOOLFOLD_CACHE`` has it."""

    def __init__(self, url: str, clock: Clock, *, cache: str = "memory", selecting: bool = True) -> None:
        settings = Settings.from_environment(
            {"TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": url, "TOOLFOLD_CACHE": cache, "TOOLFOLD_OFFLOAD": "off"}
        )
        self._selecting, self._upstream_s = selecting, 0.0
        adapters = AdapterRegistry({"alpha_vantage": self._timed})
        executor = ToolExecutor(settings, adapters=adapters, clock=clock.clocks())
        self._tools = MetaTools(FileStore(bundled_path()), executor)

    def _timed(self, source: Source, context: AdapterContext) -> SourceAdapter:
        adapter = AlphaVantageAdapter(source, context)
        call = adapter.call

        def timed(*request: Any) -> UpstreamResponse:
            started = time.perf_counter()
            try:
                return call(*request)
            finally:
                self._upstream_s += time.perf_counter() - started

        adapter.call = timed  # type: ignore[method-assign]
        return adapter

    def tool_arguments(self, call: Call) -> dict[str, Any]:
        arguments: dict[str, Any] = {"tool_name": call.tool, "arguments": call.arguments}
        arguments |= {"select": call.select} if call.select and self._selecting else {}
        arguments |= {"max_tokens": call.max_tokens} if call.max_tokens else {}
        return arguments | ({"fresh": True} if call.fresh else {})

    def __call__(self, call: Call) -> ModelOutput:
        self._upstream_s, started = 0.0, time.perf_counter()
        result = self._tools.call("TOOL_CALL", self.tool_arguments(call), RequestCredentials(x_api_key=KEY))
        seconds = time.perf_counter() - started - self._upstream_s
        if result.is_error:
            return ModelOutput(result.text, result.structured["error"]["code"], seconds=seconds)
        held, part = result.structured["cached"], "preview" in result.structured
        return ModelOutput(result.text, preview=part, cached=held, seconds=seconds)


class PassThrough:
    """One request for each call; the model gets the whole response. ``datatype``: json, or csv if offered."""

    def __init__(self, url: str, datatype: str = "json") -> None:
        self._url, self._datatype = url, datatype
        self._catalog: Catalog = FileStore(bundled_path())()
        self._session = requests.Session()

    def tool_arguments(self, call: Call) -> Mapping[str, Any]:
        """Return the call of a server with a tool for each function; the name is part of the call in any case."""
        return {"tool_name": call.tool, "arguments": call.arguments}

    def __call__(self, call: Call) -> ModelOutput:
        tool = self._catalog.get(call.tool)
        assert tool is not None
        source = self._catalog.source(tool.source)
        form = {"datatype": self._datatype} if "datatype" in tool.parameters["properties"] else {}
        assert source.auth is not None
        query = build_query(source, tool, {**call.arguments, **form})
        response = self._session.get(self._url, params=[*query, (source.auth.query_key, KEY)], timeout=60)
        try:
            reply = UpstreamResponse(response.status_code, response.text)
            AlphaVantageParser(source).parse(tool, call.arguments, reply, SourceCredentials(KEY))
        except CallError as error:
            return ModelOutput(response.text, error.code)
        return ModelOutput(response.text)


def replay(calls: Sequence[Call], upstream: MockApi, clock: Clock, answer: Toolfold | PassThrough) -> list[CallResult]:
    """Run every call of the workload at its time on ``clock``, which starts at midnight."""
    midnight, found = clock.now, []
    for call in calls:
        clock.now = max(clock.now, midnight + call.at)
        began = clock.now
        output = answer(call)
        made = len(upstream.requests)
        upstream.clear_requests()
        found.append(
            CallResult(
                call,
                output,
                tokens(output.text),
                tokens(dumps_compact(answer.tool_arguments(call))),
                made,
                clock.now - began + output.seconds,
            )
        )
    return found


_encode = bpe_openai.get_encoding("o200k_base").encode
_CHUNK = 150_000  # characters; the library takes texts of up to 200,000 tokens
_BOUNDARY = re.compile(r"\d(?=[^\d])")


def tokens(text: str) -> int:
    """Tokens of ``text`` in o200k, exactly."""
    return _count_tokens(zlib.compress(text.encode(), 1))


@functools.lru_cache(maxsize=4096)
def _count_tokens(packed: bytes) -> int:
    text, count, start = zlib.decompress(packed).decode(), 0, 0
    while start < len(text):
        # No token reaches over the end of a number, so a long text may be cut there.
        cut = _BOUNDARY.search(text, start + _CHUNK)
        end = cut.end() if cut else len(text)
        count += len(_encode(text[start:end]))
        start = end
    return count


def as_compact_json(text: str) -> str:
    """The same JSON without the white space that the upstream sends; what is no JSON as it is."""
    try:
        return dumps_compact(json.loads(text))
    except ValueError:
        return text
