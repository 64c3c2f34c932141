"""What a document lacks of the period and the rows that a ``select`` requests."""

import datetime
from collections.abc import Mapping

import pytest

from tests.unit.results.select.answers import TODAY
from toolfold.budget import WorkBudget
from toolfold.catalog.store import FileStore, bundled_path
from toolfold.meta_tools.completion import Gap, GapKind, find_gap
from toolfold.results.select.engine import requested_of
from toolfold.results.select.grammar import parse_select
from toolfold.results.tables import Document, Table

TOOL = FileStore(bundled_path())().get("TIME_SERIES_DAILY")
FULL = {"symbol": "IBM", "outputsize": "full"}
DAYS = [TODAY - datetime.timedelta(days) for days in range(1, 140)]
LIMITED = Document(
    (Table("", ("timestamp", "close", "volume"),
           [(str(day), 300 + day.day, 10 * day.day) for day in DAYS if day.weekday() < 5]),)
)  # fmt: skip
"""The newest days of a series, newest first, as a tool returns them unless an argument requests the rest."""


def gap_of(select: str, whole: Document, arguments: Mapping[str, str] = FULL) -> Gap | None:
    selection = parse_select(select)
    assert TOOL is not None
    assert selection is not None
    return find_gap(TOOL, arguments, requested_of(selection, whole, WorkBudget(), TODAY), whole, TODAY)


PARTS = {
    GapKind.SUMMARY: """
        close > mean(close)
        max(close)
        count
        top 5 by volume
        max(close) by month
        order by close desc; limit 1
        order by close; first 1
        volume > 90; top 3 by close
        last(close) / first(close) - 1
        weekday = Monday; mean(close)
        until 2026-01-10; max(close)
        SELECT max(close) FROM data
        SELECT date FROM data WHERE close = (SELECT max(close) FROM data)
        SELECT substr(date,1,4) y, avg(close) FROM data GROUP BY y
        SELECT * FROM data ORDER BY close DESC LIMIT 1
        SELECT date FROM (SELECT * FROM data ORDER BY date LIMIT 5)
        WITH t AS (SELECT close c FROM data) SELECT max(c) FROM t
        SELECT date, close - lag(close, 50) OVER (ORDER BY date) d FROM data
        SELECT max(close) FROM data WHERE date <= '2025-12-01'
        jmespath: max(rows[].close)
        jmespath: rows[-1].close
        jmespath: rows[120].close
        jmespath: max(rows[?timestamp>='2025-12-01'].close)
        jmespath: rows[*].close | max(@)
        jmespath: length(rows)
        jmespath: {hi: max(rows[].close), first: rows[0].close}
        jmespath: reverse(rows)[0].close
        SELECT rank() OVER (ORDER BY close) FROM data
        SELECT close FROM data GROUP BY close
        SELECT 1 FROM data WHERE date > date((SELECT '2020-01-01'))
    """,
    GapKind.MATCHES: """
        close > 300
        year != 2025
        year = 2024; close
        year = 2023 or close > 300
        close > 300 or date = 2024-05 or year = 2023
        SELECT close FROM data WHERE date >= '2026-01-05' OR date < '2025'
        close > 900; last 5
        SELECT date, close FROM data WHERE close > 300
        SELECT close FROM data WHERE strftime('%Y', date) = '2024'
        SELECT close FROM data WHERE date != '2025-12-01'
        jmespath: rows[?close > `300`].timestamp
        jmespath: rows[?timestamp=='2024-06-03'].close
    """,
    GapKind.OLDEST: """
        oldest 3
        close; first 5
        order by date; limit 1
        until 2025-12-01; first 3
        SELECT close FROM data ORDER BY date LIMIT 1
        SELECT TOP 3 close FROM data ORDER BY date
        oldest first; limit 3
        newest first; [-3:]
        newest first; last 3
        SELECT close FROM data ORDER BY date FETCH FIRST 3 ROWS ONLY
    """,
    GapKind.ROWS: """
        last 150
        from data; last 150
        [0:150]
        [150:]
        limit 5 offset 200
        until 2025-12-01; last 90
        order by date desc; limit 150
        SELECT close FROM data LIMIT 150
        SELECT close FROM data ORDER BY date DESC LIMIT 5 OFFSET 200
        SELECT close FROM data LIMIT 200, 5
        SELECT close FROM data d ORDER BY d.date DESC LIMIT 150
        last 200; last 5
        avg(close) over 200; last 1
        close > avg(close) over 200; count
        pct_change(close); last 100
        lag(close, 60) as before; lag(before, 60); last 1
        stddev(pct_change(close)) over 100; last 1
        avg(close) over 120 as mean, close; since 2025-12
        SELECT close / LAG(close, 252) OVER (ORDER BY date) FROM data ORDER BY date DESC LIMIT 1
        SELECT avg(close) OVER (ORDER BY date ROWS BETWEEN 199 PRECEDING AND CURRENT ROW) FROM data
    """,
    GapKind.BEGINNING: """
        2024
        last 200 days; avg(close)
        date = 2024-05; max(close)
        since 2024; top 3 by volume
        SELECT avg(close) FROM data WHERE date LIKE '2024%'
        SELECT close FROM data WHERE date IN ('2024-06-03', '2026-01-05')
        SELECT max(a.close) FROM data a JOIN data b ON a.close < b.close WHERE a.date >= '2024-01-01'
        2024-Q2
        date between 2024-06 and 2024-08
        timestamp < 2025 and close > 5
        since 2024; since 2025-01
        SELECT close FROM data WHERE timestamp < '2025'
    """,
    None: """
        close
        last 5
        [60:65]
        oldest first; [-3:]
        newest first; first 3
        last 30; close > avg(close)
        last 30; close > 300; count
        close > 300; last 5; since 2025-12
        last(close)
        change(close)
        avg(close) over 5; last 3
        since 2025-10; max(close)
        order by date
        order by date; last 1
        until 2025-12-01
        latest
        SELECT close FROM data
        SELECT date, close FROM data ORDER BY date
        SELECT close FROM data ORDER BY date DESC LIMIT 5
        SELECT close FROM data WHERE date <= '2025-12-01'
        jmespath: rows[0].close
        jmespath: rows[].close
        jmespath: rows[:5].close
        ytd
        next 7 days
        before 2026-06-30; last 5
    """,
}
"""What is lacking of what a select requests of a part of a series."""


# F1
@pytest.mark.parametrize("kind", PARTS)
def test_answer_from_a_part_of_a_series_has_a_gap(kind: GapKind | None) -> None:
    gaps = {
        select: gap_of(select, LIMITED, {"symbol": "IBM"})
        for select in map(str.strip, PARTS[kind].strip().splitlines())
    }
    kinds = {select: gap and gap.kind for select, gap in gaps.items()}
    assert {select: found for select, found in kinds.items() if found is not kind} == {}
