"""SQL as models write it, in any dialect: what it answers, and what the error names where it cannot be run."""

# ruff: noqa: E501 - a line for each statement

from typing import Any

import pytest

from tests.unit.results.select.outcomes import select_from
from toolfold.errors import InvalidSelect
from toolfold.results.select.grammar import parse_select
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
TIMES = [("2026-01-05T09:30:00", 1), ("2026-01-05T16:00:00", 2), ("2026-01-06T09:30:00", 3)]
INTRADAY = Document((Table("", ("timestamp", "close"), TIMES),))
STATEMENTS = Document(
    (
        Table("annualReports", ("fiscalDateEnding", "netIncome"), [("2025-12-31", 40), ("2024-12-31", 30)]),
        Table("quarterlyReports", ("fiscalDateEnding", "netIncome"), [("2025-12-31", 11), ("2025-09-30", 9)]),
    )
)
ALIKE = Document((Table("", ("Close", "close", "CLOSE", "n"), [(1, 2, 3, 4), (5, 6, 7, 8)]),))


def select(statement: str, document: Document = PRICES) -> Table:
    found = select_from(document, statement)
    return found.tables[0] if found.tables else Table("", tuple(found.metadata), [tuple(found.metadata.values())])


def rows(statement: str, document: Document = PRICES) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in select(statement, document).rows]


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("select max(close) from data", [(90,)]),
        ("SELECT date, close FROM rows WHERE close > 88 ORDER BY date LIMIT 5", [("2026-03-04", 88.5), ("2026-03-05", 90)]),
        ("select close from data;", [(n * 1.5,) for n in range(60, 0, -1)]),
        ("SELECT max(close) FROM market.time_series_daily", [(90,)]),
        ("SELECT TIME_SERIES_DAILY.close FROM TIME_SERIES_DAILY LIMIT 1", [(90,)]),
        ('SELECT max(close) FROM "Time Series (Daily)"', [(90,)]),
        ("select TOP 2 volume from data order by volume desc", [(600,), (590,)]),
        ("SELECT volume FROM data ORDER BY 1 OFFSET 1 ROWS FETCH NEXT 1 ROWS ONLY", [(20,)]),
        ("SELECT close FROM data; last 2", [(3,), (1.5,)]),
        ("last 2; SELECT max(close), min(close) FROM data", [(90, 88.5)]),
        ("select max(close) -- the highest\nfrom data /* prices */", [(90,)]),
        # months and years
        ("SELECT strftime('%Y-%m', date) m, count(*) FROM data GROUP BY m", [("2026-01", 27), ("2026-02", 28), ("2026-03", 5)]),
        ("SELECT date_trunc('month', date) m, count(*) FROM data GROUP BY 1 LIMIT 1", [("2026-01-01", 27)]),
        ("SELECT date_trunc('week', date), date_trunc('quarter', date) FROM data LIMIT 1", [("2026-03-02", "2026-01-01")]),
        ("SELECT EXTRACT(YEAR FROM date) y, count(*) FROM data GROUP BY y", [(2026, 60)]),
        ("SELECT YEAR(date), MONTH(date), count(*) FROM data GROUP BY 1, MONTH(date) LIMIT 1", [(2026, 1, 27)]),
        ("SELECT DATE_FORMAT(date, '%Y-%m') m, count(*) FROM data GROUP BY m LIMIT 1", [("2026-01", 27)]),
        ("SELECT TO_CHAR(date, 'YYYY-MM') m, count(*) FROM data GROUP BY m LIMIT 1", [("2026-01", 27)]),
        ("SELECT quarter(date), dayname(date), monthname(date), date_part('dow', date) FROM data LIMIT 1", [(1, "Thursday", "March", 4)]),
        ("SELECT DATEPART(month, date), DATETRUNC(month, date), date_part(date, 'day') FROM data LIMIT 1", [(3, "2026-03-01", 5)]),
        ("SELECT LEFT(date, 7), RIGHT(date, 2), LEN(date) FROM data LIMIT 1", [("2026-03", "05", 10)]),
        # dates
        ("SELECT count(*) FROM data WHERE date >= DATE '2026-03-01'", [(5,)]),
        ("SELECT count(*) FROM data WHERE date >= TIMESTAMP '2026-03-01 00:00:00'", [(5,)]),
        ("SELECT count(*) FROM data WHERE date >= '2026-03-01T00:00:00Z'", [(5,)]),
        ("SELECT count(*) FROM data WHERE date >= datetime('2026-03-01') AND date > date('2026-02')", [(5,)]),
        ("SELECT count(*) FROM data WHERE date > '2026/3/1'", [(4,)]),
        ("SELECT count(*) FROM data WHERE date > '20260301'", [(4,)]),
        ("SELECT count(*) FROM data WHERE date > 'Mar 1, 2026'", [(4,)]),
        ("SELECT count(*) FROM data WHERE date = '2026-01'", [(27,)]),
        ("SELECT count(*) FROM data WHERE date <= '2026-01'", [(27,)]),
        ("SELECT count(*) FROM data WHERE date > '2026-02'", [(5,)]),
        ("SELECT count(*) FROM data WHERE date BETWEEN '2026-01' AND '2026-02'", [(55,)]),
        ("SELECT count(*) FROM data WHERE date >= 2026 AND date <= 2026", [(60,)]),
        ("SELECT count(*) FROM data WHERE strftime('%Y-%m', date) = '2026-01'", [(27,)]),
        ("SELECT count(*) FROM data WHERE strftime('%m', date) = 3", [(5,)]),
        ("SELECT count(*) FROM data WHERE strftime('%m', date) IN (2, 3)", [(33,)]),
        ("SELECT count(*) FROM data WHERE substr(date, 1, 4) = 2026", [(60,)]),
        ("SELECT count(*) FROM data WHERE year(date) = '2026' AND month(date) BETWEEN '2' AND '3'", [(33,)]),
        ("SELECT max(date) - INTERVAL '30 days' FROM data", [("2026-02-03",)]),
        ("SELECT max(date) - 2, min(date) + 1, max(date) - min(date) FROM data", [("2026-03-03", "2026-01-03", 62)]),
        ("SELECT count(*) FROM data WHERE date > (SELECT max(date) FROM data) - 7", [(7,)]),
        ("SELECT DATE_SUB(max(date), INTERVAL 1 MONTH), DATEADD(day, -30, max(date)) FROM data", [("2026-02-05", "2026-02-03")]),
        ("SELECT DATEDIFF(day, MIN(date), MAX(date)), DATEDIFF(MAX(date), MIN(date)) FROM data", [(62, 62)]),
        ("SELECT date::date, CAST(date AS DATE), date::timestamp FROM data LIMIT 1", [("2026-03-05", "2026-03-05", "2026-03-05T00:00:00")]),
        ("SELECT count(*) > 0 FROM data WHERE date < CURRENT_DATE AND date < NOW() + INTERVAL 1 DAY", [(1,)]),
        ("SELECT count(*) FROM data WHERE date >= date('2026-03-04', '-1 day')", [(3,)]),
        ("SELECT strftime() FROM data LIMIT 1", [(None,)]),
        # names
        ('SELECT "4. close", `1. open`, [volume] FROM data LIMIT 1', [(90, 60, 600)]),
        ("SELECT `5. adjusted close`, adjustedClose, ADJUSTED_CLOSE FROM data LIMIT 1", [(75, 75, 75)]),
        ('SELECT "52 week high", index FROM data LIMIT 1', [(99, -60)]),
        ("SELECT close FROM data ORDER BY timestamp DESC LIMIT 1", [(90,)]),
        ("SELECT d.close FROM data d WHERE d.volume = (SELECT max(volume) FROM data)", [(90,)]),
        ("SELECT a.close, b.close FROM data a JOIN data b ON b.volume = a.volume + 10 ORDER BY 1 LIMIT 1", [(1.5, 3)]),
        ("SELECT count(*) FROM data WHERE type IN ('call', 'put')", [(60,)]),
        ("SELECT count(*) FROM data WHERE type ILIKE 'CALL' AND type LIKE 'c%'", [(40,)]),
        # functions
        ("SELECT MEDIAN(close), STDDEV_POP(open), VARIANCE(open), VAR_POP(open) FROM data WHERE open <= 3", [(3, 0.816496580928, 1, 0.666666666667)]),
        ("SELECT PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY open), percentile(open, 50) FROM data WHERE open <= 5", [(2, 3)]),
        ("SELECT CORR(close, volume) FROM data", [(1,)]),
        ("SELECT SUM(CASE WHEN type = 'call' THEN 1 ELSE 0 END) / COUNT(*) FROM data", [(40 / 60.0,)]),
        ("SELECT sum(volume) FILTER (WHERE type = 'put'), count_if(type = 'put') FROM data", [(6300, 20)]),
        ("SELECT ROUND(AVG(close), 1), CAST(AVG(close) AS DECIMAL(10, 1)), AVG(close)::int FROM data", [(45.8, 45.8, 45)]),
        ("SELECT IF(close > open, 'up', 'down'), GREATEST(open, close), LEAST(open, close), NVL(NULL, 1) FROM data LIMIT 1", [("up", 90, 60, 1)]),
        ("SELECT CONCAT(date, ' ', type), CONCAT_WS('-', 1, 2), type || '!' FROM data LIMIT 1", [("2026-03-05 put", "1-2", "put!")]),
        ("SELECT trim('  a '), ltrim('xxa', 'x'), replace('abc', 'b', ''), instr('abc', 'c'), upper('é') FROM data LIMIT 1", [("a", "a", "ac", 3, "É")]),
        ("SELECT POWER(3, 2), SQRT(16), LN(1), FLOOR(1.5), CEIL(1.5), MOD(5, 3), 7 % 4, SAFE_DIVIDE(1, 0), LOG10(100) FROM data LIMIT 1", [(9, 4, 0, 1, 2, 2, 3, None, 2)]),
        ("SELECT close - LAG(close) OVER (ORDER BY date) AS d FROM data ORDER BY date LIMIT 2", [(None,), (1.5,)]),
        ("SELECT avg(close) OVER (ORDER BY date ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS a FROM data ORDER BY date DESC LIMIT 1", [(88.5,)]),
        ("SELECT stddev(open) OVER (ORDER BY date ROWS 1 PRECEDING) AS s, row_number() OVER (PARTITION BY type ORDER BY date) AS n FROM data ORDER BY date DESC LIMIT 1", [(0.707106781187, 20)]),
        ("SELECT type, date FROM data QUALIFY row_number() OVER (PARTITION BY type ORDER BY date DESC) = 1 ORDER BY 1", [("call", "2026-03-04"), ("put", "2026-03-05")]),
        ("SELECT DISTINCT ON (type) type, date FROM data ORDER BY type, date DESC", [("call", "2026-03-04"), ("put", "2026-03-05")]),
        ("WITH m AS (SELECT month(date) AS m, close FROM data) SELECT m, MAX(close) FROM m GROUP BY m LIMIT 1", [(1, 40.5)]),
        ("SELECT type, COUNT(*) c FROM data GROUP BY type HAVING c > 30", [("call", 40)]),
        ("SELECT type FROM data WHERE open = 1 UNION SELECT type FROM data WHERE open = 3 ORDER BY 1", [("call",), ("put",)]),
        ("SELECT count(DISTINCT type) FROM data", [(2,)]),
        ("SELECT j.value, count(*) FROM data, json_each(data.tags) j GROUP BY 1 LIMIT 1", [(0, 20)]),
        ("SELECT json_extract(tags, '$[0]'), tags->>1 FROM data LIMIT 1", [("a", 0)]),
        # values
        ("SELECT 0.1 + 0.2, 7 / 2, 10.0 / 2, 5 / 0, 7 / 2 * 2 FROM data LIMIT 1", [(0.3, 3.5, 5, None, 7)]),
        ("SELECT count(*) FROM data WHERE active = 'true'", [(30,)]),
        ("SELECT date FROM data ORDER BY CASE WHEN open = 1 THEN NULL ELSE open END LIMIT 1", [("2026-01-03",)]),
        ("SELECT date FROM data ORDER BY CASE WHEN open = 9 THEN NULL ELSE open END NULLS FIRST LIMIT 1", [("2026-01-10",)]),
    ],
)  # fmt: skip
def test_natural_statements_are_answered(statement: str, expected: list[tuple[Any, ...]]) -> None:
    assert [
        tuple(pytest.approx(cell) if isinstance(cell, float) else cell for cell in row) for row in expected
    ] == rows(statement)


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("SELECT clsoe FROM data", "there is no column clsoe (at character 0). Write \"SELECT close FROM data\"."),
        ("last 3; SELECT clsoe FROM data", "(at character 8)"),
        ("SELECT d.clsoe FROM data d", 'Write "SELECT d.close FROM data d".'),
        ("WITH m AS (SELECT clsoe FROM data) SELECT * FROM m", 'Write "WITH m AS (SELECT close FROM data) SELECT * FROM m".'),
        ("WITH m AS (SELECT close FROM data) SELECT opne FROM m", "there is no column opne"),
        ("SELECT close FROM data WHERE close > 'abc'", "close is a number, and abc is not"),
        ("SELECT close FROM data WHERE type > 5", "type is text"),
        ("SELECT sum(type) FROM data", "type is text, not a number"),
        ("SELECT close FROM data WHERE type = NULL", "WHERE type is null"),
        ("SELECT close FROM data WHERE date > '01/05/2026'", "01/05/2026 can be two dates"),
        ("SELECT close FROM data WHERE date > 'tomorrowish'", "date is a date, and tomorrowish is not"),
        ("SELECT * FROM data WHERE type REGEXP '^c'", "REGEXPLIKE is not available"),
        ("SELECT * FROM UNNEST(tags)", "UNNEST is not available"),
        ("SELECT * FROM data TABLESAMPLE (10 PERCENT)", "TABLESAMPLE"),
        ("SELECT medain(close) FROM data", "there is no function medain. Did you mean median?"),
        ("SELECT age(date, date) FROM data", "there is no function age"),
        ("SELECT initcap(type) FROM data", "there is no function initcap"),
        ("SELECT change(close) FROM data", "Write x - lag(x) OVER (ORDER BY date)."),
        ("SELECT last(close) FROM data", "Write first_value(x) OVER (ORDER BY date DESC)."),
        ("SELECT round(close, 1, 2) FROM data", "round takes another number of arguments"),
        ("SELECT close FROM data WHERE max(close) > 5", "Use HAVING, or a subquery."),
        ("SELECT 'open FROM data", "the SQL cannot be read"),
        ("SELECT date + INTERVAL '1 year 2 months' FROM data", "the SQL cannot be read"),
        ("SELECT lag(close) FROM data", "lag"),
        ("SELECT a.close FROM data a JOIN data b ON a.date = b.date WHERE close > 1 AND b.n = 1", "there is no column n"),
        ("SELECT date FROM data WHERE close > ?", "PLACEHOLDER is not available"),
        ("UPDATE data SET close = 1", "only one SELECT"),
        ("EXPLAIN SELECT 1", "only one SELECT"),
        ("SELECT 1 FROM data UNION SELECT date, close FROM data", "different numbers of columns"),
        ("WITH a AS (SELECT * FROM b), b AS (SELECT * FROM a) SELECT * FROM a", "WITH RECURSIVE"),
    ],
)  # fmt: skip
def test_errors_name_what_works(statement: str, problem: str) -> None:
    with pytest.raises(InvalidSelect) as raised:
        rows(statement)
    assert problem in f"{raised.value} {raised.value.suggestion}"


