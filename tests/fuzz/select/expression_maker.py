"""Make expressions and conditions for a table at a step, with values that it has, and some that must be refused."""

import re
from collections.abc import Callable
from random import Random

from tests.fuzz.select import expressions as e
from tests.fuzz.select.frame import Frame
from tests.fuzz.select.language import Expression, Unit
from tests.fuzz.select.literals import Literals
from tests.fuzz.select.steps import COMPUTED
from tests.fuzz.select.table import Column

FUNCTIONS = (
    "sum",
    "avg",
    "min",
    "max",
    "median",
    "stddev",
    "count",
    "first",
    "last",
    "variance",
    "stddev_pop",
    "var_pop",
)
SUMMED = ("count", "max", "min", "avg", "sum", "last", "first", *FUNCTIONS)
_WINDOWS = ("avg", "avg", "sum", "min", "max", "median", "stddev", "count")
_SIGNS = ("=", "!=", "<", "<=", ">", ">=", ">", "<")
UNITS: tuple[Unit, ...] = ("day", "week", "month", "quarter", "year")
_AS_WRITTEN = re.compile(r'count|[a-z_]+\((distinct )?([A-Za-z_]\w*|"([^"]|"")*")(, \d+)?\)')
SHARE_WRONG = 0.04
"""Share of steps that the specification refuses."""


