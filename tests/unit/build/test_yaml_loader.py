"""Files and texts that others wrote: no process ends at them, and the catalog has what is of use."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.cpu_time import cpu_within
from toolfold.build import yaml_loader
from toolfold.build.emitter import clean_text
from toolfold.build.example_arguments import example_arguments
from toolfold.errors import SourceError

DEEP = 100_000
_LAUGHS = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join(['*' + before] * 10)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)

REFUSED = {
    "a list that is open": ("a: [", ":2: is not valid YAML"),
    "a key twice": ("a: 1\nb: 2\na: 3", ":3: key 'a' is given twice"),
    "a key twice in braces": ('{"a": 1,\n"a": 2}', ":2: key 'a' is given twice"),
    "a key that is a list": ("? [a]\n: 1", ":1: a key must be text"),
    "an object of Python": ("a: !!python/name:os.system", ":1: has the tag"),
    "a number without an end": ("a: 1" + "0" * 400, ":1: has a number that is too large"),
    "a number of many digits": ("a: " + "9" * 5000, ":1: has a number that is too large"),
    "a control character": ("a: b\nc: \x00", ":2: contains a character that YAML does not allow"),
    "bytes that are not UTF-8": (b"a: 1\nb: \xff", ":2: is not UTF-8"),
    "lists in brackets": ("id: x\na: " + "[" * DEEP, ":2: has values nested more than 200 levels deep"),
    "complex keys": ("? " * DEEP, ":1: has values nested more than 200 levels deep"),
    "indentation": ("\n".join(" " * level + "a:" for level in range(1_000)), ":201: has values nested"),
    "aliases of aliases": (_LAUGHS, "has aliases that add more than 100,000 values"),
    "an alias of nothing": ("a: 1\nb: *a\n", ":2: is not valid YAML: found undefined alias"),
    "a merge key": ("a: &a {b: 1}\n<<: *a\n", ":2: has a merge key (<<); write its keys again"),
    "a second document": ("a: 1\n---\nb: 2\n", ":2: is not valid YAML: but found another document"),
    "an alias of itself": ("a: &a\n  b: *a\n", ":2: has an alias inside the value that it refers to"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_yaml_that_cannot_be_read_or_has_no_bounds_is_an_error_with_its_line(name: str, tmp_path: Path) -> None:
    text, problem = REFUSED[name]
    path = tmp_path / "source.yaml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(SourceError) as caught:
        yaml_loader.load(path)
    assert len(caught.value.problems) == 1
    assert problem in caught.value.problems[0]


def test_yaml_is_read_as_version_1_2_means_it() -> None:
    text = "x: &m {a: 1}\ny:\n  z: *m\n  enum: [NO, on, 12:30, 2024-01-01, 1.5, null, true, '1', !!str 2]\n200: ok\n"
    found = yaml_loader.parse("a.yaml", text)
    values = ["NO", "on", "12:30", "2024-01-01", 1.5, None, True, "1", "2"]
    assert found.data == {"x": {"a": 1}, "y": {"z": {"a": 1}, "enum": values}, "200": "ok"}
    wanted = [("y", "enum", 2), ("y", "z", "a"), ("200",), ("w",)]
    assert found.lines(wanted) == dict(zip(wanted, (4, 1, 5, 1), strict=True))
    assert found.aliased == 2


def test_brackets_in_texts_are_no_levels(tmp_path: Path) -> None:
    path = tmp_path / "source.yaml"
    path.write_text(f"a: '{'[' * 1_000}'\nb: |\n  {'{' * 1_000}\n")
    assert len(yaml_loader.load(path).data["a"]) == 1_000


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "source.yaml"
    with path.open("w") as file:
        file.truncate(yaml_loader.LIMITS.max_bytes + 1)
    with pytest.raises(SourceError, match=r":1: is larger than 8 MB"):
        yaml_loader.load(path)


def test_the_line_is_that_of_the_file_where_the_yaml_is_a_part_of_it(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"SKILL.md:3: has values nested"):
        yaml_loader.parse(tmp_path / "SKILL.md", "a: b\nc: " + "[" * DEEP, first_line=2)


PLACEHOLDERS = ("rev", "path", "owner", "repo", "your name", "user-id", "name", "title", "source", "option", "T")
BLOCKS = ("pre", "div", "ul", "ol", "table", "h2", "details", "summary")
PAIRED = ("b", "i", "em", "strong", "code", "span", "a", *BLOCKS)
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
        ("<h2 class='x'>Rates</h2>", "Rates"),
        ("Cells of `range`, from `at`.", "Cells of range, from at."),
        ("All <code>row</code>s: <b>none</b>!", "All rows: none!"),
        ("**Note**: x**2, not `**`", "Note: x**2, not **"),
        ("Create a page\nError Responses:\n400: Bad", "Create a page. Error Responses: 400: Bad"),
        ("# Rates\n \nOf a day,\nor of\nMonths:\n\n- `a`\n\n- b\n", "Rates. Of a day, or of. Months: - a. - b"),
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
    assert cleaned == " ".join("".join(f" {words} " if name in BLOCKS else words for words, name, _ in parts).split())


@given(st.text())
def test_a_clean_text_is_clean(text: str) -> None:
    once = clean_text(text)
    assert "\n" not in once
    assert len(once) <= len(text) + 1


TEXT = {"type": "string"}


def described(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "string", "description": text, **more}


@pytest.mark.parametrize(
    ("name", "schema", "example"),
    [
        ("timezone", described("IANA name (e.g., 'America/New_York', 'Europe/London')"), "America/New_York"),
        ("tz", described("Such as `UTC`."), "UTC"),
        ("startDate", TEXT, "2025-01-31"),
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
