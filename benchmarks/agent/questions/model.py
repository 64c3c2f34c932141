"""A question, the calls that a model writes for it, and what the questions compute their answers with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from benchmarks.agent.raw_data import RawData


@dataclass(frozen=True)
class Call:
    """Arguments of a tool, and the ``select`` of TOOL_CALL."""

    arguments: Mapping[str, Any]
    select: str | None = None


@dataclass(frozen=True)
class Question:
    """A question.

    Attributes:
        text: what a person says; it is also the query of TOOL_LIST.
        tools: the tools that can answer it; the first is used.
        guesses: calls in the order in which a model tries them, each after the one before has failed.
        expected: the values that the answer must hold, computed from the raw data.
        operands: other values from which a model gets the expected ones with one operation, where there are some.
        key: the API key of the caller; the mock API serves ``free`` what a free key gets.
        outcome: ``values``; or ``nothing``: there is no such data, and the answer must state that.
    """

    text: str
    tools: tuple[str, ...]
    guesses: tuple[Call, ...]
    expected: Callable[[RawData], list[Any]]
    operands: Callable[[RawData], list[Any]] | None = None
    key: str = "mock-key-for-journeys"
    outcome: Literal["values", "nothing"] = "values"


def calls(arguments: Mapping[str, Any], *selects: str | None) -> tuple[Call, ...]:
    """Return the calls with the same arguments and each of ``selects``, or the one without."""
    return tuple(Call(arguments, select) for select in selects or (None,))


def daily(data: RawData, symbol: str, full: bool = False) -> list[dict[str, Any]]:
    return data.rows("TIME_SERIES_DAILY", symbol=symbol, outputsize="full" if full else "compact")


def monthly(data: RawData, symbol: str) -> list[dict[str, Any]]:
    return data.rows("TIME_SERIES_MONTHLY_ADJUSTED", symbol=symbol)


def annual(data: RawData, function: str, symbol: str) -> list[dict[str, Any]]:
    return data.lists(function, symbol=symbol)["annualReports"]


def year(rows: list[dict[str, Any]], year: str, by: str = "date") -> list[dict[str, Any]]:
    return [row for row in rows if str(row[by]).startswith(year)]


def indicator(data: RawData, function: str, **more: str) -> list[dict[str, Any]]:
    return data.rows(function, **{"symbol": "IBM", "interval": "daily", "series_type": "close", **more})


def cpi(data: RawData, month: str) -> float:
    return float(year(data.rows("CPI", interval="monthly"), month)[0]["value"])
