"""Find what a response says instead of data: notices to a user, and errors.

The texts that mean failure are data of the source (``faults`` in its ``source.yaml``), tried in the order given there.
They are looked for in notices: texts under one of the source's keys, ``{"Information": "…"}``. The same notice also
comes in a list or an object (``{"Information": ["…"]}``), in an array, or in an object that has nothing else
(``{"data": {"Note": "…"}}``).

A text of a fault is a phrase, in which ``*`` is any text. No expressions: a catalog may have any, and some take hours.

What an error response says becomes at most a line, as data for the model.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from typing import Any

from toolfold.errors import CALL_ERRORS
from toolfold.fuzzy import normalize
from toolfold.messages import OF_SOURCE
from toolfold.redaction import Redactor
from toolfold.text_safety import encodable, escape_unsafe

_MAX_MEMBERS = 3
"""Members of an object or array that may be an envelope."""

_MAX_DEPTH, _MAX_TEXTS = 3, 20


def find_notices(data: Any, names: Collection[str]) -> dict[str, list[str]]:
    """Return the texts of the notices in ``data``: name → texts."""
    found: dict[str, list[str]] = {}
    spelled = {name.lower(): name for name in names}
    for level, part in _envelopes(data, 0):
        if isinstance(part, dict) and (level == 0 or all(key.strip().lower() in spelled for key in part)):
            for key, value in part.items():
                if name := spelled.get(key.strip().lower()):
                    found.setdefault(name, []).extend(_texts(value))
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


MAX_MATCHED_CHARS = 2000
"""Characters of a text in which a phrase is searched for."""

_MIN_REPEATED_CHARS = 8
"""Characters of a phrase from which on it is compared with the arguments: a shorter one may occur in both."""


def raise_fault(
    faults: Iterable[Mapping[str, Any]], notices: Mapping[str, list[str]], body: str, arguments: Mapping[str, Any]
) -> None:
    """Raise the error that the first of ``faults`` in a response means.

    A fault without keys is recognised by the beginning of the body: made-up rows, for one.
    """
    for fault in faults:
        keys = fault["keys"]
        texts = [text for name in keys for text in notices.get(name, ())] if keys else [body]
        if [text for text in texts if _matches(fault["match"], text[:MAX_MATCHED_CHARS], arguments)]:
            wait_s, wait = fault.get("retry_after_s"), {}
            if wait_s is not None:
                # Of the limits in a notice the one that the wait is for: 25 per day.
                unit = "second" if wait_s < 60 else "minute" if wait_s < 3600 else "day"
                limit = rf"(\d{{1,6}}) (?:API )?(?:requests?|calls?) per {unit}"
                named = re.search(limit, body[:MAX_MATCHED_CHARS])
                wait = {"retry_after_s": wait_s, **({"limit": f"{named[1]} per {unit}"} if named else {})}
            raise CALL_ERRORS[fault["code"]](fault["message"], OF_SOURCE.filled(advice=fault["suggestion"]), **wait)


def _matches(phrase: str, text: str, arguments: Mapping[str, Any]) -> bool:
    """Return whether ``text`` has ``phrase``, and not all of its words only because the caller's arguments have them.

    Otherwise a caller could write the upstream's refusals, and stop all calls with the key of the deployment.
    """
    end, parts = 0, [part for part in phrase.split("*") if part]
    for part in parts:
        if (place := text.find(part, end)) < 0:
            return False
        end = place + len(part)
    if sum(map(len, parts)) < _MIN_REPEATED_CHARS:
        return bool(text)
    given = json.dumps(arguments, ensure_ascii=False)
    return not all(Redactor((part,)).appears_in(given) for part in parts)


MAX_NOTICE_CHARS, MAX_SAID_CHARS = 300, 500
"""Characters of a notice and of an error, which may be JSON: enough to act on, too few to fill a context."""

_MAX_READ = 200_000
"""Characters of an error response that are parsed."""

_WRAPPERS = frozenset({"detail", "error", "message"})
"""Names of a member that is all that an error response has."""

PAGE = re.compile(r"(?:<!--.{0,2000}?-->\s*)?<(?:!doctype html|html)\b", re.IGNORECASE | re.DOTALL)
_TAG = re.compile(r"<[^<>]{0,1000}>")
_TITLE = re.compile(r"<title[^>]{0,200}>([^<]{1,300})", re.IGNORECASE)
_SPACES = re.compile(r"\s+")


def said_by(text: str, media_type: str = "") -> str:
    r"""Return what an error response says in one line of up to :data:`MAX_SAID_CHARS`; empty where it says nothing.

    JSON is passed on as it is: services have many forms of it, and a model reads them all.

    >>> said_by('{"title": "Bad Request",\n "detail": "latitude is missing"}'), said_by('{"detail": "no such pet"}')
    ('{"title": "Bad Request", "detail": "latitude is missing"}', 'no such pet')
    >>> said_by("<html><title>502 Bad Gateway</title>")
    '502 Bad Gateway'
    """
    found = text.strip()[:_MAX_READ]
    if found[:1] in ("{", "["):
        with suppress(ValueError, RecursionError):  # broken JSON is shown as it is
            data = json.loads(found)
            while isinstance(data, dict) and len(data) == 1 and not _WRAPPERS.isdisjoint(data):
                (data,) = data.values()
            found = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False) if data else ""
    elif "html" in media_type or PAGE.match(found):
        title = _TITLE.search(found)
        found = title[1] if title else ""
    elif found[:1] == "<":
        found = _TAG.sub(" ", found[: 10 * MAX_SAID_CHARS])
    found = _SPACES.sub(" ", found[: 10 * MAX_SAID_CHARS]).strip()
    return escape_unsafe(encodable(found[:MAX_SAID_CHARS]))


_OF_ERRORS = frozenset(
    ("cod", "code", "data", "detail", "details", "error", "errorcode", "errordescription", "errormessage", "errors",
     "errortype", "fault", "message", "msg", "ok", "path", "reason", "requestid", "response", "result", "stat",
     "status", "statuscode", "success", "timestamp", "title", "type")
)  # fmt: skip
"""Members of an answer that is nothing but an error: with a further one it is data."""

_FAILED = ("error", "fail", "failed", "ERROR")
_ONLY_A_CODE = frozenset(("cod", "code", "data", "message", "requestid", "status", "statuscode"))


def _is_only_a_code(given: Mapping[str, Any]) -> bool:
    return isinstance(given.get("message"), str) and given.keys() <= _ONLY_A_CODE


def _is_code(value: Any) -> bool:
    return re.fullmatch(r"[45]\d\d", str(value)) is not None


_SIGNS: tuple[tuple[tuple[str, ...], Callable[[Any], bool], Callable[[Mapping[str, Any]], bool]], ...] = (
    (("error", "errors"), lambda value: value is True or isinstance(value, str | list | dict), bool),
    (("fault",), lambda value: isinstance(value, dict) and not {"faultstring", "message"}.isdisjoint(value), bool),
    (("ok", "success"), lambda value: str(value).lower() == "false", bool),
    (("status",), _FAILED.__contains__, bool),
    (("stat", "result"), _FAILED.__contains__, lambda given: "message" in given or "errortype" in given),
    (("code", "status", "statuscode"), lambda value: type(value) is int and _is_code(value), _is_only_a_code),
    (("cod",), _is_code, _is_only_a_code),
)
"""Members, whether their value means failure, and whether it does so in this answer (``bool``: in every one)."""


def is_failure(data: Any) -> bool:
    """Return whether an answer with a status of success says nothing but that the call failed.

    >>> is_failure({"ok": False, "error": "channel_not_found"}), is_failure({"errors": 2, "rows": []})
    (True, False)
    """
    if not isinstance(data, dict) or len(data) > 2 * len(_OF_ERRORS):
        return False
    given = {normalize(name): value for name, value in data.items() if value not in (None, "", [], {})}
    has_result = given.get("result") not in (None, *_FAILED) or given.get("response") not in (None, False, "False")
    if has_result or given.get("data") or not given.keys() <= _OF_ERRORS:
        return False
    return any(
        means_failure(given[name]) and applies(given)
        for names, means_failure, applies in _SIGNS
        for name in names
        if name in given
    )
