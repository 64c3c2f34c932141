"""Interpret an upstream's response: data, or one of the failures that are disguised as data.

The texts that mean failure are data of the source (``faults`` in its ``source.yaml``), tried in the order given there.
What does not depend on wording is here: HTTP errors, empty responses, responses that are neither JSON nor CSV.

Find the notices to a user in a response: texts under keys of a source, in the envelopes in which they are sent.

A notice is a text under one of the source's keys: ``{"Information": "…"}``. The same notice also comes in a list or an
object (``{"Information": ["…"]}``), in an array, or in an object that has nothing else (``{"data": {"Note": "…"}}``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

from toolfold.catalog.bounded_pattern import check_patterns
from toolfold.catalog.reader import damaged
from toolfold.errors import CALL_ERRORS, NoData, UpstreamError
from toolfold.messages import CHECK_URL, OF_SOURCE, READ_NOTICE, TRY_AGAIN, UNEXPECTED
from toolfold.models import ParsedResponse
from toolfold.redaction import Redactor
from toolfold.results.parsing import require_parsable_json
from toolfold.sources.base import ConnectionFailed
from toolfold.sources.http_api.transport_errors import status_error
from toolfold.text_safety import encodable

if TYPE_CHECKING:
    from toolfold.catalog.entries import Source, Tool
    from toolfold.models import SourceCredentials, UpstreamResponse

MAX_CHARS = 2000
"""Characters of a text in which a fault is recognised. Expressions of a catalog may take quadratic time."""

_MAX_MEMBERS = 3
"""Members of an object or array that may be an envelope."""

_MAX_SPELLED = 10
"""Members of an object whose names are compared regardless of letter case."""

_MAX_DEPTH, _MAX_TEXTS = 3, 20


def find_notices(data: Any, names: Collection[str]) -> dict[str, list[str]]:
    """Return the texts of the notices in ``data``: name → texts."""
    found: dict[str, list[str]] = {}
    spelled = {name.lower(): name for name in names}
    for level, part in _envelopes(data, 0):
        if isinstance(part, dict) and (level == 0 or all(key.strip().lower() in spelled for key in part)):
            for key in part if len(part) <= _MAX_SPELLED else [name for name in names if name in part]:
                if name := spelled.get(key.strip().lower()):
                    found.setdefault(name, []).extend(_texts(part[key]))
    return found


def _envelopes(data: Any, level: int) -> Iterator[tuple[int, Any]]:
    """Yield ``data`` and what may be an envelope in it, with the number of levels around it."""
    yield level, data
    if level < _MAX_DEPTH and isinstance(data, dict | list) and len(data) <= _MAX_MEMBERS:
        for inner in data.values() if isinstance(data, dict) else data:
            if isinstance(inner, dict | list):
                yield from _envelopes(inner, level + 1)


def _texts(value: Any, depth: int = 0) -> list[str]:
    if isinstance(value, str):
        return [value]
    if depth > _MAX_DEPTH or not isinstance(value, dict | list):
        return []
    found: list[str] = []
    for inner in islice(value.values() if isinstance(value, dict) else value, _MAX_TEXTS):
        found += _texts(inner, depth + 1)
    return found[:_MAX_TEXTS]


_MAX_NOTICE_CHARS = 300
"""Characters of an unknown notice that are passed on: enough to act on, too few to fill a context."""

_KEY_IN_NOTICE = re.compile(r"(?i)(api ?key(?: as| is|:|=)?\s+)[\w-]{8,}")
"""An API key as notices quote it: "We have detected your API key as …"."""

_PLACEHOLDER = re.compile(r"\{(\w+)\}")
"""An argument in the path of rows."""

_MIN_REPEATED_CHARS = 8
"""Characters of a fault's text from which on it is compared with the arguments: a shorter one may occur in both."""

_MAX_PARSED_CHARS = 1_000_000
"""Characters of JSON above which only the members before its rows are parsed. The whole takes ten times its size in
memory; it is parsed in its turn, when the answer is made of it. Notices are short, or come before rows."""

