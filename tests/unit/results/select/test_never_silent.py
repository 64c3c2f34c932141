"""Answers in which a wrong result of ``select`` would look right, and the right results.

Expected values are computed here with plain Python, or are so few that they are written.
"""

import datetime
import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import pytest

from tests.unit.results.select.outcomes import outcome, written


class Case(NamedTuple):
    """One ``select`` over one answer.

    Attributes:
        kind: what could go wrong.
        body: the text of the answer, JSON or CSV.
        select: as a caller writes it.
        right: the result as ``outcomes.written`` writes it, of the ``select`` or of the form that its error
            proposes. Empty: the ``select`` has to be refused.
        says: words that an error, or a note of the answer, must have; in any case of letters.
        otherwise: words with which an error or a note makes another result acceptable.
        partition: columns of the varied arguments of a list of calls.
        answer: what the catalog says about the answer.
    """

    kind: str
    body: str
    select: Any
    right: str = ""
    says: Sequence[str] = ()
    otherwise: Sequence[str] = ()
    partition: Sequence[str] = ()
    answer: Mapping[str, Any] = {}


def csv(header: str, *rows: str) -> str:
    """Return a CSV answer."""
    return "\n".join((header, *rows, ""))


def column(*cells: str) -> str:
    """Return a CSV answer of one column ``v`` whose cells are quoted."""
    return csv("v", *(f'"{cell}"' for cell in cells))


def tables(**rows: Sequence[Mapping[str, Any]]) -> str:
    """Return a JSON answer of several tables."""
    return json.dumps(rows)


def days(count: int, newest: str = "2026-01-13", step: int = 1) -> list[str]:
    """Return dates, newest first."""
    last = datetime.date.fromisoformat(newest)
    return [str(last - datetime.timedelta(days=step * index)) for index in range(count)]


def dated(values: Sequence[Any], newest: str = "2026-01-13", step: int = 1, name: str = "close") -> str:
    """Return a CSV series, newest first."""
    return csv(f"date,{name}", *map("{},{}".format, days(len(values), newest, step), values))


def reverse(body: str) -> str:
    """Return a CSV answer with its rows in the opposite order."""
    header, *rows = body.splitlines()
    return csv(header, *reversed(rows))


def shuffle(body: str) -> str:
    """Return a CSV answer with its rows in an order that is neither."""
    header, *rows = body.splitlines()
    return csv(header, *rows[1::3], *rows[::3], *rows[2::3])


def number(value: float) -> str:
    """Return a computed number as it is shown."""
    shown = f"{value:.12g}"
    return str(int(float(shown))) if float(shown).is_integer() else shown


def series(name: str, dates: Sequence[str], values: Sequence[float | None]) -> str:
    """Return a result with one column beside the dates."""
    cells = ("" if value is None else number(value) for value in values)
    return f"date,{name}: " + " / ".join(map("{},{}".format, dates, cells))


RSI = [30 + index * 17 % 50 for index in range(60)]
CLOSES = [104, 102, 100, 98, 97, 95, 96, 94, 86, 82, 72, 70]
CHANGES = [new - old for new, old in itertools.pairwise(CLOSES)]
PERCENTS = [100 * (new - old) / old for new, old in itertools.pairwise(CLOSES)]
DAILY, WEEKLY = dated(CLOSES), dated(CLOSES, "2026-01-09", 7)
MONTHS = [f"{year}-{month:02}-28" for year in (2025, 2024) for month in range(12, 0, -1)]
MONTHLY = csv("date,close", *(f"{day},{200 - index * index}" for index, day in enumerate(MONTHS)))
_BY_YEAR = f"2025,{200 - (200 - 144)} / 2024,"

EARNINGS = tables(
    annualEarnings=[{"fiscalDateEnding": f"{year}-12-31", "reportedEPS": str(year - 2015)} for year in (2025, 2024)],
    quarterlyEarnings=[
        {"fiscalDateEnding": day, "surprise": str(surprise)}
        for day, surprise in zip(
            days(12, "2025-12-31", 91), (0.1, -0.2, 0.3, 0.1, -0.1, 0.2, 0.4, 0.1, 0.3, 0.2, 0.1, 0.5), strict=True
        )
    ],
)
FUND = tables(
    sectors=[{"sector": f"S{index}", "weight": f"0.{20 - index:02}"} for index in range(10)],
    holdings=[{"symbol": f"H{index}", "weight": f"0.{index + 1:02}"} for index in range(12)],
)
_SECTORS = "sectors > sector,weight: " + " / ".join(f"S{index},{(20 - index) / 100:.2g}" for index in range(10))
_HOLDINGS = "holdings > symbol,weight: " + " / ".join(f"H{index},{(index + 1) / 100:.2g}" for index in range(11, 6, -1))
YIELDS = csv(
    "maturity,date,value",
    *("10year,2026-01-01,4.20", "10year,2025-12-01,4.10", "2year,2026-01-01,3.60", "2year,2025-12-01,3.55"),
)
PAIR = csv(
    "symbol,date,close",
    *("AAPL,2026-01-13,260", "AAPL,2026-01-12,250", "AAPL,2026-01-09,240"),
    *("MSFT,2026-01-13,410", "MSFT,2026-01-12,400", "MSFT,2026-01-09,420"),
)
OPTIONS = csv(
    "contractID,expiration,type,strike,volume",
    *("A,2026-01-16,call,280,10", "B,2026-01-16,put,280,30", "C,2026-02-20,call,300,200", "D,2026-02-20,put,300,"),
)


def _orders(make: Callable[[str, str], Case], body: str) -> list[Case]:
    """Return a case for each order of the rows."""
    return [
        make(body, "newest first"),
        make(reverse(body), "oldest first"),
        make(shuffle(body), "in no order"),
    ]


ORDER_OF_STEPS = [
    Case("count after last", dated(RSI, name="RSI"), "last 30; RSI > 70; count",
         f"count: {sum(value > 70 for value in RSI[:30])}"),
    Case("last after a condition", dated(RSI, name="RSI"), "RSI > 70; last 3; RSI",
         series("RSI", [day for day, value in zip(days(60), RSI, strict=True) if value > 70][:3],
                [value for value in RSI if value > 70][:3])),
    Case("count after last of the oldest first", reverse(dated(RSI, name="RSI")), "last 30; RSI > 70; count",
         f"count: {sum(value > 70 for value in RSI[:30])}"),
    Case("condition after top", dated(RSI, name="RSI"), "top 10 by RSI; RSI < 75; count",
         f"count: {sum(value < 75 for value in sorted(RSI)[-10:])}"),
    Case("condition after limit", dated(CLOSES), "limit 4; close < 100; count", "count: 1"),
    Case("period after top", dated(CLOSES), "top 2 by close; before 2026-01-13; count", "count: 1"),
    Case("aggregate in a condition is of the step's table", dated(CLOSES), "last 3; close > avg(close); count",
         "count: 1"),
    Case("count after last of one table", EARNINGS, "quarterlyEarnings; last 8; surprise > 0; count", "count: 6"),
    Case("sum after first of one table", EARNINGS, "quarterlyEarnings: first 2; sum(surprise)", "sum(surprise): 0.6"),
    Case("condition before last of one table", EARNINGS, "quarterlyEarnings; surprise < 0; last 5; count",
         "count: 2"),
    Case("one step, two tables", FUND, "sectors; holdings: top 5 by weight", f"{_SECTORS} & {_HOLDINGS}"),
    Case("one step, two tables, turned", FUND, "holdings: limit 1; sectors: limit 1",
         "holdings > symbol,weight: H0,0.01 & sectors > sector,weight: S0,0.2"),
    Case("last of one of two tables", EARNINGS, "annualEarnings; quarterlyEarnings: last 1",
         "annualEarnings > fiscalDateEnding,reportedEPS: 2025-12-31,10 / 2024-12-31,9 & "
         "quarterlyEarnings > fiscalDateEnding,surprise: 2025-12-31,0.1"),
    Case("a step that fits two tables", EARNINGS, "last 1", "fiscalDateEnding,reportedEPS: 2025-12-31,10",
         says=("annualEarnings", "quarterlyEarnings")),
    Case("a column that was dropped", DAILY, "date; close > 100; count", "count: 2"),
    Case("rows after an aggregate", DAILY, "max(close); last 5", "date,max(close): 2026-01-13,104"),
    Case("period after an aggregate", DAILY, "avg(close); since 2026-01-12", "avg(close): 103"),
    Case("period after groups of a column", OPTIONS, "sum(volume) by type; 2026-02",
         "type,sum(volume): call,200 / put,"),
]  # fmt: skip

