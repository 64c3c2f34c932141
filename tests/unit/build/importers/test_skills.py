"""Skills are read from their folders, and nothing outside of these is."""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.catalogs import compiled, tool_of
from toolfold.build.compiler import compile_folder, compile_sources
from toolfold.build.importers import skills as importer
from toolfold.build.importers.skills import Limits, media_type, parse_skill
from toolfold.catalog.model import Catalog
from toolfold.catalog.skills import Skill, skill_of
from toolfold.catalog.store import parse_catalog
from toolfold.errors import SourceError

SKILL = (
    "---\nname: {name}\ndescription: Fill in the forms of {name}. Use it for every form.\n---\n\n# Steps\n\n1. Read.\n"
)


def written(folder: Path, skills: dict[str, str | bytes], **settings: Any) -> Path:
    """Write a source of skills called ``team`` and return the folder of the sources."""
    source = folder / "team"
    source.mkdir(parents=True, exist_ok=True)
    (source / "source.yaml").write_text(yaml.safe_dump({"id": "team", "kind": "skills", **settings}))
    for path, content in skills.items():
        (source / path).parent.mkdir(parents=True, exist_ok=True)
        (source / path).write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def skill(name: str) -> str:
    return SKILL.format(name=name)


def only_skill(catalog: Catalog) -> Skill:
    (name,) = catalog
    return skill_of(tool_of(catalog, name))


def problems(folder: Path) -> str:
    with pytest.raises(SourceError) as caught:
        compile_folder(folder)
    return str(caught.value).replace(f"{folder}/", "")


def test_a_skill_is_a_tool_with_a_stub_a_text_and_files(tmp_path: Path) -> None:
    text = skill("tax-forms")
    catalog = compiled(written(tmp_path, {"tax-forms/SKILL.md": text, "tax-forms/refs/a.md": "# A\n"}))
    tool = tool_of(catalog, "team__tax_forms")
    found = skill_of(tool)

    assert (tool.effect, tool.source, tool.example) == ("read", "team", {})
    assert tool.summary == "Fill in the forms of tax-forms"
    assert tool.parameters["properties"]["file"]["enum"] == ["SKILL.md", "refs/a.md"]
    assert list(catalog.definition(0)["inputSchema"]["properties"]) == ["file"]
    assert found.uri == "skill://team/tax-forms/SKILL.md"
    description = "Fill in the forms of tax-forms. Use it for every form."
    assert found.front_matter == {"name": "tax-forms", "description": description}
    own = found.files["SKILL.md"]
    assert own == ("SKILL.md", hashlib.sha256(text.encode()).hexdigest(), len(text), "text/markdown", True)
    assert catalog.file(own.sha256) == {"text": text}


def test_bytes_are_kept_as_they_are_and_a_long_description_is_a_stub_in_the_list(tmp_path: Path) -> None:
    description = "Fill in every form of the town hall " * 25
    text = f"\ufeff---\r\nname: crlf\r\ndescription: {description}\r\n---\r\n\ttab\x0c\r\n"
    catalog = compiled(written(tmp_path, {"crlf/SKILL.md": text}))
    assert 60 < len(catalog.summary(0).summary) <= 120

    own = only_skill(catalog).files["SKILL.md"]
    content = catalog.file(own.sha256)
    assert content == {"text": text}
    assert own.size == len(text.encode())


def test_skills_are_found_at_any_depth_and_nested_ones_belong_to_both(tmp_path: Path) -> None:
    found = {"a/billing/refunds/SKILL.md": skill("refunds"), "a/billing/refunds/inner/SKILL.md": skill("inner")}
    catalog = compiled(written(tmp_path, found, folders=["a"]))

    assert dict(catalog.skill_tools()) == {
        "skill://team/billing/refunds/SKILL.md": "team__billing_refunds",
        "skill://team/billing/refunds/inner/SKILL.md": "team__billing_refunds_inner",
    }
    outer = tool_of(catalog, "team__billing_refunds")
    assert set(skill_of(outer).files) == {"SKILL.md", "inner/SKILL.md"}


def test_a_source_may_have_several_folders_and_one_may_be_a_skill_itself(tmp_path: Path) -> None:
    given = {"a/x/SKILL.md": skill("x"), "forms/SKILL.md": skill("forms")}
    catalog = compiled(written(tmp_path, given, folders=["a", "forms"]))

    assert dict(catalog.skill_tools()) == {
        "skill://team/forms/SKILL.md": "team__forms", "skill://team/x/SKILL.md": "team__x"}  # fmt: skip


