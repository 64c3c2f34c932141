"""Make tables: formats of numbers and dates, orders, nulls, duplicates, and names that are hard to write."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from random import Random
from typing import Any

from tests.fuzz.select.table import NULLS, Cell, Table

TODAY = datetime(2026, 2, 1)

_MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
_MAGNITUDES = {"K": 10**3, "M": 10**6, "B": 10**9}

DATE_NAMES = ("date", "timestamp", "fiscalDateEnding", "day of report", "Date", "time_published", "last", "by", "d-1")
NUMBER_NAMES = (
    *("open", "high", "low", "close", "volume", "amount", "price", "weight", "strike", "surprise", "total revenue"),
    *("adjustedClose", "5. adjusted close", "net income (loss)", "P/E", "a-b", "10year", "2year", "52 week high"),
    *("order", "count", "top", "from", "select", "limit", "max", "change_percent", "x.y", 'say "x"', "[x]", "größe"),
    *("Close", "CLOSE", "Open", "first", "year", "in", "is", "not", "null", "desc", "1", "e", "and", "over"),
)
TEXT_NAMES = (
    *("type", "symbol", "region", "name", "sentiment label", "id", "Type", "group", "like", "where", "currency", "or"),
)
TEXTS = (
    ("call", "put"),
    ("Somewhat-Bullish", "Bearish", "Neutral", "Bullish"),
    ("New York", "London", "São Paulo", "Zürich", "Österreich"),
    ("AAPL", "MSFT", "BRK.B", "IBM"),
    ("beat", "Beaten", "miss", "it's", 'a "quoted" one', "50% off", "under_score", "a;b", "x,y", "a and b"),
    ("ON", "NOT", "NULLABLE", "true story", "last", "in"),
)
PREFIXED = ("007", "0012", "0003", "0100", "0456", "00")
LONG = tuple(str(2**53 + offset) for offset in (1, 2, 3, 10, 12345))

OFFSETS = (timedelta(0), timedelta(hours=-5), timedelta(hours=9), timedelta(hours=5, minutes=30))


DATE_FORMATS: dict[str, tuple[str, Callable[[datetime], str]]] = {
    "iso": ("date", lambda value: value.date().isoformat()),
    "compact": ("date", lambda value: f"{value:%Y%m%d}"),
    "month first": ("monthfirst", lambda value: f"{value:%m/%d/%Y}"),
    "day first": ("dayfirst", lambda value: f"{value:%d/%m/%Y}"),
    "month name": ("date", lambda value: f"{_MONTHS[value.month - 1]} {value.day}, {value.year}"),
    "quarter": ("coarse", lambda value: f"{value.year}Q{(value.month + 2) // 3}"),
    "month": ("coarse", lambda value: f"{value:%Y-%m}"),
    "datetime": ("datetime", lambda value: f"{value:%Y-%m-%d %H:%M:%S}"),
    "datetime T": ("datetime", lambda value: f"{value:%Y-%m-%dT%H:%M:%S}"),
    "compact T": ("datetime", lambda value: f"{value:%Y%m%dT%H%M%S}"),
}
"""Name → the family of its cells, and how it is written."""

_FORMAT_WEIGHTS = (16, 2, 2, 2, 2, 2, 1, 3, 2, 1)
_CADENCES = ("day", "day", "day", "week", "month", "month", "quarter", "irregular", "irregular", "minute")


class TableMaker:
    """Make tables from a seed.

    Args:
        random: decides everything.
    """

    def __init__(self, random: Random) -> None:
        self._random = random

    def table(self, name: str = "") -> Table:
        """Return a table of 0 to 60 rows, most with a date column."""
        random = self._random
        count = random.choice(_ROWS)
        columns: dict[str, list[Cell]] = {}
        if random.random() < 0.82:
            columns[random.choice(DATE_NAMES[:6] if random.random() < 0.85 else DATE_NAMES)] = self._dates(count)
        for _ in range(random.choice((1, 2, 2, 3, 3, 4))):
            columns.setdefault(self._name(NUMBER_NAMES, 10), self._numbers(count))
        for _ in range(random.choice((0, 0, 1, 1, 1, 2))):
            columns.setdefault(self._name(TEXT_NAMES, 5), self._texts(count))
        if random.random() < 0.06:
            columns.setdefault("active", [self._maybe_null(Cell(v, v, "boolean"), 0.1) for v in self._flags(count)])
        if random.random() < 0.06:
            columns.setdefault("reported", self._dates(count))
        names = list(columns)
        if random.random() < 0.25:
            random.shuffle(names)
        rows = [tuple(columns[column][index] for column in names) for index in range(count)]
        if rows and random.random() < 0.1:
            rows.insert(random.randrange(len(rows) + 1), random.choice(rows))
        return Table(name, tuple(names), tuple(rows))

    def partitioned(self) -> Table:
        """Return the table of a list of calls: the varied argument is its first column."""
        random = self._random
        one = self.table()
        symbols = random.sample(TEXTS[3], random.choice((2, 2, 3)))
        rows = []
        for symbol in symbols:
            key = Cell(symbol, symbol, "text")
            kept = [row for row in one.rows if random.random() < 0.9]
            rows += [(key, *self._varied(row)) for row in kept]
        columns = tuple("symbol_2" if name == "symbol" else name for name in one.columns)
        return Table("", ("symbol", *columns), tuple(rows), ("symbol",))

    def _varied(self, row: tuple[Cell, ...]) -> tuple[Cell, ...]:
        """Return a row whose plain numbers differ, so that the partitions do."""
        moved = self._random.randrange(1, 9)
        return tuple(
            Cell(cell.value + moved, cell.value + moved, "number")
            if cell.family == "number" and isinstance(cell.shown, int | float)
            else cell
            for cell in row
        )

    def _name(self, names: tuple[str, ...], usual: int) -> str:
        return self._random.choice(names[:usual] if self._random.random() < 0.75 else names)

    def _maybe_null(self, cell: Cell, share: float) -> Cell:
        random = self._random
        if random.random() >= share:
            return cell
        # A dash in a column of texts may be a text.
        return Cell(random.choice((None, "", "N/A") if cell.family == "text" else NULLS), None, "null")

    def _flags(self, count: int) -> list[bool]:
        return [self._random.random() < 0.5 for _ in range(count)]

    def _null_share(self) -> float:
        return self._random.choice((0, 0, 0, 0, 0.1, 0.3, 1 if self._random.random() < 0.1 else 0.5))

    def _dates(self, count: int) -> list[Cell]:
        random = self._random
        values = self._instants(count)
        share = self._random.choice((0, 0, 0, 0, 0, 0, 0.1))
        if random.random() < 0.06:
            return [self._maybe_null(self._with_offset(value), share) for value in values]
        form = random.choices(tuple(DATE_FORMATS), _FORMAT_WEIGHTS)[0]
        return [self._maybe_null(dated(value, form), share) for value in values]

    def _with_offset(self, value: datetime) -> Cell:
        offset = self._random.choice(OFFSETS)
        shown = value.replace(tzinfo=UTC).astimezone(timezone(offset)).isoformat()
        return Cell(shown.replace("+00:00", "Z"), value, "datetime")

    def _instants(self, count: int) -> list[datetime]:
        """Return times, newest first, oldest first or shuffled, at times with equal ones."""
        random = self._random
        cadence = random.choice(_CADENCES)
        now = TODAY - timedelta(days=random.choice((1, 3, 30, 33, 200, 800)), hours=random.randrange(24))
        values: list[datetime] = []
        while len(values) < count:
            values.append(now)
            if random.random() < (0.08 if cadence == "irregular" else 0.01):
                continue
            if cadence == "month":
                now = now.replace(day=1) - timedelta(days=random.choice((1, 1, 1, 3)))
            elif cadence == "quarter":
                now = (now.replace(day=1) - timedelta(days=62)).replace(day=1) - timedelta(days=1)
            elif cadence == "minute":
                now -= timedelta(minutes=random.choice((1, 5, 60, 600)))
            else:
                days = {"day": (1, 1, 1, 1, 3), "week": (7,), "irregular": (1, 2, 5, 20, 90, 400)}[cadence]
                now -= timedelta(days=random.choice(days))
        order = random.choice(("newest", "newest", "oldest", "oldest", "shuffled"))
        if order == "oldest":
            values.reverse()
        elif order == "shuffled":
            random.shuffle(values)
        return values

    def _numbers(self, count: int) -> list[Cell]:
        random = self._random
        share = self._null_share()
        form = random.choice(
            ("json", "json", "json", "text", "text", "separators", "$", "%", "magnitude", "minus", "any")
        )
        if random.random() < 0.02:
            form = "epoch"
        misfit = random.random() < 0.05
        values = self._amounts(count)
        cells = [
            self._maybe_null(numeric(value, random.choice(_ANY) if form == "any" else form), share) for value in values
        ]
        if misfit and cells:
            cells[random.randrange(count)] = random.choice(
                (Cell("see note", "see note", "text"), Cell("12*", "12*", "text"), Cell("5%", 5, "percent"))
            )
        return cells

    def _amounts(self, count: int) -> list[float]:
        random = self._random
        scale = random.choice((3, 10, 100, 100, 1000, 10**6))
        digits = random.choice((0, 0, 1, 2, 2, 4))
        low = random.choice((0, 0, 0, -scale))
        values = [round(random.uniform(low, scale), digits) for _ in range(count)]
        if random.random() < 0.3:
            values = [random.choice(values) for _ in values]
        return [int(value) if not digits else value for value in values]

    def _texts(self, count: int) -> list[Cell]:
        random = self._random
        choices = random.choice((*TEXTS, *TEXTS, PREFIXED, LONG))
        share = self._null_share()
        return [self._maybe_null(Cell(text, text, "text"), share) for text in random.choices(choices, k=count)]


_ROWS = (0, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 8, 8, 10, 10, 12, 12, 15, 20, 30, 60)
_ANY = ("json", "json", "text", "separators")


def dated(value: datetime, form: str) -> Cell:
    """Return the cell of a date in a format; its value has no more than what the format shows."""
    family, write = DATE_FORMATS[form]
    if form == "quarter":
        meant = datetime(value.year, (value.month - 1) // 3 * 3 + 1, 1)
    elif form == "month":
        meant = datetime(value.year, value.month, 1)
    elif family == "datetime":
        meant = value
    else:
        meant = datetime(value.year, value.month, value.day)
    return Cell(write(value), meant, family)


def numeric(value: float, form: str) -> Cell:
    """Return the cell of a number in a format."""
    shown: Any = value
    family = "number"
    if form == "text":
        shown = str(value)
    elif form == "separators":
        shown = f"{value:,}"
    elif form == "minus":
        shown = str(value).replace("-", "\u2212")
    elif form == "$":
        value = abs(value)
        shown = f"${value:,}"
    elif form == "%":
        shown, family = f"{value}%", "percent"
    elif form == "epoch":
        value = shown = 1_700_000_000 + int(value) * 86_400
    elif form == "magnitude":
        letter = "KMB"[int(abs(value)) % 3]
        small = round(abs(value) % 1000, 1)
        value, shown = round(small * _MAGNITUDES[letter]), f"{small}{letter}"
    return Cell(shown, value, family)
