"""A SQLite database behind TOOL_LIST, TOOL_GET and TOOL_CALL: from the catalog to the answer of a model."""

import json
import os
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support.catalogs import refresh, tool_of
from tests.support.cpu_time import ends_within
from tests.support.sql_databases import create_sqlite
from tests.support.tables import accepted
from toolfold import client_call
from toolfold.build.compiler import compile_folder
from toolfold.catalog.model import Catalog
from toolfold.catalog.store import parse_catalog
from toolfold.errors import CallError, CatalogUnavailable
from toolfold.execution.call import CallContext
from toolfold.execution.executor import ToolExecutor
from toolfold.execution.pipeline import run_call
from toolfold.settings import Settings
from toolfold.sources.base import AdapterContext
from toolfold.sources.sql.adapter import DatabaseReader, SqlAdapter
from toolfold.sources.sql.errors import DatabaseFailure, FailureKind
from toolfold.sources.sql.schema import SqlSettings

VARIABLE = "TOOLFOLD_SOURCE_SHOP_KEY"


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return create_sqlite(tmp_path_factory.mktemp("database") / "CANARY-shop.db")


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory, database: Path) -> Catalog:
    folder = tmp_path_factory.mktemp("catalog") / "shop"
    folder.mkdir()
    source = {"id": "shop", "kind": "sql", "title": "Shop", "dialect": "sqlite"}
    source["tables"] = {"exclude": ["secrets"]}
    (folder / "source.yaml").write_text(json.dumps(source))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, str(database))
        refresh(folder)
    return parse_catalog(compile_folder(folder.parent).encode())


@pytest.fixture
def executor(database: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ToolExecutor]:
    monkeypatch.setenv(VARIABLE, str(database))
    made = ToolExecutor(Settings.from_environment())
    yield made
    made.reset()


def call(executor: ToolExecutor, catalog: Catalog, tool: str, **arguments: Any) -> Any:
    found = tool_of(catalog, f"shop__{tool}")
    return json.loads(run_call(executor, CallContext(catalog, found, arguments)).body)


def error(executor: ToolExecutor, catalog: Catalog, tool: str, **arguments: Any) -> CallError:
    with pytest.raises(CallError) as caught:
        call(executor, catalog, tool, **arguments)
    assert "CANARY" not in json.dumps(caught.value.as_dict())
    return caught.value


def test_a_model_finds_its_way_from_the_tables_to_the_rows(executor: ToolExecutor, catalog: Catalog) -> None:
    tables = call(executor, catalog, "list_tables")["tables"]
    assert [table["name"] for table in tables] == ["customers", "guarded", "notes", "orders", "spending"]
    assert tables[3] == {
        "name": "orders", "kind": "table", "description": "", "columns": "id, customer_id, total, note",
    }  # fmt: skip
    described = call(executor, catalog, "describe_table", table="ORDERS")
    assert described["columns"][1]["key"] == "references customers(id)"
    found = call(
        executor, catalog, "query", sql="SELECT name, total FROM orders JOIN customers ON customer_id = customers.id"
        " WHERE total > ? ORDER BY total", params=[10], limit=5,
    )  # fmt: skip
    assert found == {"rows": [{"name": "Ann", "total": 10.5}, {"name": "Ann", "total": 20}]}


def test_the_limit_of_rows_is_in_the_schema(executor: ToolExecutor, catalog: Catalog) -> None:
    refused = error(executor, catalog, "query", sql="SELECT 1", limit=1001)
    assert (refused.code, "1000" in refused.message) == ("INVALID_ARGUMENTS", True)
    many = "WITH RECURSIVE t(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM t) SELECT n FROM t"
    assert len(call(executor, catalog, "query", sql=many)["rows"]) == 100
    answer = call(executor, catalog, "query", sql=many, limit=500)
    assert (len(answer["rows"]), answer["more_rows"].startswith("the answer has the first 500 rows only")) == (
        500,
        True,
    )


