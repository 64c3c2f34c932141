"""Send one input to the server and to the Lambda handler, and check the invariants of every response."""

import contextlib
import gc
import json
import os
import time
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from tests.fuzz import inputs
from tests.fuzz.whole_call.oracles import Finding, no_json
from tests.support.cpu_time import slowness
from tests.support.lambda_handler import make_handler
from toolfold.models import UpstreamResponse
from toolfold.protocol.http import LOOPBACK_HOSTS, OriginPolicy, Request, Response
from toolfold.protocol.mcp import Server
from toolfold.sources.http_api.adapter import HttpApiAdapter

TIME_LIMIT_S = 0.050
"""Limit for an input of at most :data:`SIZE_LIMIT` bytes. Most take a hundredth of it."""

SIZE_LIMIT = 16 * 1024
GROWTH_LIMIT = 4 * 1024 * 1024
"""Bytes by which the process may grow while it processes the same requests repeatedly."""

_ENVIRONMENT = {"TOOLFOLD_ALLOW_KEY_IN_QUERY": "true", "TOOLFOLD_ALLOWED_ORIGINS": "*"}
_UPSTREAM_SAYS = '{"Global Quote": {"01. symbol": "IBM", "05. price": "1.5", "06. volume": 1e999, "07. change": NaN}}'
_PAGE = 4096


class Target:
    """The server and the Lambda handler over the real catalog, with an upstream that always sends the same response.

    Patches the process: the upstream and the API key. ``slowest_s`` is the slowest response so far that stayed slow
    when repeated.
    """

    def __init__(self) -> None:
        os.environ["ALPHA_VANTAGE_API_KEY"] = "KEY"
        HttpApiAdapter.call = lambda *_: UpstreamResponse(200, _UPSTREAM_SAYS)  # type: ignore[method-assign]
        self._log = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - open as long as the process
        self._gateway = make_handler(_ENVIRONMENT)
        tools = self._gateway.server.tools
        self._server = Server(tools, OriginPolicy(("*",)))
        self._local = Server(tools, OriginPolicy(hosts=LOOPBACK_HOSTS))
        self.slowest_s = 0.0

    def check(self, data: bytes) -> None:
        """Send ``data`` to the server, and to the Lambda handler as events.

        Raises:
            Finding: An invariant is violated.
        """
        event = inputs.event(data)
        if event is not None:
            _check_handed_over(self._timed(lambda: self._gateway(event), len(data)))
            return
        sent = inputs.request(data)
        response = self._timed(lambda: self._server.handle_http(sent), len(data))
        _check(sent, response)
        if sent.header("host") is not None:
            _check(sent, self._timed(lambda: self._local.handle_http(sent), len(data)))
        for event in inputs.events(sent):
            answer = self._timed(lambda event=event: self._gateway(event), len(data))
            _check_handed_over(answer)
            if "httpMethod" in event and answer["statusCode"] != response.status:
                raise Finding(f"the handler returns {answer['statusCode']}, the server {response.status}")

    def _timed(self, ask: Callable[[], Any], size: int) -> Any:
        took, answer = self._once(ask)
        if size <= SIZE_LIMIT and took > self.slowest_s:
            # The first one may have imported something.
            took = min(took, *(self._once(ask)[0] for _ in range(3)))
            self.slowest_s = max(self.slowest_s, took)
            if took > TIME_LIMIT_S and took > TIME_LIMIT_S * slowness():
                raise Finding(f"a response took more than {TIME_LIMIT_S * 1000:.0f} ms")
        return answer

    def _once(self, ask: Callable[[], Any]) -> tuple[float, Any]:
        """Return the time of a response, and the response, without what is logged."""
        started = time.thread_time()
        try:
            with contextlib.redirect_stdout(self._log):
                answer = ask()
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            raise Finding(f"{type(error).__name__} in {Path(place.filename).name}:{place.name}") from error
        return time.thread_time() - started, answer

    def close(self) -> None:
        self._log.close()

    def memory_growth(self, data: Iterable[bytes], rounds: int = 20) -> int:
        """Return the bytes by which the process grew while it processed ``data`` repeatedly."""
        data = list(data)
        before = 0
        for turn in range(rounds + 5):
            if turn == 5:
                before = _resident()
            for one in data:
                with contextlib.suppress(Finding):
                    self.check(one)
        return max(0, _resident() - before)


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
    if any(not str(value).isprintable() or len(str(value)) > 64 for value in response.log_fields.values()):
        raise Finding("content in the log")
    if response.status == 202 and response.body:
        raise Finding("a response to a notification")


def _check_message(response: Response) -> None:
    try:
        message = json.loads(response.body.decode(), parse_constant=no_json)
    except (ValueError, RecursionError):
        raise Finding("a body that claims to be JSON and is not") from None
    keys = set(message)
    if message.get("jsonrpc") != "2.0" or keys not in ({"jsonrpc", "id", "result"}, {"jsonrpc", "id", "error"}):
        raise Finding(f"no JSON-RPC response: {sorted(keys)}")
    if isinstance(message["id"], bool | float | list | dict) or ("result" in keys and message["id"] is None):
        raise Finding("an invalid id")


def _check_handed_over(answer: Any) -> None:
    """Check the result of the Lambda handler: four members of the right types that can be encoded as JSON in UTF-8."""
    kinds = {"statusCode": int, "headers": dict, "body": str, "isBase64Encoded": bool}
    if set(answer) != set(kinds) or not all(isinstance(answer[name], kind) for name, kind in kinds.items()):
        raise Finding("the response is not valid for API Gateway")
    if answer["statusCode"] >= 500:
        raise Finding(f"the handler returns {answer['statusCode']}")
    try:
        json.dumps(answer, ensure_ascii=False, allow_nan=False).encode()
    except ValueError:
        raise Finding("the response cannot be encoded for the runtime") from None
