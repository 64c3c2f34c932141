"""The official conformance suite, scenario by scenario, against ``toolfold serve`` and against the built package.

The built package runs in Lambda's runtime client behind what API Gateway does to requests (``make clients-built``).
"""

import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.conformance.helpers import (
    OF_LISTS,
    SCENARIOS,
    SKILL_SCENARIOS,
    ScenarioResult,
    expected_failures,
    run_scenario,
)
from tests.support.built_function import NEEDS_BUILD

pytestmark = pytest.mark.clients


@pytest.fixture(params=["url", pytest.param("built_url", marks=[pytest.mark.e2e, NEEDS_BUILD])], ids=["serve", "built"])
def server_url(request: pytest.FixtureRequest) -> str:
    """The address of what is judged."""
    return str(request.getfixturevalue(request.param))


@pytest.mark.parametrize(("version", "scenario", "least"), SCENARIOS)
def test_a_scenario_passes_without_a_warning(
    version: str, scenario: str, least: int, server_url: str, environment: Mapping[str, str], empty: Path
) -> None:
    check(run_scenario(server_url, version, scenario, env=environment, cwd=empty), scenario, least)


@pytest.mark.parametrize("mode", ["lazy", "grouped", "direct", "kinds"])
@pytest.mark.parametrize(("version", "scenario", "least"), OF_LISTS)
def test_a_scenario_passes_in_each_mode(
    version: str, scenario: str, least: int, mode: str, url: str, environment: Mapping[str, str], empty: Path
) -> None:
    check(run_scenario(f"{url}/{mode}", version, scenario, env=environment, cwd=empty), scenario, least)


def check(result: ScenarioResult, scenario: str, least: int) -> None:
    """Check that a scenario passed but for the checks that are expected to fail."""
    failures = result.failures()
    wrong = "\n".join(failures)

    assert set(result.ids("FAILURE")) == expected_failures(scenario), wrong
    assert not result.ids("WARNING"), wrong
    # A listed check may fail only because it could not be tried, for want of a fixture, or because empty lists are
    # answered that are not declared.
    allowed = (": Not testable: ", "returned JSON-RPC error -32601", "handles prompts but did not declare prompts")
    assert all(any(reason in one for reason in allowed) for one in failures), wrong
    assert {check["status"] for check in result.checks} <= {"SUCCESS", "FAILURE", "SKIPPED", "INFO"}
    assert len(result.ids("SUCCESS")) >= least, result.stdout
    # The suite's own verdict, which must be about the same checks.
    assert result.summary() == (len(result.ids("SUCCESS")), len(result.ids("FAILURE")), 0)
    assert result.code == 0, result.stdout


@pytest.mark.parametrize(("version", "scenario", "least"), SKILL_SCENARIOS)
def test_a_scenario_of_the_skills_extension_passes_without_a_warning(
    version: str, scenario: str, least: int, skills_url: str, environment: Mapping[str, str], empty: Path
) -> None:
    # Scenarios of extensions belong to no version: --force selects them for one.
    result = run_scenario(skills_url, version, scenario, env=environment, cwd=empty, options=["--force"])

    assert not result.failures(), "\n".join(result.failures())
    assert len(result.ids("SUCCESS")) >= least, result.stdout
    assert result.code == 0, result.stdout


@pytest.mark.e2e
@NEEDS_BUILD
def test_behind_api_gateway_the_origin_is_judged_and_the_host_is_not(built_url: str) -> None:
    """API Gateway finds the function by the host name: a request under another name never arrives."""

    def status(**headers: str) -> int:
        sent = {"content-type": "application/json", "accept": "application/json", **headers}
        request = urllib.request.Request(built_url, b'{"jsonrpc":"2.0","id":1,"method":"ping"}', sent)
        try:
            with urllib.request.urlopen(request) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            error.close()
            return error.code

    assert status() == 200
    assert status(host="evil.example.com") == 200
    assert status(origin="http://evil.example.com") == 403
    assert status(host="evil.example.com", origin="http://evil.example.com") == 403
