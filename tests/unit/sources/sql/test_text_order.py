"""What a statement of SQLite compares, sorts or adds up as text is noted: texts of numbers and of dates."""

import sqlite3
import time
from pathlib import Path

import pytest

from toolfold.sources.sql import adapter
from toolfold.sources.sql.adapter import DatabaseReader
from toolfold.sources.sql.schema import SqlSettings

VALUES = {
    "amount": ("9", "10", "100"),
    "price": ("$9", "$1,200", "free"),
    "comma": ("9,50", "10,00", "1.200,00"),
    "code": ("A9", "A10", "A2"),
    "day": ("2025-01-31", "2025-02-01", "2025-12-01"),
    "slashed": ("1/13/2025", "2025-02-02", "2025-03-03"),
    "name": ("Ann", "Bob", "Cem"),
    "same": ("10", "20", "30"),
    "hash": ("1234ab", "12bcde", "908172"),
}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a database whose columns are declared as TEXT."""
    found = tmp_path_factory.mktemp("texts") / "texts.db"
    with sqlite3.connect(found) as database:
        database.execute(f"CREATE TABLE t ({', '.join(f'{name} TEXT' for name in VALUES)}, n INTEGER)")
        database.execute("CREATE TABLE other (amount INTEGER, name TEXT)")
        for number, row in enumerate(zip(*VALUES.values(), strict=True)):
            database.execute(f"INSERT INTO t VALUES ({', '.join('?' * (len(row) + 1))})", (*row, number))
    database.close()
    return found


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("SELECT * FROM t WHERE amount > 20", "the texts of amount as texts, in which 100 is before 9. CAST(amount AS"),
        ("SELECT * FROM t WHERE amount BETWEEN 5 AND 50", "in which 100 is before 9"),
        ("SELECT * FROM t ORDER BY amount DESC LIMIT 1", "in which 100 is before 9"),
        ("SELECT amount AS a FROM t ORDER BY a", "in which 100 is before 9"),
        ("SELECT n, amount FROM t ORDER BY 2", "in which 100 is before 9"),
        ("WITH x AS (SELECT amount FROM t) SELECT max(amount) FROM x", "in which 100 is before 9"),
        ("SELECT max(code) FROM t", "in which A10 is before A2"),
        ("SELECT max(price) FROM t", 'in which "$1,200" is before'),
        ("SELECT * FROM t WHERE slashed >= '2025-02-01'", "slashed"),
        ("SELECT sum(comma) FROM t", 'SQLite adds up the digits at the beginning of a text: comma has "9,50".'),
        ("SELECT n FROM t WHERE strftime('%Y', day) = 2025", "write '2025' for 2025"),
        ("SELECT n FROM t WHERE strftime('%Y', day) > 2030", "strftime(…) is a text"),
        ("SELECT sum(amount), avg(same) FROM t", ""),
        ("SELECT sum(n) / count(*) FROM t", "Whole numbers are divided without decimals"),
        ("SELECT round(n / 2, 1) FROM t", "Whole numbers are divided without decimals"),
        ("SELECT 1.0 * sum(n) / count(*), CAST(n AS REAL) / 2, avg(n) / 2, 7 / 2 FROM t", ""),
        ("SELECT n / 2., n / 1e1, n / .5, total(n) / 2, sqrt(n) / 2, julianday(day) / 7 FROM t", ""),
        ("WITH x AS (SELECT avg(n) AS m FROM t) SELECT m / 2, y.k / 2 FROM x, (SELECT n * 1.0 AS k FROM t) AS y", ""),
        ("SELECT t1.n / 2 FROM t AS t1", "Whole numbers are divided without decimals"),
        ("SELECT * FROM t WHERE CAST(amount AS REAL) > 20 ORDER BY CAST(amount AS REAL)", ""),
        ("WITH x AS (SELECT CAST(amount AS REAL) AS amount FROM t) SELECT * FROM x ORDER BY amount", ""),
        ("SELECT * FROM t WHERE amount = 10 AND amount IN (9, 10)", ""),
        ("SELECT * FROM t WHERE day >= '2025-02-01' ORDER BY day, name, n, same", ""),
        ("SELECT name, count(*) FROM t WHERE n > 1 GROUP BY name ORDER BY 2 DESC", ""),
        ("SELECT n FROM t WHERE strftime('%Y', day) = '2025' ORDER BY 1", ""),
        ("SELECT n FROM t WHERE substr(code, 2) * 1 > 5 OR replace(code, 'A', '') + 0 = 10", ""),
        ("SELECT hash FROM t ORDER BY hash", ""),
        ("SELECT t.n FROM t JOIN other AS o ON t.n = o.amount ORDER BY o.amount, o.name", ""),
        ("SELECT t.n FROM t JOIN other AS o ON t.n = o.amount ORDER BY t.amount", "in which 100 is before 9"),
        ("WITH x AS (SELECT amount FROM t) SELECT max(x.amount) FROM x", "in which 100 is before 9"),
    ],
)
def test_note_on_texts_that_are_compared(path: Path, statement: str, says: str) -> None:
    reader = DatabaseReader(SqlSettings("sqlite"), 100_000)
    note = reader.query(str(path), time.monotonic() + 5, statement, [], 10).note
    assert says in note if says else not note


@pytest.mark.parametrize(
    ("where", "params", "says"),
    [
        ("at >= '2024-01-15'", [], "at has numbers such as 1706745600, not texts or dates: datetime(at,"),
        ("at >= ?", ["2024-01-15"], "at has numbers"),
        ("at BETWEEN :low AND :high", {"low": 5, "high": "2024-01-15"}, "at has numbers"),
        ("at > date('now', '-7 days')", [], "at has numbers"),
        ("at > CURRENT_DATE", [], "at has numbers"),
        ("strftime('%Y', at) = '2024'", [], "at has numbers"),
        ("date(o.at) = '2024-01-15' AND at > 0", [], "at has numbers"),
        ("ms > '2024-01-15'", [], "ms has numbers such as 13351219200000000,"),
        ("at = 'yesterday'", [], "at has numbers"),
        ("at IN ('7', 'a')", [], "at has numbers"),
        ("compact > '2024-01-15'", [], "compact has numbers such as 20240201, not texts or dates."),
        ("at != '' OR at = ?", [""], ""),
        ("at > '1704067200' OR at = ? OR julian > 1", ["9"], ""),
        ("at > strftime('%s', '2024-01-15')", [], ""),
        ("date(at, 'unixepoch') > '2024-01-15' AND strftime('%Y', at, 'auto') = '2024'", [], ""),
        ("date(at + 0, 'unixepoch') > ? AND day = ?", ["2024-01-15", "2024-01-01"], ""),
        ("date(julian) > '2024-01-15' AND day > '2024-01-15' AND date(day) = '2024-02-01'", [], ""),
    ],
)  # fmt: skip
def test_note_on_numbers_that_are_read_as_dates(tmp_path: Path, where: str, params: object, says: str) -> None:
    with sqlite3.connect(tmp_path / "visits.db") as database:
        database.execute("CREATE TABLE visits (at INTEGER, julian REAL, day TEXT, ms INTEGER, compact INTEGER)")
        database.execute("INSERT INTO visits VALUES (1704067200, 2460310.5, '2024-01-01', 13348540800000000, 20240101)")
        database.execute("INSERT INTO visits VALUES (1706745600, 2460341.5, '2024-02-01', 13351219200000000, 20240201)")
    database.close()
    reader = DatabaseReader(SqlSettings("sqlite"), 100_000)
    statement = f"SELECT count(*) FROM visits AS o WHERE {where}"
    note = reader.query(str(tmp_path / "visits.db"), time.monotonic() + 5, statement, params, 10).note
    assert says in note if says else not note


def test_answer_does_not_wait_for_a_slow_sample(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapter, "_SAMPLING_S", 0.0)
    reader = DatabaseReader(SqlSettings("sqlite"), 100_000)
    found = reader.query(str(path), time.monotonic() + 5, "SELECT max(amount) FROM t", [], 1)
    assert (found.body, found.note) == ('{"rows":[{"max(amount)":"9"}]}', "")
