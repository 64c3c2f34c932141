"""API Gateway HTTP API with payload format 2.0: from a request to an event, from a result to a response.

Both directions are pure functions; :func:`serve` is an HTTP server for them. Source of the formats:
https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html
"""

import base64
import json
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from tests.support.local_server import Handler, LocalServer

Answer = Callable[[Mapping[str, Any]], Any]
"""Runs the function: an event in, what the handler returned out."""

INTERNAL_ERROR: Mapping[str, Any] = {
    "statusCode": 500,
    "headers": {"content-type": "application/json"},
    "body": '{"message":"Internal Server Error"}',
}
_NOT_FOUND = {**INTERNAL_ERROR, "statusCode": 404, "body": '{"message":"Not Found"}'}

_TEXT_TYPES = ("text/", "application/json", "application/javascript", "application/xml")
"""Content types whose bodies arrive as text; every other one arrives in base64."""

_HOP_BY_HOP = frozenset({"connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"})


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request. ``target`` is path and query as sent; ``headers`` in order, repeated ones included."""

    method: str
    target: str
    headers: Sequence[tuple[str, str]]
    body: bytes = b""
    source_ip: str = "127.0.0.1"


def event_for(request: Request, path: str = "/mcp") -> dict[str, Any]:
    """Return the event of the route ``ANY path`` for ``request``.

    Header names become lower-case, repeated headers and query parameters are joined by commas, cookies move to a list
    of their own. Absent parts (no body, no query, no cookies) have no key at all.
    """
    url = urlsplit(request.target)
    headers: dict[str, str] = {}
    for name, value in request.headers:
        lower = name.lower()
        if lower not in _HOP_BY_HOP:
            headers[lower] = f"{headers[lower]},{value}" if lower in headers else value
    cookies = [cookie.strip() for cookie in headers.pop("cookie", "").split(";") if cookie.strip()]
    domain = headers.get("host", "localhost").split(":")[0]
    now, request_id = time.time(), uuid.uuid4().hex[:15] + "="
    headers |= {"x-forwarded-for": request.source_ip, "x-forwarded-port": "443", "x-forwarded-proto": "https"}
    query: dict[str, str] = {}
    for name, value in parse_qsl(url.query, keep_blank_values=True):
        query[name] = f"{query[name]},{value}" if name in query else value
    event: dict[str, Any] = {
        "version": "2.0",
        "routeKey": f"ANY {path}",
        "rawPath": url.path,
        "rawQueryString": url.query,
        "headers": headers,
        "requestContext": {
            "accountId": "123456789012",
            "apiId": "localapi",
            "domainName": domain,
            "domainPrefix": domain.split(".")[0],
            "http": {
                "method": request.method,
                "path": url.path,
                "protocol": "HTTP/1.1",
                "sourceIp": request.source_ip,
                "userAgent": headers.get("user-agent", ""),
            },
            "requestId": request_id,
            "routeKey": f"ANY {path}",
            "stage": "$default",
            "time": time.strftime("%d/%b/%Y:%H:%M:%S +0000", time.gmtime(now)),
            "timeEpoch": int(now * 1000),
        },
        "isBase64Encoded": False,
    }
    if cookies:
        event["cookies"] = cookies
    if query:
        event["queryStringParameters"] = query
    if request.body:
        event["body"], event["isBase64Encoded"] = _body(request.body, headers.get("content-type", ""))
    return event


def response_from(result: Any) -> tuple[int, dict[str, str], bytes]:
    """Return status, headers and body of the HTTP response for the result of a handler.

    A result without ``statusCode`` is the body itself, as JSON, of a 200: payload format 2.0 infers the rest.
    """
    if not isinstance(result, Mapping) or "statusCode" not in result:
        return 200, {"content-type": "application/json"}, json.dumps(result).encode()
    text = str(result.get("body") or "")
    body = base64.b64decode(text) if result.get("isBase64Encoded") else text.encode()
    return int(result["statusCode"]), dict(result.get("headers") or {}), body


@contextmanager
def serve(answer: Answer, path: str = "/mcp") -> Iterator[str]:
    """Serve the one route ``ANY path`` on a free local port; yield its URL, ``http://127.0.0.1:<port><path>``."""
    with _Server(answer, path) as server:
        yield f"http://127.0.0.1:{server.server_port}{path}"


def _body(body: bytes, content_type: str) -> tuple[str, bool]:
    """Return the body as the event carries it, and whether that is base64."""
    if content_type.lower().startswith(_TEXT_TYPES):
        try:
            return body.decode(), False
        except UnicodeDecodeError:
            pass
    return base64.b64encode(body).decode(), True


class _Server(LocalServer):
    def __init__(self, answer: Answer, path: str) -> None:
        super().__init__(_Handler)
        self.answer = answer
        self.path = path


class _Handler(Handler):
    server: _Server

    def _any_method(self) -> None:
        status, headers, body = response_from(self._result())
        self.reply(status, headers, b"" if self.command == "HEAD" else body)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_OPTIONS = _any_method

    def _result(self) -> Any:
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        if urlsplit(self.path).path != self.server.path:
            return _NOT_FOUND
        headers = [(name, value.strip()) for name, value in self.headers.items()]  # RFC 9110, 5.5: blanks are no part
        request = Request(self.command, self.path, headers, body, self.client_address[0])
        return self.server.answer(event_for(request, self.server.path))
