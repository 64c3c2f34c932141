"""Rows that are selected: the order of steps, the rows before one, the newest, and what looks alike."""

import itertools
import json

from tests.unit.results.select.cases import (
    CHANGES,
    CLOSES,
    DAILY,
    MONTHLY,
    OPTIONS,
    PAIR,
    TIMES,
    UPS,
    Case,
    check,
    csv,
    dated,
    days,
    each,
    number,
    orders,
    reverse,
    series,
    tables,
)

RSI = [30 + index * 17 % 50 for index in range(60)]
PERCENTS = [100 * (new - old) / old for new, old in itertools.pairwise(CLOSES)]
WEEKLY = dated(CLOSES, "2026-01-09", 7)
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
    *orders(lambda body, order: Case(f"changes, {order}", body, "pct_change(close); last 5; order by date desc",
                                      series("pct_change(close)", days(5), PERCENTS)), DAILY),
    *orders(lambda body, order: Case(f"differences, {order}", body, "change(close); last 2; newest first",
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
    *orders(lambda body, order: Case(f"last of dates {order}", body, "last 2; order by date; close",
                                      "date,close: 2026-01-12,102 / 2026-01-13,104"), DAILY),
    *orders(lambda body, order: Case(f"latest of years as numbers, {order}", body, "latest", "= 2024",
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


@each(ORDER_OF_STEPS, NEIGHBOURS, LOOKALIKES, NEWEST_AND_PLACE, READINGS)
def test_result_is_right_or_refused(case: Case) -> None:
    check(case)
