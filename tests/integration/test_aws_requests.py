"""Requests to services of AWS that speak JSON, over real HTTP: signed, bounded, not repeated; no reply is a crash."""

from __future__ import annotations

import json
import os
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import boto3
import pytest

from tests.support.aws_services import lead_to
from tests.support.tls import write_certificate
from tests.support.upstream import Reply, Upstream
from toolfold import aws_credentials, aws_json
from toolfold.aws_credentials import AwsError
from toolfold.connections import forget_connections

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


@pytest.fixture(autouse=True)
def _anew(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An environment with credentials and a region, and no connection of another test."""
    for name in list(os.environ):
        if name.startswith("AWS_") or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    lead_to("http://127.0.0.1:1", monkeypatch)
    forget_connections()
    aws_credentials.forget()
    yield
    forget_connections()


def ask(timeout_s: float = 5.0, region: str = "") -> dict[str, Any]:
    return aws_json.ask("dynamodb", "ListTables", {}, timeout_s, region)


@contextmanager
def serving(serve: Callable[[socket.socket], None], context: ssl.SSLContext | None = None) -> Iterator[str]:
    """The address (``127.0.0.1:port``) of a server that gives each connection to ``serve``, one after the other."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def run() -> None:
            with suppress(OSError):  # the test is over
                while True:
                    plain = listening.accept()[0]
                    with suppress(OSError), context.wrap_socket(plain, True) if context else plain as connection:
                        serve(connection)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        yield f"127.0.0.1:{listening.getsockname()[1]}"
        listening.shutdown(socket.SHUT_RDWR)
    thread.join(5)


def request_of(connection: socket.socket) -> str:
    """The head of the next request, and its body, which is read; empty where there is none."""
    head = b""
    while b"\r\n\r\n" not in head:
        received = connection.recv(65536)
        if not received:
            return ""
        head += received
    text, _, body = head.decode().partition("\r\n\r\n")
    length = int(text.lower().partition("content-length: ")[2].partition("\r\n")[0] or 0)
    while len(body) < length:  # what is left unread makes the system break the connection off
        body += connection.recv(65536).decode()
    return text + "\r\n"


class TestSignature:
    @pytest.fixture
    def strict(self, endpoint: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
        """Credentials of a role that may list tables and no more, at services that check signatures and rights."""
        lead_to(endpoint, monkeypatch)
        iam: Any = boto3.client("iam")
        arn = iam.create_role(RoleName="lister", AssumeRolePolicyDocument="{}")["Role"]["Arn"]
        rights = {"Statement": [{"Effect": "Allow", "Action": "dynamodb:ListTables", "Resource": "*"}]}
        policy = {"Version": "2012-10-17", **rights}
        iam.put_role_policy(RoleName="lister", PolicyName="list", PolicyDocument=json.dumps(policy))
        sts: Any = boto3.client("sts")
        found = sts.assume_role(RoleArn=arn, RoleSessionName="test")["Credentials"]
        self.check(endpoint, b"0")
        yield {
            "AWS_ACCESS_KEY_ID": found["AccessKeyId"],
            "AWS_SECRET_ACCESS_KEY": found["SecretAccessKey"],
            "AWS_SESSION_TOKEN": found["SessionToken"],
        }
        self.check(endpoint, b"inf")
        iam.delete_role_policy(RoleName="lister", PolicyName="list")
        iam.delete_role(RoleName="lister")

    def check(self, endpoint: str, after: bytes) -> None:
        plain = {"content-type": "text/plain"}
        urllib.request.urlopen(urllib.request.Request(f"{endpoint}/moto-api/reset-auth", after, plain)).close()

    def test_it_is_accepted_and_rights_are_what_they_are(
        self, strict: dict[str, str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name, value in strict.items():
            monkeypatch.setenv(name, value)
        assert "TableNames" in ask()
        with pytest.raises(AwsError, match="403"):  # AWS itself would name the error
            aws_json.ask("dynamodb", "DescribeTable", {"TableName": "answers"}, 5.0)

    def test_a_wrong_one_is_refused(self, strict: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
        for name, value in {**strict, "AWS_SECRET_ACCESS_KEY": "wrong"}.items():
            monkeypatch.setenv(name, value)
        with pytest.raises(AwsError, match="403"):
            ask()


class TestAddress:
    @pytest.mark.parametrize(
        ("service", "variable"),
        [
            ("dynamodb", "AWS_ENDPOINT_URL_DYNAMODB"),
            ("secretsmanager", "AWS_ENDPOINT_URL_SECRETS_MANAGER"),
            ("ssm", "AWS_ENDPOINT_URL_SSM"),
        ],
    )
    def test_a_service_of_ones_own_comes_first(
        self, monkeypatch: pytest.MonkeyPatch, service: str, variable: str
    ) -> None:
        with Upstream((200, {}, b"{}")) as running:
            monkeypatch.setenv(variable, running.url)
            assert aws_json.ask(service, "Anything", {}, 5.0) == {}
        [headers] = running.headers
        assert headers["x-amz-target"].endswith(".Anything")
        assert f"/us-east-1/{service}/aws4_request" in headers["authorization"]
        assert headers["user-agent"].startswith("toolfold/")

    @pytest.mark.parametrize(
        ("variables", "region", "host"),
        [
            ({}, "", "dynamodb.us-east-1.amazonaws.com:443"),
            ({"AWS_REGION": "eu-west-1"}, "", "dynamodb.eu-west-1.amazonaws.com:443"),
            ({"AWS_REGION": "eu-west-1"}, "us-west-2", "dynamodb.us-west-2.amazonaws.com:443"),
            ({}, "cn-north-1", "dynamodb.cn-north-1.amazonaws.com.cn:443"),
        ],
    )
    def test_it_is_the_regions_and_reached_through_a_proxy_where_one_is_set(
        self, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], region: str, host: str
    ) -> None:
        asked: list[str] = []

        def refuse(connection: socket.socket) -> None:
            asked.append(request_of(connection).splitlines()[0])
            connection.sendall(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")

        monkeypatch.delenv("AWS_ENDPOINT_URL")
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        with serving(refuse) as proxy:
            monkeypatch.setenv("HTTPS_PROXY", f"http://{proxy}")
            with pytest.raises(AwsError, match="ProxyError"):
                ask(region=region)
        assert [line.rpartition(" ")[0] for line in asked] == [f"CONNECT {host}"]

    def test_a_proxy_is_told_who_asks(self, monkeypatch: pytest.MonkeyPatch) -> None:
        asked: list[str] = []

        def answer(connection: socket.socket) -> None:
            asked.append(request_of(connection))
            connection.sendall(OK)

        with serving(answer) as proxy:
            monkeypatch.setenv("AWS_ENDPOINT_URL", "http://service.example")
            monkeypatch.setenv("HTTP_PROXY", f"http://me:se%40cret@{proxy}")
            assert ask() == {}
        head = asked[0].lower()
        assert head.startswith("post http://service.example/ ")
        assert "host: service.example\r\n" in head
        assert "proxy-authorization: basic bwu6c2vay3jlda==" in head  # me:se@cret, in lower case here

    @pytest.mark.parametrize(("region", "code"), [("", "NoRegionError"), ("evil.example/", "InvalidRegionError")])
    def test_without_a_region_nothing_is_asked(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, region: str, code: str
    ) -> None:
        monkeypatch.delenv("AWS_DEFAULT_REGION")
        monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "absent"))
        with pytest.raises(AwsError, match=code):
            ask(region=region)

    @pytest.mark.parametrize("endpoint", ["nonsense", "ftp://service.example", "http://", "http://[::1"])
    def test_an_endpoint_that_is_none_is_an_error(self, monkeypatch: pytest.MonkeyPatch, endpoint: str) -> None:
        monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
        with pytest.raises(AwsError, match="InvalidEndpointError"):
            ask()


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
        def drip(connection: socket.socket) -> None:
            request_of(connection)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
            for _ in range(100):
                connection.sendall(b" ")
                time.sleep(0.05)

        with serving(drip) as address:
            monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{address}")
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
        def once(connection: socket.socket) -> None:
            request_of(connection)
            connection.sendall(OK)  # and does not say that it will hang up

        with serving(once) as address:
            monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{address}")
            for _ in range(3):
                assert ask() == {}
                time.sleep(0.05)

    def test_those_that_are_dropped_are_closed_whoever_holds_an_error(self, monkeypatch: pytest.MonkeyPatch) -> None:
        ended = threading.Event()

        def answer(connection: socket.socket) -> None:
            while request_of(connection):
                connection.sendall(b"HTTP/1.1 400 No\r\nContent-Length: 2\r\n\r\n{}")
            ended.set()

        with serving(answer) as address:
            monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{address}")
            with pytest.raises(AwsError, match="400") as held:
                ask()
            assert not ended.wait(0.1)
            forget_connections()
            assert ended.wait(5)
        assert held.value.__traceback__ is not None

    def test_threads_have_their_own(self, aws: Upstream, caplog: pytest.LogCaptureFixture) -> None:
        done: list[dict[str, Any]] = []
        threads = [threading.Thread(target=lambda: done.append(ask())) for _ in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert done == [{}] * 12
        assert [record for record in caplog.records if record.levelname == "WARNING"] == []


class TestTls:
    @pytest.fixture
    def certificate(self, tmp_path: Path) -> Path:
        return write_certificate(tmp_path / "certificate.pem", "127.0.0.1")

    def test_a_server_is_believed_that_can_show_who_it_is(
        self, monkeypatch: pytest.MonkeyPatch, certificate: Path
    ) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        asked: list[str] = []

        def answer(connection: socket.socket) -> None:
            asked.append(request_of(connection))
            connection.sendall(OK)

        with serving(answer, context) as address:
            monkeypatch.setenv("AWS_ENDPOINT_URL", f"https://{address}")
            with pytest.raises(AwsError, match="SSLError"):
                ask()
            assert asked == []  # it was told nothing
            monkeypatch.setenv("AWS_CA_BUNDLE", str(certificate))
            forget_connections()
            assert ask() == {}
            # The right certificate under a wrong name.
            monkeypatch.setenv("AWS_ENDPOINT_URL", f"https://{address.replace('127.0.0.1', 'localhost')}")
            with pytest.raises(AwsError, match="SSLError"):
                ask()
        assert len(asked) == 1


PROGRAM = """
import sys
from toolfold.calling import dynamodb, secrets
before = {name.partition(".")[0] for name in sys.modules}
try:
    dynamodb.Table("absent", "", 30.0).get("a")
except dynamodb.AwsError as error:
    assert error.code == "ResourceNotFoundException", error.code
assert secrets.read("ssm:/toolfold/absent", 60, 30.0) == ""
after = {name.partition(".")[0] for name in sys.modules}
print(*(before & {"urllib3", "http", "obstore"}), "|", *(after & {"boto3", "botocore", "requests"}))
"""


def test_none_of_it_needs_boto3_and_what_it_needs_is_imported_late(endpoint: str) -> None:
    variables = {**os.environ, "AWS_ENDPOINT_URL": endpoint}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False, env=variables, timeout=60
    )
    assert (done.returncode, done.stdout.strip()) == (0, "|"), done.stdout + done.stderr
    assert done.stderr.strip() == "the API key cannot be read from AWS: ParameterNotFound"
