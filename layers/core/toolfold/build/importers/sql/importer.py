"""Make the tools of a database from its snapshot: list its tables, describe one, query them.

The ``source.yaml`` of a database.

The reviewed snapshot of a database: its tables, in ``snapshot.json`` in the folder of its source.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, model_validator

from toolfold.build.importers.base import ImportedSource, ImportedTool, ImporterSettings
from toolfold.build.schema.field_types import Model
from toolfold.build.yaml_loader import Document
from toolfold.catalog.allow_list import own_variable
from toolfold.sources.sql import source_settings
from toolfold.sources.sql.adapter import DEFAULT_LIMIT
from toolfold.sources.sql.schema import DatabaseSchema, Table

SNAPSHOT = "snapshot.json"
_FORMAT = 1
_COLUMN = re.compile(r"^    \{\n(?:     [^\n]*\n)+    \}", re.MULTILINE)
"""A column with its indentation. A line break in a value is an escape in JSON."""

_MAX_BYTES = 50_000_000


class UnreadableSnapshot(ValueError):
    """A file is not a snapshot of a database. The text says why, and in which line."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(problem)
        self.line = line


@dataclass(frozen=True)
class Snapshot:
    """The tables of a database when it was read.

    Attributes:
        dialect: ``sqlite`` or ``postgresql``.
        fetched_at: when, in ISO 8601.
        schema: its tables.
    """

    dialect: str
    fetched_at: str
    schema: DatabaseSchema

    def to_json(self) -> str:
        """Return the content of the file: a line for each column, so that a review shows what changed."""
        data = {
            "format": _FORMAT,
            "dialect": self.dialect,
            "fetched_at": self.fetched_at,
            "schemas": list(self.schema.search_path),
            "tables": [table.as_dict() for table in self.schema.tables],
        }
        text = json.dumps(data, ensure_ascii=False, indent=1)
        return _COLUMN.sub(lambda column: " ".join(column[0].split("\n     ")).replace("\n    }", " }"), text) + "\n"

    @classmethod
    def read(cls, path: Path) -> Snapshot:
        """Read the file at ``path``.

        Raises:
            OSError: it cannot be read.
            UnreadableSnapshot: it is not a snapshot.
        """
        if path.stat().st_size > _MAX_BYTES:
            raise UnreadableSnapshot(1, f"is larger than {_MAX_BYTES:,} bytes")
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
        except json.JSONDecodeError as error:
            raise UnreadableSnapshot(error.lineno, "is not JSON") from None
        except (UnicodeDecodeError, RecursionError):
            raise UnreadableSnapshot(1, "is not JSON") from None
        try:
            return cls._from_data(data)
        except (KeyError, TypeError, ValueError, AttributeError):
            raise UnreadableSnapshot(1, "is not a snapshot of a database; refresh the source") from None

    @classmethod
    def _from_data(cls, data: Mapping[str, Any]) -> Snapshot:
        if data["format"] != _FORMAT:
            raise ValueError("format")
        tables = tuple(Table.from_dict(entry) for entry in data["tables"])
        texts = [data["dialect"], data["fetched_at"], *data["schemas"]]
        texts += [text for table in tables for text in (table.schema, table.name, table.kind, table.description)]
        texts += [
            text
            for table in tables
            for column in table.columns
            for text in (column.name, column.type, column.key, column.description)
        ]
        if not all(isinstance(text, str) for text in texts):
            raise TypeError("text")
        return cls(data["dialect"], data["fetched_at"], DatabaseSchema(tables, frozenset(), tuple(data["schemas"])))


Pattern = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f]+$", max_length=130)]
"""Name of a schema or table, or ``schema.table``, in which ``*`` and ``?`` stand for other characters."""


class TablePatterns(Model):
    """Which tables a source has."""

    include: list[Pattern] = Field(default=["*"], max_length=30)
    exclude: list[Pattern] = Field(default=[], max_length=30)