@pytest.mark.parametrize(
    ("document", "statement", "expected"),
    [
        (STATEMENTS, "SELECT sum(netIncome) FROM quarterlyReports", [(20,)]),
        (STATEMENTS, "SELECT a.netIncome - q.netIncome FROM annual_reports a JOIN quarterlyReports q USING (date)", [(29,)]),
        (STATEMENTS, "WITH q AS (SELECT fiscalDateEnding AS date, netIncome AS n FROM quarterlyReports) SELECT n FROM annualReports JOIN q USING (date)", [(11,)]),
        (STATEMENTS, "SELECT a.netIncome FROM annualReports a LEFT JOIN quarterlyReports q ON a.fiscalDateEnding = q.fiscalDateEnding WHERE q.netIncome IS NULL", [(30,)]),
        (INTRADAY, "SELECT count(*) FROM data WHERE date = '2026-01-05'", [(2,)]),
        (INTRADAY, "SELECT count(*) FROM data WHERE timestamp <= '2026-01-05'", [(2,)]),
        (INTRADAY, "SELECT close FROM data WHERE timestamp >= '2026-01-05 16:00:00' LIMIT 1", [(2,)]),
        (INTRADAY, "SELECT max(timestamp) - INTERVAL '30 minutes' FROM data", [("2026-01-06T09:00:00",)]),
        *((INTRADAY, f"SELECT count(*) FROM data WHERE {condition}", [(2,)]) for condition in (
            "timestamp > datetime('2026-01-05 12:00:00', '+1 hour')", "datetime(timestamp) > '2026-01-05 12:00:00'",
            "datetime(timestamp, 'start of day') = '2026-01-05'")),
        (PRICES, "SELECT count(*) FROM data WHERE date >= datetime('2026-03-02', '-1 day')", [(5,)]),
        (ALIKE, "SELECT * FROM data", [(1, 2, 3, 4), (5, 6, 7, 8)]),
        (ALIKE, "SELECT sum(close) FROM data WHERE Close > 1", [(6,)]),
        (Document(metadata={"symbol": "IBM", "price": 290.5}), 'SELECT "05. price", Symbol FROM "Global Quote"', [(290.5, "IBM")]),
    ],
)  # fmt: skip
def test_tables_and_columns_have_their_names(document: Document, statement: str, expected: list[Any]) -> None:
    assert rows(statement, document) == expected


