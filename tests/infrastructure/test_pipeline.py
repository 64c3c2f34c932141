"""The role of a pipeline: who gets it, and what it may do."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.sam_template import load
from tests.support.stack import resolve

FOLDER = Path(__file__).parents[2]
PROVIDER = "arn:aws:iam::123456789012:oidc-provider/token.actions.githubusercontent.com"
GIVEN = {"Repository": "owner/name", "Environment": "prod", "DeployerPolicyArns": "arn:one,arn:two"}


def role(**parameters: str) -> dict[str, Any]:
    (found,) = (
        resolve(load(FOLDER / "deploy/pipeline.yaml"), {**GIVEN, **parameters}).of_type("AWS::IAM::Role").values()
    )
    return dict(found)


def test_only_jobs_of_one_environment_of_one_repository_get_the_role() -> None:
    (statement,) = role()["AssumeRolePolicyDocument"]["Statement"]
    assert statement["Action"] == "sts:AssumeRoleWithWebIdentity"
    assert statement["Condition"] == {
        "StringEquals": {
            "token.actions.githubusercontent.com:aud": "sts.amazonaws.com",
            "token.actions.githubusercontent.com:sub": "repo:owner/name:environment:prod",
        }
    }


def test_the_provider_of_the_account_is_used_where_it_is_named() -> None:
    template = load(FOLDER / "deploy/pipeline.yaml")
    assert resolve(template, GIVEN).of_type("AWS::IAM::OIDCProvider")
    assert not resolve(template, {**GIVEN, "ProviderArn": PROVIDER}).of_type("AWS::IAM::OIDCProvider")
    (statement,) = role(ProviderArn=PROVIDER)["AssumeRolePolicyDocument"]["Statement"]
    assert statement["Principal"] == {"Federated": PROVIDER}


@pytest.mark.parametrize("repository", ["owner", "owner/name:environment:x", "owner/*", "*/*", ""])
def test_no_pattern_stands_for_a_repository(repository: str) -> None:
    rules = load(FOLDER / "deploy/pipeline.yaml")["Parameters"]
    assert not re.fullmatch(rules["Repository"]["AllowedPattern"], repository)
    assert not re.fullmatch(rules["Environment"]["AllowedPattern"], f"prod{repository[:0]}*")


def test_the_documented_workflow_waits_for_staging_and_uses_stages_that_exist() -> None:
    page = (FOLDER / "docs/how-to/fit-your-account.md").read_text(encoding="utf-8")
    section = page.partition("## From a pipeline")[2]
    workflow = yaml.safe_load(section.partition("```yaml\n")[2].partition("```")[0])
    assert workflow["jobs"]["production"]["needs"] == "staging"
    assert workflow["permissions"] == {"id-token": "write", "contents": "read"}
    stages = re.findall(r"STAGE=(\w+)", str(workflow))
    configured = (FOLDER / "samconfig.toml").read_text(encoding="utf-8")
    assert stages == ["dev", "prod"]
    assert all(f"[{stage}.deploy.parameters]" in configured for stage in stages)
