"""A conversation over stdio: who answers when, what is never answered, and how it ends."""

import errno
import json
import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import Any, BinaryIO

import pytest

from tests.support.cpu_time import ends_within
from tests.support.mcp_requests import message
from tests.support.waiting import wait_until
from toolfold.catalog.store import FileStore, bundled_path
from toolfold.errors import AuthorizationRequired
from toolfold.execution.executor import ToolExecutor
from toolfold.meta_tools.dispatcher import MetaTools
from toolfold.meta_tools.result import error_result
from toolfold.protocol.mcp import Server
from toolfold.settings import Settings
from toolfold.transports import stdio
from toolfold.transports.stdio import MAX_WORKERS, StdioSession

CATALOG = FileStore(bundled_path())


def server(catalog: Any = CATALOG) -> Server:
    return Server(MetaTools(catalog, ToolExecutor(Settings.from_environment({}))))


class Gate:
    """A catalog that is there when it is opened: a call waits for it, as it would for an upstream."""

    def __init__(self) -> None:
        self._opened = threading.Event()
        self.waiting = 0

    def open(self) -> None:
        self._opened.set()

    def __call__(self) -> Any:
        self.waiting += 1
        assert self._opened.wait(60)
        return CATALOG()


def line(method: str, id_: Any = None, **params: Any) -> bytes:
    sent = message(method, params, id_)
    return json.dumps(sent if id_ is not None else {"jsonrpc": "2.0", "method": method, "params": params}).encode()


def call(id_: Any) -> bytes:
    return line("tools/call", id_, name="TOOL_GET", arguments={"tool_name": "CPI"})


def answers(outgoing: bytes) -> list[dict[str, Any]]:
    return [json.loads(one) for one in outgoing.split(b"\n")[:-1]]


def piped(*lines: bytes, to: Server | None = None, end: bytes = b"\n") -> list[dict[str, Any]]:
    """What is answered to lines when the input ends right after them."""
    outgoing = BytesIO()
    StdioSession(to or server(), drain_timeout_s=60).serve(BytesIO(b"\n".join(lines) + end), outgoing)
    return answers(outgoing.getvalue())


@contextmanager
def conversing(to: Server) -> Iterator[tuple[BinaryIO, BinaryIO]]:
    """Pipes to and from a conversation."""
    (their_in, our_out), (our_in, their_out) = os.pipe(), os.pipe()

    def hold() -> None:
        with os.fdopen(their_in, "rb") as incoming, os.fdopen(their_out, "wb") as outgoing:
            StdioSession(to, 60).serve(incoming, outgoing)

    held = threading.Thread(target=hold)
    held.start()
    with os.fdopen(our_in, "rb") as read:
        with os.fdopen(our_out, "wb", 0) as write:
            yield write, read
        held.join(60)
    assert not held.is_alive()


def test_later_request_is_answered_while_a_call_waits() -> None:
    gate = Gate()
    with conversing(server(gate)) as (write, read):
        write.write(call("slow") + b"\n" + line("ping", "quick") + b"\n")
        assert json.loads(read.readline())["id"] == "quick"
        gate.open()
        assert json.loads(read.readline())["id"] == "slow"


def test_many_calls_are_answered_by_few_workers() -> None:
    gate, before = Gate(), threading.active_count()
    with conversing(server(gate)) as (write, read):
        ids = set(range(3 * MAX_WORKERS))
        write.write(b"".join(call(id_) + b"\n" for id_ in ids))
        wait_until(lambda: gate.waiting >= MAX_WORKERS)
        write.write(line("ping", "quick") + b"\n")
        assert json.loads(read.readline())["id"] == "quick"
        assert gate.waiting == MAX_WORKERS
        assert threading.active_count() <= before + 3 + MAX_WORKERS  # the session, stdin and stdout
        gate.open()
        assert {json.loads(read.readline())["id"] for _ in ids} == ids


