"""One catalog of five sources: Alpha Vantage, two MCP servers, an OpenAPI service and a database, all real and running.

The MCP servers are mcp-server-time over stdio, which others wrote, and one of the tests over HTTP.
"""

import os
import shutil
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

from tests.conformance.helpers import FASTMCP_PYTHON
from tests.support.catalogs import write_and_refresh
from tests.support.mcp_sources import HttpServer
from tests.support.running_app import running_app
from tests.support.shelter_service import KEY as SHELTER_KEY
from tests.support.shelter_service import create_app
from toolfold.app import App, build_app
from toolfold.build.compiler import compile_folder
from toolfold.mock_api.server import MockApi
from toolfold.settings import Settings

TIME_SERVER = FASTMCP_PYTHON.parent / "mcp-server-time"
CUSTOMERS = """
create table customers (id integer primary key, name text not null, city text);
create table holdings (customer_id integer references customers, symbol text not null, shares integer not null);
insert into customers values (1, 'Ada', 'London'), (2, 'Grace', 'New York'), (3, 'Kurt', 'Vienna');
insert into holdings values (1, 'AAPL', 10), (1, 'MSFT', 4), (2, 'IBM', 25), (3, 'MSFT', 7);
"""


class FiveSources(NamedTuple):
    """The running sources.

    Attributes:
        app: A server with the catalog of all five.
        alone: A server with the catalog of Alpha Vantage alone.
        mcp_server: The MCP server over HTTP, whose ``fault`` a test can set.
        environment: The variables with the keys, which are set while the sources run.
    """

    app: App
    alone: App
    mcp_server: HttpServer
    environment: Mapping[str, str]


@contextmanager
def five_sources(folder: Path) -> Iterator[FiveSources]:
    """Start the sources, read them into ``folder``, and yield them."""
    database = folder / "crm.db"
    with sqlite3.connect(database) as connection:
        connection.executescript(CUSTOMERS)
    connection.close()
    with MockApi() as mock_api, HttpServer() as cities, running_app(create_app()) as shelter:
        hosts = [url.partition("://")[2].partition("/")[0] for url in (cities.url, shelter)]
        environment = {
            "ALPHA_VANTAGE_API_KEY": "FIVESOURCES12345",
            "TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": mock_api.url,
            "TOOLFOLD_SOURCE_CRM_KEY": f"sqlite:{database}",
            "TOOLFOLD_SOURCE_SHELTER_KEY": SHELTER_KEY,
            "TOOLFOLD_ALLOWED_HOSTS": ",".join(hosts),
            "TOOLFOLD_ALLOWED_COMMANDS": str(TIME_SERVER),
            "TOOLFOLD_ANYONE_MAY_USE_THE_KEY": "true",
            "TOOLFOLD_RETRY_BACKOFF_S": "0.001",
        }
        sources: dict[str, dict[str, Any]] = {
            "clock": {
                "kind": "mcp",
                "transport": "stdio",
                "command": str(TIME_SERVER),
                "args": ["--local-timezone=UTC"],
                "trust_annotations": True,
            },
            "cities": {"kind": "mcp", "transport": "http", "url": cities.url, "trust_annotations": True},
            "shelter": {
                "kind": "openapi",
                "url": f"{shelter}/openapi.json",
                "document": "openapi.json",
                "base_url": shelter,
                "auth": {"header": "X-Shelter-Key", "environment": "TOOLFOLD_SOURCE_SHELTER_KEY"},
            },
            "crm": {"kind": "sql", "dialect": "sqlite", "title": "Customers", "description": "Customers, holdings."},
        }
        tree = folder / "catalog"
        shutil.copytree("catalog/alpha_vantage", tree / "alpha_vantage")
        write_and_refresh(tree, sources, environment)
        of_one = {name: value for name, value in environment.items() if not name.endswith(("_CRM_KEY", "_SHELTER_KEY"))}
        apps = {
            "five": _app(folder / "five.json", compile_folder(tree), environment),
            "alone": _app(folder / "alone.json", compile_folder(Path("catalog")), of_one),
        }
        try:
            with mock.patch.dict(os.environ, environment):
                yield FiveSources(apps["five"], apps["alone"], cities, environment)
        finally:
            for app in apps.values():
                app.executor.reset()


def _app(path: Path, compiled: str, environment: Mapping[str, str]) -> App:
    path.write_text(compiled, encoding="utf-8")
    return build_app(Settings.from_environment({**environment, "TOOLFOLD_CATALOG": str(path)}))
