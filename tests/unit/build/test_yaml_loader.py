"""Files that a person or a program wrote, and that no process should end at."""

from pathlib import Path

import pytest

from tests.support.commands import CommandLine
from toolfold.build import yaml_loader
from toolfold.errors import SourceError

DEEP = 100_000
_LAUGHS = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join(['*' + before] * 10)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)

HARMFUL = {
    "lists in brackets": ("id: x\na: " + "[" * DEEP, ":2: has values nested more than 200 levels deep"),
    "closed lists": ("id: x\na: " + "[" * DEEP + "]" * DEEP, ":2: has values nested more than 200 levels deep"),
    "mappings in braces": ("{a: " * DEEP, ":1: has values nested more than 200 levels deep"),
    "lists in one line": ("id: x\n\n" + "- " * DEEP, ":3: "),
    "complex keys": ("? " * DEEP, ":1: has values nested more than 200 levels deep"),
    "indentation": ("\n".join(" " * level + "a:" for level in range(1_000)), ":201: has values nested"),
    "aliases of aliases": (_LAUGHS, "has aliases that add more than 100,000 values"),
    "an alias of itself": ("a: &a\n  b: *a\n", ":2: has an alias inside the value that it refers to"),
}


@pytest.mark.parametrize("name", HARMFUL)
def test_yaml_that_expands_or_nests_without_bounds_is_an_error_with_its_line(name: str, tmp_path: Path) -> None:
    text, problem = HARMFUL[name]
    path = tmp_path / "source.yaml"
    path.write_text(text)
    with pytest.raises(SourceError) as caught:
        yaml_loader.load(path)
    assert len(caught.value.problems) == 1
    assert problem in caught.value.problems[0]


def test_brackets_in_texts_are_no_levels(tmp_path: Path) -> None:
    path = tmp_path / "source.yaml"
    path.write_text(f"a: '{'[' * 1_000}'\nb: |\n  {'{' * 1_000}\n")
    assert len(yaml_loader.load(path).data["a"]) == 1_000


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "source.yaml"
    with path.open("w") as file:
        file.truncate(yaml_loader.MAX_BYTES + 1)
    with pytest.raises(SourceError, match=r":1: is larger than 8 MB"):
        yaml_loader.load(path)


def test_the_line_is_that_of_the_file_where_the_yaml_is_a_part_of_it(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"SKILL.md:3: has values nested"):
        yaml_loader.parse(tmp_path / "SKILL.md", "a: b\nc: " + "[" * DEEP, first_line=2)


def test_the_command_ends_with_one_sentence(tmp_path: Path, command_line: CommandLine) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "source.yaml").write_text("id: deep\nkind: http_api\ntools: " + "[" * DEEP)
    printed = command_line("catalog", "compile", "--folder", str(tmp_path), code=1)
    assert "deep/source.yaml:3: has values nested more than 200 levels deep" in printed.err.replace("\n", "")
