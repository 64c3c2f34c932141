"""The resources of template.yaml, their permissions and limits.

The tests read the translated template, which includes what SAM adds.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cfnlint.api import ManualArgs, lint

from tests.support import sam_template
from tests.support.stack import deployed
from toolfold.settings.variables import VARIABLES

ROOT = Path(__file__).parents[2]
TEMPLATE = ROOT / "template.yaml"

Resource = dict[str, Any]


@pytest.fixture(scope="module")
def resources() -> dict[str, Resource]:
    return dict(sam_template.translate(sam_template.load(TEMPLATE))["Resources"])


def only(resources: dict[str, Resource], kind: str) -> Resource:
    """The properties of the one resource of this type that does not belong to the publisher."""
    [found] = [
        resource["Properties"]
        for resource in resources.values()
        if resource["Type"] == kind and not str(resource.get("Condition", "")).startswith("Publisher")
    ]
    return dict(found)


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield str(key)
            yield from strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner)
    else:
        yield str(value)


def statements(role: Resource) -> dict[str, dict[str, Any]]:
    """Sid → statement, over all inline policies of the role that every stack has."""
    return {
        statement["Sid"]: statement
        for policy in role["Policies"]
        if "Fn::If" not in policy
        for statement in policy["PolicyDocument"]["Statement"]
    }


class TestBuckets:
    @pytest.mark.parametrize("name", ["CatalogBucket", "OffloadBucket"])
    def test_public_access_is_blocked(self, resources: dict[str, Resource], name: str) -> None:
        bucket = resources[name]["Properties"]

        assert set(bucket["PublicAccessBlockConfiguration"].values()) == {True}
        assert len(bucket["PublicAccessBlockConfiguration"]) == 4
        assert bucket["OwnershipControls"]["Rules"] == [{"ObjectOwnership": "BucketOwnerEnforced"}]

    @pytest.mark.parametrize("name", ["CatalogBucket", "OffloadBucket"])
    def test_they_are_encrypted(self, resources: dict[str, Resource], name: str) -> None:
        [rule] = resources[name]["Properties"]["BucketEncryption"]["ServerSideEncryptionConfiguration"]

        rule = rule["Fn::If"][2] if "Fn::If" in rule else rule  # with a key of the operator, or without
        assert rule["ServerSideEncryptionByDefault"]["SSEAlgorithm"] == "AES256"

    @pytest.mark.parametrize("name", ["CatalogBucket", "OffloadBucket"])
    def test_they_refuse_plain_http(self, resources: dict[str, Resource], name: str) -> None:
        [policy] = [
            resource["Properties"]
            for resource in resources.values()
            if resource["Type"] == "AWS::S3::BucketPolicy" and resource["Properties"]["Bucket"] == {"Ref": name}
        ]
        [statement] = [one for one in policy["PolicyDocument"]["Statement"] if one["Sid"] == "TlsOnly"]

        assert (statement["Effect"], statement["Action"]) == ("Deny", "s3:*")
        assert statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
        assert len(statement["Resource"]) == 2

    @pytest.mark.parametrize("name", ["CatalogBucket", "OffloadBucket"])
    def test_they_are_retained_when_the_stack_is_deleted(self, resources: dict[str, Resource], name: str) -> None:
        assert resources[name]["DeletionPolicy"] == "Retain"
        assert resources[name]["UpdateReplacePolicy"] == "Retain"

    def test_catalogs_keep_their_versions(self, resources: dict[str, Resource]) -> None:
        assert resources["CatalogBucket"]["Properties"]["VersioningConfiguration"] == {"Status": "Enabled"}

    def test_results_expire_after_a_day(self, resources: dict[str, Resource]) -> None:
        bucket = resources["OffloadBucket"]["Properties"]
        [rule] = bucket["LifecycleConfiguration"]["Rules"]

        assert (rule["Status"], rule["ExpirationInDays"]) == ("Enabled", 1)
        assert "Prefix" not in rule  # all of them
        assert "VersioningConfiguration" not in bucket  # or the versions would stay


class TestTable:
    def test_it_has_one_key_a_ttl_and_on_demand_billing(self, resources: dict[str, Resource]) -> None:
        table = only(resources, "AWS::DynamoDB::Table")

        assert table["KeySchema"] == [{"AttributeName": "pk", "KeyType": "HASH"}]
        assert table["TimeToLiveSpecification"] == {"AttributeName": "expires_at", "Enabled": True}
        assert table["BillingMode"] == "PAY_PER_REQUEST"

    def test_the_function_gets_the_table_and_the_bucket(self, resources: dict[str, Resource]) -> None:
        variables = resources["GatewayFunction"]["Properties"]["Environment"]["Variables"]

        assert variables["TOOLFOLD_CACHE"] == {"Fn::Sub": "dynamodb://${CacheTable}"}
        assert variables["TOOLFOLD_CACHE_BUCKET"] == {"Fn::Sub": "s3://${OffloadBucket}/cache"}
        assert variables["TOOLFOLD_OFFLOAD"] == {"Fn::Sub": "s3://${OffloadBucket}/offload"}
        assert variables["TOOLFOLD_KEY_SALT"] == {"Ref": "AWS::StackId"}


class TestRole:
    def test_it_allows_exactly_six_statements(self, resources: dict[str, Resource]) -> None:
        allowed = statements(resources["GatewayRole"]["Properties"])

        assert {sid: statement["Action"] for sid, statement in allowed.items()} == {
            "ReadObjects": "s3:GetObject",
            "DistinguishMissingFromForbidden": "s3:ListBucket",
            "ReadAndWriteCache": ["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"],
            "ReadAndWriteLargeEntries": ["s3:GetObject", "s3:PutObject"],
            "WriteResultsAndSignLinks": ["s3:GetObject", "s3:PutObject"],
            "WriteLog": ["logs:CreateLogStream", "logs:PutLogEvents"],
        }

    def test_it_reads_the_prefix_of_the_catalog_only(self, resources: dict[str, Resource]) -> None:
        allowed = statements(resources["GatewayRole"]["Properties"])

        assert allowed["ReadObjects"]["Resource"] == {"Fn::Sub": "${CatalogBucket.Arn}/${CatalogPrefix}/*"}
        assert allowed["DistinguishMissingFromForbidden"]["Resource"] == {"Fn::GetAtt": ["CatalogBucket", "Arn"]}
        assert allowed["DistinguishMissingFromForbidden"]["Condition"] == {
            "StringLikeIfExists": {"s3:prefix": {"Fn::Sub": "${CatalogPrefix}/*"}}
        }

    def test_it_writes_to_its_own_table_and_two_prefixes(self, resources: dict[str, Resource]) -> None:
        allowed = statements(resources["GatewayRole"]["Properties"])

        assert allowed["ReadAndWriteCache"]["Resource"] == {"Fn::GetAtt": ["CacheTable", "Arn"]}
        assert allowed["ReadAndWriteLargeEntries"]["Resource"] == {"Fn::Sub": "${OffloadBucket.Arn}/cache/*"}
        assert allowed["WriteResultsAndSignLinks"]["Resource"] == {"Fn::Sub": "${OffloadBucket.Arn}/offload/*"}

    def test_it_reads_only_the_secret_of_the_parameter(self, resources: dict[str, Resource]) -> None:
        policy = resources["KeySecretPolicy"]
        [statement] = policy["Properties"]["PolicyDocument"]["Statement"]

        assert policy["Condition"] == "KeyInSecret"
        assert statement["Action"] == ["secretsmanager:GetSecretValue", "ssm:GetParameter"]
        assert statement["Resource"] == {"Fn::Select": [0, {"Fn::Split": ["#", {"Ref": "AlphaVantageApiKeySecret"}]}]}

    def test_it_decrypts_with_the_key_of_the_secret_only_for_these_services(
        self, resources: dict[str, Resource]
    ) -> None:
        policy = resources["KeySecretKmsPolicy"]
        [statement] = policy["Properties"]["PolicyDocument"]["Statement"]

        assert policy["Condition"] == "KeySecretHasKmsKey"
        assert (statement["Action"], statement["Resource"]) == ("kms:Decrypt", {"Ref": "KeySecretKmsKeyArn"})
        services = statement["Condition"]["StringEquals"]["kms:ViaService"]
        assert [service["Fn::Sub"].partition(".")[0] for service in services] == ["secretsmanager", "ssm"]

    @pytest.mark.parametrize("name", ["SourceKeysPolicy", "SourceKeysKmsPolicy"])
    def test_gateway_and_publisher_read_the_keys_of_sources(self, resources: dict[str, Resource], name: str) -> None:
        policy = resources[name]
        [statement] = policy["Properties"]["PolicyDocument"]["Statement"]

        assert policy["Properties"]["Roles"] == [
            {"Ref": "GatewayRole"},
            {"Fn::If": ["PublisherOn", {"Ref": "PublisherRole"}, {"Ref": "AWS::NoValue"}]},
        ]
        expected = {"SourceKeysPolicy": "SourceKeys", "SourceKeysKmsPolicy": "KeySecretKmsKeyArn"}
        assert statement["Resource"] == {"Ref": expected[name]}
        for function in ("GatewayFunction", "PublisherFunction"):
            variables = resources[function]["Properties"]["Environment"]["Variables"]
            assert variables["TOOLFOLD_SOURCE_KEYS"] == {"Ref": "SourceKeys"}

    def test_no_policy_of_aws_is_attached_unless_tracing_is_on(self, resources: dict[str, Resource]) -> None:
        condition, _, otherwise = resources["GatewayRole"]["Properties"]["ManagedPolicyArns"]["Fn::If"]

        assert condition == "TracingActive"
        assert otherwise == {"Ref": "AWS::NoValue"}

    def test_no_statement_allows_a_whole_service_or_every_resource(self, resources: dict[str, Resource]) -> None:
        for statement in statements(resources["GatewayRole"]["Properties"]).values():
            assert statement["Effect"] == "Allow"
            assert "*" not in json.dumps(statement["Action"])
            assert statement["Resource"] not in ("*", ["*"])

    def test_it_is_the_role_of_the_function(self, resources: dict[str, Resource]) -> None:
        assert resources["GatewayFunction"]["Properties"]["Role"] == {"Fn::GetAtt": ["GatewayRole", "Arn"]}


class TestFunction:
    def test_it_runs_on_python_313_on_arm64(self, resources: dict[str, Resource]) -> None:
        function = resources["GatewayFunction"]["Properties"]

        assert (function["Runtime"], function["Architectures"]) == ("python3.13", ["arm64"])

    def test_its_layers_are_built_for_its_architecture(self, resources: dict[str, Resource]) -> None:
        function = resources["GatewayFunction"]["Properties"]
        for layer in (one["Properties"] for one in resources.values() if one["Type"] == "AWS::Lambda::LayerVersion"):
            assert layer["CompatibleRuntimes"] == [function["Runtime"]]
            assert layer["CompatibleArchitectures"] == function["Architectures"]

    @pytest.mark.parametrize(
        ("extras", "added"),
        [
            ("none", []),
            ("sources", ["sources"]),
            ("scripts", ["scripts"]),
            ("all", ["sources", "scripts"]),
        ],
    )
    def test_the_parameter_extras_adds_layers_behind_the_two_of_the_gateway(
        self, extras: str, added: list[str]
    ) -> None:
        stack = deployed(Extras=extras)
        names = [
            arn.rpartition("layer:toolfold-")[2] for arn in stack.resources["GatewayFunction"]["Properties"]["Layers"]
        ]
        assert [re.sub(r"layer[0-9a-f]{10}:1$", "", name) for name in names] == ["dependencies", "core", *added]
        made = {name for name, one in stack.resources.items() if one["Type"] == "AWS::Lambda::LayerVersion"}
        assert len(made) == 2 + len(added)
        # A plain `sam deploy` publishes a version when one of them has changed.
        numbers = ["1" if layer in added else "-" for layer in ("sources", "scripts")]
        description = stack.resources["GatewayVersion"]["Properties"]["Description"]
        assert description == " ".join(["unstamped layers 1 1", *numbers])

    def test_it_has_the_memory_of_the_decision_record(self, resources: dict[str, Resource]) -> None:
        page = (ROOT / "docs/explanation/decisions/memory-size.md").read_text()

        assert f"**{only(resources, 'AWS::Lambda::Function')['MemorySize']:,} MB**" in page

    def test_it_times_out_before_the_api(self, resources: dict[str, Resource]) -> None:
        assert resources["GatewayFunction"]["Properties"]["Timeout"] < 30

    def test_powertools_reads_the_service_and_the_namespace(self, resources: dict[str, Resource]) -> None:
        variables = resources["GatewayFunction"]["Properties"]["Environment"]["Variables"]

        assert variables["POWERTOOLS_SERVICE_NAME"] == {"Ref": "AWS::StackName"}
        assert variables["POWERTOOLS_METRICS_NAMESPACE"] == "toolfold"
        assert variables["POWERTOOLS_LOGGER_SAMPLE_RATE"]["Fn::If"][:2] == ["LogsSampled", {"Ref": "LogSampleRate"}]
        assert "POWERTOOLS_LOGGER_LOG_EVENT" not in variables  # events contain API keys

    def test_traces_are_written_only_where_tracing_is_active(self, resources: dict[str, Resource]) -> None:
        function = resources["GatewayFunction"]["Properties"]

        assert function["TracingConfig"] == {"Mode": {"Ref": "Tracing"}}
        assert function["Environment"]["Variables"]["TOOLFOLD_TRACE"] == {"Fn::If": ["TracingActive", "true", "false"]}

    def test_every_variable_of_toolfold_is_a_setting(self, resources: dict[str, Resource]) -> None:
        variables = resources["GatewayFunction"]["Properties"]["Environment"]["Variables"]

        assert {name for name in variables if name.startswith("TOOLFOLD_")} <= set(VARIABLES)

    def test_what_a_catalog_may_name_is_a_parameter_that_is_empty_by_default(
        self, resources: dict[str, Resource]
    ) -> None:
        variables = resources["GatewayFunction"]["Properties"]["Environment"]["Variables"]

        assert variables["TOOLFOLD_KEY_VARIABLES"] == {"Ref": "KeyVariables"}
        assert variables["TOOLFOLD_ALLOWED_HOSTS"] == {"Ref": "AllowedHosts"}
        assert variables["TOOLFOLD_PRIVATE_HOSTS"] == {"Ref": "PrivateHosts"}
        hosts = "a=b.example:8443, [::1]:1"
        for name, text in [
            ("KeyVariables", "weather=WEATHER_KEY, KEY"),
            ("AllowedHosts", hosts),
            ("PrivateHosts", hosts),
        ]:
            parameter = sam_template.load(TEMPLATE)["Parameters"][name]
            assert parameter["Default"] == ""
            assert re.fullmatch(parameter["AllowedPattern"], text)

    def test_its_log_is_kept_for_a_limited_time(self, resources: dict[str, Resource]) -> None:
        group = resources["GatewayFunction"]["Properties"]["LoggingConfig"]["LogGroup"]["Ref"]

        assert resources[group]["Properties"]["RetentionInDays"] == {"Ref": "LogRetentionDays"}


class TestSnapStart:
    def test_it_is_off_by_default(self, resources: dict[str, Resource]) -> None:
        parameter = sam_template.load(TEMPLATE)["Parameters"]["SnapStart"]
        apply_on = resources["GatewayFunction"]["Properties"]["SnapStart"]["ApplyOn"]

        assert (parameter["Default"], parameter["AllowedValues"]) == ("false", ["true", "false"])
        assert apply_on == {"Fn::If": ["SnapStartOn", "PublishedVersions", "None"]}

    def test_the_function_uses_no_feature_that_it_excludes(self, resources: dict[str, Resource]) -> None:
        """https://docs.aws.amazon.com/lambda/latest/dg/snapstart.html, features and limitations."""
        function = resources["GatewayFunction"]["Properties"]

        assert function["Runtime"] >= "python3.12"
        assert function.keys().isdisjoint({"FileSystemConfigs", "EphemeralStorage", "ImageConfig"})
        assert "ProvisionedConcurrencyConfig" not in strings(resources)


