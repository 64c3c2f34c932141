"""Scan templates, the Terraform module and the Dockerfile with checkov; ``scripts/accepted_findings.txt`` is intended.

``make scan`` runs it in an environment that has checkov, for the translated template and the others::

    python -m scripts.scan_template .aws-sam/translated.json deploy/waf.yaml deploy/terraform/main.tf Dockerfile

It fails for a finding that is not accepted, and for an accepted one that is not found any more.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

ACCEPTED = Path(__file__).with_name("accepted_findings.txt")

_TIMEOUT_S = 300
_FRAMEWORKS = {".tf": "terraform", "": "dockerfile"}

Finding = tuple[str, str]
"""The check, and the logical ID of the resource."""


class ScanError(Exception):
    """The scanner did not run, or a file has another form."""


def parse_accepted(text: str) -> dict[Finding, str]:
    """Return check and resource → reason.

    Raises:
        ScanError: A line has not three fields, or occurs twice.
    """
    accepted: dict[Finding, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        fields = [field.strip() for field in line.split(" | ", 2)]
        if len(fields) != 3 or not all(fields):
            raise ScanError(f"line {number}: expected CHECK | RESOURCE | REASON")
        check, resource, reason = fields
        if (check, resource) in accepted:
            raise ScanError(f"line {number}: {check} of {resource} is accepted twice")
        accepted[check, resource] = reason
    return accepted


def parse_report(report: Any) -> set[Finding]:
    """Return the findings of a report of checkov.

    Raises:
        ScanError: No resource was scanned, or a template could not be read.
    """
    reports = report if isinstance(report, list) else [report]
    found: set[Finding] = set()
    for one in reports:
        if "results" not in one and one.get("parsing_errors") == 0:
            continue  # a template that has only types without checks
        if "results" not in one or one["summary"]["parsing_errors"] or not one["summary"]["resource_count"]:
            raise ScanError("checkov read no resources of a template")
        # "AWS::S3::Bucket.CatalogBucket". SAM adds a hash to the names of layers.
        for check in one["results"]["failed_checks"]:
            resource = check["resource"].rpartition(".")[2]
            found.add((check["check_id"], re.sub(r"(Layer)[0-9a-f]{10}$", r"\1", resource)))
    return found


def compare(found: Iterable[Finding], accepted: Mapping[Finding, str]) -> list[str]:
    """Return a line for each finding that is not accepted, and for each accepted one that is not found."""
    found = set(found)
    new = [f"not accepted: {check} of {resource}" for check, resource in sorted(found - accepted.keys())]
    return new + [f"no longer found: {check} of {resource}" for check, resource in sorted(accepted.keys() - found)]


def scan(templates: Iterable[Path]) -> set[Finding]:
    """Run checkov over templates, without network.

    Raises:
        ScanError: It failed.
    """
    found: set[Finding] = set()
    # Beside the interpreter that runs this script, so that nothing else of the same name on PATH is run.
    program = Path(sys.executable).with_name("checkov")
    for template in templates:
        framework = _FRAMEWORKS.get(template.suffix, "cloudformation")
        command = [program, "--file", template, "--framework", framework, "--skip-download", "--compact"]
        run = subprocess.run(
            [*command, "--output", "json"], check=False, capture_output=True, text=True, timeout=_TIMEOUT_S
        )
        try:
            found |= parse_report(json.loads(run.stdout))
        except (ValueError, KeyError, TypeError) as error:
            raise ScanError(
                f"checkov of {template} failed with status {run.returncode}: {run.stderr[-300:]}"
            ) from error
    return found


def main(argv: list[str] | None = None) -> int:
    """Print what differs from the accepted findings; return 1 when there is anything."""
    parser = argparse.ArgumentParser(description="Scan templates with checkov.")
    parser.add_argument("templates", nargs="+", type=Path)
    given = parser.parse_args(argv)
    try:
        accepted = parse_accepted(ACCEPTED.read_text(encoding="utf-8"))
        different = compare(scan(given.templates), accepted)
    except (ScanError, OSError, subprocess.TimeoutExpired) as error:
        print(f"scan failed: {error}", file=sys.stderr)
        return 1
    for line in different:
        print(line)
    print(f"{len(accepted)} findings are accepted, each with a reason: {ACCEPTED.name}.")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
