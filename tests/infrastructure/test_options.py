"""What the parameters of a deployment change: domain, keys, boundary, table, budget, outputs; and what they refuse."""

from __future__ import annotations

import functools
import json
import re
from types import MappingProxyType
from typing import Any

import pytest

from tests.support import sam_template
from tests.support.combinations import ALL
from tests.support.iam import Call, is_allowed
from tests.support.stack import TEMPLATE, Stack, deployed, holds_rule, translated

DOMAIN = {
    "DomainName": "mcp.example.com",
    "CertificateArn": "arn:aws:acm:us-east-1:123456789012:certificate/0b1c",
}
ZONE = {"HostedZoneId": "Z0123456789ABC"}
KMS_KEY = "arn:aws:kms:us-east-1:123456789012:key/0b1c"
BOUNDARY = "arn:aws:iam::123456789012:policy/boundary"
TOPIC = "arn:aws:sns:us-east-1:123456789012:alarms"
SECRET = "arn:aws:secretsmanager:us-east-1:123456789012:secret:key-Ab12Cd"


@functools.cache
def written() -> dict[str, Any]:
    return sam_template.load(TEMPLATE)


def endpoint_is_disabled(stack: Stack) -> bool:
    [server] = stack.resources["Api"]["Properties"]["Body"]["servers"]
    return bool(server["x-amazon-apigateway-endpoint-configuration"]["disableExecuteApiEndpoint"])


class TestDomain:
    def test_without_one_the_default_endpoint_is_the_only_one(self) -> None:
        stack = deployed()
        assert not endpoint_is_disabled(stack)
        assert not stack.of_type("AWS::ApiGatewayV2::DomainName")
        assert stack.outputs["Endpoint"].endswith(".execute-api.us-east-1.amazonaws.com/mcp")

    def test_with_one_it_replaces_the_default_endpoint(self) -> None:
        stack = deployed(**DOMAIN)
        assert endpoint_is_disabled(stack)
        [domain] = stack.of_type("AWS::ApiGatewayV2::DomainName").values()
        [names] = domain["DomainNameConfigurations"]
        assert (names["SecurityPolicy"], names["EndpointType"]) == ("TLS_1_2", "REGIONAL")
        [mapping] = stack.of_type("AWS::ApiGatewayV2::ApiMapping").values()
        assert mapping["ApiId"] == stack.resources["ApiApiGatewayDefaultStage"]["Properties"]["ApiId"]
        assert "ApiMappingKey" not in mapping  # /mcp, not /something/mcp
        assert stack.outputs["Endpoint"] == "https://mcp.example.com/mcp"
        assert "DomainTarget" in stack.outputs

    def test_a_record_exists_only_where_a_hosted_zone_is_named(self) -> None:
        assert not deployed(**DOMAIN).of_type("AWS::Route53::RecordSet")
        [record] = deployed(**DOMAIN, **ZONE).of_type("AWS::Route53::RecordSet").values()
        assert (record["Name"], record["HostedZoneId"]) == ("mcp.example.com", ZONE["HostedZoneId"])


@pytest.mark.parametrize("domain", [{}, DOMAIN])
def test_the_configuration_of_a_client_can_be_pasted(domain: dict[str, str]) -> None:
    stack = deployed(**domain)
    [server] = json.loads(stack.outputs["ClientConfiguration"])["mcpServers"].values()
    assert server == {"type": "http", "url": stack.outputs["Endpoint"]}


def test_every_output_and_every_parameter_is_described() -> None:
    for kind in ("Parameters", "Outputs"):
        for name, one in written()[kind].items():
            assert len(one["Description"]) > 20, name


class TestBoundary:
    def test_every_role_has_it_where_it_is_named(self) -> None:
        for name, role in deployed(**{**ALL, "PermissionsBoundaryArn": BOUNDARY}).of_type("AWS::IAM::Role").items():
            assert role["PermissionsBoundary"] == BOUNDARY, name
        for role in deployed().of_type("AWS::IAM::Role").values():
            assert "PermissionsBoundary" not in role

    def test_every_role_of_the_template_refers_to_it(self) -> None:
        for name, one in translated()["Resources"].items():
            if one["Type"] == "AWS::IAM::Role":
                assert "PermissionsBoundaryArn" in json.dumps(one["Properties"].get("PermissionsBoundary")), name


