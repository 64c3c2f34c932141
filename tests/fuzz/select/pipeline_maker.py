"""Make pipelines for a table, with steps that meet its values at that step, and some that must be refused."""

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

from tests.fuzz.select import expressions as e
from tests.fuzz.select import steps as s
from tests.fuzz.select.expression_maker import FUNCTIONS, UNITS, ExpressionMaker, is_writable, ref_of
from tests.fuzz.select.frame import Frame, Refused
from tests.fuzz.select.language import Action, Case, Expression, Item, Step, Unit
from tests.fuzz.select.table import DATES, Column, Table
from tests.fuzz.select.table_maker import TableMaker

_COUNTS = (1, 1, 2, 2, 3, 3, 4, 5, 7, 10, 20, 100)
SHARE_PARSED = 0.2


class PipelineMaker(ExpressionMaker):
    """Make cases from a seed.

    Args:
        random: decides everything.
    """

    def __init__(self, random: Random) -> None:
        super().__init__(random)
        self._tables = TableMaker(random)
        self._aliases = 0

    def case(self) -> Case:
        """Return a case: one table, several, or those of a list of calls; at times parsed."""
        random = self._random
        case = self._whole()
        (table, *others) = case.tables
        if random.random() < SHARE_PARSED and table.rows and not table.keys and not others:
            return replace(case, route=random.choice(("csv", "json")))
        return case

    def _whole(self) -> Case:
        random = self._random
        is_list = random.random() < 0.1
        kind = random.random()
        if kind < 0.1:
            table = self._tables.partitioned()
            return Case((table,), tuple(self._steps(table, 4)), partition=table.keys, is_list=is_list)
        if kind > 0.12:
            table = self._tables.table()
            return Case((table,), tuple(self._steps(table, 5)), is_list=is_list)
        names = random.sample(("annualReports", "quarterly reports", "holdings", "sectors", "data2"), 2)
        tables = tuple(self._tables.table(name) for name in names)
        if random.random() < 0.5:
            return Case(tables, tuple(self._steps(tables[0], 4)), first=names[0], is_list=is_list)
        first = [Step(None, names[0])] if random.random() < 0.4 else self._steps(tables[0], 3, names[0])
        return Case(tables, (*first, *self._steps(tables[1], 3, names[1])), is_list=is_list)

    def _steps(self, table: Table, most: int, named: str = "") -> list[Step]:
        random = self._random
        frame = Frame.of(table)
        steps: list[Step] = []
        for _ in range(random.randint(1, most)):
            if frame.is_summary and random.random() < 0.8:
                break
            action = self._action(frame)
            steps.append(Step(action, named, random.choice((0, random.randrange(1, 10_000)))))
            try:
                frame = s.apply(action, frame)
            except Refused:
                break
        return steps

    def _action(self, frame: Frame) -> Action:
        random = self._random
        has_date = frame.date_column() is not None
        dated = 1.0 if has_date else 0.04
        weights: dict[Callable[[Frame], Action], float] = {
            self._columns: 16,
            self._except: 2,
            self._condition: 20,
            self._during: 6 * dated,
            self._recent: 5 * dated,
            self._calendar: 3 * dated,
            self._order: 6,
            self._by_date: 3 * dated,
            self._ends: 18,
            self._top: 10,
            self._slice: 7,
            self._summary: 9,
            self._groups: 11,
            self._distinct: 2,
            self._sql: 5,
        }
        return random.choices(tuple(weights), tuple(weights.values()))[0](frame)

    def _alias(self) -> str:
        self._aliases += 1
        return f"{self._random.choice(('gain', 'ratio', 'spread', 'm'))}{self._aliases}"

    def _columns(self, frame: Frame) -> Action:
        random = self._random
        items: list[Item] = []
        taken: set[str] = set()
        for _ in range(random.choice((1, 1, 2, 2, 3))):
            expression: Expression = self._any(frame) if random.random() < 0.6 else self._number(frame)
            if expression.literal is not None:
                continue
            if expression.column in taken:
                continue
            if expression.column:
                taken.add(expression.column)
                alias = self._alias() if random.random() < 0.15 else ""
            else:
                alias = self._alias() if random.random() < 0.6 else ""
            if random.random() < 0.04 and (date := frame.date_column()):
                unit = random.choice(("year", "month", "quarter", "weekday"))
                expression, alias = e.part(unit, e.ref(date.name)), alias or self._alias()
            if not any(item.expression == expression for item in items):
                items.append(Item(expression, alias))
        return s.columns(tuple(items or [Item(self._any(frame))]))

    def _except(self, frame: Frame) -> Action:
        writable = [column.name for column in frame.columns if is_writable(column) and "(" not in column.name]
        if len(frame.columns) < 2 or not writable:
            return self._condition(frame)
        return s.all_except(tuple(self._random.sample(writable, 1)))

    def _condition(self, frame: Frame) -> Action:
        return s.condition(self._truth(frame))

    def _during(self, frame: Frame) -> Action:
        return s.during(self._literals.period(frame.date_column() or Column("", "date", ())))

    def _recent(self, _frame: Frame) -> Action:
        unit = self._random.choice(UNITS)
        count = self._random.choice({"day": (3, 5, 10, 20, 30, 90, 365)}.get(unit, (1, 1, 2, 3, 6)))
        texts = [f"{word} {count} {unit}{'s' * (count > 1)}" for word in ("last", "last", "past")]
        if count == 1:  # "last month" is the calendar month before.
            texts = [f"past {unit}"] if unit == "year" else [f"last 1 {unit}"]
        return s.recent(count, unit, self._random.choice(texts))

    def _calendar(self, _frame: Frame) -> Action:
        random = self._random
        unit: Unit = random.choice(("week", "month", "quarter", "year"))
        back = random.choice((0, 1))
        texts = [f"{'last' if back else 'this'} {unit}"]
        if not back and unit != "week":
            texts.append({"year": "ytd", "quarter": "qtd", "month": "mtd"}[unit])
        return s.calendar(back, unit, random.choice(texts))

    def _key(self, frame: Frame) -> Expression:
        random = self._random
        if random.random() < 0.75:
            return self._named(frame, "number", "percent", *DATES) or self._any(frame)
        return self._number(frame) if random.random() < 0.5 else self._any(frame)

    def _order(self, frame: Frame) -> Action:
        keys: list[tuple[Expression, bool]] = []
        for _ in range(self._random.choice((1, 1, 1, 2))):
            key = self._key(frame)
            if all(key != other for other, _ in keys) and key.literal is None:
                keys.append((key, self._random.random() < 0.5))
        return s.order_by(tuple(keys)) if keys else self._ends(frame)

    def _by_date(self, _frame: Frame) -> Action:
        return s.by_date(self._random.random() < 0.5)

    def _ends(self, _frame: Frame) -> Action:
        return s.ends(self._random.random() < 0.65, self._random.choice(_COUNTS))

    def _top(self, frame: Frame) -> Action:
        random = self._random
        key = self._key(frame)
        if key.literal is not None:
            return self._ends(frame)
        return s.top(random.random() < 0.7, random.choice(_COUNTS), key)

    def _slice(self, frame: Frame) -> Action:
        random = self._random
        if random.random() < (0.2 if frame.is_ordered else 0.02):
            return s.part_of(-random.choice(_COUNTS), None, True)
        start = random.choice((0, 0, 0, 1, 2, 5))
        if start and random.random() < 0.2:
            return s.part_of(start, None, True)
        return s.part_of(start, start + random.choice(_COUNTS), random.random() < 0.3)

    def _items(self, frame: Frame, most: int) -> tuple[Item, ...]:
        random = self._random
        items: list[Item] = []
        for _ in range(random.randint(1, most)):
            item = self._item(frame)
            alias = self._alias() if random.random() < 0.2 else ""
            if not any(item == other.expression for other in items):
                items.append(Item(item, alias))
        return tuple(items)

    def _item(self, frame: Frame) -> Expression:
        random = self._random
        kind = random.random()
        names = {column.name.lower() for column in frame.columns}
        if kind < 0.15 and "count" not in names:
            return e.aggregate("count")
        if kind < 0.25:
            operand = self._any(frame)
            if random.random() < 0.5:
                return e.aggregate("count", operand, distinct=True)
            return e.aggregate(random.choice(("count", "first", "last", "max", "min")), operand)
        ref = self._named(frame, "number", "percent")
        if ref is None:
            return e.aggregate("count", self._any(frame))
        if kind < 0.75:
            return self._aggregate(frame, ref)
        if kind < 0.85:
            inner = self._neighbour(frame, ref)
            return self._aggregate(frame, inner, ("avg", "stddev", "max", "sum", "count"))
        if kind < 0.93:
            other = self._named(frame, "number", "percent") or ref
            return self._aggregate(frame, e.arithmetic(random.choice("+-*/"), ref, other), FUNCTIONS)
        left, right = e.aggregate("last", ref), e.aggregate("first", ref)
        if random.random() < 0.5:
            return e.arithmetic("-", e.arithmetic("/", left, right), e.number(1))
        return e.arithmetic("-", e.aggregate("max", ref), e.aggregate("min", ref))

    def _summary(self, frame: Frame) -> Action:
        return s.summary(self._items(frame, 3))

    def _groups(self, frame: Frame) -> Action:
        random = self._random
        by: list[Any] = []
        date = frame.date_column()
        names = {column.name.lower() for column in frame.columns}
        texts = [column for column in frame.columns if column.kind in ("text", "boolean") and is_writable(column)]
        units = [unit for unit in (*UNITS, "weekday") if unit not in names]
        for _ in range(random.choice((1, 1, 1, 2))):
            if date is not None and units and (not texts or random.random() < 0.6):
                by.append(random.choice(units))
            elif texts:
                by.append(ref_of(random.choice(texts)))
            else:
                by.append(self._any(frame))
        by = list(dict.fromkeys(by))
        ref = self._named(frame, "number", "percent")
        if ref is not None and len(by) == 1 and by[0] in UNITS and random.random() < 0.15:
            neighbour = e.neighbour(random.choice(("change", "pct_change")), ref)
            return s.summary((Item(neighbour, self._alias() if random.random() < 0.3 else ""),), tuple(by))
        return s.summary(self._items(frame, 2), tuple(by))

    def _distinct(self, frame: Frame) -> Action:
        ref = self._named(frame, "text", "boolean") or self._any(frame)
        return s.distinct((ref.column,)) if "(" not in ref.column else self._ends(frame)

    def _sql(self, frame: Frame) -> Action:
        """Return a statement: columns, aggregates, or groups in the order of their keys."""
        random = self._random
        kind = random.random()
        where = self._sql_truth(frame) if random.random() < 0.5 else None
        limit = random.choice(_COUNTS) if random.random() < 0.25 else None
        found = [self._named(frame, "number", "percent") for _ in range(2)]
        numbers = list(dict.fromkeys(ref for ref in found if ref and not ref.as_written))
        sums = [e.aggregate(random.choice(("sum", "avg", "min", "max", "count")), ref) for ref in numbers]
        if kind < 0.4 and sums:
            return s.sql(tuple(Item(one, self._alias() if random.random() < 0.5 else "") for one in sums), where)
        texts = [column for column in frame.columns if column.kind in ("text", "boolean")]
        if kind < 0.6 and texts and "(" not in texts[0].name:
            key = ref_of(texts[0])
            items = [Item(key), Item(e.aggregate("count"), self._alias())]
            items += [Item(one, self._alias()) for one in sums]
            return s.sql(tuple(items), where, (key,), ((1, random.random() < 0.5),), limit)
        refs = dict.fromkeys(self._any(frame) for _ in range(random.choice((1, 2, 2))))
        items = [Item(ref) for ref in refs if not ref.as_written]
        if not items:
            return self._ends(frame)
        if len(numbers) > 1 and random.random() < 0.3:
            items.append(Item(e.arithmetic(random.choice("+-*"), *numbers), self._alias()))
        order = ((random.randint(1, len(items)), random.random() < 0.5),) if random.random() < 0.4 else ()
        return s.sql(tuple(items), where, (), order, limit)