class ExpressionMaker:
    """Make expressions from a seed.

    Args:
        random: decides everything.
    """

    def __init__(self, random: Random) -> None:
        self._random = random
        self._literals = Literals(random)

    def _named(self, frame: Frame, *kinds: str) -> Expression | None:
        """Return a column of some kinds that can be written."""
        random = self._random
        if random.random() < SHARE_WRONG:
            kinds = ("number", "percent", "mixed", "text", "date", "empty")
            if frame.dropped and random.random() < 0.5:
                dropped = sorted(name for name in frame.dropped if "(" not in name and name != "count")
                return e.ref(random.choice(dropped)) if dropped else None
        found = [column for column in frame.columns if column.kind in kinds and is_writable(column)]
        return ref_of(random.choice(found)) if found else None

    def _any(self, frame: Frame) -> Expression:
        found = [column for column in frame.columns if is_writable(column)] or frame.columns
        return ref_of(self._random.choice(found))

    def _number(self, frame: Frame, depth: int = 0) -> Expression:
        """Return an expression of numbers: most a column."""
        random = self._random
        ref = self._named(frame, "number", "percent")
        if ref is None:
            return e.number(1)
        kind = random.random()
        if depth > 1 or kind < 0.45:
            return ref
        if kind < 0.75:
            right = self._number(frame, depth + 1) if random.random() < 0.6 else self._literals.number()
            return e.arithmetic(random.choice("+-*/"), self._number(frame, depth + 1), right)
        if kind < 0.8:
            return e.negative(ref)
        if kind < 0.9:
            return self._neighbour(frame, ref)
        if kind < 0.95:
            return e.window(random.choice(_WINDOWS), ref, random.choice((2, 3, 5)))
        return e.arithmetic("/", ref, self._aggregate(frame, ref, ("first", "last", "avg", "sum", "max")))

    def _neighbour(self, _frame: Frame, operand: Expression) -> Expression:
        random = self._random
        function = random.choice(("change", "pct_change", "pct_change", "lag"))
        return e.neighbour(function, operand, random.choice((1, 1, 2, 3)) if function == "lag" else 1)

    def _aggregate(self, frame: Frame, operand: Expression, functions: tuple[str, ...] = SUMMED) -> Expression:
        random = self._random
        if functions is SUMMED and random.random() < 0.05 and operand.column:
            other = self._named(frame, "number", "percent")
            if other and random.random() < 0.5:
                return e.aggregate("corr", operand, other)
            percent = random.choice((0, 5, 25, 50, 90, 100))
            return e.aggregate("percentile", operand, e.number(percent))
        return e.aggregate(random.choice(functions), operand)

    def _truth(self, frame: Frame, depth: int = 0) -> Expression:
        random = self._random
        if depth < 2 and random.random() < 0.2:
            count = random.choice((2, 2, 3))
            operands = tuple(self._truth(frame, depth + 1) for _ in range(count))
            return e.logic(random.choice(("and", "or")), operands)
        if depth < 2 and random.random() < 0.06:
            return e.negation(self._truth(frame, depth + 1))
        kinds: dict[Callable[[Frame], Expression | None], int] = {
            self._of_number: 12,
            self._of_text: 7,
            self._of_date: 5,
            self._of_null: 2,
            self._of_mixed: 2,
            self._of_boolean: 2,
        }
        for _ in range(8):
            found = random.choices(tuple(kinds), tuple(kinds.values()))[0](frame)
            if found is not None:
                return found
        return e.is_null(self._any(frame), negated=True)

    def _of_number(self, frame: Frame) -> Expression | None:
        random = self._random
        ref = self._named(frame, "number", "percent")
        if ref is None:
            return None
        column = next((column for column in frame.columns if column.name == ref.column), None)
        kind = random.random()
        sign = random.choice(_SIGNS)
        if kind < 0.5:
            return e.compare(sign, ref, self._literals.number(column))
        if kind < 0.6:
            ends = self._literals.number(column), self._literals.number(column)
            low, high = sorted(ends, key=lambda one: one.literal)
            return e.between(ref, low, high, negated=random.random() < 0.2)
        if kind < 0.68:
            count = random.choice((1, 2, 3))
            items = tuple(e.number(self._literals.number(column).literal) for _ in range(count))
            return e.among(ref, items, negated=random.random() < 0.3)
        if kind < 0.8 and (other := self._named(frame, "number", "percent")):
            return e.compare(random.choice("<>"), ref, other)
        if kind < 0.92:
            functions = ("avg", "max", "min", "median", "first", "last")
            return e.compare(random.choice((">", "<", "=", ">=")), ref, self._aggregate(frame, ref, functions))
        return e.compare(random.choice("<>"), self._number(frame), self._literals.number())

    def _of_text(self, frame: Frame) -> Expression | None:
        random = self._random
        ref = self._named(frame, "text")
        column = next((column for column in frame.columns if ref and column.name == ref.column), None)
        if ref is None or column is None:
            return None
        names = [*(column.name for column in frame.columns), *frame.dropped]
        kind = random.random()
        if kind < 0.5:
            sign = random.choice(("=", "=", "=", "!=", "<", ">"))
            literal = self._literals.text(column, names)
            return e.compare(sign, ref, literal if sign in ("=", "!=") else e.text(literal.literal))
        if kind < 0.7:
            items = tuple(self._literals.text(column, names) for _ in range(random.choice((1, 2, 3))))
            return e.among(ref, items, negated=random.random() < 0.3)
        if kind < 0.73:
            return e.compare(">", ref, e.number(3))
        way = random.choice(("like", "contains", "starts with", "ends with"))
        pattern = self._literals.pattern(column, way)
        return e.matches(ref, way, pattern, negated=way == "like" and random.random() < 0.2)

    def _of_mixed(self, frame: Frame) -> Expression | None:
        found = [column for column in frame.columns if column.kind == "mixed" and is_writable(column)]
        if not found:
            return None
        column = self._random.choice(found)
        literal = e.text(self._literals.text(column, ()).literal)
        if self._random.random() < 0.3:
            return e.compare(">", ref_of(column), e.number(3))
        return e.compare(self._random.choice(("=", "!=")), ref_of(column), literal)

    def _of_date(self, frame: Frame) -> Expression | None:
        random = self._random
        ref = self._named(frame, "date", "datetime", "coarse")
        column = next((column for column in frame.columns if ref and column.name == ref.column), None)
        if ref is None or column is None:
            return None
        kind = random.random()
        if kind < 0.3:
            names = {column.name.lower() for column in frame.columns} | {name.lower() for name in frame.dropped}
            unit = random.choice(("year", "month", "quarter", "weekday"))
            part = e.part(unit, None if unit not in names and random.random() < 0.5 else ref)
            if unit == "weekday":
                day = random.choice(("Monday", "Tuesday", "Friday", "Sunday"))
                return e.compare(random.choice(("=", "!=")), part, e.text(day, random.choice((day, f"'{day}'"))))
            at = self._literals.instant(column)
            value = {"year": at.year, "month": at.month, "quarter": (at.month + 2) // 3}[unit]
            return e.compare(random.choice(_SIGNS), part, e.number(value))
        if kind < 0.8:
            return e.compare(random.choice(_SIGNS), ref, self._literals.date(column))
        if kind < 0.9:
            one, other = self._literals.date(column), self._literals.date(column)
            low, high = (one, other) if str(one.literal.start) <= str(other.literal.start) else (other, one)
            return e.between(ref, low, high)
        return e.among(ref, [self._literals.date(column) for _ in range(2)], negated=random.random() < 0.2)

    def _of_null(self, frame: Frame) -> Expression | None:
        return e.is_null(self._any(frame), negated=self._random.random() < 0.5)

    def _of_boolean(self, frame: Frame) -> Expression | None:
        ref = self._named(frame, "boolean")
        return e.compare("=", ref, e.boolean(self._random.random() < 0.5)) if ref else None

    def _sql_truth(self, frame: Frame) -> Expression:
        """Return a comparison of a column with a number or a text in the spelling of SQL."""
        random = self._random
        ref = self._named(frame, "number", "percent", "text")
        column = next((column for column in frame.columns if ref and column.name == ref.column), None)
        if ref is None or column is None or ref.as_written:
            return e.is_null(e.ref(self._any(frame).column), negated=random.random() < 0.5)
        if column.kind == "text":
            return e.compare(random.choice(("=", "!=")), ref, e.text(self._literals.exact(column)))
        return e.compare(random.choice(_SIGNS), ref, e.number(self._literals.number(column).literal))


def _is_computed(column: Column) -> bool:
    return any(cell.shown is COMPUTED for cell in column.cells)


def is_writable(column: Column) -> bool:
    """Return whether a later step can name a column: an alias, a column of the answer, a call of a function."""
    plain = re.fullmatch(r"[A-Za-z_]\w*", column.name) is not None
    return not _is_computed(column) or plain or _AS_WRITTEN.fullmatch(column.name) is not None


def ref_of(column: Column) -> Expression:
    """Return a column as a later step names it."""
    return e.ref(column.name, as_written=_is_computed(column) and _AS_WRITTEN.fullmatch(column.name) is not None)
