"""Tasks: calls that take longer than one request may, polled by a client of version 2026-07-28."""

import functools
import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.support.mcp_requests import stateless
from tests.support.request_time import end_requests_after
from tests.support.upstream import Reply, Upstream, quote_reply
from toolfold.errors import AuthorizationRequired
from toolfold.meta_tools.dispatcher import MetaTools
from toolfold.meta_tools.result import error_result
from toolfold.protocol.mcp import Server
from toolfold.protocol.versions import META_CAPABILITIES, META_VERSION, TASKS

SYMBOLS = [f"SLOW{number}" for number in range(10)]
MANY = [f"SLOW{number}" for number in range(30)]
SCRIPT = f"[call('GLOBAL_QUOTE', symbol=symbol)['symbol'] for symbol in {SYMBOLS}]"


def quote(symbol: str, **more: Any) -> dict[str, Any]:
    return {"tool_name": "GLOBAL_QUOTE", "arguments": {"symbol": symbol}, **more}


LONG = {
    "batch": ("TOOL_BATCH", {"calls": [quote(one) for one in SYMBOLS], "max_parallel": 2}),
    "list": ("TOOL_CALL", quote("", arguments={"symbol": MANY}, select="symbol")),
    "pipe": ("TOOL_PIPE", {"steps": [quote(one) for one in SYMBOLS], "return": "all"}),
    "script": ("TOOL_SCRIPT", {"script": SCRIPT}),
}


class Client:
    """A client that has the extension, unless ``extensions`` is empty."""

    def __init__(self, server: Server, key: str = "mine") -> None:
        self.server, self.key = server, key

    def send(self, method: str, extensions: tuple[str, ...] = (TASKS,), **params: Any) -> dict[str, Any]:
        meta = {META_VERSION: "2026-07-28", META_CAPABILITIES: {"extensions": {key: {} for key in extensions}}}
        names = {"mcp_name": params["taskId"]} if "taskId" in params else {}
        sent = stateless(method, {**params, "_meta": meta}, x_api_key=self.key, **names)
        response = self.server.handle_http(sent._replace(deadline=time.monotonic() + 60))
        answer: dict[str, Any] = json.loads(response.body)
        return answer

    def call(self, name: str, arguments: Any, **more: Any) -> dict[str, Any]:
        result: dict[str, Any] = self.send("tools/call", name=name, arguments=arguments, **more)["result"]
        return result

    def task(self, method: str, id_: str, **more: Any) -> dict[str, Any]:
        return self.send(f"tasks/{method}", taskId=id_, **more)


@pytest.fixture
def requested() -> list[str]:
    return []


@pytest.fixture
def make_server(
    make_tools: Callable[..., MetaTools], requested: list[str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Server]]:
    end_requests_after(monkeypatch, answers=4)

    def reply(query: dict[str, str]) -> Reply:
        requested.append(query["symbol"])
        return quote_reply(query)

    with Upstream(reply) as upstream:

        def make(**settings: str) -> Server:
            given = {"TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": upstream.url, "TOOLFOLD_REQUESTS_PER_SECOND": "1000"}
            return Server(make_tools(**given, **settings))

        yield make


def finished(clients: Iterator[Client], id_: str) -> dict[str, Any]:
    """Poll with the clients in turn until the task has ended, and return it."""
    for _, client in zip(range(20), clients, strict=False):
        task: dict[str, Any] = client.task("get", id_)["result"]
        assert task["resultType"] == "complete"
        if task["status"] != "working":
            return task
    raise AssertionError("the task does not end")


@pytest.mark.parametrize("kind", LONG)
def test_a_long_call_becomes_a_task_whose_result_is_that_of_the_whole_call(
    make_server: Callable[..., Server], requested: list[str], kind: str
) -> None:
    if kind == "script":
        pytest.importorskip("pydantic_monty")
    client = Client(make_server())
    created = client.call(*LONG[kind])
    assert created["resultType"] == "task", created
    assert (created["status"], created["ttlMs"]) == ("working", 900_000)
    assert "content" not in created
    task = finished(iter(lambda: client, None), created["taskId"])
    assert (task["status"], task["result"]["isError"]) == ("completed", False)
    text = task["result"]["content"][0]["text"]
    assert all(symbol in text for symbol in SYMBOLS)
    assert not task["result"]["structuredContent"].get("continue")
    assert requested.count(SYMBOLS[0]) == 1
    again = client.task("get", created["taskId"])["result"]
    assert (again["status"], again["result"]["content"]) == ("completed", task["result"]["content"])


