"""Read what the catalog says about a database.

Read the JSON that Secrets Manager stores for a database of RDS, Aurora or Redshift, as a connection string.

The form is that of AWS: ``engine``, ``host``, ``port``, ``username``, ``password`` and ``dbname``. Rotation changes the
password in it, so it is read again like any key.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from toolfold.catalog.contract import is_part
from toolfold.catalog.reader import damaged
from toolfold.sources.sql.schema import TableFilter

if TYPE_CHECKING:
    from toolfold.catalog.entries import Source

_REQUIRED = ("host", "username", "password")
_NAMES = {
    "host": "host", "port": "port", "username": "user", "password": "password", "dbname": "dbname",
    "sslmode": "sslmode", "sslrootcert": "sslrootcert",
}  # fmt: skip
"""Member of the secret → parameter of libpq. Others, such as ``dbClusterIdentifier``, do not matter here."""


def is_database_secret(value: Any) -> bool:
    """Return whether the value of a secret says how a database is reached.

    >>> is_database_secret({"engine": "postgres", "host": "a", "username": "b", "password": "c"})
    True
    """
    return isinstance(value, Mapping) and all(isinstance(value.get(name), str) and value[name] for name in _REQUIRED)


def connection_values(text: str) -> dict[str, str] | None:
    """Return the parameters of libpq in a secret; None for text that is not JSON.

    Raises:
        ValueError: the JSON is no secret of a PostgreSQL database.

    >>> connection_values('{"host": "a", "port": 5432, "username": "b", "password": "c", "dbname": "d"}')
    {'host': 'a', 'port': '5432', 'user': 'b', 'password': 'c', 'dbname': 'd'}
    """
    if not text.lstrip().startswith("{"):
        return None
    try:
        value = json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    # An engine is ``postgres`` or ``aurora-postgresql``; a secret that was written by hand may lack it.
    if not is_database_secret(value) or "postgres" not in str(value.get("engine") or "postgres").lower():
        raise ValueError("it is not a secret of a PostgreSQL database")
    given = {libpq: value[name] for name, libpq in _NAMES.items() if value.get(name) not in (None, "")}
    if not all(isinstance(one, str | int) and not isinstance(one, bool) for one in given.values()):
        raise ValueError("a member is neither text nor number")
    return {name: str(one) for name, one in given.items()}


MAX_ROWS = 1000
"""Rows of one answer. What needs more rows is better aggregated by the database."""

MAX_STATEMENT_TIMEOUT_S = 300
"""Seconds of one statement. A call is limited further by its own deadline."""

DEFAULT_STATEMENT_TIMEOUT_S = 15

MAX_BYTES = 20_000_000
"""Bytes of one answer as JSON: what a function with 512 MB can parse and select from."""

DEFAULT_MAX_BYTES = 2_000_000


@dataclass(frozen=True)
class SqlSettings:
    """How one database is read.

    Attributes:
        dialect: ``sqlite`` or ``postgresql``.
        max_bytes: bytes of one answer, as JSON.
    """

    dialect: str
    tables: TableFilter = field(default_factory=TableFilter)
    statement_timeout_s: float = DEFAULT_STATEMENT_TIMEOUT_S
    max_rows: int = MAX_ROWS
    max_bytes: int = DEFAULT_MAX_BYTES

    @classmethod
    def from_source(cls, source: Source) -> SqlSettings:
        """Return the settings in the catalog's entry of ``source``."""
        connection: Mapping[str, Any] = source.connection
        if not is_part("DatabaseConnection", connection):
            raise damaged(f"the connection of source {source.id!a} is not one of a database")
        patterns, limits = ("schemas", "include", "exclude"), ("statement_timeout_s", "max_rows", "max_bytes")
        tables = TableFilter(**{name: tuple(connection[name]) for name in patterns if name in connection})
        return cls(connection["dialect"], tables, **{name: connection[name] for name in limits if name in connection})
