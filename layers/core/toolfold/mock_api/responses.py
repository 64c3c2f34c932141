"""HTTP responses: status, headers and body, and how the connection behaves while they are sent."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

JSON = "application/json"
CSV = "application/x-download"
HTML = "text/html; charset=utf-8"
TEXT = "text/plain; charset=utf-8"

Connection = Literal["normal", "truncated", "closed", "reset", "drip"]


@dataclass(frozen=True, slots=True)
class Response:
    """One HTTP response.

    Attributes:
        status: HTTP status code.
        content_type: Value of ``Content-Type``.
        body: The bytes of the body.
        delay_s: Seconds of silence before the first byte; for ``drip``, how long the body takes.
        headers: Further headers.
        connection: ``normal``; ``truncated``, the body is shorter than ``Content-Length``; ``closed`` and ``reset`` (a
            TCP reset), no response; ``drip``, the body is sent in small pieces.
        times: How often the body is sent, one after the other.
        length: ``Content-Length`` where it is not the true one.
    """

    status: int
    content_type: str
    body: bytes
    delay_s: float = 0.0
    headers: tuple[tuple[str, str], ...] = ()
    connection: Connection = "normal"
    times: int = 1
    length: int | None = None


def json_response(document: Any) -> Response:
    """Return the document as JSON, indented as the vendor does."""
    return Response(200, JSON, json.dumps(document, indent=4).encode())


def csv_response(text: str) -> Response:
    """Return the text as CSV, with the vendor's content type."""
    return Response(200, CSV, text.encode())
