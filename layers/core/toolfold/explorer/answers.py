"""Answers of the explorer: JSON, plain pages, errors, and the headers that each of them has."""

from __future__ import annotations

import html
import json
from http import HTTPStatus
from typing import Any

from toolfold.protocol.http import Headers, LogFields, Response

__all__ = ["SECURITY_HEADERS", "ApiProblem", "json_answer", "page_answer", "problem_answer", "with_security_headers"]

RPC = "ui"
"""What the log of a request has as its method."""

LOG_FIELDS: LogFields = {"rpc": RPC}

SECURITY_HEADERS: Headers = (
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'none'; frame-ancestors 'none'; base-uri 'none'",
    ),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    # Other pages of this machine are of the same site on every port: they may not load anything from here.
    ("cross-origin-resource-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
    ("permissions-policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
)
"""On every answer of the explorer, errors included."""

_JSON = ("content-type", "application/json")
_NO_STORE = ("cache-control", "no-store")


class ApiProblem(Exception):
    """A request of the page that is refused.

    Args:
        status: The HTTP status.
        code: A stable code.
        message: One sentence for a person.
        next_step: What helps.
    """

    def __init__(self, status: int, code: str, message: str, next_step: str, *headers: tuple[str, str]) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.next_step = status, code, message, next_step
        self.headers: Headers = headers


def json_answer(document: Any, *headers: tuple[str, str], status: int = 200) -> Response:
    """Return a response with a JSON body, which no cache keeps unless ``headers`` have a ``cache-control``."""
    stored = () if any(name == "cache-control" for name, _ in headers) else (_NO_STORE,)
    body = json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace")
    return Response(status, (_JSON, *stored, *headers), body, LOG_FIELDS)


def problem_answer(problem: ApiProblem) -> Response:
    """Return the response that describes ``problem`` to the page."""
    error = {"code": problem.code, "message": problem.message, "next_step": problem.next_step}
    answer = json_answer({"error": error}, *problem.headers, status=problem.status)
    return answer._replace(log_fields={**LOG_FIELDS, "refused": str(problem.status)})


def page_answer(status: int, title: str, *paragraphs: str, link: tuple[str, str] | None = None) -> Response:
    """Return a page of plain text for a person; ``link`` is an address and its text."""
    lines = [f"<p>{html.escape(text)}</p>" for text in paragraphs]
    if link is not None:
        lines.append(f'<p><a href="{html.escape(link[0])}">{html.escape(link[1])}</a></p>')
    body = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">'
        '<link rel="icon" href="data:,">'
        f"<title>{html.escape(title)} · toolfold</title></head>\n"
        f"<body><main><h1>{html.escape(title)}</h1>\n" + "\n".join(lines) + "\n</main></body></html>\n"
    )
    fields: LogFields = LOG_FIELDS if status < HTTPStatus.BAD_REQUEST else {**LOG_FIELDS, "refused": str(status)}
    return Response(status, (("content-type", "text/html; charset=utf-8"), _NO_STORE), body.encode(), fields)


def with_security_headers(response: Response) -> Response:
    """Return ``response`` with the headers that every answer has."""
    return response._replace(headers=(*response.headers, *SECURITY_HEADERS))
