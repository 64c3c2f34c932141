"""Names of columns and tables that may mean several things."""

import json

from tests.unit.results.select.cases import DAILY, OPTIONS, PAIR, Case, check, csv, each

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


@each(NAMES)
def test_result_is_right_or_refused(case: Case) -> None:
    check(case)
