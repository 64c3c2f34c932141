"""A request of the page, with the parts that MCP requests do not have: a query, and a path below that of a stage.

Read the parameters of a query, each with its limits.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from toolfold.explorer.answers import ApiProblem
from toolfold.protocol.http import Headers, Request

MAX_PARAMETERS = 20
"""Parameters of a query; a view has a handful."""


class PageRequest(NamedTuple):
    """One request. ``repr`` shows neither query nor headers nor body: they may have a token.

    Attributes:
        method: In capitals.
        path: What follows :attr:`base_path` and a slash, undecoded: empty for the page, ``ui/api/start`` for a view.
        base_path: What precedes it, as the stage of an API, without a slash at its end; empty on this machine.
        query: Name → first value of each parameter, decoded.
        headers: Names in lower case, in the order received.
        body: The raw bytes.
        source: The request as the other parts of toolfold read it.
    """

    method: str
    path: str
    base_path: str
    query: Mapping[str, str]
    headers: Headers
    body: bytes
    source: Request

    def __repr__(self) -> str:
        return f"PageRequest(method={self.method!r}, path={self.path!r})"

    def header(self, name: str) -> str | None:
        """Return the first value of a header, stripped, or None when it is absent."""
        return self.source.header(name)

    def json(self) -> dict[str, Any]:
        """Return the body, a JSON object.

        Raises:
            ApiProblem: It is something else.
        """
        try:
            document = json.loads(self.body)
        except (ValueError, RecursionError):
            document = None
        if not isinstance(document, dict):
            raise ApiProblem(400, "INVALID_REQUEST", "The body must be a JSON object.", "Send one, in UTF-8.")
        return document


def parse_request(event: Mapping[str, Any], request: Request) -> PageRequest:
    """Return the request of ``event``, which was parsed into ``request``, for the page."""
    base_path, separator, below = _full_path(event, request.path).partition("/ui/")
    path = f"ui/{below}" if separator else ""
    return PageRequest(
        request.method, path, base_path.rstrip("/"), _query(event), request.headers, request.body, request
    )


def _full_path(event: Mapping[str, Any], path: str) -> str:
    """Return the path with its stage, which payload format 1.0 has in the context of the request only."""
    context = event.get("requestContext")
    full = context.get("path") if isinstance(context, Mapping) else None
    return full if isinstance(full, str) and full.endswith(path) else path


def _query(event: Mapping[str, Any]) -> dict[str, str]:
    """Return the first value of each parameter. Payload format 1.0 has them decoded."""
    query: dict[str, str] = {}
    if event.get("version") == "2.0":
        from urllib.parse import parse_qsl

        try:
            pairs = parse_qsl(
                str(event.get("rawQueryString") or ""), keep_blank_values=True, max_num_fields=MAX_PARAMETERS
            )
        except ValueError:
            raise ApiProblem(
                400, "INVALID_REQUEST", f"The query has more than {MAX_PARAMETERS} parameters.", "Send fewer."
            ) from None
    else:
        pairs = list((event.get("queryStringParameters") or {}).items())
    for name, value in pairs:
        query.setdefault(str(name), str(value))
    return query


def invalid(message: str, next_step: str) -> ApiProblem:
    """Return the error for a request that cannot be answered as it is."""
    return ApiProblem(400, "INVALID_REQUEST", message, next_step)


def read_text(request: PageRequest, name: str, max_chars: int, *, is_required: bool = False) -> str:
    """Return a parameter without outer spaces; empty where it is missing.

    Raises:
        ApiProblem: It is too long; or it is missing, and required.
    """
    text = request.query.get(name, "").strip()
    if is_required and not text:
        raise invalid(f"The parameter {name} is missing.", f"Send ?{name}=….")
    if len(text) > max_chars:
        raise invalid(f"The parameter {name} has {len(text):,} characters.", f"Send at most {max_chars:,} characters.")
    return text


def read_integer(request: PageRequest, name: str, default: int, maximum: int, minimum: int = 0) -> int:
    """Return a parameter that is a number of at least ``minimum``; numbers above ``maximum`` become that.

    Raises:
        ApiProblem: It has another form.
    """
    text = request.query.get(name, "")
    if text == "":
        return default
    if not (text.isascii() and text.isdigit() and len(text) <= 15 and int(text) >= minimum):
        raise invalid(f"The parameter {name} must be a number from {minimum}.", f"Send a number, such as {default}.")
    return min(int(text), maximum)
