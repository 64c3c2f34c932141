"""Answer one request without I/O: find the tool, and apply the rules of the API in the vendor's order."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime
from email import message_from_string
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote

from toolfold.catalog.entries import Source
from toolfold.catalog.store import FileStore, bundled_path
from toolfold.mock_api.answers import data_of
from toolfold.mock_api.endpoint import Endpoint, Query, Request, get_first
from toolfold.mock_api.faults import ERROR_BODIES, error_response, placeholder_response, requested_fault
from toolfold.mock_api.market import UnknownSymbol
from toolfold.mock_api.responses import Response, empty_response, json_response, render

NEWEST_DAY = date(2026, 1, 13)
"""A Tuesday on which New York traded. It is the default of ``now``, so that responses never change."""

PATH = "/query"
"""Where all functions are."""

KEY = "apikey"
DEMO_KEY, FREE_KEY = "demo", "free"

_STATUSES = {
    "invalid_api_key": (401, "Credentials are missing."),
    "invalid_call": (400, "A parameter is missing or has a value that it cannot have."),
}
_PLACEHOLDER = re.compile(r"\{([^}]+)\}")


class Sent(NamedTuple):
    """A request: of a function at :data:`PATH`, or to a tool with a path of its own, below other folders or not."""

    method: str
    path: str
    query: Query
    headers: Mapping[str, str] = {}
    body: bytes = b""

    def header(self, name: str) -> str:
        """Return the text of a header, or an empty string."""
        return next((text for known, text in self.headers.items() if known.lower() == name.lower()), "")

    @property
    def parts(self) -> Iterator[tuple[str, str, str]]:
        """Place, name and text of all that was sent beside the path; the whole body has no name."""
        yield from (("query", name, text) for name, text in self.query)
        yield from (("header", name.lower(), text) for name, text in self.headers.items())
        for pair in self.header("cookie").split(";"):
            name, _, text = pair.strip().partition("=")
            yield "cookie", name, unquote(text)
        if body := self.body.decode("utf-8", "replace"):
            yield "body", "", body
            yield from (("body", name, text) for name, text in _fields(self.header("content-type"), body))


def _fields(content_type: str, body: str) -> Iterator[tuple[str, str]]:
    """Yield the fields of a form, or the members of a JSON object."""
    if content_type.startswith("multipart/"):
        for part in message_from_string(f"Content-Type: {content_type}\n\n{body}").walk():
            if name := part.get_param("name", header="content-disposition"):
                yield str(name), str(part.get_payload())
    elif content_type.partition(";")[0].strip().lower() == "application/x-www-form-urlencoded":
        yield from parse_qsl(body)
    else:
        with contextlib.suppress(ValueError, RecursionError):
            document = json.loads(body)
            for name, value in document.items() if isinstance(document, dict) else ():
                yield name, value if isinstance(value, str) else json.dumps(value)


class Api:
    """The endpoints of a compiled catalog: all tools of its HTTP sources."""

    def __init__(self, catalog: str) -> None:
        self._catalog = FileStore(catalog)()

    @cached_property
    def endpoints(self) -> Mapping[str, Endpoint]:
        """Function → endpoint."""
        tools = [tool for name in self._catalog if (tool := self._catalog.get(name)) is not None]
        peers: dict[str, dict[str, Any]] = {}
        for tool in tools:
            peers.setdefault(tool.source, {}).update(tool.parameters.get("properties", {}))
        sources = {source.id: source for source in self._catalog.sources}
        known = [Endpoint(tool, sources[tool.source], peers[tool.source]) for tool in tools]
        return {one.function: one for one in known if one.source.function_key or one.path}

    @cached_property
    def sources(self) -> Sequence[Source]:
        """The sources that have endpoints."""
        return [one for one in self._catalog.sources if any(one == of.source for of in self.endpoints.values())]

    @cached_property
    def _paths(self) -> Sequence[tuple[re.Pattern[str], Endpoint]]:
        """Pattern of method and path, and endpoint; the longest paths first, and those without placeholders."""
        own = [one for one in self.endpoints.values() if one.path]
        own.sort(key=lambda one: (-one.path.count("/"), len(_PLACEHOLDER.findall(one.path))))
        found = []
        for endpoint in own:
            pattern = "([^/]+)".join(map(re.escape, re.split(r"\{[^}]+\}", endpoint.path)))
            method = endpoint.tool.call.get("method", "GET")
            found.append((re.compile(f"{method} (?:/[^/]+)*?{pattern}"), endpoint))
        return found

    def _find(self, sent: Sent) -> tuple[Endpoint | None, Query]:
        """Return the tool that a request is for, and the arguments that were sent for it."""
        if sent.path == PATH:
            names = {one.function_key for one in self.sources if one.function_key}
            found = next((one for name in names if (one := self.endpoints.get(get_first(sent.query, name)))), None)
            return found, found.arguments_of(("query", *pair) for pair in sent.query) if found else sent.query
        for pattern, endpoint in self._paths:
            if match := pattern.fullmatch(f"{sent.method} {sent.path}"):
                named = zip(_PLACEHOLDER.findall(endpoint.path), map(unquote, match.groups()), strict=True)
                return endpoint, endpoint.arguments_of([*(("path", *pair) for pair in named), *sent.parts])
        return None, sent.query

    def answer(self, sent: Sent, now: datetime | None = None) -> tuple[Response, str]:
        """Return the response to a request, and the name of the tool that it is for, or an empty string. Never raises.

        The same request and the same date give the same bytes, in every process and on every day.

        Args:
            sent: The request.
            now: Moves the newest day of the data. Only the date counts; every session of that date has ended.
        """
        endpoint, arguments = self._find(sent)
        if endpoint is None and sent.path != PATH:
            return json_response({"error": "There is nothing at this path."}, 404), ""
        response = _answer(endpoint, sent, arguments, now.date() if now else NEWEST_DAY)
        return response, endpoint.function if endpoint else ""


def _answer(endpoint: Endpoint | None, sent: Sent, query: Query, today: date) -> Response:
    """Apply the rules of the API in the vendor's order; without an endpoint those of an unknown function."""
    auth = endpoint.source.auth if endpoint else None
    key = get_first(sent.query, auth.query_key or "" if auth else KEY)
    if auth is not None and not key:
        key = sent.header(auth.header or "Authorization").rpartition(" ")[2]
    if not key and (endpoint is None or (auth is not None and "credentials" not in endpoint.tool.call)):
        return _refusal(endpoint, "invalid_api_key", query)
    if fault := requested_fault(query, endpoint, key):
        return fault
    if key == DEMO_KEY and (endpoint is None or not endpoint.is_typed):
        return error_response("demo_key_only", query)
    if endpoint is None:
        return error_response("unknown_function", query)
    request = endpoint.parse(query, today)
    if request is None:
        is_news = endpoint.function == "NEWS_SENTIMENT"
        return _refusal(endpoint, "invalid_inputs_news" if is_news else "invalid_call", query)
    if key == FREE_KEY and not endpoint.is_typed and (refused := _refused_to_free_key(request, query)):
        return refused
    try:
        return _rendered(request)
    except UnknownSymbol:
        name = endpoint.facts["unknown"] or ("invalid_call" if endpoint.kind == "map" else "")
        return error_response(name, query) if name in ERROR_BODIES else empty_response(request)


