"""Calls as a model may write them before it has read anything: see :mod:`benchmarks.agent.misuse`.

``probes.yaml`` has the calls. Here is what an answer must hold, computed from the raw data.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import yaml

from benchmarks.agent.raw_data import RawData, Row, mean, within

Area = Literal["TOOL_LIST", "TOOL_GET", "TOOL_CALL", "select"]
Expected = Callable[[RawData], list[Any]]
Rows = list[Row]


@dataclass(frozen=True)
class Probe:
    """A call of a meta-tool.

    Attributes:
        area: what the probe is about.
        name: the tool that the client calls.
        arguments: of that call.
        expected: the values that an answer must hold, computed from the raw data; None: any answer that is not empty.
        of_all: the same of the whole series, where a tool returns a part of it by default.
        is_natural: whether the guess has one meaning, so that it counts for the share of guesses that are accepted.
    """

    area: Area
    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    expected: Expected | None = None
    of_all: Expected | None = None
    is_natural: bool = True

    def __str__(self) -> str:
        shown = self.arguments.get("select") if self.area == "select" else None
        return f"{self.name} {shown if shown is not None else dict(self.arguments)}"[:160]


def _of_2020(data: RawData) -> list[Any]:
    return [row["value"] for row in data.rows("UNEMPLOYMENT") if row["date"].startswith("2020")]


def _paid(data: RawData) -> list[Any]:
    rows = data.rows("DIVIDENDS", symbol="IBM")
    return [row["amount"] for row in rows if row["ex_dividend_date"].startswith("2024")]


def _holdings(data: RawData) -> Rows:
    return sorted(data.lists("ETF_PROFILE", symbol="QQQ")["holdings"], key=lambda row: -row["weight"])


def _marks(data: RawData) -> list[Any]:
    calls = [
        row
        for row in data.rows("REALTIME_OPTIONS", symbol="IBM")
        if (row["type"], row["expiration"]) == ("call", "2026-02-20")
    ]
    return [row["mark"] for row in calls if row["strike"] in (300, 305)]


_RSI = {"symbol": "MSFT", "interval": "daily", "time_period": "14", "series_type": "close"}
_RATIO = {"symbol": "MSFT", "date": "2025-06-16"}
_EXPECTED: Mapping[str, Expected] = {
    "price": lambda data: [data.record("GLOBAL_QUOTE", symbol="MSFT")["price"]],
    "close": lambda data: [data.rows("TIME_SERIES_DAILY", symbol="MSFT")[0]["close"]],
    "rsi": lambda data: [data.rows("RSI", **_RSI)[0]["RSI"]],
    "ratio": lambda data: [float(data.record("HISTORICAL_PUT_CALL_RATIO", **_RATIO)["put_call_ratio_full_chain"])],
    "yield": lambda data: [data.rows("TREASURY_YIELD", interval="monthly", maturity="10year")[0]["value"]],
    "holdings": lambda data: [row["symbol"] for row in _holdings(data)[:5]],
    "expense ratio": lambda data: [data.record("ETF_PROFILE", symbol="QQQ")["net_expense_ratio"]],
    "gainers": lambda data: [row["ticker"] for row in data.lists("TOP_GAINERS_LOSERS")["top_gainers"][:3]],
    "revenue": lambda data: [data.lists("INCOME_STATEMENT", symbol="IBM")["annualReports"][0]["totalRevenue"]],
    "price of IBM": lambda data: [data.record("GLOBAL_QUOTE", symbol="IBM")["price"]],
    "marks": _marks,
    "titles": lambda data: [row["title"] for row in data.rows("NEWS_SENTIMENT", tickers="AAPL")[:3]],
    "rates": lambda data: [row["value"] for row in data.rows("UNEMPLOYMENT")[:12]],
    "rates in 2020": _of_2020,
    "mean in 2020": lambda data: [mean(_of_2020(data))],
    "paid": _paid,
    "sum paid": lambda data: [sum(_paid(data))],
    "status": lambda data: [row["current_status"] for row in data.rows("MARKET_STATUS") if row["region"] == "Japan"],
}


def _starting(rows: Rows, date: str) -> Rows:
    return [row for row in rows if str(row["date"]).startswith(date)]


def _column(rows: Rows, name: str = "close", count: int | None = None) -> list[Any]:
    return [row[name] for row in rows[:count]]


def _ranges(rows: Rows, count: int | None = None) -> list[Any]:
    return [row["high"] - row["low"] for row in rows[:count]]


def _above(rows: Rows, name: str, least: float, since: str = "") -> list[Any]:
    return _column([row for row in rows if row[name] > least and row["date"] >= since])


_MEANINGS: Mapping[str, Callable[..., list[Any]]] = {
    "column": _column,
    "since": lambda rows, date: _column(within(rows, date)),
    "before": lambda rows, date: [row["close"] for row in rows if row["date"] < date],
    "in": lambda rows, date: _column(_starting(rows, date)),
    "top": lambda rows, count, by: _column(sorted(rows, key=lambda row: -row[by]), "date", count),
    "least": lambda rows, count, by: _column(sorted(rows, key=lambda row: row[by]), "date", count),
    "oldest": lambda rows, name, count: _column(rows[-count:], name),
    "dates and closes": lambda rows, count: [row[name] for row in rows[:count] for name in ("date", "close")],
    "above": _above,
    "above one of": lambda rows, close, volume: _column(
        [row for row in rows if row["close"] > close or row["volume"] > volume]
    ),
    "above both": lambda rows, close, volume: _column(
        [row for row in rows if row["close"] > close and row["volume"] > volume]
    ),
    "days up": lambda rows: [sum(row["close"] > row["open"] for row in rows)],
    "count": lambda rows: [len(rows)],
    "highest": lambda rows: [max(_column(rows))],
    "extremes": lambda rows: [min(_column(rows, "low")), max(_column(rows, "high"))],
    "mean": lambda rows, count=None: [mean(_column(rows, "close", count))],
    "mean in": lambda rows, date: [mean(_column(_starting(rows, date)))],
    "mean since": lambda rows, date: [mean(_column(within(rows, date)))],
    "median": lambda rows: [sum(sorted(_column(rows))[49:51]) / 2],
    "changes": lambda rows: [new["close"] - old["close"] for new, old in itertools.pairwise(rows)],
    "percent changes": lambda rows: [100 * (new["close"] / old["close"] - 1) for new, old in itertools.pairwise(rows)],
    "ranges": _ranges,
    "middles": lambda rows, count: [(row["high"] + row["low"]) / 2 for row in rows[:count]],
    "largest range": lambda rows: [max(_ranges(rows))],
    "largest gain": lambda rows: [max(100 * row["close"] / row["open"] for row in rows)],
    "volume in": lambda rows, date: [sum(_column(_starting(rows, date), "volume"))],
}
"""What a guess of ``select`` means: the values for the rows of IBM, newest first."""


def _of_daily(size: str, meaning: str, *given: Any) -> Expected:
    return lambda data: _MEANINGS[meaning](data.rows("TIME_SERIES_DAILY", symbol="IBM", outputsize=size), *given)


def _calls(group: Mapping[str, Any]) -> Iterator[Probe]:
    for given in group["calls"]:
        times = given.pop("repeat", 1)
        arguments = {name: value * times for name, value in given.items()} if times > 1 else given
        if "tool" in group:
            arguments = {"tool_name": group["tool"], "arguments": arguments}
            arguments |= {"select": group["select"]} if "select" in group else {}
        name = group.get("name", group["area"])
        yield Probe(group["area"], name, arguments, _EXPECTED.get(group.get("expected", "")))


def _guesses(group: Mapping[str, Any], not_natural: list[str]) -> Iterator[Probe]:
    for guess in group["guesses"]:
        text, *meaning = guess if isinstance(guess, list) else [guess]
        call = {"tool_name": group["tool"], "arguments": group["arguments"], "select": text}
        expected, of_all = (_of_daily(size, *meaning) if meaning else None for size in ("compact", "full"))
        expected = expected or _EXPECTED.get(group.get("expected", ""))
        yield Probe("select", "TOOL_CALL", call, expected, of_all, text not in not_natural)


def _probes() -> Iterator[Probe]:
    given = yaml.safe_load(Path(__file__).with_name("probes.yaml").read_text(encoding="utf-8"))
    for group in given["groups"]:
        yield from _calls(group) if "calls" in group else _guesses(group, given["not_natural"])


PROBES = tuple(_probes())
