"""Published versions of a function on moto: listed, rolled back, pruned, and what is refused."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto import mock_aws

from scripts.lambda_versions import ALIAS, FunctionVersions, VersionsError, main, options_of_stage

ROOT = Path(__file__).parents[3]


def archive() -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as packed:
        packed.writestr("app.py", "")
    return content.getvalue()


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    with mock_aws():
        role = boto3.client("iam").create_role(RoleName="r", AssumeRolePolicyDocument="{}")["Role"]["Arn"]
        client = boto3.client("lambda")
        client.create_function(
            FunctionName="f", Runtime="python3.13", Role=role, Handler="app.handler", Code={"ZipFile": archive()}
        )
        for number in range(1, 5):
            client.update_function_configuration(FunctionName="f", Description=str(number))
            client.publish_version(FunctionName="f", Description=f"stamp {number}")
        client.create_alias(FunctionName="f", Name=ALIAS, FunctionVersion="4")
        yield client


def numbers(versions: FunctionVersions) -> list[int]:
    return [one.number for one in versions.published()]


def test_versions_are_listed_with_their_stamps(client: Any) -> None:
    versions = FunctionVersions("f", client)
    assert [(one.number, one.description) for one in versions.published()][-1] == (4, "stamp 4")
    assert versions.current() == "4"


def test_a_rollback_goes_to_the_version_before_or_to_the_named_one(client: Any) -> None:
    versions = FunctionVersions("f", client)
    assert versions.roll_back() == ("4", 3)
    assert versions.roll_back() == ("3", 2)
    assert versions.roll_back(4) == ("2", 4)
    assert versions.current() == "4"


def test_a_rollback_ends_a_gradual_deployment(client: Any) -> None:
    client.update_alias(
        FunctionName="f", Name=ALIAS, FunctionVersion="3", RoutingConfig={"AdditionalVersionWeights": {"4": 0.1}}
    )
    FunctionVersions("f", client).roll_back(3)
    assert not client.get_alias(FunctionName="f", Name=ALIAS)["RoutingConfig"].get("AdditionalVersionWeights")


@pytest.mark.parametrize(("current", "target"), [("1", None), ("4", 9), ("$LATEST", None)])
def test_a_rollback_to_nothing_is_refused(client: Any, current: str, target: int | None) -> None:
    client.update_alias(FunctionName="f", Name=ALIAS, FunctionVersion=current)
    versions = FunctionVersions("f", client)
    with pytest.raises(VersionsError):
        versions.roll_back(target)
    assert versions.current() == current


def test_pruning_keeps_the_newest_and_those_in_use(client: Any) -> None:
    client.update_alias(
        FunctionName="f", Name=ALIAS, FunctionVersion="1", RoutingConfig={"AdditionalVersionWeights": {"4": 0.1}}
    )
    versions = FunctionVersions("f", client)
    assert versions.prune(keep=2) == [2]
    assert numbers(versions) == [1, 3, 4]
    assert versions.prune(keep=5) == []


def test_the_function_is_that_of_the_stack(
    client: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("scripts.lambda_versions.function_of", lambda stack, _: {"toolfold-prod": "f"}[stack])
    assert main(["rollback", "--stage", "prod"]) == 0
    assert "version 4 -> 3" in capsys.readouterr().out
    assert main(["list", "--stage", "prod"]) == 0
    assert [line[0] for line in capsys.readouterr().out.splitlines()] == [" ", " ", "*", " "]
    assert main(["prune", "--stage", "prod", "--keep", "2"]) == 0
    assert "Deleted versions: 1, 2." in capsys.readouterr().out


@pytest.mark.slow
def test_an_unknown_stack_or_stage_is_named(client: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "--stack", "nothing"]) == 1
    assert "nothing" in capsys.readouterr().err
    assert main(["list", "--stage", "staging"]) == 1
    assert "no stage staging. Stages: default, dev, prod." in capsys.readouterr().err


def test_stages_are_stacks_of_their_own() -> None:
    names = [options_of_stage(stage, ROOT / "samconfig.toml")["stack_name"] for stage in ("default", "dev", "prod")]
    assert names == ["toolfold", "toolfold-dev", "toolfold-prod"]