_SCALAR_MEMBER = re.compile(r'\s*+("(?:[^"\\]|\\.)*+")\s*+:\s*+("(?:[^"\\]|\\.)*+"|[-+.\w]++)\s*+[,}]')
"""A member of an object whose value is neither an array nor an object, with what is after it."""

_MAX_HEADER_CHARS = 20_000
"""Of CSV: over a thousand columns."""


class ResponseParser:
    """Interpret the responses of one source. A source with habits of its own extends it."""

    def __init__(self, source: Source) -> None:
        self.source = source
        try:
            check_patterns(fault["match"] for fault in source.faults)
        except ValueError as error:
            raise damaged(f"a fault of {source.id} {error}") from None
        self._notice_names = {*source.unknown_notice, *(name for fault in source.faults for name in fault["keys"])}

    def parse(
        self, tool: Tool, arguments: Mapping[str, Any], response: UpstreamResponse, credentials: SourceCredentials
    ) -> ParsedResponse:
        """Return the data in ``response``: the upstream's own text, as sent but for what comes before the data."""
        if response.status != 200:
            step = CHECK_URL if response.status == 404 else UNEXPECTED
            raise status_error(self.source.title, response.status, response.retry_after_s, step)
        # Bytes that are not UTF-8 become U+FFFD: one bad letter in a company's name must not cost the whole response,
        # and the replacement shows.
        sent = response.body or response.content.decode("utf-8", errors="replace")
        text = sent.removeprefix("\ufeff").lstrip()
        body = text.rstrip()
        if not body:
            raise ConnectionFailed(f"{self.source.title} sent an empty answer.", TRY_AGAIN, retryable=True)
        if body[0] in "{[":
            beginning = _first_scalars(body) if len(body) > _MAX_PARSED_CHARS else None
            data = self._load_json(body) if beginning is None else beginning
            notices = find_notices(data, self._notice_names)
            self._raise_fault(notices, body, arguments)
            self._raise_notice(notices, credentials.api_key)
            if beginning is not None:
                keys = (_with_arguments(path, arguments).partition(".")[0] for path in tool.answer["rows"] if path)
                return ParsedResponse("json", text, any(f'"{key}"' in body[:_MAX_HEADER_CHARS] for key in keys))
            return ParsedResponse("json", text, self._find_rows(tool, arguments, data))
        header = body[:_MAX_HEADER_CHARS].partition("\n")[0].strip()
        is_known = _has_known_columns(tool, header)
        if not is_known:
            self._raise_fault({key: [body] for key in self.source.unknown_notice}, body, arguments)
        if not _is_csv(tool, arguments.get(self.source.format_parameter), header):
            raise UpstreamError(
                f"{self.source.title} sent something that is neither JSON nor CSV.", TRY_AGAIN, retryable=True
            )
        if "\n" not in body:
            raise self._no_data()
        self._raise_fault({}, body, arguments)
        last = body.rpartition("\n")[2]
        # JSON that was cut off does not parse; the last line of CSV has too few cells.
        if '"' not in last and last.count(",") < header.count(","):
            raise ConnectionFailed(f"{self.source.title} broke off its answer.", TRY_AGAIN, retryable=True)
        return ParsedResponse("csv", text, is_known)

    def _load_json(self, body: str) -> Any:
        require_parsable_json(body)
        try:
            return json.loads(body)
        # RecursionError: nested too deeply; ValueError: broken JSON, or an integer of thousands of digits.
        except (ValueError, RecursionError):
            raise UpstreamError(f"{self.source.title} sent broken JSON.", TRY_AGAIN, retryable=True) from None

    def _raise_fault(self, notices: Mapping[str, list[str]], body: str, arguments: Mapping[str, Any]) -> None:
        for fault in self.source.faults:
            # A fault without keys is recognised by the beginning of the body: made-up rows, for one.
            keys = fault["keys"]
            texts = [text for name in keys for text in notices.get(name, ())] if keys else [body]
            if any(_matches(fault["match"], text[:MAX_CHARS], arguments) for text in texts):
                details = _wait(fault, body[:MAX_CHARS])
                step = OF_SOURCE.filled(advice=fault["suggestion"])
                raise CALL_ERRORS[fault["code"]](fault["message"], step, **details)

    def _raise_notice(self, notices: Mapping[str, list[str]], api_key: str) -> None:
        for name in self.source.unknown_notice:
            for text in notices.get(name, ()):
                said = Redactor((api_key,)).redact_text(text)  # a key that is cut is still most of the key
                raise UpstreamError(
                    f"{self.source.title} sent a notice instead of data.",
                    READ_NOTICE,
                    upstream_says=encodable(_KEY_IN_NOTICE.sub(r"\1[key]", said)[:_MAX_NOTICE_CHARS]),
                )

    def _find_rows(self, tool: Tool, arguments: Mapping[str, Any], data: Any) -> bool:
        """Return whether ``data`` has rows where the catalog says that those of the tool are."""
        if not data or (isinstance(data, dict) and all(value in ([], {}) for value in data.values())):
            raise self._no_data()
        paths = [path for path in tool.answer["rows"] if path]
        rows = [_value_at(data, _with_arguments(path, arguments)) for path in paths]
        if rows and all(found is not None and not found for found in rows):
            raise self._no_data()
        return any(rows)

    def _no_data(self) -> NoData:
        return NoData(f"{self.source.title} has no data for these arguments.", self.source.no_data)


