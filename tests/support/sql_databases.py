"""Databases of the tests: a shop with customers, orders and a table that no source includes."""

import sqlite3
from contextlib import closing
from pathlib import Path

_TABLES = """
CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, "createdAt" TEXT);
CREATE TABLE orders (
  id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers (id), total NUMERIC(12, 2), note TEXT
);
CREATE TABLE secrets (id INTEGER, token TEXT);
INSERT INTO customers VALUES (1, 'Ann', '2024-01-31'), (2, 'Bob', '2024-02-01'), (3, '00123', NULL);
INSERT INTO orders VALUES (1, 1, 10.5, 'first'), (2, 1, 20, NULL), (3, 2, 7.25, 'n/a');
INSERT INTO secrets VALUES (1, 'CANARY-TOKEN');
"""


def create_sqlite(path: Path) -> Path:
    """Create the shop in SQLite, with a view and a full-text index."""
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(f"PRAGMA synchronous=OFF; BEGIN; {_TABLES} COMMIT;")
        connection.executescript(
            """
            CREATE VIEW spending AS
              SELECT name, sum(total) AS spent FROM customers JOIN orders ON customer_id = customers.id GROUP BY name;
            CREATE VIEW guarded AS SELECT id, replace(token, 'TOKEN', '***') AS token FROM secrets;
            CREATE VIRTUAL TABLE notes USING fts5 (title, body);
            INSERT INTO notes VALUES ('Returns', 'how to send a parcel back');
            """
        )
    return path


def postgresql_statements() -> list[str]:
    return [
        *_TABLES.strip().removesuffix(";").split(";\n"),
        "CREATE VIEW spending AS"
        " SELECT name, sum(total) AS spent FROM customers JOIN orders ON customer_id = customers.id GROUP BY name",
        "COMMENT ON TABLE orders IS 'One row for each order'",
        "COMMENT ON COLUMN orders.total IS 'In euro, with tax'",
    ]