class TestVpc:
    VPC = MappingProxyType({"SubnetIds": "subnet-0a,subnet-0b", "SecurityGroupIds": "sg-0c"})

    def test_without_one_no_function_is_in_it_and_no_role_may_use_networks(self) -> None:
        for function in deployed(Publisher="true").of_type("AWS::Lambda::Function").values():
            assert "VpcConfig" not in function
        for role in ("GatewayRole", "PublisherRole"):
            assert "ec2:" not in json.dumps(deployed(Publisher="true").statements(role))

    @pytest.mark.parametrize("role", ["GatewayRole", "PublisherRole"])
    def test_both_functions_are_in_it_and_lambda_alone_uses_their_roles_for_it(self, role: str) -> None:
        stack = deployed(Publisher="true", **self.VPC)
        for function in stack.of_type("AWS::Lambda::Function").values():
            assert function["VpcConfig"] == {"SubnetIds": ["subnet-0a", "subnet-0b"], "SecurityGroupIds": ["sg-0c"]}
        statements = stack.statements(role)
        of_code = {
            "lambda:SourceFunctionArn": ("arn:aws:lambda:us-east-1:123456789012:function:toolfold-GatewayFunction-1",)
        }
        for action in ("CreateNetworkInterface", "DescribeNetworkInterfaces", "DeleteNetworkInterface"):
            assert is_allowed(statements, Call(f"ec2:{action}", "*"))
            assert not is_allowed(statements, Call(f"ec2:{action}", "*", of_code))
        assert not is_allowed(statements, Call("ec2:RunInstances", "*"))


class TestDataKey:
    def test_without_one_nothing_refers_to_kms(self) -> None:
        stack = deployed()
        [table] = stack.of_type("AWS::DynamoDB::Table").values()
        assert table["SSESpecification"] == {"SSEEnabled": False}
        assert "DataKmsPolicy" not in stack.resources
        assert not [one for one in stack.of_type("AWS::Logs::LogGroup").values() if "KmsKeyId" in one]

    def test_with_one_table_results_and_logs_are_encrypted_with_it(self) -> None:
        stack = deployed(**{**ALL, "DataKmsKeyArn": KMS_KEY})
        [table] = stack.of_type("AWS::DynamoDB::Table").values()
        assert table["SSESpecification"] == {"SSEEnabled": True, "SSEType": "KMS", "KMSMasterKeyId": KMS_KEY}
        encryption = stack.resources["OffloadBucket"]["Properties"]["BucketEncryption"]
        [rule] = encryption["ServerSideEncryptionConfiguration"]
        assert rule["ServerSideEncryptionByDefault"] == {"SSEAlgorithm": "aws:kms", "KMSMasterKeyID": KMS_KEY}
        for name, group in stack.of_type("AWS::Logs::LogGroup").items():
            assert group["KmsKeyId"] == KMS_KEY, name

    def test_the_function_may_use_it_through_two_services_only(self) -> None:
        [statement] = [one for one in deployed(DataKmsKeyArn=KMS_KEY).statements() if one["Resource"] == KMS_KEY]
        assert statement["Action"] == ["kms:Decrypt", "kms:GenerateDataKey"]
        services = statement["Condition"]["StringEquals"]["kms:ViaService"]
        assert services == ["dynamodb.us-east-1.amazonaws.com", "s3.us-east-1.amazonaws.com"]


class TestTable:
    @pytest.mark.parametrize(
        ("parameters", "expected"),
        [
            ({}, None),
            ({"TableMaxReadUnits": "50"}, {"MaxReadRequestUnits": "50"}),
            (
                {"TableMaxReadUnits": "50", "TableMaxWriteUnits": "20"},
                {"MaxReadRequestUnits": "50", "MaxWriteRequestUnits": "20"},
            ),
        ],
    )
    def test_its_load_is_limited_only_on_request(self, parameters: dict[str, str], expected: Any) -> None:
        [table] = deployed(**parameters).of_type("AWS::DynamoDB::Table").values()
        assert table.get("OnDemandThroughput") == expected

    @pytest.mark.parametrize("value", ["true", "false"])
    def test_backups_and_protection_are_parameters(self, value: str) -> None:
        stack = deployed(PointInTimeRecovery=value, TableDeletionProtection=value)
        [table] = stack.of_type("AWS::DynamoDB::Table").values()
        assert table["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": value}
        assert table["DeletionProtectionEnabled"] == value


def test_a_budget_sends_mail_before_it_is_spent() -> None:
    assert not deployed().of_type("AWS::Budgets::Budget")
    [budget] = deployed(MonthlyBudgetUsd="20", BudgetEmail="a@example.com").of_type("AWS::Budgets::Budget").values()
    assert budget["Budget"]["BudgetLimit"] == {"Amount": "20", "Unit": "USD"}
    for one in budget["NotificationsWithSubscribers"]:
        assert one["Subscribers"] == [{"SubscriptionType": "EMAIL", "Address": "a@example.com"}]


def test_each_route_with_a_throttle_of_its_own_exists() -> None:
    """API Gateway refuses a stage with settings for a route that the API does not have."""
    resources = translated()["Resources"]
    methods = {"x-amazon-apigateway-any-method": "ANY"}
    routes = {
        f"{methods.get(method, method.upper())} {path}"
        for path, found in resources["Api"]["Properties"]["Body"]["paths"].items()
        for method in found
    }
    settings = resources["ApiApiGatewayDefaultStage"]["Properties"]["RouteSettings"]
    assert settings.keys() <= routes
    for one in settings.values():
        assert 0 < one["ThrottlingRateLimit"] <= one["ThrottlingBurstLimit"]