NEIGHBOURS = [
    *_orders(lambda body, order: Case(f"changes, {order}", body, "pct_change(close); last 5; order by date desc",
                                      series("pct_change(close)", days(5), PERCENTS)), DAILY),
    *_orders(lambda body, order: Case(f"differences, {order}", body, "change(close); last 2; newest first",
                                      series("change(close)", days(2), CHANGES)), DAILY),
    Case("change of the newest week", WEEKLY, "change(close); last 1", series("change(close)", ["2026-01-09"],
         CHANGES)),
    Case("change of one row", WEEKLY, "last 1; change(close)", "date,change(close): 2026-01-09,", says=("before",)),
    Case("change of the first row of a period", DAILY, "2026-01-12..2026-01-13; change(close)",
         "date,change(close): 2026-01-13,2 / 2026-01-12,", says=("before",)),
    Case("change before a period", DAILY, "change(close); 2026-01-12..2026-01-13",
         "date,change(close): 2026-01-13,2 / 2026-01-12,2"),
    Case("change of years", MONTHLY, "change(close) by year", f"year,change(close): {_BY_YEAR}", says=("before",)),
    Case("change of years, oldest first", reverse(MONTHLY), "change(close) by year",
         f"year,change(close): 2024, / 2025,{200 - (200 - 144)}"),
    Case("change of quarters", MONTHLY, "change(close) by quarter; 2025",
         "quarter,change(close): " + " / ".join(
             f"2025-Q{4 - index},{(3 * index + 3) ** 2 - (3 * index) ** 2}" for index in range(4))),
    Case("mean of changes", DAILY, "avg(change(close))",
         f"avg(change(close)): {number(sum(CHANGES) / len(CHANGES))}"),
    Case("window", DAILY, "avg(close) over 3; last 2",
         series("avg(close) over 3", days(2), [sum(CLOSES[:3]) / 3, sum(CLOSES[1:4]) / 3])),
    Case("window, oldest first", reverse(DAILY), "avg(close) over 3; last 1",
         "date,avg(close) over 3: 2026-01-13,102"),
    Case("window with too few rows", DAILY, "last 2; avg(close) over 3",
         "date,avg(close) over 3: 2026-01-13, / 2026-01-12,"),
    Case("null in a window", dated([3, 2, "", 1], name="v"), "sum(v) over 2",
         "date,sum(v) over 2: 2026-01-13,5 / 2026-01-12, / 2026-01-11, / 2026-01-10,"),
    Case("row before, of two", DAILY, "lag(close, 2); last 1", "date,lag(close, 2): 2026-01-13,100"),
    Case("change over a whole period", DAILY, "last(close) / first(close) - 1",
         f"last(close) / first(close) - 1: {number(CLOSES[0] / CLOSES[-1] - 1)}"),
    Case("dates that repeat", PAIR, "change(close); last 1", otherwise=("symbol", "repeat", "same date",
         "partition")),
    Case("dates that repeat, in a window", PAIR, "avg(close) over 2; last 2",
         otherwise=("symbol", "repeat", "same date", "partition")),
    *(Case("moving window of pandas", DAILY, guess,
           series(f"avg(close) over {size}", days(12), [
               sum(CLOSES[index:index + size]) / size if index + size <= 12 else None for index in range(12)]))
      for guess, size in (("close.rolling(3).mean()", 3), ("df['close'].rolling(5).mean()", 5))),
    Case("moving window without a column", DAILY, "rolling(3).mean()", says=("avg(close) over 3",),
         right=series("avg(close) over 3", days(12), [
             sum(CLOSES[index:index + 3]) / 3 if index < 10 else None for index in range(12)])),
]  # fmt: skip

UPS = csv("date,v,w", "2026-01-04,6,5", "2026-01-03,4,5", "2026-01-02,3,2", "2026-01-01,2,5")

LOOKALIKES = [
    Case("count of a condition", UPS, "count(v > w)", "sum(v > w): 2", says=("true or false",)),
    Case("share of a condition", UPS, "count(v > w) / count(*)", "sum(v > w) / count(*): 0.5"),
    Case("a function of all rows beside one of two", UPS, "max(v) - min(v) over 2; last 1",
         "date,max(v) over 2 - min(v) over 2: 2026-01-04,2", says=("of all rows",)),
    Case("parentheses keep both", UPS, "max(v) - (min(v) over 2) as d; last 1", "date,d: 2026-01-04,2"),
    Case("a change over rows", UPS, "change(v) over 2; last 1", "date,change(v, 2): 2026-01-04,3"),
    Case("a function behind its groups", UPS, "weekday; max(v)",
         "weekday,max(v): Sunday,6 / Saturday,4 / Friday,3 / Thursday,2", says=("max(v) by weekday",)),
    Case("a name behind the groups", UPS, "max(v) by weekday as most; top 1 by most", "weekday,most: Sunday,6",
         says=("max(v) as most by weekday",)),
]  # fmt: skip

NEWEST_AND_PLACE = [
    *(Case(f"{guess}, newest first", DAILY, guess, "= " + " ".join(sorted(days(size), reverse=True)))
      for guess, size in (("tail(5)", 5), ("tail 2", 2), ("[-1]", 1), ("[-2:]", 2))),
    Case("close[-1], newest first", DAILY, "close[-1]", "date,close: 2026-01-13,104"),
    Case("tail, oldest first", reverse(DAILY), "tail 2", "= 2026-01-12 2026-01-13"),
    Case("last after an order", DAILY, "order by close; last 1; close", "date,close: 2026-01-13,104"),
    Case("last after top", DAILY, "top 3 by close; last 1; close", "date,close: 2026-01-11,100"),
    *_orders(lambda body, order: Case(f"last of dates {order}", body, "last 2; order by date; close",
                                      "date,close: 2026-01-12,102 / 2026-01-13,104"), DAILY),
    *_orders(lambda body, order: Case(f"latest of years as numbers, {order}", body, "latest", "= 2024",
                                      otherwise=("no date", "no column of dates", "without a date")),
             csv("year,revenue", "2024,30", "2023,20", "2022,10")),
    Case("since of years as numbers", csv("year,revenue", "2024,30", "2023,20", "2022,10"), "since 2023",
         says=("date",)),
    Case("last of a list without dates", csv("name,v", "a,1", "b,2"), "last 1", "= b", says=("list",)),
    Case("last row of two of one date", csv("date,v", "2026-01-13,1", "2026-01-13,2", "2026-01-12,3"), "last 2",
         "= 2026-01-13 2026-01-13"),
    Case("no rows", DAILY, "last 0", "date,close: ", says=("0 of 12",)),
    Case("fewer than no rows", DAILY, "last -2", "= 2026-01-13 2026-01-12"),
    Case("last by a column", DAILY, "last 2 by close", "= 2026-01-13 2026-01-12"),
    Case("nulls are not the largest", csv("name,v", "a,", "b,2", "c,None", "d,5"), "top 2 by v", "= d b"),
    Case("nulls are not the smallest", csv("name,v", "a,", "b,2", "c,None", "d,5"), "bottom 2 by v", "= b d"),
    Case("nulls come last", csv("name,v", "a,", "b,2", "d,5"), "order by v", "= b d a"),
    Case("nulls come last, descending", csv("name,v", "a,", "b,2", "d,5"), "order by v desc", "= d b a"),
]  # fmt: skip

