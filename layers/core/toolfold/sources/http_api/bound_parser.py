"""Interpret the responses to requests of an HTTP binding: by status and content type, as HTTP has them.

Unlike :class:`toolfold.sources.http_api.faults.ResponseParser`, which it extends, it takes a status for what it says. A
call that writes is never an error after a status of success: it would be repeated.

Find what an error response says, in the forms that services use: at most a line, as data for the model.

Known are ``application/problem+json`` (RFC 9457), ``error`` and ``error_description`` of OAuth (RFC 6749), JSON:API and
GraphQL (``errors``), FastAPI (``detail`` as a list), Google (``error.message``), plain text, and the title of HTML.

Read ``Link: <…>; rel="next"`` (RFC 8288) of a response, and say which arguments return the next page.

The URL itself is never requested: a model calls the tool again, with arguments that are validated like all others.
"""

from __future__ import annotations

import base64
import contextlib
import json
import re
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urljoin, urlsplit

from toolfold import errors, messages
from toolfold.models import ParsedResponse
from toolfold.redaction import Redactor
from toolfold.results.preview import NEXT_PAGE, NOTE
from toolfold.sources.http_api.authentication import taken_names
from toolfold.sources.http_api.binding import bound_parameters
from toolfold.sources.http_api.body import comma_separated, is_json_type, json_lines
from toolfold.sources.http_api.faults import ResponseParser, find_notices
from toolfold.sources.http_api.styles import scalar_text
from toolfold.sources.http_api.transport_errors import status_error
from toolfold.text_safety import encodable, escape_unsafe
from toolfold.wording import joined

if TYPE_CHECKING:
    from toolfold.catalog.entries import Tool
    from toolfold.models import SourceCredentials, UpstreamResponse

MAX_VALUE_CHARS = 2_000
"""Of one argument: cursors are tokens of some hundred characters."""

_MAX_HEADER_CHARS = 16_000
_LINK = re.compile(
    r"<([^<>]{1,8000})>((?:\s*;\s*[\w!#$%&'*+.^`|~-]{1,40}\s*=\s*(?:\"[^\"]{0,200}\"|[^\s\",;]{1,200}))*)"
)
_REL = re.compile(r";\s*rel\s*=\s*(?:\"([^\"]*)\"|([^\s\",;]+))", re.IGNORECASE)


def next_link(header: str, url: str) -> str:
    """Return the URL of the next page; empty where a response has none on the host of its request.

    >>> next_link('</pets?page=3>; rel="next", </pets?page=9>; rel="last"', "https://a.test/pets?page=2")
    'https://a.test/pets?page=3'
    """
    for target, parameters in _LINK.findall(header[:_MAX_HEADER_CHARS]):
        relation = _REL.search(parameters)
        if relation is None or "next" not in (relation[1] or relation[2] or "").lower().split():
            continue
        try:
            absolute = urljoin(url, target.strip())
            return absolute if urlsplit(absolute)[:2] == urlsplit(url)[:2] else ""
        except ValueError:  # not a URL
            return ""
    return ""


def next_page_block(
    url: str,
    call: Mapping[str, Any],
    schema: Mapping[str, Any],
    arguments: Mapping[str, Any],
    taken: Collection[tuple[str, str]],
) -> dict[str, Any]:
    """Return the content block about the next page: the arguments that differ, and names that are no argument.

    It is cached with the answer, and :mod:`toolfold.results.preview` makes a note of it.

    >>> next_page_block("https://a.test/pets?p=3", {"path": "/pets"}, {"properties": {"p": {}}}, {"p": 2}, ())
    {'type': 'toolfold/next_page', 'arguments': {'p': '3'}, 'unknown': []}
    """
    known = {
        one.name: one.argument
        for one in bound_parameters(call, schema.get("properties", {}))
        if one.location == "query" and one.argument in schema.get("properties", {})
    }
    sent = {**call.get("sends", {}), **arguments}
    found: dict[str, str] = {}
    unknown: list[str] = []
    for name, value in parse_qsl(urlsplit(url).query):
        argument = known.get(name)
        if ("query", name) in taken:
            continue
        if argument is None:
            if name not in sent:
                unknown.append(name)
        elif scalar_text(sent.get(argument)) != value and isinstance(
            sent.get(argument), str | int | float | bool | None
        ):
            found[argument] = value
    is_usable = all(len(value) <= MAX_VALUE_CHARS and value.isprintable() for value in found.values())
    return {"type": NEXT_PAGE, "arguments": found if is_usable else {}, "unknown": unknown[:5]}


MAX_CHARS = 300
"""Characters of an error that are passed on: enough to act on, too few to fill a context."""

