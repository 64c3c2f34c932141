"""boto3 clients over real HTTP: where requests go, that none is sent twice, and what is dropped by a reset."""

import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    HTTPClientError,
    InvalidRegionError,
    NoRegionError,
)

from tests.support.raw_http import RawServer
from tests.support.tls import server_context, write_certificate
from tests.support.upstream import Reply, Upstream
from toolfold.aws.clients import AwsClients, error_code

pytestmark = pytest.mark.usefixtures("no_aws")

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
KEY = {"pk": {"S": "a"}}


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[Upstream]:
    with Upstream((200, {}, b"{}")) as running:
        monkeypatch.setenv("AWS_ENDPOINT_URL", running.url)
        yield running


def read(clients: AwsClients, timeout_s: float = 5.0, region: str = "") -> Any:
    return clients.client("dynamodb", timeout_s=timeout_s, region=region).get_item(TableName="answers", Key=KEY)


def count(clients: AwsClients) -> Any:
    dynamodb = clients.client("dynamodb", timeout_s=5.0)
    return dynamodb.update_item(TableName="answers", Key=KEY, UpdateExpression="ADD n :one")


def answer(server: RawServer, connection: socket.socket) -> None:
    server.respond_once(connection, OK)


class TestAttempts:
    @pytest.mark.parametrize(
        ("reply", "code"),
        [
            ((400, {}, b'{"__type": "com.amazonaws.dynamodb#ThrottlingException"}'), "ThrottlingException"),
            ((500, {}, b"{}"), "500"),
            ((503, {}, b"<html>SECRET</html>"), "503"),
        ],
    )
    def test_a_refused_request_is_not_repeated(
        self, clients: AwsClients, aws: Upstream, reply: Reply, code: str
    ) -> None:
        aws.replies = [reply]
        with pytest.raises(ClientError) as caught:
            read(clients)
        assert error_code(caught.value) == code
        assert len(aws.requests) == 1

    def test_a_read_on_a_closed_connection_is_sent_once_more(
        self, clients: AwsClients, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with RawServer(RawServer.respond_once_and_read, answer) as server:
            monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)
            read(clients)
            read(clients)
            clients.reset()
        assert len(server.requests) == 3

    def test_a_write_on_a_closed_connection_is_not(self, clients: AwsClients, monkeypatch: pytest.MonkeyPatch) -> None:
        with RawServer(RawServer.respond_once_and_read) as server:
            monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)
            read(clients)
            with pytest.raises(HTTPClientError) as caught:
                count(clients)
            clients.reset()
        assert (error_code(caught.value), len(server.requests)) == ("ConnectionBroken", 2)


class TestConnections:
    def test_reset_closes_connections_of_clients_in_use(
        self, clients: AwsClients, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        ended = threading.Event()

        def serve(server: RawServer, connection: socket.socket) -> None:
            while server.read(connection):
                connection.sendall(OK)
            ended.set()

        with RawServer(serve) as server:
            monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)
            held = clients.client("dynamodb", timeout_s=5.0)
            read(clients)
            assert not ended.wait(0.1)
            clients.reset()
            assert ended.wait(5)
        assert held is not None


class TestEndpoint:
    @pytest.mark.parametrize(("region", "error"), [("", NoRegionError), ("evil.example/", InvalidRegionError)])
    def test_without_a_region_nothing_is_sent(
        self,
        clients: AwsClients,
        monkeypatch: pytest.MonkeyPatch,
        tmp_path: Path,
        region: str,
        error: type[BotoCoreError],
    ) -> None:
        monkeypatch.delenv("AWS_DEFAULT_REGION")
        monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "absent"))
        with pytest.raises(error):
            read(clients, region=region)


def test_a_certificate_is_checked_by_the_bundle_of_the_environment(
    clients: AwsClients, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    certificate = write_certificate(tmp_path / "certificate.pem", "127.0.0.1")
    with RawServer(*[answer] * 3, context=server_context(certificate)) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)
        with pytest.raises(HTTPClientError, match="TLS certificate"):
            read(clients)
        assert server.requests == []
        monkeypatch.setenv("AWS_CA_BUNDLE", str(certificate))
        clients.reset()
        assert read(clients)["ResponseMetadata"]["HTTPStatusCode"] == 200
        # The right certificate for another host name.
        monkeypatch.setenv("AWS_ENDPOINT_URL", server.url.replace("127.0.0.1", "localhost"))
        clients.reset()
        with pytest.raises(HTTPClientError, match="TLS certificate"):
            read(clients)
        clients.reset()
    assert len(server.requests) == 1
