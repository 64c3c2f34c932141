"""Which statements the guard accepts, without any database."""

import itertools
import re
from contextlib import suppress

import pytest

from tests.support import sql_attacks, tables
from tests.support.cpu_time import cpu_within
from tests.support.tables import differences
from toolfold.sources.sql.errors import DatabaseFailure, FailureKind
from toolfold.sources.sql.guard import check_statement
from toolfold.sources.sql.schema import Column, DatabaseSchema, Table

_COLUMNS = tuple(
    map(Column, ("id", "customer_id", "total", "name", "note", "day", "due", "doc", "tags"), itertools.repeat("x"))
)
SCHEMAS = {
    "sqlite": DatabaseSchema(
        (Table("", "orders", columns=_COLUMNS), Table("", "customers", columns=_COLUMNS)), frozenset({("", "secrets")})
    ),
    "postgresql": DatabaseSchema(
        (
            *(Table("public", name, columns=_COLUMNS) for name in ("orders", "customers", "Mixed Case")),
            Table("sales", "orders", columns=_COLUMNS),
        ),
        frozenset(("public", name) for name in ("secrets", "hidden", "vector", "string", "datetime", "variant")),
        ("public", "sales"),
        functions=frozenset({"wipe_all", "all_of", "pg_read_file", "lower"}),
    ),
}

