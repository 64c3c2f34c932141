"""Clients of AWS over real HTTP: attempts, connections, credentials of boto3 and obstore, and deadlines."""

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import obstore
import pytest
from botocore import utils as botocore_utils
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    HTTPClientError,
    InvalidRegionError,
    NoCredentialsError,
    NoRegionError,
)

from tests.support.aws_services import use_aws_endpoint
from tests.support.cpu_time import ends_within
from tests.support.raw_http import ByteServer, RawServer
from tests.support.threads import run_concurrently
from tests.support.tls import server_context, write_certificate
from tests.support.upstream import Reply, Upstream
from toolfold.aws import http_session
from toolfold.aws.clients import AwsClients, error_code

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
KEY = {"pk": {"S": "a"}}


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[Upstream]:
    with Upstream((200, {}, b"{}")) as running:
        monkeypatch.setenv("AWS_ENDPOINT_URL", running.url)
        yield running


def read(clients: AwsClients, timeout_s: float = 30.0, region: str = "") -> Any:
    return clients.client("dynamodb", timeout_s=timeout_s, region=region).get_item(TableName="answers", Key=KEY)


def count(clients: AwsClients) -> Any:
    dynamodb = clients.client("dynamodb", timeout_s=30.0)
    return dynamodb.update_item(TableName="answers", Key=KEY, UpdateExpression="ADD n :one")


def answer(server: RawServer, connection: socket.socket) -> None:
    server.respond_once(connection, OK)


@pytest.mark.usefixtures("no_aws")
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


@pytest.mark.usefixtures("no_aws")
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
            held = clients.client("dynamodb", timeout_s=30.0)
            read(clients)
            assert not ended.wait(0.1)
            clients.reset()
            assert ended.wait(60)
        assert held is not None


@pytest.mark.usefixtures("no_aws")
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


@pytest.mark.usefixtures("no_aws")
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


HOUR_S = 3600.0
SOON_S = 300.0
"""Less than the ten minutes before their end in which botocore renews credentials."""


