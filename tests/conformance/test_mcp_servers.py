"""MCP servers that others wrote, as sources: over stdio and HTTP, and two of them in one catalog of five sources."""

import base64
import os
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.helpers import FASTMCP_PYTHON, FOLDER, package
from tests.support.five_sources import FiveSources, five_sources
from tests.support.mcp_sources import Sources, remote
from tests.support.ports import free_port
from toolfold.catalog.entries import name_key
from toolfold.meta_tools.result import Result

pytestmark = pytest.mark.clients


BIN = FASTMCP_PYTHON.parent
EVERYTHING = "@modelcontextprotocol/server-everything/dist/index.js"
START_S = 60.0


@contextmanager
def serving(command: Sequence[str], port: int, **environment: str) -> Iterator[str]:
    """Run a server and yield its URL once its port answers."""
    variables = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), **environment}
    with subprocess.Popen(command, env=variables, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            end = time.monotonic() + START_S
            while True:
                assert process.poll() is None, "the server has ended"
                assert time.monotonic() < end, "the server does not listen"
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.05)
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            process.terminate()


def program(name: str, *arguments: str) -> dict[str, Any]:
    return {"transport": "stdio", "command": str(BIN / name), "args": list(arguments)}


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("repository")
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.test")
    for arguments in (("init", "-q"), (*identity, "commit", "-q", "--allow-empty", "-m", "Begin the log")):
        subprocess.run(["git", *arguments], cwd=folder, check=True)
    return folder


@pytest.fixture(scope="module")
def programs(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Sources:
    """Return a catalog of mcp-server-time and mcp-server-git."""
    allowed = f"time={BIN / 'mcp-server-time'},git={BIN / 'mcp-server-git'}"
    sources = Sources(tmp_path_factory.mktemp("programs"), ALLOWED_COMMANDS=allowed)
    sources.add("time", program("mcp-server-time", "--local-timezone=UTC"))
    sources.add("git", program("mcp-server-git", "--repository", str(repository)))
    return sources


def test_the_time_server_answers_with_fields(programs: Sources) -> None:
    found = programs.call("time__get_current_time", {"timezone": "Asia/Tokyo"}).structured["result"]
    assert found["timezone"] == "Asia/Tokyo"
    assert found["datetime"].endswith("+09:00")
    converted = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}
    assert "21:00" in programs.call("time__convert_time", converted).text
    error = programs.call("time__get_current_time", {"timezone": "Nowhere/City"}).structured["error"]
    assert error["code"] == "UPSTREAM_ERROR"
    assert "Nowhere/City" in error["upstream_says"]


def test_the_git_server_answers_with_text_and_keeps_to_its_repository(programs: Sources, repository: Path) -> None:
    assert "Begin the log" in programs.call("git__git_log", {"repo_path": str(repository)}).text
    assert programs.code("git__git_status", {"repo_path": "/"}) == "UPSTREAM_ERROR"


def test_effects_of_the_git_server_are_those_of_its_annotations(programs: Sources) -> None:
    catalog = programs.app.catalog_store()
    effects = {name: tool.effect for name in catalog if (tool := catalog.get(name)) is not None}
    assert effects["git__git_log"] == "read"
    assert effects["git__git_commit"] == "write"
    assert effects["git__git_reset"] == "destructive"


def test_a_snapshot_of_a_real_server_does_not_change_between_two_refreshes(programs: Sources) -> None:
    assert not programs.refresh("time", check=True)
    assert not programs.refresh("git", check=True)


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sources]:
    """Return a catalog of the reference server, which has no annotations: an overlay names what reads."""
    port = free_port()
    with serving([*package(EVERYTHING), "streamableHttp"], port, PORT=str(port)) as url:
        sources = Sources(tmp_path_factory.mktemp("everything"))
        sources.write("everything", remote(url))
        sources.refresh("everything")
        overlay: dict[str, Any] = {
            "tools": {tool["name"]: {"effect": "read"} for tool in sources.snapshot("everything")["tools"]}
        }
        sources.write("everything", remote(url), overlay=overlay)
        sources.compile()
        assert sources.app.catalog_store().source("everything").instructions == ""  # which address the model
        overlay["reviewed"] = sources.unread("everything")
        sources.write("everything", remote(url), overlay=overlay)
        sources.compile()
        yield sources


def test_the_reference_server_keeps_all_kinds_of_content(everything: Sources) -> None:
    assert everything.call("everything__echo", {"message": "hi"}).text == "Echo: hi"
    image, text = everything.call("everything__get_tiny_image").blocks
    assert base64.b64decode(image["data"]).startswith(b"\x89PNG")
    assert text["type"] == "text"
    links = everything.call("everything__get_resource_links", {"count": 2}).blocks
    assert [link["type"] for link in links] == ["resource_link", "resource_link"]
    resource, _ = everything.call(
        "everything__get_resource_reference", {"resourceType": "Text", "resourceId": 1}
    ).blocks
    assert resource["resource"]["uri"] == "demo://resource/dynamic/text/1"
    annotated = everything.call("everything__get_annotated_message", {"messageType": "error", "includeImage": True})
    assert annotated.blocks[0]["annotations"] == {"priority": 0.5, "audience": ["user"]}


