"""Versions of the function: each deployment publishes one, requests move to it, earlier ones stay."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.support.stack import Stack, deployed, translated

ROOT = Path(__file__).parents[2]

GRADUAL = {"DeploymentPreference": "Canary10Percent5Minutes"}


@pytest.fixture(scope="module")
def gradual() -> Stack:
    return deployed(**GRADUAL)


class TestVersion:
    def test_the_api_invokes_the_alias_and_the_alias_the_version(self) -> None:
        resources = translated()["Resources"]
        alias = resources["GatewayAlias"]["Properties"]
        assert (alias["Name"], alias["FunctionName"]) == ("live", {"Ref": "GatewayFunction"})
        assert alias["FunctionVersion"] == {"Fn::GetAtt": ["GatewayVersion", "Version"]}
        for path in resources["Api"]["Properties"]["Body"]["paths"].values():
            for method in path["Fn::If"][1].values() if "Fn::If" in path else path.values():
                uri = method["x-amazon-apigateway-integration"]["uri"]["Fn::Sub"]
                assert uri.endswith("/functions/${GatewayFunction.Arn}:live/invocations")
        permissions = [one for one in resources.values() if one["Type"] == "AWS::Lambda::Permission"]
        by_api = [one for one in permissions if one["Properties"]["Principal"] == "apigateway.amazonaws.com"]
        assert all(one["Properties"]["FunctionName"] == {"Ref": "GatewayAlias"} for one in by_api)

    @pytest.mark.parametrize("snap_start", ["true", "false"])
    @pytest.mark.parametrize("preference", ["AllAtOnce", "Canary10Percent5Minutes"])
    def test_the_stamp_changes_the_version_and_the_function(self, snap_start: str, preference: str) -> None:
        """CloudFormation replaces a version whose description changes; Lambda makes none when nothing has changed."""
        stack = deployed(SnapStart=snap_start, DeploymentPreference=preference)
        assert stack.resources["GatewayVersion"]["Properties"]["Description"] == "unstamped layers 1 1 - -"
        function = stack.resources["GatewayFunction"]["Properties"]
        assert function["Description"].endswith(" unstamped")
        assert len(function["Description"]) + len("20260101-000000-0123456789ab") < 256
        assert function["SnapStart"]["ApplyOn"] == ("PublishedVersions" if snap_start == "true" else "None")

    def test_replaced_versions_stay(self) -> None:
        version = translated()["Resources"]["GatewayVersion"]
        assert (version["DeletionPolicy"], version["UpdateReplacePolicy"]) == ("Delete", "Retain")
        assert "Condition" not in version


class TestGradualDeployment:
    def test_nothing_of_codedeploy_exists_unless_it_is_requested(self) -> None:
        stack = deployed()
        assert not [one for one in stack.resources.values() if "CodeDeploy" in one["Type"]]
        assert "UpdatePolicy" not in stack.resources["GatewayAlias"]

    def test_codedeploy_moves_the_alias(self, gradual: Stack) -> None:
        [group] = gradual.of_type("AWS::CodeDeploy::DeploymentGroup").values()
        update = gradual.resources["GatewayAlias"]["UpdatePolicy"]["CodeDeployLambdaAliasUpdate"]
        assert update["ApplicationName"] == group["ApplicationName"]
        assert group["DeploymentConfigName"] == "CodeDeployDefault.LambdaCanary10Percent5Minutes"
        assert group["AutoRollbackConfiguration"]["Enabled"]

    def test_alarms_without_a_topic_stop_it_within_its_five_minutes(self, gradual: Stack) -> None:
        [group] = gradual.of_type("AWS::CodeDeploy::DeploymentGroup").values()
        alarms = gradual.of_type("AWS::CloudWatch::Alarm")
        assert len(group["AlarmConfiguration"]["Alarms"]) == len(alarms) == 3
        metrics = {(one["Namespace"], one["MetricName"]): one for one in alarms.values()}
        assert metrics.keys() == {("AWS/Lambda", "Errors"), ("AWS/ApiGateway", "5xx"), ("toolfold", "Failures")}
        assert all(one["Period"] * one["EvaluationPeriods"] <= 120 for one in alarms.values())
        dimensions = {one["Name"]: one["Value"] for one in metrics["AWS/Lambda", "Errors"]["Dimensions"]}
        assert dimensions["ExecutedVersion"] == gradual.resources["GatewayAlias"]["Properties"]["FunctionVersion"]

    def test_codedeploy_may_move_this_alias_only(self, gradual: Stack) -> None:
        statements: list[dict[str, Any]] = gradual.statements("DeploymentRole")
        by_sid = {one["Sid"]: one for one in statements}
        assert by_sid.keys() == {"MoveAlias", "ReadAlarms"}
        function = gradual.of_type("AWS::Lambda::Function").keys() & {"GatewayFunction"}
        assert function
        assert all(":function:" in arn and "gatewayfunction" in arn for arn in by_sid["MoveAlias"]["Resource"])
        assert by_sid["ReadAlarms"]["Action"] == "cloudwatch:DescribeAlarms"


class TestStages:
    CONFIG = tomllib.loads((ROOT / "samconfig.toml").read_text())

    def test_two_stages_share_no_stack_and_prompt_for_nothing(self) -> None:
        stacks = {
            stage: self.CONFIG[stage]["global"]["parameters"]["stack_name"] for stage in ("default", "dev", "prod")
        }
        assert len(set(stacks.values())) == 3
        for stage in stacks:
            options = self.CONFIG[stage]["deploy"]["parameters"]
            assert "confirm_changeset" not in options
            assert options["fail_on_empty_changeset"] is False

    def test_what_a_stage_sets_is_a_parameter_with_an_allowed_value(self) -> None:
        parameters = translated()["Parameters"]
        for stage in ("dev", "prod"):
            for override in self.CONFIG[stage]["deploy"]["parameters"]["parameter_overrides"]:
                name, _, value = override.partition("=")
                assert value in map(str, parameters[name]["AllowedValues"])

    def test_nothing_in_the_template_has_a_name_that_two_stacks_would_share(self) -> None:
        names = ("BucketName", "TableName", "FunctionName", "RoleName", "LogGroupName", "LayerName", "AlarmName")
        names += ("DashboardName", "QueueName", "Name")
        for logical, resource in translated()["Resources"].items():
            for name in names:
                value = resource.get("Properties", {}).get(name)
                if isinstance(value, str):
                    assert resource["Type"] in ("AWS::Lambda::Alias", "AWS::ApiGatewayV2::Stage"), (logical, name)
