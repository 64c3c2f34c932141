"""Batches, pipes and scripts with tools that write: approvals, and how each is continued."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.exposure import app_of
from tests.support.threads import run_concurrently
from toolfold.build.compiler import compile_folder
from toolfold.catalog.model import Catalog
from toolfold.meta_tools.dispatcher import MetaTools
from toolfold.meta_tools.tool_script import with_approval

SOURCE = """
kind: http_api
base_url: https://towns.test
tools:
  - name: report
    summary: Report the rain of a town
    method: POST
    path: /reports/{town}
    parameters: {town: {type: string, description: Name of a town., example: Oslo}}
  - name: measure
    summary: Store what a station measured
    method: POST
    path: /measures
    parameters:
      body:
        type: object
        properties: {rain: {type: number}, note: {type: string}, places: {type: array, items: {type: string}}}
  - name: stations
    summary: List the stations of a town
    path: /stations
    parameters:
      town: {type: string, description: Name of a town., example: Oslo}
      filter: {type: object, style: deepObject, properties: {min: {type: integer}, max: {type: integer}}}
  - name: remove
    summary: Delete a town and its rain
    method: DELETE
    path: /towns/{town}
    parameters: {town: {type: string, description: Name of a town., example: Oslo}}
"""

COASTS = """
kind: http_api
base_url: https://towns.test
tools:
  - name: gauge
    summary: Show a gauge
    path: /gauges/{gauge_id}
    parameters:
      gauge_id: {type: integer, description: Number of a gauge., example: 1}
      page[size]: {type: integer, maximum: 50}
  - name: stations
    summary: List the stations of a coast
    path: /stations
    confirm: true
  - name: remove
    summary: Delete a coast
    method: DELETE
    path: /coast