BOTH = """
SELECT 1
select * from orders;
SELECT o.id, count(*) AS n FROM orders o JOIN customers c ON c.id = o.customer_id WHERE o.total > 5 GROUP BY 1
SELECT * FROM orders ORDER BY total DESC NULLS LAST LIMIT 5 OFFSET 2
SELECT customer_id, sum(total) FROM orders GROUP BY customer_id HAVING count(*) > 1
WITH x(a, b) AS (SELECT 1, 2), y AS (SELECT * FROM x) SELECT * FROM y
WITH RECURSIVE t(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM t WHERE n < 10) SELECT sum(n) FROM t
VALUES (1, 'a'), (2, 'b')
(SELECT 1)
SELECT CASE WHEN total IN (1, 2) THEN 'x' ELSE 'y' END FROM orders
SELECT coalesce(total, 0), cast(id AS int), total BETWEEN 1 AND 2, total IS NOT NULL FROM orders
SELECT row_number() OVER (PARTITION BY id ORDER BY total ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) FROM orders
SELECT id FROM orders UNION SELECT id FROM customers EXCEPT SELECT 1 INTERSECT SELECT 2
SELECT (SELECT max(id) FROM orders), EXISTS (SELECT 1 FROM customers) FROM orders
SELECT substr(name, 1, 2) || 'x', -id, NOT name LIKE 'x%' ESCAPE '!', id % 2 FROM customers
SELECT id, lag(total) OVER w FROM orders WINDOW w AS (PARTITION BY customer_id ORDER BY id)
SELECT * FROM orders LEFT JOIN customers USING (id) CROSS JOIN (SELECT 1 AS one) AS t
SELECT count(DISTINCT customer_id) FILTER (WHERE total > 1) FROM orders -- a comment
SELECT 'DELETE FROM orders; DROP TABLE x', "orders"."id" /* INSERT */ FROM orders
SELECT orders.* FROM orders WHERE (id, total) IN (SELECT id, 1 FROM customers)
SELECT current_date, current_timestamp
WITH x AS (SELECT o.id AS n, total, cast(note AS text) FROM orders o) SELECT x.n, x.total, x.note FROM x AS x
WITH RECURSIVE t(n) AS (VALUES (1) UNION ALL SELECT t.n + 1 FROM t WHERE t.n < 10) SELECT t.n FROM t
SELECT t.total, t.id FROM (SELECT * FROM orders UNION SELECT * FROM orders) t ORDER BY t.id
SELECT y.a, y.note, x.n FROM (SELECT c.name AS a, o.* FROM orders o, customers c) y, (SELECT 1 AS a, 2 AS n) x
SELECT o.id FROM orders o WHERE EXISTS (SELECT 1 FROM customers c WHERE c.id = o.customer_id AND c.name = o.note)
SELECT a.id, b.name FROM (orders a JOIN customers b ON a.id = b.id)
"""
POSTGRESQL = """
TABLE orders
SELECT id::text, '{}'::jsonb -> 'a' ->> 'b', doc @> '{"x": 1}'::jsonb, tags[1], tags[1:2], doc ? 'a' FROM orders
SELECT date_trunc('month', day), extract(year FROM day), day + interval '1 day', day AT TIME ZONE 'UTC' FROM orders
SELECT DISTINCT ON (id) id, total FROM orders ORDER BY id, total
SELECT * FROM orders, LATERAL (SELECT * FROM customers WHERE id = customer_id) c
SELECT * FROM unnest(ARRAY[1, 2, 3]) WITH ORDINALITY AS u(v, i)
SELECT * FROM generate_series('2024-01-01'::date, '2024-02-01'::date, '1 day') AS d(day)
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY total), count(*) FILTER (WHERE id > 1) FROM orders
SELECT id FROM orders WHERE id = ANY($1) AND name ILIKE $2 AND note ~* 'x' AND day IS DISTINCT FROM due
SELECT string_agg(name, ', ' ORDER BY name), array_agg(DISTINCT id) FROM customers GROUP BY ROLLUP (id, name)
SELECT count(*) FROM orders GROUP BY GROUPING SETS ((id), (total), ())
SELECT * FROM orders TABLESAMPLE SYSTEM (10)
SELECT to_char(day, 'YYYY-MM'), regexp_replace(name, 'x', 'y', 'g'), jsonb_array_elements(doc) FROM orders
SELECT * FROM jsonb_to_recordset('[]') AS x(a int, b text)
SELECT * FROM orders FETCH FIRST 5 ROWS ONLY
SELECT x.* FROM (VALUES (1, 'a')) AS x(id, name)
SELECT overlay('abc' placing 'x' from 1), position('a' in 'b'), trim(both 'x' from 'c'), substring('a' from 1 for 2)
SELECT array(SELECT 1), row(1, 2), name SIMILAR TO 'x', pg_catalog.lower(name) FROM customers
SELECT * FROM public.orders JOIN sales.orders AS s USING (id)
SELECT * FROM "Mixed Case"
SELECT cast(total AS numeric(12, 2)), total::varchar(10) FROM orders
SELECT now() - interval '30 days', age(day), to_tsvector('x') @@ to_tsquery('x') FROM orders
SELECT t.count, u.v, u.i FROM (SELECT count(*) FROM orders) t, unnest(ARRAY[1]) WITH ORDINALITY AS u(v, i)
SELECT e.value, j.key, k.a, k.value FROM jsonb_array_elements('[]') e, json_each('{}') j, json_each('{}') k(a)
SELECT n.n, r.b FROM generate_series(1, 2) n, jsonb_to_record('{}') AS r(b int)
SELECT l.q, c.a, c.total, v.column1 FROM orders o, LATERAL (SELECT o.id AS q) l, customers AS c(a, b), (VALUES (1)) v
SELECT (c).*, c.*, c FROM customers c JOIN LATERAL json_each(c.doc) AS d ON d.key = c.name
SELECT timestamp with time zone '2024-01-01', date '2024-01-01', interval '1 day', x.id::text FROM orders x
SELECT sum(total) OVER (ORDER BY day RANGE '1 day' PRECEDING), total::double precision FROM orders
SELECT '1'::"char", note::bit varying, doc::jsonb FROM orders
SELECT id::int[], CAST(day AS timestamp(3) with time zone), 'english'::regconfig, tags::text[][] FROM orders
SELECT E'it\\'s', $$dollar; quoted$$, $tag$x$tag$, U&'\\0041'
SELECT (day, due) OVERLAPS (due, now()), current_timestamp(0), id AS user, o.name AS current_role FROM orders o
SELECT 'é\u00a0' /* é\u00a0 */ AS "\u3000" -- é\u00a0
SELECT count(*) FROM orders WHERE id IN ($1 ,$2 ) AND total = $3
"""
SQLITE = """
SELECT json_extract(note, '$.b'), note ->> '$.b', strftime('%Y', day), julianday('now') FROM orders
SELECT * FROM json_each('[1, 2]')
SELECT [id], `total` FROM main.orders WHERE note GLOB 'x*' AND id = 1
SELECT group_concat(name, ', '), total(id), iif(id > 1, 'a', 'b') FROM customers
SELECT id FROM orders WHERE note MATCH 'word'
SELECT o.rowid, o.ID, j.key, json_tree.fullkey FROM orders o, json_each(o.note) j, json_tree(o.note)
SELECT CAST(id AS tinyint), total 'Total' FROM orders
SELECT x'00ff', 1e3, id COLLATE NOCASE, printable FROM orders
SELECT user, current_user, json_object('a', id, 'b', json_array(1)) FROM orders
"""


