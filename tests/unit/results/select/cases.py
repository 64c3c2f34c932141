"""Cases of ``select`` in which a wrong result would look right, and the right results.

Expected values are computed here with plain Python, or are so few that they are written.
"""

import datetime
import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import pytest

from tests.unit.results.select.outcomes import outcome, written


class Case(NamedTuple):
    """One ``select`` over one answer.

    Attributes:
        kind: what could go wrong.
        body: the text of the answer, JSON or CSV.
        select: as a caller writes it.
        right: the result as ``outcomes.written`` writes it, of the ``select`` or of the form that its error
            proposes. Empty: the ``select`` has to be refused.
        says: words that an error, or a note of the answer, must have; in any case of letters.
        otherwise: words with which an error or a note makes another result acceptable.
        partition: columns of the varied arguments of a list of calls.
        answer: what the catalog says about the answer.
    """

    kind: str
    body: str
    select: Any
    right: str = ""
    says: Sequence[str] = ()
    otherwise: Sequence[str] = ()
    partition: Sequence[str] = ()
    answer: Mapping[str, Any] = {}


def csv(header: str, *rows: str) -> str:
    """Return a CSV answer."""
    return "\n".join((header, *rows, ""))


def column(*cells: str) -> str:
    """Return a CSV answer of one column ``v`` whose cells are quoted."""
    return csv("v", *(f'"{cell}"' for cell in cells))


def tables(**rows: Sequence[Mapping[str, Any]]) -> str:
    """Return a JSON answer of several tables."""
    return json.dumps(rows)


def days(count: int, newest: str = "2026-01-13", step: int = 1) -> list[str]:
    """Return dates, newest first."""
    last = datetime.date.fromisoformat(newest)
    return [str(last - datetime.timedelta(days=step * index)) for index in range(count)]


def dated(values: Sequence[Any], newest: str = "2026-01-13", step: int = 1, name: str = "close") -> str:
    """Return a CSV series, newest first."""
    return csv(f"date,{name}", *map("{},{}".format, days(len(values), newest, step), values))


def reverse(body: str) -> str:
    """Return a CSV answer with its rows in the opposite order."""
    header, *rows = body.splitlines()
    return csv(header, *reversed(rows))


def shuffle(body: str) -> str:
    """Return a CSV answer with its rows in an order that is neither."""
    header, *rows = body.splitlines()
    return csv(header, *rows[1::3], *rows[::3], *rows[2::3])


def number(value: float) -> str:
    """Return a computed number as it is shown."""
    shown = f"{value:.12g}"
    return str(int(float(shown))) if float(shown).is_integer() else shown


def series(name: str, dates: Sequence[str], values: Sequence[float | None]) -> str:
    """Return a result with one column beside the dates."""
    cells = ("" if value is None else number(value) for value in values)
    return f"date,{name}: " + " / ".join(map("{},{}".format, dates, cells))


CLOSES = [104, 102, 100, 98, 97, 95, 96, 94, 86, 82, 72, 70]
CHANGES = [new - old for new, old in itertools.pairwise(CLOSES)]
DAILY = dated(CLOSES)
MONTHS = [f"{year}-{month:02}-28" for year in (2025, 2024) for month in range(12, 0, -1)]
MONTHLY = csv("date,close", *(f"{day},{200 - index * index}" for index, day in enumerate(MONTHS)))
PAIR = csv(
    "symbol,date,close",
    *("AAPL,2026-01-13,260", "AAPL,2026-01-12,250", "AAPL,2026-01-09,240"),
    *("MSFT,2026-01-13,410", "MSFT,2026-01-12,400", "MSFT,2026-01-09,420"),
)
OPTIONS = csv(
    "contractID,expiration,type,strike,volume",
    *("A,2026-01-16,call,280,10", "B,2026-01-16,put,280,30", "C,2026-02-20,call,300,200", "D,2026-02-20,put,300,"),
)


def orders(make: Callable[[str, str], Case], body: str) -> list[Case]:
    """Return a case for each order of the rows."""
    return [
        make(body, "newest first"),
        make(reverse(body), "oldest first"),
        make(shuffle(body), "in no order"),
    ]


UPS = csv("date,v,w", "2026-01-04,6,5", "2026-01-03,4,5", "2026-01-02,3,2", "2026-01-01,2,5")
TIMES = csv("timestamp,v", "2026-01-13T15:00,4", "2026-01-13T09:30,3", "2026-01-12T15:00,2", "2026-01-12T09:30,1")


def check(case: Case) -> None:
    """Check that the result is right, or that the ``select`` is refused with the words of the case."""
    found = outcome(case.select, case.body, case.answer, case.partition)
    assert all(word.lower() in found.said.lower() for word in case.says), found.said
    if any(word.lower() in found.said.lower() for word in case.otherwise):
        return
    if case.right:
        assert written(found.document, case.right) == case.right, found.said
    else:
        assert found.error is not None, written(found.document, "")


def each(*tables: Sequence[Case]) -> pytest.MarkDecorator:
    """Return the parameters of a test of these cases."""
    cases = [case for table in tables for case in table]
    return pytest.mark.parametrize("case", cases, ids=[f"{case.kind}: {case.select}" for case in cases])
