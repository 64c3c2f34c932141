"""What the mock API sends back: bytes, and how the connection behaves while they are sent."""

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
    """One HTTP answer.

    ``delay_s``: seconds of silence before the first byte (for ``drip``: how long the body takes).
    ``connection``: ``normal``; ``truncated``, the length that is promised is never reached; ``closed`` and
    ``reset`` (a TCP reset), no answer; ``drip``, the body comes in slow pieces.
    ``times``: how often the body is sent, one after the other. ``length``: the ``Content-Length`` that is claimed,
    where it is not the true one.
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
    """Pretty-printed as the vendor does."""
    return Response(200, JSON, json.dumps(document, indent=4).encode())


def csv_response(text: str) -> Response:
    return Response(200, CSV, text.encode())