class SqlSourceSettings(ImporterSettings):
    """The content of ``source.yaml``.

    The connection string is not here: a catalog may be written by others, and does not decide what this process opens.
    """

    kind: Literal["sql"] = "sql"
    dialect: Literal["sqlite", "postgresql"]
    schemas: list[Pattern] = Field(default=["public"], min_length=1, max_length=10)
    """Of PostgreSQL. The order is that in which a table without a schema is searched."""
    tables: TablePatterns = Field(default_factory=TablePatterns)
    statement_timeout_s: float = Field(
        default=source_settings.DEFAULT_STATEMENT_TIMEOUT_S, gt=0, le=source_settings.MAX_STATEMENT_TIMEOUT_S
    )
    max_rows: int = Field(default=source_settings.MAX_ROWS, ge=1, le=source_settings.MAX_ROWS)
    max_bytes: int = Field(default=source_settings.DEFAULT_MAX_BYTES, ge=1000, le=source_settings.MAX_BYTES)
    freshness_s: int = Field(default=1, ge=1)
    """Seconds for which the same query is answered from the cache. Data of a database may change at any time."""
    no_data: str = "Check the names with list_tables, and the conditions of the query."

    @model_validator(mode="before")
    @classmethod
    def _add_variable(cls, data: Any) -> Any:
        """Add the variable with the connection string, which the id of the source names by default."""
        if not isinstance(data, Mapping) or not isinstance(data.get("auth", {}), Mapping | None):
            return data
        return {**data, "auth": {"environment": own_variable(str(data.get("id", ""))), **(data.get("auth") or {})}}

    @model_validator(mode="after")
    def _is_the_operators(self) -> SqlSourceSettings:
        if self.auth is None or self.auth.model_fields_set != {"environment"}:
            raise ValueError("auth: a database has environment alone, the variable with its connection string")
        return self

    def connection(self) -> dict[str, Any]:
        """Return what the adapter reads; see :class:`toolfold.sources.sql.source_settings.SqlSettings`."""
        return {
            "dialect": self.dialect,
            "schemas": self.schemas,
            "include": self.tables.include,
            "exclude": self.tables.exclude,
            "statement_timeout_s": self.statement_timeout_s,
            "max_rows": self.max_rows,
            "max_bytes": self.max_bytes,
        }


_DIALECTS = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}
_PARAMETERS = {"sqlite": "?", "postgresql": "$1"}

_MAX_NAMED = 1400
"""Characters of the tables that the description of ``query`` names: what a model chooses and searches by."""

_NOW = {"postgresql": "CURRENT_DATE and now() are", "sqlite": "CURRENT_DATE is"}
_MAX_SUMMARY = 70
"""Characters of the tables and the title in the summary of ``query``, beside 30 of its own words."""

_MAX_COLUMNS = 12
_MAX_ALIASES = 60
_REFERENCE = re.compile(r"references (.+?)(?:\(|,|$)")
_NOT_IN_ALIAS = re.compile(r"[^a-z0-9]+")


class SqlImporter:
    """Read sources of kind ``sql``. See :class:`toolfold.build.importers.base.Importer`."""

    settings_model = SqlSourceSettings

    def read(
        self, folder: Path, settings: SqlSourceSettings, document: Document, problems: list[str]
    ) -> ImportedSource | None:
        """Return the tools of the database whose snapshot is in ``folder``."""
        path = folder / SNAPSHOT
        try:
            snapshot = Snapshot.read(path)
        except FileNotFoundError:
            problems.append(
                f"{document.where(())}: there is no {SNAPSHOT} yet; read the database with"
                f" `toolfold source refresh {settings.id}`"
            )
            return None
        except OSError as error:
            problems.append(f"{path}:1: cannot be read: {error.strerror}")
            return None
        except UnreadableSnapshot as error:
            problems.append(f"{path}:{error.line}: {error}")
            return None
        if snapshot.dialect != settings.dialect:
            problems.append(
                f"{document.where(('dialect',))}: the snapshot is of {snapshot.dialect}; refresh the source again"
            )
            return None
        if not snapshot.schema.tables:
            problems.append(f"{document.where(('tables',))}: no table of the database is included")
            return None
        names = _listed([snapshot.schema.display_name(table) for table in main_tables(snapshot.schema)], 300)
        return ImportedSource(
            list(_tools(settings, snapshot.schema, f"{path}:1")),
            connection=settings.connection(),
            description=f"{_DIALECTS[settings.dialect]} database with the tables {names}",
            fetched_at=snapshot.fetched_at,
        )


def main_tables(schema: DatabaseSchema) -> list[Table]:
    """Return the tables, the main ones first: those that others refer to, and those with a comment."""
    referred = Counter(
        found
        for table in schema.tables
        for column in table.columns
        for found in _REFERENCE.findall(column.key)
        if found.rpartition(".")[2] != table.name
    )

    def rank(table: Table) -> tuple[bool, int, bool, str]:
        references = referred[table.name] + referred[f"{table.schema}.{table.name}"]
        return table.kind != "table", -references, not table.description, table.name

    return sorted(schema.tables, key=rank)


def _tools(settings: SqlSourceSettings, schema: DatabaseSchema, where: str) -> list[ImportedTool]:
    title = settings.title or settings.id
    names = _listed([schema.display_name(table) for table in main_tables(schema)], 400)
    return [
        _query_tool(settings, schema, title, where),
        _list_tables_tool(settings, title, names, where),
        _describe_table_tool(title, names, schema.display_name(main_tables(schema)[0]), where),
    ]


