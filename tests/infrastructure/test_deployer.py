"""The policy of a deployer: each action that CloudFormation needs for a resource of the template is in it.

Which actions these are is in the resource schemas of CloudFormation, which cfn-lint brings.
"""

import functools
import json
import re
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest

from tests.support.sam_template import REGION, load, translate

ROOT = Path(__file__).parents[2]
DEPLOYER = ROOT / "deploy/deployer.yaml"

DEPLOYED = ["template.yaml", *(f"deploy/{name}.yaml" for name in ("monitoring", "publisher", "domain", "waf"))]
"""What a deployer deploys. An administrator of the users deploys the issuer of tokens."""

NOT_USED = (
    # Services of options that the template does not have: networks, file systems, streams, replicas, tables of S3 …
    r"ec2:(?!Describe(SecurityGroups|Subnets|Vpcs)$).*",
    r"(elasticfilesystem|s3files|kinesis|firehose|s3tables|s3:REST|application-autoscaling|kms|glue|signer):?.*",
    # Functions in containers, on capacity providers, and data in tables.
    r"lambda:(PassCapacityProvider|AssociateRuntimeAlias)|dynamodb:(\w*Item|Query|Scan|\w*Import\w*|BatchWriteItem)",
    r"iam:(\w*UserPolic\w*|\w*GroupPolic\w*|CreateServiceLinkedRole|PassRole)",
    r"(s3:getObject|s3:GetObject\w*|s3:PutObject\w*|s3:DeleteObject\w*|s3:\w*Metadata\w*|s3:\w*ReplicationConf\w*)",
    r"iam:DeleteRolePermissionsBoundary|codedeploy:\w*|logs:PutBearerTokenAuthentication|payments:\w*",
    r"cloudfront:\w*(ConnectionGroup|VpcOrigin)|route53:ListHostedZones",
    # Backups, replicas and policies of tables.
    r"dynamodb:(\w*TableReplica|(Put|Delete)ResourcePolicy|Update(ContinuousBackups|ContributorInsights)|\w*ableKinesis\w*)",
    r"dynamodb:UpdateKinesisStreamingDestination|logs:(CreateLogStream|PutLogEvents|DescribeLogStreams)",
)
"""Actions in the schemas that are for other options of a resource than those of the template."""


WITHOUT_RESOURCE = (
    r"ec2:Describe\w+|secretsmanager:GetRandomPassword|lambda:GetAccountSettings|"
    r"logs:(\w*LogDelivery|\w*ResourcePolic\w*|Describe\w*|\w*QueryDefinitions?)"
)
"""Actions that name no resource, and are allowed for all resources or for none."""

OF_MAKE = {
    "deploy": ["cloudformation:CreateChangeSet", "cloudformation:DescribeStacks", "lambda:GetAccountSettings"],
    "publish": ["s3:GetObject", "s3:ListBucket", "s3:PutObject"],
    "smoke": ["execute-api:Invoke"],
    "rollback": ["cloudformation:UpdateStack", "lambda:GetAlias", "lambda:ListVersionsByFunction"],
    "logs": ["lambda:GetFunctionConfiguration", "logs:FilterLogEvents"],
    "store-key": ["ssm:GetParameter", "ssm:PutParameter"],
}
"""What the targets request themselves, beside what CloudFormation does for them."""

NAMED_OTHERWISE = {"Unnamed", "AccessLogs", "Records", "Apis", "Calls", "Packages", "Distributions"}
"""Statements for resources whose names do not begin with the prefix, or that have none."""


@functools.cache
def resources() -> list[dict[str, Any]]:
    """Return the resources of all templates, as CloudFormation sees them."""
    templates = [load(path) for path in map(ROOT.joinpath, DEPLOYED) if path.exists()]
    seen = [translate(one) if "Transform" in one else one for one in templates]
    return [resource for one in seen for resource in one["Resources"].values()]