def test_hidden_and_excluded_files_are_left_out(tmp_path: Path) -> None:
    hidden = {"x/.env": "KEY=secret", "x/.git/config": "secret", "x/__pycache__/a.pyc": b"\0"}
    given = {"x/SKILL.md": skill("x"), **hidden, "x/logo.png": b"\x89PNG\0", "x/tests/t.md": "t"}
    folder = written(tmp_path, given, exclude=["*.png", "*/tests/*"])
    catalog = compiled(folder)

    assert set(only_skill(catalog).files) == {"SKILL.md"}
    assert "secret" not in compile_folder(folder)


def test_binary_files_are_kept_in_base64_where_they_are_allowed(tmp_path: Path) -> None:
    catalog = compiled(written(tmp_path, {"x/SKILL.md": skill("x"), "x/a.png": b"\x89PNG\0"}, binary_files=True))

    file = only_skill(catalog).files["a.png"]
    assert (file.media_type, file.is_text, file.size) == ("image/png", False, 5)
    assert catalog.file(file.sha256) == {"blob": "iVBORwA="}


def test_files_that_are_not_text_are_left_out_with_a_note_and_the_skill_stays(tmp_path: Path) -> None:
    made = compile_sources(written(tmp_path, {"x/SKILL.md": skill("x"), "x/a.ttf": b"\0", "x/b.md": "b"}))
    assert set(only_skill(parse_catalog(made.content)).files) == {"SKILL.md", "b.md"}
    assert [note.partition("team/")[2] for note in made.notes] == [
        "x/a.ttf:1: is not plain text in UTF-8, and left out; binary_files: true includes it"]  # fmt: skip


def test_a_skill_that_is_not_valid_is_left_out_and_the_others_compile(tmp_path: Path) -> None:
    long = skill("y").replace("every form", "x" * 1025)
    made = compile_sources(written(tmp_path, {"x/SKILL.md": skill("x"), "y/SKILL.md": long, "z/SKILL.md": skill("w")}))
    assert list(parse_catalog(made.content)) == ["team__x"]
    assert [problem.partition("team/")[2].partition(": ")[0] for problem in made.left_out] == [
        "y/SKILL.md:3", "z/SKILL.md:2"]  # fmt: skip


def _link(target: str) -> Callable[[Path], None]:
    return lambda folder: (folder / "x/link").symlink_to(target)


HOSTILE: dict[str, tuple[Callable[[Path], None], str]] = {
    "a link to a file outside": (_link("/etc/hostname"), "team/x/link:1: is a symbolic link; copy"),
    "a link to its own folder": (_link("."), "team/x/link:1: is a symbolic link; copy"),
    "a link to nothing": (_link("link"), "team/x/link:1: is a symbolic link; copy"),
    "a named pipe": (
        lambda folder: os.mkfifo(folder / "x/pipe"),
        "team/x/pipe:1: cannot be read: it is not a regular file",
    ),
    "a huge file": (
        lambda folder: (folder / "x/a").write_bytes(b"x" * ((1 << 20) + 1)),
        "x/a:1: has more than 1,048,576",
    ),
    "a line break in a name": (lambda folder: (folder / "x/a\nb").touch(), "team/x:1: has a file whose name is not"),
    "folders without end": (lambda folder: (folder / "/".join("xabcdefghijklmn")).mkdir(parents=True), "too many"),
    "SKILL.md of bytes": (lambda folder: (folder / "x/SKILL.md").write_bytes(b"\xff"), "x/SKILL.md:1: is not plain"),
    "SKILL.md is a folder": (
        lambda folder: ((folder / "x/SKILL.md").unlink(), (folder / "x/SKILL.md").mkdir()),  # type: ignore[func-returns-value]
        "has no folder with a SKILL.md",
    ),
}


