"""SQL as models write it: what it answers, and what the error names where it cannot be run."""

# ruff: noqa: E501 - a line for each statement

from __future__ import annotations

from typing import Any

import pytest

from tests.support.rendering import render_result
from toolfold.budget import WorkBudget
from toolfold.errors import InvalidArguments
from toolfold.results.output import OutputOptions
from toolfold.results.select import sql_query
from toolfold.results.select.parser import parse_select
from toolfold.results.tables import Document, Table

COLUMNS = ("date", "open", "high", "close", "volume", "adjusted_close", "type", "active", "tags", "52WeekHigh", "index")
ROWS = [
    (
        *(f"2026-{1 + n // 28:02d}-{n % 28 + 1:02d}", n, n + 3.5, n * 1.5, n * 10, n * 1.25),
        *("call" if n % 3 else "put", n % 2 == 0, ["a", n % 3], 99, -n),
    )
    for n in range(60, 0, -1)
]
PRICES = Document((Table("", COLUMNS, ROWS),), {"symbol": "IBM"})
INTRADAY = Document(
    (
        Table(
            "",
            ("timestamp", "close"),
            [("2026-01-05T09:30:00", 1), ("2026-01-05T16:00:00", 2), ("2026-01-06T09:30:00", 3)],
        ),
    )
)
STATEMENTS = Document(
    (
        Table("annualReports", ("fiscalDateEnding", "netIncome"), [("2025-12-31", 40), ("2024-12-31", 30)]),
        Table("quarterlyReports", ("fiscalDateEnding", "netIncome"), [("2025-12-31", 11), ("2025-09-30", 9)]),
    )
)


