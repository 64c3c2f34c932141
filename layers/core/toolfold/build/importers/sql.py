"""SQL databases: three tools made of a snapshot of the tables, which a refresh reads from the database."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, StringConstraints, model_validator

from toolfold.build.importers import base
from toolfold.build.schema import Model, Paragraph
from toolfold.catalog import entries
from toolfold.catalog.allow_list import own_variable
from toolfold.catalog.tokenizer import words
from toolfold.errors import CallError, SourceError
from toolfold.sources.sql.adapter import DEFAULT_LIMIT, open_database
from toolfold.sources.sql.errors import DIALECT_NAMES, DatabaseFailure, FailureKind, to_call_error
from toolfold.sources.sql.schema import MAX_BYTES, MAX_ROWS, DatabaseSchema, SqlSettings, Table
from toolfold.text_safety import counted

if TYPE_CHECKING:
    from toolfold.settings import Settings


class SqlSnapshot(base.Snapshot):
    """The tables of a database when it was read, in ISO 8601 ``fetched_at``; ``dialect`` as in ``source.yaml``."""

    dialect: str
    schemas: tuple[str, ...]
    tables: tuple[Table, ...]


Pattern = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f]+$", max_length=130)]
"""Name of a schema or table, or ``schema.table``, in which ``*`` and ``?`` stand for other characters."""


class TablePatterns(Model):
    """Which tables a source has."""

    include: list[Pattern] = Field(default=["*"], max_length=30)
    exclude: list[Pattern] = Field(default=[], max_length=30)


class SqlSourceSettings(base.ImporterSettings):
    """The content of ``source.yaml``.

    The connection string is not here: a catalog may be written by others, and does not decide what this process opens.
    """

    kind: Literal["sql"] = "sql"
    dialect: Literal["sqlite", "postgresql"]
    schemas: list[Pattern] = Field(default=["public"], min_length=1, max_length=10)
    """Of PostgreSQL. The order is that in which a table without a schema is searched."""
    tables: TablePatterns = Field(default_factory=TablePatterns)
    freshness_s: int = Field(default=1, ge=1)
    """Seconds for which the same query is answered from the cache. Data of a database may change at any time."""
    no_data: Paragraph = "Check the names with list_tables, and the conditions of the query."

    @model_validator(mode="after")
    def _is_the_operators(self) -> SqlSourceSettings:
        if self.auth is not None and self.auth.model_fields_set - {"environment"}:
            raise ValueError("auth: a database has environment alone, the variable with its connection string")
        return self

    @property
    def catalog_auth(self) -> entries.Auth:
        """The variable with the connection string, which the id of the source names by default."""
        return entries.Auth(environment=(self.auth and self.auth.environment) or own_variable(self.id))

    def connection(self) -> dict[str, Any]:
        """Return what the adapter reads; see :class:`toolfold.sources.sql.schema.SqlSettings`."""
        return {"dialect": self.dialect, "schemas": self.schemas, **self.tables.model_dump()}


_PARAMETERS = {"sqlite": "?", "postgresql": "$1"}
_PARAMS: Mapping[str, Any] = {
    "sqlite": {"type": ["array", "object"], "description": "Values of ? in their order, or by name for :name."},
    "postgresql": {"type": "array", "description": "Values of $1, $2 in their order."},
}

_MAX_NAMED = 1400
"""Characters of the tables that the description of ``query`` names: what a model chooses and searches by."""

_FACTS = {
    "postgresql": "CURRENT_DATE and now() are in UTC. 5 / 2 is 2; 5.0 / 2 is 2.5.",
    "sqlite": "CURRENT_DATE is in UTC. 5 / 2 is 2; 5.0 / 2 is 2.5. A text is compared as text, also one of digits:"
    " CAST(x AS REAL) reads the number.",
}
"""What an answer would not show."""

_MAX_SUMMARY = 70
"""Characters of the tables and the title in the summary of ``query``, beside 30 of its own words."""

_TIMEOUT_S = 60.0
"""Seconds for connecting and for reading all tables."""

_MAX_COLUMNS = 120
"""Characters of the columns of one table in it."""
_MAX_ALIASES = 60


class SqlImporter(base.Importer[SqlSourceSettings]):
    """Read sources of kind ``sql``."""

    settings_model = SqlSourceSettings

    def read(self, problems: list[str]) -> base.ImportedSource | None:
        """Return the tools of the database, by its snapshot."""
        settings = self.settings
        snapshot = SqlSnapshot.read(self.folder, settings.id, problems)
        if snapshot is None:
            return None
        if snapshot.dialect != settings.dialect:
            problems.append(f"{self.where('dialect')}: the snapshot is of {snapshot.dialect}; refresh the source again")
            return None
        schema = DatabaseSchema(snapshot.tables, frozenset(), snapshot.schemas)
        if not schema.tables:
            problems.append(f"{self.where('tables')}: no table of the database is included")
            return None
        tables = sorted(schema.tables, key=lambda table: table.kind != "table")  # views behind them
        names = [schema.display_name(table) for table in tables]
        count, dialect = counted(len(names), "table"), DIALECT_NAMES[settings.dialect]
        described = f"{dialect} database with {count}: {_listed(names, 300)}"
        return base.ImportedSource(
            _tools(settings, schema, tables, f"{self.folder / base.SNAPSHOT}:1"),
            settings.as_source("", settings.connection(), described)._replace(fetched_at=snapshot.fetched_at),
        )

    def fetch(self, process_settings: Settings, progress: Callable[[str], None]) -> base.Fetched:
        """Read the tables of the database."""
        folder, settings = self.folder, self.settings
        source = settings.as_source("", settings.connection())
        try:
            connection_string = base.key_of_deployment(source, process_settings)
        except CallError as refusal:
            raise _error(folder, f"{refusal.message} {refusal.suggestion}") from refusal
        progress(f"Reading the tables of {source.title} …")
        deadline = time.monotonic() + _TIMEOUT_S
        try:
            with closing(
                open_database(SqlSettings.from_source(source), connection_string, MAX_BYTES, deadline)
            ) as opened:
                schema = opened.read_schema(deadline)
        except DatabaseFailure as failure:
            error = to_call_error(
                failure, title=source.title, dialect=settings.dialect, max_bytes=MAX_BYTES, statement="", schema=None
            )
            is_role = failure.kind is FailureKind.ROLE
            raise _error(folder, failure.detail if is_role else f"{error.message} {error.suggestion}") from error
        notes = [note[0].upper() + note[1:]] if (note := schema.skipped_note()) else []
        if not schema.tables:
            problem = "the role may read no table that tables.include and schemas name; grant SELECT, or correct them"
            raise _error(folder, ". ".join([problem, *notes]))
        columns = sum(len(table.columns) for table in schema.tables)
        progress(f"{counted(len(schema.tables), 'table')}, {counted(columns, 'column')}")
        old = SqlSnapshot.read(folder, settings.id, [])
        before = {} if old is None or old.dialect != settings.dialect else _by_name(old.tables)
        fetched_at = datetime.now(UTC).replace(microsecond=0).isoformat()
        snapshot = SqlSnapshot(
            fetched_at=fetched_at, dialect=settings.dialect, schemas=schema.search_path, tables=schema.tables
        )
        return base.Fetched(
            base.RefreshReport.between(before, _by_name(schema.tables), notes), snapshot.to_json().encode()
        )


def _by_name(tables: Sequence[Table]) -> dict[str, Table]:
    return {".".join(filter(None, (table.schema, table.name))): table for table in tables}


def _error(folder: Path, problem: str) -> SourceError:
    return SourceError([f"{folder / 'source.yaml'}:1: {problem}"])


def _tools(settings: SqlSourceSettings, schema: DatabaseSchema, tables: Sequence[Table], where: str) -> list[base.Tool]:
    title, dialect, mark = settings.title or settings.id, DIALECT_NAMES[settings.dialect], _PARAMETERS[settings.dialect]
    names = [schema.display_name(table) for table in tables]
    first, listed = names[0], _listed(names, 400)
    example = f"SELECT * FROM {first} LIMIT 5"  # noqa: S608 - an example for a model
    aliases = (" ".join(words(table.name))[:90] for table in tables)
    outlines = [
        f"{schema.display_name(table)} ({_listed([schema.sql_name(one.name) for one in table.columns], _MAX_COLUMNS)})"
        for table in tables
    ]

    def tool(name: str, rows: str, properties: dict[str, Any], required: list[str], **described: Any) -> base.Tool:
        schema = {"properties": properties, **({"required": required} if required else {})}
        return base.Tool(
            **{"name": name, "call": {"action": name}, "tags": ("sql", "schema"), **described},
            where=lambda *_: where,
            effect="read",
            parameters={**schema, "additionalProperties": False},
            answer={"rows": [rows], "kind": "typed"},
        )

    statement = {
        "type": "string",
        "description": f"One SELECT, WITH or VALUES of {dialect}. Values go into params, as {mark}.",
        "examples": [example],
    }
    limit = {"type": "integer", "minimum": 1, "maximum": MAX_ROWS, "default": DEFAULT_LIMIT}
    limit["description"] = "Rows of the answer at most."
    query = tool(
        "query",
        "rows",
        {"sql": statement, "params": _PARAMS[settings.dialect], "limit": limit},
        ["sql"],
        title=f"Query {title} with SQL",
        summary=f"Rows of one SQL SELECT over {title}: {_listed(names, _MAX_SUMMARY - len(title))}",
        description=f"Runs one SELECT of {dialect} on {title}, read-only, and returns its rows. "
        f"{_FACTS[settings.dialect]} "
        f"Tables: {_listed(outlines, _MAX_NAMED)}",
        call={"action": "query", "arguments": {"names": {"sql": ["query", "statement"]}}},
        returns="rows[]: the columns of the statement; more_rows: says when the answer lacks rows",
        tags=("sql", "query"),
        example={"sql": example},
        aliases=list(dict.fromkeys(filter(None, aliases)))[:_MAX_ALIASES],
        example_queries=["query the database with sql", "count rows in a table", "join tables"],
    )
    list_tables = tool(
        "list_tables",
        "tables",
        {},
        [],
        title=f"List the tables of {title}",
        summary=f"Tables and views of {title}, with descriptions and columns",
        description=f"Lists the tables and views of {title} ({dialect}) with their descriptions and columns, as they "
        f"are now: {listed}",
        returns="tables[]: name,kind,description,columns",
        example={},
        example_queries=["list the tables of the database", "what data is in the database"],
    )
    table = {"type": "string", "description": "Name of a table as in list_tables.", "examples": [first]}
    describe_table = tool(
        "describe_table",
        "columns",
        {"table": table},
        ["table"],
        title=f"Describe a table of {title}",
        summary=f"Columns of one table of {title}: type, nullable, key, description",
        description=f"Returns the columns of one table of {title}: name, type, whether it may be NULL, keys and"
        f" foreign keys, description. Tables: {listed}",
        returns="name,kind,description; columns[]: name,type,nullable,key,description",
        example={"table": first},
        example_queries=["columns of a table", "schema of a table", "foreign keys of a table"],
    )
    return [query, list_tables, describe_table]


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