NUMBERS = [
    Case("separators, max", column("1,234.5", "12,000", "999"), "max(v)", "max(v): 12000"),
    Case("separators, order", column("1,234.5", "12,000", "999"), "order by v", "v: 999 / 1,234.5 / 12,000"),
    Case("separators, condition", column("1,234.5", "12,000", "999"), "v > 1,000; count", "count: 2"),
    Case("separators, SQL", column("1,234.5", "12,000", "999"), "SELECT sum(v) AS m FROM data", "m: 14233.5"),
    Case("apostrophes", column("1'234", "999", "12'000"), "max(v)", "max(v): 12000", otherwise=("1'234",)),
    Case("blanks", column("1 234", "999", "12 000"), "max(v)", "max(v): 12000", otherwise=("1 234",)),
    Case("blanks that do not break", column("1\u00a0234", "999"), "max(v)", "max(v): 1234",
         otherwise=("1\u00a0234",)),
    Case("prices with and without a zero", column("12.5", "12.50", "9.05"), "max(v)", "max(v): 12.5"),
    Case("prices in a currency", column("$12.5", "$12.50", "$9.5"), "sum(v)", "sum(v): 34.5"),
    Case("numbers that may be versions", column("12.5", "12.50", "9.5"), "sum(v)", says=("CAST(v AS REAL) reads",)),
    Case("equal numbers that may be versions", column("12.5", "12.50", "9.5"), "v = 12.5; count", "count: 1",
         says=("v is compared as text; CAST(v AS REAL)",)),
    Case("equal numbers", column("12.5", "12.50", "9.5"), "CAST(v AS REAL) = 12.5; count", "count: 2"),
    Case("a date that is true", column("2024-01-01", "2024-01-02"), "v is true", says=("neither true nor false",)),
    *(Case("an item of no list", json.dumps([{"c": [1]}, {"c": []}]), f"c[{sign}{'9' * 20}]",
         f"json_extract(c, '$[{path}{'9' * 20}]'):  / ") for sign, path in (("", ""), ("-", "#-"))),
    Case("versions as numbers", column("12.5", "12.50", "9.5"), "sum(CAST(v AS REAL))", "sum(CAST(v AS REAL)): 34.5"),
    Case("units as numbers", column("5%", "0.5"), "sum(CAST(v AS REAL))", says=("is no number",)),
    *(Case("a number of a text", column("5 kg", "12 kg"), f"{name}(v)",
         f"{name}(CAST(replace(v, ' kg', '') AS REAL)): {right}")
      for name, right in (("round", "5 / 12"), ("sign", "1 / 1"))),
    Case("a number of a date", column("2024-01-01", "2024-01-02"), "round(v)", says=("v is a date",)),
    Case("decimal commas", column("1.234,5", "999"), "max(v)", "max(v): 1234.5", otherwise=("1.234,5",)),
    Case("minus sign", column("\u22125", "3", "\u22121"), "min(v)", "min(v): -5"),
    Case("negative in parentheses", column("(1,234)", "12", "7"), "min(v)", "min(v): -1234", otherwise=("(1,234)",)),
    Case("dollars", column("$99.00", "$1,250.50", "$7"), "max(v)", "max(v): 1250.5"),
    Case("two currencies", column("$99", "€120", "$7"), "max(v)", says=("€120",)),
    Case("two currencies, sum", column("£5", "$6"), "sum(v)", says=("$6",)),
    Case("magnitudes", column("1.5M", "900K", "2B"), "max(v)", "max(v): 2000000000"),
    Case("magnitudes in a condition", column("1.5M", "900K", "2B"), "v > 1M; count", "count: 2"),
    Case("percent", column("5%", "7.5%", "12%"), "v > 10%; count", "count: 1"),
    Case("percent, largest", column("5%", "7.5%", "12%"), "top 1 by v", "v_percent: 12"),
    Case("percent beside fractions", column("5%", "0.5", "12%"), "v > 10%", says=("0.5",)),
    Case("percent beside fractions, max", column("5%", "0.05"), "max(v)", says=("0.05",)),
    Case("percent of fractions", csv("name,v", "a,0.05", "b,0.12"), "v > 10%", "= b"),
    Case("text among numbers", column("12", "n.m.", "7"), "max(v)", says=("n.m.",)),
    Case("text among numbers, condition", column("12", "n.m.", "7"), "v > 8", says=("n.m.",)),
    Case("text among numbers, order", column("12", "n.m.", "7"), "order by v", says=("n.m.",)),
    Case("text among numbers, SQL", column("12", "n.m.", "7"), "SELECT sum(v) FROM data", says=("n.m.",)),
    Case("text among numbers, equality", column("12", "n.m.", "7"), "v = n.m.; count", "count: 1"),
    *(Case(f"null as {text!r}", csv("name,v", "a,4", f"b,{text}", "c,8"), "avg(v), count(v)", "avg(v),count(v): 6,2")
      for text in ("", "None", "-")),
    Case("null meets no condition", csv("name,v", "a,4", "b,", "c,8"), "v != 4; count", "count: 1"),
    Case("null meets no negation", csv("name,v", "a,4", "b,", "c,8"), "not v = 4; count", "count: 1"),
    Case("comparison with null", csv("name,v", "a,4", "b,", "c,8"), "v = null", "= b"),
    Case("division of integers", csv("a,b", "7,2", "1,0"), "a / b as r", "r: 3.5 / "),
    Case("division of counts", csv("a,b", "7,2", "1,0"), "sum(a) / count", "sum(a) / count: 4"),
    Case("list with separators", csv("v,w", "1,1", "234,1", "1234,1"), "v in (1,234)", "= 1 234",
         otherwise=("1234",)),
    Case("sum of tenths", column("0.1", "0.2"), "sum(v)", "sum(v): 0.3"),
    Case("exponents", column("1e3", "2.5e2"), "max(v)", "max(v): 1000"),
    Case("leading zeros", csv("code,v", "007,1", "07,2", "7,3"), "code = 007; count", "count: 1"),
    Case("leading zeros, max", csv("code,v", "0100,1", "0020,2"), "max(code)", "max(code): 0100"),
    Case("long identifiers", csv("id,v", "9007199254740993,1", "9007199254740992,2"),
         "id = 9007199254740993; count", "count: 1"),
    Case("long identifiers among short ones", csv("id,v", "9007199254740993,1", "9,2", "10,3"), "min(id)",
         says=("as 9007199254740993 shows",)),
    Case("versions in groups", csv("v,n", "1.1,1", "1.10,2", "1.9,3"), "sum(n) by v",
         "v,sum(n): 1.1,1 / 1.10,2 / 1.9,3"),
    Case("powers of ten are no versions", column("1.5e10", "1.5e100"), "max(v)", "max(v): 1.5e+100"),
    Case("a version", csv("v,n", "1.1,1", "1.10,2", "1.9,3"), "v = 1.10; n", "n: 2"),
    Case("versions have no order", csv("v,n", "1.1,1", "1.10,2", "1.9,3"), "max(v)", says=("not of one kind",)),
    Case("decimal commas", column("2,926", "0,452", "1.600,5"), "max(v)",
         "max(CAST(replace(replace(v, '.', ''), ',', '.') AS REAL)): 1600.5"),
    Case("decimal commas with a unit", column("2,7 kg", "12,5 kg"), "sum(v)",
         "sum(CAST(replace(replace(replace(v, ' kg', ''), '.', ''), ',', '.') AS REAL)): 15.2"),
    Case("units with signs", column("9 km/h", "12 km/h"), "max(v)",
         "max(CAST(replace(v, ' km/h', '') AS REAL)): 12"),
    Case("durations", column("PT1H30M", "PT45M"), "max(v)", says=("not of one kind",)),
    Case("intervals", csv("span,v", "3 days 04:00:00,1", "10 days -01:30:00,2", "1 year 2 mons,3"), "max(span)",
         says=("not of one kind",)),
    Case("numbers against a text", csv("name,v", "a,1", "b,2"), "name > 5", says=("name",)),
]  # fmt: skip

