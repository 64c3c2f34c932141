"""The stack of template.yaml, as SAM translates it and moto's CloudFormation resolves it, and who may call it."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.support.sam_template import ALL_OPTIONS, REGION, TEMPLATE, load, resolve, translate
from toolfold.settings import VARIABLES

ROOT = Path(__file__).parents[2]
BUCKETS = ("CatalogBucket", "OffloadBucket")


def properties(name: str, **parameters: str) -> dict[str, Any]:
    """The properties of a resource of the stack with these parameters."""
    return dict(resolve(**parameters)["Resources"][name]["Properties"])


@pytest.mark.slow
@pytest.mark.parametrize("access", ["iam", "oauth", "open"])
def test_cfn_lint_finds_nothing_with_any_access_and_any_other_parameter(access: str) -> None:
    """Of the template as CloudFormation sees it: the lint of the template as written accepts a dangling reference."""
    from cfnlint.api import ManualArgs, lint
    from cfnlint.config import ParameterSet

    singles = [{name: value} for name, value in ALL_OPTIONS.items() if name != "Access"]
    for option in ({}, *singles, ALL_OPTIONS):
        given = {**option, "Access": access}
        # W1020: SAM replaces the variables of some Fn::Sub, and leaves the function.
        sets = [ParameterSet(source=None, parameters=given)]
        config = ManualArgs(regions=[REGION], parameters=sets, ignore_checks=["W1020"])
        assert lint(json.dumps(translate(load(TEMPLATE), given)), config=config) == []


class TestData:
    def test_a_failed_creation_leaves_nothing_behind_and_a_deletion_only_the_buckets(self) -> None:
        policies = {
            name: (one["DeletionPolicy"], one.get("UpdateReplacePolicy"))
            for name, one in translate(load(TEMPLATE))["Resources"].items()
            if "DeletionPolicy" in one
        }
        layers = {name: policies.pop(name) for name in list(policies) if "Layer" in name}
        assert set(layers.values()) == {("Delete", None)}
        assert policies == {
            **dict.fromkeys(BUCKETS, ("RetainExceptOnCreate", "Retain")),
            "GatewayVersion": ("Delete", "Retain"),  # replaced versions stay, for `make rollback`
        }

    @pytest.mark.parametrize("name", BUCKETS)
    def test_a_bucket_is_private_and_refuses_plain_http(self, name: str) -> None:
        blocked = properties(name)["PublicAccessBlockConfiguration"]
        assert (len(blocked), set(blocked.values())) == (4, {True})
        policy = properties(f"{name}Policy")
        assert policy["Bucket"] == name
        assert policy["PolicyDocument"]["Statement"][0] == {
            "Sid": "TlsOnly",
            "Effect": "Deny",
            "Principal": "*",
            "Action": "s3:*",
            "Resource": [f"{name}.Arn", f"{name}.Arn/*"],
            "Condition": {"Bool": {"aws:SecureTransport": "false"}},
        }

    def test_catalogs_are_written_once_and_pointers_keep_their_versions(self) -> None:
        _, *statements = properties("CatalogBucketPolicy")["PolicyDocument"]["Statement"]
        assert [(one["Effect"], one["Action"], one["Resource"], one.get("Condition")) for one in statements] == [
            ("Deny", "s3:PutObject", "CatalogBucket.Arn/catalog/catalogs/*", {"Null": {"s3:if-none-match": "true"}}),
            ("Deny", ["s3:DeleteObject", "s3:DeleteObjectVersion"], "CatalogBucket.Arn/catalog/catalogs/*", None),
        ]
        assert properties("CatalogBucket")["VersioningConfiguration"] == {"Status": "Enabled"}

    def test_a_kms_key_encrypts_table_results_and_logs(self) -> None:
        key = ALL_OPTIONS["KmsKeyArn"]
        table = properties("CacheTable", **ALL_OPTIONS)["SSESpecification"]
        [rule] = properties("OffloadBucket", **ALL_OPTIONS)["BucketEncryption"]["ServerSideEncryptionConfiguration"]
        groups = [properties(name, **ALL_OPTIONS)["KmsKeyId"] for name in ("ApiLogGroup", "GatewayLogGroup")]
        assert {table["KMSMasterKeyId"], rule["ServerSideEncryptionByDefault"]["KMSMasterKeyID"], *groups} == {key}
        assert properties("CacheTable")["SSESpecification"] == {"SSEEnabled": False}  # of DynamoDB's own
        assert "BucketEncryption" not in properties("OffloadBucket")


class TestFunction:
    def test_its_variables_name_what_only_the_stack_knows(self) -> None:
        variables = properties("GatewayFunction")["Environment"]["Variables"]
        assert {name for name in variables if name.startswith("TOOLFOLD_")} <= set(VARIABLES)
        assert variables["TOOLFOLD_CATALOG"] == "s3://CatalogBucket/catalog"
        assert variables["TOOLFOLD_CACHE"] == "dynamodb://CacheTable"
        assert variables["TOOLFOLD_CACHE_BUCKET"] == "s3://OffloadBucket/cache"
        assert variables["TOOLFOLD_OFFLOAD"] == "s3://OffloadBucket/offload"
        assert variables["TOOLFOLD_ENDPOINT"] == "https://Api.execute-api.us-east-1.amazonaws.com/mcp"
        assert variables["POWERTOOLS_SERVICE_NAME"] == "toolfold"
        assert variables["SSL_CERT_FILE"] == "/opt/python/certifi/cacert.pem"
        assert "POWERTOOLS_LOGGER_LOG_EVENT" not in variables  # events contain API keys

    @pytest.mark.parametrize(
        ("name", "without", "expected"),
        [
            (
                "VpcConfig",
                None,
                {"SubnetIds": ["subnet-0a1b2c3d", "subnet-0a1b2c3e"], "SecurityGroupIds": ["sg-0a1b2c3d"]},
            ),
            ("ReservedConcurrentExecutions", None, 10),
            ("SnapStart", {"ApplyOn": "None"}, {"ApplyOn": "PublishedVersions"}),
            ("TracingConfig", {"Mode": "PassThrough"}, {"Mode": "Active"}),
        ],
    )
    def test_an_option_sets_its_property(self, name: str, without: Any, expected: Any) -> None:
        assert properties("GatewayFunction").get(name) == without
        assert properties("GatewayFunction", **ALL_OPTIONS)[name] == expected

    @pytest.mark.parametrize(
        ("given", "name", "expected"),
        [
            ({}, "TOOLFOLD_APPROVAL_SECRET", ""),
            ({"Access": "open"}, "TOOLFOLD_ACCESS", "open"),
            (ALL_OPTIONS, "TOOLFOLD_ACCESS", "oauth"),
            (ALL_OPTIONS, "TOOLFOLD_OAUTH_ISSUER", ALL_OPTIONS["OAuthIssuer"]),
            (ALL_OPTIONS, "TOOLFOLD_ENDPOINT", "https://mcp.example.com/mcp"),
            (ALL_OPTIONS, "TOOLFOLD_APPROVE", "human"),
            (ALL_OPTIONS, "TOOLFOLD_APPROVAL_SECRET", "ApprovalSecret"),
            (ALL_OPTIONS, "TOOLFOLD_TRACE", "true"),
            (ALL_OPTIONS, "TOOLFOLD_SOURCE_KEYS", ALL_OPTIONS["SourceKeys"]),
        ],
    )
    def test_an_option_sets_its_variable(self, given: dict[str, str], name: str, expected: str) -> None:
        assert properties("GatewayFunction", **given)["Environment"]["Variables"][name] == expected


def test_nothing_has_a_name_that_two_stacks_would_share() -> None:
    names = ("BucketName", "TableName", "FunctionName", "RoleName", "LogGroupName", "LayerName", "Name")
    for logical, resource in translate(load(TEMPLATE))["Resources"].items():
        for name in names:
            value = resource["Properties"].get(name)
            assert not isinstance(value, str) or resource["Type"] == "AWS::Lambda::Alias", (logical, name)


def test_two_stages_share_no_stack_and_ask_nothing() -> None:
    stages = tomllib.loads((ROOT / "samconfig.toml").read_text())
    names = {name for name in stages if name != "version"}
    stacks = {stages[name]["global"]["parameters"]["stack_name"] for name in names}
    assert len(stacks) == len(names) >= 3
    for name in names:
        assert stages[name]["deploy"]["parameters"].get("confirm_changeset") is not True


ISSUER = {"OAuthIssuer": "https://issuer.example.com"}
GIVEN = {"iam": {}, "oauth": {"Access": "oauth", **ISSUER}, "open": {"Access": "open"}}

CALLS = {"ANY /mcp", "ANY /mcp/{profile}", "ANY /tools/{name}"}
UNSIGNED: dict[str, dict[str, tuple[int, int]]] = {
    "iam": {"GET /health": (5, 10), "OPTIONS /mcp": (5, 20), "OPTIONS /mcp/{profile}": (5, 20)},
    "oauth": {
        "GET /health": (5, 10),
        "ANY /.well-known/{proxy+}": (5, 20),
        "ANY /register": (1, 5),
        "ANY /ui/sign-in/{proxy+}": (5, 40),
    },
    "open": {"GET /health": (5, 10), "ANY /.well-known/{proxy+}": (5, 20)},
}
"""Access → routes beside those of calls → rate and burst of their own."""


def stage(**parameters: str) -> dict[str, Any]:
    return dict(resolve(**parameters)["Resources"]["ApiStage"]["Properties"])


def rates(settings: dict[str, int]) -> tuple[int, int]:
    return settings["ThrottlingRateLimit"], settings["ThrottlingBurstLimit"]


@pytest.mark.parametrize("access", GIVEN)
class TestRoutes:
    def test_only_calls_are_signed_and_only_with_iam(self, access: str) -> None:
        routes = [
            one["Properties"]
            for one in resolve(**GIVEN[access])["Resources"].values()
            if one["Type"] == "AWS::ApiGatewayV2::Route"
        ]
        authorization = {one["RouteKey"]: one.get("AuthorizationType", "NONE") for one in routes}
        signed = "AWS_IAM" if access == "iam" else "NONE"
        assert authorization == {**dict.fromkeys(CALLS, signed), **dict.fromkeys(UNSIGNED[access], "NONE")}
        assert {one["Target"] for one in routes} == {"integrations/Integration"}

    def test_what_needs_no_signature_has_a_rate_of_its_own(self, access: str) -> None:
        settings = stage(**GIVEN[access])["RouteSettings"]
        assert {route: rates(one) for route, one in settings.items()} == UNSIGNED[access]

    def test_the_stage_is_made_after_the_routes_that_its_settings_name(self, access: str) -> None:
        """API Gateway refuses settings of a route that does not exist; a text that names the routes makes it wait."""
        resources = resolve(**GIVEN[access])["Resources"]
        named = [resources[name]["Properties"]["RouteKey"] for name in stage(**GIVEN[access])["Description"].split()]
        assert set(named) == set(UNSIGNED[access])

    def test_all_callers_together_are_throttled(self, access: str) -> None:
        assert rates(stage(**GIVEN[access])["DefaultRouteSettings"]) == ((5, 10) if access == "open" else (20, 40))


def test_a_rate_of_ones_own_throttles_all_callers_together() -> None:
    assert rates(stage(**ALL_OPTIONS)["DefaultRouteSettings"]) == (50, 50)


def test_only_this_api_may_invoke_the_function() -> None:
    resources = resolve()["Resources"]
    [permission] = [one["Properties"] for one in resources.values() if one["Type"] == "AWS::Lambda::Permission"]
    assert (permission["FunctionName"], permission["Principal"]) == ("GatewayAlias", "apigateway.amazonaws.com")
    assert permission["SourceArn"].endswith(":Api/*")
    assert resources["Integration"]["Properties"]["IntegrationUri"] == "GatewayAlias"


def test_the_access_log_has_no_text_of_the_caller() -> None:
    """A header, the path or the query could carry a caller's key."""
    assert set(re.findall(r"\$[\w.]+", stage()["AccessLogSettings"]["Format"])) == {
        "$context.requestId",
        "$context.identity.sourceIp",
        "$context.routeKey",
        "$context.status",
        "$context.responseLatency",
        "$context.error.responseType",
        "$context.integrationErrorMessage",
    }


