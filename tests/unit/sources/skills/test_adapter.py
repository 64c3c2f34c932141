"""Calls of skills: text, images and other bytes, files that do not exist, and catalogs that were forged."""

import base64
from pathlib import Path
from typing import Any

import pytest

from tests.support.tables import accepted
from tests.unit.build.importers.test_skills import skill, written
from toolfold.app import App, build_app
from toolfold.build.compiler import compile_folder
from toolfold.catalog.entries import Tool
from toolfold.catalog.skills import skill_of
from toolfold.errors import CatalogUnavailable
from toolfold.meta_tools.result import Result
from toolfold.settings import Settings

MANY = {f"x/notes/{number:02}.md": f"note {number}" for number in range(45)}
FILES: dict[str, str | bytes] = {
    "x/SKILL.md": skill("x"),
    "x/logo.png": b"\x89PNG\0",
    "x/font.ttf": b"\0\1",
    **MANY,
}


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> App:
    folder = tmp_path_factory.mktemp("skills")
    path = folder / "catalog.json"
    path.write_text(compile_folder(written(folder / "sources", FILES, binary_files=True)), encoding="utf-8")
    return build_app(Settings.from_environment({"TOOLFOLD_CATALOG": str(path), "TOOLFOLD_CACHE": "off"}))


def call(app: App, **arguments: Any) -> Result:
    return app.server.tools.call("TOOL_CALL", {"tool_name": "team__x", "arguments": arguments})


def tool(app: App) -> Tool:
    found = app.catalog_store().get("team__x")
    assert found is not None
    return found


def test_a_text_is_returned_as_it_is(app: App) -> None:
    assert call(app).structured["result"] == skill("x")
    assert call(app, file="notes/07.md").structured["result"] == "note 7"


def test_an_image_is_an_image_and_other_bytes_are_a_resource(app: App) -> None:
    data = base64.b64encode(b"\x89PNG\0").decode()
    assert call(app, file="logo.png").blocks == [{"type": "image", "data": data, "mimeType": "image/png"}]
    (block,) = call(app, file="font.ttf").blocks
    blob = base64.b64encode(b"\0\1").decode()
    inner = {"uri": "skill://team/x/font.ttf", "mimeType": "application/octet-stream", "blob": blob}
    assert block == {"type": "resource", "resource": inner}
    assert call(app, file="font.ttf").structured["result"] == "font.ttf: application/octet-stream, 2 bytes"


def test_a_file_that_does_not_exist_names_the_closest_ones(app: App) -> None:
    assert "enum" not in tool(app).parameters["properties"]["file"]
    for path in ("notes/007.md", "../../etc/passwd", "/etc/passwd", "notes", "notes/../SKILL.md"):
        error = call(app, file=path).structured["error"]
        assert error["code"] == "INVALID_ARGUMENTS"
        assert f"has no file {path!r}" in error["message"]
    assert "notes/07.md" in call(app, file="notes/007.md").structured["error"]["suggestion"]


def test_a_file_that_the_catalog_has_lost_is_no_crash(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(app.catalog_store()), "file", lambda *_: None)

    assert call(app).structured["error"]["code"] == "CATALOG_UNAVAILABLE"


FILE = ["SKILL.md", "0" * 64, 1, "text/markdown", True]
CALLS = [
    {},
    {"root": "file:///etc", "front_matter": {}, "files": [FILE]},
    {"root": "skill://a/b", "front_matter": [], "files": [FILE]},
    {"root": "skill://a/b", "front_matter": {}, "files": []},
    {"root": "skill://a/b", "front_matter": {}, "files": [["SKILL.md", "0", 1, "text/plain", True]]},
    {"root": "skill://a/b", "front_matter": {}, "files": [[*FILE[:2], -1, *FILE[3:]]]},
    {"root": "skill://a/b", "front_matter": {}, "files": [[*FILE[:4], "yes"]]},
    {"root": "skill://a/b", "front_matter": {}, "files": [["a.md", *FILE[1:]]]},
    {"root": "skill://a/b", "front_matter": {}, "files": [FILE] * 600},
]


def test_a_forged_entry_is_refused(app: App) -> None:
    assert accepted(lambda entry: skill_of(tool(app)._replace(call=entry)), CALLS, CatalogUnavailable) == []


def test_a_forged_head_is_refused(app: App, tmp_path: Path) -> None:
    text = Path(app.settings.catalog).read_text(encoding="utf-8")
    for forged in ('"skills":2', '"skills":-1', '"skills":"x"'):
        (tmp_path / "catalog.json").write_text(text.replace('"skills":1', forged, 1), encoding="utf-8")
        settings = Settings.from_environment({"TOOLFOLD_CATALOG": str(tmp_path / "catalog.json")})
        tools = build_app(settings).server.tools
        assert tools.call("TOOL_LIST", {}).structured["error"]["code"] == "CATALOG_UNAVAILABLE"
        assert not tools.has_skills()