DATES = [
    *(Case(f"dates as {rows[0]}", csv("day,v", *(f'"{day}",{index}' for index, day in enumerate(rows))),
         "last 1; v", right)
      for rows, right in (
          (("02/15/2024", "11/30/2023", "03/01/2023"), "day,v: 02/15/2024,0"),
          (("15.02.2024", "30.11.2023"), "day,v: 15.02.2024,0"),
          (("Feb 15, 2024", "Nov 30, 2023", "Mar 1, 2023"), "day,v: Feb 15, 2024,0"),
          (("20240215", "20231130"), "day,v: 20240215,0"),
          (("2024Q1", "2023Q4"), "day,v: 2024Q1,0"),
      )),
    Case("dates that can be two", csv("day,v", "01/02/2024,1", "03/04/2024,2"), "since 2024-03",
         says=("01/02/2024",)),
    Case("dates that can be two, last", csv("day,v", "05/02/2024,1", "04/03/2024,2"), "last 1", says=("date",)),
    Case("years of two digits", csv("day,v", "12/31/24,1", "01/15/25,2"), "last 1", "= 01/15/25",
         otherwise=("12/31/24", "date")),
    Case("years of two digits, since", csv("day,v", "12/31/24,1", "01/15/25,2"), "since 2025", "= 01/15/25",
         otherwise=("12/31/24", "date")),
    Case("seconds since 1970", csv("t,v", "1736899200,1", "1705276800,2"), "since 2025", says=("date",)),
    Case("dates beside a text", csv("date,v", "2026-01-13,1", "pending,2"), "last 1", says=("pending",)),
    Case("dates beside a text, since", csv("date,v", "2026-01-13,1", "TBD,2"), "since 2026", says=("TBD",)),
    Case("a date that does not exist", csv("date,v", "2026-01-13,1", "2026-02-30,2"), "last 1", says=("2026-02-30",)),
    Case("instants", csv("t,v", "2026-01-12T23:30:00-05:00,1", "2026-01-13T01:00:00Z,2",
         "2026-01-13T03:00:00+09:00,3"), "latest; v",
         "t,v: 2026-01-12T23:30:00-05:00,1"),
    Case("instants in order", csv("t,v", "2026-01-12T23:30:00-05:00,1", "2026-01-13T01:00:00Z,2",
         "2026-01-13T03:00:00+09:00,3"),
         "order by t desc; * except t", "v: 1 / 2 / 3"),
    Case("latest instant by max", csv("t,v", "2026-01-12T23:30:00-05:00,1", "2026-01-13T01:00:00Z,2"), "max(t)",
         "t,max(t): 2026-01-12T23:30:00-05:00,2026-01-13T04:30:00"),
    Case("instants beside local times", csv("t,v", "2026-01-13T01:00:00Z,1", "2026-01-12T23:30:00,2"), "latest",
         says=("2026-01-12T23:30:00",)),
    Case("a day of a column of times", csv("t,v", "2026-01-13 16:00,1", "2026-01-13 09:30,2", "2026-01-12 16:00,3"),
         "t <= 2026-01-12; count", "count: 1"),
    Case("a day is the whole day", csv("t,v", "2026-01-13 16:00,1", "2026-01-13 09:30,2", "2026-01-12 16:00,3"),
         "2026-01-13; count", "count: 2"),
    Case("a date is not arithmetic", DAILY, "date >= 2026-01-12; count", "count: 2"),
    Case("after a month", MONTHLY, "date > 2025-10; count", "count: 2"),
    Case("until a month", MONTHLY, "date <= 2024-02; count", "count: 2"),
    Case("a quarter", MONTHLY, "2025-Q1; count", "count: 3"),
    Case("leap day", dated([1, 2, 3], "2024-03-01"), "2024-02; count", "count: 2"),
    Case("a year before the leap day", csv("date,v", "2024-02-29,1", "2023-03-01,2", "2023-02-28,3"),
         "last 1 year; count", "count: 2"),
    Case("a month before the 31st", csv("date,v", "2025-03-31,1", "2025-03-01,2", "2025-02-28,3"),
         "last 1 month; count", "count: 2"),
    Case("week of a year's end", csv("date,v", "2025-01-02,1", "2024-12-30,2", "2024-12-27,3"), "sum(v) by week",
         "week,sum(v): 2025-W01,3 / 2024-W52,3"),
    Case("period without dates", csv("name,v", "a,1"), "2025", says=("date",)),
    Case("relative period without dates", csv("name,v", "a,1"), "last 3 months", says=("date",)),
    Case("two columns of dates", csv("paid,declared,v", "2025-03-01,2024-12-15,1", "2024-06-01,2024-05-01,2"),
         "declared >= 2024-12-01; count", "count: 1"),
    Case("years are a period, not a number", MONTHLY, "2025; count", "count: 12"),
]  # fmt: skip

NAMES = [
    *(Case("names that differ by case", csv("Close,close", "1,10", "2,20"), select, right)
      for select, right in (
          ('SELECT "Close", "close" FROM data', "Close,close: 1,10 / 2,20"),
          ("Close, close", "Close,close: 1,10 / 2,20"),
          ("close > 15", "= 2"),
          ("sum(Close), sum(close)", "sum(Close),sum(close): 3,30"),
          ("SELECT sum(Close) AS a, sum(close) AS b FROM data", "a,b: 3,30"),
      )),
    Case("names that begin with a digit", csv("date,10year,2year", "2026-01-01,4.2,3.6"),
         "10year - 2year as spread", "date,spread: 2026-01-01,0.6"),
    Case("names that are no columns", YIELDS, "10year - 2year as spread",
         "date,spread: 2026-01-01,0.6 / 2025-12-01,0.55",
         otherwise=("10year",), partition=("maturity",)),
    Case("names that are no columns, of calls", PAIR, "AAPL_close - MSFT_close as gap",
         "date,gap: 2026-01-13,-150 / 2026-01-12,-150 / 2026-01-09,-180", otherwise=("AAPL_close",),
         partition=("symbol",)),
    Case("a period in place of a column", DAILY, "10year - 2year as spread", says=("10year",)),
    *(Case(f"column {name}", csv(f"name,{name}", "a,1", "b,3"), select, right, says=says)
      for name, select, right, says in (
          ("count", "count > 2", "= b", ()),
          ("count", "count", "count: 1 / 3", ('"count"', "count(*)")),
          ("last", "last > 2", "= b", ()),
          ("top", "top 1 by top", "= b", ()),
          ("by", "sum(by)", "sum(by): 4", ()),
          ("order", 'order by "order" desc', "= b a", ()),
          ("limit", "limit > 2", "= b", ()),
      )),
    Case("a column named date that has none", csv("date,v", "x,1", "y,2"), "since 2024", says=("date",)),
    Case("a word that is a column and a value", csv("type,put,call", "put,1,2", "call,3,4"), "type = put",
         says=("put",)),
    Case("a value that is not a column", OPTIONS, "type = put; count", "count: 2"),
    Case("a value in another case", OPTIONS, "type = CALL; count", "count: 2"),
    Case("booleans as text", csv("name,active", "a,true", "b,false", "c,TRUE"), "active = true; count", "count: 2"),
    Case("empty texts", json.dumps([{"name": "a", "note": ""}, {"name": "b", "note": "x"}]), "note is null", "= a"),
    Case("groups without a key", csv("name,type,v", "a,x,1", "b,,2", "c,x,3"), "sum(v) by type",
         "type,sum(v): x,4 / ,2"),
    Case("null keys are not lost", csv("name,type,v", "a,x,1", "b,,2", "c,x,3"), "count by type",
         "type,count: x,2 / ,1"),
    Case("two steps of columns", DAILY, ["date", "close", "last 1"], "date,close: 2026-01-13,104"),
    *(Case("names that differ by case, of percentages", body, "open", "open: 46.2%")
      for body in ('[{"Open": "574K", "open": "46.2%"}]', csv("Open,open", "574K,46.2%"))),
    Case("a name to which a unit was added", csv("date,year", "2026-01-14,-86.56%", "2025-12-31,-26.12%"),
         'bottom 1 by "year"; "year"', "date,year_percent: 2026-01-14,-86.56"),
    Case("duplicate names", csv("a,a", "1,2"), "max(a)", otherwise=("a_2", "twice", "two columns", "same name",
         "duplicate")),
    Case("a header that repeats", csv("date,v", "2026-01-13,1", "date,v", "2026-01-12,2"), "sum(v)", "sum(v): 3",
         otherwise=("as v shows",)),
]  # fmt: skip