"""


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> MetaTools:
    folder: Path = tmp_path_factory.mktemp("towns")
    for name, source in (("towns", SOURCE), ("coasts", COASTS)):
        (folder / name).mkdir()
        (folder / name / "source.yaml").write_text(source)
    catalog = folder / "catalog.json"
    catalog.write_text(compile_folder(folder, adapters=["http_api"]))
    return app_of(catalog, TOOLFOLD_ALLOWED_HOSTS="towns.test").server.tools


def failure(tools: MetaTools, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return dict(tools.call(name, arguments).structured["error"])


@pytest.mark.parametrize(
    "script",
    [
        "towns.report('Oslo')",
        "towns.towns__report(town='Oslo')",
        "from towns import report\nreport(town='Oslo')",
        "call('towns__report', town='Oslo')",
    ],
)
def test_a_script_requests_the_approval_of_a_call(tools: MetaTools, script: str) -> None:
    pytest.importorskip("pydantic_monty")
    found = failure(tools, "TOOL_SCRIPT", {"script": script})
    assert (found["code"], bool(found["approval_token"])) == ("APPROVAL_REQUIRED", True)
    assert "run the script again with approval_token among the arguments of this call" in found["suggestion"]
    assert found["prompt"] == 'Allow towns__report of Towns with town="Oslo"? It was called by a script.'


def test_a_pipe_is_continued_with_the_approval(tools: MetaTools) -> None:
    step = {"tool_name": "towns__remove", "arguments": {"town": "Oslo"}}
    result = tools.call("TOOL_PIPE", {"steps": [step, {**step, "arguments": {"town": "Bergen"}}]})
    error = result.structured["error"]
    assert (error["code"], bool(result.structured["continue"])) == ("APPROVAL_REQUIRED", True)
    assert error["suggestion"].startswith(
        "Ask the user; if they agree, call TOOL_PIPE with continue and approval_token."
    )
    given = {"continue": result.structured["continue"]}
    through = {"tool_name": "TOOL_PIPE", "arguments": given}
    unused = tools.call("TOOL_CALL", through, reads_only=True).structured["error"]
    assert (unused["code"], unused["next_call"]) == ("WRITE_NOT_ALLOWED", {"TOOL_CALL_WRITE": through})
    codes: list[str] = []
    run_concurrently([lambda: codes.append(failure(tools, "TOOL_PIPE", given)["code"])] * 8)
    assert sorted(codes) == ["APPROVAL_REQUIRED", *["INVALID_ARGUMENTS"] * 7]  # used once: it has calls that write
    refused = failure(tools, "TOOL_PIPE", given)
    assert "was used before" in refused["message"]
    assert refused["suggestion"].startswith("They may have taken effect")


def test_a_pipe_of_tools_that_read_is_continued_where_only_reading_is_allowed(tools: MetaTools) -> None:
    steps = {"steps": [{"tool_name": "coasts__stations"}] * 2}
    first = tools.call("TOOL_CALL", {"tool_name": "TOOL_PIPE", "arguments": steps}, reads_only=True).structured
    assert first["error"]["code"] == "APPROVAL_REQUIRED"
    rest = {"continue": first["continue"]}
    again = tools.call("TOOL_CALL", {"tool_name": "TOOL_PIPE", "arguments": rest}, reads_only=True).structured
    assert again["error"]["code"] == "APPROVAL_REQUIRED"


def test_a_pipe_whose_rest_cannot_be_kept_says_what_to_send(tools: MetaTools) -> None:
    long = {"tool_name": "towns__measure", "arguments": {"body": {"note": "x" * 200_001}}}
    result = tools.call("TOOL_PIPE", {"steps": [{"tool_name": "towns__remove", "arguments": {"town": "Oslo"}}, long]})
    assert (result.structured["error"]["code"], result.structured["continue"]) == ("APPROVAL_REQUIRED", None)
    assert result.structured["error"]["suggestion"].startswith(
        "Ask the user; if they agree, call TOOL_PIPE with the steps from this one on and approval_token; write values "
    )


def test_a_tool_that_writes_needs_approval_in_a_script(catalog: Catalog) -> None:
    read = catalog.get("CPI")
    assert with_approval(read) is read
    assert with_approval(read._replace(effect="write")).needs_approval


def test_an_unknown_name_of_a_tool_that_writes_leads_to_the_executor_for_it(tools: MetaTools) -> None:
    for name in ("TOOL_BATCH", "TOOL_PIPE"):
        key = "calls" if name == "TOOL_BATCH" else "steps"
        structured = tools.call(name, {key: [{"tool_name": "towns__reprt", "arguments": {"town": "Oslo"}}]}).structured
        error = structured["error"] if name == "TOOL_PIPE" else structured["results"][0]["error"]
        assert list(error["next_call"]) == ["TOOL_CALL_WRITE"], name


@pytest.mark.parametrize(
    ("name", "arguments", "meant"),
    [
        ("towns__measure", {"rain": 1.5, "note": "", "places": ["a"]},
         {"body": {"rain": 1.5, "note": "", "places": ["a"]}}),
        ("towns__measure", {"body": {"rain": 1.5}, "note": "x"}, {"body": {"rain": 1.5, "note": "x"}}),
        ("towns__measure", {"body.rain": 1.5}, {"body": {"rain": 1.5}}),
        ("towns__stations", {"town": "Oslo", "filter[min]": 1, "filter[max]": 2},
         {"town": "Oslo", "filter": {"min": 1, "max": 2}}),
        ("towns__measure", {"rain": 1.5, "colour": "red"}, None),
        ("towns__measure", {"colour": "red"}, None),
        ("towns__measure", {"body": {"rain": 1.5}, "rain": 2}, None),
        ("towns__report", {"town": "Oslo", "colour": "red"}, None),
        ("towns__stations", {"town": "Oslo", "colour": "red"}, {"town": "Oslo"}),
        ("coasts__gauge", {"id": 7}, {"gauge_id": 7}),
        ("coasts__gauge", {"gauge": [7, 8]}, {"gauge_id": [7, 8]}),
        ("coasts__gauge", {"id": 7, "page[size]": 90}, {"gauge_id": 7, "page[size]": 50}),
        ("coasts__gauge", {"place": "Oslo"}, None),
        ("coasts__gauge", {"colour": 7}, None),
    ],
)  # fmt: skip
def test_corrected_call_that_changes_data_has_all_values(
    tools: MetaTools, name: str, arguments: dict[str, Any], meant: dict[str, Any] | None
) -> None:
    found = failure(tools, "TOOL_CALL", {"tool_name": name, "arguments": arguments})
    proposed = [one["arguments"] for one in found.get("next_call", {}).values()]
    assert proposed == ([] if meant is None else [meant])


COASTS_LISTED: dict[str, Any] = {"TOOL_LIST": {"source": "coasts"}}
TOWNS_LISTED: dict[str, Any] = {"TOOL_LIST": {"source": "towns"}}


@pytest.mark.parametrize(
    ("meta_tool", "names", "closest", "next_call"),
    [
        ("TOOL_GET", ("coasts", "Coasts", "coasts__swim"), None, COASTS_LISTED),
        # A tool of another source than the named one is suggested and not taken.
        ("TOOL_GET", ("coasts__report", "coasts.Report", "mcp__coasts__report", "mcp__x__coasts__report"), None,
         {"TOOL_GET": {"tool_name": "towns__report"}}),
        # The name of the source is not a likeness.
        ("TOOL_CALL", ("towns__list_stations", "towns__station"), ["towns__stations"], None),
        ("TOOL_CALL", ("coasts__station",), ["coasts__stations"], None),
        ("TOOL_CALL", ("towns__gauges", "towns__xqvq"), [], TOWNS_LISTED),
        # The caller chooses among tools that several sources call the same.
        *(("TOOL_CALL", (name,), [f"coasts__{name}", f"towns__{name}"],
           {"TOOL_GET": {"tool_name": [f"coasts__{name}", f"towns__{name}"]}}) for name in ("stations", "remove")),
        ("TOOL_GET", ("stations",), ["coasts__stations", "towns__stations"], None),
    ],
)  # fmt: skip
def test_unknown_name_leads_to_tools_of_the_source_that_it_names(
    tools: MetaTools,
    meta_tool: str,
    names: tuple[str, ...],
    closest: list[str] | None,
    next_call: dict[str, Any] | None,
) -> None:
    for name in names:
        found = tools.call(meta_tool, {"tool_name": name}).structured
        error = found["error"] if meta_tool == "TOOL_CALL" else found["tools"][0]["error"]
        assert closest is None or sorted(error["closest"][: max(1, len(closest))]) == closest, name
        assert next_call is None or error["next_call"] == next_call, name


def test_a_call_is_not_proposed_to_another_source_than_the_named_one(tools: MetaTools) -> None:
    refused = failure(tools, "TOOL_CALL", {"tool_name": "coasts__report", "arguments": {"town": "Oslo"}})
    assert refused["next_call"] == COASTS_LISTED


def test_the_name_that_a_source_has_for_its_tool_is_taken_where_one_has_it(tools: MetaTools) -> None:
    for name in ("report", "Report", "functions.report", "report()"):
        assert tools.call("TOOL_GET", {"tool_name": name}).structured["tools"][0]["name"] == "towns__report"
    assert tools.call("TOOL_GET", {"tool_name": "gauge"}).structured["tools"][0]["name"] == "coasts__gauge"


@pytest.mark.parametrize(
    ("listed", "executor", "first"),
    [
        ({"source": "towns", "limit": 2, "detail": "full"}, "TOOL_CALL_WRITE", 2),
        ({"source": "coasts", "limit": 2, "detail": "full"}, "TOOL_CALL", 2),
        ({"source": "coasts", "limit": 3, "detail": "full"}, "TOOL_CALL or TOOL_CALL_WRITE", 3),
    ],
)
def test_step_after_a_list_names_what_calls_its_tools(
    tools: MetaTools, listed: dict[str, Any], executor: str, first: int
) -> None:
    next_step = tools.call("TOOL_LIST", listed).structured["next"]
    assert next_step.startswith(f"Next: {executor} one of the first {first}")
