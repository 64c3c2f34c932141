"""The publisher of deploy/publisher.yaml, and its permissions."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.support import sam_template
from toolfold.settings import VARIABLES

TEMPLATE = Path(__file__).parents[2] / "deploy/publisher.yaml"
BUCKET = "arn:${AWS::Partition}:s3:::${CatalogBucketName}"


@pytest.fixture(scope="module")
def template() -> dict[str, Any]:
    return sam_template.load(TEMPLATE)


@pytest.fixture(scope="module")
def translated() -> dict[str, Any]:
    return sam_template.translate(sam_template.load(TEMPLATE))


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


class TestFunction:
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


class TestPermissions:
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
