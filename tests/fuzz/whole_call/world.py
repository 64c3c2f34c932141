"""A gateway with a cache, reached by Lambda events and over the local HTTP server, in front of a raw upstream."""

import contextlib
import http.client
import io
import json
import os
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote, urlsplit

from tests.fuzz.whole_call.inputs import CallInput
from tests.fuzz.whole_call.upstream import FIXED_SYMBOL, Upstream
from tests.support.mcp_requests import message
from toolfold.app import build_app
from toolfold.settings import Settings
from toolfold.telemetry import configure
from toolfold.transports.lambda_handler import LambdaHandler
from toolfold.transports.local_http.server import LocalServer

OPERATOR_KEY = "OPERATORkey/9Zq+7w"
HONEST_KEY = "HONESTkey=4Tn/82Lm"
TIMEOUT_S = 2.0
"""Seconds that a call may take. The time-out of the upstream, which a stalled response uses up."""

REMAINING_S = 3.5
"""Seconds that Lambda says are left; a second of them is reserved for the response."""

MAX_TOKENS = 8000


@dataclass
class Answer:
    """What one call returned, and what it cost.

    Attributes:
        status: the HTTP status.
        body: the text of the response.
        log: what was written to stdout and stderr.
        took_s: seconds until the response.
        cpu_s: seconds of processor time of the calling thread; 0 where the work is done by another thread.
        sent: requests to the upstream.
    """

    status: int
    body: str
    log: str
    took_s: float
    cpu_s: float
    sent: int

    @property
    def result(self) -> dict[str, Any]:
        """The result in the message; empty for a refused request."""
        try:
            message = json.loads(self.body)
        except ValueError:
            return {}
        found = message.get("result") if isinstance(message, dict) else None
        return found if isinstance(found, dict) else {}

    @property
    def code(self) -> str:
        """``OK``, the code of the error, or the HTTP status of a refused request."""
        result = self.result
        if "structuredContent" not in result:
            return f"HTTP {self.status}"
        if not result["isError"]:
            return "OK"
        return str(result["structuredContent"]["error"]["code"])


class World:
    """Everything that calls pass through, with sockets between the parts."""

    def __init__(self) -> None:
        self._stack = contextlib.ExitStack()
        self.folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="toolfold-fuzz-")))
        self.upstream = self._stack.enter_context(Upstream())
        os.environ["ALPHA_VANTAGE_API_KEY"] = OPERATOR_KEY
        self._is_captured = False
        self.settings = Settings.from_environment(
            {
                "TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": self.upstream.url,
                "TOOLFOLD_CACHE": "memory",
                "TOOLFOLD_TIMEOUT_S": str(TIMEOUT_S),
                "TOOLFOLD_CONNECT_TIMEOUT_S": str(TIMEOUT_S),
                # No call waits for a pause.
                "TOOLFOLD_RETRIES": "1",
                "TOOLFOLD_RETRY_BACKOFF_S": "0.001",
                "TOOLFOLD_MAX_QUEUE_WAIT_S": "0.05",
                "TOOLFOLD_OFFLOAD": str(self.folder / "answers"),
                "TOOLFOLD_ALLOW_KEY_IN_QUERY": "true",
            }
        )
        with self._captured(io.StringIO()):
            self.server = self._stack.enter_context(LocalServer(self.settings))
            telemetry = configure(self.settings)  # last: the log of the process is then what is captured
            self.handler = LambdaHandler(build_app(self.settings, on_call=telemetry.record_call), telemetry)
        self._connection = self._new_connection()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()
        with self._captured(io.StringIO()):
            self._stack.close()

    def reset(self) -> None:
        """Drop everything that calls leave behind, except connections."""
        for handler in (self.handler, self.server.handler):
            executor = handler.app.executor
            client = vars(executor).pop("http_client", None)
            executor.reset()
            if client is not None:
                vars(executor)["http_client"] = client

    def call(self, sent: CallInput, key: str, *, fixed: bool = False) -> Answer:
        """Make the call of an input with ``key``; ``fixed``: the call whose answer must never change."""
        arguments = {"tool_name": sent.tool, "arguments": sent.arguments, **sent.options}
        if fixed:
            arguments = {"tool_name": "GLOBAL_QUOTE", "arguments": {"symbol": FIXED_SYMBOL}, "fresh": True}
        body = json.dumps(message("tools/call", {"name": "TOOL_CALL", "arguments": arguments})).encode()
        headers = {"content-type": "application/json", "accept": "application/json"}
        query = ""
        if key and sent.carrier == "query":
            query = "apikey=" + quote(key.encode("utf-8", "surrogatepass"))
        elif key:
            headers |= {"x-api-key": key} if sent.carrier == "x-api-key" else {"authorization": f"Bearer {key}"}
        before, log = self.upstream.requests, io.StringIO()
        with self._captured(log):
            started, cpu_started = time.perf_counter(), time.thread_time()
            if sent.transport == "http":
                status, text = self._over_http(body, headers, query)
            else:
                status, text = self._by_event(body, headers, query)
            took_s, cpu_s = time.perf_counter() - started, time.thread_time() - cpu_started
        return Answer(status, text, log.getvalue(), took_s, cpu_s, self.upstream.requests - before)

    def at_once(self, sent: CallInput, keys: tuple[str, str]) -> list[Answer]:
        """Make the call of an input with two keys at the same time."""
        self.upstream.delay_s = 0.01
        with self._captured(io.StringIO()), ThreadPoolExecutor() as threads:
            self._is_captured = True
            answers = list(threads.map(lambda key: self.call(sent, key), keys))
            self._is_captured = False
        self.upstream.delay_s = 0.0
        return answers

    def _by_event(self, body: bytes, headers: dict[str, str], query: str) -> tuple[int, str]:
        text = body.decode("utf-8", "surrogatepass")
        context = {"http": {"method": "POST", "path": "/mcp"}}
        event = {"requestContext": context, "rawQueryString": query, "headers": headers, "body": text}
        answer = self.handler(event, REMAINING_S)
        json.dumps(answer).encode()  # as the runtime does
        return answer["statusCode"], answer["body"]

    def _over_http(self, body: bytes, headers: dict[str, str], query: str) -> tuple[int, str]:
        path = urlsplit(self.server.url).path
        for is_retry in (False, True):
            try:
                plain = {name: value.encode("utf-8", "surrogatepass") for name, value in headers.items()}
                self._connection.request("POST", f"{path}?{query}" if query else path, body, plain)
                response = self._connection.getresponse()
                return response.status, response.read().decode()
            except ValueError:  # http.client does not send such a header, and keeps the others for the next request
                self._connection.close()
                self._connection = self._new_connection()
                return 0, ""
            except (OSError, http.client.HTTPException):
                self._connection.close()  # the next request opens it again
                if is_retry:
                    raise
        raise AssertionError

    def _new_connection(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(urlsplit(self.server.url).netloc, timeout=TIMEOUT_S + 30)

    @contextlib.contextmanager
    def _captured(self, log: io.StringIO) -> Iterator[None]:
        if self._is_captured:  # for all threads
            yield
            return
        with contextlib.redirect_stdout(log), contextlib.redirect_stderr(log):
            yield
