"""Parsers of settings: functions of a variable's name and text, which return the value.

Each raises :class:`SettingsError`, which names the variable and what it must be.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from toolfold.errors import SettingsError

Parser = Callable[[str, str], Any]

DAY_S = 86400.0
"""The longest time-out, and the longest that a presigned URL of a role is valid."""

_TRUE = ("1", "true", "yes", "on")
_FALSE = ("0", "false", "no", "off", "")
_OFF = ("0", "false", "no", "off", "none")
"""What people write to switch something off that has a file or a folder: as its name, each would create that file."""
_MAX_NUMBER = 1e12
"""Integers and floats beyond it fail where they are used, in SQLite and in time arithmetic."""
_MAX_SHOWN = 200  # characters of a wrong value
_LOCAL = r"http://(localhost|127\.0\.0\.1|\[::1\])(:\d+)?"


def text(name: str, value: str) -> str:
    """Return a text. Python decodes bytes that are not UTF-8 to surrogates, which can be neither hashed nor sent."""
    try:
        value.encode()
    except UnicodeEncodeError:
        raise SettingsError(f"{name} must be valid UTF-8.") from None
    return value


def boolean(name: str, value: str) -> bool:
    """Return whether a text means true."""
    if value.lower() not in (*_TRUE, *_FALSE):
        raise _mistake(name, "true or false", value)
    return value.lower() in _TRUE


def number(low: float = 0.0, high: float = _MAX_NUMBER, *, whole: bool = False, zero: int | None = -1) -> Parser:
    """Return the parser of a number above 0, from ``low`` to ``high``; ``zero``: what 0 and empty mean, -1: nothing."""

    def parse(name: str, value: str) -> float | int | None:
        try:
            found = float(value or 0)
        except ValueError:
            found = -1.0
        if found == 0 and zero != -1:
            return zero
        if not (low <= found <= high and found > 0) or (whole and not found.is_integer()):
            limits = f"from {low:g} to {high:g}" if low else "above 0" + f" and at most {high:g}" * (high < _MAX_NUMBER)
            raise _mistake(name, f"a {'whole ' if whole else ''}number {limits}", value)
        return int(found) if whole else found

    return parse


def choice(*values: str, synonyms: Mapping[str, str] | None = None) -> Parser:
    """Return the parser of one of ``values``, or of a synonym, in upper or lower case."""
    known = {value.lower(): value for value in values} | dict(synonyms or {})

    def parse(name: str, value: str) -> str:
        if value.lower() not in known:
            raise _mistake(name, f"one of {', '.join(one or 'empty' for one in values)}", value)
        return known[value.lower()]

    return parse


def pattern(regex: str, must: str, *, is_shown: bool = True) -> Parser:
    """Return the parser of a text that is empty or matches ``regex``; ``must`` says what it is."""

    def parse(name: str, value: str) -> str:
        if value and not re.fullmatch(regex, text(name, value)):
            raise _mistake(name, must, value if is_shown else None)
        return value

    return parse


def items(regex: str, must: str, *, lower: bool = False, is_shown: bool = True) -> Parser:
    """Return the parser of texts that match ``regex``, separated by commas."""

    def parse(name: str, value: str) -> tuple[str, ...]:
        found = tuple(split_items(value.lower() if lower else value))
        for item in found:
            if not re.fullmatch(regex, item):
                raise _mistake(name, f"{must}, separated by commas", item if is_shown else None)
        return found

    return parse


def or_off(parse: Parser, off: str = "off") -> Parser:
    """Return a parser of what ``parse`` takes; each word for off is ``off``."""

    def parse_off(name: str, value: str) -> Any:
        return parse(name, off if value.lower() in _OFF else value)

    return parse_off


def split_items(value: str) -> list[str]:
    """Split a text at its commas; empty items are left out."""
    return [item.strip() for item in value.split(",") if item.strip()]


def _mistake(name: str, must: str, value: str | None) -> SettingsError:
    shown = "" if value is None else f", not {value[:_MAX_SHOWN]!a}"
    return SettingsError(f"{name} must be {must}{shown}.")


timeout = number(high=DAY_S)
duration = number()
size = number(whole=True)
optional_count = number(whole=True, zero=None)
TABLE_PREFIX = "dynamodb://"
cache = or_off(pattern(rf"{TABLE_PREFIX}[A-Za-z0-9_.-]+|((?!://).)*", "empty, memory, off, a path or dynamodb://table"))
bucket = pattern(r"s3://[a-z0-9].*", "empty or s3://bucket/prefix")
offload = or_off(pattern(r"s3://[a-z0-9].*|((?!://).)*", "s3://bucket/prefix, a folder or off"))
https_url = pattern(rf"(https://[^\s/?#@]+|{_LOCAL})(/[^\s?#]*)?", "a URL that begins with https://")
# What is no reference may be the keys, or the secret, and is not shown.
stored_keys = pattern(
    r"(ssm:/?|arn:aws[a-z-]*:(secretsmanager|ssm):)[A-Za-z0-9/_+=.@:-]+",
    "the ARN of a secret or parameter, or ssm:/NAME, without a #FIELD. The keys themselves do not belong there",
    is_shown=False,
)
approval_secret = pattern(
    r"(?s:(arn:|ssm:).*|.{32,})", "a text of at least 32 characters, or the ARN of a secret", is_shown=False
)
log_file = or_off(text, "")
texts = items(r".+", "texts")
# Any page can send the origin null.
origins = items(
    r"\*|[a-z][a-z0-9+.-]*://[^/\s]+", "origins such as https://example.com, or *, and not null", lower=True
)
hashes = items(r"[0-9a-f]{64}", "SHA-256 hashes of 64 hexadecimal digits", lower=True, is_shown=False)
# Of HTTPS, of this machine, or of an application (RFC 8252).
redirect_uris = items(
    rf"{_LOCAL}(/[^\s#*@]*)?|(?!http://)[a-z][a-z0-9.+-]*://[^\s#*@]+",
    "URIs that begin with https://, without patterns",
)
key_variables = items(r"([a-z][a-z0-9_]*=)?[A-Za-z_][A-Za-z0-9_]*", "names of variables")
hosts = items(
    r"([a-z][a-z0-9_]*=)?([a-z0-9][a-z0-9.-]*|\[[0-9a-f:]+\])(:[0-9]{1,5})?",
    "host names without https:// and path",
    lower=True,
)
commands = items(r"(?![a-z][a-z0-9_]*=$)([a-z][a-z0-9_]*=)?(?=[^\s])([^\"'\\]|\"[^\"]+\"|'[^']+'|\\.)+", "commands")
middleware = items(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*", "names of classes, module:Class")
names = items(r"[A-Za-z0-9_]+\*?", "names of variables")

MODE_SYNONYMS: Mapping[str, str] = {"individual": "direct"}
KIND_MODE_SYNONYMS: Mapping[str, str] = {"legacy": "inline"}
"""What other systems call a mode → the mode."""

mode = choice("", "progressive", "lazy", "grouped", "direct", "kinds", "auto", "research", synonyms=MODE_SYNONYMS)
kind_mode = choice("", "progressive", "inline", "off", synonyms=KIND_MODE_SYNONYMS)
