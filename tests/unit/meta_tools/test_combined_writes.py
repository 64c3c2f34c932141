"""Batches, pipes and scripts with tools that write: approvals, and how each is continued."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.exposure import app_of
from toolfold.build.compiler import compile_folder
from toolfold.meta_tools.dispatcher import MetaTools

SOURCE = """
kind: http_api
base_url: https://towns.test
tools:
  - name: report
    summary: Report the rain of a town
    method: POST
    path: /reports/{town}
    parameters: {town: {type: string, description: Name of a town., example: Oslo}}
  - name: remove
    summary: Delete a town and its rain
    method: DELETE
    path: /towns/{town}
    parameters: {town: {type: string, description: Name of a town., example: Oslo}}
"""


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> MetaTools:
    folder: Path = tmp_path_factory.mktemp("towns")
    (folder / "towns").mkdir()
    (folder / "towns" / "source.yaml").write_text(SOURCE)
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


def test_an_unknown_name_of_a_tool_that_writes_leads_to_the_executor_for_it(tools: MetaTools) -> None:
    for name in ("TOOL_BATCH", "TOOL_PIPE"):
        key = "calls" if name == "TOOL_BATCH" else "steps"
        structured = tools.call(name, {key: [{"tool_name": "report", "arguments": {"town": "Oslo"}}]}).structured
        error = structured["error"] if name == "TOOL_PIPE" else structured["results"][0]["error"]
        assert list(error["next_call"]) == ["TOOL_CALL_WRITE"], name
