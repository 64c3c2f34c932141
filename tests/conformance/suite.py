"""The protocol's official conformance suite: the scenarios that apply to toolfold, and how to run one."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.conformance.helpers import CONFORMANCE, FOLDER, package, run

EXPECTED_FAILURES = FOLDER / "expected-failures.yml"

# Version, scenario, and number of passed checks: fewer mean that some are skipped.
SCENARIOS = [
    ("2025-11-25", "server-initialize", 2),
    ("2025-11-25", "ping", 2),
    ("2025-11-25", "tools-list", 3),
    ("2025-11-25", "server-session-lifecycle", 0),  # not applicable without sessions: checks nothing
    ("2025-11-25", "dns-rebinding-protection", 2),
    ("2026-07-28", "server-stateless", 20),
    ("2026-07-28", "tools-list", 4),
    ("2026-07-28", "caching", 7),
    ("2026-07-28", "http-header-validation", 14),
    ("2026-07-28", "http-custom-header-server-validation", 1),
    ("2026-07-28", "dns-rebinding-protection", 2),
]

OF_LISTS = [one for one in SCENARIOS if one[1] in ("server-initialize", "tools-list", "server-stateless", "caching")]
"""Those whose answers differ between the modes."""

# Of the skills extension (SEP-2640), against a catalog with skills, in each version.
SKILL_SCENARIOS = [
    (version, f"sep-2640-skills-{name}", least)
    for version, counts in (("2025-11-25", (29, 5, 6)), ("2026-07-28", (30, 5, 6)))
    for name, least in zip(("enumeration", "manifest", "directory"), counts, strict=True)
]


@dataclass(frozen=True, slots=True)
class ScenarioResult:
    """Result of a scenario: ``checks`` as the suite recorded them, its output, and its exit code."""

    checks: Sequence[Mapping[str, Any]]
    stdout: str
    stderr: str
    code: int

    def ids(self, status: str) -> list[str]:
        """Return the checks with a status: SUCCESS, FAILURE, WARNING, SKIPPED or INFO."""
        return [check["id"] for check in self.checks if check["status"] == status]

    def summary(self) -> tuple[int, int, int]:
        """Return the numbers of passed, failed and warned checks, as the suite counts them."""
        found = re.search(r"Passed: (\d+)/\d+, (\d+) failed, (\d+) warnings", self.stdout)
        assert found, self.stdout + self.stderr
        passed, failed, warned = map(int, found.groups())
        return passed, failed, warned

    def failures(self) -> list[str]:
        """Return the suite's message of each check that fails or warns."""
        return [f"{c['id']}: {c.get('errorMessage')}" for c in self.checks if c["status"] in ("FAILURE", "WARNING")]


def run_scenario(
    url: str, version: str, scenario: str, *, env: Mapping[str, str], cwd: Path, options: Sequence[str] = ()
) -> ScenarioResult:
    """Run a scenario against the server at ``url``; its results stay in the empty folder ``cwd``.

    ``options`` are further options of the suite.

    Raises:
        AssertionError: The suite is not installed, or wrote no results.
    """
    results = cwd / "results"
    given = ["--url", url, "--scenario", scenario, "--spec-version", version, "--output-dir", str(results)]
    command = [*package(CONFORMANCE), "server", *given, *options, "--expected-failures", str(EXPECTED_FAILURES)]
    done = run(command, env=env, cwd=cwd)
    written = list(results.glob("*/checks.json"))
    assert len(written) == 1, done.stdout + done.stderr
    return ScenarioResult(json.loads(written[0].read_text()), done.stdout, done.stderr, done.returncode)


def expected_failures(scenario: str) -> set[str]:
    """Return the checks of a scenario that need something which only a test fixture has."""
    listed = yaml.safe_load(EXPECTED_FAILURES.read_text())["server"]
    return {check for name, _, check in (entry.partition(":") for entry in listed) if name == scenario}