_MAX_READ = 200_000
"""Characters of an error response that are parsed."""

_MAX_ERRORS = 5
_TEXTS = ("title", "detail", "message", "msg", "error_description", "error", "description", "reason", "fault", "code",
          "value")  # fmt: skip
"""Members with a text, in the order in which they are shown."""

_LISTS = ("errors", "detail", "details", "violations", "invalid-params", "invalidParams")
_PLACES = ("loc", "field", "pointer", "name", "path", "parameter", "property")
"""Members of an entry of a list that say what it is about."""

_TAG = re.compile(r"<[^<>]{0,1000}>")
_TITLE = re.compile(r"<title[^>]{0,200}>([^<]{1,300})", re.IGNORECASE)
_SPACES = re.compile(r"\s+")


def said_by(text: str, media_type: str = "") -> str:
    """Return what an error response says in one line of up to :data:`MAX_CHARS`; empty where nothing can be read.

    >>> said_by('{"title": "Bad Request", "detail": "latitude is missing"}')
    'Bad Request: latitude is missing'
    >>> said_by('{"detail": [{"loc": ["query", "limit"], "msg": "must be a number"}]}')
    'query.limit: must be a number'
    """
    text = text.strip()
    if text[:1] in ("{", "["):
        try:
            data = json.loads(text[:_MAX_READ])
            found = "; ".join(dict.fromkeys(_sayings(data))) or (text if data else "")
        except (ValueError, RecursionError):
            found = ""
    elif text[:1] == "<" or "html" in media_type:
        is_page = "html" in media_type or _PAGE.match(text)
        title = _TITLE.search(text[:_MAX_READ])
        found = (title[1] if title else "") if is_page else _TAG.sub(" ", text[: 10 * MAX_CHARS])
    else:
        found = text[: 2 * MAX_CHARS]
    return escape_unsafe(encodable(_SPACES.sub(" ", found).strip()[:MAX_CHARS]))


def _sayings(data: Any, depth: int = 0) -> Iterator[str]:
    """Yield what ``data`` says: its own texts as one saying, then one for each entry of its lists."""
    if isinstance(data, str):
        yield data
    elif isinstance(data, list) and depth < 3:
        for entry in data[:_MAX_ERRORS]:
            yield from _sayings(entry, depth + 1)
    elif isinstance(data, dict) and depth < 3:
        place = next((_place(data[key]) for key in _PLACES if key in data), "") if depth else ""
        said = _own_texts(data)
        if said:
            yield f"{place}: {said}" if place and place not in said else said
        for key in ("error", "message", *_LISTS):
            if isinstance(data.get(key), dict | list):
                yield from _members(data[key], depth)


def _members(value: Any, depth: int) -> Iterator[str]:
    """Yield the sayings of a list, or of an object of lists: ``{"limit": ["must be a number"]}``."""
    if isinstance(value, dict) and value and all(isinstance(one, list) for one in value.values()):
        for name, texts in list(value.items())[:_MAX_ERRORS]:
            yield f"{name}: {' '.join(str(text) for text in texts[:_MAX_ERRORS] if isinstance(text, str))}"
    else:
        yield from _sayings(value, depth + 1)


def _own_texts(data: Mapping[str, Any]) -> str:
    texts = [
        str(data[key]) for key in _TEXTS if isinstance(data.get(key), str | int) and data[key] not in ("", True, False)
    ]
    shown: list[str] = []
    for text in texts:
        if len(shown) < 2 and not any(text in other for other in shown):
            shown.append(text)
    return ": ".join(shown)


def _place(value: Any) -> str:
    if isinstance(value, list):
        return ".".join(str(part) for part in value if isinstance(part, str | int))
    return value if isinstance(value, str) else ""


MAX_BLOCK_BYTES = 3_000_000
"""Bytes of an image or a sound. In base64 it has a third more, and a response of AWS Lambda at most 6 MB."""

_LINES = ("ndjson", "jsonl", "jsonlines", "json-seq")
_CSV = ("text/csv", "application/csv", "text/x-csv", "text/comma-separated-values", "text/tab-separated-values",
        "application/vnd.ms-excel")  # fmt: skip
_GUARD = re.compile(r"(?:\)\]\}'?,?|while ?\(1\);|for ?\(;;\);)\s*")
"""What some services put before JSON, so that no page can run it as a script."""