class TestSecrets:
    def test_the_api_key_is_a_hidden_parameter_and_empty_by_default(self) -> None:
        parameter = sam_template.load(TEMPLATE)["Parameters"]["AlphaVantageApiKey"]

        assert parameter["NoEcho"] is True
        assert parameter["Default"] == ""

    def test_only_the_environment_of_the_function_refers_to_it(self, resources: dict[str, Resource]) -> None:
        variables = resources["GatewayFunction"]["Properties"]["Environment"]["Variables"]

        assert variables["ALPHA_VANTAGE_API_KEY"] == {
            "Fn::If": ["KeyInSecret", {"Ref": "AlphaVantageApiKeySecret"}, {"Ref": "AlphaVantageApiKey"}]
        }
        assert len([text for text in strings(resources) if text == "AlphaVantageApiKey"]) == 1

    def test_no_output_contains_it(self) -> None:
        assert "AlphaVantageApiKey" not in json.dumps(sam_template.load(TEMPLATE)["Outputs"])


class TestApi:
    def test_every_method_of_the_endpoint_and_the_metadata_reach_the_function(
        self, resources: dict[str, Resource]
    ) -> None:
        paths = only(resources, "AWS::ApiGatewayV2::Api")["Body"]["paths"]

        assert {path: list(methods) for path, methods in paths.items()} == {
            "/mcp": ["x-amazon-apigateway-any-method"],
            "/mcp/{profile}": ["x-amazon-apigateway-any-method"],
            "/.well-known/{proxy+}": ["x-amazon-apigateway-any-method"],
            "/register": ["x-amazon-apigateway-any-method"],
            "/health": ["get"],
            "/": ["Fn::If"],  # test_explorer_template.py
            "/ui/{proxy+}": ["Fn::If"],
        }
        integration = paths["/mcp"]["x-amazon-apigateway-any-method"]["x-amazon-apigateway-integration"]
        assert integration["payloadFormatVersion"] == "2.0"

    def test_the_function_answers_preflights_itself(self, resources: dict[str, Resource]) -> None:
        assert not [text for text in strings(only(resources, "AWS::ApiGatewayV2::Api")) if "cors" in text.lower()]

    def test_it_is_throttled(self, resources: dict[str, Resource]) -> None:
        assert only(resources, "AWS::ApiGatewayV2::Stage")["DefaultRouteSettings"] == {
            "ThrottlingRateLimit": {"Ref": "ThrottleRate"},
            "ThrottlingBurstLimit": {"Ref": "ThrottleBurst"},
        }

    def test_its_log_is_json_of_harmless_fields(self, resources: dict[str, Resource]) -> None:
        """``$context.path`` has no query string; a header or the query itself could carry a caller's key."""
        line = only(resources, "AWS::ApiGatewayV2::Stage")["AccessLogSettings"]["Format"]

        assert set(json.loads(line)) >= {"requestId", "status", "path", "latencyMs"}
        assert set(re.findall(r"\$[\w.]+", line)) == {
            "$context.requestId",
            "$context.requestTime",
            "$context.identity.sourceIp",
            "$context.httpMethod",
            "$context.path",
            "$context.routeKey",
            "$context.status",
            "$context.responseLength",
            "$context.responseLatency",
            "$context.integrationLatency",
            "$context.integration.integrationStatus",
            "$context.error.responseType",
            "$context.integrationErrorMessage",
            "$context.authorizer.error",
        }

    def test_only_this_api_may_invoke_the_function(self, resources: dict[str, Resource]) -> None:
        allowed = {
            resource["Properties"]["SourceArn"]["Fn::Sub"].rpartition(":")[2]: resource["Properties"]["Principal"]
            for name, resource in resources.items()
            if resource["Type"] == "AWS::Lambda::Permission" and name != "PublisherSchedulePermission"
        }

        assert allowed == {
            "${Api}/*/*/mcp": "apigateway.amazonaws.com",
            "${Api}/*/*/mcp/*": "apigateway.amazonaws.com",
            "${Api}/*/*/.well-known/*": "apigateway.amazonaws.com",
            "${Api}/*/*/register": "apigateway.amazonaws.com",
            "${Api}/*/GET/health": "apigateway.amazonaws.com",
            "${Api}/*/GET/": "apigateway.amazonaws.com",
            "${Api}/*/*/ui/*": "apigateway.amazonaws.com",
        }