def _query_tool(settings: SqlSourceSettings, schema: DatabaseSchema, title: str, where: str) -> ImportedTool:
    dialect, tables = _DIALECTS[settings.dialect], main_tables(schema)
    shown = [schema.display_name(table) for table in tables]
    return ImportedTool(
        "query",
        where,
        _query_parameters(settings, dialect, shown[0]),
        "read",
        title=f"Query {title} with SQL",
        summary=f"Rows of one SQL SELECT over {title}: {_listed(shown, _MAX_SUMMARY - len(title))}",
        description=f"Runs one SELECT of {dialect} on {title}, read-only, and returns its rows. "
        f"{_NOW[settings.dialect]} in UTC. "
        f"Tables: {_outlines(tables, schema)}",
        call={"action": "query"},
        returns="rows[]: the columns of the statement; more_rows: says when the answer lacks rows",
        typed_rows="rows",
        tags=("sql", "query"),
        example={"sql": _first_rows(shown[0])},
        aliases=_aliases(tables),
        example_queries=["query the database with sql", "count rows in a table", "join tables"],
    )


def _list_tables_tool(settings: SqlSourceSettings, title: str, names: str, where: str) -> ImportedTool:
    contains = {"type": "string", "description": "Only tables with this word in their entry."}
    return ImportedTool(
        "list_tables",
        where,
        {"properties": {"contains": contains}},
        "read",
        title=f"List the tables of {title}",
        summary=f"Tables and views of {title}, with descriptions and columns",
        description=f"Lists the tables and views of {title} ({_DIALECTS[settings.dialect]}) with their descriptions "
        f"and columns, as they are now: {names}",
        call={"action": "list_tables"},
        returns="tables[]: name,kind,description,rows,columns; more_tables: says when some are left out",
        typed_rows="tables",
        tags=("sql", "schema"),
        example={},
        example_queries=["list the tables of the database", "what data is in the database"],
    )


def _describe_table_tool(title: str, names: str, first: str, where: str) -> ImportedTool:
    table = {"type": "string", "description": "Name of a table as in list_tables.", "examples": [first]}
    return ImportedTool(
        "describe_table",
        where,
        {"properties": {"table": table}, "required": ["table"]},
        "read",
        title=f"Describe a table of {title}",
        summary=f"Columns of one table of {title}: type, nullable, key, description",
        description=f"Returns the columns of one table of {title}: name, type, whether it may be NULL, keys and"
        f" foreign keys, description. Tables: {names}",
        call={"action": "describe_table"},
        returns="name,kind,description,rows; columns[]: name,type,nullable,key,description",
        typed_rows="columns",
        tags=("sql", "schema"),
        example={"table": first},
        example_queries=["columns of a table", "schema of a table", "foreign keys of a table"],
    )


def _query_parameters(settings: SqlSourceSettings, dialect: str, table: str) -> Mapping[str, Any]:
    mark = _PARAMETERS[settings.dialect]
    return {
        "properties": {
            "sql": {
                "type": "string",
                "description": f"One SELECT, WITH or VALUES of {dialect}. Values go into params, as {mark}.",
                "examples": [_first_rows(table)],
            },
            "params": {
                "type": ["array", "object"],
                "description": f"Values of {mark} in their order, or by name for :name.",
            },
            "limit": {
                "type": "integer",
                "minimum": 1,
                "maximum": settings.max_rows,
                "default": min(DEFAULT_LIMIT, settings.max_rows),
                "description": "Rows of the answer at most.",
            },
        },
        "required": ["sql"],
    }


def _first_rows(table: str) -> str:
    return f"SELECT * FROM {table} LIMIT 5"  # noqa: S608 - an example for a model


def _outlines(tables: list[Table], schema: DatabaseSchema) -> str:
    """Return tables with their columns, as many as fit, then names alone."""
    outlines = []
    for table in tables:
        columns = [schema.sql_name(column.name) for column in table.columns]
        more = ", …" if len(columns) > _MAX_COLUMNS else ""
        outlines.append(f"{schema.display_name(table)} ({', '.join(columns[:_MAX_COLUMNS])}{more})")
        if sum(map(len, outlines)) > _MAX_NAMED // 2:
            break
    rest = [schema.display_name(table) for table in tables[len(outlines) :]]
    text = ", ".join(outlines)[:_MAX_NAMED]
    return f"{text}; {_listed(rest, _MAX_NAMED - len(text))}" if rest else text


def _listed(names: list[str], most: int) -> str:
    """Return names with commas, in at most about ``most`` characters."""
    shown: list[str] = []
    length = 0
    for name in names:
        length += len(name) + 2
        if shown and length > most:
            return f"{', '.join(shown)} and {len(names) - len(shown):,} more"
        shown.append(name)
    return ", ".join(shown)


def _aliases(tables: list[Table]) -> list[str]:
    """Return the names of tables as words, by which a search finds the tool."""
    words = (" ".join(_NOT_IN_ALIAS.sub(" ", table.name.lower()).split())[:90] for table in tables)
    return list(dict.fromkeys(filter(None, words)))[:_MAX_ALIASES]
