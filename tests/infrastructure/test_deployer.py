"""The policy of a deployer: each action that CloudFormation needs for a resource of the template is in it.

Which actions these are is in the resource schemas of CloudFormation, which cfn-lint brings.
"""

from __future__ import annotations

import functools
import json
import re
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest
from cfnlint.api import ManualArgs, lint
from cfnlint.schema.manager import PROVIDER_SCHEMA_MANAGER

from tests.support.combinations import ALL
from tests.support.sam_template import REGION, load
from tests.support.stack import deciding, resolve, translated

DEPLOYER = Path(__file__).parents[2] / "deploy/deployer.yaml"

NOT_USED = (
    # Services of options that the template does not have: networks, file systems, streams, replicas, tables of S3 …
    r"ec2:(?!Describe(SecurityGroups|Subnets|Vpcs)$).*",
    r"(elasticfilesystem|s3files|kinesis|firehose|s3tables|s3:REST|application-autoscaling|kms|glue|signer):?.*",
    # Functions in containers, on capacity providers, and data in tables.
    r"lambda:(PassCapacityProvider|AssociateRuntimeAlias)|dynamodb:(\w*Item|Query|Scan|\w*Import\w*|BatchWriteItem)",
    r"iam:(\w*UserPolic\w*|\w*GroupPolic\w*|CreateServiceLinkedRole|PassRole)",
    r"(s3:getObject|s3:GetObject\w*|s3:PutObject\w*|s3:DeleteObject\w*|s3:\w*Metadata\w*|s3:\w*ReplicationConf\w*)",
    r"iam:DeleteRolePermissionsBoundary|codedeploy:RegisterOnPremisesInstance|logs:PutBearerTokenAuthentication",
)
"""Actions in the schemas that are for other options of a resource than those of the template."""


WITHOUT_RESOURCE = (
    r"ec2:Describe\w+|secretsmanager:GetRandomPassword|"
    r"logs:(\w*LogDelivery|\w*ResourcePolic\w*|Describe\w*|\w*QueryDefinitions?)"
)
"""Actions that name no resource, and are allowed for all resources or for none."""


@functools.cache
def needed() -> dict[str, set[str]]:
    """Type of the template → the actions that create, read, update and delete it."""
    found: dict[str, set[str]] = {}
    for kind in {one["Type"] for one in translated()["Resources"].values() if not one["Type"].startswith("Custom::")}:
        handlers = PROVIDER_SCHEMA_MANAGER.get_resource_schema(REGION, kind).schema["handlers"]
        actions = {action for name, one in handlers.items() if name != "list" for action in one["permissions"]}
        found[kind] = {one for one in actions if not any(re.fullmatch(pattern, one) for pattern in NOT_USED)}
    return found


def statements(**parameters: str) -> list[dict[str, Any]]:
    policies = resolve(load(DEPLOYER), parameters).of_type("AWS::IAM::ManagedPolicy").values()
    return [statement for policy in policies for statement in policy["PolicyDocument"]["Statement"]]


def allows(statement: dict[str, Any], action: str) -> bool:
    if re.fullmatch(WITHOUT_RESOURCE, action) and statement["Resource"] != "*":
        return False
    actions = statement["Action"] if isinstance(statement["Action"], list) else [statement["Action"]]
    return any(fnmatchcase(action, one) for one in actions)


def missing(given: list[dict[str, Any]]) -> set[str]:
    """What CloudFormation needs and no statement allows; the one about packages is for other buckets."""
    about_the_stack = [one for one in given if one["Sid"] != "Packages"]
    every = set().union(*needed().values())
    return {action for action in every if not any(allows(one, action) for one in about_the_stack)}


def test_each_type_of_the_template_has_its_actions() -> None:
    assert missing(statements()) == set()


@pytest.mark.parametrize("sid", [one["Sid"] for one in statements()])
def test_no_statement_is_superfluous(sid: str) -> None:
    # Of SAM and the command line: stacks, packages and roles that are passed.
    if sid not in {"Stacks", "ReadTemplates", "Packages", "PassRoles"}:
        assert missing([one for one in statements() if one["Sid"] != sid])


