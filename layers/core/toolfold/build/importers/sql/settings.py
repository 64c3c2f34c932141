"""The ``source.yaml`` of a database."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, model_validator

from toolfold.build.importers.base import ImporterSettings
from toolfold.build.schema.field_types import Model
from toolfold.catalog.allow_list import own_variable
from toolfold.sources.sql import source_settings

__all__ = ["SqlSourceSettings", "TablePatterns"]

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
