"""Run one statement of SQL over the tables of an answer."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date

from sqlglot import exp

from toolfold.budget import WorkBudget
from toolfold.fuzzy import normalize
from toolfold.results.select import dialect
from toolfold.results.select.adapter import Adapter
from toolfold.results.select.dialect import note_on_texts
from toolfold.results.select.expressions import YEARS, column_and_number, parse_sql
from toolfold.results.select.grammar import Step
from toolfold.results.select.names import (
    Column,
    Names,
    find_table,
    invalid,
    listed,
    table_name,
    unknown_column,
    written_name,
)
from toolfold.results.select.sandbox import Rows, Statements, explained, rounded
from toolfold.results.tables import Table
from toolfold.results.types import ColumnType, Kind
from toolfold.results.values import unique_names
from toolfold.text_safety import encodable, quoted_name

_LOOKED_AT = 200
"""Rows in which a name is looked for that no table has."""

_OF_A_ROW = (exp.Alias, exp.Column, exp.Max, exp.Min, exp.Lag, exp.Lead, exp.FirstValue, exp.LastValue)
"""What returns a value of a row, named or not: the answer shows it as it was sent."""

_OF_STEPS = {
    "change": "x - lag(x) OVER (ORDER BY date)",
    "pct_change": "x / lag(x) OVER (ORDER BY date)",
    "first": "first_value(x) OVER (ORDER BY date)",
    "last": "first_value(x) OVER (ORDER BY date DESC)",
}
"""Functions of steps, whose order SQL states → what it has instead."""

_NULLS_FIRST = re.compile(r"\bnulls\s+first\b", re.I)


def run(step: Step, tables: Mapping[str, Table], budget: WorkBudget, today: date) -> tuple[Table, Sequence[str]]:
    """Return the rows that the statement of a step selects from tables by their names, and notes, of which some are "".

    Raises:
        InvalidSelect: it cannot be run over these tables.
        AnswerTooLarge: it takes more time or memory than there is.
    """
    tree = parse_sql(_with_quoted_names(step.clause.text, tables), step.offset)
    for one in tree.find_all(exp.Literal):
        is_year = one.is_int and int(one.name) in YEARS and not isinstance(one.parent, exp.Limit | exp.Offset)
        if is_year and any(one.name in table.columns for table in tables.values()):
            raise column_and_number(one.name)
    with Statements(budget) as statements:
        sources = _sources(tree, tables, step, statements)
        _name_joined(tree, sources)
        _name_outputs(tree)
        tree = dialect.to_sqlite(tree)
        for node in tree.walk():
            if (name := dialect.function_of(node)) in _OF_STEPS:
                raise invalid(f"{name} is not a function of SQL", f"Write {_OF_STEPS[name]}.")
        shown = _resolve(tree, sources, step)
        _name_order(tree)
        has_qualify = tree.find(exp.Qualify) is not None
        note = note_on_texts(tree)
        puts_nulls_first = _NULLS_FIRST.search(step.clause.text) is not None
        tree = Adapter(today, folds=False, puts_nulls_first=puts_nulls_first).adapt(tree)
        try:
            for name, source in sources.items():
                source.rows.load(name)
            names, rows = statements.query(dialect.sql_of(tree))
        except sqlite3.Error as error:
            if (missing := re.fullmatch(r"no such column: (.*)", str(error))) is None:
                raise explained(error, step.offset) from None
            names = list(dict.fromkeys(one.name for source in sources.values() for one in source.names.columns))
            raise unknown_column(missing[1].rpartition(".")[2], names, offset=step.offset) from None
    # sqlglot computes a window that QUALIFY alone reads in a column of its own, which * returns.
    added = [at for at, name in enumerate(names) if has_qualify and re.fullmatch(r"_w\d*", name)]
    names = [name for at, name in enumerate(names) if at not in added]
    rows = [tuple(cell for at, cell in enumerate(row) if at not in added) for row in rows] if added else rows
    titles = unique_names(shown.get(name, name) for name in names)
    outputs = (item for select in tree.find_all(exp.Select) for item in select.expressions)
    computed = {item.alias for item in outputs if not isinstance(item.find(exp.Func, exp.Binary) or item, _OF_A_ROW)}
    types: dict[int, ColumnType] = {}
    columns = []
    for index, (name, cells) in enumerate(zip(names, zip(*rows, strict=True), strict=False)):
        found = next(filter(None, (source.rows.restored(name, cells) for source in sources.values())), None)
        if found is not None:
            types[index] = found[1]
        as_sent = found is not None and name not in computed  # strftime('%Y-%m-%d', date) AS date is in that form
        columns.append(found[0] if found and as_sent else rounded(cells, found[1].kind if found else Kind.ANY))
    needed = (column for source in sources.values() for column in source.rows.needed.values())
    moved = next(filter(None, (column.zone_note for column in needed)), "")
    return Table("", titles, list(zip(*columns, strict=True)), types=types), (note, moved)


def _with_quoted_names(text: str, tables: Mapping[str, Table]) -> str:
    """Return a statement with the names of columns that begin with a digit, and the paths into cells, in quotes."""
    every = {name for table in tables.values() for name in table.columns}
    # A column called 1 needs quotes: 1 alone is a number or the place of a column.
    names = {name for name in every if name[:1].isdigit() and name.isalnum() and not name.isdecimal()}
    paths = {name for table in tables.values() for name in table.columns[len(table.columns) - table.nested :]}
    if not names and not paths:
        return text
    name, path = ("|".join(map(re.escape, sorted(some, key=len, reverse=True))) or "(?!)" for some in (names, paths))
    return re.sub(rf"('(?:[^']|'')*'|\"[^\"]*\")|((?<![\w.`\[])(?:{name})|(?<![\w`\[])(?:{path}))(?!\w)",
                  lambda match: match[1] or f'"{match[2]}"', text)  # fmt: skip


class _Source:
    """A table as a statement reads it: its columns keep their names, those that differ by case alone get a number."""

    def __init__(self, table: Table, statements: Statements) -> None:
        self.rows = Rows(table, statements)
        readable = [encodable(name).replace("\0", "") or "unnamed" for name in table.columns]
        columns = []
        for index, (name, sql) in enumerate(zip(table.columns, unique_names(readable, str.lower), strict=True)):
            is_computed = table.origin is not None and table.origin.columns[index] is None
            columns.append(Column(name, sql, index=index, written=name.lower() if is_computed else ""))
        dated = self.rows.date_index
        before = () if table.origin is None else table.origin.table.columns
        dropped = {name: "an earlier step" for name in before if name not in table.columns}
        shown = len(columns) - table.nested
        date = None if dated is None else columns[dated]
        self.names = Names(columns[:shown], date, dropped, nested=columns[shown:])


def _sources(tree: exp.Expr, tables: Mapping[str, Table], step: Step, statements: Statements) -> dict[str, _Source]:
    """Return the tables that a statement reads, by their names in SQL, which are ours."""
    defined = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    found: dict[str, _Source] = {}
    names: dict[str, str] = {}
    for node in tree.find_all(exp.Table):
        name = ".".join(part.name for part in node.parts)
        if name.lower() in defined or isinstance(node.this, exp.Func):
            continue
        table = tables.get(name) or tables.get(name.lower()) or find_table(name, list(tables.values()))
        if table is None and len({id(one) for one in tables.values()}) == 1:
            table = next(iter(tables.values()))
            some = table.rows[:: max(1, len(table.rows) // _LOOKED_AT)]
            is_part = len({name in row for row in some}) > 1  # it is that of one of several calls
            table = None if is_part or names.keys() - {name.lower(), *map(str.lower, tables)} else table
        if table is None:
            others = [] if name.lower() != "data" else list(dict.fromkeys(table_name(one) for one in tables.values()))
            replaces = [(rf"(?<![\w\"]){name}(?![\w\"])", written_name(one)) for one in others]
            raise invalid(f"there is no table {quoted_name(name)}", f"Tables: {listed(tables)}.",
                          offset=step.offset, replaces=replaces, is_choice=True)  # fmt: skip
        key = names.setdefault(name.lower(), f"_table{len(names)}")
        if key not in found:
            found[key] = _Source(table, statements)
        if not node.alias:
            node.set("alias", exp.TableAlias(this=exp.to_identifier(node.name, quoted=True)))
        node.set("this", exp.to_identifier(key))
        node.set("db", None)
        node.set("catalog", None)
    return found


def _name_joined(tree: exp.Expr, sources: Mapping[str, _Source]) -> None:
    """Give the columns of ``USING (date)`` that name, because those of two tables may have others."""
    for select in tree.find_all(exp.Select):
        tables = _tables_of(select, sources)[0].values()
        for using in [using for join in select.args.get("joins") or () for using in join.args.get("using") or ()]:
            for names, rows in ((source.names, source.rows) for source in tables):
                if (column := names.find(using.name, by_word=False)) is None:
                    raise unknown_column(using.name, [one.name for one in names.columns])
                named = replace(column, name=using.name, sql=using.name)
                names.columns = [named if one == column else one for one in names.columns]
                names.date = named if names.date == column else names.date
                rows.typed(named)


def _name_outputs(tree: exp.Expr) -> None:
    """Give each calculation that a statement returns the name as which it is written."""
    for select in tree.find_all(exp.Select):
        for item in list(select.expressions):
            if not isinstance(item, exp.Alias | exp.Column | exp.Star | exp.Subquery):
                text = re.sub(r'"(\w+)"', r"\1", item.sql(normalize_functions="lower"))
                item.replace(exp.alias_(item.copy(), text, quoted=True))


def _resolve(tree: exp.Expr, sources: Mapping[str, _Source], step: Step) -> dict[str, str]:
    """Give columns their names in SQL; return name in SQL → name that is shown."""
    shown: dict[str, str] = {}
    outputs = {id(select): {item.alias.lower() for item in select.expressions if isinstance(item, exp.Alias)}
               for select in tree.find_all(exp.Select)}  # fmt: skip
    for node in list(tree.find_all(exp.Column)):
        if isinstance(node.this, exp.Star):
            continue
        selects = _selects_around(node)
        is_output = bool(selects) and node.name.lower() in outputs[id(selects[0])]
        readable = [_tables_of(select, sources) for select in selects]
        column = _found(node, readable, is_output=is_output)
        if column is None:
            known = [one.name for tables, _ in readable for source in tables.values() for one in source.names.columns]
            if known and all(is_closed for _, is_closed in readable) and not is_output:
                is_path = node.table != "" and not any(node.table.lower() in tables for tables, _ in readable)
                name = ".".join(part.name for part in node.parts) if is_path else node.name
                raise unknown_column(name, list(dict.fromkeys(known)), offset=step.offset, step=step.text)
            continue
        shown[column.sql] = column.name
        name, parent = node.name, node.parent
        name = column.name if normalize(name) == normalize(column.name) else name
        node.set("this", exp.to_identifier(column.sql, quoted=True))
        node.meta["column"] = column
        if isinstance(parent, exp.Select) and node.arg_key == "expressions":
            node.replace(exp.alias_(node.copy(), name, quoted=True))
    if any(not isinstance(star.parent, exp.Count) for star in tree.find_all(exp.Star)):
        for source in sources.values():
            shown.update({source.rows.typed(column).sql: column.name for column in source.names.columns})
    return shown


def _name_order(tree: exp.Expr) -> None:
    """Replace the place of a column in ORDER BY by the column, so that its kind is known."""
    for ordered in tree.find_all(exp.Ordered):
        select = ordered.find_ancestor(exp.Select, exp.SetOperation)
        place = int(ordered.this.name) if isinstance(ordered.this, exp.Literal) and ordered.this.is_int else 0
        items = select.expressions if isinstance(select, exp.Select) else []
        names = [item.alias for item in items]
        place = names.index(ordered.this.name) + 1 if ordered.this.name in filter(None, names) else place
        if 0 < place <= len(items):
            item = items[place - 1].unalias()
            is_column = isinstance(item, exp.Column) and not isinstance(item.this, exp.Star)
            if is_column or dialect.function_of(item) in ("dayname", "monthname"):
                ordered.set("this", item.copy())


def _selects_around(node: exp.Expr) -> list[exp.Select]:
    found = []
    inner: exp.Expr | None = node
    while inner is not None and (inner := inner.find_ancestor(exp.Select)) is not None:
        found.append(inner)
    return found


def _tables_of(select: exp.Select, sources: Mapping[str, _Source]) -> tuple[dict[str, _Source], bool]:
    """Return the tables that a statement reads itself, by their alias, and whether it reads nothing else."""
    parts = [select.args.get("from_") or select.args.get("from"), *(select.args.get("joins") or ())]
    read = [part.this for part in parts if part is not None]
    tables = {(one.alias or one.name).lower(): sources[one.name] for one in read
              if isinstance(one, exp.Table) and one.name in sources}  # fmt: skip
    return tables, len(tables) == len(read)


def _found(
    node: exp.Column, readable: Sequence[tuple[Mapping[str, _Source], bool]], *, is_output: bool
) -> Column | None:
    """Return the column that a name means in the innermost statement that has it."""
    for tables, _ in readable:
        if node.table and node.table.lower() not in tables:
            continue
        candidates = [tables[node.table.lower()]] if node.table else list(tables.values())
        for source in candidates:
            if (exact := source.names.exact(node.name)) is not None:
                return source.rows.typed(exact)
        if not node.table and is_output:
            return None
        for source in candidates:
            if (column := source.names.find(node.name, by_word=False)) is not None:  # notes on names are of steps
                return source.rows.typed(column)
    return None
