"""The evaluator of policies follows IAM's rules; the role of the template allows what is expected and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import stack
from tests.support.iam import Call, is_allowed

BUCKET = "arn:aws:s3:::catalogs"


def allow(**elements: Any) -> dict[str, Any]:
    return {"Effect": "Allow", "Action": "s3:GetObject", "Resource": f"{BUCKET}/*", **elements}


def call(action: str = "s3:GetObject", resource: str = f"{BUCKET}/a", **context: str) -> Call:
    return Call(action, resource, {key.replace("_", ":", 1): (value,) for key, value in context.items()})


class TestEvaluator:
    @pytest.mark.parametrize(
        ("elements", "asked", "expected"),
        [
            ({}, call(), True),
            ({}, call("s3:getobject"), True),
            ({}, call("s3:GetObjectAcl"), False),
            ({}, call(resource=BUCKET), False),
            ({}, call(resource=f"{BUCKET}-of-others/a"), False),
            ({"Action": ["s3:Put*", "s3:Get?bject"]}, call(), True),
            ({"Action": "s3:*"}, call("dynamodb:GetItem"), False),
            ({"Resource": "arn:aws:s3:::Catalogs/*"}, call(), False),
            ({"NotAction": "s3:Delete*", "Action": []}, call(), True),
            ({"NotAction": "s3:Get*", "Action": []}, call(), False),
            ({"NotResource": f"{BUCKET}/private/*"}, call(), True),
            ({"NotResource": f"{BUCKET}/private/*"}, call(resource=f"{BUCKET}/private/a"), False),
        ],
    )
    def test_actions_and_resources(self, elements: dict[str, Any], asked: Call, expected: bool) -> None:
        statement = allow(**elements)
        if "NotAction" in elements:
            del statement["Action"]
        assert is_allowed([statement], asked) == expected

    @pytest.mark.parametrize(
        ("condition", "context", "expected"),
        [
            ({"StringEquals": {"s3:prefix": "a"}}, {"s3_prefix": "a"}, True),
            ({"StringEquals": {"S3:Prefix": ["b", "a"]}}, {"s3_prefix": "a"}, True),
            ({"StringEquals": {"s3:prefix": "a"}}, {"s3_prefix": "A"}, False),
            ({"StringEquals": {"s3:prefix": "a"}}, {}, False),
            ({"StringEqualsIfExists": {"s3:prefix": "a"}}, {}, True),
            ({"StringEqualsIfExists": {"s3:prefix": "a"}}, {"s3_prefix": "b"}, False),
            ({"StringNotEquals": {"s3:prefix": "a"}}, {}, True),
            ({"StringNotEquals": {"s3:prefix": "a"}}, {"s3_prefix": "a"}, False),
            ({"StringNotEquals": {"s3:prefix": ["a", "b"]}}, {"s3_prefix": "b"}, False),
            ({"StringLike": {"s3:prefix": "a/*"}}, {"s3_prefix": "a/b/c"}, True),
            ({"StringLike": {"s3:prefix": "a/*"}}, {"s3_prefix": "a"}, False),
            ({"StringNotLike": {"s3:prefix": "a/*"}}, {"s3_prefix": "b"}, True),
            ({"Bool": {"aws:SecureTransport": "false"}}, {"aws_SecureTransport": "true"}, False),
            ({"Bool": {"aws:SecureTransport": False}}, {"aws_SecureTransport": "false"}, True),
            ({"Null": {"s3:if-none-match": "true"}}, {}, True),
            ({"Null": {"s3:if-none-match": "true"}}, {"s3_if-none-match": "*"}, False),
            ({"Null": {"s3:if-none-match": "false"}}, {"s3_if-none-match": "*"}, True),
            ({"NumericLessThan": {"s3:max-keys": "10"}}, {"s3_max-keys": "9"}, True),
            ({"NumericLessThan": {"s3:max-keys": "10"}}, {"s3_max-keys": "10"}, False),
            ({"ArnLike": {"x:arn": "arn:aws:iam::*:role/a"}}, {"x_arn": "arn:aws:iam::1:role/a"}, True),
            ({"ArnLike": {"x:arn": "arn:*:role/a"}}, {"x_arn": "arn:aws:iam::1:role/a"}, False),
            ({"ForAllValues:StringEquals": {"dynamodb:Attributes": ["a"]}}, {}, True),
            ({"ForAnyValue:StringEquals": {"dynamodb:Attributes": ["a"]}}, {}, False),
            ({"StringEquals": {"s3:prefix": "a", "aws:x": "b"}}, {"s3_prefix": "a"}, False),
            ({"StringEquals": {"s3:prefix": "a"}, "Bool": {"a:x": "true"}}, {"s3_prefix": "a", "a_x": "true"}, True),
        ],
    )
    def test_conditions(self, condition: dict[str, Any], context: dict[str, str], expected: bool) -> None:
        assert is_allowed([allow(Condition=condition)], call(**context)) == expected

    def test_all_or_any_of_several_values(self) -> None:
        asked = Call("s3:GetObject", f"{BUCKET}/a", {"x:y": ("a", "b")})
        for operator, wanted, expected in [
            ("ForAllValues:StringEquals", ["a", "b", "c"], True),
            ("ForAllValues:StringEquals", ["a"], False),
            ("ForAnyValue:StringEquals", ["b"], True),
            ("ForAnyValue:StringEquals", ["c"], False),
        ]:
            assert is_allowed([allow(Condition={operator: {"x:y": wanted}})], asked) == expected, operator

    def test_a_denial_wins(self) -> None:
        denied = allow(Effect="Deny", Resource=f"{BUCKET}/private/*")
        assert is_allowed([allow(), denied], call())
        assert not is_allowed([allow(), denied], call(resource=f"{BUCKET}/private/a"))
        assert not is_allowed([denied], call())
        assert not is_allowed([], call())

    @pytest.mark.parametrize(
        "elements",
        [
            {"Condition": {"StringMatches": {"a:b": "c"}}},
            {"Condition": {"ForSomeValues:StringEquals": {"a:b": "c"}}},
            {"Resource": "arn:aws:s3:::${aws:username}"},
            {"Conditions": {}},
        ],
    )
    def test_what_is_not_implemented_is_an_error(self, elements: dict[str, Any]) -> None:
        with pytest.raises(NotImplementedError):
            is_allowed([allow(**elements)], call(a_b="c"))


class TestStack:
    def test_nothing_in_it_is_a_function_any_more(self) -> None:
        resolved = stack.deployed(
            AlphaVantageApiKeySecret="arn:aws:ssm:us-east-1:123456789012:parameter/key",
            AlarmTopicArn="arn:aws:sns:us-east-1:123456789012:alarms",
        )
        assert "Fn::" not in repr(resolved.resources)
        assert "'Ref'" not in repr(resolved.resources)
        assert resolved.variables()["TOOLFOLD_CACHE"] == "dynamodb://toolfold-cachetable"

    def test_a_resource_without_its_condition_is_left_out(self) -> None:
        assert "KeySecretPolicy" not in stack.deployed().resources
        assert not stack.deployed().of_type("AWS::CloudWatch::Alarm")

    def test_a_parameter_that_does_not_exist_is_an_error(self) -> None:
        with pytest.raises(KeyError, match="NoSuchParameter"):
            stack.deployed(NoSuchParameter="x")


SECRET = "arn:aws:secretsmanager:us-east-1:123456789012:secret:key-abcdef"
KMS_KEY = "arn:aws:kms:us-east-1:123456789012:key/1"


class TestGateway:
    @pytest.mark.parametrize(
        ("asked", "expected"),
        [
            (Call("s3:GetObject", "arn:aws:s3:::toolfold-catalogbucket/catalog/current.json"), True),
            (Call("s3:GetObject", "arn:aws:s3:::toolfold-catalogbucket/private/a"), False),
            (Call("s3:GetObject", "arn:aws:s3:::another/catalog/current.json"), False),
            (Call("s3:PutObject", "arn:aws:s3:::toolfold-catalogbucket/catalog/current.json"), False),
            (Call("s3:DeleteObject", "arn:aws:s3:::toolfold-catalogbucket/catalog/current.json"), False),
            (Call("s3:ListBucket", "arn:aws:s3:::toolfold-catalogbucket", {"s3:prefix": ("private/",)}), False),
            (Call("dynamodb:Scan", "arn:aws:dynamodb:us-east-1:123456789012:table/toolfold-cachetable"), False),
            (Call("dynamodb:GetItem", "arn:aws:dynamodb:us-east-1:123456789012:table/another"), False),
            (Call("s3:PutObject", "arn:aws:s3:::toolfold-offloadbucket/elsewhere/a"), False),
            (Call("secretsmanager:GetSecretValue", SECRET), True),
            (Call("secretsmanager:GetSecretValue", f"{SECRET}2"), False),
            (Call("secretsmanager:PutSecretValue", SECRET), False),
            (Call("kms:Decrypt", KMS_KEY), False),
            (Call("kms:Decrypt", KMS_KEY, {"kms:ViaService": ("secretsmanager.us-east-1.amazonaws.com",)}), True),
            (Call("kms:Decrypt", KMS_KEY, {"kms:ViaService": ("s3.us-east-1.amazonaws.com",)}), False),
            (Call("kms:Encrypt", KMS_KEY, {"kms:ViaService": ("secretsmanager.us-east-1.amazonaws.com",)}), False),
            (Call("sts:AssumeRole", "arn:aws:iam::123456789012:role/admin"), False),
        ],
        ids=str,
    )
    def test_its_role_allows_what_it_needs_and_nothing_else(self, asked: Call, expected: bool) -> None:
        resolved = stack.deployed(AlphaVantageApiKeySecret=f"{SECRET}#key", KeySecretKmsKeyArn=KMS_KEY)
        assert is_allowed(resolved.statements(), asked) == expected

    @pytest.mark.parametrize(
        ("asked", "expected"),
        [
            (Call("secretsmanager:GetSecretValue", SECRET), True),
            (Call("secretsmanager:GetSecretValue", f"{SECRET}2"), False),
            (Call("kms:Decrypt", KMS_KEY), False),
            (Call("kms:Decrypt", KMS_KEY, {"kms:ViaService": ("secretsmanager.us-east-1.amazonaws.com",)}), True),
        ],
        ids=str,
    )
    def test_it_reads_the_keys_of_sources(self, asked: Call, expected: bool) -> None:
        resolved = stack.deployed(SourceKeys=SECRET, KeySecretKmsKeyArn=KMS_KEY)
        assert is_allowed(resolved.statements(), asked) == expected

    def test_it_learns_that_nothing_is_published_whatever_s3_compares_the_prefix_with(self) -> None:
        """S3 answers 404 only to those who may list. Which prefix such a request has is not documented."""
        bucket = "arn:aws:s3:::toolfold-catalogbucket"
        for context in ({}, {"s3:prefix": ("catalog/current.json",)}):
            assert is_allowed(stack.deployed().statements(), Call("s3:ListBucket", bucket, context))
