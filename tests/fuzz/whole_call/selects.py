"""Random selects: SQL in several dialects, and the words that models use instead."""

from __future__ import annotations

from random import Random

_COLUMNS = (
    "date",
    "value",
    "close",
    "timestamp",
    "volume",
    "a",
    '"1. open"',
    "`Global Quote`",
    "4. close",
    "Close",
    "*",
)
_TABLES = ("data", "rows", "t", "result", "TIME_SERIES_DAILY", '"data"', "quarterlyReports", "feed", "x.y", "data d")
_FUNCTIONS = ("max", "min", "avg", "sum", "count", "median", "stddev", "first", "last", "change", "year", "date", "hex")
_VALUES = ("1", "81.5", "'2024-03-01'", "2024-03-01", "'x'", '"x"', "NULL", "-1", "1e999", "CURRENT_DATE", "9" * 30)
_OPERATORS = (
    "=",
    "<",
    ">=",
    "<>",
    "LIKE",
    "ILIKE",
    "IS",
    "BETWEEN 1 AND",
    "IN (1,2) OR 1 =",
    "~",
    "||",
    "/",
    "::date =",
)
_TAILS = (
    *(
        "",
        "",
        " LIMIT 2",
        " ORDER BY 1 DESC",
        " GROUP BY 1",
        " FETCH FIRST 2 ROWS ONLY",
        " last 2",
        ";",
        " -- x",
        " /*",
    ),
    *(
        " UNION SELECT 1",
        " OFFSET 1 ROWS",
        "; DROP TABLE data",
        " HAVING count(*) > 1",
        " NATURAL JOIN data e",
        "\0",
        ")",
    ),
    " QUALIFY 1",
)
_STATEMENTS = (
    "WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM r LIMIT 9999) SELECT max(x) FROM r",
    "SELECT count(*) FROM data a, data b, data c WHERE a.rowid < 50 AND b.rowid < 50 AND c.rowid < 2",
    "SELECT value FROM data, json_each(data.tags)",
    "SELECT * FROM sqlite_master",
    "PRAGMA table_list",
    "SELECT extract(year from date) y, avg(value) FROM data GROUP BY y",
    "SELECT date - INTERVAL '1 day', CAST(date AS DATE) FROM data",
    "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY value) FROM data",
    "SELECT group_concat(date) OVER (ORDER BY date) FROM data",
)
_WORDS = (
    *("last 5 days", "last year", "ytd", "after 2024-01-01", "before 2024", "since 2024", "until 2024-03", "newest 2"),
    *(
        "order by value desc",
        "sort by date",
        "top 2 by value",
        "group by year: avg(value)",
        "by month",
        "or",
        "and",
        "not",
    ),
    *(
        "value",
        "date",
        "close",
        "value > 3",
        "value*2 as x",
        "value - close",
        "avg(value)",
        "mean value",
        "[0:2]",
        "[0]",
    ),
    *(
        "[0:2].value",
        "columns:",
        "from data",
        "limit 2",
        "page 2",
        "where",
        "highest value",
        "?",
        "is null",
        "distinct date",
    ),
    *(
        "feed[*].title",
        "data[?value > `1`]",
        '{"columns": ["value"]}',
        "'x'",
        "contains x",
        "between 1 and 3",
        "desc",
        "x",
    ),
)


def make(random: Random) -> str:
    """Return a random select."""
    kind = random.randrange(5)
    if kind == 0:
        return random.choice(_STATEMENTS)
    if kind <= 2:
        separator = random.choice(("; ", ", ", " ", " and ", ";"))
        return separator.join(random.choices(_WORDS, k=random.randrange(1, 5)))
    selected = ", ".join(_expression(random) for _ in range(random.randrange(1, 4)))
    condition = "" if random.random() < 0.5 else f" WHERE {_condition(random)}"
    table = random.choice(_TABLES)
    top = random.choice(("", "", "", "TOP 2 ", "DISTINCT "))
    return f"SELECT {top}{selected} FROM {table}{condition}{random.choice(_TAILS)}"


def _expression(random: Random) -> str:
    column = random.choice(_COLUMNS)
    return random.choice((column, column, f"{random.choice(_FUNCTIONS)}({column})", f"{column} / 2 AS half"))


def _condition(random: Random) -> str:
    one = f"{random.choice(_COLUMNS)} {random.choice(_OPERATORS)} {random.choice(_VALUES)}"
    return one if random.random() < 0.7 else f"{one} {random.choice(('AND', 'OR', 'AND NOT'))} {_condition(random)}"
