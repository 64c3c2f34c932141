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
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from tests.support.local_server import LocalServer

Answer = Callable[[Mapping[str, Any]], Any]
"""Runs the function: an event in, what the handler returned out."""

INTERNAL_ERROR: Mapping[str, Any] = {
    "statusCode": 500,
    "headers": {"content-type": "application/json"},
    "body": '{"message":"Internal Server Error"}',
}
_NOT_FOUND = {**INTERNAL_ERROR, "statusCode": 404, "body": '{"message":"Not Found"}'}
_LENGTH_REQUIRED = {**INTERNAL_ERROR, "statusCode": 411, "body": '{"message":"Length Required"}'}
_TOO_LARGE = {**INTERNAL_ERROR, "statusCode": 413, "body": '{"message":"Request Entity Too Large"}'}

BODY_LIMIT_BYTES = 10_000_000
"""API Gateway refuses larger bodies before the function sees them."""

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


@dataclass(frozen=True, slots=True)
class Response:
    """One HTTP answer, ready to be written."""

    status: int
    headers: Sequence[tuple[str, str]]
    body: bytes


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


def response_from(result: Any) -> Response:
    """Return the HTTP response for the result of a handler.

    A result without ``statusCode`` is the body itself, as JSON, of a 200: payload format 2.0 infers the rest.
    """
    if not isinstance(result, Mapping) or "statusCode" not in result:
        return Response(200, [("content-type", "application/json")], json.dumps(result).encode())
    headers = [(str(name), str(value)) for name, value in (result.get("headers") or {}).items()]
    headers += [("set-cookie", str(cookie)) for cookie in result.get("cookies") or []]
    text = str(result.get("body") or "")
    body = base64.b64decode(text) if result.get("isBase64Encoded") else text.encode()
    return Response(int(result["statusCode"]), headers, body)


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


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # headers and body in one piece: in two, each answer waits 40 ms for a delayed acknowledgement
    server: _Server

    def _any_method(self) -> None:
        response = response_from(self._result())
        self.send_response(response.status)
        for name, value in response.headers:
            if name.lower() != "content-length":
                self.send_header(name, value)
        self.send_header("content-length", str(len(response.body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(response.body)

    def __getattr__(self, name: str) -> Callable[[], None]:
        """Return the same handler for every ``do_<METHOD>`` that the standard library looks up."""
        if name.startswith("do_"):
            return self._any_method
        raise AttributeError(name)

    def _result(self) -> Any:
        length = int(self.headers.get("Content-Length", "0"))
        if length > BODY_LIMIT_BYTES or "Transfer-Encoding" in self.headers:
            self.close_connection = True  # the body stays unread, so nothing after it can be understood
            # API Gateway would read a chunked body; the standard library's server cannot.
            return _TOO_LARGE if length > BODY_LIMIT_BYTES else _LENGTH_REQUIRED
        body = self.rfile.read(length)
        if urlsplit(self.path).path != self.server.path:
            return _NOT_FOUND
        headers = [(name, value.strip()) for name, value in self.headers.items()]  # RFC 9110, 5.5: blanks are no part
        request = Request(self.command, self.path, headers, body, self.client_address[0])
        return self.server.answer(event_for(request, self.server.path))

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: the function has its own log."""