@pytest.mark.skipif(os.name == "nt", reason="has no symbolic links without a privilege, and no named pipes")
@pytest.mark.parametrize("case", HOSTILE)
def test_what_leaves_the_folder_is_an_error_and_nothing_leaks(tmp_path: Path, case: str) -> None:
    folder = written(tmp_path / "catalog", {"x/SKILL.md": skill("x"), "x/.env": "KEY=secret"})
    change, expected = HOSTILE[case]
    change(folder / "team")

    found = problems(folder)
    assert expected in found
    assert "secret" not in found


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"folders": ["../other"]}, "team/source.yaml:2: folders.0: must be a folder in the folder of the source"),
        ({"folders": ["/etc"]}, "must be a folder in the folder of the source"),
        ({"folders": ["C:\\skills"]}, "must be a folder in the folder of the source"),
        ({"folders": ["~/skills"]}, "must be a folder in the folder of the source"),
        ({"folders": ["nothing"]}, "team/nothing is not a folder"),
        ({"folders": ["empty"]}, "team/empty has no folder with a SKILL.md"),
        ({"folders": []}, "folders: "),
        ({"foldrs": ["x"]}, "foldrs: "),
        ({"folders": ["a", "b"]}, "team/b/x/SKILL.md:1: skill x is already at "),
    ],
)
def test_wrong_settings_are_an_error_with_file_and_line(
    tmp_path: Path, settings: dict[str, Any], expected: str
) -> None:
    folder = written(tmp_path, {"a/x/SKILL.md": skill("x"), "b/x/SKILL.md": skill("x"), "empty/a.md": ""}, **settings)

    assert expected in problems(folder)


FRONT_MATTER = [
    ("no front matter", "SKILL.md:1: does not begin with front matter"),
    ("---\nname: x\n", "SKILL.md:1: does not begin with front matter"),
    ("---\nname: x\n---\n", "SKILL.md:2: description: is missing"),
    ("---\ndescription: y\nname: Tax Forms\n---\n", "SKILL.md:3: name: must match pattern"),
    ("---\nname: other\ndescription: y\n---\n", "SKILL.md:2: name: is other, and the folder of the skill is called x"),
    ("---\nname: x\ndescription: ''\n---\n", "SKILL.md:3: description: must have at least 1 character"),
    (f"---\nname: x\ndescription: {'y' * 1025}\n---\n", "SKILL.md:3: description: must have at most 1024"),
    ("---\nname: x\ndescription: use it: often\n---\n", "SKILL.md:3: is not valid YAML: mapping values are not"),
    ("---\n- x\n---\n", "SKILL.md:2: file: must be keys and values, such as"),
    ("---\nname: x\ndescription: &d y\na: *d\n---\n", "SKILL.md:4: has an alias"),
    (f"---\nname: x\ndescription: y\na: {'[' * 100}\n---\n", "SKILL.md:4: has values nested more than 20 levels deep"),
    ("---\nname: x\ndescription: y\na: 1e999\n---\n", "SKILL.md:4: has a number that is too large"),
    ("---\nname: x\ndescription: y\nallowed-tools: 1\n---\n", "SKILL.md:4: allowed-tools: must be a valid string"),
    (f"---\nname: x\ndescription: y\na: {'z' * 70_000}\n---\n", "SKILL.md:1: the front matter is longer than 65,536"),
]


@pytest.mark.parametrize(("text", "expected"), FRONT_MATTER)
def test_broken_front_matter_is_an_error_with_file_and_line(tmp_path: Path, text: str, expected: str) -> None:
    assert expected in problems(written(tmp_path, {"x/SKILL.md": text}))


def test_front_matter_is_kept_as_it_was_written() -> None:
    keys = "allowed-tools: Read Bash(git:*)\nmetadata: {version: '1.0'}\nday: 2024-01-31\n"
    text = f"---\nname: x\ndescription: y\n{keys}---\n"

    more = {"allowed-tools": "Read Bash(git:*)", "metadata": {"version": "1.0"}, "day": "2024-01-31"}
    assert parse_skill(Path("x/SKILL.md"), text).data == {"name": "x", "description": "y", **more}


def test_a_skill_has_a_limit_of_files_and_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = written(tmp_path, {"x/SKILL.md": skill("x"), "x/a.md": "a" * 200, "x/b.md": "b"})
    for limits in (Limits(max_files=2), Limits(max_skill_bytes=250)):
        monkeypatch.setattr(importer, "LIMITS", limits)
        assert "team/x/SKILL.md:1: is of a skill with too many files" in problems(folder)
    monkeypatch.setattr(importer, "LIMITS", Limits(max_source_bytes=250))
    assert "team/source.yaml:1: the skills have" in problems(folder)


@pytest.mark.parametrize(
    ("name", "is_text", "expected"),
    [("a.MD", True, "text/markdown"), ("Makefile", True, "text/plain"), ("a.bin", False, "application/octet-stream")],
)
def test_media_types_are_the_same_on_every_machine(name: str, is_text: bool, expected: str) -> None:
    assert media_type(name, is_text=is_text) == expected
