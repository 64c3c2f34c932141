"""Who may call: the routes of each ``Access``, their authorization and throttles, and what the function may do."""

import re
from typing import Any

import pytest

from tests.support.resolved_stack import resolve
from tests.support.sam_template import ALL_OPTIONS

ISSUER = {"OAuthIssuer": "https://issuer.example.com"}
GIVEN = {"iam": {}, "oauth": {"Access": "oauth", **ISSUER}, "open": {"Access": "open"}}

CALLS = {"ANY /mcp", "ANY /mcp/{profile}"}
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
        ["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"],
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
