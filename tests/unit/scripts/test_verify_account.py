"""The steps of ``make verify-account`` without an account: their order, their outcomes, and what deletes the stack."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import boto3
import pytest
from moto import mock_aws

from scripts import verify_account
from scripts.deployed_stack import DeployedStack
from scripts.smoke import CheckFailed, Skipped
from scripts.verify_account import STEPS, Account, main, remains, run_steps


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr("time.sleep", lambda _: None)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    with mock_aws():
        yield


@pytest.fixture
def account(aws: None, tmp_path: Path) -> Account:
    return Account("shop", tmp_path / "made/transcript.txt")


def create_stack(account: Account, endpoint: str = "https://none.invalid/mcp") -> str:
    """Create a stack with a bucket that is kept and has two versions of an object; return the bucket."""
    template = {
        "Resources": {"CatalogBucket": {"Type": "AWS::S3::Bucket", "DeletionPolicy": "Retain"}},
        "Outputs": {"CatalogBucketName": {"Value": {"Ref": "CatalogBucket"}}, "Endpoint": {"Value": endpoint}},
    }
    boto3.Session().client("cloudformation").create_stack(StackName=account.name, TemplateBody=json.dumps(template))
    bucket, s3 = account.deployment.outputs["CatalogBucketName"], boto3.Session().client("s3")
    s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
    for content in (b"1", b"2"):
        s3.put_object(Bucket=bucket, Key="catalog/current.json", Body=content)
    return bucket


def transcript(account: Account) -> list[str]:
    """Return the outcomes and names of the steps."""
    text = account._transcript.read_text(encoding="utf-8")
    assert all(re.match(r"\d\d:\d\d:\d\d ", line) for line in text.splitlines())
    return [" ".join(words) for words in re.findall(r"(PASS|SKIP|FAIL)  (\w+)", text)]


def test_the_plan_lists_every_step_without_an_account(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(DeployedStack, "client", None)
    assert main(["--plan"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[1] for line in lines] == [step.__name__ for step in STEPS] + ["delete"]
    assert all(len(line.split()) > 5 for line in lines)


def passing(account: Account) -> str:
    """Pass."""
    return "done"


def skipping(account: Account) -> str:
    """Be skipped."""
    raise Skipped("not here")


def failing(account: Account) -> str:
    """Fail."""
    raise CheckFailed("wrong")


def broken(account: Account) -> str:
    """Fail with an error of Python."""
    return dict[str, str]()["none"]


def interrupted(account: Account) -> str:
    """Be interrupted."""
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("step", "outcomes"),
    [
        (skipping, ["SKIP skipping", "PASS passing", "PASS delete"]),
        (broken, ["FAIL broken", "PASS delete"]),
        (interrupted, ["FAIL interrupted", "PASS delete"]),
    ],
)
def test_the_stack_and_its_buckets_are_deleted_whatever_happens(
    account: Account, step: Callable[[Account], str], outcomes: list[str]
) -> None:
    bucket = create_stack(account)
    assert list(remains(account)) == [f"stack {account.name} (CREATE_COMPLETE)", f"bucket {bucket}"]
    assert run_steps(account, (verify_account.check_credentials, step, passing)) is (step is skipping)
    assert transcript(account) == ["PASS check_credentials", *outcomes]
    assert not list(remains(account))
    assert bucket not in {each["Name"] for each in boto3.Session().client("s3").list_buckets()["Buckets"]}


def test_without_credentials_nothing_is_deleted(account: Account) -> None:
    create_stack(account)
    assert not run_steps(account, (failing,))
    assert transcript(account) == ["FAIL failing"]
    assert account.deployment.stack is not None


def test_the_output_of_commands_is_in_the_transcript_without_the_account(account: Account) -> None:
    account.number = "987654321098"
    status, output = account.run("sh", "-c", "echo arn:aws:iam::987654321098:role/x; exit 3")
    assert (status, output) == (3, "arn:aws:iam::987654321098:role/x\n")
    text = account._transcript.read_text(encoding="utf-8")
    assert "987654321098" not in text
    assert "arn:aws:iam::123456789012:role/x" in text