def rows(statement: str, document: Document = PRICES) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in sql_query.evaluate(statement, document, WorkBudget()).tables[0].rows]


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("select max(close) from data", [(90,)]),
        ("SELECT date, close FROM rows WHERE close > 88 ORDER BY date LIMIT 5", [("2026-03-04", 88.5), ("2026-03-05", 90)]),
        ("select close from data;", [(n * 1.5,) for n in range(60, 0, -1)]),
        ("SELECT max(close) FROM TIME_SERIES_DAILY", [(90,)]),
        ("SELECT max(close) FROM alpha_vantage.time_series_daily", [(90,)]),
        ("SELECT TIME_SERIES_DAILY.close FROM TIME_SERIES_DAILY LIMIT 1", [(90,)]),
        ('SELECT max(close) FROM "Time Series (Daily)"', [(90,)]),
        ("select TOP 2 volume from data order by volume desc", [(600,), (590,)]),
        ("SELECT TOP (1) close FROM data", [(90,)]),
        ("SELECT volume FROM data ORDER BY 1 FETCH FIRST 2 ROWS ONLY", [(10,), (20,)]),
        ("SELECT volume FROM data ORDER BY 1 OFFSET 1 ROWS FETCH NEXT 1 ROWS ONLY", [(20,)]),
        ("SELECT close FROM data last 2", [(90,), (88.5,)]),
        ("SELECT close FROM data; first 2", [(1.5,), (3,)]),
        ("SELECT max(close)", [(90,)]),
        ("SELECT close WHERE date > '2026-03-04'", [(90,)]),
        ("```sql\nSELECT max(close) FROM data\n```", [(90,)]),
        ("sql: SELECT max(close) FROM data", [(90,)]),
        ("select max(close) -- the highest\nfrom data /* prices */", [(90,)]),
        # months and years
        ("SELECT strftime('%Y-%m', date) m, count(*) FROM data GROUP BY m", [("2026-01", 27), ("2026-02", 28), ("2026-03", 5)]),
        ("SELECT date_trunc('month', date) m, count(*) FROM data GROUP BY 1 LIMIT 1", [("2026-01-01", 27)]),
        ("SELECT DATE_TRUNC(date, MONTH) m, count(*) FROM data GROUP BY 1 LIMIT 1", [("2026-01-01", 27)]),
        ("SELECT EXTRACT(YEAR FROM date) y, count(*) FROM data GROUP BY y", [(2026, 60)]),
        ("SELECT YEAR(date), MONTH(date), count(*) FROM data GROUP BY 1, MONTH(date) LIMIT 1", [(2026, 1, 27)]),
        ("SELECT DATE_FORMAT(date, '%Y-%m') m, count(*) FROM data GROUP BY m LIMIT 1", [("2026-01", 27)]),
        ("SELECT TO_CHAR(date, 'YYYY-MM') m, count(*) FROM data GROUP BY m LIMIT 1", [("2026-01", 27)]),
        ("SELECT quarter(date), dayname(date), date_part('dow', date) FROM data LIMIT 1", [(1, "Thursday", 4)]),
        ("SELECT LEFT(date, 7), RIGHT(date, 2), LEN(date) FROM data LIMIT 1", [("2026-03", "05", 10)]),
        # dates
        ("SELECT count(*) FROM data WHERE date >= DATE '2026-03-01'", [(5,)]),
        ("SELECT count(*) FROM data WHERE date >= TIMESTAMP '2026-03-01 00:00:00'", [(5,)]),
        ("SELECT count(*) FROM data WHERE date >= '2026-03-01T00:00:00Z'", [(5,)]),
        ("SELECT count(*) FROM data WHERE date > 2026-03-01", [(4,)]),
        ("SELECT count(*) FROM data WHERE date > '2026/3/1'", [(4,)]),
        ("SELECT count(*) FROM data WHERE date > '20260301'", [(4,)]),
        ("SELECT count(*) FROM data WHERE date = '2026-01'", [(27,)]),
        ("SELECT count(*) FROM data WHERE date <= '2026-01'", [(27,)]),
        ("SELECT count(*) FROM data WHERE date > '2026-02'", [(5,)]),
        ("SELECT count(*) FROM data WHERE date BETWEEN '2026-01' AND '2026-02'", [(55,)]),
        ('SELECT count(*) FROM data WHERE date BETWEEN "2026-01-02" AND "2026-01-05"', [(4,)]),
        ("SELECT count(*) FROM data WHERE date >= 2026 AND date <= 2026", [(60,)]),
        ("SELECT count(*) FROM data WHERE strftime('%Y-%m', date) = '2026-01'", [(27,)]),
        ("SELECT max(date) - INTERVAL '30 days' FROM data", [("2026-02-03",)]),
        ("SELECT DATE_SUB(max(date), INTERVAL 1 MONTH), DATEADD(day, -30, max(date)) FROM data", [("2026-02-05", "2026-02-03")]),
        ("SELECT DATEDIFF(day, MIN(date), MAX(date)), DATEDIFF(MAX(date), MIN(date)) FROM data", [(62, 62)]),
        ("SELECT date::date, CAST(date AS DATE), date::timestamp FROM data LIMIT 1", [("2026-03-05", "2026-03-05", "2026-03-05T00:00:00")]),
        ("SELECT count(*) > 0 FROM data WHERE date < CURRENT_DATE AND date < NOW() + INTERVAL 1 DAY", [(1,)]),
        # names
        ('SELECT "4. close", `1. open`, [volume] FROM data LIMIT 1', [(90, 60, 600)]),
        ("SELECT 4. close FROM data LIMIT 1", [(90,)]),
        ("SELECT adjusted close FROM data LIMIT 1", [(75,)]),
        ("SELECT `5. adjusted close`, adjustedClose, ADJUSTED_CLOSE FROM data LIMIT 1", [(75, 75, 75)]),
        ('SELECT 52WeekHigh, "52 week high", index FROM data LIMIT 1', [(99, 99, -60)]),
        ("SELECT close FROM data ORDER BY timestamp DESC LIMIT 1", [(90,)]),
        ("SELECT d.close FROM data d WHERE d.volume = (SELECT max(volume) FROM data)", [(90,)]),
        ("SELECT a.close, b.close FROM data a JOIN data b ON b.volume = a.volume + 10 ORDER BY 1 LIMIT 1", [(1.5, 3)]),
        ('SELECT count(*) FROM data WHERE type = "call"', [(40,)]),
        ("SELECT count(*) FROM data WHERE type IN (\"call\", 'put')", [(60,)]),
        ("SELECT count(*) FROM data WHERE type ILIKE 'CALL' AND type LIKE \"c%\"", [(40,)]),
        # functions
        ("SELECT MEDIAN(close), STDDEV_POP(open), VARIANCE(open), VAR_POP(open) FROM data WHERE open <= 3", [(3, 0.816496580928, 1, 0.666666666667)]),
        ("SELECT PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY open) FROM data WHERE open <= 5", [(2,)]),
        ("SELECT FIRST(close), LAST(close), change(close), pct_change(close) FROM data", [(1.5, 90, 88.5, 5900)]),
        ("SELECT CORR(close, volume) FROM data", [(1,)]),
        ("SELECT SUM(CASE WHEN type = 'call' THEN 1 ELSE 0 END) / COUNT(*) FROM data", [(40 / 60.0,)]),
        ("SELECT ROUND(AVG(close), 1), CAST(AVG(close) AS DECIMAL(10, 1)), AVG(close)::int FROM data", [(45.8, 45.8, 45)]),
        ("SELECT IF(close > open, 'up', 'down'), GREATEST(open, close), LEAST(open, close), NVL(NULL, 1) FROM data LIMIT 1", [("up", 90, 60, 1)]),
        ("SELECT CONCAT(date, ' ', close), CONCAT_WS('-', 1, 2), printf('%.2f', close) FROM data LIMIT 1", [("2026-03-05 90", "1-2", "90.00")]),
        ("SELECT POWER(3, 2), SQRT(16), LN(1), FLOOR(1.5), CEIL(1.5), MOD(5, 3), SAFE_DIVIDE(1, 0) FROM data LIMIT 1", [(9, 4, 0, 1, 2, 2, None)]),
        ("SELECT close - LAG(close) OVER (ORDER BY date) AS d FROM data ORDER BY date LIMIT 2", [(None,), (1.5,)]),
        ("WITH m AS (SELECT month(date) AS m, close FROM data) SELECT m, MAX(close) FROM m GROUP BY m LIMIT 1", [(1, 40.5)]),
        ("SELECT type, COUNT(*) c FROM data GROUP BY type HAVING c > 30", [("call", 40)]),
        ("SELECT j.value, count(*) FROM data, json_each(data.tags) j GROUP BY 1 LIMIT 1", [(0, 20)]),
        # values as they were in the answer
        ("SELECT active, tags FROM data WHERE active = 'true' LIMIT 1", [(True, ["a", 0])]),
        ("SELECT 0.1 + 0.2, 7 / 2, 10.0 / 2 FROM data LIMIT 1", [(0.3, 3.5, 5)]),
    ],
)  # fmt: skip
def test_natural_statements_are_answered(statement: str, expected: list[tuple[Any, ...]]) -> None:
    assert [
        tuple(pytest.approx(cell) if isinstance(cell, float) else cell for cell in row) for row in expected
    ] == rows(statement)


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("SELECT clsoe FROM data", "there is no column clsoe (at character 7). Did you mean close?"),
        ('SELECT "clsoe" FROM data', "there is no column clsoe (at character 7). Did you mean close?"),
        ('SELECT close FROM data WHERE close > "opne"', "there is no column opne (at character 37). Did you mean open?"),
        ("SELECT close FROM data WHERE close > 'abc'", "close holds numbers, and abc is not a number"),
        ("SELECT close FROM data WHERE date > '01/05/2026'", "Write dates as '2026-01-05'."),
        ("SELECT close FROM data WHERE date > 'Jan 5, 2026'", "Write dates as '2026-01-05'."),
        ("SELECT symbol FROM data", 'symbol is no column but one value for all rows (at character 7). select "symbol" returns it.'),
        ("SELECT * FROM data QUALIFY row_number() OVER () = 1", "QUALIFY is not available here"),
        ("SELECT DISTINCT ON (type) * FROM data", "DISTINCT ON is not available here"),
        ("SELECT * FROM data WHERE type REGEXP '^c'", "Write LIKE '%text%'"),
        ("SELECT * FROM data WHERE type ~ '^c'", "Write LIKE '%text%'"),
        ("SELECT * FROM UNNEST(tags)", "json_each"),
        ("SELECT 1 FROM data; SELECT 2 FROM data", "only one statement can be run (at character 18)"),
        ("SELECT medain(close) FROM data", "there is no function medain (at character 7). Did you mean median?"),
        ("SELECT close FROM", "the SQL ends too early"),
        ("SELECT close, FROM data", "the SQL cannot be read at FROM (at character 14)"),
        ("SELECT close FROM data WHERE max(close) > 5", "Use HAVING, or a subquery."),
        ("SELECT 'open FROM data", "the quote ' is not closed (at character 7)"),
        ("SELECT lag(close) FROM data", "lag needs OVER"),
        ("SELECT a.close FROM data a JOIN data b ON a.date = b.date WHERE close > 1", "more than one table has a column close"),
        ("SELECT date FROM data WHERE close > ?", "parameters"),
        ("UPDATE data SET close = 1", "only SELECT can be run here"),
        ("SELECT close FROM data UNION SELECT date, close FROM data", "different numbers of columns"),
    ],
)  # fmt: skip
def test_errors_name_what_works(statement: str, message: str) -> None:
    with pytest.raises(InvalidArguments) as raised:
        rows(statement)
    assert message in f"{raised.value} {raised.value.suggestion}"