def holds(condition: Any, parameters: dict[str, str]) -> bool:
    """Evaluate a condition of the template for values of its parameters."""
    [(function, given)] = condition.items()
    if function == "Fn::Equals":
        left, right = [parameters[value["Ref"]] if isinstance(value, dict) else value for value in given]
        return bool(left == right)
    found = [holds(inner, parameters) for inner in given]
    return {"Fn::Not": lambda: not found[0], "Fn::Or": lambda: any(found), "Fn::And": lambda: all(found)}[function]()


class TestParameters:
    @pytest.mark.parametrize(
        ("key", "secret", "confirmed", "issuer", "accepted"),
        [
            ("", "", "false", "", True),
            ("KEY", "", "false", "", False),
            ("", "arn", "false", "", False),
            ("KEY", "", "true", "", True),
            ("", "arn", "true", "", True),
            ("", "arn", "false", "https://issuer.example.com", True),
        ],
    )
    def test_a_key_is_open_to_everyone_only_when_that_is_confirmed(
        self, key: str, secret: str, confirmed: str, issuer: str, accepted: bool
    ) -> None:
        rule = sam_template.load(TEMPLATE)["Rules"]["KeyIsNotForEveryone"]
        given = {"AlphaVantageApiKey": key, "AlphaVantageApiKeySecret": secret, "AnyoneMayUseTheKey": confirmed}
        given |= {"OAuthIssuer": issuer, "SourceKeys": ""}

        checked = holds(rule["RuleCondition"], given)
        assert accepted == (not checked or all(holds(one["Assert"], given) for one in rule["Assertions"]))

    @pytest.mark.parametrize(
        ("arn", "accepted"),
        [
            ("", True),
            ("arn:aws:secretsmanager:eu-central-1:123456789012:secret:keys/alpha-Ab12Cd", True),
            ("arn:aws:secretsmanager:eu-central-1:123456789012:secret:keys/alpha-Ab12Cd#api_key", True),
            ("arn:aws-cn:ssm:cn-north-1:123456789012:parameter/keys/alpha", True),
            ("arn:aws:secretsmanager:eu-central-1:123456789012:secret:keys/alpha", False),
            ("arn:aws:secretsmanager:eu-central-1:123456789012:secret:keys-Ab12Cd ", False),
            ("keys/alpha", False),
        ],
    )
    def test_the_arn_of_the_secret_must_be_whole(self, arn: str, accepted: bool) -> None:
        pattern = sam_template.load(TEMPLATE)["Parameters"]["AlphaVantageApiKeySecret"]["AllowedPattern"]

        assert bool(re.fullmatch(pattern, arn)) == accepted

    @pytest.mark.parametrize(
        ("arn", "accepted"),
        [
            ("", True),
            ("arn:aws:secretsmanager:eu-central-1:123456789012:secret:sources-Ab12Cd", True),
            ("arn:aws:ssm:eu-central-1:123456789012:parameter/toolfold/sources", True),
            ("arn:aws:secretsmanager:eu-central-1:123456789012:secret:sources-Ab12Cd#crm", False),
            ('{"crm": "KEY"}', False),
        ],
    )
    def test_the_keys_of_sources_are_a_whole_secret(self, arn: str, accepted: bool) -> None:
        pattern = sam_template.load(TEMPLATE)["Parameters"]["SourceKeys"]["AllowedPattern"]

        assert bool(re.fullmatch(pattern, arn)) == accepted

    def test_concurrency_is_reserved_only_when_it_is_named(self, resources: dict[str, Resource]) -> None:
        reserved = resources["GatewayFunction"]["Properties"]["ReservedConcurrentExecutions"]

        assert reserved == {"Fn::If": ["ConcurrencyReserved", {"Ref": "ReservedConcurrency"}, {"Ref": "AWS::NoValue"}]}