PARTS = [
    *(Case(f"a page of {key}", json.dumps({key: 500, "next": "/2", "results": [{"v": 1}, {"v": 2}]}), select, right,
         says=("500",))
      for key, select, right in (("total", "count", "count: 2"), ("total_count", "sum(v)", "sum(v): 3"), ("count",
      "results; count", "count: 2"), ("total", "SELECT sum(v) AS s FROM data", "s: 3"))),
    Case("a page with the next alone", json.dumps({"next": "/2", "results": [{"v": 1}, {"v": 2}]}), "sum(v)",
         "sum(v): 3", says=("next",)),
    Case("a condition on a page", json.dumps({"total": 500, "results": [{"v": 1}, {"v": 2}]}), "v > 1",
         "v: 2", says=("2 of 500 rows",)),
    Case("rows that a limit cut off", json.dumps({"rows": [{"v": 1}, {"v": 2}], "more_rows": "2 rows only"}), "count",
         "count: 2", says=("more_rows",)),
    Case("the whole is no page", json.dumps({"total": 2, "results": [{"v": 1}, {"v": 2}]}), "count", "count: 2"),
    Case("a page beside a longer table", json.dumps({"total": 500, "results": [{"v": 1}, {"v": 2}],
         "facets": [{"f": number} for number in range(600)]}), "from results; count", "count: 2", says=("of 500",)),
    Case("last of each call", PAIR, "last 1", "= AAPL MSFT", partition=("symbol",)),
    Case("count of each call", PAIR, "close > 245; count", "symbol,count: AAPL,2 / MSFT,3", partition=("symbol",)),
    Case("change of each call", PAIR, "change(close); last 1",
         "symbol,date,change(close): AAPL,2026-01-13,10 / MSFT,2026-01-13,10",
         partition=("symbol",)),
    Case("mean of each call", PAIR, "avg(close)", "symbol,avg(close): AAPL,250 / MSFT,410", partition=("symbol",)),
    Case("top of all calls", PAIR, "top 1 by close; close", "symbol,date,close: MSFT,2026-01-09,420",
         partition=("symbol",)),
    Case("limit of all calls", PAIR, "limit 1; close", "symbol,date,close: AAPL,2026-01-13,260",
         partition=("symbol",)),
    Case("renamed arguments", PAIR, "symbol as s, close; sum(close)", "s,sum(close): AAPL,750 / MSFT,1230",
         partition=("symbol",)),
    Case("different values of all calls", csv("symbol,x", "A,1", "A,1", "B,5"), "distinct x; count", "count: 2",
         partition=("symbol",)),
    Case("SQL over all calls", PAIR, "SELECT count(*) AS n FROM data", "n: 6", partition=("symbol",)),
]  # fmt: skip

TIMES = csv("timestamp,v", "2026-01-13T15:00,4", "2026-01-13T09:30,3", "2026-01-12T15:00,2", "2026-01-12T09:30,1")
WEIGHTS = tables(holdings=[{"symbol": "A", "weight": 0.2}], sectors=[{"sector": "X", "weight": 0.3}])
TAGGED = json.dumps([{"id": 1, "labels": [{"name": "bug"}]}, {"id": 2, "labels": []}])

READINGS = [
    Case("rows and a column", DAILY, "last 3 close", "date,close: 2026-01-13,104 / 2026-01-12,102 / 2026-01-11,100"),
    Case("the last of each month", MONTHLY, "last 1 by month"),
    Case("the last of each text", PAIR, "last 1 by symbol; close",
         "date,close: 2026-01-13,260 / 2026-01-13,410", partition=("symbol",)),
    Case("a function of words by a unit", MONTHLY, "sum close by year",
         "year,sum(close): " + " / ".join(
             f"{year},{sum(200 - index * index for index in range(12 * at, 12 * at + 12))}"
             for at, year in enumerate((2025, 2024)))),
    Case("days of times", TIMES, "count(distinct day)", "count(distinct day): 2"),
    Case("days of times", TIMES, "distinct day", "day: 2026-01-13 / 2026-01-12"),
    Case("days of times", TIMES, "day = 2026-01-12; sum(v)", "sum(v): 3"),
    Case("a percentage of a function", DAILY, "pct_change(close) > 2%; count",
         f"count: {sum(change > 2 for change in PERCENTS)}"),
    Case("a percentage of a function", DAILY, "avg(pct_change(close)) > 2%", says=("avg(pct_change(close)) has",)),
    Case("a condition that is counted", DAILY, "SELECT count(close > 100) AS n FROM data", "n: 2"),
    Case("a function and the date", DAILY, "date, max(close)", "date,max(close): 2026-01-13,104"),
    Case("a function and the date", DAILY, "max(close), date", "date,max(close): 2026-01-13,104"),
    Case("a count and a period", DAILY, "count since 2026-01-12", "count: 2"),
    Case("a function in a period", MONTHLY, "sum(close) in 2024-12", "sum(close): 56"),
    Case("rows and columns", PAIR, "last 1 close, date", "symbol,date,close: AAPL,2026-01-13,260 / MSFT,2026-01-13,410",
         otherwise=("last 1; close, date",), partition=("symbol",)),
    Case("a part of a date and a text", MONTHLY, "month = foo", says=("month is a number",)),
    Case("a sign of another language", OPTIONS, "type === 'call'; count", "count: 2"),
    Case("a sign of another language", OPTIONS, "type !== call; count", "count: 2"),
    Case("a sign in letters", OPTIONS, "type eq call; count", "count: 2"),
    Case("a sign in letters", DAILY, "close gte 100; count", "count: 3"),
    Case("texts one after the other", OPTIONS, "type || '-' || type as k", says=("cannot be read (at character 5)",)),
    Case("an expression that finds nothing", DAILY, "close>100|date", says=("cannot be read",)),
    Case("a field named count", json.dumps({"count": 7, "results": [{"v": 1}, {"v": 2}]}), '"count"', '{"count":7}'),
    Case("a short month", MONTHLY, "month = Feb; count", "count: 2"),
    Case("a quarter in letters", MONTHLY, "quarter = Q1; count", "count: 6"),
    *(Case("the largest of a page", json.dumps({"total": 500, "results": [{"v": 1}, {"v": 2}]}), select, right,
           says=("500",)) for select, right in (("top 1 by v", "v: 2"), ("distinct v", "v: 1 / 2"))),
    Case("a table for each call", PAIR, "SELECT max(close) AS m FROM AAPL", says=("no table AAPL",)),
    Case("a table for each call", PAIR, "SELECT a.close FROM x a JOIN y b USING(date)", says=("no table y",)),
    Case("a table by the text of all rows", csv("s,v", "A,1", "A,2"), "SELECT sum(v) AS t FROM A", "t: 3"),
    Case("a month of quarters", MONTHLY, "month = Q1", says=("Q1 is not",)),
    *(Case("a column that has the word, SQL", csv("symbol,price,previousClose", "A,5,4"), select,
           says=("no column close", "previousClose"))
      for select in ("SELECT symbol, close FROM data", "SELECT max(close) AS m FROM data",
                     "SELECT symbol FROM data WHERE close > 3", "SELECT symbol FROM data ORDER BY close")),
    Case("a table under another name", PAIR, "SELECT count(*) AS n FROM prices", "n: 6"),
    Case("an expression that finds nothing", TAGGED, "labels[*].name", says=("cannot be read",)),
    Case("a unit that is not known in several tables", WEIGHTS, "weight > 5%", says=("fractions",)),
    Case("a time and a table", TIMES, "since 15:00", says=("does not follow",)),
]  # fmt: skip

ISSUES = json.dumps([
    {"n": 1, "created_at": "2026-01-10T10:00:00Z", "closed_at": "2026-01-11T10:00:00Z"},
    {"n": 2, "created_at": "2025-11-05T10:00:00Z", "closed_at": "2026-01-08T12:00:00Z"},
    {"n": 3, "created_at": "2026-01-12T10:00:00Z", "closed_at": None},
])  # fmt: skip
CHARGES = json.dumps([{"id": "a", "created": 1767225600}, {"id": "b", "created": 1764547200}])
QUAKES = json.dumps([{"id": "a", "time": 1767225600000}, {"id": "b", "time": 1764547200000}])
INDICATOR = json.dumps(
    [{"country": "DE", "year": 2024}, {"country": "DE", "year": 2023}, {"country": "FR", "year": 2022}]
)
RESOURCE = json.dumps(
    {"result": {"fields": [{"id": "Sum"}], "records": [{"k": 1, "Sum": "1.234,50"}, {"k": 2, "Sum": "5"}], "sum": 9}}
)
EDGES = {"edges": [{"node": {"n": 1}}, {"node": {"n": 2}}], "totalCount": 40, "pageInfo": {"hasNextPage": True}}
GRAPH = json.dumps({"data": {"repo": {"issues": EDGES, "stars": {"totalCount": 999}}}})
ENTITIES = json.dumps({"@odata.count": 200, "value": [{"n": 1}, {"n": 2}], "@odata.nextLink": "next"})
NIGHTS = csv("at,v", *(f"2026-01-0{day}T23:30:00-05:00,{day}" for day in (1, 2, 3)))
SIGNS = csv("email,version,start,n", "a@x.com,1.2.3,08:00:00,1", "b@y.org,1.10.0,9:30,2")
BY_YEAR = csv("country,2022,2023,2024", "DE,1.5,2,", "FR,1,3,4")
VINTAGES = csv("realtime_start,date,value", "2026-01-14,2025-12-01,3.5", "2026-01-14,2025-11-01,3.6")
AHEAD = csv("date,v", *(f"{day},1" for day in days(9, newest="2026-02-10", step=3)), "2026-01-13,2")