def test_the_reference_server_s_structured_content_can_be_selected(everything: Sources) -> None:
    found = everything.call("everything__get_structured_content", {"location": "New York"}, select="temperature")
    assert list(found.structured["result"]) == ["temperature"]


def test_the_reference_server_s_long_operation_ends(everything: Sources) -> None:
    arguments = {"duration": 1, "steps": 2}
    assert "completed" in everything.call("everything__trigger_long_running_operation", arguments).text


@pytest.fixture(scope="module")
def depot(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sources]:
    port = free_port()
    with serving([str(FASTMCP_PYTHON), str(FOLDER / "fastmcp_server.py"), str(port)], port) as url:
        sources = Sources(tmp_path_factory.mktemp("depot"))
        sources.add("depot", remote(url))
        yield sources


def test_rows_of_a_fastmcp_server_keep_their_types_and_can_be_selected(depot: Sources) -> None:
    found = depot.call("depot__list_parts", select="stock > 0; name, number, stock").structured["result"]
    assert found["rows"] == [["bolt", "0017", 120], ["nut", "0042", 7]]
    assert depot.call("depot__find_part", {"number": "0042"}).structured["result"]["name"] == "nut"
    assert depot.call("depot__count_stock").structured["result"] == 127


def test_an_exception_of_a_fastmcp_tool_is_the_text_of_the_error(depot: Sources) -> None:
    error = depot.call("depot__find_part", {"number": "9"}).structured["error"]
    assert error["code"] == "UPSTREAM_ERROR"
    assert "no part has the number 9" in error["upstream_says"]


def test_pictures_and_effects_of_a_fastmcp_server(depot: Sources) -> None:
    found = depot.call("depot__picture_of_part", {"number": "0017"})
    assert found.blocks[0]["mimeType"] == "image/png"
    assert depot.code("depot__reserve_part", {"number": "0017"}) == ""
    assert depot.code("depot__scrap_part", {"number": "0017"}) == "APPROVAL_REQUIRED"
    assert depot.snapshot("depot")["server"]["version"] == "4.5.6"


@pytest.fixture(scope="module")
def five(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FiveSources]:
    with five_sources(tmp_path_factory.mktemp("five")) as running:
        yield running


@pytest.fixture
def sources(five: FiveSources, monkeypatch: pytest.MonkeyPatch) -> FiveSources:
    """Return the sources with their keys, which the fixtures of all tests remove."""
    for name, value in five.environment.items():
        monkeypatch.setenv(name, value)
    return five


def call(sources: FiveSources, name: str, **arguments: object) -> Result:
    return sources.app.server.tools.call("TOOL_CALL", {"tool_name": name, "arguments": arguments})


def test_names_do_not_collide_and_alpha_vantage_keeps_its_own(sources: FiveSources) -> None:
    names = list(sources.app.catalog_store())
    assert len({name_key(name) for name in names}) == len(names) == 150
    assert set(sources.alone.catalog_store()) < set(names)
    assert {name.partition("__")[0] for name in names if "__" in name} == {"clock", "cities", "shelter", "crm"}


def test_every_source_is_listed_with_what_lies_behind_it(sources: FiveSources) -> None:
    listed = sources.app.server.tools.call("TOOL_LIST", {}).structured
    found = {source["id"]: source for source in listed["sources"]}
    assert {id_: source["kind"] for id_, source in found.items()} == {
        "alpha_vantage": "alpha_vantage",
        "cities": "mcp",
        "clock": "mcp",
        "crm": "sql",
        "shelter": "openapi",
    }
    assert sum(source["tools"] for source in found.values()) == len(listed["tools"]) == 150
    for id_, source in found.items():
        of_one = sources.app.server.tools.call("TOOL_LIST", {"source": id_, "limit": 200, "token_budget": 20_000})
        assert len(of_one.structured["tools"]) == source["tools"]


def test_all_sources_answer_in_one_batch(sources: FiveSources) -> None:
    calls = [
        {"tool_name": "GLOBAL_QUOTE", "arguments": {"symbol": "IBM"}},
        {"tool_name": "clock__get_current_time", "arguments": {"timezone": "UTC"}},
        {"tool_name": "cities__cities", "arguments": {}},
        {"tool_name": "shelter__list_pets", "arguments": {}},
        {"tool_name": "crm__list_tables", "arguments": {}},
    ]
    answer = sources.app.server.tools.call("TOOL_CALL", {"tool_name": "TOOL_BATCH", "arguments": {"calls": calls}})
    assert [part.get("error", {}).get("code") for part in answer.structured["results"]] == [None] * 5


def test_a_source_that_is_down_fails_its_own_calls_alone(sources: FiveSources) -> None:
    sources.mcp_server.fault = "status_503"
    assert call(sources, "cities__cities-as-text").structured["error"]["code"] in ("UPSTREAM_ERROR", "UPSTREAM_TIMEOUT")
    for name, arguments in (
        ("GLOBAL_QUOTE", {"symbol": "MSFT"}),
        ("clock__get_current_time", {"timezone": "Asia/Tokyo"}),
        ("crm__query", {"sql": "select count(*) from customers"}),
        ("shelter__list_pets", {}),
    ):
        assert not call(sources, name, **arguments).is_error
