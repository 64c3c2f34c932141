"""Pages, several tables, objects, and other answers that are no plain list."""

import json
from collections.abc import Sequence

import pytest

from tests.unit.results.select.cases import (
    CHANGES,
    DAILY,
    OPTIONS,
    PAIR,
    TIMES,
    UPS,
    Case,
    check,
    column,
    csv,
    days,
    each,
    number,
    tables,
)
from tests.unit.results.select.outcomes import run

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
    Case("a page before its rows", json.dumps([{"page": 1, "total": 50}, [{"v": 1}, {"v": 2}]]), "count", "count: 2",
         says=("2 of 50",)),
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
BADGES = csv("id,active,paid,admin,one", "1,Y,N,0,1", "2,N,N,1,1", "3,Y,N,1,1")
BILLS = csv("day,item,amount,currency", "2026-01-01,a,5,USD", "2026-01-02,b,6,EUR", "2026-01-03,c,7,USD")
SALES = csv("region,sales", "north,5", "south,6", "Total,11")
LEDGER = csv("period,amount", "2024Q1,2", "2024Q1,3", "2024Q2,4")
PAGES = csv("labels_argument,date,labels,n", "x,2026-01-13,a,1", "x,2026-01-12,b,2", "y,2026-01-11,a,3")

ANSWERS_OF_APIS = [
    *(Case("a field of a record that has a list", ORDER, select, right) for select, right in (
        ("id, user.login", '{"id":"007","user.login":"ann"}'), ("user.login", '{"user.login":"ann"}'),
        ("total as t", '{"t":"$5.50"}'), ("total * 2 as t", '{"t":11}'), ("total > 5; id", '{"id":"007"}'),
        (".user.login", '{"user.login":"ann"}'),
        ("id, lines.sku", '{"id":"007","lines.sku":["01","02"]}'), ("qty > 2; sku", "sku: 02"),
    )),
    Case("columns of a page", json.dumps({"items": [{"id": 1, "v": 2}], "total": 9, "next": "/2"}), "id", "id: 1",
         says=("1 of 9",)),
    Case("rows counted off a page", tables(items=[{"id": 1}, {"id": 2}], total=9), "limit 1; id", "id: 1"),
    Case("errors beside the data", tables(data=[{"id": 1}], errors=[{"message": "late"}]), "data; count", "count: 1",
         says=("reports errors beside these rows (1)",)),
    Case("errors as texts", tables(data=[{"id": 1}], errors=["late", "lost"]), "id", "id: 1", says=("rows (2)",)),
    Case("columns of two tables", tables(a=[{"x": 1}], b=[{"y": 1}]), "x, y", says=("no table fits",)),
    Case("a name with a hyphen in a path", tables(data=[{"id": 1, "at": {"due-on": "2026-01-02"}}], more=[{"id": 2}]),
         "at.due-on >= 2026-01-01; id", "id: 1", says=('Write \'"at.due-on" >= 2026-01-01; id\'',)),
    Case("a name in quotes in a path", tables(data=[{"id": 1, "at": {"due-on": 3}}]), 'max(at."due-on")',
         'max("at.due-on"): 3'),
    *(Case("an item of a list in a cell", json.dumps([{"id": 1, "p": [["a", 5], ["b", 6]]}]), select,
           says=("json_extract",)) for select in ("p[0][0] = a; id", "p[-1]", "p[1][1]")),
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
    Case("a list as a key of groups", ORDER, "count by tags", says=("are lists",)),
    *(Case("parts of a cell", json.dumps([{"p": part} for part in parts]), "length(p) as k", f"k: {right}")
      for parts, right in (([{"a": 1, "b": 2}, {"a": 1}, None], "2 / 1 / "), ([[1, 2], []], "2 / 0"))),
    Case("different values of lists", ORDER, "distinct tags; count", says=("are lists",)),
    *(Case("different values of lists", ORDER, select, says=("are lists", "json_each(data.tags)")) for select in
      ("count(distinct sku, tags)", "count(distinct tags)", "count(distinct tags) by sku",
       "count(distinct tags), count")),
    Case("the length of a list", ORDER, "sku, count(tags)", says=("is one value",)),
    Case("the length of a list", ORDER, "sku, length(tags)", "sku,length(tags): 01,2 / 02,1"),
    Case("a path that an earlier step left out", json.dumps([{"n": 1, "user": {"login": "ann"}}]), "n; user.login",
         "n,user.login: 1,ann"),
    *(Case("a text in the quotes of a name", STAFF, select, right) for select, right in (
        ('state = "closed"; name', "closed_at,name: ,b / 2026-01-03,c"), ('state in ("closed"); count', "count: 2"),
        ('state != "closed"; count', "count: 1"), ('state like "%PEN"; count', "count: 1"),
        ('SELECT name FROM data WHERE state = "closed"', "name: b / c"),
    )),
    Case("an empty text as a date", STAFF, "closed_at = ''; count", "count: 1"),
    Case("a word as a condition", STAFF, "active and state = closed; name", "closed_at,name: 2026-01-03,c"),
    Case("a word as a condition", STAFF, "SELECT name FROM data WHERE active", "name: a / c"),
    Case("a word as a condition", STAFF, "not active; count", "count: 1"),
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
    Case("years as numbers", INDICATOR, "since 2023", says=("country, year",)),
    Case("years as numbers", INDICATOR, "latest", "= FR", says=("no column of dates",)),
    Case("several tables, one of which has the column", RESOURCE, "k > 1; Sum > 5",
         says=("1.234,50", "CAST(replace(replace(Sum, '.', ''), ',', '.') AS REAL)")),
    Case("several tables, one of which has the column", tables(a=[{"x": 1}], b=[{"y": {"l": [{"z": "u"}]}}]),
         "y.l.z = u; count", says=("are lists",)),
    Case("a text that no row has", OPTIONS, "type != put limit 2; count", "count: 4", says=("put limit 2",)),
    Case("a text beside other values", '[{"v":true},{"v":2},{"v":"x"}]', "v != x; count", "count: 2"),
    Case("a text that no row has", OPTIONS, "type in (call, puts); count", "count: 2", says=("no row has puts",)),
    Case("several tables, refused for several reasons", tables(a=[{"day": "2026-01-01"}], b=[{"w": 1}], c=[{"m": 1}]),
         "change(w) by year", says=("needs a column of dates",)),
    Case("a field inside an object", GRAPH, "data.repo.issues.totalCount", '{"data.repo.issues.totalCount":40}'),
    Case("a page deep in a document", GRAPH, "count", "count: 2", says=("2 of 40 rows",)),
    Case("a page of a deep table", GRAPH.replace("totalCount", "n"), "count", "count: 2", says=("hasNextPage",)),
    Case("a page of several", json.dumps({"page": 2, "total_pages": 3, "rows": [{"v": 1}, {"v": 2}]}), "max(v)",
         "max(v): 2", says=("2 rows of one page of 3",)),
    *(Case("a page", json.dumps({"rows": [{"v": 1}, {"v": 2}], **beside}), "max(v)", "max(v): 2", says=(said,))
      for beside, said in (
          ({"total": "40"}, "2 of 40 rows"), ({"meta": {"pagination": {"total": 40}}}, "2 of 40 rows"),
          ({"total": {"value": 40, "relation": "eq"}}, "2 of 40 rows"), ({"totalElements": 40}, "2 of 40 rows"),
          ({"meta": {"page": {"total_pages": 3}}}, "page of 3"), ({"LastEvaluatedKey": {"id": 2}}, "LastEvaluatedKey"),
          ({"_links": {"self": {"href": "/v"}, "next": {"href": "/v?p=2"}}}, "as next states"),
          ({"info": {"next": "/v?p=2"}}, "as next states"), ({"extra": {"has_more": True}}, "as has_more states"),
          ({"continue": {"continue": "-|"}}, "as continue states"), ({"IsTruncated": True}, "IsTruncated"))),
    *(Case("a page", json.dumps({"total": 40, "rows": [{"v": 1}, {"v": 2}]}), select, right,
           says=("may be 2 of 40 rows", "may be one page"))
      for select, right in ((None, "v: 1 / 2"), ("jmespath: length(rows)", "2"), ("first 1", "v: 1"))),
    Case("an object is no page", json.dumps({"total": 40, "name": "x"}), "name", '{"name":"x"}'),
    Case("a page with annotations", ENTITIES, "count", "count: 2", says=("2 of 200 rows",)),
    Case("times of another offset", NIGHTS, "sum(v) by day", "day,sum(v): 2026-01-02,1 / 2026-01-03,2 / 2026-01-04,3",
         says=("compared in UTC",)),
    Case("times of another offset", NIGHTS, "2026-01-03; v", "at,v: 2026-01-02T23:30:00-05:00,2",
         says=("compared in UTC",)),
    Case("times of another offset, in SQL", NIGHTS, "SELECT min(at) AS first FROM data", "first: 2026-01-02T04:30:00",
         says=("in UTC",)),
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

WORLD = csv("entity,attribute,v", "a,height,180", "b,height,165", "a,smoker,N")
MEMBERS = csv("name,active,flag", "a,Y,1", "b,N,0", "c,,1")

PLACES = json.dumps([{"id": "a", "at": {"xy": [1, 8]}, "code": "2-8"}, {"id": "b", "at": {"xy": [2, 3]}, "code": "2"}])
RATES = json.dumps({"base": "EUR", "rates": {"USD": 2, "GBP": 5}, "@type": "Rates", "sizes": {"count": 4}})
COLORS = json.dumps(["red", "blue", "red"])

ODD_TABLES = [
    Case("numbers with a unit", IN_UNITS, "SELECT sum(CAST(replace(total, ' USD', '') AS REAL)) AS s FROM data",
         "s: 1507"),
    *(Case("numbers with a unit", IN_UNITS, select, says=said) for select, said in (
        ("SELECT sum(CAST(total AS REAL)) AS s FROM data", ("no number", "replace(x, ' kg', '')")),
        ("max(kg)", ("CAST(kg AS REAL)", "replace(kg, ' kg', '')")), ("kg > 4; id", ("as \"5 kg\" shows",)),
        ("top 1 by kg; id", ("as \"5 kg\" shows",)))),
    Case("numbers among words", WORLD, "SELECT avg(CAST(v AS REAL)) AS a FROM data WHERE attribute = 'height'",
         "a: 172.5"),
    Case("numbers among words", WORLD, "max(v)", says=("as N shows",)),
    *(Case("numbers in several forms", csv("n,v", *rows), "max(v)", says=(said,)) for rows, said in (
        (("a,21.5", 'b,"21,9"'), "21.5 beside 21,9"), (("a,5-", "b,7"), "as 5- shows"))),
    *(Case("words for false", MEMBERS, select, right) for select, right in (
        ("not active; name", "name: b"), ("not flag; name", "name: b"),
        ("flag = true; count", "count: 2"), ("SELECT name FROM data WHERE NOT active", "name: b"))),
    *(Case("amounts behind a word", column("US$ 1,200", "US$ 300"), select, right, says=("is before",))
      for select, right in (("max(v)", "max(v): US$ 300"), ("order by v; limit 1", "v: US$ 1,200"))),
    Case("a text that is no number", IN_UNITS, "SELECT CAST(upper(kg) AS REAL) FROM data", says=("no number",)),
    *(Case("digits in JSON beside numbers", LINKED, select, right, answer={"kind": "typed"}) for select, right in (
        ("SELECT n FROM posts p JOIN users u ON p.by->>'$.id' = u.id", "n: 1"),
        ("SELECT n FROM posts p JOIN users u ON u.id = p.by->>'$.id'", "n: 1"),
        ("SELECT n FROM posts WHERE by->>'$.id' IN (SELECT id FROM users)", "n: 1"),
        ("SELECT name FROM users WHERE id IN (SELECT by->>'$.id' FROM posts)", "name: Ann"))),
    *(Case("times since 1970", body, select, right) for body in (EPOCHS, MILLIS) for select, right in (
        ("SELECT date(at) AS d FROM data LIMIT 1", ""), ("since 2024-01-31; v", ""),
        ("newest first; v; limit 1", ""))),
    Case("times since 1970", MILLIS, "SELECT date(at, 'unixepoch') AS d FROM data LIMIT 1", says=("at / 1000",)),
    Case("times since 1970", EPOCHS, "latest; v", "v: 0", says=("no column of dates",)),
    *(Case("dates in objects", NODES, select, right) for select, right in (
        ("node.made since 2025-03; count", "count: 2"),
        ("since 2025-03; count", ""), ("sum(node.n) by quarter", ""))),
    Case("an object that names fields of objects", NODES, {"where": {"node.n": {"$gt": 3}}, "columns": "node.n"},
         "node.n: 4"),
    Case("dates in objects", NODES, "latest; node.n", "node.n: 1", says=("no column of dates",)),
    *(Case("values by their keys", QUOTES, select, right) for select, right in (
        ("A.B.price", "key,price: A.B,4"), ("A.B", "key,price,up: A.B,4,True"))),
    Case("values by their keys", QUOTES, "A.B.price - C.price as gap", says=("no column A.B.price", "key, price")),
    Case("the row of a maximum", csv("name,v", "a,5", "b,7"), "max(v); name", says=("name is not among",)),
    Case("texts that begin with a digit", PLACES, "code = 2-8; id", says=("is text",)),
    Case("a name behind a place", json.dumps([{"n": 1, "s": [{"k": "A"}]}]), "s[0].k = C; n", says=("json_extract",)),
    *(Case("names in an object", RATES, select, right) for select, right in (
        ("USD / GBP as x", '{"x":0.4}'), ("@type", '{"@type":"Rates"}'), ("sizes.count", '{"sizes.count":4}'))),
    Case("two tables in CSV", "y,v\n1,5\n2,6\n\nregion,share\nN,60\n", "count", "count: 4", says=("line 5",)),
    Case("a header among the rows", "y,v\n1,5\ny,v\n2,6\n", "count", "count: 3", says=("repeated",)),
    *(Case("short units", csv("date,v", "2026-01-13,4", "2026-01-05,3", "2025-12-01,2"), select, right)
      for select, right in (("last 2w; count", "count: 2"), ("last 2 mo; count", "count: 3"))),
    *(Case("times of the day", TIMES, select, says=("is not",))
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
    *(Case("a column that is no condition", body, select, right, says=says) for body, select, right, says in (
        (FLAGS, "up; count", "count: 4", ("no rows",)), (BADGES, "active; count", "count: 3", ("no rows",)),
        (BADGES, "where active; count", "count: 3", ("no rows",)), (BADGES, "id; count", "count: 3", ()),
        (BADGES, "id > 0; admin; count", "count: 3", ("no rows",)), (BADGES, "paid; count", "count: 3", ("no rows",)),
        (BADGES, "active; active = Y; count", "count: 2", ()), (BADGES, "one; count", "count: 3", ()),
        (BADGES, "not paid; count", "count: 3", ("paid = 'N'",)), (BADGES, "active; last 1", "active: Y", ()),
        (BADGES, "active and id > 1; count", "count: 1", ("active = 'Y'",)),
        (BADGES, "admin = yes; count", "count: 2", ("admin = 1",)))),
    *(Case("a year that is a column, in SQL", BY_YEAR, select, right, says=("column and a number",))
      for select, right in (("SELECT 2023 FROM data", "2023: 2 / 3"),
                            ("SELECT 2024 - 2023 AS d FROM data", "d:  / 1"),
                            ("SELECT country FROM data ORDER BY 2023 DESC", "country: FR / DE"))),
    Case("a year that is a column, in SQL", BY_YEAR, "SELECT country FROM data LIMIT 2023", "country: DE / FR"),
    *(Case("errors beside the data", body, select, right, says=("errors beside these rows (1)",))
      for body in (tables(data=[{"id": 1}], errors=["late"]),)
      for select, right in ((None, "id: 1"), ("jmespath: data[0].id", "1"))),
    *(Case("several units", BILLS, select, right, says=says) for select, right, says in (
        ("sum(amount)", "sum(amount): 18", ("differ in currency: EUR, USD",)),
        ("last 2; max(amount)", "day,max(amount): 2026-01-03,7", ("EUR, USD",)),
        ("amount; avg(amount)", "avg(amount): 6", ("EUR, USD",)),
        ("sum(amount) by month", "month,sum(amount): 2026-01,18", ("EUR, USD",)))),
    *(Case("a total among the rows", SALES, select, right, says=("Total as region",)) for select, right in (
        ("sum(sales)", "sum(sales): 22"), ("count", "count: 3"))),
    *(Case("a line that is no row", body, select, right, says=(says,)) for body, select, right, says in (
        ("Sales of 2026\nregion,sales\nN,5\nS,6\n", "sum(sales)", "", "Line 1 may be a title"),
        ("Sales,\r\nregion,sales\r\nN,5\r\n", None, "Sales,: region,sales / N,5", "Line 1 may be a title"),
        ("region,sales\nN,5\nS,6\nSource: me\n", "count", "count: 3", "Line 4 may be no row"))),
    Case("a text as a condition of SQL", PAIR, "SELECT count(*) FROM data WHERE symbol", says=("condition is needed",)),
    *(Case("names of weekdays", FLAGS, select, right) for select, right in (
        ("weekday in (Thu, Fri); count", "count: 2"), ("weekday = Fridays; v", "day,v: 2026-01-09,5"),
        ("weekday != fri; count", "count: 3"))),
    *(Case("an order of weekdays", FLAGS, select, right) for select, right in (
        ("order by weekday; limit 2; v", "day,v: 2026-01-06,8 / 2026-01-07,"),
        ("sum(v) by weekday; order by weekday desc; limit 2", "weekday,sum(v): Friday,5 / Thursday,6"),
        ("SELECT dayname(day) AS d, sum(v) AS s FROM data GROUP BY d ORDER BY d LIMIT 1", "d,s: Tuesday,8"),
        ("SELECT dayname(day), v FROM data ORDER BY 1 DESC LIMIT 1", "dayname(day),v: Friday,5"),
        ("SELECT strftime('%A', day) AS d FROM data WHERE v = 8", "d: Tuesday"))),
    *(Case("no name of a weekday", FLAGS, select, says=("Monday to Sunday",)) for select in
      ("weekday = 5", "weekday in (Fri, Foo)")),
    *(Case("nothing is found", FLAGS, select, right, says=says) for select, right, says in (
        ("SELECT * FROM data WHERE day > '2027'", "day,up,v: ", ("found nothing",)),
        ("SELECT count(*) AS n FROM data WHERE v > 90", "n: 0", ()),
        ("v > 90; count", "count: 0", ("v is from 5 to 8",)),
        ("v > 90; sum(v)", "sum(v): ", ("v is from 5 to 8",)))),
    Case("nothing is found", csv("region,v", "EMEA,1", ",2", ",3"), "region = ''; v", "v: ", says=("null in 2",)),
    *(Case("objects by their keys", USERS, select, right) for select, right in (
        ("active = true; name", "key,joined,name: u1,2023-05-01,Ann"),
        ("count by address.city", "address.city,count: Oslo,2 / Rome,1"),
        ("tags contains b; name", "key,joined,name: u1,2023-05-01,Ann / u3,2022-11-30,Cy"),
        ("since 2023; count", "count: 2"), ("latest; name", "key,joined,name: u2,2024-01-15,Bo"),
        ("key = u3; name", "key,joined,name: u3,2022-11-30,Cy"))),
    Case("a list without rows beside others", NOTHING, "SELECT count(*) AS n FROM data",
         '{"data":[],"meta":{"n":0}}', says=("no rows",)),
    Case("a list without rows beside others", NOTHING, "avg(close)", '{"data":[],"meta":{"n":0}}', says=("no rows",)),
    Case("a text that cannot sort", csv("n,v", "a,1", "b,3", "c,2"), "top 1 by 'v'; n", says=("same for all",)),
    Case("a sum that cannot sort", csv("n,v", "a,1", "b,3"), "order by 1 + 1", says=("same for all",)),
    Case("words for true", csv("n,v", "a,yes", "b,no", "c,"), "v is false; count", "count: 0", says=("v has no, yes",)),
    Case("words for true, not", csv("n,v", "a,true", "b,x"), "v is not true; n", "n: b"),
    Case("a total of several tables", QUEUES, "a: sum(v)", "sum(v): 3"),
    Case("a column with the name of a unit", FLAGS,
         "SELECT date_trunc('month', day) AS m, sum(v) AS s FROM data GROUP BY 1", "m,s: 2026-01-01,19"),
    Case("all columns in SQL", FLAGS, "SELECT * FROM data WHERE v > 6", "day,up,v: 2026-01-06,,8"),
    Case("cells in SQL, as they were sent", csv("at,up", "2026-01-01T23:30:00-05:00,TRUE",
         "2026-01-02T03:00:00+09:00,false"), "SELECT at, up FROM data WHERE up",
         "at,up: 2026-01-01T23:30:00-05:00,TRUE", says=("compared in UTC",)),
    *(Case("truths in SQL, as they were sent", json.dumps([{"ok": True, "n": 1}, {"ok": False, "n": 2}]), select, right)
      for select, right in (("SELECT ok FROM data", "ok: True / False"),
      ("SELECT a.n, ok FROM data a JOIN data b USING (ok)", "n,ok: 1,True / 2,False"))),
    *(Case("a date that SQL writes", csv("date,n", "13/01/2026,1", "28/02/2026,2"), select,
           "date: 2026-01-13 / 2026-02-28") for select in ("SELECT strftime('%Y-%m-%d', date) AS date FROM data",
      "WITH d AS (SELECT date(date) AS date FROM data) SELECT date FROM d")),
    Case("a count with the name of a column", json.dumps([{"s": "a", "v": "1.0"}, {"s": "b", "v": "2.0"},
         {"s": "b", "v": "2.50"}]), "SELECT s, count(*) AS v FROM data GROUP BY s", "s,v: a,1 / b,2"),
    Case("the newest of cells in SQL", csv("q,n", "2024Q2,1", "2024Q1,2"), "SELECT q FROM data; last 1",
         "q: 2024Q2"),
    *(Case("the key of a join", tables(a=[{"timestamp": "2026-01-02", "v": 1}], b=[{"date": "2026-01-02", "w": 5}]),
           f"SELECT {columns} FROM a JOIN b USING (date)", "date,v,w: 2026-01-02,1,5")
      for columns in ("*", "date, v, w")),
    Case("the key of a full join", tables(a=[{"k": "x", "v": 1}], b=[{"k": "y", "w": 5}]),
         "SELECT k, v, w FROM a FULL JOIN b USING (k) ORDER BY k", "k,v,w: x,1, / y,,5"),
    Case("a window of QUALIFY", PAIR,
         "SELECT * FROM data QUALIFY row_number() OVER (PARTITION BY symbol ORDER BY close) = 1",
         "symbol,date,close: AAPL,2026-01-09,240 / MSFT,2026-01-12,400"),
]  # fmt: skip


@each(PARTS, ANSWERS_OF_APIS, ODD_TABLES)
def test_result_is_right_or_refused(case: Case) -> None:
    check(case)


@pytest.mark.parametrize(
    "beside",
    [
        *({"total": 2}, {"next": None}, {"has_more": False}, {"links": {"next": None}}),
        *({"order": {"total": 90}}, {"shards": {"total": 5}, "hits": 2}, {"meta": {"total": 2}}),
        *({"pages": 635}, {"metadata": {"title": "A"}, "page_count": 12}, {"next": "2026-02", "previous": "2025-12"}),
    ],
)
def test_what_states_no_page_is_not_noted(beside: dict[str, object]) -> None:
    found = run(None, json.dumps({**beside, "rows": [{"v": 10}, {"v": 20}]}))
    assert (found.notes, len(found.tables)) == ((), 1)


@pytest.mark.parametrize(
    ("body", "selects"),
    [
        (BILLS, ("sum(amount) by currency", "currency = USD; sum(amount)", "count", "sum(amount) by item",
                 "SELECT Currency, sum(amount) FROM data GROUP BY 1", "amount > 5", "sum(amount) by item; count",
                 "SELECT max(amount) FROM data WHERE currency = 'USD'", "item = a; sum(amount)")),
        (SALES, ("sum(sales) by region", "region != Total; sum(sales)", "region = total; max(sales)", "sales > 5")),
        ("day,v\n2026-01-02,1\n2026-01-01,\n", (None, "count")), ('n,t\n1,"x\ny"\n', (None,)), ("n\n1\n2\n", (None,)),
    ],
)  # fmt: skip
def test_rows_that_belong_together_have_no_note(body: str, selects: Sequence[str | None]) -> None:
    assert [run(select, body).notes for select in selects] == [()] * len(selects)