def _wait(fault: Mapping[str, Any], body: str) -> dict[str, Any]:
    """Return how long to wait and, of the limits in a notice, the one that the wait is for: ``25 per day``."""
    wait_s = fault.get("retry_after_s")
    if wait_s is None:
        return {}
    unit = "second" if wait_s < 60 else "minute" if wait_s < 3600 else "day"
    named = re.search(rf"(\d{{1,6}}) (?:API )?(?:requests?|calls?) per {unit}", body)
    return {"retry_after_s": wait_s, **({"limit": f"{named[1]} per {unit}"} if named else {})}


def _first_scalars(body: str) -> dict[str, Any] | None:
    """Return the members of a JSON object before its first array or object; None where the whole must be parsed.

    That is where the brackets are not in pairs: the text may have been cut off.
    """
    if body[-1] != {"{": "}", "[": "]"}[body[0]] or any(body.count(a) != body.count(b) for a, b in ("{}", "[]")):
        return None
    found: dict[str, Any] = {}
    end = 1
    while (member := _SCALAR_MEMBER.match(body, end)) is not None:
        try:
            found[json.loads(member[1])] = json.loads(member[2])
        except ValueError:
            return None
        end = member.end()
    return found


def _with_arguments(path: str, arguments: Mapping[str, Any]) -> str:
    """Return ``path`` with ``{name}`` replaced by the argument of that name. A name without argument stays.

    Not ``str.format``: a path of a catalog could name attributes of the arguments, or a width of gigabytes.
    """
    return _PLACEHOLDER.sub(lambda found: str(arguments.get(found[1], found[0])), path)


def _value_at(data: Any, path: str) -> Any:
    for key in path.split("."):
        data = data.get(key) if isinstance(data, dict) else None
    return data


def _matches(expression: str, text: str, arguments: Mapping[str, Any]) -> bool:
    """Return whether ``text`` matches, other than in what it repeats of the caller's arguments.

    Otherwise a caller could write the upstream's refusals, and stop all calls with the key of the deployment.
    """
    given = ""
    for found in re.finditer(expression, text):
        given = given or json.dumps(arguments, ensure_ascii=False)
        if len(found[0]) < _MIN_REPEATED_CHARS or not Redactor((found[0],)).appears_in(given):
            return True
    return False


def _has_known_columns(tool: Tool, header: str) -> bool:
    """Return whether a first line starts like the known header or, since columns are renamed at times, shares half."""
    known: str | None = tool.answer["csv"]
    if known is None:
        return False
    names, expected = header.split(","), known.split(",")
    return names[0] == expected[0] or 2 * len(set(names) & set(expected)) >= len(expected)


def _is_csv(tool: Tool, format_requested: Any, header: str) -> bool:
    """Return whether a body with this first line can be the CSV that was requested."""
    if "csv" not in tool.formats or format_requested == "json":
        return False
    return _has_known_columns(tool, header) if tool.answer["csv"] is not None else "<" not in header and "," in header