def test_cancelled_call_is_not_answered() -> None:
    gate = Gate()
    with conversing(server(gate)) as (write, read):
        write.write(call(7) + b"\n" + call("7") + b"\n")
        wait_until(lambda: gate.waiting >= 2)
        write.write(line("notifications/cancelled", requestId=7) + b"\n" + line("ping", "after") + b"\n")
        assert json.loads(read.readline())["id"] == "after"
        gate.open()
        assert json.loads(read.readline())["id"] == "7"
        write.close()
        assert read.read() == b""


def test_no_more_calls_are_read_than_may_be_pending(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stdio, "MAX_PENDING", 60)
    gate = Gate()
    with conversing(server(gate)) as (write, read):
        write.write(b"".join(call(id_) + b"\n" for id_ in range(60)))
        wait_until(lambda: gate.waiting >= MAX_WORKERS)
        write.write(b"".join(call(id_) + b"\n" for id_ in range(60, 100)) + line("ping", "p") + b"\n")
        assert not select.select([read], [], [], 0.2)[0]
        gate.open()
        assert {json.loads(read.readline())["id"] for _ in range(101)} == {*range(100), "p"}


def test_call_cancelled_in_the_queue_is_not_made() -> None:
    gate = Gate()
    with conversing(server(gate)) as (write, read):
        write.write(b"".join(call(id_) + b"\n" for id_ in range(MAX_WORKERS + 1)))
        wait_until(lambda: gate.waiting >= MAX_WORKERS)
        write.write(line("notifications/cancelled", requestId=MAX_WORKERS) + b"\n" + line("ping", "after") + b"\n")
        assert json.loads(read.readline())["id"] == "after"
        gate.open()
        assert {json.loads(read.readline())["id"] for _ in range(MAX_WORKERS)} == set(range(MAX_WORKERS))
        write.close()
        assert read.read() == b""
    assert gate.waiting == 2 * MAX_WORKERS  # each call looks at the catalog twice


@pytest.mark.parametrize(
    "cancelled", [{}, {"requestId": None}, {"requestId": [1]}, {"requestId": True}, {"requestId": "unknown"}], ids=str
)
def test_cancellation_of_an_unknown_id_is_ignored(cancelled: dict[str, Any]) -> None:
    assert [answer["id"] for answer in piped(call(1), line("notifications/cancelled", **cancelled))] == [1]


def test_answers_without_an_upstream_keep_their_order() -> None:
    methods = ["initialize", "tools/list", "ping", "no/such", "server/discover", "ping"]
    assert [answer["id"] for answer in piped(*(line(each, id_) for id_, each in enumerate(methods)))] == [*range(6)]


def test_last_line_needs_no_line_feed() -> None:
    assert [answer["id"] for answer in piped(line("ping", 1), line("ping", 2), end=b"")] == [1, 2]


