"""Read the JSON that Secrets Manager stores for a database of RDS, Aurora or Redshift, as a connection string.

The form is that of AWS: ``engine``, ``host``, ``port``, ``username``, ``password`` and ``dbname``. Rotation changes the
password in it, so it is read again like any key.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

__all__ = ["connection_values", "is_database_secret"]

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
    if not is_database_secret(value) or not _is_postgresql(value.get("engine")):
        raise ValueError("it is not a secret of a PostgreSQL database")
    given = {libpq: value[name] for name, libpq in _NAMES.items() if value.get(name) not in (None, "")}
    if not all(isinstance(one, str | int) and not isinstance(one, bool) for one in given.values()):
        raise ValueError("a member is neither text nor number")
    return {name: str(one) for name, one in given.items()}


def _is_postgresql(engine: Any) -> bool:
    """Return whether an engine is ``postgres`` or ``aurora-postgresql``. A secret written by hand may lack it."""
    return engine in (None, "") or (isinstance(engine, str) and "postgres" in engine.lower())
