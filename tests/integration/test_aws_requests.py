"""Requests to services of AWS that speak JSON, over real HTTP: signed, sent to the right place, and to nobody else."""

from __future__ import annotations

import json
import os
import socket
import ssl
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest

from tests.support.aws_requests import OK, ask
from tests.support.aws_services import lead_to
from tests.support.raw_server import RawServer
from tests.support.tls import write_certificate
from tests.support.upstream import Upstream
from toolfold.aws import clients
from toolfold.aws.credentials import AwsError
from toolfold.network.connections import forget_connections

pytestmark = pytest.mark.usefixtures("no_aws")


def answer(server: RawServer, connection: socket.socket) -> None:
    server.answer_one(connection, OK)


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
            clients.ask("dynamodb", "DescribeTable", {"TableName": "answers"}, 5.0)

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
            assert clients.ask(service, "Anything", {}, 5.0) == {}
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
        def refuse(server: RawServer, connection: socket.socket) -> None:
            server.answer_one(connection, b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")

        monkeypatch.delenv("AWS_ENDPOINT_URL")
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        with RawServer(refuse) as proxy:
            monkeypatch.setenv("HTTPS_PROXY", proxy.url)
            with pytest.raises(AwsError, match="ProxyError"):
                ask(region=region)
        assert [request.rpartition(b" HTTP/1")[0].decode() for request in proxy.asked] == [f"CONNECT {host}"]

    def test_a_proxy_is_told_who_asks(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with RawServer(answer) as proxy:
            monkeypatch.setenv("AWS_ENDPOINT_URL", "http://service.example")
            monkeypatch.setenv("HTTP_PROXY", f"http://me:se%40cret@{proxy.authority}")
            assert ask() == {}
        head = proxy.asked[0].decode().lower()
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


class TestTls:
    @pytest.fixture
    def certificate(self, tmp_path: Path) -> Path:
        return write_certificate(tmp_path / "certificate.pem", "127.0.0.1")

    def test_a_server_is_believed_that_can_show_who_it_is(
        self, monkeypatch: pytest.MonkeyPatch, certificate: Path
    ) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        with RawServer(*[answer] * 3, context=context) as server:
            monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)
            with pytest.raises(AwsError, match="SSLError"):
                ask()
            assert server.asked == []  # it was told nothing
            monkeypatch.setenv("AWS_CA_BUNDLE", str(certificate))
            forget_connections()
            assert ask() == {}
            # The right certificate under a wrong name.
            monkeypatch.setenv("AWS_ENDPOINT_URL", server.url.replace("127.0.0.1", "localhost"))
            with pytest.raises(AwsError, match="SSLError"):
                ask()
        assert len(server.asked) == 1


PROGRAM = """
import sys
from toolfold.execution import dynamodb, secrets
before = {name.partition(".")[0] for name in sys.modules}
try:
    dynamodb.Table("absent", "", 30.0).get("a")
except dynamodb.AwsError as error:
    assert error.code == "ResourceNotFoundException", error.code
assert secrets.get_secret("ssm:/toolfold/absent", 60, 30.0) == ""
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
