"""The limits per caller in template.yaml: off unless a parameter sets them, and reported when they cannot be shared."""

from __future__ import annotations

from tests.support import stack
from toolfold.settings import Settings
from toolfold.telemetry import DEGRADATIONS


def test_limits_are_off_by_default() -> None:
    settings = Settings.from_environment(stack.deployed().variables())
    assert settings.calls_per_minute is None
    assert settings.calls_per_day is None
    assert settings.anyone_may_use_the_key is False


def test_parameters_set_the_limits_in_the_table_of_the_stack() -> None:
    settings = Settings.from_environment(stack.deployed(CallsPerMinute="60", CallsPerDay="500").variables())
    assert (settings.calls_per_minute, settings.calls_per_day) == (60, 500)
    assert settings.cache.startswith("dynamodb://")
    assert settings.key_salt  # callers of two stacks have different hashes


def test_every_degradation_has_an_alarm() -> None:
    alarms = stack.deployed(AlarmTopicArn="arn:aws:sns:us-east-1:123456789012:alarms").of_type("AWS::CloudWatch::Alarm")
    codes = {
        dimension["Value"]
        for alarm in alarms.values()
        if alarm.get("MetricName") == "Failures"
        for dimension in alarm["Dimensions"]
        if dimension["Name"] == "code"
    }
    assert set(DEGRADATIONS) <= codes
