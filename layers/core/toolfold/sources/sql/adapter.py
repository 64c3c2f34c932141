"""The adapter of SQL databases: it lists the tables, describes one, and answers queries."""

from __future__ import annotations

import importlib
import logging
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar

from toolfold.catalog.reader import damaged
from toolfold.models import ParsedResponse, SourceCredentials, UpstreamResponse
from toolfold.sources.base import CachePolicy, SourceAdapter
from toolfold.sources.sql.database_reader import DatabaseReader
from toolfold.sources.sql.errors import DatabaseFailure, FailureKind, to_call_error
from toolfold.sources.sql.schema import DatabaseSchema, SqlSettings

if TYPE_CHECKING:
    from toolfold.catalog.entries import Source, Tool
    from toolfold.sources.base import AdapterContext

logger = logging.getLogger("toolfold")

DEFAULT_LIMIT = 100
"""Rows of a query without ``limit``: a few thousand tokens."""


class SqlAdapter(SourceAdapter):
    """Read one database. See :class:`toolfold.sources.base.SourceAdapter`.

    The key of the source is its connection string. Callers cannot bring one: it says what this process connects to.
    """

    smaller_response_hint: ClassVar[str] = "Name the columns that are needed, add a WHERE, or lower limit."

    def __init__(self, source: Source, context: AdapterContext) -> None:
        self.source = source
        self._settings = SqlSettings.from_source(source)
        if source.auth is None or source.auth.caller_key:
            raise damaged(f"source {source.id!a} is a database whose connection string is not the operator's")
        self._max_bytes = min(self._settings.max_bytes, context.settings.max_response_bytes)
        self._reader = DatabaseReader(self._settings, self._max_bytes)

    @property
    def endpoint(self) -> str:
        """Where calls are sent. Which database that is, the connection string says: the key of the source."""
        return f"{self._settings.dialect}:"

    def call(
        self, tool: Tool, arguments: Mapping[str, Any], credentials: SourceCredentials, deadline: float
    ) -> UpstreamResponse:
        """Answer one call from the database, before ``deadline`` and the statement time-out of the source."""
        end = min(deadline, time.monotonic() + self._settings.statement_timeout_s)
        try:
            return UpstreamResponse(200, self._answer(tool, arguments, credentials.api_key, end))
        except DatabaseFailure as failure:
            if failure.kind is FailureKind.ROLE:
                logger.error("source %s is not used: %s", self.source.id, failure.detail)
            raise to_call_error(
                failure,
                title=self.source.title,
                dialect=self._settings.dialect,
                max_bytes=self._max_bytes,
                statement=str(arguments.get("sql", "")),
                schema=self._reader.schema,
            ) from None

    def parse(
        self, tool: Tool, arguments: Mapping[str, Any], response: UpstreamResponse, credentials: SourceCredentials
    ) -> ParsedResponse:
        """Return the answer, as :meth:`call` has made it."""
        return ParsedResponse("json", response.body)

    def cache_policy(self, tool: Tool, arguments: Mapping[str, Any], now: float) -> CachePolicy:
        """Keep an answer as long as the source says, for its connection string alone."""
        return CachePolicy(self.source.freshness[tool.freshness], varies_by_key=True)

    def warm_up(self) -> None:
        """Import what a query needs. Nothing is opened."""
        with suppress(ImportError):
            from toolfold.sources.sql.guard import check_statement

            # sqlglot imports a dialect when it reads the first statement in it.
            check_statement("SELECT 1", self._settings.dialect, DatabaseSchema())
        if self._settings.dialect == "sqlite":
            import toolfold.sources.sql.sqlite_database
        else:
            with suppress(ImportError):
                importlib.import_module("psycopg")
                import toolfold.sources.sql.postgresql_database  # noqa: F401

    def _answer(self, tool: Tool, arguments: Mapping[str, Any], connection_string: str, deadline: float) -> str:
        action, reader = tool.call.get("action"), self._reader
        if action == "list_tables":
            return reader.list_tables(connection_string, deadline, str(arguments.get("contains") or ""))
        if action == "describe_table":
            return reader.describe_table(connection_string, deadline, str(arguments.get("table") or ""))
        if action == "query":
            limit = min(int(arguments.get("limit") or DEFAULT_LIMIT), self._settings.max_rows)
            params = arguments.get("params") or []
            return reader.query(connection_string, deadline, str(arguments.get("sql") or ""), params, limit)
        raise damaged(f"tool {tool.name!a} has no action of a database")
