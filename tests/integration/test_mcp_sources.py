"""MCP servers as sources: real processes and real HTTP, from the snapshot to the answer of TOOL_CALL."""

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.cpu_time import cpu_within, ends_within
from tests.support.local_server import TokenEndpoint
from tests.support.mcp_server import PIXEL, ROWS, SECRET
from tests.support.mcp_sources import HttpServer, Sources, child, remote
from tests.support.waiting import wait_until
from toolfold.build.importers import mcp_fetch
from toolfold.client_call import serving
from toolfold.errors import SourceError

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def harbour(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sources]:
    """Return a catalog of two servers without faults: ``harbour`` over stdio and ``bay`` over HTTP."""
    with HttpServer("sse") as server:
        sources = Sources(tmp_path_factory.mktemp("harbour"))
        sources.add("harbour", child(), overlay={"tools": {"count": {"effect": "read"}}}, freshness_s=300)
        sources.add("bay", remote(server.url), freshness_s=300)
        yield sources


@pytest.fixture(params=["harbour", "bay"])
def server(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_a_snapshot_has_all_pages_and_what_the_server_says_of_itself(harbour: Sources) -> None:
    found = harbour.snapshot("harbour")
    assert len(found["tools"]) == 11
    assert found["server"] == {"name": "harbour", "version": "1.2.3"}
    assert (found["instructions"], found["protocol_version"]) == ("Ask for cities first.", "2025-11-25")
    source = harbour.app.catalog_store().source("harbour")
    assert (source.kind, source.version, source.instructions) == ("mcp", "1.2.3", "Ask for cities first.")
    assert source.fetched_at == found["fetched_at"]


def test_structured_rows_and_rows_in_a_text_can_be_selected(harbour: Sources, server: str) -> None:
    for tool in ("cities", "cities_as_text"):
        found = harbour.call(f"{server}__{tool}", select="people > 200000; city, people")
        assert found.structured["result"]["rows"] == [[row["city"], row["people"]] for row in ROWS[:2]]


def test_text_beside_the_data_is_in_the_structured_answer_too(harbour: Sources, server: str) -> None:
    """Some clients read structured content alone."""
    calls = [{"tool_name": f"{server}__cities_as_text"}, {"tool_name": f"{server}__cities"}]
    found = harbour.call(calls[0]["tool_name"])
    assert found.structured["further_text"] == [block["text"] for block in found.blocks] == ["As of 2024."]
    each = harbour.app.server.tools.call("TOOL_BATCH", {"calls": calls}).structured["results"]
    assert [one.get("further_text") for one in each] == [["As of 2024."], None]


def test_images_sounds_resources_and_links_are_passed_on_unaltered(harbour: Sources, server: str) -> None:
    for _ in range(2):  # the second time from the cache
        image, audio = harbour.call(f"{server}__picture").blocks
        assert image == {
            "type": "image",
            "data": PIXEL,
            "mimeType": "image/png",
            "annotations": {"audience": ["user"]},
        }
        assert audio == {"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav"}
    found = harbour.call(f"{server}__documents")
    assert [block["type"] for block in found.blocks] == ["resource", "resource", "resource_link"]
    assert found.blocks[2] == {"type": "resource_link", "uri": "note://3", "name": "third", "_meta": {"pages": 2}}
    assert "3 content blocks" in found.text


def test_the_trace_of_the_client_is_passed_on(harbour: Sources, server: str) -> None:
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    with serving(None, parent, "vendor=1") as trace_id:
        assert trace_id == "0af7651916cd43dd8448eb211c80319c"
        assert harbour.call(f"{server}__echo", {"text": "traced"}).structured["result"] == f"{parent} vendor=1"
    assert harbour.call(f"{server}__echo", {"text": "untraced"}).structured["result"] == "untraced"


def test_a_failure_that_the_server_reports_is_data_of_the_error(harbour: Sources, server: str) -> None:
    error = harbour.call(f"{server}__fail").structured["error"]
    assert error["code"] == "UPSTREAM_ERROR"
    assert error["upstream_says"].startswith("No such berth")


def test_effects_come_from_the_annotations_that_are_trusted(harbour: Sources) -> None:
    effects = {
        name: tool.effect for name in harbour.app.catalog_store() if (tool := harbour.app.catalog_store().get(name))
    }
    assert effects["harbour__echo"] == effects["harbour__count"] == "read"  # the latter by overlay.yaml
    assert effects["harbour__save"] == "write"
    assert effects["harbour__remove"] == effects["bay__count"] == "destructive"
    assert harbour.code("harbour__remove") == "APPROVAL_REQUIRED"


def test_a_call_reuses_the_process_and_a_dead_one_is_started_again(harbour: Sources) -> None:
    before = int(harbour.call("harbour__count", fresh=True).structured["result"])
    assert int(harbour.call("harbour__count", fresh=True).structured["result"]) == before + 1


def test_what_was_made_of_the_key_is_in_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    client = "client-9:a+secret/of-the-client"
    monkeypatch.setenv("TOOLFOLD_SOURCE_HARBOUR_KEY", client)
    with HttpServer() as running, TokenEndpoint(client) as endpoint:
        sources = Sources(tmp_path, ALLOWED_HOSTS=endpoint.url.rpartition("/")[2], CACHE="off")
        auth = {"oauth2": {"token_url": f"{endpoint.url}/token"}}
        sources.add("harbour", remote(running.url), auth=auth)
        sources.call("harbour__echo", {"text": "x"})
        token = running.requests[-1][0]["authorization"].removeprefix("Bearer ")
        for secret in (token, client, client.partition(":")[2]):
            answer = sources.call("harbour__echo", {"text": f"said {secret}"})
            assert answer.text.startswith("said ")
            assert secret not in f"{answer.text} {answer.structured}"
            monkeypatch.setenv("HARBOUR_KEY", secret)
            assert secret not in str(sources.call("harbour__fail").structured)


def test_the_key_reaches_its_server_and_is_in_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = "sk-harbour-0123456789"
    monkeypatch.setenv("TOOLFOLD_SOURCE_HARBOUR_KEY", key)
    monkeypatch.setenv("TOOLFOLD_SOURCE_BAY_KEY", "sk-bay-0123456789")
    sources = Sources(tmp_path, SOURCE_HARBOUR_KEY=key, SOURCE_BAY_KEY="sk-bay-0123456789")
    auth = {"environment": "TOOLFOLD_SOURCE_HARBOUR_KEY"}
    with HttpServer() as server:
        sources.add("harbour", {**child(), "key_variable": "HARBOUR_KEY", "auth": auth})
        sources.add("bay", remote(server.url), auth={"environment": "TOOLFOLD_SOURCE_BAY_KEY"})
        found = sources.call("harbour__fail")
        assert found.structured["error"]["upstream_says"] == "No such berth; the key was [key]"
        assert key not in found.text
        for fault, written in {"dies_at_start": "1 / 2 / 3 / 4 / no berth", "errs_at_start": "Error: no berth"}.items():
            sources.write("harbour", {**child(fault), "key_variable": "HARBOUR_KEY", "auth": auth})
            with pytest.raises(SourceError, match=rf"It wrote: {written} for \[key\]\."):
                sources.refresh("harbour")
        # What is no message on stdout, in words or in JSON, is a log.
        sources.write("harbour", {**child("leaks"), "key_variable": "HARBOUR_KEY", "auth": auth})
        assert not sources.refresh("harbour")
        assert sources.code("bay__echo", {"text": "hi"}) == ""
        assert {headers.get("authorization") for headers, _ in server.requests} == {"Bearer sk-bay-0123456789"}
        assert key not in json.dumps(server.requests)


FAULTS = {
    "dies": "UPSTREAM_ERROR",
    "dies_at_start": "UPSTREAM_ERROR",
    "malformed": "UPSTREAM_ERROR",
    "not_mcp": "UPSTREAM_ERROR",
    "refuses": "UPSTREAM_ERROR",
    "sampling": "UPSTREAM_ERROR",
    "samples": "UPSTREAM_ERROR",
    "status_503": "UPSTREAM_ERROR",
    "large": "ANSWER_TOO_LARGE",
    "many_blocks": "ANSWER_TOO_LARGE",
    "changed": "SOURCE_CHANGED",
    "gone": "SOURCE_CHANGED",
    "hang": "UPSTREAM_TIMEOUT",
    "slow_list": "UPSTREAM_TIMEOUT",
}
OVER_HTTP = ("malformed", "not_mcp", "sampling", "status_503", "large", "many_blocks", "hang")
"""Faults that the transport of HTTP sees, or that end its stream."""


def limited(tmp_path: Path) -> Sources:
    return Sources(tmp_path, MAX_RESPONSE_BYTES="1000000", BREAKER_FAILURES="50", TIMEOUT_S="60")


def own_timeout(fault: str) -> dict[str, float]:
    """Return the time-out of a faulty source alone: a busy machine starts the other ones slowly."""
    return {"timeout_s": 2} if FAULTS[fault] == "UPSTREAM_TIMEOUT" else {}


@pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault != "status_503"])
def test_a_faulty_process_fails_its_own_calls_with_a_clear_error(
    fault: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    sources = limited(tmp_path)
    sources.add("well", child())
    sources.add("harbour", child(), fault, **own_timeout(fault))
    found = sources.call("harbour__echo", {"text": "hi"})
    assert found.structured["error"]["code"] == FAULTS[fault], found.text
    assert sources.code("well__echo", {"text": "hi"}) == ""
    if fault in ("sampling", "samples"):
        error = found.structured["error"]
        assert (error["refused"], error["upstream_says"]) == ("sampling/createMessage", "No model to ask.")
    if fault == "changed":  # its other tools are as they were
        assert sources.code("harbour__cities") == ""
    out, err = capfd.readouterr()
    assert SECRET not in found.text + out + err
    assert "Traceback" not in out + err


@pytest.mark.parametrize("fault", OVER_HTTP)
def test_a_faulty_server_fails_its_own_calls_with_a_clear_error(fault: str, tmp_path: Path) -> None:
    sources = limited(tmp_path)
    with HttpServer() as well, HttpServer(fault) as faulty:
        sources.add("bay", remote(well.url), then=remote(faulty.url), **own_timeout(fault))
        found = sources.call("bay__echo", {"text": "hi"})
        assert found.structured["error"]["code"] == FAULTS[fault], found.text
        assert SECRET not in found.text


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_a_server_that_floods_its_client_with_notifications_is_disconnected(
    transport: str, sources: Sources, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolfold.sources.mcp.client.NOTIFICATIONS_S", 600)  # a busy machine reads slowly
    with HttpServer() as well, HttpServer("notifies") as faulty:
        if transport == "stdio":
            sources.add("bay", child(), "notifies")
        else:
            sources.add("bay", remote(well.url), then=remote(faulty.url))
        with cpu_within(10):
            found = sources.call("bay__echo", {"text": "hi"})
        assert found.structured["error"]["code"] == "UPSTREAM_ERROR"
        assert "more than 10,000 notifications in 10 s" in found.text


def test_a_server_without_handshake_is_spoken_to_in_its_own_version(sources: Sources) -> None:
    with HttpServer("stateless") as server:
        sources.add("bay", remote(server.url))
        assert sources.snapshot("bay")["protocol_version"] == "2026-07-28"
        assert sources.code("bay__cities") == ""
        methods = [message["method"] for _, message in server.requests]
        assert "initialize" not in methods
        assert server.requests[-1][0]["mcp-name"] == "cities"


def test_what_a_tool_asks_for_in_its_result_is_refused_by_name(sources: Sources) -> None:
    with HttpServer("elicits") as server:
        sources.add("bay", remote(server.url))
        assert sources.call("bay__echo").structured["error"]["refused"] == "elicitation/create"


def test_a_session_that_the_server_has_forgotten_is_opened_again(tmp_path: Path) -> None:
    with HttpServer() as server:
        sources = Sources(tmp_path, CACHE="off")
        sources.add("bay", remote(server.url))
        assert sources.code("bay__save", {"note": "one"}) == ""
        server.forget_sessions()
        assert sources.code("bay__save", {"note": "two"}) == ""
        saved = [
            message["params"]["arguments"]["note"]
            for headers, message in server.requests
            if message.get("method") == "tools/call" and headers["mcp-session-id"] in server.sessions
        ]
        assert saved == ["two"]


def test_a_process_that_died_in_a_read_is_started_again_and_a_write_is_not_repeated(
    tmp_path: Path, sources: Sources
) -> None:
    marker = tmp_path / "died"
    sources.add("harbour", child(), "dies_once", str(marker))
    assert sources.code("harbour__echo", {"text": "hi"}) == ""
    marker.unlink()
    error = sources.call("harbour__save", {"note": "hi"}).structured["error"]
    assert error["code"] == "UPSTREAM_ERROR"
    assert "not known whether the call took effect" in error["suggestion"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_fork_leaves_the_connection_to_the_parent(tmp_path: Path) -> None:
    sources = Sources(tmp_path, CACHE="off")
    sources.add("harbour", child())
    assert sources.code("harbour__echo") == ""
    copy = os.fork()
    if not copy:
        os._exit(0 if sources.code("harbour__echo") == "" else 1)
    assert os.waitpid(copy, 0)[1] == 0
    assert sources.code("harbour__echo") == ""


def test_a_call_that_is_given_up_is_cancelled_at_the_server(tmp_path: Path, sources: Sources) -> None:
    marker = tmp_path / "cancelled"
    sources.add("harbour", child(), "", str(marker), timeout_s=1.5)
    wait_until(lambda: sources.code("harbour__echo") == "")  # a busy machine starts the process slowly
    with serving(time.monotonic()):  # no time in which progress would count
        assert sources.code("harbour__wait", {"seconds": 20}) == "UPSTREAM_TIMEOUT"
    wait_until(lambda: marker.read_text() == "cancelled")


@pytest.mark.parametrize(("budget_s", "wait_s", "code"), [(None, 6, ""), (3.0, 60, "UPSTREAM_TIMEOUT")])
def test_progress_extends_the_time_out_of_the_source_and_not_the_deadline_of_the_caller(
    budget_s: float | None, wait_s: float, code: str, sources: Sources
) -> None:
    sources.add("harbour", child(), timeout_s=4)
    wait_until(lambda: sources.code("harbour__echo") == "")  # a busy machine starts the process slowly
    with ends_within(6), serving(None if budget_s is None else time.monotonic() + budget_s):
        assert sources.code("harbour__wait", {"seconds": wait_s}) == code


REFUSED_AT_REFRESH = {
    "many_tools": "lists more than 2,000 tools",
    "endless": "more than 500 pages",
    "hang": "did not answer in",
    "dies_at_start": "ended while it was starting",
}


@pytest.mark.parametrize("fault", REFUSED_AT_REFRESH)
def test_a_refresh_that_fails_writes_nothing(
    fault: str, sources: Sources, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = sources.write("harbour", child())
    sources.refresh("harbour")
    before = (folder / "snapshot.json").read_bytes()
    sources.write("harbour", child(fault))
    monkeypatch.setattr(mcp_fetch, "TIMEOUT_S", 5 if fault == "hang" else 120)
    with pytest.raises(SourceError, match=REFUSED_AT_REFRESH[fault]) as caught:
        sources.refresh("harbour")
    assert (folder / "snapshot.json").read_bytes() == before
    assert sorted(os.listdir(folder)) == ["snapshot.json", "source.yaml"]
    out, err = capfd.readouterr()
    assert SECRET not in str(caught.value) + out + err


def test_some_of_many_tools_can_be_included(sources: Sources) -> None:
    sources.write("harbour", child("many_tools"), include=["tool_99?", "tool_5"], exclude=["tool_999"])
    assert len(sources.refresh("harbour").added) == 10
    assert [tool["name"] for tool in sources.snapshot("harbour")["tools"]][:2] == ["tool_5", "tool_990"]


@pytest.mark.parametrize("is_trusted", [True, False])
def test_new_tools_that_say_nothing_of_their_effect_are_counted(sources: Sources, is_trusted: bool) -> None:
    sources.write("harbour", child(), trust_annotations=is_trusted, exclude=["tool_*"])
    notes = sources.refresh("harbour").notes
    assert ("1 tool without annotations" in str(notes)) == is_trusted
    assert sources.refresh("harbour").notes == ()


def test_a_check_reports_what_changed_and_writes_nothing(sources: Sources) -> None:
    folder = sources.write("harbour", child())
    sources.refresh("harbour")
    before = (folder / "snapshot.json").read_bytes()
    assert not sources.refresh("harbour")
    assert (folder / "snapshot.json").read_bytes() == before  # a date alone is no change
    sources.write("harbour", child("changed"))
    report = sources.refresh("harbour", check=True)
    assert (list(report.added), list(report.removed), list(report.changed)) == ([], [], ["echo"])
    sources.write("harbour", child("gone"))
    assert list(sources.refresh("harbour", check=True).removed) == ["echo"]
    assert (folder / "snapshot.json").read_bytes() == before


def test_a_program_that_is_not_allowed_is_not_started(sources: Sources, caplog: pytest.LogCaptureFixture) -> None:
    sources.add("harbour", child())
    sources.environment["TOOLFOLD_ALLOWED_COMMANDS"] = f"bay={child()['command']}"
    error = sources.call("harbour__echo").structured["error"]
    assert error["code"] == "UPSTREAM_ERROR"
    assert "may not be started here" in error["message"]
    assert "harbour=" in caplog.text
    with pytest.raises(SourceError, match="TOOLFOLD_ALLOWED_COMMANDS='harbour="):
        sources.refresh("harbour")


def test_a_program_is_refused_on_lambda(sources: Sources, monkeypatch: pytest.MonkeyPatch) -> None:
    sources.add("harbour", child())
    monkeypatch.setenv("AWS_LAMBDA_FUNCTION_NAME", "gateway")
    assert "a Lambda function cannot do" in sources.call("harbour__echo").structured["error"]["message"]
