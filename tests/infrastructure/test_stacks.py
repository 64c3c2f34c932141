"""The templates beside that of the gateway: lint with every combination of parameters, and what each is for."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support import sam_template
from tests.support.sam_template import load, translate
from toolfold.auth.resource_server import SCOPES
from toolfold.settings import VARIABLES, Settings
from toolfold.settings.file import read_settings

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
FIREWALL, ISSUER, PIPELINE = (load(DEPLOY / f"{name}.yaml") for name in ("waf", "cognito", "pipeline"))

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
        {"PublishSchedule": "rate(1 hour)"},
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


@pytest.fixture(scope="module")
def distribution() -> dict[str, Any]:
    return dict(FIREWALL["Resources"]["Distribution"]["Properties"]["DistributionConfig"])


def test_the_firewall_forwards_everything_and_stores_nothing(distribution: dict[str, Any]) -> None:
    behavior = distribution["DefaultCacheBehavior"]
    assert behavior["ViewerProtocolPolicy"] == "https-only"
    assert {"GET", "POST", "OPTIONS", "DELETE"} <= set(behavior["AllowedMethods"])
    # Managed by AWS: CachingDisabled, AllViewerExceptHostHeader.
    assert behavior["CachePolicyId"] == "4135ea2d-6df8-44a3-9df3-4b5a84be39ad"
    assert behavior["OriginRequestPolicyId"] == "b689b0a8-53d0-40ab-baf2-68738e2966ac"
    assert distribution["Origins"][0]["CustomOriginConfig"]["OriginSSLProtocols"] == ["TLSv1.2"]
    assert "RateBasedStatement" in FIREWALL["Resources"]["WebAcl"]["Properties"]["Rules"][0]["Statement"]


def test_the_firewall_sends_the_secret_that_the_function_requires(distribution: dict[str, Any]) -> None:
    [origin] = distribution["Origins"]
    assert origin["OriginCustomHeaders"] == [{"HeaderName": "X-Origin-Secret", "HeaderValue": {"Ref": "OriginSecret"}}]
    assert FIREWALL["Parameters"]["OriginSecret"]["NoEcho"] is True
    assert "OriginSecret" not in str(FIREWALL["Outputs"])


@pytest.mark.parametrize(
    ("secret", "accepted"), [("0123456789abcdef0123456789abcdef", True), ("short", False), ("with space" * 4, False)]
)
def test_a_secret_that_can_be_guessed_is_refused(secret: str, accepted: bool) -> None:
    assert bool(re.fullmatch(FIREWALL["Parameters"]["OriginSecret"]["AllowedPattern"], secret)) == accepted


def test_signed_requests_are_not_sent_to_another_host() -> None:
    [assertion] = FIREWALL["Rules"]["SignaturesNeedNoFirewall"]["Assertions"]
    assert assertion["Assert"] == {"Fn::Not": [{"Fn::Equals": [{"Ref": "Access"}, "iam"]}]}
    assert "ACCESS=oauth" in assertion["AssertDescription"]


def test_only_jobs_of_one_environment_of_one_repository_get_the_role() -> None:
    (statement,) = PIPELINE["Resources"]["PipelineRole"]["Properties"]["AssumeRolePolicyDocument"]["Statement"]
    assert statement["Action"] == "sts:AssumeRoleWithWebIdentity"
    assert statement["Condition"] == {
        "StringEquals": {
            "token.actions.githubusercontent.com:aud": "sts.amazonaws.com",
            "token.actions.githubusercontent.com:sub": {"Fn::Sub": "repo:${Repository}:environment:${Environment}"},
        }
    }


@pytest.mark.parametrize("repository", ["owner", "owner/name:environment:x", "owner/*", "*/*", ""])
def test_no_pattern_stands_for_a_repository(repository: str) -> None:
    rules = PIPELINE["Parameters"]
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


URLS = ["https://claude.ai/api/mcp/auth_callback", "cursor://anysphere.cursor-mcp/oauth/callback"]


def of_issuer(name: str) -> dict[str, Any]:
    return dict(ISSUER["Resources"][name]["Properties"])


@pytest.fixture
def pasted(tmp_path: Path) -> dict[str, str]:
    """Return the settings of the output Settings, with CloudFormation's functions evaluated."""
    text, values = ISSUER["Outputs"]["Settings"]["Value"]["Fn::Sub"]
    separator, urls = values["Urls"]["Fn::Join"]
    assert urls == {"Ref": "CallbackUrls"}
    file = tmp_path / "settings.toml"
    file.write_text(text.replace("${Client}", "0a1b2c").replace("${Urls}", separator.join(URLS)), encoding="utf-8")
    return read_settings(file)


def test_the_output_of_the_issuer_is_settings_that_the_function_accepts(pasted: dict[str, str]) -> None:
    issuer = "https://cognito-idp.eu-central-1.amazonaws.com/eu-central-1_a"
    known = {"TOOLFOLD_OAUTH_ISSUER": issuer, "TOOLFOLD_PUBLIC_URL": "https://mcp.example.com/mcp"}
    settings = Settings.from_environment({**pasted, **known, "TOOLFOLD_ACCESS": "oauth"})
    assert (settings.oauth_cognito_client, settings.oauth_redirect_uris) == ("0a1b2c", tuple(URLS))


def test_a_client_of_the_issuer_may_request_the_scopes_that_the_function_requires(pasted: dict[str, str]) -> None:
    server = of_issuer("ResourceServer")
    prefix = f"{server['Identifier']}/"
    assert [scope["ScopeName"] for scope in server["Scopes"]] == list(SCOPES)
    assert pasted["TOOLFOLD_OAUTH_SCOPE_PREFIX"] == prefix
    # The metadata that the function serves to clients names these.
    assert of_issuer("Client")["AllowedOAuthScopes"] == ["openid", *(f"{prefix}{scope}" for scope in SCOPES)]


