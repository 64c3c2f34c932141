"""Files that a person or a program wrote, and that no process should end at."""

from pathlib import Path

import pytest

from toolfold.build import yaml_loader
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
    "an object of Python": ("a: !!python/name:os.system", ":1: is not valid YAML: it has the tag"),
    "a number without an end": ("a: 1" + "0" * 400, ":1: has a number that is too large"),
    "a control character": ("a: b\nc: \x00", ":2: contains a character that YAML does not allow"),
    "bytes that are not UTF-8": (b"a: 1\nb: \xff", ":2: is not UTF-8"),
    "lists in brackets": ("id: x\na: " + "[" * DEEP, ":2: has values nested more than 200 levels deep"),
    "mappings in braces": ("{a: " * DEEP, ":1: has values nested more than 200 levels deep"),
    "lists in one line": ("id: x\n\n" + "- " * DEEP, ":3: "),
    "complex keys": ("? " * DEEP, ":1: has values nested more than 200 levels deep"),
    "indentation": ("\n".join(" " * level + "a:" for level in range(1_000)), ":201: has values nested"),
    "aliases of aliases": (_LAUGHS, "has aliases that add more than 100,000 values"),
    "an alias of nothing": ("a: 1\nb: *a\n", ":2: is not valid YAML: there is no anchor 'a' before it"),
    "a merge of a text": ("a: 1\n<<: b\n", ":2: has a merge key (<<) whose value is not a mapping"),
    "a second document": ("a: 1\n---\nb: 2\n", ":3: is not valid YAML: it has more than one document"),
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
    text = "x: &m {a: 1}\ny:\n  <<: *m\n  enum: [NO, on, 12:30, 2024-01-01, 1.5, null, true, '1', !!str 2]\n200: ok\n"
    found = yaml_loader.parse("a.yaml", text)
    values = ["NO", "on", "12:30", "2024-01-01", 1.5, None, True, "1", "2"]
    assert found.data == {"x": {"a": 1}, "y": {"a": 1, "enum": values}, "200": "ok"}
    wanted = [("y", "enum", 2), ("y", "a"), ("200",), ("z",)]
    assert found.lines(wanted) == dict(zip(wanted, (4, 1, 5, 1), strict=True))
    assert found.aliased == 2


def test_own_keys_count_before_merged_ones_and_items_are_found_by_their_names() -> None:
    text = "- &a\n  name: x\n  b: 1\n- &c {b: 2, d: 3}\n- <<: [*a, *c]\n  d: 4\n- {<<: *a, <<: *c}\n- y\n"
    found = yaml_loader.parse("a.yaml", text)
    one, two = {"name": "x", "b": 1}, {"b": 2, "d": 3}
    assert found.data == [one, two, {"name": "x", "b": 1, "d": 4}, {"name": "x", "b": 1, "d": 3}, "y"]
    wanted = [(2, "b"), (2, "d"), (3, "d"), ("x",), ("y",), ("z",), (0, "name")]
    assert found.lines(wanted) == dict(zip(wanted, (3, 6, 4, 7, 8, 1, 2), strict=True))


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
