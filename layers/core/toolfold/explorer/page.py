"""What is behind the page, the parameters of a request of it, and the answers: JSON and plain pages."""

from __future__ import annotations

import functools
import html
import json
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from toolfold.execution.approval import ApprovalDesk
from toolfold.protocol.http import Headers, LogFields, Request, Response

if TYPE_CHECKING:
    from toolfold.app import App
    from toolfold.catalog.model import Catalog
    from toolfold.explorer.feed import CallFeed

LOG_FIELDS: LogFields = {"rpc": "ui"}
"""What the log of a request has."""

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

NO_STORE = ("cache-control", "no-store")


class ApiProblem(Exception):
    """A request of the page that is refused, with a stable code, one sentence for a person, and what helps."""

    def __init__(self, status: int, code: str, message: str, next_step: str, *headers: tuple[str, str]) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.next_step = status, code, message, next_step
        self.headers: Headers = headers


def json_answer(document: Any, *headers: tuple[str, str], status: int = 200) -> Response:
    """Return a response with a JSON body, which no cache keeps."""
    body = json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace")
    return Response(status, (("content-type", "application/json"), NO_STORE, *headers), body, LOG_FIELDS)


def page_answer(status: int, title: str, *paragraphs: str, page: str = "") -> Response:
    """Return a page of plain text for a person; ``page`` is the address of the explorer's page, for a link to it."""
    lines = [f"<p>{html.escape(text)}</p>" for text in paragraphs]
    lines += [f'<p><a href="{page}">Open the page</a></p>'] if page else []
    body = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">'
        '<link rel="icon" href="data:,">'
        f"<title>{html.escape(title)} · toolfold</title></head>\n"
        f"<body><main><h1>{html.escape(title)}</h1>\n" + "\n".join(lines) + "\n</main></body></html>\n"
    )
    fields: LogFields = LOG_FIELDS if status < HTTPStatus.BAD_REQUEST else {**LOG_FIELDS, "refused": str(status)}
    return Response(status, (("content-type", "text/html; charset=utf-8"), NO_STORE), body.encode(), fields)


MAX_PARAMETERS = 20
"""Parameters of a query; a view has a handful."""


def parse_query(query: str) -> dict[str, str]:
    """Return the first value of each parameter.

    Raises:
        ApiProblem: There are too many.
    """
    try:
        pairs = parse_qsl(query, keep_blank_values=True, max_num_fields=MAX_PARAMETERS)
    except ValueError:
        raise invalid(f"The query has more than {MAX_PARAMETERS} parameters.", "Send fewer.") from None
    return dict(reversed(pairs))


def invalid(message: str, next_step: str) -> ApiProblem:
    """Return the error for a request that cannot be answered as it is."""
    return ApiProblem(400, "INVALID_REQUEST", message, next_step)


def read_json(request: Request) -> dict[str, Any]:
    """Return the body, a JSON object."""
    try:
        document = json.loads(request.body)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise invalid("The body must be a JSON object.", "Send one, in UTF-8.")
    return document


def read_text(request: Request, name: str, max_chars: int = 200, *, is_required: bool = False) -> str:
    """Return a parameter without outer spaces, such as a name; empty where it is missing."""
    text = parse_query(request.query).get(name, "").strip()
    if is_required and not text:
        raise invalid(f"The parameter {name} is missing.", f"Send ?{name}=….")
    if len(text) > max_chars:
        raise invalid(f"The parameter {name} has {len(text):,} characters.", f"Send at most {max_chars:,} characters.")
    return text


def read_integer(request: Request, name: str, default: int, *, minimum: int = 0) -> int:
    """Return a parameter that is a number of at least ``minimum``."""
    text = parse_query(request.query).get(name, "")
    if text == "":
        return default
    if not (text.isascii() and text.isdigit() and len(text) <= 15 and int(text) >= minimum):
        raise invalid(f"The parameter {name} must be a number from {minimum}.", f"Send a number, such as {default}.")
    return int(text)


@dataclass(frozen=True)
class Explorer:
    """The objects behind the page.

    Attributes:
        app: The objects that answer MCP requests.
        endpoint: URL of the MCP endpoint as its clients know it.
        feed: The calls of this process, or of a log.
    """

    app: App
    endpoint: str
    feed: CallFeed

    def catalog(self) -> Catalog:
        """Return what the path without a profile exposes of the current catalog."""
        return self.app.server.tools.catalog()

    @functools.cached_property
    def approval_desk(self) -> ApprovalDesk:
        """What finds waiting calls and records decisions, made by the first request for it."""
        return ApprovalDesk(self.app.settings, self.app.aws)