@functools.cache
def needed() -> frozenset[str]:
    """Return the actions that create, read, update and delete the resources of the templates."""
    kinds = {one["Type"] for one in resources() if not one["Type"].startswith("Custom::")}
    from cfnlint.schema.manager import PROVIDER_SCHEMA_MANAGER  # half a second of each process that collects tests

    handlers = [PROVIDER_SCHEMA_MANAGER.get_resource_schema(REGION, kind).schema.get("handlers", {}) for kind in kinds]
    actions = {
        action for one in handlers for name, rights in one.items() if name != "list" for action in rights["permissions"]
    }
    return frozenset(one for one in actions if not any(re.fullmatch(pattern, one) for pattern in NOT_USED))


def policies() -> list[dict[str, Any]]:
    """Return the documents of the two policies."""
    return [one["Properties"]["PolicyDocument"] for one in load(DEPLOYER)["Resources"].values()]


def statements() -> dict[str, dict[str, Any]]:
    """Return the statements of both policies by their names."""
    return {one["Sid"]: one for policy in policies() for one in policy["Statement"]}


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def allows(statement: dict[str, Any], action: str) -> bool:
    if re.fullmatch(WITHOUT_RESOURCE, action) and statement["Resource"] != "*":
        return False
    return any(fnmatchcase(action.lower(), one.lower()) for one in listed(statement["Action"]))


@pytest.mark.slow  # the schemas of all resources are read
def test_each_type_of_the_templates_has_its_actions() -> None:
    rest = [one for sid, one in statements().items() if sid != "Packages"]  # for other buckets
    assert [action for action in needed() if not any(allows(one, action) for one in rest)] == []


@pytest.mark.parametrize("target", OF_MAKE)
def test_each_target_of_make_has_its_actions(target: str) -> None:
    rest = [one for sid, one in statements().items() if sid != "Packages"]
    assert [action for action in OF_MAKE[target] if not any(allows(one, action) for one in rest)] == []


def test_only_resources_of_the_prefix_can_be_changed() -> None:
    for sid, statement in statements().items():
        if sid not in NAMED_OTHERWISE:
            others = [one for one in listed(statement["Resource"]) if "${StackPrefix}" not in one["Fn::Sub"]]
            assert all(
                re.search("aws-sam-cli-managed|ApprovalSecret-|transform/|managedruleset/", one["Fn::Sub"])
                for one in others
            ), sid


def test_names_of_the_stack_begin_with_the_prefix() -> None:
    """Where a template names a resource itself, the name has to match the policy."""
    for resource in resources():
        given = resource.get("Properties", {})
        if resource["Type"] == "AWS::Logs::LogGroup":
            assert re.match(r"/aws/(lambda|vendedlogs/apis)/\$\{AWS::StackName\}", given["LogGroupName"]["Fn::Sub"])
        if "DashboardName" in given:
            assert re.match(r"\$\{(AWS::StackName|Stack)\}", given["DashboardName"]["Fn::Sub"])


def test_roles_are_passed_to_the_services_of_the_templates_only() -> None:
    trusted = {
        statement["Principal"]["Service"]
        for one in resources()
        if one["Type"] == "AWS::IAM::Role"
        for statement in one["Properties"]["AssumeRolePolicyDocument"]["Statement"]
    }
    passed = statements()["PassRoles"]["Condition"]["StringEquals"]["iam:PassedToService"]
    assert set(listed(passed)) == trusted


def test_the_boundary_is_required_where_it_is_named() -> None:
    written = statements()["WriteRoles"]
    condition, required, otherwise = written["Condition"]["Fn::If"]
    assert (condition, otherwise) == ("HasBoundary", {"Ref": "AWS::NoValue"})
    assert required == {"StringEquals": {"iam:PermissionsBoundary": {"Ref": "PermissionsBoundaryArn"}}}
    assert {"iam:CreateRole", "iam:PutRolePolicy"} <= set(written["Action"])


def test_each_policy_is_short_enough_for_iam() -> None:
    values = {"${AWS::Partition}": "aws-us-gov", "${AWS::AccountId}": "1" * 12, "${StackPrefix}": "a" * 31}
    for policy in policies():
        text = json.dumps(policy, separators=(",", ":"))
        for name, value in values.items():
            text = text.replace(name, value)
        assert len(text) < 6144
