"""The role of a pipeline: who gets it, and what it may do."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

from tests.support.sam_template import load

ROOT = Path(__file__).parents[2]
TEMPLATE = load(ROOT / "deploy/pipeline.yaml")


def test_only_jobs_of_one_environment_of_one_repository_get_the_role() -> None:
    (statement,) = TEMPLATE["Resources"]["PipelineRole"]["Properties"]["AssumeRolePolicyDocument"]["Statement"]
    assert statement["Action"] == "sts:AssumeRoleWithWebIdentity"
    assert statement["Condition"] == {
        "StringEquals": {
            "token.actions.githubusercontent.com:aud": "sts.amazonaws.com",
            "token.actions.githubusercontent.com:sub": {"Fn::Sub": "repo:${Repository}:environment:${Environment}"},
        }
    }


@pytest.mark.parametrize("repository", ["owner", "owner/name:environment:x", "owner/*", "*/*", ""])
def test_no_pattern_stands_for_a_repository(repository: str) -> None:
    rules = TEMPLATE["Parameters"]
    assert not re.fullmatch(rules["Repository"]["AllowedPattern"], repository)
    assert not re.fullmatch(rules["Environment"]["AllowedPattern"], "prod*")


def test_the_documented_workflow_waits_for_staging_and_uses_stages_that_exist() -> None:
    page = (ROOT / "docs/how-to/fit-your-account.md").read_text(encoding="utf-8")
    section = page.partition("## From a pipeline")[2]
    workflow = yaml.safe_load(section.partition("```yaml\n")[2].partition("```")[0])
    assert workflow["jobs"]["production"]["needs"] == "staging"
    assert workflow["permissions"] == {"id-token": "write", "contents": "read"}
    stages = re.findall(r"make (\w+) STAGE=(\w+)", str(workflow))
    assert stages == [("deploy", "dev"), ("smoke", "dev"), ("deploy", "prod"), ("smoke", "prod")]
    for job in workflow["jobs"].values():  # runners have another Python on PATH than that of the function
        versions = [step["with"]["python-version"] for step in job["steps"] if "setup-python" in step.get("uses", "")]
        assert versions == ["3.13"]
    configured = tomllib.loads((ROOT / "samconfig.toml").read_text(encoding="utf-8"))
    assert {"dev", "prod"} <= configured.keys()
