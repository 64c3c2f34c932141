"""The type of a column is decided once, from all of its cells; what is compared is a value of that type."""

# ruff: noqa: E501 - a line for each column

from typing import Any

import pytest

from tests.unit.results.select.outcomes import select_from
from toolfold.errors import InvalidSelect
from toolfold.results.tables import Document, Table
from toolfold.results.types import Kind, column_type, number_of


@pytest.mark.parametrize(
    ("cells", "kind", "expected"),
    [
        ([1, 2, None], Kind.INTEGER, [1, 2, None]),
        ([1, 2.5], Kind.NUMBER, [1, 2.5]),
        (["1", "2", ""], Kind.INTEGER, [1, 2, None]),
        (["1,234.5", "12,000", 999], Kind.NUMBER, [1234.5, 12000, 999]),
        (["$99.00", "$1,250.5", "-$3"], Kind.NUMBER, [99, 1250.5, -3]),
        (["2.50 €", "10€"], Kind.NUMBER, [2.5, 10]),
        (["5%", "12.5 %", "-0.5%"], Kind.NUMBER, [5, 12.5, -0.5]),
        (["1.5M", "2B", "10k", "3bn", "1T"], Kind.INTEGER, [1_500_000, 2 * 10**9, 10_000, 3 * 10**9, 10**12]),
        (["\u22125", "+7"], Kind.INTEGER, [-5, 7]),
        (["(1,200)", "300"], Kind.INTEGER, [-1200, 300]),
        (["1e3", "2.5E-1"], Kind.NUMBER, [1000, 0.25]),
        (["1", "None", "-", "N/A", "null", "  "], Kind.INTEGER, [1, None, None, None, None, None]),
        (["1", "..", ":", "—", "–", "#N/A", "n.a.", "NULL"], Kind.INTEGER, [1, *[None] * 7]),
        (["", None, "-"], Kind.EMPTY, [None, None, None]),
        ([True, None, False], Kind.BOOLEAN, [True, None, False]),
        (["2024-02-15", "2023-01-01", None], Kind.DATE, ["2024-02-15", "2023-01-01", None]),
        (["2024-02-15", "None", "-"], Kind.DATE, ["2024-02-15", None, None]),
        (["2024Q1", "2023-Q4", "Q2 2024"], Kind.DATE, ["2024-01-01", "2023-10-01", "2024-04-01"]),
        (["20240215", "20231231"], Kind.DATE, ["2024-02-15", "2023-12-31"]),
        ([20240215, 20231231, None], Kind.DATE, ["2024-02-15", "2023-12-31", None]),
        (["02/15/2024", "01/02/2024"], Kind.DATE, ["2024-02-15", "2024-01-02"]),
        (["15/02/2024", "01/02/2024"], Kind.DATE, ["2024-02-15", "2024-02-01"]),
        (["15.02.2024", "01.02.2024"], Kind.DATE, ["2024-02-15", "2024-02-01"]),
        (["Feb 15, 2024", "March 1, 2024"], Kind.DATE, ["2024-02-15", "2024-03-01"]),
        (["2024-01-01T09:30:00", "2024-01-01 16:00:00"], Kind.DATETIME, ["2024-01-01T09:30:00", "2024-01-01T16:00:00"]),
        (["2024-01-01T23:30:00-05:00", "2024-01-02T01:00:00Z", "2024-01-02T03:00:00+09:00"], Kind.DATETIME,
         ["2024-01-02T04:30:00", "2024-01-02T01:00:00", "2024-01-01T18:00:00"]),
        (["Wed, 26 Feb 2025 10:00:00 GMT", "Mon, 03 Mar 2025 00:30:00 GMT"], Kind.DATETIME, ["2025-02-26T10:00:00", "2025-03-03T00:30:00"]),
        (["Tue, 01 Apr 2025 23:00:00 +0200"], Kind.DATETIME, ["2025-04-01T21:00:00"]),
        (["2025-02-28T10:00:00+01:00[Europe/Berlin]"], Kind.DATETIME, ["2025-02-28T09:00:00"]),
        (["₹99", "₹1,000"], Kind.INTEGER, [99, 1000]),
        (["1234ab", "12bcde", "9ab0c1"], Kind.TEXT, ["1234ab", "12bcde", "9ab0c1"]),
        (["Sun Life", "Sun Corp"], Kind.TEXT, ["Sun Life", "Sun Corp"]),
        (["You may go", "April Fox"], Kind.TEXT, ["You may go", "April Fox"]),
        ([2024, 2023, 2022], Kind.INTEGER, [2024, 2023, 2022]),
        ([1700000000, 1700000600], Kind.INTEGER, [1700000000, 1700000600]),
        (["0000320193", "0001018724"], Kind.TEXT, ["0000320193", "0001018724"]),
        (["90071992547409931", "12"], Kind.MIXED, ["90071992547409931", "12"]),
        (["90071992547409931", 12], Kind.MIXED, ["90071992547409931", "12"]),
        (["90071992547409931", "12345678901234567"], Kind.TEXT, ["90071992547409931", "12345678901234567"]),
        (["put", "call", None], Kind.TEXT, ["put", "call", None]),
        ([":", ".."], Kind.TEXT, [":", ".."]),
        (["2026-01-02 10:00 EST", "2026-01-03 09:00 EST"], Kind.TEXT, ["2026-01-02 10:00 EST", "2026-01-03 09:00 EST"]),
        (["2026-01-02 10:00 begun", "2026-01-02 11:00 over"], Kind.TEXT,
         ["2026-01-02 10:00 begun", "2026-01-02 11:00 over"]),
        ([[1], {"a": 1}, "x"], Kind.MIXED, [[1], {"a": 1}, "x"]),
        ([[1], {"a": 1}, None], Kind.NESTED, [[1], {"a": 1}, None]),
        ([], Kind.EMPTY, []),
    ],
)  # fmt: skip
def test_column_has_the_type_of_all_of_its_cells(cells: list[Any], kind: Kind, expected: list[Any]) -> None:
    found = column_type(cells)
    assert (found.kind, list(found.values)) == (kind, expected)
    assert kind is not Kind.TEXT or not found.misfit