class TestAlarms:
    @staticmethod
    def alarms(resources: dict[str, Resource]) -> dict[str, Resource]:
        return {name: one for name, one in resources.items() if one["Type"] == "AWS::CloudWatch::Alarm"}

    def test_they_exist_only_with_a_topic_and_notify_it(self, resources: dict[str, Resource]) -> None:
        alarms = self.alarms(resources)
        for name, alarm in alarms.items():
            assert alarm["Properties"]["TreatMissingData"] == "notBreaching"
            if alarm["Condition"] != "GradualDeployment":  # read by CodeDeploy
                assert alarm["Properties"]["AlarmActions"] == [{"Ref": "AlarmTopicArn"}], name

    def test_lines_of_errors_are_counted_whatever_the_level_of_the_log(self, resources: dict[str, Resource]) -> None:
        metrics = only(resources, "AWS::Logs::MetricFilter")
        assert metrics["FilterPattern"].startswith('{ ($.level = "ERROR") && ')
        assert metrics["MetricTransformations"] == [
            {
                "MetricNamespace": "toolfold",
                "MetricName": "ErrorLines",
                "MetricValue": "1",
                "Dimensions": [{"Key": "service", "Value": "$.service"}],
            }
        ]
        levels = sam_template.load(TEMPLATE)["Parameters"]["LogLevel"]["AllowedValues"]
        assert levels[-1] == "ERROR"

    def test_the_page_about_operation_explains_each(self, resources: dict[str, Resource]) -> None:
        page = (ROOT / "docs/how-to/operate.md").read_text(encoding="utf-8")
        assert set(re.findall(r"^\| `(\w+Alarm)` \|", page, re.MULTILINE)) == set(self.alarms(resources))


