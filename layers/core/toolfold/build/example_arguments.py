"""Make arguments of a valid call from a JSON Schema, for tools that come without an example.

Choose the text or the number of an example by what a parameter is called and how it is described.

A model copies examples, and servers refuse `timezone=timezone`. A value that the description itself gives comes first;
the others are examples of documentation (RFC 2606, RFC 5737, ISO codes), and no request of a benchmark.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from toolfold.catalog import json_schema
from toolfold.catalog.tokenizer import in_words

FORMATS: Mapping[str, str] = {
    "date": "2025-01-31",
    "date-time": "2025-01-31T12:00:00Z",
    "time": "12:00:00Z",
    "duration": "P1D",
    "email": "name@example.com",
    "hostname": "example.com",
    "uri": "https://example.com",
    "url": "https://example.com",
    "uuid": "00000000-0000-4000-8000-000000000000",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
}
"""``format`` → value."""

_TEXTS: tuple[tuple[str, str], ...] = (
    (r"time ?zone|tz", "Europe/Berlin"),
    (r"date ?time|timestamp|.* at", "2025-01-31T12:00:00Z"),
    (r"(?:.* )?(?:date|day|since|until)|(?:date|day) .*", "2025-01-31"),
    (r"(?:.* )?month", "2025-01"),
    (r"(?:.* )?year", "2025"),
    (r"time|(?:start|end|local|utc) time", "12:00"),
    (r"(?:.* )?e ?mail(?: address)?", "name@example.com"),
    (r"(?:.* )?(?:url|uri|href|link|webhook|website)", "https://example.com"),
    (r"(?:.* )?(?:host|hostname|domain|domain name)", "example.com"),
    (r"(?:.* )?ip(?: address)?", "192.0.2.1"),
    (r"(?:.* )?country(?: code)?", "DE"),
    (r"(?:from |base |source )?currency(?: code)?|(?:from|base) code", "EUR"),
    (r"(?:to|target|quote) currency(?: code)?", "USD"),
    (r"(?:.* )?(?:language|lang|locale)(?: code)?", "en"),
    (r"(?:.* )?(?:city|town|place|location|destination)", "Berlin"),
    (r"(?:.* )?(?:zip|zip code|postal code|postcode|plz)", "10115"),
    (r"(?:.* )?(?:phone|phone number|mobile)", "+4930123456"),
    (r"(?:.* )?uuid|.* guid", "00000000-0000-4000-8000-000000000000"),
    (r"(?:repo(?:sitory)?|root|working|project|base|target|output|input) (?:path|dir|directory|folder)|cwd", "."),
    (r"(?:.* )?(?:dir|directory|folder)", "."),
    (r"(?:.* )?(?:file|filename|file name|path|file path)", "README.md"),
    (r"(?:.* )?(?:revision|rev|commit|commit ish|ref|sha)", "HEAD"),
    (r"(?:.* )?branch(?: name)?", "main"),
    (r"(?:.* )?version", "1.0.0"),
    (r"(?:.* )?colou?r", "#336699"),
    (r"(?:.* )?cron(?: expression)?|schedule", "0 9 * * 1"),
    (r"(?:.* )?(?:sql|sql query)", "SELECT 1"),
    (r"(?:.* )?(?:mime type|content type|media type)", "text/plain"),
    (r"lat|latitude", "52.52"),
    (r"lon|lng|long|longitude", "13.41"),
    (r"(?:.* )?ids?|(?:.* )?number", "1"),
)
"""Pattern of the words of a name → value; the first that fits."""

_NUMBERS: tuple[tuple[str, float | int], ...] = (
    (r"lat|latitude", 52.52),
    (r"lon|lng|long|longitude", 13.41),
    (r"(?:.* )?year", 2025),
    (r"(?:.* )?(?:limit|page size|per page|max results|count|size|top k|num results)", 10),
    (r"(?:.* )?port", 443),
    (r"(?:.* )?(?:width|height)", 100),
    (r"(?:.* )?(?:timestamp|epoch)", 1_738_324_800),
)

_QUOTED = re.compile(
    r"(?:\be\.?g\.?|\bfor (?:example|instance)|\bexamples?|\bsuch as|\blike)\s*[,:]?\s*"
    r"(?:['‘](?P<a>[^'’]{1,80})['’]|[\"“](?P<b>[^\"”]{1,80})[\"”]|`(?P<c>[^`]{1,80})`)",
    re.IGNORECASE,
)
"""A value in quotes or backticks that a description gives as an example."""

_BARE = re.compile(
    r"(?:\be\.g\.|\bfor example|\bexample:)\s*[,:]?\s*(?P<a>[\w+-]*[\d_/:@.-][\w/:@.+#-]{0,78}[\w/])", re.IGNORECASE
)
"""The same without quotes: only what no word of prose looks like, such as 2024-01-31 or Europe/Rome."""


def text_for(name: str, rule: Callable[[str], Any], fits: Callable[[str], bool]) -> str:
    """Return an example of a text.

    Args:
        name: of the parameter.
        rule: returns the value of a keyword of its schema.
        fits: whether a text is one that the schema accepts.
    """
    return next(filter(fits, _texts(name, rule)), name)


def number_for(name: str, fits: Callable[[float | int], bool]) -> float | int:
    """Return an example of a number: by the name, or 1."""
    words = _words(name)
    return next((value for pattern, value in _NUMBERS if re.fullmatch(pattern, words) and fits(value)), 1)


def _texts(name: str, rule: Callable[[str], Any]) -> Iterator[str]:
    description = rule("description")
    for pattern in (_QUOTED, _BARE):
        for found in pattern.finditer(description if isinstance(description, str) else ""):
            yield next(value for value in found.groupdict().values() if value).strip()
    if (given := FORMATS.get(str(rule("format")))) is not None:
        yield given
    words = _words(name)
    for pattern_, value in _TEXTS:
        if re.fullmatch(pattern_, words):
            yield value
    yield name


def _words(name: str) -> str:
    return " ".join(in_words(name).lower().split())


_MAX_DEPTH = 6
_MAX_PATTERN = 500
_BASE64 = "aGVsbG8="
_PLAIN: Mapping[str, Any] = {"boolean": True, "array": [], "object": {}, "null": None}


def example_arguments(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a value for each required argument: its example, default or first allowed value, else one of its type.

    The values fit the schema as far as its types, enums, formats and bounds go; the compiler checks the rest.
    """
    needed = [*json_schema.required(schema), *json_schema.alternatives(schema)[:1]]
    rules = json_schema.properties(schema)
    return {name: _example(schema, rules.get(name, {}), name, 0) for name in dict.fromkeys(needed)}


