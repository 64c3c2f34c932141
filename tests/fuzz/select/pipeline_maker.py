"""Make pipelines for a table, with steps that meet its values at that step, and some that must be refused."""

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

from tests.fuzz.select import pipeline as p
from tests.fuzz.select.expression_maker import FUNCTIONS, UNITS, ExpressionMaker, is_writable, ref_of
from tests.fuzz.select.frame import Frame, Refused
from tests.fuzz.select.steps import apply
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

    def case(self) -> p.Case:
        """Return a case: one table, several, or those of a list of calls; at times parsed."""
        random = self._random
        case = self._whole()
        (table, *others) = case.tables
        if random.random() < SHARE_PARSED and table.rows and not table.keys and not others:
            return replace(case, route=random.choice(("csv", "json")))
        return case

    def _whole(self) -> p.Case:
        random = self._random
        is_list = random.random() < 0.1
        kind = random.random()
        if kind < 0.1:
            table = self._tables.partitioned()
            return p.Case((table,), tuple(self._steps(table, 4)), partition=table.keys, is_list=is_list)
        if kind > 0.12:
            table = self._tables.table()
            return p.Case((table,), tuple(self._steps(table, 5)), is_list=is_list)
        names = random.sample(("annualReports", "quarterly reports", "holdings", "sectors", "data2"), 2)
        tables = tuple(self._tables.table(name) for name in names)
        if random.random() < 0.5:
            return p.Case(tables, tuple(self._steps(tables[0], 4)), first=names[0], is_list=is_list)
        first = [p.Step(None, names[0])] if random.random() < 0.4 else self._steps(tables[0], 3, names[0])
        return p.Case(tables, (*first, *self._steps(tables[1], 3, names[1])), is_list=is_list)

    def _steps(self, table: Table, most: int, named: str = "") -> list[p.Step]:
        random = self._random
        frame = Frame.of(table)
        steps: list[p.Step] = []
        for _ in range(random.randint(1, most)):
            if frame.is_summary and random.random() < 0.8:
                break
            action = self._action(frame)
            steps.append(p.Step(action, named, random.choice((0, random.randrange(1, 10_000)))))
            try:
                frame = apply(action, frame)
            except Refused:
                break
        return steps

    def _action(self, frame: Frame) -> p.Action:
        random = self._random
        has_date = frame.date_column() is not None
        dated = 1.0 if has_date else 0.04
        weights: dict[Callable[[Frame], p.Action], float] = {
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

    def _columns(self, frame: Frame) -> p.Action:
        random = self._random
        items: list[p.Item] = []
        taken: set[str] = set()
        for _ in range(random.choice((1, 1, 2, 2, 3))):
            expression: p.Expression = self._any(frame) if random.random() < 0.6 else self._number(frame)
            if isinstance(expression, p.Number):
                continue
            if isinstance(expression, p.Ref) and expression.name in taken:
                continue
            if isinstance(expression, p.Ref):
                taken.add(expression.name)
                alias = self._alias() if random.random() < 0.15 else ""
            else:
                alias = self._alias() if random.random() < 0.6 else ""
            if random.random() < 0.04 and (date := frame.date_column()):
                unit = random.choice(("year", "month", "quarter", "weekday"))
                expression, alias = p.Part(unit, p.Ref(date.name)), alias or self._alias()
            if not any(item.expression == expression for item in items):
                items.append(p.Item(expression, alias))
        return p.Columns(tuple(items or [p.Item(self._any(frame))]))

    def _except(self, frame: Frame) -> p.Action:
        writable = [column.name for column in frame.columns if is_writable(column) and "(" not in column.name]
        if len(frame.columns) < 2 or not writable:
            return self._condition(frame)
        return p.Except(tuple(self._random.sample(writable, 1)))

    def _condition(self, frame: Frame) -> p.Action:
        return p.Condition(self._truth(frame))

    def _during(self, frame: Frame) -> p.Action:
        return p.During(self._literals.period(frame.date_column() or Column("", "date", ())))

    def _recent(self, _frame: Frame) -> p.Action:
        unit = self._random.choice(UNITS)
        count = self._random.choice({"day": (3, 5, 10, 20, 30, 90, 365)}.get(unit, (1, 1, 2, 3, 6)))
        texts = [f"{word} {count} {unit}{'s' * (count > 1)}" for word in ("last", "last", "past")]
        if count == 1:  # "last month" is the calendar month before.
            texts = [f"past {unit}"] if unit == "year" else [f"last 1 {unit}"]
        return p.Recent(count, unit, self._random.choice(texts))

    def _calendar(self, _frame: Frame) -> p.Action:
        random = self._random
        unit: p.Unit = random.choice(("week", "month", "quarter", "year"))
        back = random.choice((0, 1))
        texts = [f"{'last' if back else 'this'} {unit}"]
        if not back and unit != "week":
            texts.append({"year": "ytd", "quarter": "qtd", "month": "mtd"}[unit])
        return p.Calendar(back, unit, random.choice(texts))

    def _key(self, frame: Frame) -> p.Expression:
        random = self._random
        if random.random() < 0.75:
            return self._named(frame, "number", "percent", *DATES) or self._any(frame)
        return self._number(frame) if random.random() < 0.5 else self._any(frame)

    def _order(self, frame: Frame) -> p.Action:
        keys: list[tuple[p.Expression, bool]] = []
        for _ in range(self._random.choice((1, 1, 1, 2))):
            key = self._key(frame)
            if all(key != other for other, _ in keys) and not isinstance(key, p.Number):
                keys.append((key, self._random.random() < 0.5))
        return p.Order(tuple(keys)) if keys else self._ends(frame)

    def _by_date(self, _frame: Frame) -> p.Action:
        return p.ByDate(self._random.random() < 0.5)

    def _ends(self, _frame: Frame) -> p.Action:
        return p.Ends(self._random.random() < 0.65, self._random.choice(_COUNTS))

    def _top(self, frame: Frame) -> p.Action:
        random = self._random
        key = self._key(frame)
        if isinstance(key, p.Number):
            return self._ends(frame)
        return p.Top(random.random() < 0.7, random.choice(_COUNTS), key)

    def _slice(self, frame: Frame) -> p.Action:
        random = self._random
        if random.random() < (0.2 if frame.is_ordered else 0.02):
            return p.Slice(-random.choice(_COUNTS), None, True)
        start = random.choice((0, 0, 0, 1, 2, 5))
        if start and random.random() < 0.2:
            return p.Slice(start, None, True)
        return p.Slice(start, start + random.choice(_COUNTS), random.random() < 0.3)

    def _items(self, frame: Frame, most: int) -> tuple[p.Item, ...]:
        random = self._random
        items: list[p.Item] = []
        for _ in range(random.randint(1, most)):
            item = self._item(frame)
            alias = self._alias() if random.random() < 0.2 else ""
            if not any(item == other.expression for other in items):
                items.append(p.Item(item, alias))
        return tuple(items)

    def _item(self, frame: Frame) -> p.Expression:
        random = self._random
        kind = random.random()
        names = {column.name.lower() for column in frame.columns}
        if kind < 0.15 and "count" not in names:
            return p.Aggregate("count")
        if kind < 0.25:
            ref = self._any(frame)
            if random.random() < 0.5:
                return p.Aggregate("count", ref, distinct=True)
            return p.Aggregate(random.choice(("count", "first", "last", "max", "min")), ref)
        ref = self._named(frame, "number", "percent")
        if ref is None:
            return p.Aggregate("count", self._any(frame))
        if kind < 0.75:
            return self._aggregate(frame, ref)
        if kind < 0.85:
            inner = self._neighbour(frame, ref)
            return self._aggregate(frame, inner, ("avg", "stddev", "max", "sum", "count"))
        if kind < 0.93:
            other = self._named(frame, "number", "percent") or ref
            return self._aggregate(frame, p.Arithmetic(random.choice("+-*/"), ref, other), FUNCTIONS)
        left, right = p.Aggregate("last", ref), p.Aggregate("first", ref)
        if random.random() < 0.5:
            return p.Arithmetic("-", p.Arithmetic("/", left, right), p.Number(1, "1"))
        return p.Arithmetic("-", p.Aggregate("max", ref), p.Aggregate("min", ref))

    def _summary(self, frame: Frame) -> p.Action:
        return p.Summary(self._items(frame, 3))

    def _groups(self, frame: Frame) -> p.Action:
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
            neighbour = p.Neighbour(random.choice(("change", "pct_change")), ref)
            return p.Summary((p.Item(neighbour, self._alias() if random.random() < 0.3 else ""),), tuple(by))
        return p.Summary(self._items(frame, 2), tuple(by))

    def _distinct(self, frame: Frame) -> p.Action:
        ref = self._named(frame, "text", "boolean") or self._any(frame)
        return p.Distinct((ref.name,)) if "(" not in ref.name else self._ends(frame)

    def _sql(self, frame: Frame) -> p.Action:
        """Return a statement: columns, aggregates, or groups in the order of their keys."""
        random = self._random
        kind = random.random()
        where = self._sql_truth(frame) if random.random() < 0.5 else None
        limit = random.choice(_COUNTS) if random.random() < 0.25 else None
        found = [self._named(frame, "number", "percent") for _ in range(2)]
        numbers = list(dict.fromkeys(ref for ref in found if ref and not ref.as_written))
        sums = [p.Aggregate(random.choice(("sum", "avg", "min", "max", "count")), ref) for ref in numbers]
        if kind < 0.4 and sums:
            return p.Sql(tuple(p.Item(one, self._alias() if random.random() < 0.5 else "") for one in sums), where)
        texts = [column for column in frame.columns if column.kind in ("text", "boolean")]
        if kind < 0.6 and texts and "(" not in texts[0].name:
            key = ref_of(texts[0])
            items = [p.Item(key), p.Item(p.Aggregate("count"), self._alias())]
            items += [p.Item(one, self._alias()) for one in sums]
            return p.Sql(tuple(items), where, (key,), ((1, random.random() < 0.5),), limit)
        refs = dict.fromkeys(self._any(frame) for _ in range(random.choice((1, 2, 2))))
        items = [p.Item(ref) for ref in refs if not ref.as_written]
        if not items:
            return self._ends(frame)
        if len(numbers) > 1 and random.random() < 0.3:
            items.append(p.Item(p.Arithmetic(random.choice("+-*"), *numbers), self._alias()))
        order = ((random.randint(1, len(items)), random.random() < 0.5),) if random.random() < 0.4 else ()
        return p.Sql(tuple(items), where, (), order, limit)