@pytest.mark.parametrize(
    ("cells", "misfit"),
    [
        (["5%", "0.5", "12%"], "0.5"),
        (["1", "2", "high"], "high"),
        (["2024-01-01", "soon"], "soon"),
        (["2024-01-01", 5], "2024-01-01"),
        (["01/02/2024", "03/04/2024"], "01/02/2024"),
        (["2024-01-01T09:30:00Z", "2024-01-01T16:00:00"], "2024-01-01T16:00:00"),
        (["Mon, 03 Mar 2025 00:30:00 GMT", "03 Mar 2025 01:30:00"], "03 Mar 2025 01:30:00"),
        (["Jan", "Feb", "Apr"], "Jan"),
        (["Monday", "Friday"], "Monday"),
        (["28-FEB-25", "03-MAR-25"], "28-FEB-25"),
        (["Sept. 3rd", "Tue, 5 pm"], "Sept. 3rd"),
        (["Wed Feb 26 10:00:00 2025", "Mon Mar 3 00:30:00 2025"], "Wed Feb 26 10:00:00 2025"),
        (["3 weeks ago", "5 hours ago"], "3 weeks ago"),
        (["2h 5m", "45m"], "2h 5m"),
        (["PT45M", "2h 5m"], "PT45M"),
        (["52.52° N", "33.87° S"], "52.52° N"),
        (["2025-03-30T01:30 Europe/Oslo", "2025-03-30 02:30 BST"], "2025-03-30T01:30 Europe/Oslo"),
        (["21.5", "21,9"], "21.5 beside 21,9"),
        (["1.5 kg", "2,25 kg"], "1.5 kg beside 2,25 kg"),
        (["5-", "7"], "5-"),
        (["12'000", "13'000"], "12'000"),
        (["1.234,5", "2"], "1.234,5"),
        (["5 kg", "12 kg"], "5 kg"),
        (["10MB", "2 GB", "900 KB"], "10MB"),
        (["1st", "2nd", "10th"], "1st"),
        (["12 000", "1"], "12 000"),
        (["01/02/24", "03/04/24"], "01/02/24"),
        (["9" * 400 + ".5", "1"], "9" * 400 + ".5"),
    ],
)
def test_column_of_several_kinds_names_what_does_not_fit(cells: list[Any], misfit: str) -> None:
    found = column_type(cells)
    assert found.kind is Kind.MIXED
    assert found.misfit == misfit or found.misfit in cells
    for text in ("max(v)", "v > 1", "order by v", "avg(v) over 2", "v + 1", "SELECT sum(v) FROM data"):
        with pytest.raises(InvalidSelect) as raised:
            rows(text, cells)
        assert found.misfit[:30] in str(raised.value), text
    written = cells[0].replace("'", "''")
    assert rows(f"v = '{written}'", cells) == [(cells[0],)]


def rows(text: str, cells: list[Any]) -> list[tuple[Any, ...]]:
    answer = Document((Table("", ("v",), [(cell,) for cell in cells]),))
    return [tuple(row) for row in select_from(answer, text).tables[0].rows]


@pytest.mark.parametrize(
    ("text", "number"),
    [("10%", 10), ("$1,250.50", 1250.5), ("1.5M", 1_500_000), ("2.2M", 2_200_000), ("(5)", -5), ("\u22125", -5), (".5", 0.5),
     ("1.", 1), ("", None), ("1,23", None), ("12 000", None), ("1_000", None), ("\u0663", None), ("9" * 5000, None), ("NaN", None)],
)  # fmt: skip
def test_number_of_a_text(text: str, number: float | None) -> None:
    assert number_of(text) == number
    assert type(number_of(text)) is type(number)


def test_type_is_decided_once() -> None:
    table = Table("", ("v",), [("1",), ("2",)])
    assert table.type_of(0) is table.type_of(0)