def _example(root: Mapping[str, Any], rule: Any, name: str, depth: int) -> Any:
    for part in json_schema.parts(root, rule):
        examples = part.get("examples")
        if isinstance(examples, list) and examples:
            return examples[0]
        for key in ("default", "const"):
            if part.get(key) is not None:
                return part[key]
        if isinstance(part.get("enum"), list) and part["enum"]:
            return part["enum"][0]
    for key in ("anyOf", "oneOf"):
        choices = json_schema.keyword(root, rule, key)
        if isinstance(choices, list) and choices and depth < _MAX_DEPTH:
            return _example(root, choices[0], name, depth + 1)
    types = json_schema.type_words(root, rule)
    return _of_type(root, rule, name, types[0] if types else "string", depth)


def _of_type(root: Mapping[str, Any], rule: Any, name: str, type_: str, depth: int) -> Any:
    def given(key: str) -> Any:
        return json_schema.keyword(root, rule, key)

    if type_ in ("integer", "number"):
        least, most = given("minimum"), given("maximum")
        if isinstance(least, int | float):
            found = number_for(name, lambda value: least <= value and (type_ == "number" or isinstance(value, int)))
            is_within = found >= least and not (isinstance(most, int | float) and found > most)
            return found if is_within and found != 1 else least
        over = given("exclusiveMinimum")
        if isinstance(over, int | float) and not isinstance(over, bool):
            return over + 1
        found = number_for(name, lambda value: type_ == "number" or isinstance(value, int))
        return most if isinstance(most, int | float) and most < found else found
    if type_ == "string":
        if given("contentEncoding") == "base64":
            return _BASE64
        least, most = given("minLength"), given("maxLength")
        text = text_for(name, given, lambda text: _fits(text, given("pattern"), least, most))
        text = text.ljust(least, "x") if isinstance(least, int) and least < 1000 else text
        return text[:most] if isinstance(most, int) else text
    if type_ == "object" and depth < _MAX_DEPTH:
        rules = json_schema.properties(root, rule)
        return {key: _example(root, rules.get(key, {}), key, depth + 1) for key in json_schema.required(root, rule)}
    if type_ == "array" and depth < _MAX_DEPTH and isinstance(given("minItems"), int) and given("minItems") > 0:
        return [_example(root, given("items") or {}, name, depth + 1)] * min(given("minItems"), 10)
    return _PLAIN.get(type_, name)


def _fits(text: str, pattern: Any, least: Any, most: Any) -> bool:
    """Return whether a text is within the bounds of a schema. A pattern that Python cannot read does not count."""
    if (isinstance(least, int) and len(text) < least) or (isinstance(most, int) and len(text) > most):
        return False
    try:
        return not isinstance(pattern, str) or len(pattern) > _MAX_PATTERN or re.search(pattern, text) is not None
    except (re.error, RecursionError):
        return True