ORDER = json.dumps({"id": "007", "user": {"login": "ann"}, "box": {"id": 8}, "total": "$5.50", "lines": [
    {"sku": "01", "qty": 2, "tags": ["a", "b"]}, {"sku": "02", "qty": 3, "tags": ["b"]},
]})  # fmt: skip
STAFF = csv("name,active,closed_at,state", "a,Yes,2026-01-02,open", "b,No,,closed", "c,Yes,2026-01-03,closed")
LEDGER = csv("period,amount", "2024Q1,2", "2024Q1,3", "2024Q2,4")
PAGES = csv("labels_argument,date,labels,n", "x,2026-01-13,a,1", "x,2026-01-12,b,2", "y,2026-01-11,a,3")

ANSWERS_OF_APIS = [
    *(Case("a field of a record that has a list", ORDER, select, right) for select, right in (
        ("id, user.login", '{"id":"007","user.login":"ann"}'), ("user.login", '{"user.login":"ann"}'),
        ("total as t", '{"t":"$5.50"}'), ("total * 2 as t", '{"t":11}'), ("total > 5; id", '{"id":"007"}'),
        (".user.login", '{"user.login":"ann"}'), ("sum(lines.qty)", "sum(qty): 5"), ("count(lines)", "count: 2"),
        ("id, lines.sku", '{"id":"007","lines.sku":["01","02"]}'), ("qty > 2; sku", "sku: 02"),
    )),
    Case("columns of a page", json.dumps({"items": [{"id": 1, "v": 2}], "total": 9, "next": "/2"}), "id", "id: 1",
         says=("1 of 9",)),
    Case("rows counted off a page", tables(items=[{"id": 1}, {"id": 2}], total=9), "limit 1; id", "id: 1"),
    Case("errors beside the data", tables(data=[{"id": 1}], errors=[{"message": "late"}]), "data; count", "count: 1",
         says=("reports errors beside these rows (1)",)),
    Case("errors as texts", tables(data=[{"id": 1}], errors=["late", "lost"]), "id", "id: 1", says=("rows (2)",)),
    Case("columns of two tables", tables(a=[{"x": 1}], b=[{"y": 1}]), "x, y", says=("are columns of different",)),
    Case("a name with a hyphen in a path", tables(data=[{"id": 1, "at": {"due-on": "2026-01-02"}}], more=[{"id": 2}]),
         "at.due-on >= 2026-01-01; id", "id: 1", says=('Write \'"at.due-on" >= 2026-01-01; id\'',)),
    Case("a name in quotes in a path", tables(data=[{"id": 1, "at": {"due-on": 3}}]), 'max(at."due-on")',
         'max("at.due-on"): 3'),
    *(Case("an item of a list in a cell", json.dumps([{"id": 1, "p": [["a", 5], ["b", 6]]}]), select, right)
      for select, right in (("p[0][0] = a; id", "id: 1"), ("p[-1]", "json_extract(p, '$[#-1]'): [\"b\",6]"),
                            ("p[1][1]", "json_extract(p, '$[1][1]'): 6"))),
    Case("a row of a path", json.dumps({"data": {"repo": {"nodes": [{"t": "x"}, {"t": "y"}]}, "n": 2}}),
         "data.repo.nodes[1].t", "t: y"),
    Case("a path in a row", json.dumps({"items": [{"p": {"name": "x"}}, {"p": {"name": "y"}}], "n": 2}),
         "items[1].p.name", "p.name: y"),
    Case("a function of a name that there is not", csv("day,v", "2026-01-01,5"), 'max("price (EUR)")', "nothing"),
    *(Case("texts of numbers in SQL", json.dumps([{"v": "2.0", "p": "$5"}, {"v": "2.10", "p": "$12"}]), select, right,
           answer={"kind": "typed"})
      for select, right in (("SELECT v, p FROM data WHERE p > 9", "v,p: 2.10,$12"),
                            ("SELECT v + 1 AS v FROM data", "v: 3 / 3.1"),
                            ("SELECT v FROM data; max(v)", "max(v): 2.1"),
                            ("SELECT max(p) AS top FROM data", "top: 12"))),
    Case("a missing number in SQL", json.dumps([{"w": 0.25}, {"w": "N/A"}]), "SELECT w FROM data", "w: 0.25 / ",
         answer={"kind": "typed"}),
    Case("a list as a key of groups", ORDER, "count by tags", "tags,count: a,1 / b,2", says=("are lists",)),
    Case("different values of lists", ORDER, "distinct tags; count", "count: 2", says=("are lists",)),
    Case("different values of lists", ORDER, "count(distinct tags)", "count(DISTINCT x.value): 2", says=("are lists",)),
    Case("different values of lists", ORDER, "count(distinct tags) by sku", says=("are lists",)),
    Case("the length of a list", ORDER, "sku, count(tags)", "sku,length(tags): 01,2 / 02,1"),
    Case("the length of a list", ORDER, "size(tags) = 2; sku", "sku: 01"),
    Case("a path that an earlier step left out", json.dumps([{"n": 1, "user": {"login": "ann"}}]), "n; user.login",
         "n,user.login: 1,ann"),
    *(Case("a text in the quotes of a name", STAFF, select, right) for select, right in (
        ('state = "closed"; name', "closed_at,name: ,b / 2026-01-03,c"), ('state in ("closed"); count', "count: 2"),
        ('state != "closed"; count', "count: 1"), ('state like "%PEN"; count', "count: 1"),
        ('SELECT name FROM data WHERE state = "closed"', "name: b / c"),
        ('name, iif(state = "open", "x", "y") as k; k = x; count', "count: 1"),
    )),
    Case("an empty text as a date", STAFF, "closed_at = ''; count", "count: 1"),
    Case("a word as a condition", STAFF, "active and state = closed; name", "closed_at,name: 2026-01-03,c"),
    Case("a word as a condition", STAFF, "SELECT name FROM data WHERE active", "name: a / c"),
    Case("a word as a condition", STAFF, "not active; count", says=("compared with",)),
    Case("a part of a day", ISSUES, "n = 2; closed_at - created_at as took", "created_at,took: 2025-11-05T10:00:00Z,"
         f"{number(64 + 2 / 24)}"),
    Case("a date as a key of groups", LEDGER, "sum(amount) by period", "period,sum(amount): 2024Q1,5 / 2024Q2,4"),
    Case("a column with the name of an argument", PAGES, "count", "labels_argument,count: x,2 / y,1",
         partition=("labels",)),
    Case("a column with the name of an argument", PAGES, "last 1; n", "labels_argument,date,n: x,2026-01-13,1 / "
         "y,2026-01-11,3", partition=("labels",)),
    Case("a period of another date", ISSUES, "closed_at since 2026-01-08; n", "created_at,n: 2026-01-10T10:00:00Z,1 / "
         "2025-11-05T10:00:00Z,2", says=("closed_at >= 2026-01-08",)),
    Case("a period of another date", ISSUES, "closed_at before 2026-01-10; count", "count: 1"),
    Case("a column in a period", DAILY, "close since 2026-01-12; count", "count: 2"),
    Case("seconds since 1970", CHARGES, "created >= 2026-01-01", "= a", says=("1767225600",)),
    Case("milliseconds since 1970", QUAKES, "time < '2026-01-01'", "= b", says=("1767225600000",)),
    Case("years as numbers", INDICATOR, "since 2023", "= DE DE", says=("no",)),
    Case("years as numbers", INDICATOR, "before 2023", "= FR"),
    Case("years as numbers", INDICATOR, "latest", "= FR", says=("top 1 by year",)),
    Case("several tables, one of which has the column", RESOURCE, "k > 1; Sum > 5", says=("1.234,50",)),
    Case("several tables, one of which has the column", tables(a=[{"x": 1}], b=[{"y": {"l": [{"z": "u"}]}}]),
         "y.l.z = u; count", "count: 1"),
    Case("a field inside an object", GRAPH, "stars.totalCount", "999"),
    Case("a field inside an object", '{"rows":[{"x":1}],"m":{"n":{"größe":5}}}', "größe", "5"),
    Case("a field inside an object", GRAPH, "data.repo.issues.totalCount", '{"data.repo.issues.totalCount":40}'),
    Case("a page deep in a document", GRAPH, "count", "count: 2", says=("2 of 40 rows",)),
    Case("a page of a deep table", GRAPH.replace("totalCount", "n"), "count", "count: 2", says=("hasNextPage",)),
    Case("a page of several", json.dumps({"page": 2, "total_pages": 3, "rows": [{"v": 1}, {"v": 2}]}), "max(v)",
         "max(v): 2", says=("2 rows of one page of 3",)),
    Case("a page with annotations", ENTITIES, "count", "count: 2", says=("2 of 200 rows",)),
    Case("times of another offset", NIGHTS, "sum(v) by day", "day,sum(v): 2026-01-02,1 / 2026-01-03,2 / 2026-01-04,3",
         says=("compared in UTC",)),
    Case("times of another offset", NIGHTS, "2026-01-03; v", "at,v: 2026-01-02T23:30:00-05:00,2",
         says=("compared in UTC",)),
    Case("days before today", AHEAD, "last 7 days", "= 2026-01-13", says=("2026-01-08 to 2026-01-14",)),
    *(Case("a text with signs", SIGNS, select, "n: 1") for select in
      ("email = a@x.com; n", "version = 1.2.3; n", "start = 08:00:00; n", "not email = b@y.org; n",
       "version in (1.2.3, 2.0.0) and start = 08:00:00; n")),
    Case("a time of day that is compared", SIGNS, "start > 09:00", says=("not of one kind",)),
    *(Case("a time behind a space", TIMES, select, "sum(v): 9") for select in
      ("timestamp > 2026-01-12 09:30; sum(v)", "since 2026-01-12 15:00; sum(v)",
       "timestamp between 2026-01-12 15:00 and 2026-01-13 15:00:00; sum(v)")),
    Case("a function of the order of a list", SIGNS, "last(version)", "last(version): 1.10.0",
         says=("in the order of the list",)),
    Case("a column that a step left out", UPS, "v; w; last 1", "date,v,w: 2026-01-04,6,5"),
    Case("a column that a step left out", DAILY, "avg(close) over 2 as ma; close > ma; count",
         f"count: {sum(change > 0 for change in CHANGES)}"),
    Case("a column that a step left out", UPS, "v; top 1 by w", "date,v: 2026-01-04,6",
         says=("w is not among",)),
    Case("a column that a group left out", OPTIONS, "count by type; strike", says=("strike is not among",)),
    Case("a function over rows, and rows", DAILY, "sma(close, 2); last 1", "date,avg(close) over 2: 2026-01-13,103"),
    Case("an order of one row", DAILY, "max(close) as m; order by m desc", says=("Leave",)),
    Case("a word of SQL behind a name", DAILY, "month end", says=("end does not follow",)),
    Case("a word of SQL behind a name", DAILY, "close true", says=("true does not follow",)),
    Case("a name that is a word of SQL", csv("Start,End", "1,5", "2,9"), "end > 6; end - start as n", "n: 7"),
    *(Case("a column for each year", BY_YEAR, select, right) for select, right in (
        ("max(2023)", "max(2023): 3"), ("2023 > 2; country", "country: FR"),
        ("country, 2023", "country,2023: DE,2 / FR,3"),
        ("2024 - 2023 as d; d > 0", "d: 1"), ("top 1 by 2023; country", "country: FR"),
        ("2022, 2023", "2022,2023: 1.5,2 / 1,3"),
    )),
    Case("a column for each year", BY_YEAR, "2023 > 2022", says=("2022 is a column and a number",)),
    Case("a year that is a number", csv("year,v", "2023,1", "2024,2"), "year > 2023; v", "v: 2"),
    *(Case("dates that are all alike before others", VINTAGES, select, right) for select, right in (
        ("latest; value", "date,value: 2025-12-01,3.5"), ("2025-11; value", "date,value: 2025-11-01,3.6"),
        ("change(value); last 1", "date,change(value): 2025-12-01,-0.1"))),
    *(Case("a list without rows", json.dumps({"results": [], "total": 0}), select, '{"results":[],"total":0}',
           says=("no rows",)) for select in ("count", "results; count", "results: latest", "last 3")),
]  # fmt: skip

