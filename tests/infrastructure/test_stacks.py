"""The templates beside that of the gateway: lint with every meaningful combination of parameters, and their size."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.sam_template import load, translate

DEPLOY = Path(__file__).parents[2] / "deploy"

BOUNDARY = "arn:aws:iam::123456789012:policy/boundary"
CERTIFICATE = "arn:aws:acm:us-east-1:123456789012:certificate/0-1"

REQUIRED: dict[str, dict[str, Any]] = {
    "cognito": {},
    "deployer": {},
    "domain": {"ApiId": "abcdefghij", "DomainName": "mcp.example.com", "CertificateArn": CERTIFICATE},
    "pipeline": {"Repository": "owner/name", "Environment": "prod", "DeployerPolicyArns": [BOUNDARY, BOUNDARY]},
    "publisher": {"CatalogBucketName": "toolfold-catalogbucket"},
    "waf": {
        "Endpoint": "https://abcdefghij.execute-api.eu-central-1.amazonaws.com/mcp",
        "Access": "oauth",
        "OriginSecret": "0123456789abcdef0123456789abcdef",
    },
}
"""Template → the parameters that have no default."""

OPTIONS: dict[str, list[dict[str, Any]]] = {
    "cognito": [{"CallbackUrls": ["https://claude.ai/api/mcp/auth_callback", "http://localhost:8976/callback"]}],
    "deployer": [{"StackPrefix": "tools"}, {"PermissionsBoundaryArn": BOUNDARY}],
    "domain": [{"HostedZoneId": "Z0123456789"}],
    "pipeline": [
        {"ProviderArn": "arn:aws:iam::123456789012:oidc-provider/token.actions.githubusercontent.com"},
        {"PermissionsBoundaryArn": BOUNDARY},
    ],
    "publisher": [
        {"PublishSchedule": "rate(1 day)"},
        {"SourceKeys": "arn:aws:ssm:us-east-1:123456789012:parameter/toolfold/keys"},
        {"KmsKeyArn": "arn:aws:kms:us-east-1:123456789012:key/0-1"},
        {"Vpc": "subnet-0a1b2c3d,subnet-0c2d3e4f;sg-0e3f4a5b"},
        {"PermissionsBoundaryArn": BOUNDARY},
    ],
    "waf": [{"FirewallDomain": "mcp.example.com", "CertificateArn": CERTIFICATE}, {"Access": "open"}],
}
"""Template → what may be set besides, each alone and all together."""

COMBINATIONS = [
    (name, {**REQUIRED[name], **chosen})
    for name, options in OPTIONS.items()
    for chosen in ({}, *options, {key: value for option in options for key, value in option.items()})
]


def cloudformation(name: str) -> dict[str, Any]:
    """Return a template as CloudFormation sees it: that of SAM is translated."""
    template = load(DEPLOY / f"{name}.yaml")
    return translate(template) if "Transform" in template else template


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "parameters"), COMBINATIONS, ids=[f"{name}-{list(given)}" for name, given in COMBINATIONS]
)
def test_no_combination_of_parameters_has_lint(name: str, parameters: dict[str, Any]) -> None:
    from cfnlint.api import ManualArgs, lint

    found = lint(json.dumps(cloudformation(name)), config=ManualArgs(regions=["us-east-1"], parameters=[parameters]))
    assert [str(match) for match in found] == []


@pytest.mark.parametrize("name", sorted(REQUIRED))
def test_a_failed_first_deployment_leaves_nothing_behind(name: str) -> None:
    kept = {one.get("DeletionPolicy", "Delete") for one in cloudformation(name)["Resources"].values()}
    assert kept <= {"Delete", "RetainExceptOnCreate"}