def accepted(statement: str, dialect: str) -> str:
    return check_statement(statement, dialect, SCHEMAS[dialect])


def refusal(statement: str, dialect: str) -> DatabaseFailure:
    with pytest.raises(DatabaseFailure) as caught:
        accepted(statement, dialect)
    return caught.value


@pytest.mark.parametrize(
    ("dialect", "statements"),
    [("postgresql", BOTH), ("postgresql", POSTGRESQL), ("sqlite", BOTH), ("sqlite", SQLITE)],
)
def test_statements_that_only_read_are_accepted(dialect: str, statements: str) -> None:
    for statement in statements.strip().splitlines():
        accepted(statement, dialect)


@pytest.mark.parametrize(
    ("dialect", "attacks"), [("postgresql", sql_attacks.POSTGRESQL), ("sqlite", sql_attacks.SQLITE)]
)
def test_statements_of_the_attack_list_are_refused(dialect: str, attacks: dict[str, str]) -> None:
    # SQLite itself knows its columns, and has no functions behind a dot.
    refused = [statement for what, statement in attacks.items() if dialect != "sqlite" or "a column that" not in what]
    assert tables.accepted(lambda one: accepted(one, dialect), refused, DatabaseFailure) == []


def test_a_table_that_is_left_out_is_found_wherever_it_is_named() -> None:
    for statement in sql_attacks.READS_OF_SECRETS.strip().splitlines():
        assert "secrets" in statement
        assert refusal(statement, "postgresql"), statement


def test_what_a_database_takes_for_a_comment_is_one_for_the_guard() -> None:
    secret = "(SELECT token FROM secrets)"
    inside = {
        "postgresql": [f"SELECT 1 /* /* */ , {secret} /* */ */", f"SELECT $$ {secret} $$", rf"SELECT E'\' {secret}'"],
        "sqlite": [f"SELECT 1 -- \r, {secret}", f"SELECT '\\' || '{secret}'", f"SELECT [ {secret} ]"],
    }
    outside = {
        "postgresql": [f"SELECT 1 -- \r, {secret}", rf"SELECT '\', {secret}, '\'", f"SELECT $a$ ' $a$, {secret}, ''"],
        "sqlite": [f"SELECT 1 /* /* */, {secret} /* */", f"SELECT 1 -- \r'\n, {secret} -- '", f"SELECT [a], {secret}"],
    }
    for dialect, statements in inside.items():
        assert all(accepted(statement, dialect) for statement in statements)
    for dialect, statements in outside.items():
        assert [refusal(statement, dialect).kind for statement in statements] == [FailureKind.NO_TABLE] * 3


@pytest.mark.parametrize("dialect", ["postgresql", "sqlite"])
def test_what_one_dialect_would_do_is_refused_for_the_other_too(dialect: str) -> None:
    other = sql_attacks.SQLITE if dialect == "postgresql" else sql_attacks.POSTGRESQL
    words = ("ATTACH", "PRAGMA", "VACUUM", "INSERT", "COPY", "pg_", "lo_", "dblink", "load_", "file", "SET", "DO")
    for statement in other.values():
        is_unknown = re.search(r"\w\.pg_|::", statement)  # SQLite has no such column, and no such sign
        if not is_unknown and (statement.startswith(words) or "pg_" in statement or "file" in statement):
            assert refusal(statement, dialect)


def test_the_semicolon_at_the_end_is_left_out() -> None:
    assert accepted("SELECT 1 ; ; -- end", "postgresql") == "SELECT 1"