def test_table_that_is_not_there_is_named() -> None:
    with pytest.raises(InvalidSelect, match="there is no table monthly") as raised:
        rows("SELECT * FROM monthly", STATEMENTS)
    assert "annualReports" in raised.value.suggestion


@pytest.mark.parametrize(
    ("statement", "columns"),
    [
        ("SELECT Close, EXTRACT(YEAR FROM date), max(close) / 2 AS half FROM data", ("close", "extract(year from date)", "half")),
        ("SELECT close, close FROM data", ("close", "close_2")),
        ("SELECT close AS Price, sum(volume) AS \"Total Volume\" FROM data GROUP BY 1", ("Price", "Total Volume")),
        ("SELECT adjustedClose FROM data", ("adjusted_close",)),
        ("SELECT * FROM data", COLUMNS),
    ],
)  # fmt: skip
def test_columns_are_named_as_they_were_written(statement: str, columns: tuple[str, ...]) -> None:
    assert tuple(name.lower() if "(" in name else name for name in select(statement).columns) == columns


@pytest.mark.parametrize("statement", ["SELECT sum(open * 0) FROM data", "SELECT 0 FROM data WHERE open > 58"])
def test_a_zero_is_not_called_nothing(statement: str) -> None:
    assert not select_from(PRICES, statement).notes


def test_a_statement_that_cannot_be_read_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(InvalidSelect):
        parse_select("EXPLAIN SELECT 'a secret' FROM data")
    assert not caplog.records