def test_invalid_lines_are_logged_only(caplog: pytest.LogCaptureFixture) -> None:
    assert piped(b"{broken", b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', b'"ping"', b"\xff", b" \t", b"") == []
    assert [record.message.partition(": ")[2] for record in caplog.records] == [
        "The body is not valid JSON.",
        "Batches are not supported: send one JSON-RPC message as an object.",
        "The body must be one JSON-RPC message as an object.",
        "The body is not valid JSON.",
    ]


def test_line_over_the_limit_is_logged_only(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(stdio, "MAX_LINE_BYTES", 100)
    longest = line("ping", 1).ljust(99)
    assert len(longest + b"\n") == 100
    received = piped(longest, b"x" * 100, b"x" * 1_000, line("ping", 2))
    assert [answer["id"] for answer in received] == [1, 2]
    assert caplog.messages == ["a line on stdin was skipped: It is longer than 100 bytes."] * 2


# R24
def test_client_that_does_not_read_is_not_read_from(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stdio, "MAX_UNSENT_BYTES", 100_000)
    (their_in, our_out), (our_in, their_out) = os.pipe(), os.pipe()
    session = StdioSession(server(), 60)
    requests = 2_000

    def hold() -> None:
        with os.fdopen(their_in, "rb") as incoming, os.fdopen(their_out, "wb") as outgoing:
            session.serve(incoming, outgoing)

    def write() -> None:
        with os.fdopen(our_out, "wb", 0) as writing:
            for id_ in range(requests):
                writing.write(line("tools/list", id_).ljust(500) + b"\n")  # more than the pipe holds

    threads = [threading.Thread(target=hold), threading.Thread(target=write)]
    for thread in threads:
        thread.start()
    wait_until(lambda: session._unsent_bytes > 100_000)
    time.sleep(0.2)  # in which it must not read on
    wait_until(lambda: session._unsent_bytes > 100_000)
    assert session._unsent_bytes < 150_000
    assert threads[1].is_alive()  # its pipe is full
    with os.fdopen(our_in, "rb") as read:
        assert [json.loads(read.readline())["id"] for _ in range(requests)] == [*range(requests)]
    for thread in threads:
        thread.join(60)


@pytest.mark.parametrize(
    "id_", ["", "\0", "é😀", "a\nb", 0, -1, 2**53 + 1, 10**4_000, "x" * 100_000], ids=lambda id_: str(id_)[:8]
)
def test_odd_id_comes_back_unchanged(id_: Any) -> None:
    assert [answer["id"] for answer in piped(line("ping", id_), call(id_), line("no/such", id_))] == [id_] * 3


@pytest.mark.parametrize("body", [b'"method":"\\ud800"', b'"method":"ping","params":{"a":1e999}'])
def test_request_that_cannot_be_sent_back_is_answered(body: bytes) -> None:
    (answer,) = piped(b'{"jsonrpc":"2.0","id":3,' + body + b"}")
    assert (answer["id"], answer["error"]["code"]) == (3, -32700)


def test_only_the_first_skipped_lines_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    assert piped(*[b"{"] * 1_000) == []
    assert len(caplog.records) == stdio.MAX_LOGGED_LINES
    assert caplog.messages[-1].endswith("; further ones are not logged")


def test_stopped_session_answers_what_it_has_received() -> None:
    gate = Gate()
    session = StdioSession(server(gate), 60)
    (their_in, our_out), (our_in, their_out) = os.pipe(), os.pipe()
    with os.fdopen(their_in, "rb") as incoming, os.fdopen(our_out, "wb", 0) as write, os.fdopen(our_in, "rb") as read:
        with os.fdopen(their_out, "wb") as outgoing:
            held = threading.Thread(target=session.serve, args=(incoming, outgoing))
            held.start()
            write.write(call(1) + b"\n")
            wait_until(lambda: gate.waiting >= 1)
            session.stop()
            write.write(line("ping", 2) + b"\n")
            gate.open()
            held.join(60)  # although the input has not ended
            assert not held.is_alive()
        assert [json.loads(one)["id"] for one in read] == [1]


def test_end_of_input_waits_at_most_the_drain_timeout() -> None:
    gate, outgoing = Gate(), BytesIO()
    session = StdioSession(server(gate), drain_timeout_s=0.5)
    started = time.monotonic()
    with ends_within(0.5):
        session.serve(BytesIO(call(1) + b"\n" + line("ping", 2)), outgoing)
    assert time.monotonic() - started >= 0.5
    assert [answer["id"] for answer in answers(outgoing.getvalue())] == [2]
    gate.open()


def test_stopped_session_does_not_wait_for_all_that_is_queued(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stdio, "MAX_WORKERS", 1)

    def slow() -> Any:
        time.sleep(0.05)
        return CATALOG()

    outgoing, session = BytesIO(), StdioSession(server(slow), drain_timeout_s=0.5)

    class Stopped(BytesIO):
        def readline(self, size: int | None = -1) -> bytes:
            if not (read := super().readline(size)):
                session.stop()
            return read

    session.serve(Stopped(b"\n".join(map(call, range(40)))), outgoing)
    assert 0 < len(answers(outgoing.getvalue())) < 40


class Hangup(BytesIO):
    """An input whose terminal is gone after its first line."""

    def readline(self, size: int | None = -1) -> bytes:
        if found := super().readline(size):
            return found
        raise OSError(errno.EIO, "Input/output error")


def test_an_input_that_cannot_be_read_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    raised: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", raised.append)
    closed, gone, outgoing = BytesIO(), Hangup(line("ping", 1) + b"\n"), BytesIO()
    closed.close()
    for incoming in (closed, gone):
        StdioSession(server(), drain_timeout_s=60).serve(incoming, outgoing)
    assert [answer["id"] for answer in answers(outgoing.getvalue())] == [1]
    assert not raised


def test_a_client_that_opens_links_is_known_to_the_next_server(monkeypatch: pytest.MonkeyPatch) -> None:
    error = AuthorizationRequired(
        "Sign in at the source.", "Open the link.", authorization_url="https://a.test/?ticket=1"
    )
    monkeypatch.setattr(MetaTools, "call", lambda *_, **__: error_result(error))
    session, outgoing = StdioSession(server(), 20), BytesIO()

    class Reloading(BytesIO):
        def readline(self, size: int | None = -1) -> bytes:
            session.use(server())
            return super().readline(size)

    opening = line("initialize", 1, capabilities={"elicitation": {"url": {}}})
    session.serve(Reloading(b"\n".join([opening, call(2)])), outgoing)
    assert [answer["error"]["code"] for answer in answers(outgoing.getvalue()) if answer.get("id") == 2] == [-32042]


def test_internal_error_fails_one_request(caplog: pytest.LogCaptureFixture) -> None:
    def broken() -> Any:
        raise ValueError("https://host/?apikey=SECRET")

    listed, pinged = piped(line("tools/list", 1), line("ping", 2), to=server(broken))
    assert listed["error"] == {"code": -32603, "message": "toolfold failed on this request."}
    assert pinged["result"] == {}
    assert caplog.messages == ["defect in tools/list: ValueError"]


FORBIDDEN = {
    "argparse", "asyncio", "aws_lambda_powertools", "boto3", "botocore", "concurrent.futures", "email", "http.client",
    "jmespath", "jsonschema_rs", "mcp", "mcp_types", "obstore", "pydantic", "rapidfuzz", "requests", "sqlite3", "ssl",
    "subprocess", "urllib3", "yaml",
}  # fmt: skip
"""Modules that the first answers do not need; the agent waits while they are imported."""

MAX_TOOLFOLD_MODULES = 40
"""Modules of toolfold, packages included, that the first answers need."""

PROGRAM = """
import sys
import toolfold.cli
toolfold.cli.main(["stdio"])
print(*sys.modules, file=sys.stderr)
"""


def test_start_imports_only_what_the_first_answers_need() -> None:
    asked = [line("initialize", 1), line("tools/list", 2)]
    done = subprocess.run([sys.executable, "-c", PROGRAM], input=b"\n".join(asked), capture_output=True, check=True)
    assert [answer["id"] for answer in answers(done.stdout)] == [1, 2]
    imported = done.stderr.decode().split()
    assert FORBIDDEN.isdisjoint(imported)
    assert len([name for name in imported if name.startswith("toolfold")]) <= MAX_TOOLFOLD_MODULES


@pytest.mark.parametrize("at_terminal", [True, False])
def test_a_person_at_a_terminal_reads_what_the_server_waits_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], at_terminal: bool
) -> None:
    monkeypatch.setattr("os.isatty", lambda _: at_terminal)
    stdio._greet()
    shown = capsys.readouterr()
    assert shown.out == ""
    assert ("toolfold install CLIENT" in shown.err and "Ctrl-D ends" in shown.err) == at_terminal
