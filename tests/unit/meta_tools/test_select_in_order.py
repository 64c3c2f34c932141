"""Steps of ``select`` apply in the order written, over whole calls: expectations are computed from the raw answers."""

import itertools
from collections.abc import Callable
from typing import Any

import pytest

from benchmarks.agent.client import Answer
from benchmarks.agent.journey import proposed_call
from benchmarks.agent.raw_data import RawData
from tests.support.meta_tools import call
from toolfold.meta_tools.dispatcher import MetaTools
from toolfold.mock_api.server import MockApi

Rows = list[dict[str, Any]]
RSI = {"symbol": "IBM", "interval": "daily", "time_period": "14", "series_type": "close"}
IBM = {"symbol": "IBM"}


def _rsi(data: RawData) -> Rows:
    return data.rows("RSI", **RSI)


def _quarters(data: RawData) -> Rows:
    return data.lists("EARNINGS", **IBM)["quarterlyEarnings"]


def _monthly(data: RawData) -> Rows:
    return data.rows("TIME_SERIES_MONTHLY", **IBM)


def _yields(data: RawData, maturity: str) -> Rows:
    return data.rows("TREASURY_YIELD", interval="monthly", maturity=maturity)


def _last_of_years(rows: Rows) -> dict[str, float]:
    """Return the last close of each year, newest year first."""
    return {row["date"][:4]: row["close"] for row in reversed(rows)}


def _changes_by_year(data: RawData) -> list[Any]:
    closes = list(_last_of_years(_monthly(data)).values())
    return [closes[-1] - closes[-2]]


CASES: list[tuple[str, dict[str, Any], str, Callable[[RawData], list[Any]]]] = [
    ("RSI", RSI, "last 30; RSI > 50; count", lambda data: [sum(row["RSI"] > 50 for row in _rsi(data)[:30])]),
    # A number of rows among the arguments comes before a function of all of them.
    ("RSI", {**RSI, "limit": 4}, "sum(RSI)", lambda data: [sum(row["RSI"] for row in _rsi(data)[:4])]),
    ("RSI", {**RSI, "limit": 4}, "last 9; sum(RSI)", lambda data: [sum(row["RSI"] for row in _rsi(data)[:4])]),
    ("RSI", {**RSI, "limit": 4}, "last 9; count", lambda _: [4]),
    ("RSI", RSI, "RSI > 50; last 3; RSI", lambda data: [row["RSI"] for row in _rsi(data) if row["RSI"] > 50][:3]),
    ("EARNINGS", IBM, "quarterlyEarnings; last 8; surprise > 0; count",
     lambda data: [sum((row["surprise"] or 0) > 0 for row in _quarters(data)[:8])]),
    ("TREASURY_YIELD", {"interval": "monthly", "maturity": ["10year", "2year"]}, "10year - 2year as spread; last 1",
     lambda data: [_yields(data, "10year")[0]["value"] - _yields(data, "2year")[0]["value"]]),
    ("TIME_SERIES_MONTHLY", IBM, "change(close) by year; last 1", _changes_by_year),
    ("TIME_SERIES_DAILY", IBM, "pct_change(close); last 5",
     lambda data: [100 * (new["close"] / old["close"] - 1)
                   for rows in [data.rows("TIME_SERIES_DAILY", **IBM)]
                   for new, old in itertools.pairwise(rows[:6])]),
    ("TIME_SERIES_WEEKLY", IBM, "change(close); last 1",
     lambda data: [rows[0]["close"] - rows[1]["close"] for rows in [data.rows("TIME_SERIES_WEEKLY", **IBM)]]),
]  # fmt: skip


def answered(tools: MetaTools, name: str, arguments: dict[str, Any], select: str) -> dict[str, Any]:
    """Return the result of a call, or of the call that its error proposes."""
    result = call(tools, name, arguments, select=select)
    if result.is_error:
        sent = {"tool_name": name, "arguments": arguments, "select": select}
        proposal = proposed_call("TOOL_CALL", sent, Answer(result.text, result.structured, True))
        assert proposal is not None, result.text
        result = tools.call(*proposal)
    assert not result.is_error, result.text
    return dict(result.structured["result"])


@pytest.mark.parametrize(("name", "arguments", "select", "expected"), CASES, ids=[case[2] for case in CASES])
def test_steps_apply_in_the_order_written(
    tools: MetaTools,
    mock_api: MockApi,
    name: str,
    arguments: dict[str, Any],
    select: str,
    expected: Callable[[RawData], list[Any]],
) -> None:
    found = answered(tools, name, arguments, select)
    rows = found["rows"] if "rows" in found else [list(found.values())]
    assert [row[-1] for row in rows] == pytest.approx(expected(RawData(mock_api.url)))


def test_a_step_on_one_table_leaves_the_others_alone(tools: MetaTools, mock_api: MockApi) -> None:
    raw = RawData(mock_api.url).lists("ETF_PROFILE", symbol="QQQ")
    found = answered(tools, "ETF_PROFILE", {"symbol": "QQQ"}, "sectors; holdings: top 5 by weight")
    found = found["tables"]
    assert len(found["sectors"]["rows"]) == len(raw["sectors"])
    largest = sorted((row["weight"] for row in raw["holdings"]), reverse=True)[:5]
    table = found["holdings"]
    assert [row[table["columns"].index("weight")] for row in table["rows"]] == largest
