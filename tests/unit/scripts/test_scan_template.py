"""The scan of the template fails for a new finding, and for an accepted one that is gone."""

from __future__ import annotations

from typing import Any

import pytest

from scripts.scan_template import ACCEPTED, ScanError, compare, parse_accepted, parse_report


def report(*failed: tuple[str, str], count: int = 9, errors: int = 0) -> dict[str, Any]:
    checks = [{"check_id": check, "resource": f"AWS::X::Y.{resource}"} for check, resource in failed]
    return {"results": {"failed_checks": checks}, "summary": {"resource_count": count, "parsing_errors": errors}}


def test_each_accepted_finding_has_a_reason() -> None:
    accepted = parse_accepted(ACCEPTED.read_text())
    assert accepted
    assert all(len(reason) > 30 and reason.endswith(".") for reason in accepted.values())


@pytest.mark.parametrize(
    ("found", "lines"),
    [
        ([("A", "Bucket")], []),
        ([("A", "Bucket"), ("B", "Bucket")], ["not accepted: B of Bucket"]),
        ([("A", "Other")], ["not accepted: A of Other", "no longer found: A of Bucket"]),
        ([], ["no longer found: A of Bucket"]),
    ],
)
def test_the_set_of_findings_is_exact(found: list[tuple[str, str]], lines: list[str]) -> None:
    assert compare(parse_report(report(*found)), {("A", "Bucket"): "reason"}) == lines


def test_the_hash_in_the_name_of_a_layer_does_not_count() -> None:
    assert parse_report(report(("A", "CoreLayer5c2d537d89"))) == {("A", "CoreLayer")}


@pytest.mark.parametrize("wrong", [report(count=0), report(errors=1), {"passed": 0, "resource_count": 0}, [{}]])
def test_a_scan_of_nothing_is_no_success(wrong: Any) -> None:
    with pytest.raises(ScanError):
        parse_report(wrong)


def test_a_template_whose_types_have_no_checks_has_no_findings() -> None:
    assert parse_report({"passed": 0, "failed": 0, "parsing_errors": 0, "resource_count": 0}) == set()


@pytest.mark.parametrize("text", ["A | Bucket", "A | Bucket | ", "A | B | why\nA | B | why"])
def test_an_accepted_finding_needs_three_fields_and_occurs_once(text: str) -> None:
    with pytest.raises(ScanError, match="line"):
        parse_accepted(text)
