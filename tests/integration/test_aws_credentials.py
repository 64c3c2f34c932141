"""Where credentials come from: the environment, an endpoint over real HTTP, botocore; and that they are renewed."""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import obstore
import pytest

from tests.support.upstream import Reply, Upstream
from toolfold.aws import credentials
from toolfold.aws.credentials import AwsError, Credentials
from toolfold.aws.s3 import open_bucket

HOUR = 3600.0


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[SimpleNamespace]:
    """A machine without credentials, whose time of day is ``now``."""
    for name in list(os.environ):
        if name.startswith("AWS_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    clock = SimpleNamespace(now=time.time())
    monkeypatch.setattr(credentials, "time", SimpleNamespace(time=lambda: clock.now))
    credentials.forget()
    yield clock
    credentials.forget()


def handed_out(name: str, until: float) -> Reply:
    ends = datetime.fromtimestamp(until, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    keys = {"AccessKeyId": name, "SecretAccessKey": f"{name}-SECRET", "Token": f"{name}-TOKEN", "Expiration": ends}
    return 200, {}, json.dumps({"Code": "Success", **keys}).encode()


@pytest.fixture
def handing(monkeypatch: pytest.MonkeyPatch, clock: SimpleNamespace) -> Iterator[Upstream]:
    """What hands out credentials: ``A``, which end in an hour, unless told otherwise."""
    with Upstream(handed_out("A", clock.now + HOUR)) as running:
        monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", f"{running.url}?v=1")
        yield running


def current() -> str:
    return credentials.current().key_id


class TestEnvironment:
    def test_it_comes_first(self, monkeypatch: pytest.MonkeyPatch, handing: Upstream) -> None:
        for name in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "SESSION_TOKEN"):
            monkeypatch.setenv(f"AWS_{name}", name)
        expected = Credentials("ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "SESSION_TOKEN")
        assert credentials.current() == expected
        assert handing.asked == []

    def test_half_of_them_are_none(self, monkeypatch: pytest.MonkeyPatch, handing: Upstream) -> None:
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "half")
        assert current() == "A"

    def test_they_are_not_shown(self) -> None:
        shown = repr(Credentials("ID", "SECRET", "TOKEN"))
        assert "SECRET" not in shown
        assert "TOKEN" not in shown


class TestEndpoint:
    def test_it_is_asked_once_with_its_token(self, monkeypatch: pytest.MonkeyPatch, handing: Upstream) -> None:
        monkeypatch.setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", "from the environment")
        found = [credentials.current() for _ in range(3)]
        assert {(one.key_id, one.secret_key, one.token) for one in found} == {("A", "A-SECRET", "A-TOKEN")}
        assert handing.asked == [{"v": "1"}]
        assert handing.headers[0]["authorization"] == "from the environment"

    def test_a_token_in_a_file_is_read_each_time(
        self, monkeypatch: pytest.MonkeyPatch, handing: Upstream, tmp_path: Path
    ) -> None:
        monkeypatch.setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", str(tmp_path / "token"))
        for token in ("first", "second"):
            (tmp_path / "token").write_text(f"{token}\n")
            current()
            credentials.forget()
        assert [asked["authorization"] for asked in handing.headers] == ["first", "second"]

    def test_a_path_is_asked_for_where_ecs_answers(self, monkeypatch: pytest.MonkeyPatch, handing: Upstream) -> None:
        monkeypatch.setattr(credentials, "_ECS", handing.url.split("/")[2])
        monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://not.asked.example/")
        monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/v2/credentials?id=1")
        assert current() == "A"
        assert handing.asked == [{"id": "1"}]

    def test_they_are_renewed_before_they_end(self, clock: SimpleNamespace, handing: Upstream) -> None:
        assert current() == "A"
        handing.replies = [handed_out("B", clock.now + 2 * HOUR)]
        clock.now += HOUR - 361
        assert current() == "A"
        clock.now += 2
        assert current() == "B"

    def test_the_old_ones_are_used_while_they_last(
        self, clock: SimpleNamespace, handing: Upstream, caplog: pytest.LogCaptureFixture
    ) -> None:
        assert current() == "A"
        handing.replies = [(500, {}, b"A-SECRET")]
        clock.now += HOUR - 60
        with caplog.at_level(logging.WARNING, "toolfold"):
            assert [current() for _ in range(3)] == ["A"] * 3
        assert len(handing.asked) == 2  # it is not asked by each
        [line] = [record.getMessage() for record in caplog.records if record.name == "toolfold"]
        assert line == "the credentials of AWS cannot be renewed (CredentialsHttp500); the old ones are still good"
        clock.now += 11
        assert current() == "A"
        assert len(handing.asked) == 3
        clock.now += 60  # over their end
        with pytest.raises(AwsError, match=r"\ACredentialsHttp500\Z"):
            current()
        handing.replies = [handed_out("B", clock.now + HOUR)]
        assert current() == "B"

    def test_after_a_restore_they_are_asked_for_anew(self, clock: SimpleNamespace, handing: Upstream) -> None:
        assert current() == "A"
        handing.replies = [handed_out("B", clock.now + HOUR)]
        assert current() == "A"
        credentials.forget()
        assert current() == "B"

    def test_threads_ask_once(self, handing: Upstream) -> None:
        found: list[str] = []
        threads = [threading.Thread(target=lambda: found.append(current())) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == ["A"] * 8
        assert len(handing.asked) == 1

    @pytest.mark.parametrize(
        ("reply", "code"),
        [
            ((403, {}, b"A-SECRET"), "CredentialsHttp403"),
            ((302, {"location": "http://127.0.0.1:1/"}, b""), "CredentialsHttp302"),
            ((200, {}, b"A-SECRET, and no JSON"), "CredentialsJSONDecodeError"),
            ((200, {}, b"[]"), "CredentialsTypeError"),
            ((200, {}, b'{"AccessKeyId": "A"}'), "CredentialsKeyError"),
            ((200, {}, b"[" * 60_000), "CredentialsRecursionError"),
            ((0, {}, b""), "CredentialsProtocolError"),
        ],
    )
    def test_an_odd_answer_is_an_error_that_quotes_nothing(self, handing: Upstream, reply: Reply, code: str) -> None:
        handing.replies = [reply]
        with pytest.raises(AwsError) as caught:
            current()
        assert str(caught.value) == caught.value.code == code
        assert caught.value.__cause__ is None

    @pytest.mark.parametrize(
        "address",
        [
            "http://service.example/",
            "http://127.0.0.1.service.example/",
            "http://10.0.0.1/",
            "http://169.254.169.254/",
            "http://[fd00:ec2::24]/",
            "http:///",
            "ftp://127.0.0.1/",
            "/v2/credentials",
        ],
    )
    def test_the_token_is_sent_to_no_other_machine(self, monkeypatch: pytest.MonkeyPatch, address: str) -> None:
        monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", address)
        with pytest.raises(AwsError, match="CredentialsAddressForbidden"):
            current()

    def test_no_proxy_is_asked(self, monkeypatch: pytest.MonkeyPatch, handing: Upstream) -> None:
        monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
        monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
        assert current() == "A"


class TestBotocore:
    def test_a_profile_is_read(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "credentials").write_text("[mine]\naws_access_key_id = P\naws_secret_access_key = PS\n")
        (tmp_path / "config").write_text("[profile mine]\nregion = eu-west-3\n")
        monkeypatch.setenv("AWS_PROFILE", "mine")
        assert credentials.current() == Credentials("P", "PS")
        assert credentials.region() == "eu-west-3"
        monkeypatch.setenv("AWS_REGION", "eu-west-1")
        assert credentials.region() == "eu-west-1"

    def test_without_any_there_are_none(self) -> None:
        with pytest.raises(AwsError, match="NoCredentialsError"):
            current()

    def test_a_profile_that_is_not_there_is_named_by_its_kind(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("AWS_PROFILE", "absent")
        with pytest.raises(AwsError, match=r"\AProfileNotFound\Z"):
            current()
        with pytest.raises(AwsError, match=r"\AProfileNotFound\Z"):
            credentials.region()

    def test_it_need_not_be_installed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "botocore", None)
        monkeypatch.setitem(sys.modules, "botocore.session", None)
        with pytest.raises(AwsError, match="NoCredentialsError"):
            current()
        assert credentials.region() == ""


class TestBucket:
    """obstore signs with the same credentials; the imitation of S3 tells whose it was asked with."""

    @pytest.fixture
    def s3(self, monkeypatch: pytest.MonkeyPatch, clock: SimpleNamespace) -> Iterator[Upstream]:
        with Upstream((200, {"last-modified": "Thu, 01 Jan 2026 00:00:00 GMT"}, b"content")) as running:
            monkeypatch.setenv("AWS_ENDPOINT_URL", running.url.removesuffix("/query"))
            yield running

    def signers(self, s3: Upstream) -> list[str]:
        return [
            f"{asked['authorization'].partition('Credential=')[2].partition('/')[0]} {asked['x-amz-security-token']}"
            for asked in s3.headers
        ]

    def test_it_asks_the_endpoint_and_again_after_a_restore(
        self, clock: SimpleNamespace, handing: Upstream, s3: Upstream
    ) -> None:
        handing.replies = [handed_out("A", clock.now + HOUR), handed_out("B", clock.now + HOUR)]
        for _ in range(2):
            bucket = open_bucket("things", "", 5.0, 0)
            for _ in range(3):
                obstore.get(bucket, "a")
            credentials.forget()
        assert self.signers(s3) == ["A A-TOKEN"] * 3 + ["B B-TOKEN"] * 3
        assert len(handing.asked) == 2

    def test_a_bucket_that_is_open_gets_those_that_follow(
        self, clock: SimpleNamespace, handing: Upstream, s3: Upstream
    ) -> None:
        handing.replies = [handed_out("A", clock.now + 200), handed_out("B", clock.now + HOUR)]
        bucket = open_bucket("things", "", 5.0, 0)
        obstore.get(bucket, "a")
        clock.now += 100
        time.sleep(0.15)  # obstore asks ten times a second at most
        obstore.get(bucket, "a")
        assert self.signers(s3) == ["A A-TOKEN", "B B-TOKEN"]

    def test_a_link_is_signed_with_them(self, handing: Upstream, s3: Upstream) -> None:
        from datetime import timedelta

        url = obstore.sign(open_bucket("things", "", 5.0, 0), "GET", "a", timedelta(seconds=60))
        assert "X-Amz-Credential=A%2F" in url
        assert "X-Amz-Security-Token=A-TOKEN" in url

    def test_a_profile_will_do(self, tmp_path: Path, s3: Upstream) -> None:
        (tmp_path / "credentials").write_text(
            "[default]\naws_access_key_id = P\naws_secret_access_key = PS\naws_session_token = PT\n"
        )
        bucket = open_bucket("things", "", 5.0, 0)
        for _ in range(2):
            obstore.get(bucket, "a")
        assert self.signers(s3) == ["P PT"] * 2

    def test_without_credentials_the_reason_is_said(self, s3: Upstream) -> None:
        with pytest.raises(AwsError, match="NoCredentialsError"):
            open_bucket("things", "", 5.0, 0)