def test_a_client_of_the_issuer_is_public_and_logs_in_by_the_page_alone() -> None:
    client = of_issuer("Client")
    assert client["GenerateSecret"] is False
    assert client["AllowedOAuthFlows"] == ["code"]
    assert client["ExplicitAuthFlows"] == ["ALLOW_REFRESH_TOKEN_AUTH"]


def test_nobody_can_sign_up_at_the_issuer() -> None:
    assert of_issuer("UserPool")["AdminCreateUserConfig"] == {"AllowAdminCreateUserOnly": True}


PUBLISHER = Path(__file__).parents[2] / "deploy/publisher.yaml"
BUCKET = "arn:${AWS::Partition}:s3:::${CatalogBucketName}"


@pytest.fixture(scope="module")
def template() -> dict[str, Any]:
    return sam_template.load(PUBLISHER)


@pytest.fixture(scope="module")
def translated() -> dict[str, Any]:
    return sam_template.translate(sam_template.load(PUBLISHER))


def properties(template: dict[str, Any], name: str) -> dict[str, Any]:
    return dict(template["Resources"][name]["Properties"])


@pytest.mark.parametrize(
    ("text", "accepted"),
    [
        ("rate(1 day)", True),
        ("rate(12 hours)", True),
        ("cron(0 6 ? * MON-FRI *)", True),
        ("cron(0 6,18 L * ? 2026/2)", True),
        ("", False),
        ("1 day", False),
        ("0 6 * * *", False),
        ("rate(1 day) ", False),
    ],
)
def test_the_schedule_is_written_as_eventbridge_reads_it(template: dict[str, Any], text: str, accepted: bool) -> None:
    assert bool(re.fullmatch(template["Parameters"]["PublishSchedule"]["AllowedPattern"], text)) == accepted


class TestPublisher:
    def test_every_variable_is_a_setting(self, template: dict[str, Any]) -> None:
        variables = properties(template, "PublisherFunction")["Environment"]["Variables"]
        assert {name for name in variables if name.startswith("TOOLFOLD_")} <= set(VARIABLES)
        assert variables["TOOLFOLD_CATALOG"] == {"Fn::Sub": "s3://${CatalogBucketName}/catalog"}

    def test_a_failed_run_is_tried_twice_more_and_then_reported(self, translated: dict[str, Any]) -> None:
        [retries] = [one for one in translated["Resources"].values() if one["Type"] == "AWS::Lambda::EventInvokeConfig"]
        [target] = properties(translated, "Schedule")["Targets"]
        queue = {"Fn::GetAtt": ["FailureQueue", "Arn"]}
        assert retries["Properties"]["MaximumRetryAttempts"] == target["RetryPolicy"]["MaximumRetryAttempts"] == 2
        assert retries["Properties"]["Qualifier"] == "$LATEST"
        assert retries["Properties"]["DestinationConfig"]["OnFailure"]["Destination"] == queue
        assert target["DeadLetterConfig"]["Arn"] == queue
        assert target["Arn"] == {"Fn::GetAtt": ["PublisherFunction", "Arn"]}


class TestPublisherPermissions:
    def test_its_role_allows_what_it_needs_and_nothing_else(self, template: dict[str, Any]) -> None:
        [policy] = properties(template, "PublisherRole")["Policies"]
        always = [one for one in policy["PolicyDocument"]["Statement"] if "Fn::If" not in one]
        assert [(one["Sid"], one["Action"], one["Resource"]) for one in always] == [
            (
                "ReadAndWriteCatalogs",
                ["s3:GetObject", "s3:PutObject"],
                [{"Fn::Sub": f"{BUCKET}/catalog/current.json"}, {"Fn::Sub": f"{BUCKET}/catalog/catalogs/*"}],
            ),
            ("DistinguishMissingFromForbidden", "s3:ListBucket", {"Fn::Sub": BUCKET}),
            ("SendFailures", "sqs:SendMessage", {"Fn::GetAtt": ["FailureQueue", "Arn"]}),
            (
                "WriteLog",
                ["logs:CreateLogStream", "logs:PutLogEvents"],
                {"Fn::GetAtt": ["PublisherLogGroup", "Arn"]},
            ),
        ]

    def test_options_add_one_permission_each(self, template: dict[str, Any]) -> None:
        [policy] = properties(template, "PublisherRole")["Policies"]
        options = [one["Fn::If"] for one in policy["PolicyDocument"]["Statement"] if "Fn::If" in one]
        added = {condition: (one["Sid"], one["Resource"]) for condition, one, _ in options}
        assert added == {
            "SourceKeysSet": ("ReadSourceKeys", {"Ref": "SourceKeys"}),
            "SourceKeysHaveKmsKey": ("DecryptSourceKeys", {"Ref": "KmsKeyArn"}),
            "InVpc": ("ManageInterfaces", "*"),
        }
        assert all(nothing == {"Ref": "AWS::NoValue"} for _, _, nothing in options)

    def test_only_its_rule_may_send_to_the_queue_and_start_it(self, template: dict[str, Any]) -> None:
        denied, allowed = properties(template, "FailureQueuePolicy")["PolicyDocument"]["Statement"]
        rule = {"Fn::GetAtt": ["Schedule", "Arn"]}
        assert (denied["Effect"], denied["Condition"]) == ("Deny", {"Bool": {"aws:SecureTransport": "false"}})
        assert allowed["Principal"] == {"Service": "events.amazonaws.com"}
        assert allowed["Condition"] == {"ArnEquals": {"aws:SourceArn": rule}}
        assert properties(template, "SchedulePermission")["SourceArn"] == rule
