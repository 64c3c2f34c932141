"""Patterns of metric filters are read as CloudWatch reads them; every alarm is raised by a fault that is documented."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.support import stack
from tests.support.cloudwatch import CloudWatch, Metric, Span
from tests.support.metric_filters import matcher, read_filtered

OPERATE = Path(__file__).parents[2] / "docs/how-to/operate.md"
TOPIC = "arn:aws:sns:us-east-1:123456789012:alarms"
LINE: dict[str, Any] = {
    "level": "ERROR",
    "message": "catalog is damaged: x",
    "service": "toolfold",
    "ms": 20,
    "a": {"b": 1},
}


@pytest.fixture(scope="module")
def deployed() -> stack.Stack:
    return stack.deployed(AlarmTopicArn=TOPIC)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ('{ $.level = "ERROR" }', True),
        ("{ $.level = ERROR }", True),
        ('{ $.level = "WARNING" }', False),
        ('{ $.level != "WARNING" }', True),
        ('{ $.absent = "x" }', False),
        ('{ $.absent != "x" }', False),
        ("{ $.absent NOT EXISTS }", True),
        ("{ $.level NOT EXISTS }", False),
        ('{ $.message = "catalog *" }', True),
        ('{ $.message = "catalog" }', False),
        ('{ $.message != "catalog *" }', False),
        ('{ ($.level = "ERROR") && ($.message != "defect *") }', True),
        ('{ ($.level = "INFO") || ($.message = "*damaged*") }', True),
        ('{ $.level = "INFO" && ($.ms > 10 || $.ms < 5) }', False),
        ("{ $.ms >= 20 }", True),
        ("{ $.ms > 20 }", False),
        ("{ $.a.b = 1 }", True),
    ],
)
def test_patterns(pattern: str, expected: bool) -> None:
    assert matcher(pattern)(LINE) == expected


@pytest.mark.parametrize("pattern", ["ERROR", '{ $.level ~ "E" }', '[a, b, c="x"]', '{ $.level = "ERROR" } extra'])
def test_other_patterns_are_errors(pattern: str) -> None:
    with pytest.raises(NotImplementedError):
        matcher(pattern)(LINE)


@pytest.mark.parametrize(
    ("message", "counted"),
    [
        ("event not understood: x", 1),
        ("keys of the issuer cannot be read: ConnectionError", 0),
        ("catalog pointer is malformed", 0),
        ("API key cannot be read from AWS: AccessDeniedException", 0),
        ("defect in TOOL_CALL: ZeroDivisionError at x", 0),
    ],
)
def test_error_lines_that_have_an_alarm_of_their_own_are_not_counted_twice(
    deployed: stack.Stack, message: str, counted: int
) -> None:
    cloudwatch, span = CloudWatch(), Span(0, 300)
    filters = deployed.of_type("AWS::Logs::MetricFilter").values()
    for level in ("INFO", "WARNING", "ERROR"):
        read_filtered(cloudwatch, [{"level": level, "message": message, "service": "toolfold"}], filters, 1.0)
    metric = Metric("toolfold", "ErrorLines", frozenset({("service", "toolfold")}))
    assert sum(cloudwatch.statistic(metric, "Sum", 300, span).values()) == counted


def test_every_alarm_is_raised_by_a_fault_of_the_table(deployed: stack.Stack) -> None:
    """tests/integration/test_built_alarms.py causes each fault and evaluates the alarms."""
    table = OPERATE.read_text(encoding="utf-8").partition("| fault | alarms |")[2].partition("\n\n")[0]
    named = set(re.findall(r"`(\w+Alarm)`", table))
    assert named == set(deployed.of_type("AWS::CloudWatch::Alarm")), "add a row to the table of faults and a scenario"
