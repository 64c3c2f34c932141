"""The stacks beside that of the gateway, deployed by SAM's own program to moto."""

import hashlib
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import aws_services

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".venv-sam/bin/python"

GATEWAY = """{
  "Parameters": {"Access": {"Type": "String", "Default": "oauth"}, "Vpc": {"Type": "String", "Default": ""}},
  "Resources": {"CatalogBucket": {"Type": "AWS::S3::Bucket"}},
  "Outputs": {"ApiId": {"Value": "abcdefghij"},
              "Endpoint": {"Value": "https://abcdefghij.execute-api.eu-central-1.amazonaws.com/mcp"}}
}"""

PACKAGES = """{
  "Resources": {"Bucket": {"Type": "AWS::S3::Bucket", "Properties": {"BucketName": "aws-sam-cli-managed-default-1"}}},
  "Outputs": {"SourceBucket": {"Value": {"Ref": "Bucket"}}}
}"""
"""What `sam deploy` makes once for each region. Moto's change sets have no outputs, so that it is made before."""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not PYTHON.exists(), reason="needs the SAM CLI: make build"),
    # Moto creates no firewalls.
    pytest.mark.filterwarnings("ignore:Tried to parse AWS:UserWarning"),
]


class Account:
    """An account of moto, with the stack of a gateway."""

    def __init__(self, url: str) -> None:
        # Moto reads a template by its URL from a bucket only if the host is called localhost.
        here = aws_services.variables(url.replace("127.0.0.1", "localhost"))
        self._environment = {**os.environ, **here, "SAM_CLI_TELEMETRY": "0"}
        self._cloudformation = aws_services.client("cloudformation", url)
        tags = [{"Key": "ManagedStackSource", "Value": "AwsSamCli"}]
        self._cloudformation.create_stack(StackName="aws-sam-cli-managed-default", TemplateBody=PACKAGES, Tags=tags)
        self._cloudformation.create_stack(StackName="toolfold", TemplateBody=GATEWAY)

    def deploy(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run the script that `make waf` and the others run."""
        command = [str(PYTHON), "-m", "scripts.other_stacks", *arguments]
        environment = {**self._environment, "PYTHONPATH": "layers/core", **variables}
        return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)

    def parameters(self, stack: str) -> dict[str, Any]:
        found = self._cloudformation.describe_stacks(StackName=stack)["Stacks"][0]["Parameters"]
        return {pair["ParameterKey"]: pair["ParameterValue"] for pair in found}


@pytest.fixture(scope="module")
def account() -> Iterator[Account]:
    with aws_services.serving() as url:
        yield Account(url)


def test_the_firewall_gets_a_secret_that_is_shown_to_nobody_and_kept(account: Account) -> None:
    first = account.deploy("waf")
    assert first.returncode == 0, first.stderr
    parameters = account.parameters("toolfold-waf")
    assert parameters["Endpoint"] == "https://abcdefghij.execute-api.eu-central-1.amazonaws.com/mcp"
    assert parameters["Access"] == "oauth"
    secret = parameters["OriginSecret"]
    assert re.fullmatch("[A-Za-z0-9_-]{43}", secret)
    assert secret not in first.stdout + first.stderr
    assert f'origin_secret_sha256 = ["{hashlib.sha256(secret.encode()).hexdigest()}"]' in first.stdout

    second = account.deploy("waf", "RequestsPerFiveMinutes=500")
    assert second.returncode == 0, second.stderr
    assert account.parameters("toolfold-waf") == {**parameters, "RequestsPerFiveMinutes": "500"}
    assert "origin_secret" not in second.stdout


def test_a_list_arrives_as_it_is(account: Account) -> None:
    urls = "https://claude.ai/api/mcp/auth_callback,cursor://anysphere.cursor-mcp/oauth/callback"
    assert account.deploy("cognito", f"CallbackUrls={urls}").returncode == 0
    # Moto writes a list as Python does.
    assert account.parameters("toolfold-cognito") == {"CallbackUrls": str(urls.split(","))}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["domain"], "domain: Set DomainName: The domain, such as mcp.example.com."),
        (["domain", "DomainNam=mcp.example.com"], "domain: There is no parameter DomainNam. Did you mean DomainName?"),
        (
            ["--stage", "prod", "domain", "DomainName=mcp.example.com"],
            "There is no stack toolfold-prod: deploy it by `make",
        ),
        (["--stage", "production", "domain"], "samconfig.toml has no stage production"),
    ],
)
def test_what_is_missing_is_said_before_anything_is_created(
    account: Account, arguments: list[str], sentence: str
) -> None:
    done = account.deploy(*arguments)
    assert done.returncode == 1
    assert sentence in done.stderr
    assert len(done.stderr.splitlines()) == 1
