"""Names, dates, texts and rows of answers that may be read in several ways."""

import itertools
import json

import pytest

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
    column,
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
from tests.unit.results.select.outcomes import run

YIELDS = csv(
    "maturity,date,value",
    *("10year,2026-01-01,4.20", "10year,2025-12-01,4.10", "2year,2026-01-01,3.60", "2year,2025-12-01,3.55"),
)

_TEXTS_OF_JSON = json.dumps(
    {"rows": [{"day": f"2024-0{month}-01", "load": json.dumps({"n": month})} for month in (1, 2, 3)], "rowCount": 3}
)
_SIGNED = csv("x-y,k", "2,a", "4,b")

NAMES = [
    Case("signs in a name", _SIGNED, "x-y > 3; k", "k: b", says=("x-y",)),
    Case("part of other texts", csv("name", "a", "b"), "name.first is null", says=("name.first",)),
    Case("count is no column of a similar name", _TEXTS_OF_JSON, "day in 2024-02; count", "count: 1"),
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
    Case("a word of a name before a statement", csv("date,adjusted close", "2026-01-01,2"),
         "adjusted; SELECT date FROM data", "= 2026-01-01", says=("adjusted is read as adjusted_close",)),
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
    Case("a value in another case", OPTIONS, "type = CALL; count", "count: 2"),
    Case("booleans as text", csv("name,active", "a,true", "b,false", "c,TRUE"), "active = true; count", "count: 2"),
    Case("empty texts", json.dumps([{"name": "a", "note": ""}, {"name": "b", "note": "x"}]), "note is null", "= a"),
    Case("groups without a key", csv("name,type,v", "a,x,1", "b,,2", "c,x,3"), "sum(v) by type",
         "type,sum(v): x,4 / ,2"),
    Case("null keys are not lost", csv("name,type,v", "a,x,1", "b,,2", "c,x,3"), "count by type",
         "type,count: x,2 / ,1"),
    *(Case("names that differ by case, of percentages", body, "open", "open: 46.2%")
      for body in ('[{"Open": "574K", "open": "46.2%"}]', csv("Open,open", "574K,46.2%"))),
    Case("a name of a unit of time", csv("date,year", "2026-01-14,-86.56%", "2025-12-31,-26.12%"),
         'bottom 1 by "year"; "year"', "date,year: 2026-01-14,-86.56%"),
    Case("duplicate names", csv("a,a", "1,2"), "max(a)", otherwise=("a_2", "twice", "two columns", "same name",
         "duplicate")),
    Case("a header that repeats", csv("date,v", "2026-01-13,1", "date,v", "2026-01-12,2"), "sum(v)", "sum(v): 3",
         otherwise=("as v shows",)),
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


NUMBERS = [
    *(Case("a decimal comma", csv("v,w", "0.5,1", "0.1,2", "1234.5,3"), select)
      for select in ("v > 0,125; sum(w)", "v = ,5; sum(w)", "v between 0,1 and 0,6; sum(w)", "v < 1.234,6; sum(w)",
                     "SELECT w FROM data WHERE v > 0,125")),
    Case("separators, order", column("1,234.5", "12,000", "999"), "order by v", "v: 999 / 1,234.5 / 12,000"),
    Case("separators, SQL", column("1,234.5", "12,000", "999"), "SELECT sum(v) AS m FROM data", "m: 14233.5"),
    Case("apostrophes", column("1'234", "999", "12'000"), "max(v)", "max(v): 12000", otherwise=("1'234",)),
    Case("blanks that do not break", column("1\u00a0234", "999"), "max(v)", "max(v): 1234",
         otherwise=("1\u00a0234",)),
    Case("prices in a currency", column("$12.5", "$12.50", "$9.5"), "sum(v)", "sum(v): 34.5"),
    Case("numbers that may be versions", column("12.5", "12.50", "9.5"), "sum(v)", says=("CAST(v AS REAL) reads",)),
    *(Case("other values", column("1", "x"), f"{function}(v)", says=("as x shows",)) for function in ("sum", "total")),
    Case("prices of other whole numbers", column("12.50", "9.5", "3.75", "4.0"), "max(v)", "max(v): 12.5"),
    Case("a zero alone beside a version", column("4.0", "4.5", "4.10"), "max(v)", says=("as 4.10 shows",)),
    Case("equal numbers that may be versions", column("12.5", "12.50", "9.5"), "v = 12.5; count", "count: 1",
         says=("v is compared as text; CAST(v AS REAL)",)),
    Case("equal numbers", column("12.5", "12.50", "9.5"), "CAST(v AS REAL) = 12.5; count", "count: 2"),
    Case("a date that is true", column("2024-01-01", "2024-01-02"), "v is true", says=("neither true nor false",)),
    Case("versions as numbers", column("12.5", "12.50", "9.5"), "sum(CAST(v AS REAL))", "sum(CAST(v AS REAL)): 34.5"),
    Case("units as numbers", column("5%", "0.5"), "sum(CAST(v AS REAL))", says=("is no number",)),
    *(Case("a number of a text", column("5 kg", "12 kg"), f"{name}(v)", says=("as \"5 kg\" shows",))
      for name in ("round", "sign")),
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
    Case("percent, largest", column("5%", "7.5%", "12%"), "top 1 by v", "v: 12%"),
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
    Case("decimal commas", column("2,926", "0,452", "1.600,5"), "max(CAST(v AS REAL))", says=("not of one kind",)),
    Case("decimal commas with a unit", column("2,7 kg", "12,5 kg"), "sum(v)", says=("not of one kind",)),
    Case("durations", column("PT1H30M", "PT45M"), "max(v)", says=("not of one kind",)),
    Case("intervals", csv("span,v", "3 days 04:00:00,1", "10 days -01:30:00,2", "1 year 2 mons,3"), "max(span)",
         says=("not of one kind",)),
    Case("numbers in texts, order", csv("id", "A9", "A10", "A2"), "order by id", "id: A10 / A2 / A9",
         says=("A10 is before A2",)),
    Case("numbers in texts, largest", csv("p", "USD 9", "USD 10"), "max(p)", "max(p): USD 9",
         says=("compared as text",)),
    Case("numbers in texts, rank", csv("p,v", "#9,1", "#10,2"), "top 1 by p; v", "v: 1",
         says=("compared as text",)),
    Case("numbers in texts, SQL", csv("p", "week 9", "week 10"), "SELECT p FROM data ORDER BY p DESC LIMIT 1",
         "p: week 9", says=("compared as text",)),
    Case("codes of several lengths", csv("code", "7", "010", "100"), "max(code)", "max(code): 7",
         says=("compared as text",)),
    Case("a URL", csv("url,v", "https://a.test/?b=1&c=2,1", "https://a.test/,2"),
         "url = https://a.test/?b=1&c=2; v", "v: 1"),
    Case("texts of true and false", csv("f,v", "true,1", "false,2"), "jmespath: max_by(rows, &f).v", "1"),
    Case("numbers against a text", csv("name,v", "a,1", "b,2"), "name > 5", says=("name",)),
]  # fmt: skip


@pytest.mark.parametrize(
    "select",
    [
        "SELECT a.version FROM data a JOIN data b ON a.version = b.version",
        "SELECT id FROM data ORDER BY id",
        "order by id",
        "max(name)",
    ],
)
def test_text_that_is_compared_as_meant_has_no_note(select: str) -> None:
    body = csv("version,id,name", "1.1,1234ab,Sun Life", "1.10,12bcde,May Corp", "1.9,9ab0c1,Sat Co")
    assert not run(select, body).notes


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
    Case("rows after an aggregate", DAILY, "max(close); last 5", "date,max(close): 2026-01-13,104"),
    Case("period after an aggregate", DAILY, "avg(close); since 2026-01-12", "avg(close): 103"),
    Case("period after groups of a column", OPTIONS, "sum(volume) by type; 2026-02",
         "type,sum(volume): call,200 / put,"),
]  # fmt: skip

