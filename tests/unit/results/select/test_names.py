"""Names, dates and texts of answers that may mean several things."""

import json

import pytest

from tests.unit.results.select.cases import DAILY, MONTHLY, OPTIONS, PAIR, Case, check, column, csv, dated, each
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
    Case("part of a text of JSON", _TEXTS_OF_JSON, "load.n > 1; count", "count: 2", says=("json_extract",)),
    Case("part of a text of JSON is null", _TEXTS_OF_JSON, "load.n is null; count", "count: 0"),
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


NUMBERS = [
    *(Case("a decimal comma", csv("v,w", "0.5,1", "0.1,2", "1234.5,3"), select, f"sum(w): {right}",
           says=(f'Write "{form}',))
      for select, form, right in (
          ("v > 0,125; sum(w)", "v > 0.125;", 4), ("v = ,5; sum(w)", "v = 0.5;", 1),
          ("v between 0,1 and 0,6; sum(w)", "v between 0.1 and 0.6;", 3), ("v < 1.234,6; sum(w)", "v < 1234.6;", 6))),
    Case("a decimal comma", csv("v,w", "0.5,1", "0.1,2"), "SELECT w FROM data WHERE v > 0,125", "w: 1",
         says=('Write "SELECT w FROM data WHERE v > 0.125"',)),
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


@each(NAMES, DATES, NUMBERS)
def test_result_is_right_or_refused(case: Case) -> None:
    check(case)


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