def test_all_taggable_resources_are_tagged(resources: dict[str, Resource]) -> None:
    untaggable = {
        "AWS::Lambda::Alias",
        "AWS::Lambda::LayerVersion",
        "AWS::Lambda::Version",
        "AWS::Lambda::EventInvokeConfig",
        "AWS::Lambda::Permission",
        "AWS::SQS::QueuePolicy",
        "Custom::ToolfoldCatalog",
        "AWS::S3::BucketPolicy",
        "AWS::IAM::Policy",
        "AWS::Logs::MetricFilter",
        "AWS::Logs::QueryDefinition",
        "AWS::CloudWatch::Dashboard",
        "AWS::ApiGatewayV2::ApiMapping",
        "AWS::Route53::RecordSet",
        "AWS::Budgets::Budget",
        "AWS::ApiGatewayV2::Api",  # takes its tags from the body
    }
    for name, resource in resources.items():
        if resource["Type"] not in untaggable:
            assert "toolfold" in json.dumps(resource["Properties"]["Tags"]), name


@pytest.mark.slow
def test_lint_finds_mistakes_in_the_translated_template() -> None:
    """The lint of the template as written lets a runtime through that does not exist."""
    template = sam_template.load(TEMPLATE)
    function = template["Resources"]["GatewayFunction"]["Properties"]
    function["Runtime"] = "python3.99"
    function["Environment"]["Variables"]["TOOLFOLD_CATALOG"] = {"Ref": "NoSuchBucket"}

    found = lint(json.dumps(sam_template.translate(template)), config=ManualArgs(regions=[sam_template.REGION]))

    assert {(problem.rule.id, problem.path[1], problem.path[3]) for problem in found} == {
        ("E3030", "GatewayFunction", "Runtime"),
        ("E1020", "GatewayFunction", "Environment"),
    }