def test_empty_results_say_what_there_is() -> None:  # F6
    def notes(statement: str) -> tuple[str, ...]:
        return sql_query.evaluate(statement, PRICES, WorkBudget()).notes

    period = "date runs 2026-01-02..2026-03-05."
    assert notes("SELECT close FROM data WHERE date > '2030-01-01'") == (f"0 rows match. {period}",)
    assert notes("SELECT count(*) FROM data WHERE date > '2030-01-01'") == (f"0 rows match. {period}",)
    assert notes("SELECT max(close) FROM data WHERE date > '2030-01-01'") == (f"No values match. {period}",)
    assert notes("SELECT close FROM data WHERE type = 'straddle'") == ("0 rows match. type holds put, call.",)
    assert notes("SELECT sum(open - open) FROM data") == ()


def test_tables_of_an_answer_have_their_names() -> None:
    assert rows("SELECT sum(netIncome) FROM quarterlyReports", STATEMENTS) == [(20,)]
    assert rows("SELECT a.netIncome - q.netIncome FROM annual_reports a JOIN quarterlyReports q USING (date)", STATEMENTS) == [(29,)]  # fmt: skip
    with pytest.raises(InvalidArguments, match="there is no table data") as raised:
        rows("SELECT * FROM data", STATEMENTS)
    assert raised.value.suggestion == "Tables: annualReports, quarterlyReports."


