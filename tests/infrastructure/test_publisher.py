"""The catalog bucket's policy, and the publisher of template.yaml."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support import sam_template, stack
from tests.support.cloudwatch import CloudWatch, Span
from tests.support.iam import Call, is_allowed
from tests.support.stack import Stack
from toolfold.settings.variables import VARIABLES

ROOT = Path(__file__).parents[2]
TOPIC = "arn:aws:sns:us-east-1:123456789012:alarms"
BUCKET = "arn:aws:s3:::toolfold-catalogbucket"
CATALOG, POINTER = f"{BUCKET}/catalog/catalogs/0123.json", f"{BUCKET}/catalog/current.json"
QUEUE = "arn:aws:sqs:us-east-1:123456789012:toolfold-publisherfailurequeue"
LOG = "arn:aws:logs:us-east-1:123456789012:log-group:/aws/lambda/toolfold-publisher:log-stream:1"
OURS = {"Publisher": "true", "PublishSchedule": "rate(1 day)", "AlarmTopicArn": TOPIC}
ADMINISTRATOR = {"Effect": "Allow", "Action": "*", "Resource": "*"}
ONCE = {"s3:if-none-match": ("*",)}


@pytest.fixture(scope="module")
def published() -> Stack:
    return stack.deployed(**OURS)


class TestBucketPolicy:
    @pytest.mark.parametrize(
        ("asked", "expected"),
        [
            (Call("s3:PutObject", CATALOG, ONCE), True),
            (Call("s3:PutObject", CATALOG), False),
            (Call("s3:PutObject", CATALOG, {"s3:if-match": ('"etag"',)}), False),
            (Call("s3:DeleteObject", CATALOG), False),
            (Call("s3:DeleteObjectVersion", CATALOG), False),
            (Call("s3:GetObject", CATALOG), True),
            (Call("s3:PutObject", POINTER, {"s3:if-match": ('"etag"',)}), True),
            (Call("s3:PutObject", POINTER), True),
            (Call("s3:DeleteObject", POINTER), True),
            (Call("s3:PutObject", f"{BUCKET}/another/catalogs/0123.json"), True),
            (Call("s3:GetObject", CATALOG, {"aws:SecureTransport": ("false",)}), False),
        ],
        ids=str,
    )
    def test_even_an_administrator_writes_a_catalog_once_and_never_deletes_it(
        self, published: Stack, asked: Call, expected: bool
    ) -> None:
        encrypted = Call(asked.action, asked.resource, {"aws:SecureTransport": ("true",), **asked.context})
        policy = published.of_type("AWS::S3::BucketPolicy")["CatalogBucketPolicy"]["PolicyDocument"]["Statement"]
        assert is_allowed([ADMINISTRATOR, *policy], encrypted) == expected


class TestParameters:
    def test_nothing_of_it_exists_unless_it_is_requested(self) -> None:
        assert not [name for name in stack.deployed().resources if "Publish" in name]
        assert not [name for name in stack.deployed(AlarmTopicArn=TOPIC).resources if "Publish" in name]

    def test_the_gateway_is_the_same_with_and_without_it(self, published: Stack) -> None:
        without = stack.deployed(AlarmTopicArn=TOPIC).resources
        for name, resource in without.items():
            assert published.resources[name] == resource

    def test_without_a_schedule_it_runs_at_deployments_only(self) -> None:
        only = stack.deployed(Publisher="true")
        assert not only.of_type("AWS::Events::Rule")
        assert "PublishedCatalog" in only.resources
        assert not only.of_type("AWS::CloudWatch::Alarm")
        assert "StaleCatalogAlarm" not in stack.deployed(Publisher="true", AlarmTopicArn=TOPIC).resources

    @pytest.mark.parametrize(
        ("text", "accepted"),
        [
            ("", True),
            ("rate(1 day)", True),
            ("rate(12 hours)", True),
            ("cron(0 6 ? * MON-FRI *)", True),
            ("cron(0 6,18 L * ? 2026/2)", True),
            ("1 day", False),
            ("0 6 * * *", False),
            ("rate(1 day) ", False),
        ],
    )
    def test_the_schedule_is_written_as_eventbridge_reads_it(self, text: str, accepted: bool) -> None:
        parameter = sam_template.load(stack.TEMPLATE)["Parameters"]["PublishSchedule"]
        assert bool(re.fullmatch(parameter["AllowedPattern"], text)) == accepted

    def test_a_schedule_without_the_publisher_is_refused(self) -> None:
        rule = sam_template.load(stack.TEMPLATE)["Rules"]["ScheduleNeedsPublisher"]
        assert rule["RuleCondition"] == {"Fn::Not": [{"Fn::Equals": [{"Ref": "PublishSchedule"}, ""]}]}
        [assertion] = rule["Assertions"]
        assert assertion["Assert"] == {"Fn::Equals": [{"Ref": "Publisher"}, "true"]}


class TestFunction:
    def test_it_has_the_runtime_of_the_gateway_and_a_layer_of_its_own(self, published: Stack) -> None:
        functions = published.of_type("AWS::Lambda::Function")
        gateway, publisher = functions["GatewayFunction"], functions["PublisherFunction"]

        for name in ("Runtime", "Architectures", "Handler"):
            assert publisher[name] == gateway[name]
        named = [arn.rpartition("layer:toolfold-")[2].rstrip(":1") for arn in publisher["Layers"]]
        assert [re.sub(r"[0-9a-f]{10}$", "", name) for name in named] == ["dependencieslayer", "publisherlayer"]

    def test_every_variable_is_read_and_what_a_catalog_may_name_is_that_of_the_gateway(self, published: Stack) -> None:
        variables, gateway = published.variables("PublisherFunction"), published.variables()
        assert {name for name in variables if name.startswith("TOOLFOLD_")} <= set(VARIABLES)
        for name, value in variables.items():
            assert gateway[name] == value

    def test_cloudformation_waits_for_three_invocations_and_no_longer(self, published: Stack) -> None:
        resource = published.resources["PublishedCatalog"]["Properties"]
        timeout_s = published.of_type("AWS::Lambda::Function")["PublisherFunction"]["Timeout"]
        # Lambda waits one minute, then two, before it tries again.
        assert 3 * timeout_s + 180 <= resource["ServiceTimeout"] <= 1800

    def test_a_deployment_with_other_sources_updates_the_custom_resource(self) -> None:
        translated = stack.translated()["Resources"]
        sources = translated["PublishedCatalog"]["Properties"]["Sources"]["Ref"]
        # SAM names a layer after its content, so that its reference changes.
        assert re.fullmatch(r"PublisherLayer[0-9a-f]{10}", sources)

    def test_a_failed_run_is_tried_twice_more_and_then_reported(self, published: Stack) -> None:
        [retries] = published.of_type("AWS::Lambda::EventInvokeConfig").values()
        [rule] = published.of_type("AWS::Events::Rule").values()
        [target] = rule["Targets"]

        assert retries["MaximumRetryAttempts"] == target["RetryPolicy"]["MaximumRetryAttempts"] == 2
        assert retries["DestinationConfig"]["OnFailure"]["Destination"] == target["DeadLetterConfig"]["Arn"] == QUEUE
        assert rule["ScheduleExpression"] == "rate(1 day)"
        assert target["Arn"] == "arn:aws:lambda:us-east-1:123456789012:function:toolfold-publisherfunction"


class TestPermissions:
    @pytest.mark.parametrize(
        ("asked", "expected"),
        [
            (Call("s3:GetObject", POINTER), True),
            (Call("s3:PutObject", POINTER, {"s3:if-match": ('"etag"',)}), True),
            (Call("s3:GetObject", CATALOG), True),
            (Call("s3:PutObject", CATALOG, ONCE), True),
            (Call("s3:ListBucket", BUCKET), True),
            (Call("sqs:SendMessage", QUEUE), True),
            (Call("logs:PutLogEvents", LOG), True),
            (Call("s3:PutObject", f"{BUCKET}/catalog/private.json"), False),
            (Call("s3:PutObject", f"{BUCKET}/elsewhere/current.json"), False),
            (Call("s3:DeleteObject", POINTER), False),
            (Call("s3:DeleteObject", CATALOG), False),
            (Call("s3:PutBucketPolicy", BUCKET), False),
            (Call("s3:GetObject", "arn:aws:s3:::toolfold-offloadbucket/cache/a"), False),
            (Call("dynamodb:GetItem", "arn:aws:dynamodb:us-east-1:123456789012:table/toolfold-cachetable"), False),
            (Call("sqs:ReceiveMessage", QUEUE), False),
            (Call("logs:PutLogEvents", LOG.replace("publisher", "gateway")), False),
            (Call("secretsmanager:GetSecretValue", "arn:aws:secretsmanager:us-east-1:123456789012:secret:a"), False),
        ],
        ids=str,
    )
    def test_its_role_allows_what_it_needs_and_nothing_else(
        self, published: Stack, asked: Call, expected: bool
    ) -> None:
        assert is_allowed(published.statements("PublisherRole"), asked) == expected

    def test_each_statement_is_needed(self, published: Stack) -> None:
        needed = [
            Call("s3:PutObject", CATALOG, ONCE),
            Call("s3:ListBucket", BUCKET),
            Call("sqs:SendMessage", QUEUE),
            Call("logs:CreateLogStream", LOG),
        ]
        statements = published.statements("PublisherRole")
        assert len(statements) == len(needed)
        for left_out in statements:
            rest = [statement for statement in statements if statement is not left_out]
            assert not all(is_allowed(rest, call) for call in needed)

    def test_only_its_rule_may_send_to_the_queue_and_start_it(self, published: Stack) -> None:
        [policy] = published.of_type("AWS::SQS::QueuePolicy").values()
        allowed = [one for one in policy["PolicyDocument"]["Statement"] if one["Effect"] == "Allow"]
        assert [one["Principal"] for one in allowed] == [{"Service": "events.amazonaws.com"}]
        [source] = allowed[0]["Condition"]["ArnEquals"].values()
        permission = published.of_type("AWS::Lambda::Permission")["PublisherSchedulePermission"]
        assert permission["SourceArn"] == source
        without = stack.deployed(Publisher="true").of_type("AWS::SQS::QueuePolicy").values()
        assert [one["Effect"] for policy in without for one in policy["PolicyDocument"]["Statement"]] == ["Deny"]


class TestAlarms:
    @staticmethod
    def ringing(published: Stack, cloudwatch: CloudWatch) -> set[str]:
        names = ("PublisherFailuresAlarm", "StaleCatalogAlarm")
        alarms = {name: published.of_type("AWS::CloudWatch::Alarm")[name] for name in names}
        return {name for name, one in alarms.items() if cloudwatch.alarm_periods(one, Span(0, 14_400))}

    @pytest.mark.parametrize(("hours", "rings"), [(1, False), (47.9, False), (48.1, True), (500, True)])
    def test_a_stale_catalog_notifies(self, published: Stack, hours: float, rings: bool) -> None:
        cloudwatch = CloudWatch()
        for start_s in (1, 3700):
            cloudwatch.put("toolfold", "CatalogAge", hours * 3600, start_s, service=stack.NAME)
        assert self.ringing(published, cloudwatch) == ({"StaleCatalogAlarm"} if rings else set())

    def test_a_failed_run_notifies(self, published: Stack) -> None:
        cloudwatch = CloudWatch()
        queue = "toolfold-publisherfailurequeue.QueueName"
        cloudwatch.put("AWS/SQS", "ApproximateNumberOfMessagesVisible", 1, 1, QueueName=queue)
        assert self.ringing(published, cloudwatch) == {"PublisherFailuresAlarm"}

    def test_silence_does_not(self, published: Stack) -> None:
        assert self.ringing(published, CloudWatch()) == set()
