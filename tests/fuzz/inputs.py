"""File format of an input: readable for a person, and easy to mutate.

An HTTP request is its method, its headers one a line, an empty line, and the body. A Lambda event is the word
``EVENT``, an empty line, and its JSON.
"""

import base64
import json
from pathlib import Path
from typing import Any

from toolfold.protocol.http import Request

EVENT = b"EVENT"
CORPUS = Path(__file__).parent / "corpus"


def request(data: bytes) -> Request:
    """Parse any bytes as an HTTP request, with header names in lower case as :class:`Request` requires."""
    head, _, body = data.partition(b"\n\n")
    method, *lines = head.decode("latin-1").split("\n")
    parts = [line.partition(":") for line in lines if ":" in line]
    return Request(method.upper(), tuple((name.lower(), value) for name, _, value in parts), body)


def event(data: bytes) -> Any:
    """Return the event in ``data``, or None where it has no valid one."""
    head, _, body = data.partition(b"\n\n")
    if head != EVENT:
        return None
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def events(sent: Request) -> list[dict[str, Any]]:
    """Return a request as the events of API Gateway: payload 2.0 with the body in base64, and payload 1.0."""
    body = base64.b64encode(sent.body).decode()
    http = {"method": sent.method, "path": "/mcp"}
    second = {"version": "2.0", "headers": dict(sent.headers), "requestContext": {"http": http}, "rawQueryString": ""}
    many: dict[str, list[str]] = {}
    for name, value in sent.headers:
        many.setdefault(name, []).append(value)
    first = {"httpMethod": sent.method, "multiValueHeaders": many, "headers": None, "queryStringParameters": None}
    return [{**event, "body": body, "isBase64Encoded": True} for event in (second, first)]


def corpus() -> list[bytes]:
    """Return every input of the corpus, in the order of the file names."""
    return [path.read_bytes() for path in sorted(CORPUS.iterdir())]
