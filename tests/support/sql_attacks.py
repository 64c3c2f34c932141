"""Statements that no source may run: what they would do, by dialect."""

POSTGRESQL: dict[str, str] = {
    "ends the transaction, then writes": "COMMIT; INSERT INTO orders VALUES (99, 1, 1, 'x')",
    "two statements": "SELECT 1; DELETE FROM orders",
    "a statement behind a comment": "SELECT 1 /* ; */ ; DROP TABLE orders --",
    "insert": "INSERT INTO orders VALUES (99, 1, 1, 'x')",
    "delete in WITH": "WITH gone AS (DELETE FROM orders RETURNING *) SELECT * FROM gone",
    "insert in WITH": "WITH new AS (INSERT INTO orders VALUES (99, 1, 1, 'x') RETURNING id) SELECT id FROM new",
    "update in WITH inside a subquery": "SELECT * FROM (WITH x AS (UPDATE orders SET total = 0 RETURNING 1) TABLE x) y",
    "SELECT INTO": "SELECT * INTO stolen FROM orders",
    "SELECT INTO TEMP": "SELECT * INTO TEMP stolen FROM orders",
    "FOR UPDATE": "SELECT * FROM orders FOR UPDATE",
    "FOR SHARE in a subquery": "SELECT * FROM (SELECT * FROM orders FOR SHARE) locked",
    "COPY TO a file": "COPY orders TO '/tmp/toolfold-stolen'",
    "COPY FROM a program": "COPY orders FROM PROGRAM 'id'",
    "COPY of a query": "COPY (SELECT 1) TO STDOUT",
    "DO": "DO $$ BEGIN DELETE FROM orders; END $$",
    "CALL": "CALL wipe()",
    "SET ROLE": "SET ROLE postgres",
    "SET SESSION AUTHORIZATION": "SET SESSION AUTHORIZATION postgres",
    "SET of the read-only mode": "SET default_transaction_read_only = off",
    "RESET": "RESET ALL",
    "EXPLAIN ANALYZE": "EXPLAIN ANALYZE DELETE FROM orders",
    "PREPARE": "PREPARE p AS DELETE FROM orders",
    "EXECUTE": "EXECUTE p",
    "DECLARE": "DECLARE c CURSOR FOR SELECT 1",
    "LISTEN": "LISTEN x",
    "NOTIFY": "NOTIFY x",
    "LOCK": "LOCK TABLE orders",
    "TRUNCATE": "TRUNCATE orders",
    "VACUUM": "VACUUM",
    "CREATE": "CREATE TABLE x (i int)",
    "CREATE FUNCTION": "CREATE FUNCTION f() RETURNS int AS 'SELECT 1' LANGUAGE sql",
    "ALTER SYSTEM": "ALTER SYSTEM SET log_connections = on",
    "GRANT": "GRANT ALL ON orders TO public",
    "LOAD": "LOAD 'auto_explain'",
    "MERGE": "MERGE INTO orders USING customers ON false WHEN NOT MATCHED THEN INSERT VALUES (99, 1, 1, 'x')",
    "CREATE TABLE AS": "CREATE TABLE x AS SELECT 1",
    "pg_read_file": "SELECT pg_read_file('/etc/passwd')",
    "pg_read_file with a schema": "SELECT pg_catalog.pg_read_file('/etc/passwd')",
    "pg_read_file in quotes": """SELECT "pg_read_file"('/etc/passwd')""",
    "pg_read_file in another case": "SELECT PG_Read_File ('/etc/passwd')",
    "pg_read_file behind a comment": "SELECT pg_read_file/**/('/etc/passwd')",
    "pg_read_file with escapes": r"""SELECT U&"pg\005fread\005ffile"('/etc/passwd')""",
    "pg_read_file as a table": "SELECT * FROM pg_read_file('/etc/passwd') AS t(line)",
    "pg_read_file in ROWS FROM": "SELECT * FROM ROWS FROM (pg_read_file('/etc/passwd'))",
    "pg_read_file in LATERAL": "SELECT * FROM orders, LATERAL pg_read_file('/etc/passwd')",
    "pg_read_file as the name of a subquery": "WITH pg_read_file(a) AS (SELECT 1) SELECT pg_read_file('/etc/passwd')",
    "pg_read_file in ORDER BY": "SELECT 1 FROM orders ORDER BY pg_read_file('/etc/passwd')",
    "pg_read_file in a window": "SELECT sum(1) OVER (ORDER BY pg_read_file('/etc/passwd')) FROM orders",
    "pg_read_file in LIMIT": "SELECT 1 LIMIT length(pg_read_file('/etc/passwd'))",
    "pg_read_file in VALUES": "VALUES (pg_read_file('/etc/passwd'))",
    "pg_read_binary_file": "SELECT pg_read_binary_file('/etc/passwd')",
    "pg_ls_dir": "SELECT * FROM pg_ls_dir('/')",
    "pg_stat_file": "SELECT pg_stat_file('/etc/passwd')",
    "lo_import": "SELECT lo_import('/etc/passwd')",
    "lo_export": "SELECT lo_export(1, '/tmp/toolfold-stolen')",
    "lo_from_bytea": r"SELECT lo_from_bytea(0, '\x00')",
    "dblink": "SELECT * FROM dblink('host=127.0.0.1', 'DELETE FROM orders') AS t(i int)",
    "pg_sleep": "SELECT pg_sleep(60)",
    "pg_sleep_for": "SELECT pg_sleep_for('1 minute')",
    "set_config": "SELECT set_config('transaction_read_only', 'off', false)",
    "current_setting": "SELECT current_setting('data_directory')",
    "nextval": "SELECT nextval('numbers')",
    "setval": "SELECT setval('numbers', 1)",
    "pg_notify": "SELECT pg_notify('x', 'y')",
    "pg_advisory_lock": "SELECT pg_advisory_lock(1)",
    "pg_terminate_backend": "SELECT pg_terminate_backend(pid) FROM pg_stat_activity",
    "pg_reload_conf": "SELECT pg_reload_conf()",
    "pg_logical_emit_message": "SELECT pg_logical_emit_message(false, 'x', 'y')",
    "txid_current": "SELECT txid_current()",
    "SQL in a text": "SELECT query_to_xml('DELETE FROM orders', true, true, '')",
    "SQL in a text of ts_stat": "SELECT * FROM ts_stat('SELECT pg_read_file(''/etc/passwd'')')",
    "a table in XML": "SELECT table_to_xml('secrets', true, true, '')",
    "the database in XML": "SELECT database_to_xml(true, true, '')",
    "a cursor": "SELECT cursor_to_xml('c', 1, true, true, '')",
    "XMLTABLE": "SELECT * FROM XMLTABLE('/a' PASSING '<a/>' COLUMNS b int)",
    "a function of the database": "SELECT wipe_all()",
    "a function with a schema": "SELECT public.lower('x')",
    "version": "SELECT version()",
    "current_user": "SELECT current_user",
    "session_user": "SELECT session_user",
    "the role by its short word": "SELECT user",
    "the role as a table": "SELECT * FROM USER",
    "the role by other words": "SELECT current_role UNION SELECT system_user",
    "a text that only sqlglot sees": "SELECT $1||$a$z$a$, pg_read_file('/etc/passwd'), $1||$a$ -- $a$\n FROM orders",
    "a text behind a space of Unicode": "SELECT id AS \u2028$a$, (TABLE secrets), 1 AS \u2028$a$ FROM orders",
    "a text with a comma that only sqlglot sees": "SELECT $1,$a$z$a$, (TABLE secrets), $1,$a$ -- $a$\n FROM orders",
    "a very long text": "SELECT lpad('x', 1000000000)",
    "a very long text by an expression": "SELECT rpad('x', 1000 * 1000000)",
    "repeat": "SELECT repeat('x', 1000000000)",
    "passwords": "SELECT * FROM pg_shadow",
    "passwords with a schema": "SELECT * FROM pg_catalog.pg_authid",
    "statements of others": "SELECT query FROM pg_stat_activity",
    "settings": "TABLE pg_settings",
    "files of settings": "SELECT * FROM pg_hba_file_rules",
    "information_schema": "SELECT * FROM information_schema.tables",
    "a table that is left out": "SELECT * FROM secrets",
    "a table that is left out, with a schema": "SELECT * FROM public.secrets",
    "a table that is left out, in quotes": 'SELECT * FROM "secrets"',
    "a table that is left out, in a subquery": "SELECT (SELECT token FROM secrets LIMIT 1)",
    "a table that is left out, behind its own name": "WITH secrets AS (SELECT * FROM secrets) SELECT * FROM secrets",
    "a table that is left out, by TABLE": "TABLE secrets",
    "a table that is left out, in EXISTS": "SELECT EXISTS (SELECT 1 FROM ONLY secrets)",
    "a table of another database": "SELECT * FROM other.public.orders",
    "a function as a column": "SELECT c.wipe_all FROM customers c",
    "a function as a column, in quotes": 'SELECT "c"."wipe_all" FROM customers AS "c"',
    "a function as a column, with a schema": "SELECT public.customers.wipe_all FROM customers",
    "a function as a column, in ORDER BY": "SELECT 1 FROM customers c ORDER BY c.wipe_all",
    "a function as a column, in ON": "SELECT 1 FROM orders o JOIN customers c ON c.wipe_all = o.id",
    "a function as a column of a row": "SELECT (c.*).wipe_all FROM customers c",
    "a function as a column of a table in parentheses": "SELECT (c).wipe_all FROM customers c",
    "a function as a field of a value": "SELECT ('(1,Ann,)'::customers).wipe_all",
    "a function as a field of ROW": "SELECT (ROW(1, 2)).wipe_all",
    "a function as a field of a parameter": "SELECT $1.wipe_all",
    "a function as a field of an element": "SELECT (array_agg(c))[1].wipe_all FROM customers c",
    "a function as a column of a subquery": "SELECT t.wipe_all FROM (SELECT * FROM customers) t",
    "a function as a column of WITH": "WITH t AS (SELECT id FROM customers) SELECT t.wipe_all FROM t",
    "a function as a column of VALUES": "SELECT v.wipe_all FROM (VALUES (1)) v(a)",
    "a function as a column of a function": "SELECT t.pg_read_file FROM concat('/etc/passwd') AS t",
    "a function as a column of a function without an alias": "SELECT concat.pg_read_file FROM concat('/etc/passwd')",
    "a function as a column of UNNEST": "SELECT t.pg_read_file FROM unnest(ARRAY['/etc/passwd']) AS t",
    "a function as a column that another source has": "SELECT c.wipe_all FROM customers c, (SELECT 1 AS wipe_all) x",
    "a function as a column that a hidden source has": "SELECT (SELECT x.y FROM (SELECT 1 AS wipe_all) AS c,"
    " (SELECT c.wipe_all AS y) AS x) FROM customers c",
    "a function as a column that an outer source has": "SELECT (SELECT c.wipe_all FROM customers c)"
    " FROM (SELECT 1 AS wipe_all) AS c",
    "a function as a column, by a name that is cut": f"SELECT (SELECT {'x' * 63}a.wipe_all FROM customers {'x' * 63}b)"
    f" FROM (SELECT 1 AS wipe_all) AS {'x' * 63}a",
    "a function as a renamed column": "SELECT c.wipe_all FROM customers AS c(a, b) JOIN orders o ON o.id = c.a",
    "a function of an operator": "SELECT 1 OPERATOR(public.+) 2",
    "a row of a table that is left out": "SELECT null::secrets",
    "a row of a table that is left out, by CAST": "SELECT to_jsonb(CAST(NULL AS secrets))",
    "a row of a table that is left out, with a schema": "SELECT (null::public.secrets).*",
    "a row of a table that is left out, in an array": "SELECT '{}'::secrets[]",
    "a row of a table that is left out, in quotes": """SELECT '(1,x)'::"secrets\"""",
    "a row of a table that is left out, before a text": "SELECT secrets '(1,x)'",
    "a row of a table that is left out, in a list of columns": "SELECT * FROM jsonb_to_record('{}') AS x(a secrets)",
    "a row of a table that is left out, in a list without a name": "SELECT * FROM json_to_record('{}') AS (a secrets)",
    "a row of a table with the name of a type of others": "SELECT null::string",
    "a row of a table with such a name, by CAST": "SELECT CAST(null AS datetime)",
    "a row of a table with such a name, before a text": "SELECT variant '(1)'",
    "a table that is left out, by its number": "SELECT 'secrets'::regclass",
    "a table that is left out, by its number, in CAST": "SELECT CAST('secrets' AS regclass)::oid",
    "a table that is left out, by its number, with a schema": "SELECT 'secrets'::pg_catalog.regclass",
    "a table that is left out, by its number, before a text": "SELECT regclass 'secrets'",
    "a table that is left out, by its number, as a function": "SELECT regclass('secrets')",
    "a type by its number": "SELECT 'secrets'::regtype, 'pg_read_file'::regproc, 'postgres'::regrole",
    "nothing": "",
    "a comment": "-- SELECT 1",
    "a null character": "SELECT 1\0; DELETE FROM orders",
    "no SQL": "show me all orders",
}