_PAGE = re.compile(r"(?:<!--.{0,2000}?-->\s*)?<(?:!doctype html|html)\b", re.IGNORECASE | re.DOTALL)
_OF_ERRORS = frozenset(
    {
        *("code", "data", "detail", "details", "error", "error_code", "error_description", "error_message", "errors"),
        *("message", "msg", "ok", "path", "reason", "requestId", "request_id", "status", "statusCode", "status_code"),
        *("success", "timestamp", "title", "type"),
    }
)
"""Members of an answer that is nothing but an error: with a further one it is data."""
_ARGUMENTS_REFUSED = frozenset({400, 413, 414, 422})
_NOT_THERE = frozenset({404, 410})
_CHECK_ARGUMENTS = "Correct the arguments by the schema and call again."
"""The next step after a call that writes and whose outcome is not known."""
_PROVISIONAL = {
    202: "may have no data yet (HTTP status 202): call again in a moment.",
    206: "sent a part of the data (HTTP status 206).",
}
"""Statuses of success with which a read has not returned all data → what its answer then says of the service."""
_PERHAPS_DONE = frozenset({301, 302, 303})
"""Redirects that follow a request which was processed, or may have been; 307 and 308 ask to send it elsewhere."""


class BoundParser(ResponseParser):
    """Interpret the responses of one source whose tools have an HTTP binding."""

    def parse(
        self, tool: Tool, arguments: Mapping[str, Any], response: UpstreamResponse, credentials: SourceCredentials
    ) -> ParsedResponse:
        """Return the data in ``response``. See :meth:`ResponseParser.parse`."""
        if not 200 <= response.status < 300:
            raise self._status_error(tool, arguments, response, credentials)
        try:
            parsed = self._content(tool, arguments, response, credentials)
            if tool.effect == "read" and response.status in _PROVISIONAL:
                note = {"type": NOTE, "text": f"{self.source.title} {_PROVISIONAL[response.status]}"}
                parsed = _with_block(parsed, note)._replace(is_final=False)  # not cached
            if response.next_url:
                taken = taken_names(self.source.auth)
                block = next_page_block(response.next_url, tool.call, tool.parameters, arguments, taken)
                parsed = _with_block(parsed, block)
            return parsed
        except errors.UpstreamError as error:
            if tool.effect == "read":
                raise
            told = {"status": response.status, "content": None, "problem": error.message}
            return ParsedResponse("json", json.dumps({**told, **_said(response, credentials)}))

    def _content(
        self, tool: Tool, arguments: Mapping[str, Any], response: UpstreamResponse, credentials: SourceCredentials
    ) -> ParsedResponse:
        media_type, text = response.media_type, response.body.strip()
        if response.content:
            return self._binary(media_type, response.content)
        if not text:
            where = {"location": response.location} if response.location else {}
            return ParsedResponse("json", json.dumps({"status": response.status, "content": None, **where}))
        text = _GUARD.sub("", text, count=1)
        is_lines, is_page = any(media_type.endswith(name) for name in _LINES), _PAGE.match(text)
        is_json, form = is_json_type(media_type) and not is_page, tool.call.get("response")
        # Many services send JSON as HTML, text or bytes: what begins like it, and can be read, is JSON.
        may_be_json = media_type in ("", "text/plain") or (media_type not in _CSV and form is None)
        if is_lines or is_json or (text[:1] in ("{", "[") and may_be_json):
            return self._json(tool, arguments, text, response, credentials, is_json=is_json)
        if form == "text":
            return ParsedResponse("text", text)
        if "html" in media_type or is_page:
            raise self._page_error(response, credentials)
        is_csv = media_type in _CSV or form == "csv"
        table = comma_separated(text) if is_csv else None
        return ParsedResponse("text", text) if table is None else ParsedResponse("csv", table)

    def _json(
        self,
        tool: Tool,
        arguments: Mapping[str, Any],
        text: str,
        response: UpstreamResponse,
        credentials: SourceCredentials,
        *,
        is_json: bool,
    ) -> ParsedResponse:
        """Read JSON, or lines that each are JSON; other text is text, unless the service says that it is JSON."""
        try:
            data = self._load_json(text)
        except errors.UpstreamError:
            with contextlib.suppress(ValueError, RecursionError):
                return ParsedResponse("json", json_lines(text))
            if is_json:
                raise
            if "html" in response.media_type:
                raise self._page_error(response, credentials) from None
            return ParsedResponse("text", text)
        is_failure = _is_failure(data) or response.media_type == "application/problem+json"
        if tool.effect == "read" and is_failure:
            raise errors.UpstreamError(
                f"{self.source.title} reports an error, with a status of success.",
                messages.READ_NOTICE,
                **_said(response, credentials),
            )
        if self.source.faults or self.source.unknown_notice:
            notices = find_notices(data, self._notice_names)
            self._raise_fault(notices, text, arguments)
            self._raise_notice(notices, credentials.api_key)
        return ParsedResponse("json", text)

    def _page_error(self, response: UpstreamResponse, credentials: SourceCredentials) -> errors.UpstreamError:
        problem = f"{self.source.title} sent an HTML page instead of data."
        return errors.UpstreamError(problem, messages.PAGE_FOR_PEOPLE, **_said(response, credentials))

    def _binary(self, media_type: str, content: bytes) -> ParsedResponse:
        kind = media_type.partition("/")[0]
        if kind not in ("image", "audio"):
            raise errors.UpstreamError(
                f"{self.source.title} sent {media_type or 'data'} of {len(content):,} bytes, which is not text.",
                "Choose arguments with which the tool returns JSON, CSV, text or an image, if it has them.",
            )
        if len(content) > MAX_BLOCK_BYTES:
            raise errors.AnswerTooLarge(
                f"{self.source.title} sent {media_type} of {len(content):,} bytes; {MAX_BLOCK_BYTES:,} are allowed.",
                "Ask for a smaller one, if the tool has an argument for it.",
            )
        block = {"type": kind, "data": base64.b64encode(content).decode(), "mimeType": media_type}
        described = json.dumps({"content_type": media_type, "bytes": len(content)})
        return ParsedResponse("json", described, blocks=json.dumps([block]))

    def _status_error(
        self, tool: Tool, arguments: Mapping[str, Any], response: UpstreamResponse, credentials: SourceCredentials
    ) -> errors.CallError:
        status, title, said = response.status, self.source.title, _said(response, credentials)
        if response.location:
            may_be_done = tool.effect != "read" and status in _PERHAPS_DONE
            correct = messages.CHECK_ADDRESS.filled(setting="base_url or path")
            problem = f"{title} redirects to {response.location}, which is not followed."
            return errors.UpstreamError(problem, joined(messages.CHECK_WRITE, correct) if may_be_done else correct)
        if status in _ARGUMENTS_REFUSED:
            return errors.InvalidArguments(
                f"{title} refuses the arguments (HTTP status {status}).",
                messages.READ_NOTICE if said else _CHECK_ARGUMENTS,
                **said,
            )
        if status in _NOT_THERE and arguments:
            step = messages.READ_NOTICE if said else self.source.no_data
            return errors.NoData(f"{title} has nothing for these arguments (HTTP status {status}).", step, **said)
        if status == 403 and response.retry_after_s is not None:
            return errors.RateLimited(
                f"{title} is limiting calls.", messages.WAIT, retry_after_s=max(1, response.retry_after_s)
            )
        if status in (401, 403) and self.source.auth is None:
            return errors.AuthRequired(
                f"{title} wants credentials (HTTP status {status}), and its source.yaml names none.",
                messages.NAME_AUTH,
                **said,
            )
        if status == 403:
            return errors.AuthRejected(
                f"{title} does not allow this call (HTTP status 403): the key may lack a permission.",
                messages.CHECK_KEY,
                **said,
            )
        step = messages.CHECK_URL if status == 404 else messages.UNEXPECTED
        error = status_error(title, status, response.retry_after_s, step)
        if tool.effect != "read" and status >= 500:
            return type(error)(error.problem, messages.CHECK_WRITE, **said)  # not one that may be repeated
        is_notice = said and 400 <= status < 500 and status not in (401, 429)
        return error.changed(next_step=messages.READ_NOTICE if is_notice else None, **said)


