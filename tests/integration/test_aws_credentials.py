"""Credentials of boto3 clients and of obstore: the environment, a container's endpoint over real HTTP, a profile."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import obstore
import pytest
from botocore import utils as botocore_utils
from botocore.exceptions import NoCredentialsError

from tests.support.threads import run_concurrently
from tests.support.upstream import Reply, Upstream
from toolfold.aws.clients import AwsClients

HOUR_S = 3600.0
SOON_S = 300.0
"""Less than the ten minutes before their end in which botocore renews credentials."""


@pytest.fixture(autouse=True)
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
    bucket = clients.open_bucket("things", "", timeout_s=5.0)
    return lambda: obstore.get(bucket, "a")


def by_boto3(clients: AwsClients) -> Callable[[], object]:
    # As in each call: the client is looked up again.
    return lambda: clients.client("s3", timeout_s=5.0, region="us-east-1").get_object(Bucket="things", Key="a")


BOTH = pytest.mark.parametrize("open_s3", [by_obstore, by_boto3])
Open = Callable[[AwsClients], Callable[[], object]]


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


class TestEnvironment:
    def test_a_catalog_in_s3_is_read_without_boto3(self, s3: Upstream) -> None:
        program = (
            "import sys, obstore; from toolfold.aws import clients\n"
            "bucket = clients.AwsClients().open_bucket('things', '', timeout_s=5.0)\n"
            "obstore.get(bucket, 'a'); print({'boto3', 'botocore'} & set(sys.modules))"
        )
        own = {"AWS_ACCESS_KEY_ID": "A", "AWS_SECRET_ACCESS_KEY": "B", "AWS_REGION": "eu-west-1"}
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True, env={**os.environ, **own}
        )
        assert done.stdout.strip() == "set()"


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
            assert clients.open_bucket("things", "", timeout_s=5.0).config["region"] == region
            assert clients.client("s3", timeout_s=5.0).meta.region_name == region


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