SQLITE: dict[str, str] = {
    "ATTACH creates a file": "ATTACH DATABASE '/tmp/toolfold-stolen.db' AS other",
    "ATTACH by a URI": "ATTACH 'file:/tmp/toolfold-stolen.db?mode=rwc' AS other",
    "ATTACH behind a SELECT": "SELECT 1; ATTACH '/tmp/toolfold-stolen.db' AS other",
    "DETACH": "DETACH main",
    "VACUUM INTO": "VACUUM INTO '/tmp/toolfold-stolen.db'",
    "PRAGMA": "PRAGMA query_only = OFF",
    "PRAGMA that writes": "PRAGMA journal_mode = DELETE",
    "PRAGMA as a table": "SELECT * FROM pragma_database_list",
    "PRAGMA as a function": "SELECT * FROM pragma_table_info('secrets')",
    "insert": "INSERT INTO orders VALUES (99, 1, 1, 'x')",
    "insert with RETURNING": "INSERT INTO orders VALUES (99, 1, 1, 'x') RETURNING *",
    "WITH before an insert": "WITH x AS (SELECT 1) INSERT INTO orders SELECT 99, 1, 1, 'x'",
    "WITH before a delete": "WITH x AS (SELECT 1) DELETE FROM orders",
    "REPLACE": "REPLACE INTO orders VALUES (1, 1, 1, 'x')",
    "create": "CREATE TABLE x (i)",
    "create a temporary table": "CREATE TEMP TABLE x AS SELECT * FROM orders",
    "create a virtual table": "CREATE VIRTUAL TABLE x USING fts5(y)",
    "a trigger": "CREATE TRIGGER t AFTER INSERT ON orders BEGIN DELETE FROM orders; END",
    "drop": "DROP TABLE orders",
    "BEGIN": "BEGIN IMMEDIATE",
    "SAVEPOINT": "SAVEPOINT s",
    "REINDEX": "REINDEX",
    "ANALYZE": "ANALYZE",
    "EXPLAIN": "EXPLAIN SELECT 1",
    "load_extension": "SELECT load_extension('/tmp/x.so')",
    "readfile": "SELECT readfile('/etc/passwd')",
    "writefile": "SELECT writefile('/tmp/toolfold-stolen', 'x')",
    "edit": "SELECT edit('x')",
    "fts3_tokenizer": "SELECT fts3_tokenizer('simple')",
    "zeroblob": "SELECT zeroblob(1000000000)",
    "randomblob": "SELECT randomblob(1000000000)",
    "printf": "SELECT printf('%1000000000s', 'x')",
    "sqlite_version": "SELECT sqlite_version()",
    "the schema": "SELECT sql FROM sqlite_master",
    "the schema by its other name": "SELECT sql FROM sqlite_schema",
    "the schema with its database": "SELECT * FROM main.sqlite_master",
    "tables of temp": "SELECT * FROM temp.x",
    "a table that is left out": "SELECT * FROM secrets",
    "a table that is left out, in another case": "SELECT * FROM SeCrEtS",
    "a table that is left out, in brackets": "SELECT * FROM [secrets]",
    "a table that is left out, in backticks": "SELECT * FROM `secrets`",
    "a table that is left out, in quotes": 'SELECT * FROM "secrets"',
    "a table that is left out, with its database": "SELECT token FROM main.secrets",
    "a count of a table that is left out": "SELECT count(*) FROM secrets",
    "a table that is left out, in a subquery": "SELECT (SELECT token FROM secrets)",
    "a table that is left out, in EXISTS": "SELECT 1 WHERE EXISTS (SELECT 1 FROM secrets)",
    "a table that is left out, after IN": "SELECT 1 WHERE 1 IN secrets",
    "a column that a table does not have": "SELECT o.token FROM orders o",
    "a column that another table has": "SELECT o.token FROM orders o, (SELECT 1 AS token) x",
    "a field of a value": "SELECT (o.id).token FROM orders o",
    "two statements": "SELECT 1; DELETE FROM orders",
    "nothing": ";",
    "a comment": "/* SELECT 1 */",
}

