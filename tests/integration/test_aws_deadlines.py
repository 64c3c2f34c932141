"""Requests to AWS end at their time-out, however the response arrives, and are bounded in size. Over real sockets."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from botocore.exceptions import BotoCoreError, HTTPClientError

from tests.support.aws_services import use_aws_endpoint
from tests.support.cpu_time import ends_within
from tests.support.raw_http import ByteServer
from toolfold.aws import http_session
from toolfold.aws.clients import AwsClients, error_code

pytestmark = pytest.mark.slow  # real waiting

TIMEOUT_S = 0.8

Call = Callable[[AwsClients], Any]


def get_item(clients: AwsClients) -> Any:
    return clients.client("dynamodb", timeout_s=TIMEOUT_S).get_item(TableName="t", Key={"pk": {"S": "k"}})


def get_object(clients: AwsClients) -> Any:
    return clients.client("s3", timeout_s=TIMEOUT_S).get_object(Bucket="bucket", Key="k")["Body"].read()


def put_object(clients: AwsClients) -> Any:
    return clients.client("s3", timeout_s=TIMEOUT_S).put_object(Bucket="bucket", Key="k", Body=b"x" * 50_000_000)


CALLS: list[Call] = [get_item, get_object]
"""Of a client that reads JSON, and of one that reads a stream; all send by the same session."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, no_aws: None) -> Iterator[ByteServer]:
    with ByteServer() as running:
        use_aws_endpoint(running.url.removesuffix("/query"), monkeypatch)
        yield running


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    "head",
    [b"", b"HTTP/1.1 200 OK\r\nx: ", b"HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\n"],
)
def test_a_dripping_response_ends_at_the_timeout(
    server: ByteServer, clients: AwsClients, call: Call, head: bytes
) -> None:
    server.pieces = [(head, 0.0), *[(b"x", 0.1)] * 600]
    clients.client("dynamodb", timeout_s=1)  # imports botocore
    with ends_within(2 * TIMEOUT_S), pytest.raises(BotoCoreError):
        call(clients)


def test_a_request_that_is_not_read_ends_at_the_timeout(
    clients: AwsClients, monkeypatch: pytest.MonkeyPatch, no_aws: None
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        use_aws_endpoint(f"http://127.0.0.1:{listener.getsockname()[1]}", monkeypatch)
        clients.client("s3", timeout_s=TIMEOUT_S)
        with ends_within(2 * TIMEOUT_S), pytest.raises(HTTPClientError):
            put_object(clients)


def test_a_lookup_that_does_not_end_ends_at_the_timeout(
    clients: AwsClients, monkeypatch: pytest.MonkeyPatch, no_aws: None
) -> None:
    ended = threading.Event()
    use_aws_endpoint("http://aws.example", monkeypatch)
    clients.client("dynamodb", timeout_s=TIMEOUT_S)
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: ended.wait(60) and [])
    with ends_within(TIMEOUT_S), pytest.raises(BotoCoreError):
        get_item(clients)
    ended.set()


def test_a_response_is_bounded_in_size(
    server: ByteServer, clients: AwsClients, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_session, "MAX_RESPONSE_BYTES", 1_000)
    server.pieces = [(b"HTTP/1.1 200 OK\r\nContent-Length: 2000\r\n\r\n" + b"x" * 2_000, 0.0)]
    with pytest.raises(HTTPClientError) as caught:
        get_object(clients)
    assert error_code(caught.value) == "ResponseTooLarge"


def test_each_request_on_a_connection_has_all_of_the_time(server: ByteServer, clients: AwsClients) -> None:
    body = b"{}"
    server.pieces = [(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n" + body, 0.0)]
    server.hangs_up = False
    for _ in range(3):
        assert "Item" not in get_item(clients)
        time.sleep(TIMEOUT_S)