def _refusal(endpoint: Endpoint | None, name: str, query: Query) -> Response:
    """Return an error of the vendor, or what APIs with status codes answer instead."""
    if endpoint is None or not endpoint.is_typed:
        return error_response(name, query)
    status, text = _STATUSES[name]
    return json_response({"error": text}, status)


@lru_cache(maxsize=256)
def _rendered(request: Request) -> Response:
    """Return the response to a request. The same requests come again and again, and one takes up to 0.1 s."""
    return render(request, data_of(request))


def _refused_to_free_key(request: Request, query: Query) -> Response | None:
    """Return what a free key gets instead of data, or None where it gets the data."""
    endpoint = request.endpoint
    if endpoint.tool.access == "premium":
        is_silent = endpoint.function.startswith("REALTIME_")  # these return rows that look like data
        return placeholder_response(endpoint) if is_silent else error_response("premium_endpoint", query)
    for name, values in endpoint.tool.hints.get("premium", {}).items():
        if request.text(name) in values:
            return error_response("not_entitled" if name == "entitlement" else "premium_parameter", query)
    most = {**endpoint.tool.hints.get("free_items", {}), **({"calculations": 1} if request.text("window_size") else {})}
    if any(len(request.items(name)) > number for name, number in most.items()):
        return error_response("premium_endpoint", query)
    return None


@lru_cache(maxsize=8)
def open_api(catalog: str | Path | None = None) -> Api:
    """Return the endpoints of a compiled catalog, by default of the one in the package."""
    return Api(str(catalog or bundled_path()))