NEIGHBOURS = [
    *orders(lambda body, order: Case(f"changes, {order}", body, "pct_change(close); last 5; order by date desc",
                                      series("pct_change(close)", days(5), PERCENTS)), DAILY),
    Case("change of the newest week", WEEKLY, "change(close); last 1", series("change(close)", ["2026-01-09"],
         CHANGES)),
    Case("change of one row", WEEKLY, "last 1; change(close)", "date,change(close): 2026-01-09,", says=("before",)),
    Case("change of the first row of a period", DAILY, "2026-01-12..2026-01-13; change(close)",
         "date,change(close): 2026-01-13,2 / 2026-01-12,", says=("before",)),
    Case("change before a period", DAILY, "change(close); 2026-01-12..2026-01-13",
         "date,change(close): 2026-01-13,2 / 2026-01-12,2"),
    Case("change of years", MONTHLY, "change(close) by year", f"year,change(close): {_BY_YEAR}", says=("before",)),
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
    *(Case("a function of all rows beside one of two", UPS, select, says=("of all rows",))
      for select in ("max(v) - min(v) over 2; last 1", "max(v) over 2 - min(v); last 1")),
    Case("parentheses keep both", UPS, "max(v) - (min(v) over 2) as d; last 1", "date,d: 2026-01-04,2"),
    Case("a change over rows", UPS, "change(v) over 2; last 1", says=("change(x, 2)",)),
    Case("a function behind its groups", UPS, "weekday; max(v)",
         "weekday,max(v): Sunday,6 / Saturday,4 / Friday,3 / Thursday,2", says=("max(v) by weekday",)),
    Case("a name behind the groups", UPS, "max(v) by weekday as most; top 1 by most", says=("before by",)),
]  # fmt: skip

NEWEST_AND_PLACE = [
    *(Case(f"{guess}, newest first", DAILY, guess, "= " + " ".join(sorted(days(size), reverse=True)))
      for guess, size in (("tail(5)", 5), ("tail 2", 2), ("[-1]", 1), ("[-2:]", 2))),
    Case("close[-1], newest first", DAILY, "close[-1]", says=("place of an item",)),
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
    Case("a sign of another language", OPTIONS, "type === 'call'; count", "count: 2"),
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
    Case("the close beside a price", csv("symbol,price,previousClose", "A,5,4"), "max(close)", says=('"max(price)"',)),
    Case("a table under another name", PAIR, "SELECT count(*) AS n FROM prices", "n: 6"),
    Case("an expression that finds nothing", TAGGED, "labels[*].name", says=("cannot be read",)),
    Case("a unit that is not known in several tables", WEIGHTS, "weight > 5%", says=("fractions",)),
    Case("a time and a table", TIMES, "since 15:00", says=("does not follow",)),
]  # fmt: skip


@each(NAMES, DATES, NUMBERS, ORDER_OF_STEPS, NEIGHBOURS, LOOKALIKES, NEWEST_AND_PLACE, READINGS)
def test_result_is_right_or_refused(case: Case) -> None:
    check(case)