def test_only_resources_of_the_prefix_can_be_changed() -> None:
    without_names = {"ReadTemplates", "AccessLogs", "Domains", "Budgets", "Apis", "Packages", "NewSecrets", "Networks"}
    for statement in statements(StackPrefix="myname"):
        resources = statement["Resource"] if isinstance(statement["Resource"], list) else [statement["Resource"]]
        if statement["Sid"] not in without_names:
            others = [one for one in resources if "myname" not in one]
            assert all(
                re.search("aws-sam-cli-managed|ApprovalSecret-|transform/|CodeDeployDefault", one) for one in others
            ), statement


def test_names_of_the_stack_begin_with_the_prefix() -> None:
    """Where the template names a resource itself, the name has to match the policy."""
    stack = resolve(translated(), ALL, "toolfold")
    for groups in stack.of_type("AWS::Logs::LogGroup").values():
        assert re.match("/aws/(lambda|vendedlogs/apis)/toolfold", groups["LogGroupName"])
    for dashboard in stack.of_type("AWS::CloudWatch::Dashboard").values():
        assert dashboard.get("DashboardName", "toolfold").startswith("toolfold")


def test_roles_are_passed_to_the_services_of_the_template_only() -> None:
    trusted = {
        statement["Principal"]["Service"]
        for role in resolve(translated(), ALL).of_type("AWS::IAM::Role").values()
        for statement in role["AssumeRolePolicyDocument"]["Statement"]
    }
    [passed] = [one for one in statements() if one["Sid"] == "PassRoles"]
    assert set(passed["Condition"]["StringEquals"]["iam:PassedToService"]) == trusted


def test_the_boundary_is_required_where_it_is_named() -> None:
    arn = "arn:aws:iam::123456789012:policy/boundary"
    [written] = [one for one in statements(PermissionsBoundaryArn=arn) if one["Sid"] == "WriteRoles"]
    assert written["Condition"] == {"StringEquals": {"iam:PermissionsBoundary": arn}}
    assert {"iam:CreateRole", "iam:PutRolePolicy"} <= set(written["Action"])
    assert "Condition" not in next(one for one in statements() if one["Sid"] == "WriteRoles")


def test_each_policy_is_short_enough_for_iam() -> None:
    for policy in resolve(load(DEPLOYER), {"StackPrefix": "a" * 31}).of_type("AWS::IAM::ManagedPolicy").values():
        assert len(json.dumps(policy["PolicyDocument"], separators=(",", ":"))) < 6144


@pytest.mark.slow
@pytest.mark.parametrize("template", sorted(DEPLOYER.parent.glob("*.yaml")), ids=lambda path: path.name)
def test_templates_beside_it_have_no_lint(template: Path) -> None:
    decided = deciding(load(template), {}).template
    assert decided["Resources"]
    assert [str(one) for one in lint(template.read_text(), config=ManualArgs(regions=["us-east-1"]))] == []


def test_the_firewall_forwards_everything_and_stores_nothing() -> None:
    stack = resolve(load(DEPLOYER.with_name("waf.yaml")), {"OriginDomain": "mcp.example.com"})
    [distribution] = stack.of_type("AWS::CloudFront::Distribution").values()
    config = distribution["DistributionConfig"]
    behavior = config["DefaultCacheBehavior"]
    assert behavior["ViewerProtocolPolicy"] == "https-only"
    assert {"GET", "POST", "OPTIONS", "DELETE"} <= set(behavior["AllowedMethods"])
    # Managed by AWS: CachingDisabled, AllViewerExceptHostHeader.
    assert behavior["CachePolicyId"] == "4135ea2d-6df8-44a3-9df3-4b5a84be39ad"
    assert behavior["OriginRequestPolicyId"] == "b689b0a8-53d0-40ab-baf2-68738e2966ac"
    assert config["Origins"][0]["CustomOriginConfig"]["OriginSSLProtocols"] == ["TLSv1.2"]
    [acl] = stack.of_type("AWS::WAFv2::WebACL").values()
    assert "RateBasedStatement" in acl["Rules"][0]["Statement"]