READS_OF_SECRETS = """
SELECT * FROM orders WHERE id = (TABLE secrets)
SELECT secrets FROM orders, secrets
SELECT 1 FROM orders JOIN secrets USING (id)
SELECT * FROM (secrets)
SELECT * FROM orders, (secrets)
SELECT * FROM (orders CROSS JOIN secrets)
SELECT * FROM ONLY (secrets)
SELECT * FROM orders o NATURAL JOIN secrets
WITH x AS MATERIALIZED (TABLE secrets) SELECT * FROM x
SELECT EXISTS (TABLE secrets)
SELECT 1 IN (TABLE secrets)
SELECT ARRAY(TABLE secrets)
VALUES ((TABLE secrets))
SELECT 1 FROM orders ORDER BY (TABLE secrets)
SELECT * FROM secrets*
SELECT * FROM public . secrets
SELECT * FROM "public"."secrets" TABLESAMPLE system (10)
SELECT 1 UNION TABLE secrets
TABLE orders UNION ALL TABLE secrets
(TABLE secrets)
((SELECT 1) UNION (TABLE secrets))
SELECT CASE WHEN EXISTS (SELECT 1 FROM secrets) THEN 1 END
SELECT count(*) FILTER (WHERE EXISTS (SELECT 1 FROM secrets)) FROM orders
SELECT sum(1) OVER (ORDER BY (SELECT 1 FROM secrets)) FROM orders
SELECT 1 LIMIT (SELECT 1 FROM secrets)
SELECT 1 OFFSET (SELECT 1 FROM secrets)
SELECT 1 FETCH FIRST (SELECT 1 FROM secrets) ROWS ONLY
SELECT 1 FROM orders GROUP BY (SELECT 1 FROM secrets)
SELECT 1 FROM orders HAVING (SELECT true FROM secrets)
SELECT * FROM orders LEFT JOIN LATERAL (SELECT * FROM secrets) x ON true
SELECT * FROM generate_series(1, (SELECT count(*) FROM secrets))
SELECT * FROM unnest((SELECT array_agg(id) FROM secrets))
SELECT (ARRAY[1,2])[(SELECT 1 FROM secrets)]
SELECT DISTINCT ON ((SELECT 1 FROM secrets)) 1
SELECT percentile_cont((SELECT 1 FROM secrets)) WITHIN GROUP (ORDER BY 1) FROM orders
SELECT 1 FROM orders TABLESAMPLE bernoulli ((SELECT 1 FROM secrets))
SELECT * FROM orders WINDOW w AS (ORDER BY (SELECT 1 FROM secrets))
SELECT INTERVAL '1' DAY * (SELECT 1 FROM secrets)
SELECT 1 = ANY (SELECT 1 FROM secrets)
SELECT 1 = ALL (TABLE secrets)
SELECT ROW(1) = (SELECT 1 FROM secrets)
SELECT extract(year from (SELECT now() FROM secrets))
SELECT trim((SELECT 'x' FROM secrets))
SELECT cast((SELECT 1 FROM secrets) AS int)
SELECT 1 FROM orders a, secrets b
SELECT 1 FROM orders AS secrets, secrets AS orders
SELECT 1 FROM orders JOIN orders secrets ON true JOIN secrets s ON true
WITH RECURSIVE x AS (SELECT 1 UNION SELECT 1 FROM x, secrets) TABLE x
WITH x AS (SELECT 1) SEARCH DEPTH FIRST BY a SET b SELECT * FROM secrets
SELECT 1 FROM orders PIVOT (count(*) FOR x IN (SELECT 1 FROM secrets))
SELECT * FROM secrets PIVOT (count(*) FOR x IN (1))
SELECT * FROM secrets MATCH_RECOGNIZE (PATTERN (a))
SELECT * EXCLUDE (a) FROM secrets
FROM secrets
SELECT secrets.token FROM orders secrets JOIN public.secrets x ON true
SELECT json_agg(secrets) FROM secrets
SELECT $$x$$ FROM secrets
SELECT 1 AS secrets FROM secrets AS "orders"
"""
"""Places in a statement of PostgreSQL in which a table can be named, each with one that the source leaves out."""
