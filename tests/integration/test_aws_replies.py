"""What services of AWS that speak JSON reply, over real HTTP: no reply is a crash, no request repeated; connections."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.aws_requests import OK, ask
from tests.support.raw_server import RawServer
from tests.support.threads import at_once
from tests.support.upstream import Reply, Upstream
from toolfold.aws.credentials import AwsError
from toolfold.network.connections import forget_connections

pytestmark = pytest.mark.usefixtures("no_aws")


class TestReply:
    @pytest.mark.parametrize(
        ("reply", "code"),
        [
            ((400, {}, b'{"__type": "com.amazonaws.dynamodb.v20120810#ThrottlingException"}'), "ThrottlingException"),
            ((400, {}, b'{"__type": "ValidationException:http://internal/"}'), "ValidationException"),
            ((400, {}, b'{"__type": "a sentence, with a SECRET"}'), "400"),
            ((400, {}, b'{"__type": 7}'), "400"),
            ((400, {}, b"[1]"), "400"),
            ((500, {}, b""), "500"),
            ((503, {}, b"<html>SECRET</html>"), "503"),
            ((302, {"location": "http://127.0.0.1:1/"}, b""), "302"),
            ((200, {}, b"SECRET"), "UnreadableReply"),
            ((200, {}, b"[]"), "UnreadableReply"),
            ((200, {}, b"\xff\xfe"), "UnreadableReply"),
            ((200, {}, b'{"a":' * 100_000), "UnreadableReply"),
            ((200, {"content-length": "100", "connection": "close"}, b"{}"), "ProtocolError"),
            ((200, {}, b"{" + b" " * (16 << 20)), "ReplyTooLarge"),
            ((0, {}, b""), "ProtocolError"),
        ],
    )
    def test_whatever_it_is_one_word_is_left(self, monkeypatch: pytest.MonkeyPatch, reply: Reply, code: str) -> None:
        with Upstream(reply) as running:
            monkeypatch.setenv("AWS_ENDPOINT_URL", running.url)
            with pytest.raises(AwsError) as caught:
                ask()
            assert len(running.asked) == 1  # nothing is repeated
            running.replies = [(200, {}, b"{}")]
            assert ask() == {}
        assert str(caught.value) == caught.value.code == code

    def test_what_came_with_a_refusal_is_kept_and_not_said(self, monkeypatch: pytest.MonkeyPatch) -> None:
        body = {"__type": "x#ConditionalCheckFailedException", "Item": {"n": {"N": "7"}}}
        with Upstream((400, {}, json.dumps(body).encode())) as running:
            monkeypatch.setenv("AWS_ENDPOINT_URL", running.url)
            with pytest.raises(AwsError) as caught:
                ask()
        assert caught.value.reply["Item"] == {"n": {"N": "7"}}
        assert repr(caught.value) == "AwsError('ConditionalCheckFailedException')"

    def test_one_that_comes_a_byte_at_a_time_is_given_up(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def drip(server: RawServer, connection: socket.socket) -> None:
            server.answer_one(connection, b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
            for _ in range(100):
                connection.sendall(b" ")
                time.sleep(0.05)

        with RawServer(drip) as server:
            monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)
            started = time.monotonic()
            with pytest.raises(AwsError, match="ReadTimeoutError"):
                ask(timeout_s=0.2)
            assert time.monotonic() - started < 2


class TestConnections:
    @pytest.fixture
    def aws(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[Upstream]:
        with Upstream((200, {}, b"{}")) as running:
            monkeypatch.setenv("AWS_ENDPOINT_URL", running.url)
            yield running

    def test_one_serves_many_requests_until_all_are_dropped(self, aws: Upstream) -> None:
        for _ in range(3):
            ask()
        assert aws.connections == 1
        forget_connections()
        ask()
        assert aws.connections == 2

    def test_errors_leave_it_open(self, aws: Upstream) -> None:
        aws.replies = [(400, {}, b'{"__type": "ThrottlingException"}')]
        for _ in range(3):
            with pytest.raises(AwsError, match="ThrottlingException"):
                ask()
        assert aws.connections == 1

    def test_one_that_was_closed_meanwhile_is_replaced(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def once(server: RawServer, connection: socket.socket) -> None:
            server.answer_one(connection, OK)  # and does not say that it will hang up

        with RawServer(once, once, once) as server:
            monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)
            for _ in range(3):
                assert ask() == {}
                time.sleep(0.05)

    def test_those_that_are_dropped_are_closed_whoever_holds_an_error(self, monkeypatch: pytest.MonkeyPatch) -> None:
        ended = threading.Event()

        def answer(server: RawServer, connection: socket.socket) -> None:
            while server.read(connection):
                connection.sendall(b"HTTP/1.1 400 No\r\nContent-Length: 2\r\n\r\n{}")
            ended.set()

        with RawServer(answer) as server:
            monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)
            with pytest.raises(AwsError, match="400") as held:
                ask()
            assert not ended.wait(0.1)
            forget_connections()
            assert ended.wait(5)
        assert held.value.__traceback__ is not None

    def test_threads_have_their_own(self, aws: Upstream, caplog: pytest.LogCaptureFixture) -> None:
        done: list[dict[str, Any]] = []
        at_once([lambda: done.append(ask())] * 12)
        assert done == [{}] * 12
        assert [record for record in caplog.records if record.levelname == "WARNING"] == []