FLAGS = csv("day,up,v", "2026-01-09,true,5", "2026-01-08,FALSE,6", "2026-01-07,true,", "2026-01-06,,8")
USERS = json.dumps({
    "u1": {"name": "Ann", "active": True, "joined": "2023-05-01", "address": {"city": "Oslo"}, "tags": ["a", "b"]},
    "u2": {"name": "Bo", "active": False, "joined": "2024-01-15", "address": {"city": "Rome"}, "tags": []},
    "u3": {"name": "Cy", "joined": "2022-11-30", "address": {"city": "Oslo"}, "tags": ["b"]},
})  # fmt: skip
NOTHING = json.dumps({"data": [], "meta": {"n": 0}})
QUEUES = tables(a=[{"v": 1, "w": 5}, {"v": 2, "w": 6}], b=[{"v": 3}], summary={"count": 3})

IN_UNITS = csv("id,kg,total", '1,5 kg,"1,200 USD"', "2,12 kg,300 USD", "3,0.5 kg,7 USD")
LINKED = tables(posts=[{"n": 1, "by": {"id": "7"}}, {"n": 2, "by": {"id": "8"}}], users=[{"id": 7, "name": "Ann"}])
EPOCHS = json.dumps([{"at": 1704067200 + day * 86400, "v": day} for day in (40, 30, 0)])
MILLIS = json.dumps([{"at": 1000 * (1704067200 + day * 86400), "v": day} for day in (40, 30, 0)])
NODES = json.dumps([{"node": {"made": f"2025-0{month}-05", "n": month}} for month in (4, 3, 1)])
QUOTES = json.dumps({"A.B": {"price": 4, "up": True}, "C": {"price": 5, "up": False}})
PLACES = json.dumps([{"id": "a", "at": {"xy": [1, 8]}, "code": "2-8"}, {"id": "b", "at": {"xy": [2, 3]}, "code": "2"}])
RATES = json.dumps({"base": "EUR", "rates": {"USD": 2, "GBP": 5}, "@type": "Rates", "sizes": {"count": 4}})
COLORS = json.dumps(["red", "blue", "red"])