@pytest.fixture
def no_credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine without credentials."""
    for name in list(os.environ):
        if name.startswith("AWS_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    # botocore waits a second before it calls a container's endpoint again.
    monkeypatch.setattr(botocore_utils.ContainerMetadataFetcher, "SLEEP_TIME", 0)


def credentials_reply(name: str, lifetime_s: float = HOUR_S) -> Reply:
    ends = datetime.fromtimestamp(time.time() + lifetime_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    keys = {"AccessKeyId": name, "SecretAccessKey": f"{name}-SECRET", "Token": f"{name}-TOKEN", "Expiration": ends}
    return 200, {}, json.dumps({"Code": "Success", **keys}).encode()


@pytest.fixture
def container(monkeypatch: pytest.MonkeyPatch) -> Iterator[Upstream]:
    """The endpoint that SnapStart, ECS and EKS have; it returns ``A`` for an hour unless a test says otherwise."""
    with Upstream(credentials_reply("A")) as running:
        monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", f"{running.url}?v=1")
        yield running


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[Upstream]:
    """Answers every request; its ``headers`` say who signed it."""
    with Upstream((200, {"last-modified": "Thu, 01 Jan 2026 00:00:00 GMT"}, b"content")) as running:
        monkeypatch.setenv("AWS_ENDPOINT_URL", running.url.removesuffix("/query"))
        yield running


def signers(s3: Upstream) -> list[str]:
    return [
        f"{sent['authorization'].partition('Credential=')[2].partition('/')[0]} {sent['x-amz-security-token']}"
        for sent in s3.headers
    ]


def by_obstore(clients: AwsClients) -> Callable[[], object]:
    bucket = clients.open_bucket("things", "", timeout_s=30.0)
    return lambda: obstore.get(bucket, "a")


def by_boto3(clients: AwsClients) -> Callable[[], object]:
    # As in each call: the client is looked up again.
    return lambda: clients.client("s3", timeout_s=30.0, region="us-east-1").get_object(Bucket="things", Key="a")


BOTH = pytest.mark.parametrize("open_s3", [by_obstore, by_boto3])
Open = Callable[[AwsClients], Callable[[], object]]


@pytest.mark.usefixtures("no_credentials")
class TestContainer:
    @BOTH
    def test_credentials_are_fetched_once_and_again_after_a_reset(
        self, clients: AwsClients, container: Upstream, s3: Upstream, open_s3: Open
    ) -> None:
        container.replies = [credentials_reply("A"), credentials_reply("B")]
        for _ in range(2):
            get = open_s3(clients)
            for _ in range(3):
                get()
            clients.reset()
        assert signers(s3) == ["A A-TOKEN"] * 3 + ["B B-TOKEN"] * 3
        assert len(container.requests) == 2

    def test_obstore_asks_again_before_credentials_end(
        self, clients: AwsClients, container: Upstream, s3: Upstream, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("toolfold.aws.clients._CREDENTIALS_TTL_S", 300)  # obstore: already to be renewed
        container.replies = [credentials_reply("A", SOON_S), credentials_reply("A", SOON_S), credentials_reply("B")]
        get = by_obstore(clients)
        get()
        time.sleep(0.15)  # obstore requests credentials at most ten times a second
        get()
        assert signers(s3)[-1] == "B B-TOKEN"

    def test_threads_ask_once(self, clients: AwsClients, container: Upstream) -> None:
        found: list[Any] = []
        run_concurrently([lambda: found.append(clients.credentials().access_key)] * 8)
        assert found == ["A"] * 8
        assert len(container.requests) == 1


@pytest.mark.usefixtures("no_credentials")
class TestEnvironment:
    def test_a_catalog_in_s3_is_read_without_boto3(self, s3: Upstream) -> None:
        program = (
            "import sys, obstore; from toolfold.aws import clients\n"
            "bucket = clients.AwsClients().open_bucket('things', '', timeout_s=30.0)\n"
            "obstore.get(bucket, 'a'); print({'boto3', 'botocore'} & set(sys.modules))"
        )
        own = {"AWS_ACCESS_KEY_ID": "A", "AWS_SECRET_ACCESS_KEY": "B", "AWS_REGION": "eu-west-1"}
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True, env={**os.environ, **own}
        )
        assert done.stdout.strip() == "set()"


@pytest.mark.usefixtures("no_credentials")
class TestProfile:
    def test_a_profile_has_a_region(self, clients: AwsClients, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        (tmp_path / "credentials").write_text("[mine]\naws_access_key_id = P\naws_secret_access_key = PS\n")
        (tmp_path / "config").write_text("[profile mine]\nregion = eu-west-3\n")
        monkeypatch.setenv("AWS_PROFILE", "mine")
        assert clients.credentials()[:3] == ("P", "PS", None)
        for variables, region in ({}, "eu-west-3"), ({"AWS_REGION": "eu-west-1"}, "eu-west-1"):
            for name, value in variables.items():
                monkeypatch.setenv(name, value)
            clients.reset()
            assert clients.open_bucket("things", "", timeout_s=30.0).config["region"] == region
            assert clients.client("s3", timeout_s=30.0).meta.region_name == region


@pytest.mark.usefixtures("no_credentials")
class TestNone:
    @BOTH
    def test_no_credentials_is_an_error_and_looked_for_again(
        self, clients: AwsClients, s3: Upstream, open_s3: Open, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with pytest.raises(NoCredentialsError):
            open_s3(clients)()
        for name in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "SESSION_TOKEN"):
            monkeypatch.setenv(f"AWS_{name}", name)
        open_s3(clients)()
        assert signers(s3) == ["ACCESS_KEY_ID SESSION_TOKEN"]


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


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_request_that_is_not_read_ends_at_the_timeout(
    clients: AwsClients, monkeypatch: pytest.MonkeyPatch, no_aws: None
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        use_aws_endpoint(f"http://127.0.0.1:{listener.getsockname()[1]}", monkeypatch)
        clients.client("s3", timeout_s=TIMEOUT_S)
        with ends_within(2 * TIMEOUT_S), pytest.raises(HTTPClientError):
            put_object(clients)


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_response_is_bounded_in_size(
    server: ByteServer, clients: AwsClients, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_session, "MAX_RESPONSE_BYTES", 1_000)
    server.pieces = [(b"HTTP/1.1 200 OK\r\nContent-Length: 2000\r\n\r\n" + b"x" * 2_000, 0.0)]
    with pytest.raises(HTTPClientError) as caught:
        get_object(clients)
    assert error_code(caught.value) == "ResponseTooLarge"


@pytest.mark.slow
def test_each_request_on_a_connection_has_all_of_the_time(server: ByteServer, clients: AwsClients) -> None:
    body = b"{}"
    server.pieces = [(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n" + body, 0.0)]
    server.hangs_up = False
    for _ in range(3):
        assert "Item" not in get_item(clients)
        time.sleep(TIMEOUT_S)