def test_a_common_table_expression_hides_a_table_where_it_is_visible_alone() -> None:
    rows = [
        ("WITH secrets AS (SELECT 1) SELECT * FROM secrets", False),
        ("WITH secrets AS (SELECT * FROM secrets) SELECT * FROM secrets", True),
        ("WITH a AS (SELECT * FROM secrets), secrets AS (SELECT 1) SELECT * FROM a", True),
        ("WITH secrets AS (SELECT 1), a AS (SELECT * FROM secrets) SELECT * FROM a", False),
        ("WITH RECURSIVE secrets AS (SELECT 1 UNION SELECT * FROM secrets) SELECT * FROM secrets", False),
        ("SELECT * FROM (WITH secrets AS (SELECT 1) SELECT * FROM secrets) x, secrets", True),
        ("SELECT (WITH secrets AS (SELECT 1) SELECT 2), (SELECT 1 FROM secrets)", True),
        ("WITH secrets AS (SELECT 1) SELECT * FROM public.secrets", True),
        ('WITH "Secrets" AS (SELECT 1) SELECT * FROM secrets', True),
        ("WITH x AS (WITH secrets AS (SELECT 1) SELECT * FROM secrets) SELECT * FROM x", False),
        ("WITH x AS (WITH secrets AS (SELECT 1) SELECT * FROM secrets), y AS (SELECT * FROM secrets) TABLE y", True),
        ("WITH secrets AS (SELECT 1) SELECT 1 UNION SELECT * FROM secrets", False),
        ("SELECT 1 UNION (WITH secrets AS (SELECT 1) SELECT 1) UNION SELECT * FROM secrets", True),
    ]

    def reads_a_table(statement: str) -> bool:
        try:
            accepted(statement, "postgresql")
        except DatabaseFailure as failure:
            return failure.kind is FailureKind.NO_TABLE
        return False

    assert differences(reads_a_table, rows) == {}


def test_a_table_that_is_left_out_hides_one_of_a_later_schema() -> None:
    schema = DatabaseSchema((Table("b", "t"),), frozenset({("a", "t")}), ("a", "b"))
    with pytest.raises(DatabaseFailure):
        check_statement("SELECT * FROM t", "postgresql", schema)
    assert check_statement("SELECT * FROM b.t", "postgresql", schema)


def test_a_refusal_says_why() -> None:
    rows = [
        ("SELECT o.id, o.wipe_all FROM orders o", FailureKind.STATEMENT),
        ("SELECT '1'::vector", FailureKind.STATEMENT),  # a table that is left out has this name
        ("SELECT '1'::money2", FailureKind.STATEMENT),
        ("SELECT *\nFROM ordrs", FailureKind.NO_TABLE),
        ("SELECT pg_sleep(1)", FailureKind.NO_FUNCTION),
        ("SELECT 1; SELECT 2", FailureKind.NOT_ALLOWED),
        ("SELECT * FORM orders", FailureKind.SYNTAX),
        ("SELECT id FROM orders ORDER BY user", FailureKind.STATEMENT),
        ("SELECT id\u00a0FROM orders", FailureKind.NOT_ALLOWED),
        ("SELECT $1+$2, $1+$2", FailureKind.NOT_ALLOWED),
        ("SELECT 'x", FailureKind.SYNTAX),
        ("SELECT (1", FailureKind.SYNTAX),
    ]
    assert differences(lambda statement: refusal(statement, "postgresql").kind, rows) == {}


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT " + "(" * 200 + "1" + ")" * 200,
        "SELECT " + "1+" * 9_000 + "1",
        "SELECT " + "x" * 30_000,
        "SELECT " + "[" * 1_000,
        "SELECT " + "NOT " * 4_000 + "true",
        "SELECT " + "- " * 3_000 + "1",
        "SELECT " + "CASE WHEN " * 1_000,
        "SELECT " * 2_000,
        "SELECT 1 " + "UNION SELECT 1 " * 1_500,
        "SELECT * FROM " + "(SELECT * FROM " * 39,
        "SELECT " + "date(" * 20 + "x" + ")" * 20,
        "SELECT " + "date[" * 20 + "x" + "]" * 20,
        "SELECT " + "coalesce(1, char /* ( */\n(" * 19 + "x" + "))" * 19,
        f"WITH {', '.join(f't{n} AS (SELECT * FROM t{n - 1})' for n in range(1, 400))} SELECT t399.x FROM t399",
        f"WITH t0 AS (SELECT 1 AS a), {', '.join(f't{n} AS (SELECT *, * FROM t{n - 1})' for n in range(1, 300))}"
        " SELECT t299.x FROM t299",
        f"WITH t0 AS (SELECT 1 AS a), {', '.join(f't{n} AS (SELECT * FROM t{n - 1})' for n in range(1, 400))}"
        " SELECT t399.x FROM t399",
        f"SELECT {', '.join(['a0.x'] * 500)} FROM {', '.join(f'orders a{n}' for n in range(500))}",
    ],
)
def test_no_statement_costs_the_guard_much(statement: str) -> None:
    with cpu_within(2), suppress(DatabaseFailure):
        accepted(statement, "postgresql")
