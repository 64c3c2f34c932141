"""Check the head of a compiled catalog, and the texts of a catalog that a model reads.

A catalog may come from a bucket or a file that others can write, with hashes that fit. Everything in its head is
checked when it is opened: types, ranges, names, texts and URLs. What a valid head may make this process do is decided
by ``catalog.allow_list``. The tools are checked when they are read, by ``catalog.tool_checks``.

The first response waits for these checks, which is why they use methods of ``str`` where an expression would have to be
compiled.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

FAULT_CODES = frozenset(
    {"AUTH_REJECTED", "INVALID_ARGUMENTS", "NO_DATA", "PREMIUM_ONLY", "RATE_LIMITED", "UPSTREAM_ERROR"}
)
"""Codes that a text of an upstream may mean. The others say something about toolfold or about the request."""

MAX_TEXT = 20_000
"""Characters of a text that a model reads: several times the longest description of a large OpenAPI document."""

MAX_SUMMARY = 500
ACCESS = ("free", "premium", "mixed")

_MAX_LABEL, _MAX_PARAGRAPH, _MAX_NAME = 200, 2000, 64
_MAX_SOURCES, _MAX_CATEGORIES, _MAX_FAULTS, _MAX_COUNTED = 1000, 10_000, 200, 100_000
_MAX_PROFILES, _MAX_COMMON = 101, 100
_MIN_TOOL_BYTES = 40
"""Bytes that each tool takes at least, of its three lines. It bounds the number of tools by the size of the catalog."""

_MAX_MEASURE = 1000.0
_MAX_SECONDS = 10 * 366 * 86400
_MAX_TOKENS = 10**10
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
_DEFAULT_PORTS = {"https": "443", "http": "80"}
_MAX_PORT_DIGITS, _MAX_URL = 5, 2000
_HOST_NAME = frozenset("abcdefghijklmnopqrstuvwxyz0123456789.-")
_TOOL_NAME = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-")
_IPV6 = frozenset("abcdef0123456789:")
_REFUSED = frozenset(" @#\\")
"""A user name in a URL is not shown as one by every program, and some parsers take a backslash for a slash."""

_WEB_SCHEMES = ("http", "ftp", "file", "ws")
"""Schemes of URLs that are not encrypted, or that read this machine."""

_FORMS = {"names", "values", "pairs", "pair_names", "tickers"}
_PLACES = ("query_key", "header", "cookie", "bearer", "basic", "oauth2")
"""Keys of ``auth`` that say where the key goes; a source has one of them, or none."""

_AUTH = {"environment", "caller_key", "signup_url", "prefix", *_PLACES}
_OAUTH2 = {"token_url", "scopes", "audience", "resource", "client_authentication"}
_TOKEN = frozenset("!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
"""Characters of the name of a header or a cookie: RFC 9110, section 5.6.2."""


def check_head(head: Mapping[str, Any]) -> None:
    """Check the values of a head whose top-level keys have the right types.

    Raises:
        ValueError: A value is not one that the compiler writes; ``str()`` names it.
        TypeError: A value has another type.
        LookupError: A key is missing.
        AttributeError: A value is not an object.
    """
    count = head["count"]
    _require(_is_integer(count, 0, head.get("bytes", count * _MIN_TOOL_BYTES) // _MIN_TOOL_BYTES), "count")
    _require(_is_integer(head.get("definition_tokens", 0), 0, _MAX_TOKENS), "definition_tokens")
    sources, categories = head["sources"], head["categories"]
    _require(len(sources) <= _MAX_SOURCES and len(categories) <= _MAX_CATEGORIES, "number of sources")
    for source_id, entry in sources.items():
        _require(is_name(source_id), "id of a source")
        _check_source(entry)
    for category in categories:
        _require(category["source"] in sources and _is_integer(category["tools"], 0, count), "category")
        _check_texts("category", (category["name"], category["title"]), _MAX_LABEL)
        _check_texts("category", (category["description"],), _MAX_PARAGRAPH)
    for field in ("tags", "access", "effect", "source"):
        counted = head["counts"][field]
        _require(len(counted) <= _MAX_COUNTED, f"counts of {field}")
        # One text, because a large catalog has thousands of tags.
        _check_texts(f"counts of {field}", (" ".join(counted),), _MAX_COUNTED * _MAX_NAME)
        _require(all(_is_integer(number, 0, count) for number in counted.values()), f"counts of {field}")
    _require(_is_integer(head.get("confirmed", 0), 0, count), "confirmed")
    _require(_is_integer(head.get("skills", 0), 0, count), "skills")
    _require(_is_integer(head.get("related", 0), 0, count), "related")
    _require(_is_measure(head.get("semantic_share", 0.0)), "semantic_share")
    common = head.get("common", [])
    _require(
        isinstance(common, list) and len(common) <= _MAX_COMMON and all(_is_integer(at, 0, count) for at, _ in common),
        "common",
    )
    _check_texts("common", [signature for _, signature in common], _MAX_LABEL)
    profiles = head.get("profiles", [])
    _require(isinstance(profiles, list) and len(profiles) <= _MAX_PROFILES, "profiles")
    _require(all(map(is_tool_name, profiles)), "profiles")


def _is_measure(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) <= _MAX_MEASURE


def _check_source(entry: Mapping[str, Any]) -> None:
    _check_texts("title of a source", (entry["title"],), _MAX_LABEL)
    _check_texts("text of a source", (entry["description"], entry["no_data"]), _MAX_PARAGRAPH)
    _check_texts("text of a source", (entry.get("version", ""), entry.get("fetched_at", "")), _MAX_LABEL)
    _check_texts("instructions of a source", (entry.get("instructions", ""),), _MAX_PARAGRAPH)
    connection = entry.get("connection", {})
    _require(isinstance(connection, dict) and len(repr(connection)) <= MAX_TEXT, "connection")
    for limit in ("timeout_s", "max_response_bytes"):
        _require(limit not in connection or _is_positive(connection[limit]), f"connection.{limit}")
    fit = entry.get("fit", {})
    _require(fit == {} or (fit.keys() == {"nothing", "sure"} and all(map(_is_measure, fit.values()))), "fit")
    _require(is_name(entry["kind"]), "kind")
    _require(isinstance(entry["base_url"], str) and len(entry["base_url"]) <= _MAX_URL, "base_url")
    _require(_is_key(entry["function_key"]) and _is_key(entry.get("format_parameter", "")), "function_key")
    _require(_is_texts(entry["unknown_notice"]), "unknown_notice")
    freshness = entry["freshness"]
    _require(
        all(isinstance(name, str) and _is_integer(ttl_s, 1, _MAX_SECONDS) for name, ttl_s in freshness.items()),
        "freshness",
    )
    if "arguments" in entry:
        check_argument_forms(entry["arguments"])
    if entry["auth"] is not None:
        _check_auth(entry["auth"])
    _require(isinstance(entry["faults"], list) and len(entry["faults"]) <= _MAX_FAULTS, "faults")
    for fault in entry["faults"]:
        _require(_is_texts(fault["keys"]) and _is_key(fault["match"], _MAX_PARAGRAPH), "fault")
        _require(fault["code"] in FAULT_CODES, "code of a fault")
        _check_texts("text of a fault", (fault["message"], fault["suggestion"]), _MAX_PARAGRAPH)
        _require(_is_integer(fault.get("retry_after_s", 1), 1, _MAX_SECONDS), "retry_after_s")


def check_argument_forms(forms: Mapping[str, Any]) -> None:
    """Check ``arguments`` of a source or a tool.

    Raises:
        ValueError: A value is not one that the compiler writes.
        AttributeError: A value is not an object.
        LookupError: A key is missing.
    """
    _require(isinstance(forms, dict) and set(forms) <= _FORMS, "arguments")
    for words in forms.get("names", {}).values():
        _require(_is_texts(words), "arguments.names")
    for values in forms.get("values", {}).values():
        _require(_is_key(values) or all(map(_is_texts, values.values())), "arguments.values")
    _require(all(_is_texts(pair) and len(pair) == 2 for pair in forms.get("pairs", ())), "arguments.pairs")
    _require(_is_texts(forms.get("pair_names", [])), "arguments.pair_names")
    tickers = forms.get("tickers") or {}
    _require(_is_texts(tickers.get("parameters", [])), "arguments.tickers")
    for key in ("prefixes", "suffixes"):
        venues = tickers.get(key, {})
        _require(len(venues) <= _MAX_LABEL and all(map(_is_key, (*venues, *venues.values()))), "arguments.tickers")


def _check_auth(auth: Mapping[str, Any]) -> None:
    environment, signup_url = auth["environment"], auth.get("signup_url")
    _require(set(auth) <= _AUTH and isinstance(auth.get("caller_key", False), bool), "auth")
    _require(isinstance(environment, str) and environment.isascii() and environment.isidentifier(), "auth.environment")
    _require(auth.get("query_key") is None or _is_key(auth["query_key"]), "auth.query_key")
    if signup_url is not None:
        page = signup_url.partition("#")[0]
        _require(len(signup_url) <= _MAX_URL and page.startswith("https://") and host_of(page) != "", "signup_url")
        _check_texts("signup_url", (signup_url,), _MAX_URL)
    if len(auth) == len(_AUTH.intersection(auth, ("environment", "query_key", "caller_key", "signup_url"))):
        return  # most sources have no more
    _require(sum(bool(auth.get(place)) for place in _PLACES) <= 1, "auth")
    for name in (auth.get("header"), auth.get("cookie")):
        _require(name is None or is_header_name(name), "auth.header")
    _require(all(isinstance(auth.get(flag, False), bool) for flag in ("bearer", "basic")), "auth.bearer")
    _require(auth.get("prefix", "") == "" or is_header_name(auth["prefix"]), "auth.prefix")
    if auth.get("oauth2") is not None:
        _check_oauth2(auth["oauth2"])


def _check_oauth2(oauth2: Mapping[str, Any]) -> None:
    _require(isinstance(oauth2, dict) and set(oauth2) <= _OAUTH2, "auth.oauth2")
    url = oauth2["token_url"]
    _require(isinstance(url, str) and len(url) <= _MAX_URL and host_of(url) != "", "auth.oauth2.token_url")
    _require(_is_texts(oauth2.get("scopes", [])), "auth.oauth2.scopes")
    _require(all(_is_key(oauth2.get(key) or "", _MAX_URL) for key in ("audience", "resource")), "auth.oauth2.audience")
    _require(oauth2.get("client_authentication", "basic") in ("basic", "body"), "auth.oauth2.client_authentication")


def is_header_name(value: Any) -> bool:
    """Return whether ``value`` can be the name of a header or a cookie, or of an authentication scheme."""
    return isinstance(value, str) and 0 < len(value) <= _MAX_NAME and _TOKEN.issuperset(value)


def is_name(value: Any) -> bool:
    """Return whether ``value`` can be the id or the kind of a source."""
    return (
        isinstance(value, str)
        and value.isascii()
        and value.isidentifier()
        and value[:1].islower()
        and (value == value.lower() and len(value) <= _MAX_NAME)
    )


def is_tool_name(name: Any) -> bool:
    """Return whether ``name`` can be the name of a tool."""
    return isinstance(name, str) and 0 < len(name) <= _MAX_NAME and _TOOL_NAME.issuperset(name)


def is_line(name: str, summary: str, category: str, access: str) -> bool:
    """Return whether a line of a listing can have these values."""
    return (
        is_tool_name(name)
        and access in ACCESS
        and len(summary) <= MAX_SUMMARY
        and len(category) <= _MAX_LABEL
        and not (text_problem(summary) or text_problem(category))
    )


def text_problem(text: str) -> str:
    """Return what is wrong with a text of a catalog that a model or a person reads, or "".

    Such a text is one paragraph. It has no character that is not visible, none that changes the order of others, and
    does not look like a notice of toolfold, which starts with ``#``. Its web addresses are https, without user names.
    """
    if not (text.isascii() and text.isprintable()) and (found := _invisible().search(text)):
        return f"contains the character U+{ord(found[0]):04X}"
    if text.lstrip().startswith("#"):
        return "starts with #, as notices of toolfold do"
    return _url_problem(text) if "://" in text else ""


def _url_problem(text: str) -> str:
    before, *rest = text.split("://")
    for after in rest:
        if before.lower().endswith(_WEB_SCHEMES):
            return "contains a web address that is not https"
        words = after.split(maxsplit=1)
        authority = words[0].partition("/")[0] if words and not after[:1].isspace() else ""
        if "@" in authority:
            return "contains a web address with a user name"
        before = after
    return ""


@cache
def _invisible() -> re.Pattern[str]:
    """Return the expression for characters that do not show, or that change how others show.

    Controls and line breaks, soft hyphen, joiners and fillers, directions, separators of lines and paragraphs,
    selectors, tags, and surrogates. U+FE0F, which follows many emoji, is allowed.
    """
    return re.compile(
        "[\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
        "\u2060-\u206f\u3164\ud800-\udfff\ufe00-\ufe0e\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]"
    )


def host_of(url: str) -> str:
    """Return the host of ``url``, with its port where that is not 443, or "" for a URL that no source may have.

    A source has an https URL, or an http URL of this machine, with neither user name nor fragment.
    """
    # Strict, and without urllib.parse, which takes a millisecond to import and removes line breaks from a URL.
    scheme, separator, rest = url.partition("://")
    authority = rest.partition("/")[0].partition("?")[0].lower()
    host, colon, port = authority.rpartition(":")
    if not colon or authority.endswith("]"):
        host, port = authority, ""
    elif not (port.isdecimal() and len(port) <= _MAX_PORT_DIGITS):
        return ""
    name = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    has_only_known_characters = set(name) <= (_HOST_NAME if name == host else _IPV6) and _REFUSED.isdisjoint(url)
    is_scheme_allowed = scheme == "https" or (scheme == "http" and name in _LOOPBACK)
    if not (separator and name and url.isascii() and url.isprintable()):
        return ""
    if not (has_only_known_characters and is_scheme_allowed):
        return ""
    return host if port in ("", _DEFAULT_PORTS[scheme]) else f"{host}:{port}"


def _check_texts(what: str, texts: Iterable[Any], most: int) -> None:
    for text in texts:
        if not isinstance(text, str) or len(text) > most:
            raise ValueError(f"{what} is no text of up to {most} characters")
        if problem := text_problem(text):
            raise ValueError(f"{what} {problem}")


def _require(condition: bool, what: str) -> None:
    if not condition:
        raise ValueError(f"{what} has a value that it cannot have")


def _is_integer(value: Any, least: int, most: int) -> bool:
    return type(value) is int and least <= value <= most


def _is_positive(value: Any) -> bool:
    return type(value) in (int, float) and 0 < value < _MAX_TOKENS


def _is_key(value: Any, most: int = _MAX_LABEL) -> bool:
    return isinstance(value, str) and len(value) <= most and value.isprintable()


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and len(value) <= _MAX_LABEL and all(_is_key(text) for text in value)