@pytest.mark.parametrize(
    ("tool", "arguments", "message", "suggestion"),
    [
        ("query", {"sql": "SELECT * FROM secrets"}, "there is no table secrets", "Tables: customers, guarded"),
        ("query", {"sql": "DELETE FROM orders"}, "only SELECT, WITH and VALUES can be run", "cannot be changed"),
        ("describe_table", {"table": "ordrs"}, "table: there is no table ordrs", "Did you mean orders?"),
        ("describe_table", {"table": "\x1b[2J"}, 'there is no table "\\u001b[2J"', "Tables: "),
    ],
)  # fmt: skip
def test_an_error_says_what_to_do(
    executor: ToolExecutor, catalog: Catalog, tool: str, arguments: Mapping[str, Any], message: str, suggestion: str
) -> None:
    refused = error(executor, catalog, tool, **arguments)
    assert refused.code == "INVALID_ARGUMENTS"
    assert message in refused.message
    assert suggestion in refused.suggestion


def test_a_query_ends_with_its_call(executor: ToolExecutor, catalog: Catalog) -> None:
    endless = "WITH RECURSIVE t(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM t) SELECT count(*) FROM t"
    context = client_call.ClientCall()
    threading.Timer(0.1, context.cancel).start()
    with client_call.running(context):
        assert error(executor, catalog, "query", sql=endless).code == "CANCELLED"
    with client_call.running(context), ends_within(1):  # cancelled before it is run
        assert error(executor, catalog, "query", sql=endless).code == "CANCELLED"
    assert call(executor, catalog, "query", sql="SELECT 1 AS one") == {"rows": [{"one": 1}]}


@pytest.mark.parametrize(
    ("value", "code"),
    [("", "AUTH_REQUIRED"), ("/nowhere/CANARY.db", "UPSTREAM_ERROR"), ("/etc/passwd", "UPSTREAM_ERROR")],
)
def test_a_database_that_is_not_there_is_an_error_without_its_path(
    executor: ToolExecutor,
    catalog: Catalog,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    value: str,
    code: str,
) -> None:
    monkeypatch.setenv(VARIABLE, value)
    refused = error(executor, catalog, "list_tables")
    assert refused.code == code
    assert not value or value not in f"{refused.as_dict()}{caplog.text}"


def test_a_missing_connection_string_is_named(executor: ToolExecutor, catalog: Catalog) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(VARIABLE)
        refused = error(executor, catalog, "list_tables")
    assert refused.message == "Shop needs its connection string, which is not set."
    assert VARIABLE in refused.suggestion


def test_a_list_of_tables_beyond_the_bytes_of_one_answer_is_refused(database: Path) -> None:
    with pytest.raises(DatabaseFailure) as caught:
        DatabaseReader(SqlSettings("sqlite"), 200).list_tables(str(database), time.monotonic() + 60)
    assert caught.value.kind is FailureKind.TOO_LARGE


def test_a_hostile_catalog_cannot_change_the_limits_or_let_callers_choose_the_database(catalog: Catalog) -> None:
    context = AdapterContext(Settings.from_environment(), lambda: pytest.fail("nothing is sent"))
    source = catalog.source("shop")
    assert source.auth is not None
    connections: list[dict[str, Any]] = [
        {},
        {"dialect": "mysql"},
        {"dialect": "sqlite", "include": "*"},
        {"dialect": "sqlite", "timeout_s": "9"},
        {"dialect": "sqlite", "timeout_s": float("nan")},
    ]
    forged = [source._replace(connection=connection) for connection in connections]
    forged += [source._replace(auth=auth) for auth in (source.auth._replace(caller_key=True), None)]
    assert accepted(lambda one: SqlAdapter(one, context), forged, CatalogUnavailable) == []


def test_a_database_is_not_for_callers_without_a_right_to_it(catalog: Catalog, database: Path) -> None:
    tool = tool_of(catalog, "shop__list_tables")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, str(database))
        public = ToolExecutor(Settings.from_environment(), uses_own_keys=False)
        with pytest.raises(CallError) as caught:
            run_call(public, CallContext(catalog, tool, {}))
    assert caught.value.code == "AUTH_REQUIRED"
    assert str(database) not in caught.value.message
    assert os.environ.get(VARIABLE) is None
