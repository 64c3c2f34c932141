"""The tables say what was measured, and a contender that answers wrongly has no times."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.benchmarks.cold import tables
from tests.benchmarks.cold.contenders import AWSLABS, EMBEDDED, FASTMCP, ROOT, contenders
from tests.benchmarks.cold.events import GET, HELD, LISTING, METHODS, SEARCH, WrongAnswer, asked
from tests.benchmarks.cold.packages import COMPILED, PLAIN
from tests.benchmarks.cold.targets import targets


@pytest.fixture
def results() -> dict[str, Any]:
    """A run in which everything took 10 ms, but what AWSLABS, FASTMCP and a call do."""
    names = [one.name for one in contenders()]
    took = dict.fromkeys(names, 10.0) | {AWSLABS: 20.0, FASTMCP: 110.0}
    start = {name: {"init": ms / 2, LISTING: ms, HELD: 2 * ms, SEARCH: ms, "memory": 20.0} for name, ms in took.items()}
    return {
        "toolfold": "1",
        "python": "3.13.0",
        "awslambdaric": "4",
        "machine": {"processor": "a processor", "cores": 2, "system": "Linux"},
        "tools": 129,
        "contenders": [
            {"name": one.name, "title": one.title, "short": one.short, "kind": one.kind, "package": one.package}
            for one in contenders()
        ],
        "cold": {variant: {name: [start[name]] * 5 for name in names} for variant in (COMPILED, PLAIN)},
        "warm": {name: {"times": {method: [took[name]] * 100 for method in METHODS}, "memory": 30.0} for name in names},
        "handler": {method: [0.2] * 100 for method in METHODS},
        "sizes": {one.package: {"files": 3, "unzipped": 2_000_000, "zipped": 1_000_000} for one in contenders()},
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
    of_fastmcp = found["warm `TOOL_GET` / FastMCP + Mangum"]
    assert (of_the_floor.measured, of_the_floor.is_met) == (1, True)
    assert (of_awslabs.measured, of_awslabs.is_met) == (0.5, False)
    assert (round(of_fastmcp.measured, 3), of_fastmcp.is_met) == (0.091, True)

    results["warm"][EMBEDDED]["times"][GET] = [50.0] * 100
    assert not next(one for one in targets(results) if one.title == of_fastmcp.title).is_met


def test_every_contender_has_its_row_and_a_missed_target_is_shown(results: dict[str, Any]) -> None:
    page = tables.page(results)

    for contender in contenders():
        assert page.count(f"| {contender.title} |") == 4
    assert "| ≤ 0.4× | 0.5× | **missed** |" in page
    assert "| an empty handler | 5 (5–5) | 10 (10–10) | 1.0 | – | – | 10 (10–10) |" in page


def test_who_answers_wrongly_fails_the_run() -> None:
    quote = asked()[HELD]
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
        with pytest.raises(WrongAnswer):
            quote.check(0, wrong)


def test_the_peers_that_are_measured_are_those_that_are_compared() -> None:
    """In both comparisons every package has one version."""

    def versions(name: str) -> set[str]:
        return set(re.findall(r"^([a-z0-9._-]+==[^ ;\\]+)", (ROOT / name).read_text(), re.MULTILINE))

    compared = versions("requirements/peers.txt")
    for contender in contenders():
        if contender.kind == "peer":
            measured = versions(str(contender.requirements.relative_to(ROOT)))
            assert measured
            assert measured <= compared, contender.title