SERVICES = {"StringEquals": {"kms:ViaService": [f"{name}.us-east-1.amazonaws.com" for name in ("dynamodb", "s3")]}}
SERVICES["StringEquals"]["kms:ViaService"] += ["secretsmanager.us-east-1.amazonaws.com", "ssm.us-east-1.amazonaws.com"]

ALWAYS = [
    ("ReadCatalog", "s3:GetObject", "CatalogBucket.Arn/catalog/*", None),
    (
        "DistinguishMissingFromForbidden",
        "s3:ListBucket",
        "CatalogBucket.Arn",
        {"StringLikeIfExists": {"s3:prefix": "catalog/*"}},
    ),
    (
        "ReadAndWriteCache",
        ["dynamodb:GetItem", "dynamodb:UpdateItem"],
        "CacheTable.Arn",
        None,
    ),
    (
        "ReadAndWriteResults",
        ["s3:GetObject", "s3:PutObject"],
        ["OffloadBucket.Arn/cache/*", "OffloadBucket.Arn/offload/*"],
        None,
    ),
    ("WriteLog", ["logs:CreateLogStream", "logs:PutLogEvents"], "GatewayLogGroup.Arn", None),
]
OF_OPTIONS = [
    (
        "ReadSourceKeys",
        ["secretsmanager:GetSecretValue", "ssm:GetParameter"],
        ALL_OPTIONS["SourceKeys"],
        None,
    ),
    ("ReadApprovalSecret", "secretsmanager:GetSecretValue", "ApprovalSecret", None),
    ("UseKmsKey", ["kms:Decrypt", "kms:GenerateDataKey"], ALL_OPTIONS["KmsKeyArn"], SERVICES),
    (
        "ManageInterfaces",
        [
            f"ec2:{action}"
            for action in (
                "AssignPrivateIpAddresses",
                "CreateNetworkInterface",
                "DeleteNetworkInterface",
                "DescribeNetworkInterfaces",
                "DescribeSubnets",
                "UnassignPrivateIpAddresses",
            )
        ],
        "*",
        {"Null": {"lambda:SourceFunctionArn": "true"}},  # Lambda itself; requests of the code have the key
    ),
]


