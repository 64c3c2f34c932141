"""The tables show the figures of a run, and a wrong response ends the run."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from benchmarks.cold import tables
from benchmarks.cold.events import CACHED, GET, LISTING, METHODS, SEARCH, WrongResponse, request_sets
from benchmarks.cold.servers import AWSLABS, COMPILED, FASTMCP, PLAIN, measured_servers
from benchmarks.cold.tables import targets
from benchmarks.harness import ROOT


@pytest.fixture
def results() -> dict[str, Any]:
    """Return a run in which everything takes 10 ms, except AWSLABS, FASTMCP and calls."""
    names = [one.name for one in measured_servers()]
    took = dict.fromkeys(names, 10.0) | {AWSLABS: 20.0, FASTMCP: 110.0}
    start = {
        name: {"init": ms / 2, LISTING: ms, CACHED: 2 * ms, SEARCH: ms, "memory": 20.0} for name, ms in took.items()
    }
    return {
        "toolfold": "1",
        "python": "3.13.0",
        "awslambdaric": "4",
        "machine": {"processor": "a processor", "cores": 2, "system": "Linux"},
        "tools": 129,
        "servers": [
            {"name": one.name, "title": one.title, "short": one.short, "kind": one.kind, "package": one.package}
            for one in measured_servers()
        ],
        "cold": {variant: {name: [start[name]] * 5 for name in names} for variant in (COMPILED, PLAIN)},
        "warm": {name: {"times": {method: [took[name]] * 100 for method in METHODS}, "memory": 30.0} for name in names},
        "handler": {method: [0.2] * 100 for method in METHODS},
        "sizes": {one.package: {"files": 3, "unzipped": 2_000_000, "zipped": 1_000_000} for one in measured_servers()},
        "growth": [
            {
                "tools": 129,
                "place": place,
                "starts": [
                    dict.fromkeys(("listed", "first search", "search", "first get", "get", "memory"), 5.0),
                ],
            }
            for place in ("file", "S3")
        ],
    }


def test_a_target_is_met_by_the_ratio_of_the_medians(results: dict[str, Any]) -> None:
    found = {target.title: target for target in targets(results)}

    of_the_floor = found["first `tools/list`, catalog in the package / empty handler"]
    of_awslabs = found["first `tools/list`, catalog in the package / awslabs.mcp-lambda-handler"]
    alone = found["`TOOL_GET`, handler alone"]
    assert (of_the_floor.measured, of_the_floor.is_met) == (1, True)
    assert (of_awslabs.measured, of_awslabs.is_met) == (0.5, False)
    assert alone.is_met

    results["handler"][GET] = [50.0] * 100
    assert not next(one for one in targets(results) if one.title == alone.title).is_met


def test_every_contender_has_its_row_and_a_missed_target_is_shown(results: dict[str, Any]) -> None:
    page = tables.page(results)

    for server in measured_servers():
        assert page.count(f"| {server.title} |") == 4
    assert "| ≤ 0.4× | 0.5× | **missed** |" in page
    assert "| an empty handler | 5 (5–5) | 10 (10–10) | 1.0 | – | – | 10 (10–10) |" in page


def test_a_wrong_response_fails_the_run() -> None:
    quote = request_sets()[CACHED]
    right = {"content": [{"type": "text", "text": "symbol: IBM\nprice: 1"}]}

    def answered(result: Any, status: int = 200) -> dict[str, Any]:
        return {"statusCode": status, "body": json.dumps({"jsonrpc": "2.0", "id": 1, "result": result})}

    quote.check(0, answered(right))
    for wrong in (
        answered({**right, "isError": True}),
        answered(right, 500),
        answered({"content": [{"text": ""}]}),
        {},
    ):
        with pytest.raises(WrongResponse):
            quote.check(0, wrong)


def test_measured_and_compared_peers_have_the_same_versions() -> None:
    """Check that each package has one version in both comparisons."""

    def versions(name: str) -> set[str]:
        return set(re.findall(r"^([a-z0-9._-]+==[^ ;\\]+)", (ROOT / name).read_text(), re.MULTILINE))

    compared = versions("requirements/peers.txt")
    for server in measured_servers():
        if server.kind == "peer":
            measured = versions(str(server.requirements.relative_to(ROOT)))
            assert measured
            assert measured <= compared, server.title
