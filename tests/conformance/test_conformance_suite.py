"""The protocol's official conformance suite, scenario by scenario, against ``toolfold serve``."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from tests.conformance.toolbox import CONFORMANCE, FOLDER, package, run

pytestmark = pytest.mark.clients

EXPECTED_FAILURES = FOLDER / "expected-failures.yml"

# Version, scenario, and how many checks passed when it was written: fewer means that some are skipped unnoticed.
SCENARIOS = [
    ("2025-11-25", "server-initialize", 2),
    ("2025-11-25", "ping", 2),
    ("2025-11-25", "tools-list", 3),
    ("2025-11-25", "server-session-lifecycle", 0),  # not applicable without sessions: says so, and checks nothing
    ("2025-11-25", "dns-rebinding-protection", 2),
    ("2026-07-28", "server-stateless", 21),
    ("2026-07-28", "tools-list", 4),
    ("2026-07-28", "caching", 4),
    ("2026-07-28", "http-header-validation", 14),
    ("2026-07-28", "http-custom-header-server-validation", 1),
    ("2026-07-28", "dns-rebinding-protection", 2),
]


def expected_failures(scenario: str) -> set[str]:
    """The checks of a scenario that need something which only a test fixture has."""
    listed = yaml.safe_load(EXPECTED_FAILURES.read_text())["server"]
    return {check for name, _, check in (entry.partition(":") for entry in listed) if name == scenario}


@pytest.mark.parametrize(("version", "scenario", "least"), SCENARIOS)
def test_a_scenario_passes_without_a_warning(
    version: str, scenario: str, least: int, url: str, environment: Mapping[str, str], empty: Path
) -> None:
    results = empty / "results"
    options = ["--url", url, "--scenario", scenario, "--spec-version", version, "--output-dir", str(results)]
    command = [*package(CONFORMANCE), "server", *options, "--expected-failures", str(EXPECTED_FAILURES)]
    done = run(command, env=environment, cwd=empty)

    (written,) = results.glob("*/checks.json")
    checks = json.loads(written.read_text())
    by_status: dict[str, list[str]] = {}
    for check in checks:
        by_status.setdefault(check["status"], []).append(check["id"])
    told = [f"{c['id']}: {c['errorMessage']}" for c in checks if c["status"] in ("FAILURE", "WARNING")]
    wrong = "\n".join(told)

    assert set(by_status.get("FAILURE", ())) == expected_failures(scenario), wrong
    assert "WARNING" not in by_status, wrong
    # A listed check may fail only because it could not be tried: for want of a fixture, or of a capability that is not
    # declared.
    assert all(": Not testable: " in one or "returned JSON-RPC error -32601" in one for one in told), wrong
    assert set(by_status) <= {"SUCCESS", "FAILURE", "SKIPPED", "INFO"}
    assert len(by_status.get("SUCCESS", ())) >= least, done.stdout
    # The suite's own verdict, which must be about the same checks.
    summary = re.search(r"Passed: (\d+)/\d+, (\d+) failed, (\d+) warnings", done.stdout)
    assert summary, done.stdout + done.stderr
    counts = [len(by_status.get(status, ())) for status in ("SUCCESS", "FAILURE")]
    assert [int(number) for number in summary.groups()] == [*counts, 0]
    assert done.returncode == 0, done.stdout