@pytest.mark.parametrize(("given", "expected"), [({}, ALWAYS), (ALL_OPTIONS, ALWAYS + OF_OPTIONS)], ids=["no", "all"])
def test_the_role_allows_exactly_this(given: dict[str, str], expected: list[tuple[Any, ...]]) -> None:
    """Sid, actions, resources and condition of each statement, without options and with all of them."""
    resources = resolve(**given)["Resources"]
    role = resources["GatewayRole"]["Properties"]
    [policy] = role["Policies"]
    statements = [one for one in policy["PolicyDocument"]["Statement"] if one]
    assert {one["Effect"] for one in statements} == {"Allow"}
    assert [(one["Sid"], one["Action"], one["Resource"], one.get("Condition")) for one in statements] == expected
    assert resources["GatewayFunction"]["Properties"]["Role"] == "GatewayRole.Arn"
    assert [name for name, one in resources.items() if one["Type"] == "AWS::IAM::Policy"] == []


def test_a_boundary_limits_the_role() -> None:
    boundary = ALL_OPTIONS["PermissionsBoundaryArn"]
    roles = [resolve(**given)["Resources"]["GatewayRole"]["Properties"] for given in ({}, ALL_OPTIONS)]
    assert [role.get("PermissionsBoundary") for role in roles] == [None, boundary]