ODD_TABLES = [
    *(Case("numbers with a unit", IN_UNITS, select, right) for select, right in (
        ("SELECT sum(CAST(total AS REAL)) AS s FROM data", "s: 1507"),
        ("SELECT sum(CAST(replace(total, ' USD', '') AS REAL)) AS s FROM data", "s: 1507"),
        ("max(kg)", "max(CAST(replace(kg, ' kg', '') AS REAL)): 12"), ("kg > 4; id", "id: 1 / 2"),
        ("top 1 by kg; id", "id: 2"))),
    Case("a text that is no number", IN_UNITS, "SELECT CAST(upper(kg) AS REAL) FROM data", says=("no number",)),
    *(Case("digits in JSON beside numbers", LINKED, select, right) for select, right in (
        ("SELECT n FROM posts p JOIN users u ON p.by->>'$.id' = u.id", "n: 1"),
        ("SELECT n FROM posts p JOIN users u ON u.id = p.by->>'$.id'", "n: 1"),
        ("SELECT n FROM posts WHERE by->>'$.id' IN (SELECT id FROM users)", "n: 1"),
        ("SELECT name FROM users WHERE id IN (SELECT by->>'$.id' FROM posts)", "name: Ann"))),
    *(Case("times since 1970", body, select, right) for body in (EPOCHS, MILLIS) for select, right in (
        ("SELECT date(at) AS d FROM data LIMIT 1", "d: 2024-02-10"), ("since 2024-01-31; v", "v: 40 / 30"),
        ("2024-01; sum(v)", "sum(v): 30"), ("newest first; v; limit 1", "v: 40"))),
    Case("times since 1970", MILLIS, "SELECT date(at, 'unixepoch') AS d FROM data LIMIT 1", "d: 2024-02-10"),
    Case("times since 1970", EPOCHS, "latest; v", "v: 0", says=("top 1 by at",)),
    *(Case("dates in objects", NODES, select, right) for select, right in (
        ("since 2025-03; count", "count: 2"), ("newest first; node.n; limit 1", "node.n: 4"),
        ("sum(node.n) by quarter", 'date_trunc(\'quarter\', "node.made"),sum(node.n): 2025-04-01,4 / 2025-01-01,4'))),
    Case("dates in objects", NODES, "latest; node.n", "node.n: 1", says=('top 1 by "node.made"',)),
    *(Case("values by their keys", QUOTES, select, right) for select, right in (
        ("A.B.price", "key,price: A.B,4"), ("A.B", "key,price,up: A.B,4,True"),
        ("A.B.price - C.price as gap", "gap: -1"))),
    *(Case("the row of a maximum", csv("name,v", "a,5", "b,7"), select, right, says=("top 1 by v; name, v",))
      for select, right in (("max(v); name", "name,v: b,7"), ("name, max(v)", "name,max(v): a,5 / b,7"))),
    *(Case("texts that begin with a digit", PLACES, select, right) for select, right in (
        ("code = 2-8; id", "id: a"), ("at.xy[1] > 4; id", "id: a"), ("code contains 2-8; count", "count: 1"))),
    *(Case("names in an object", RATES, select, right) for select, right in (
        ("USD / GBP as x", '{"x":0.4}'), ("@type", '{"@type":"Rates"}'), ("sizes.count", '{"sizes.count":4}'))),
    Case("two tables in CSV", "y,v\n1,5\n2,6\n\nregion,share\nN,60\n", "count", "count: 4", says=("line 5",)),
    Case("a header among the rows", "y,v\n1,5\ny,v\n2,6\n", "count", "count: 3", says=("repeated",)),
    *(Case("short units", csv("date,v", "2026-01-13,4", "2026-01-05,3", "2025-12-01,2"), select, right)
      for select, right in (("last 2w; count", "count: 2"), ("last 2 mo; count", "count: 3"),
                            ("v > 0.000003m; count", "count: 1"))),
    *(Case("times of the day", TIMES, select, "timestamp,v: 2026-01-13T09:30,3 / 2026-01-12T09:30,1")
      for select in ("time between 09:00 and 10:00", "timestamp < 10:00", "time >= 9:30 and time <= '09:45'")),
    Case("rows of a list by place", csv("name,v", "a,5", "b,7"), "rows[0:1]", "name,v: a,5"),
    Case("a blank line in a cell", 'y,v\n1,"a\n\nb,c\nd"\n2,e\n', "count", "count: 2"),
    *(Case("a list of values", COLORS, select, right) for select, right in (
        ("count", "count: 3"), ("count by value", "value,count: red,2 / blue,1"), ("last 1", "value: red"))),
    *(Case("true and false as text", FLAGS, select, right) for select, right in (
        ("SELECT count(*) AS n FROM data WHERE up", "n: 2"), ("not up; v", "day,v: 2026-01-08,6"),
        ("sum(up)", "sum(up): 2"), ("SELECT sum(v) AS s FROM data WHERE up AND v > 1", "s: 5"),
        ("up = 1; count", "count: 2"),
        ("up = no; count", "count: 1"))),
    Case("true and false as text", FLAGS, "up = maybe", says=("maybe is neither",)),
    Case("a column that is no condition", FLAGS, "up; count", "count: 4", says=("up = true",)),
    Case("a text as a condition of SQL", PAIR, "SELECT count(*) FROM data WHERE symbol", says=("condition is needed",)),
    *(Case("names of weekdays", FLAGS, select, right) for select, right in (
        ("weekday in (Thu, Fri); count", "count: 2"), ("weekday = Fridays; v", "day,v: 2026-01-09,5"),
        ("weekday != fri; count", "count: 3"))),
    *(Case("no name of a weekday", FLAGS, select, says=("Monday to Sunday",)) for select in
      ("weekday = 5", "weekday in (Fri, Foo)")),
    *(Case("nothing is found", FLAGS, select, right, says=says) for select, right, says in (
        ("SELECT * FROM data WHERE day > '2027'", "day,up,v: ", ("day is from 2026-01-06 to 2026-01-09",)),
        ("SELECT count(*) AS n FROM data WHERE v > 90", "n: 0", ("v is from 5 to 8",)),
        ("v > 90; count", "count: 0", ("v is from 5 to 8",)),
        ("v > 90; sum(v)", "sum(v): ", ("v is from 5 to 8",)))),
    Case("nothing is found", csv("region,v", "EMEA,1", ",2", ",3"), "region = ''; v", "v: ", says=("null in 2",)),
    *(Case("objects by their keys", USERS, select, right) for select, right in (
        ("active = true; name", "key,joined,name: u1,2023-05-01,Ann"),
        ("count by address.city", "address.city,count: Oslo,2 / Rome,1"),
        ("tags contains b; name", "key,joined,name: u1,2023-05-01,Ann / u3,2022-11-30,Cy"),
        ("since 2023; count", "count: 2"), ("latest; name", "key,joined,name: u2,2024-01-15,Bo"),
        ("key = u3; name", "key,joined,name: u3,2022-11-30,Cy"))),
    Case("a list without rows beside others", NOTHING, "SELECT count(*) AS n FROM data", "n: 1", says=("empty list",)),
    Case("a list without rows beside others", NOTHING, "avg(close)", '{"data":[],"meta":{"n":0}}', says=("no rows",)),
    Case("a text that cannot sort", csv("n,v", "a,1", "b,3", "c,2"), "top 1 by 'v'; n", "n: b", says=("same for all",)),
    Case("a place that cannot sort", csv("n,v", "a,1", "b,3", "c,2"), "order by 2 desc; n", "n: b / c / a"),
    Case("a total that cannot sort", csv("n,v", "a,1", "b,3", "c,2"), "order by sum(v) desc; n", "n: b / c / a"),
    Case("a sum that cannot sort", csv("n,v", "a,1", "b,3"), "order by 1 + 1", says=("same for all",)),
    Case("words for true", csv("n,v", "a,yes", "b,no", "c,"), "v is false; count", "count: 0", says=("v has no, yes",)),
    Case("words for true, not", csv("n,v", "a,true", "b,x"), "v is not true; n", "n: b"),
    Case("a total of several tables", QUEUES, "a: sum(v)", "sum(v): 3"),
    Case("a column with the name of a unit", FLAGS,
         "SELECT date_trunc('month', day) AS m, sum(v) AS s FROM data GROUP BY 1", "m,s: 2026-01-01,19"),
    Case("all columns in SQL", FLAGS, "SELECT * FROM data WHERE v > 6", "day,up,v: 2026-01-06,,8"),
    Case("a window of QUALIFY", PAIR,
         "SELECT * FROM data QUALIFY row_number() OVER (PARTITION BY symbol ORDER BY close) = 1",
         "symbol,date,close: AAPL,2026-01-09,240 / MSFT,2026-01-12,400"),
]  # fmt: skip

CASES = [
    *READINGS, *ORDER_OF_STEPS, *NEIGHBOURS, *LOOKALIKES, *NEWEST_AND_PLACE, *NUMBERS, *DATES, *NAMES, *PARTS,
    *ANSWERS_OF_APIS, *ODD_TABLES,
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=[f"{case.kind}: {case.select}" for case in CASES])
def test_result_is_right_or_refused(case: Case) -> None:
    found = outcome(case.select, case.body, case.answer, case.partition)
    assert all(word.lower() in found.said.lower() for word in case.says), found.said
    if any(word.lower() in found.said.lower() for word in case.otherwise):
        return
    if case.right:
        assert written(found.document, case.right) == case.right, found.said
    else:
        assert found.error is not None, written(found.document, "")