def test_days_of_times_are_whole() -> None:
    assert rows("SELECT count(*) FROM data WHERE date = '2026-01-05'", INTRADAY) == [(2,)]
    assert rows("SELECT count(*) FROM data WHERE timestamp <= '2026-01-05'", INTRADAY) == [(2,)]
    assert rows("SELECT close FROM data WHERE timestamp >= '2026-01-05 16:00:00' LIMIT 1", INTRADAY) == [(2,)]
    assert rows("SELECT max(timestamp) - INTERVAL '30 minutes' FROM data", INTRADAY) == [("2026-01-06T09:00:00",)]


def test_fields_of_an_answer_without_rows_are_one_row() -> None:
    quote = Document(metadata={"symbol": "IBM", "price": 290.5, "change_percent": -0.5})
    assert rows('SELECT "05. price", Symbol FROM "Global Quote"', quote) == [(290.5, "IBM")]


def test_columns_are_named_as_they_were_written() -> None:
    table = sql_query.evaluate(
        "SELECT Close, EXTRACT(YEAR FROM date), first(close), max(close) / 2 AS half, close FROM data",
        PRICES,
        WorkBudget(),
    ).tables[0]
    assert table.columns == ("close", "EXTRACT(YEAR FROM date)", "first(close)", "half", "close_2")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("select max(close) from data", True),
        ("  (SELECT 1 FROM x)", True),
        ("WITH a AS (SELECT 1) SELECT * FROM a", True),
        ("with recursive a(x) as (select 1) select x from a", True),
        ("select close\nfrom rows", True),
        ("close; last 5", False),
        ("select close, volume", False),
        ("select close from 2026-01-05", False),
        ("select date, close where close > 5; last 5", False),
        ("close, volume from annualReports", False),
        ("selected from data", False),
    ],
)
def test_sql_is_distinguished_from_the_other_grammar(text: str, expected: bool) -> None:
    assert sql_query.is_sql(text) is expected


def test_sql_is_a_select() -> None:
    options = OutputOptions(select=parse_select("SELECT date, close * 2 AS twice FROM data WHERE close > 1"))
    result = render_result("date,close\n2026-01-06,2\n2026-01-05,1", "csv", {}, options)
    assert result.text.splitlines() == ["date,twice", "2026-01-06,4"]