def test_any_process_that_shares_the_cache_continues_a_task(make_server: Callable[..., Server], tmp_path: Any) -> None:
    first, second = (Client(make_server(TOOLFOLD_CACHE=str(tmp_path / "cache.db"))) for _ in range(2))
    created = first.call(*LONG["batch"])
    task = finished(iter([second] * 20), created["taskId"])
    assert task["result"]["structuredContent"]["summary"]["succeeded"] == len(SYMBOLS)


def test_a_client_without_the_extension_gets_what_it_got_before(make_server: Callable[..., Server]) -> None:
    client = Client(make_server())
    answer = client.call(*LONG["batch"], extensions=())
    assert answer["resultType"] == "complete"
    assert answer["structuredContent"]["continue"]


def test_a_short_call_and_one_that_must_be_fresh_are_no_tasks(make_server: Callable[..., Server]) -> None:
    client = Client(make_server())
    assert client.call("TOOL_CALL", quote("ONE"))["resultType"] == "complete"
    fresh = [quote(one, fresh=True) for one in SYMBOLS]
    assert client.call("TOOL_BATCH", {"calls": fresh, "max_parallel": 2})["resultType"] == "complete"


def test_a_call_that_gets_no_further_ends_with_what_it_has(make_server: Callable[..., Server]) -> None:
    client = Client(make_server(TOOLFOLD_CACHE="off"))
    created = client.call(*LONG["batch"])
    task = finished(iter(lambda: client, None), created["taskId"])
    assert task["status"] == "completed"
    assert task["result"]["structuredContent"]["summary"]["skipped"]


def test_a_task_whose_call_needs_its_user_in_the_end_has_that_error(
    make_server: Callable[..., Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    server = make_server()
    client = Client(server)
    created = client.call(*LONG["batch"])
    result = error_result(AuthorizationRequired("Sign in at the source.", "Open the link."))
    monkeypatch.setattr(MetaTools, "call", lambda *_, **__: result)
    task = client.task("get", created["taskId"])["result"]
    assert (task["status"], task["result"]["isError"]) == ("completed", True)
    assert task["result"]["structuredContent"]["error"]["code"] == AuthorizationRequired.code


def test_a_task_is_of_the_tool_that_was_called_by_its_own_name(make_server: Callable[..., Server]) -> None:
    client = Client(make_server(TOOLFOLD_MODE="direct"))
    created = client.call("GLOBAL_QUOTE", {"symbol": MANY})
    assert created["resultType"] == "task", created
    task = finished(iter(lambda: client, None), created["taskId"])
    assert all(symbol in json.dumps(task["result"]["structuredContent"]) for symbol in MANY)


def test_a_cancelled_task_stays_so_and_is_worked_at_no_more(
    make_server: Callable[..., Server], requested: list[str]
) -> None:
    client = Client(make_server())
    id_ = client.call(*LONG["pipe"])["taskId"]
    assert client.task("cancel", id_)["result"].keys() == {"resultType", "_meta"}
    before = len(requested)
    assert client.task("get", id_)["result"]["status"] == "cancelled"
    assert len(requested) == before
    assert client.task("update", id_, inputResponses={})["result"]["resultType"] == "complete"


def test_a_task_is_of_its_caller_alone(make_server: Callable[..., Server]) -> None:
    server = make_server()
    client, stranger = Client(server), Client(server, key="theirs")
    id_ = client.call(*LONG["batch"])["taskId"]
    get = functools.partial(client.task, "get")
    wrong = [stranger.task("get", id_), stranger.task("cancel", id_), get("other"), get(""), get("é" * 5000)]
    assert {answer["error"]["code"] for answer in wrong} <= {-32602, -32020}
    assert wrong[0]["error"]["message"] == wrong[2]["error"]["message"]
    missing = client.send("tasks/get", (), taskId=id_)["error"]
    assert (missing["code"], missing["data"]) == (-32021, {"requiredCapabilities": {"extensions": {TASKS: {}}}})