def _with_block(parsed: ParsedResponse, block: Mapping[str, Any]) -> ParsedResponse:
    blocks = json.loads(parsed.blocks) if parsed.blocks else []
    return parsed._replace(blocks=json.dumps([*blocks, block]))


def _is_failure(data: Any) -> bool:
    """Return whether an answer with a status of success says nothing but that the call failed.

    >>> _is_failure({"ok": False, "error": "channel_not_found"}), _is_failure({"errors": 2, "rows": []})
    (True, False)
    """
    if not isinstance(data, dict) or data.get("data"):
        return False
    if not {name for name, value in data.items() if value not in (None, "", [], {})} <= _OF_ERRORS:
        return False
    given = [value for value in (data.get("error"), data.get("errors")) if value]
    has_error = any(value is True or isinstance(value, str | list | dict) for value in given)
    is_refused = data.get("ok") is False or data.get("success") is False
    return has_error or is_refused or data.get("status") in ("error", "fail", "failed", "ERROR")


def _said(response: UpstreamResponse, credentials: SourceCredentials) -> dict[str, str]:
    """Return ``upstream_says`` where the response says something."""
    # Before it is shortened: a key that is cut is still most of the key.
    said = said_by(Redactor((credentials.api_key,)).redact_text(response.body[:100_000]), response.media_type)
    return {"upstream_says": said} if said else {}
