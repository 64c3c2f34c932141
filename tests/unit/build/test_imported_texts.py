"""Texts of others as a catalog has them: placeholders stay, markup goes, and examples are values that servers take."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.cpu_time import cpu_within
from toolfold.build.emitter import clean_text
from toolfold.build.example_arguments import example_arguments

PLACEHOLDERS = ("rev", "path", "owner", "repo", "your name", "user-id", "name", "title", "source", "option", "T", "b")
PAIRED = ("b", "i", "em", "strong", "code", "pre", "div", "span", "ul", "ol", "table", "h2", "details", "summary", "a")
WORDS = st.text("abcdefgh :;,()", min_size=1, max_size=12).map(lambda text: f"x{text}x")


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("git show <rev>:<path>", "git show <rev>:<path>"),
        ("Pass <owner>/<repo>, or <your name>.", "Pass <owner>/<repo>, or <your name>."),
        ("A Map<K, V> of Vec<String>", "A Map<K, V> of Vec<String>"),
        ("a < b and c > d", "a < b and c > d"),
        ("<p>Run <b>now</b><br>or <a href='x'>later</a>", "Run now or later"),
        ("<div class='x'>open", "open"),
        ("<img src=x> <script>", ""),
        ("see <Name/>", "see"),
    ],
)
def test_placeholders_stay_and_tags_of_html_go(text: str, cleaned: str) -> None:
    assert clean_text(text) == cleaned


@given(st.lists(st.tuples(WORDS, st.sampled_from(PLACEHOLDERS)), min_size=1, max_size=5))
def test_no_placeholder_is_lost(parts: list[tuple[str, str]]) -> None:
    text = "".join(f"{words}<{name}>" for words, name in parts)
    assert clean_text(text) == " ".join(text.split())


@given(st.lists(st.tuples(WORDS, st.sampled_from(PAIRED), st.sampled_from(("", " class='x'"))), min_size=1, max_size=5))
def test_no_tag_of_html_is_left(parts: list[tuple[str, str, str]]) -> None:
    text = "".join(f"<{name}{more}>{words}</{name}>" for words, name, more in parts)
    cleaned = clean_text(text)
    assert "<" not in cleaned
    assert cleaned == " ".join(" ".join(words for words, _, _ in parts).split())


@given(st.text())
def test_a_clean_text_is_clean(text: str) -> None:
    once = clean_text(text)
    assert "\n" not in once
    assert len(once) <= len(" ".join(text.split())) + 1


TEXT = {"type": "string"}


def described(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "string", "description": text, **more}


@pytest.mark.parametrize(
    ("name", "schema", "example"),
    [
        ("timezone", described("IANA name (e.g., 'America/New_York', 'Europe/London')"), "America/New_York"),
        ("tz", described("Such as `UTC`."), "UTC"),
        ("startDate", TEXT, "2025-01-31"),
        ("time", described("Time in 24-hour format (HH:MM)"), "12:00"),
        ("at", described("YYYY-MM-DD HH:MM:SS, in UTC"), "2025-01-31 12:00:00"),
        ("day", described("As DD/MM/YYYY"), "31/01/2025"),
        ("day", described("The day. Example: 2024-05-01."), "2024-05-01"),
        ("callback_url", TEXT, "https://example.com"),
        ("user_id", TEXT, "user_id"),
        ("latitude", {"type": "number", "minimum": -90, "maximum": 90}, -90),
        ("limit", {"type": "integer", "exclusiveMinimum": 50}, 51),
        ("page", {"type": "integer"}, 1),
        ("when", {"type": "string", "format": "date-time"}, "2025-01-31T12:00:00Z"),
        ("country", {"type": "string", "pattern": "^[A-Z]{3}$", "description": "e.g. 'NOR'"}, "NOR"),
        ("country", {"type": "string", "pattern": "^[A-Z]{3}$"}, "AAA"),
        ("sid", {"type": "string", "pattern": "^(AC|SK)[0-9a-f]{4}$", "minLength": 6, "maxLength": 6}, "AC0000"),
        ("word", {"type": "string", "pattern": r"^[^/ ]+/\d\w?\."}, "0/0."),
        ("an_id", {"type": "string", "pattern": "^[0-9A-F]*$", "minLength": 1}, "0"),
        ("much", {"type": "string", "pattern": "^(a{9999}b{9999})+$"}, "much"),
        ("code", {"type": "string", "pattern": r"^\p{Lu}+$"}, "code"),
        ("share", {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1.5, "maximum": 0.5}, 0.5),
        ("steps", {"type": "integer", "minimum": 7, "multipleOf": 5}, 10),
        ("ids", {"type": "array", "minItems": 2, "uniqueItems": True, "items": {"enum": [3, 3, 4]}}, [3, 4]),
        ("names", {"type": "array", "items": TEXT}, ["names"]),
        ("when", {"anyOf": [{"type": "integer", "not": {}}, {"type": "null"}, TEXT]}, None),
        (
            "to",
            {
                "type": "object",
                "properties": {"id": TEXT, "url": TEXT},
                "anyOf": [{"required": ["url"]}, {"required": ["id"]}],
            },
            {"url": "https://example.com"},
        ),
        ("set", {"type": "object", "properties": {"id": TEXT, "url": TEXT}, "minProperties": 1}, {"id": "id"}),
        ("kind", {"type": "string", "default": 1, "examples": [2, "b"]}, "b"),
        ("country", {"type": "string", "pattern": "["}, "country"),
        ("question", described("What to ask, e.g. something nice."), "question"),
        ("note", described("Like any other text"), "note"),
        ("unit", {"enum": ["c", "f"], "description": "e.g. 'x'"}, "c"),
        ("city", {"type": "string", "default": "Oslo"}, "Oslo"),
    ],
)
def test_an_example_is_a_value_that_a_server_takes(name: str, schema: dict[str, Any], example: Any) -> None:
    assert example_arguments({"properties": {name: schema}, "required": [name]}) == {name: example}


def test_a_schema_that_refers_to_itself_many_times_has_an_example_at_once() -> None:
    text = {"type": "string", "pattern": "^(?!x)x$"}
    itself = {"type": "object", "required": ["a", "b"], "properties": {"a": {"$ref": "#/$defs/n"}, "b": text}}
    wide = {
        "type": "object",
        "required": [*"abcdefgh"],
        "properties": {key: {"$ref": "#/$defs/n"} for key in "abcdefgh"},
    }
    for inner in ({"anyOf": [itself] * 9}, wide):
        schema = {"required": ["it"], "properties": {"it": {"$ref": "#/$defs/n"}}, "$defs": {"n": inner}}
        with cpu_within(2):
            assert "it" in example_arguments(schema)
