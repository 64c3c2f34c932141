"""Catalogs that an attacker has changed: every resource answers with JSON, if only that the catalog is damaged."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.catalogs import ALLOWED_HOST, small_catalog
from tests.support.explorer import ask, make_page
from tests.support.hostile_catalogs import with_head, with_line
from toolfold.app import build_app
from toolfold.catalog.store import FileStore
from toolfold.settings import Settings

CONTENT = small_catalog()
TARGETS = (
    "start",
    "catalog",
    "search?q=high+water",
    "search?q=HIGH_WATER",
    "tool?name=HIGH_WATER",
    "watch",
    "approvals",
)
TEXTS = ["\ufeff# \u202egnirts\u202c\x00\x07\x1b[2J</script><script>alert(1)</script>", "x" * 100_000, "\ud800", ""]


def entry_of(tmp_path: Path) -> dict[str, Any]:
    path = tmp_path / "before.json"
    path.write_bytes(CONTENT)
    tool = FileStore(path)().get("HIGH_WATER")
    assert tool is not None
    return {
        key: value for key, value in tool._asdict().items() if value not in ("", {}, ()) or key in ("tags", "see_also")
    }


def check(content: bytes, tmp_path: Path) -> list[int]:
    """Return the status of each resource, after checking that its answer is one."""
    path = tmp_path / "catalog.json"
    path.write_bytes(content)
    app = build_app(Settings.from_environment({"TOOLFOLD_CATALOG": str(path), "TOOLFOLD_ALLOWED_HOSTS": ALLOWED_HOST}))
    page, statuses = make_page(app=app), []
    for target in TARGETS:
        response = ask(page, f"/ui/api/{target}")
        found = json.loads(response.body.decode())
        assert response.status in (200, 404, 503), (target, response.body[:300])
        assert (response.status == 200) != ("error" in found)
        assert len(response.body) < 500_000
        statuses.append(response.status)
    return statuses


def test_the_catalog_as_it_is_answers_everything(tmp_path: Path) -> None:
    assert check(CONTENT, tmp_path) == [200] * len(TARGETS)


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize(
    "change",
    [
        lambda head, text: head["sources"]["tides"].update(title=text),
        lambda head, text: head["sources"]["tides"].update(description=text),
        lambda head, text: head["categories"][0].update(title=text),
        lambda head, text: head["categories"][0].update(name=text),
    ],
)
def test_texts_of_the_head(change: Callable[[Any, str], None], text: str, tmp_path: Path) -> None:
    check(with_head(CONTENT, lambda head: change(head, text)), tmp_path)


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize(
    "field", ["title", "summary", "description", "returns", "confirm", "parameters", "tags", "use_instead"]
)
def test_texts_of_a_tool(field: str, text: str, tmp_path: Path) -> None:
    rule = {"type": "object", "properties": {"day": {"type": "string", "description": text, "enum": [text]}}}
    values: dict[str, Any] = {"parameters": rule, "tags": [text], "use_instead": {text: "HIGH_WATER"}}
    entry = {**entry_of(tmp_path), field: values.get(field, text)}
    value = json.dumps(entry).encode()
    check(with_line(CONTENT, "tools", "HIGH_WATER", value), tmp_path)


def test_schemas_that_nest_deeply(tmp_path: Path) -> None:
    rule: dict[str, Any] = {"type": "string"}
    for _ in range(200):
        rule = {"type": "object", "properties": {"x": rule}}
    entry = {**entry_of(tmp_path), "parameters": rule}
    check(with_line(CONTENT, "tools", "HIGH_WATER", json.dumps(entry).encode()), tmp_path)
    for other in (b"[]", b'{"type":"object","properties":[]}', b'{"type":"object","properties":{"a":7}}', b"true"):
        changed = json.dumps(entry).encode().replace(json.dumps(rule).encode(), other)
        check(with_line(CONTENT, "tools", "HIGH_WATER", changed), tmp_path)