class TestRefused:
    @pytest.mark.parametrize(
        ("parameter", "accepted", "refused"),
        [
            ("DomainName", ["", "mcp.example.com", "a.io"], ["https://a.io", "a.io/mcp", "A.io", "localhost", "a..io"]),
            ("CertificateArn", ["", DOMAIN["CertificateArn"]], ["0b1c", "arn:aws:iam::123456789012:certificate/0b1c"]),
            ("HostedZoneId", ["", ZONE["HostedZoneId"]], ["/hostedzone/Z012", "example.com"]),
            ("PermissionsBoundaryArn", ["", BOUNDARY, "arn:aws:iam::aws:policy/PowerUserAccess"], ["boundary"]),
            ("DataKmsKeyArn", ["", KMS_KEY], ["alias/aws/s3", "arn:aws:kms:us-east-1:123456789012:alias/data"]),
            ("SubnetIds", ["", "subnet-0a1b", "subnet-0a,subnet-1b"], ["subnet-0a, subnet-1b", "vpc-0a", "subnet-"]),
            ("SecurityGroupIds", ["", "sg-0a1b", "sg-0a,sg-1b"], ["sg-0a sg-1b", "default"]),
            ("BudgetEmail", ["", "a@example.com"], ["a", "a b@example.com"]),
            ("AlarmTopicArn", ["", TOPIC], ["alarms", "arn:aws:sqs:us-east-1:123456789012:alarms"]),
        ],
    )
    def test_values_of_another_form(self, parameter: str, accepted: list[str], refused: list[str]) -> None:
        given = written()["Parameters"][parameter]
        assert given["ConstraintDescription"].startswith("must be ")
        assert [value for value in accepted if not re.fullmatch(given["AllowedPattern"], value)] == []
        assert [value for value in refused if re.fullmatch(given["AllowedPattern"], value)] == []

    @pytest.mark.parametrize(
        ("parameters", "refused_by"),
        [
            ({}, []),
            (DOMAIN, []),
            (DOMAIN | ZONE, []),
            ({"DomainName": "a.io"}, ["DomainNeedsCertificate"]),
            (ZONE, ["NoPartOfADomainAlone"]),
            ({"CertificateArn": DOMAIN["CertificateArn"]}, ["NoPartOfADomainAlone"]),
            ({"SubnetIds": "subnet-0a"}, ["VpcNeedsSubnetsAndGroups"]),
            ({"SecurityGroupIds": "sg-0a"}, ["VpcNeedsSubnetsAndGroups"]),
            ({"SubnetIds": "subnet-0a", "SecurityGroupIds": "sg-0a"}, []),
            ({"MonthlyBudgetUsd": "20"}, ["BudgetNeedsEmail"]),
            ({"MonthlyBudgetUsd": "20", "BudgetEmail": "a@example.com"}, []),
            ({"AlphaVantageApiKey": "KEY"}, ["KeyIsNotForEveryone"]),
            ({"AlphaVantageApiKeySecret": SECRET}, ["KeyIsNotForEveryone"]),
            ({"SourceKeys": SECRET}, ["KeyIsNotForEveryone"]),
            ({"AlphaVantageApiKey": "KEY", "AnyoneMayUseTheKey": "true"}, []),
            ({"OAuthIssuer": "https://issuer.example.com"}, ["IssuerNeedsPublicUrl"]),
        ],
    )
    def test_combinations_without_effect_or_with_a_risk(
        self, parameters: dict[str, str], refused_by: list[str]
    ) -> None:
        rules = written()["Rules"]
        assert [name for name in rules if not holds_rule(translated(), name, parameters)] == refused_by
        for name in refused_by:
            for assertion in rules[name]["Assertions"]:
                assert assertion["AssertDescription"].endswith(".")

    def test_a_parameter_of_text_has_a_pattern_or_allowed_values(self) -> None:
        free = {"AlphaVantageApiKey", "AllowedOrigins", "OAuthAudience"}
        for name, one in written()["Parameters"].items():
            if one["Type"] == "Number":
                assert "MinValue" in one or "AllowedValues" in one, name
            else:
                assert name in free or "AllowedPattern" in one or "AllowedValues" in one, name

    def test_the_defaults_are_accepted_and_cost_nothing_while_idle(self) -> None:
        stack = deployed()
        types = {one["Type"] for one in stack.resources.values()}
        billed_by_the_month = {"AWS::CloudWatch::Alarm", "AWS::CloudWatch::Dashboard", "AWS::KMS::Key"}
        assert not types & billed_by_the_month
        for name, one in written()["Parameters"].items():
            pattern = one.get("AllowedPattern")
            assert pattern is None or re.fullmatch(pattern, str(one["Default"])), name
