"""What a caller gives for a parameter is what arrives at every kind of source, however it looks."""

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

import pytest

from tests.support.local_server import HttpService, Received
from tests.support.mcp_sources import Sources, child
from toolfold.cli import main
from toolfold.meta_tools.result import Result
from toolfold.text_safety import quoted

pytestmark = pytest.mark.slow

TEXTS = (
    '["a"]', '["a", "b"]', "[1]", "[]", "{}", '{"a":1}', "null", "None", "true", "yes", "007", "5", "1e5", "1.0",
    "a, b", "a and b", "a;b|c", " a ", "line\nbreak", '"a"', "AbC", "last 5", "2024-02-30", "5/4/2024", "day", "$5",
    "{{name}}", "${name}", "ä€", "\\n",
)  # fmt: skip
"""Texts that look like a value of another type, several values, a date, or a template."""

IN_A_PATH = [text for text in TEXTS if not any(sign in text for sign in "/\\\n")]
"""Slashes and control characters in a path are refused: servers may read another path."""

HTTP_TOOLS = """
kind: http_api
base_url: {url}
tools:
  - name: by_query
    summary: Things that match a text
    path: /query
    parameters: {{value: string, count: integer, ratio: number}}
  - {{name: by_path, summary: One thing by its name, path: '/path/{{value}}'}}
  - {{name: by_body, summary: Add one more thing, method: POST, path: /body, effect: read,
      parameters: {{value: string, count: integer, ratio: number}}}}
  - {{name: by_form, summary: Add one thing by a form, method: POST, path: /form, effect: read, body: form,
      parameters: {{value: string, count: integer, ratio: number}}}}
  - {{name: write, summary: Write one more thing, method: POST, path: /body, parameters: {{value: string}}}}
"""


class World(NamedTuple):
    """The catalog with all kinds of sources, and the service behind the HTTP ones."""

    sources: Sources
    service: HttpService


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("wire")
    with HttpService() as service, pytest.MonkeyPatch.context() as patch:
        host = service.url.removeprefix("http://")
        sources = Sources(folder, ALLOWED_HOSTS=host, CACHE="off")
        _write(sources.folder / "web/source.yaml", HTTP_TOOLS.format(url=service.url))
        _write(sources.folder / "books/source.yaml", "kind: skills\n")
        _write(sources.folder / "books/x/SKILL.md", "---\nname: x\ndescription: How to do x in the shop.\n---\nDo x.\n")
        with sqlite3.connect(folder / "shop.db") as database:
            database.execute("CREATE TABLE one (id INTEGER PRIMARY KEY)")
            database.execute("INSERT INTO one VALUES (1)")
        key = f"sqlite:///{folder}/shop.db"
        patch.setenv("TOOLFOLD_SOURCE_SHOP_KEY", key)
        sources.environment["TOOLFOLD_SOURCE_SHOP_KEY"] = key
        assert main(["source", "add", "sql", "shop", "sqlite:shop.db", "--folder", str(sources.folder)]) == 0
        assert main(["source", "refresh", "shop", "--folder", str(sources.folder)]) == 0
        sources.add("box", child())
        yield World(sources, service)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


PLACES: Mapping[str, Callable[[Received], Any]] = {
    "query": lambda received: dict(received.query),
    "path": lambda received: {"value": received.path.removeprefix("/path/")},
    "body": lambda received: received.json,
    "form": lambda received: dict(parse_qsl(received.body.decode(), keep_blank_values=True)),
}
"""Place of a value in a request → the values that have arrived there."""


def _sent(world: World, tool: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what arrived in the one request of a call."""
    world.service.received.clear()
    result = world.sources.call(tool, arguments)
    assert not result.is_error, result.text
    assert len(world.service.received) == 1, result.text
    found: Mapping[str, Any] = PLACES[tool.partition("by_")[2]](world.service.last)
    return found


@pytest.mark.parametrize("place", PLACES)
def test_text_arrives_as_it_was_given_over_http(world: World, place: str) -> None:
    texts = IN_A_PATH if place == "path" else TEXTS
    assert [_sent(world, f"web__by_{place}", {"value": text})["value"] for text in texts] == list(texts)


def test_text_arrives_as_it_was_given_at_a_tool_that_writes(world: World) -> None:
    arrived = []
    for text in TEXTS:
        world.service.received.clear()
        result = world.sources.app.server.tools.call(
            "TOOL_CALL_WRITE", {"tool_name": "web__write", "arguments": {"value": text}}
        )
        assert not result.is_error, result.text
        arrived += [received.json["value"] for received in world.service.received]
    assert arrived == list(TEXTS)


def test_text_arrives_as_it_was_given_at_an_mcp_server(world: World) -> None:
    def saved(text: str) -> str:
        given = {"tool_name": "box__save", "arguments": {"note": text}}
        return world.sources.app.server.tools.call("TOOL_CALL_WRITE", given).text

    assert [saved(text).rstrip() for text in TEXTS] == [f"saved {text}".rstrip() for text in TEXTS]


def test_text_arrives_as_it_was_given_at_a_database(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLFOLD_SOURCE_SHOP_KEY", world.sources.environment["TOOLFOLD_SOURCE_SHOP_KEY"])

    def selected(text: str) -> Any:
        sql = "SELECT hex(?) AS value, typeof(?) AS type FROM one"
        result = world.sources.call("shop__query", {"sql": sql, "params": [text, text]})
        assert not result.is_error, result.text
        return result.structured["result"]["rows"][0]

    assert [selected(text) for text in TEXTS] == [[text.encode().hex().upper(), "text"] for text in TEXTS]


def test_name_of_a_file_of_a_skill_is_looked_up_as_it_was_given(world: World) -> None:
    for text in TEXTS:
        if text not in ("null", "None"):  # no file has such a name, and programs write it for no value
            error = world.sources.call("books__x", {"file": text}).structured["error"]
            assert f"file {quoted(text)} is not" in error["message"]


@pytest.mark.parametrize("place", ["query", "body", "form"])
@pytest.mark.parametrize(("given", "arrives"), [(1, "1"), (1.0, "1"), ("5", "5"), (-3, "-3")])
def test_whole_number_stays_one(world: World, place: str, given: Any, arrives: str) -> None:
    found = _sent(world, f"web__by_{place}", {"count": given, "ratio": given})
    assert [json.dumps(found[name]).strip('"') for name in ("count", "ratio")] == [arrives, arrives]


def test_list_makes_several_calls_of_a_tool_that_reads(world: World) -> None:
    world.service.received.clear()
    assert not world.sources.call("web__by_query", {"value": ["a", "[1]"]}).is_error
    assert sorted(value for one in world.service.received for _, value in one.query) == ["[1]", "a"]


@pytest.mark.parametrize("value", [["only"], ["a", "b"], [], [["a"]]])
def test_list_is_refused_by_a_tool_that_writes(world: World, value: Any) -> None:
    world.service.received.clear()
    given = {"tool_name": "web__write", "arguments": {"value": value}}
    result: Result = world.sources.app.server.tools.call("TOOL_CALL_WRITE", given)
    assert result.structured["error"]["code"] == "INVALID_ARGUMENTS"
    assert not world.service.received
