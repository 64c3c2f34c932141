"""One input, fed to the server and to the Lambda gateway, and everything that must hold for the answers."""

from __future__ import annotations

import contextlib
import gc
import io
import json
import logging
import os
import time
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from tests.fuzz import inputs
from tests.support.lambda_handler import make_handler
from toolfold.models import UpstreamResponse
from toolfold.protocol.http import LOOPBACK_HOSTS, OriginPolicy, Request, Response
from toolfold.protocol.mcp import Server
from toolfold.sources.http_api import adapter

TIME_LIMIT_S = 0.050
"""For an input of at most :data:`SIZE_LIMIT` bytes. Most take a hundredth of it; Lambda bills milliseconds."""

SIZE_LIMIT = 16 * 1024
GROWTH_LIMIT = 4 * 1024 * 1024
"""Bytes by which the process may grow while it answers the same requests again and again."""

_ENVIRONMENT = {"TOOLFOLD_ALLOW_KEY_IN_QUERY": "true", "TOOLFOLD_ALLOWED_ORIGINS": "*"}
_UPSTREAM_SAYS = '{"Global Quote": {"01. symbol": "IBM", "05. price": "1.5", "06. volume": 1e999, "07. change": NaN}}'
_PAGE = 4096


class Finding(Exception):
    """Something that must hold did not; ``str()`` says what, without the input."""


class Target:
    """The server and the gateway over the real catalog, with an upstream that always answers the same.

    Patches the process: the upstream and the API key. ``slowest_s`` is the slowest answer so far that
    stayed slow when asked again.
    """

    def __init__(self) -> None:
        os.environ["ALPHA_VANTAGE_API_KEY"] = "KEY"
        adapter.call = lambda *_, **__: UpstreamResponse(200, _UPSTREAM_SAYS)  # type: ignore[assignment]
        self._log = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - open as long as the process
        self._gateway = make_handler(_ENVIRONMENT)
        tools = self._gateway.server.tools
        self._server = Server(tools, OriginPolicy(("*",)))
        self._local = Server(tools, OriginPolicy(hosts=LOOPBACK_HOSTS))
        self.slowest_s = 0.0

    def judge(self, data: bytes) -> None:
        """Feed ``data`` to the server, and to the gateway as events.

        Raises:
            Finding: something that must hold did not.
        """
        event = inputs.event(data)
        if event is not None:
            _check_handed_over(self._timed(lambda: self._invoke(event), len(data)))
            return
        sent = inputs.request(data)
        response = self._timed(lambda: self._server.handle_http(sent), len(data))
        _check(sent, response)
        if sent.header("host") is not None:
            _check(sent, self._timed(lambda: self._local.handle_http(sent), len(data)))
        for event in inputs.events(sent):
            answer = self._timed(lambda event=event: self._invoke(event), len(data))
            _check_handed_over(answer)
            if "httpMethod" in event and answer["statusCode"] != response.status:
                raise Finding(f"the gateway says {answer['statusCode']}, the server {response.status}")

    def _timed(self, ask: Callable[[], Any], size: int) -> Any:
        took, answer = _once(ask)
        if size <= SIZE_LIMIT and took > self.slowest_s:
            # A busy machine makes anything slow once.
            took = min(took, *(_once(ask)[0] for _ in range(3)))
            self.slowest_s = max(self.slowest_s, took)
            if took > TIME_LIMIT_S:
                raise Finding(f"an answer took more than {TIME_LIMIT_S * 1000:.0f} ms")
        return answer

    def _invoke(self, event: Any) -> Any:
        """Return the gateway's answer to ``event``. Its log goes nowhere."""
        with contextlib.redirect_stdout(self._log):
            return self._gateway(event)

    def close(self) -> None:
        self._log.close()

    def growth(self, data: Iterable[bytes], rounds: int = 20) -> int:
        """Bytes by which the process grew while it answered ``data`` again and again."""
        data = list(data)
        before = 0
        for turn in range(rounds + 5):
            if turn == 5:
                before = _resident()
            for one in data:
                with contextlib.suppress(Finding):
                    self.judge(one)
        return max(0, _resident() - before)


def _once(ask: Callable[[], Any]) -> tuple[float, Any]:
    started = time.perf_counter()
    try:
        answer = ask()
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        raise Finding(f"{type(error).__name__} in {Path(place.filename).name}:{place.name}") from error
    return time.perf_counter() - started, answer


def _resident() -> int:
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE


def _check(sent: Request, response: Response) -> None:
    headers = dict(response.headers)
    if response.status >= 500:
        raise Finding(f"status {response.status}")
    if any("\n" in value or "\r" in value for value in headers.values()):
        raise Finding("a line feed in a header of the response")
    if headers.get("content-type") == "application/json":
        _check_message(response)
    elif response.body and response.status < 400:
        raise Finding("a body that is not JSON")
    if response.log_fields.get("error") == "INTERNAL_ERROR":
        raise Finding("a defect, caught on its way out")
    if any(not value.isprintable() or len(value) > 64 for value in response.log_fields.values()):
        raise Finding("content in the log")
    if response.status == 202 and response.body:
        raise Finding("an answer to what asks for none")


def _check_message(response: Response) -> None:
    try:
        message = json.loads(response.body.decode(), parse_constant=_no_json)
    except (ValueError, RecursionError):
        raise Finding("a body that claims to be JSON and is not") from None
    keys = set(message)
    if message.get("jsonrpc") != "2.0" or keys not in ({"jsonrpc", "id", "result"}, {"jsonrpc", "id", "error"}):
        raise Finding(f"no JSON-RPC response: {sorted(keys)}")
    if isinstance(message["id"], bool | float | list | dict) or ("result" in keys and message["id"] is None):
        raise Finding("an id that is none")


def _no_json(constant: str) -> None:
    raise ValueError(constant)


def _check_handed_over(answer: Any) -> None:
    """What the Lambda runtime needs: four members, of these types, that can be written as JSON in UTF-8."""
    kinds = {"statusCode": int, "headers": dict, "body": str, "isBase64Encoded": bool}
    if set(answer) != set(kinds) or not all(isinstance(answer[name], kind) for name, kind in kinds.items()):
        raise Finding("the answer has not the form that API Gateway takes")
    if answer["statusCode"] >= 500:
        raise Finding(f"the gateway says {answer['statusCode']}")
    try:
        json.dumps(answer, ensure_ascii=False, allow_nan=False).encode()
    except ValueError:
        raise Finding("the answer cannot be handed to the runtime") from None


def silence() -> None:
    """Nothing of what libraries log reaches the terminal."""
    logging.lastResort = logging.StreamHandler(io.StringIO())
