"""Sources of every kind that the parameter ``Extras`` adds, on this machine, and a catalog of them for a function.

A server of the MCP SDK, which speaks both eras of the protocol; a PostgreSQL server; a SQLite file; an MCP server that
is a program; and the mock API.
"""

import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import yaml

from tests.support import postgresql
from tests.support.mcp_sources import PROGRAM, HttpServer
from tests.support.postgresql import READER_STATEMENTS, PostgresqlServer
from tests.support.running_app import running_app
from tests.support.sql_databases import create_sqlite, postgresql_statements
from toolfold.build.compiler import compile_folder
from toolfold.build.preparation import refresh_source
from toolfold.build.source_folders import list_sources
from toolfold.mock_api.server import MockApi
from toolfold.settings import Settings


@dataclass(frozen=True)
class LambdaSources:
    """The sources, while they run.

    Attributes:
        folder: the folders of the sources, as an operator has them.
        variables: environment variables of a function that serves their catalog.
        database: the PostgreSQL server.
        harbour: the MCP server that counts its connections.
    """

    folder: Path
    variables: Mapping[str, str]
    database: PostgresqlServer
    harbour: HttpServer


def mcp_app() -> Any:
    """Return a server of the SDK, over streamable HTTP. It speaks both eras."""
    from mcp.server import MCPServer
    from mcp_types import ToolAnnotations

    server = MCPServer("weather", instructions="Ask for a city.")

    @server.tool(annotations=ToolAnnotations(read_only_hint=True))
    def temperature(city: str) -> dict[str, Any]:
        """Return the temperature of a city in degrees Celsius."""
        return {"city": city, "celsius": 7.5}

    return server.streamable_http_app()


@contextmanager
def serve(folder: Path) -> Iterator[LambdaSources]:
    """Start the sources, read them, and compile their catalog into ``folder``."""
    sources = folder / "sources"
    with ExitStack() as stack:
        mock_api, harbour = stack.enter_context(MockApi()), stack.enter_context(HttpServer())
        weather = f"{stack.enter_context(running_app(mcp_app(), lifespan='on'))}/mcp"
        database = stack.enter_context(postgresql.serve())
        _fill(database)
        remote = {"kind": "mcp", "transport": "http", "trust_annotations": True}
        given: dict[str, dict[str, Any]] = {
            "weather": {**remote, "url": weather},
            "handshake": {**remote, "url": weather},
            "harbour": {**remote, "url": harbour.url},
            "clock": {**remote, "transport": "stdio", "command": PROGRAM[0], "args": list(PROGRAM[1:])},
            "shop": {"kind": "sql", "dialect": "postgresql", "tables": {"exclude": ["secrets"]}},
            "stock": {"kind": "sql", "dialect": "sqlite", "tables": {"exclude": ["secrets"]}},
        }
        variables = {
            "ALPHA_VANTAGE_API_KEY": "LAMBDASOURCES123",
            "TOOLFOLD_ANYONE_MAY_USE_THE_KEY": "true",
            "TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": mock_api.url,
            "TOOLFOLD_SOURCE_SHOP_KEY": database.url("reader", "shop"),
            "TOOLFOLD_SOURCE_STOCK_KEY": f"sqlite:{create_sqlite(folder / 'stock.db')}",
            "TOOLFOLD_ALLOWED_HOSTS": ",".join(url.split("/")[2] for url in (weather, harbour.url)),
            "TOOLFOLD_ALLOWED_COMMANDS": sys.executable,
        }
        with mock.patch.dict(os.environ, variables):
            for id_, settings in given.items():
                (sources / id_).mkdir(parents=True)
                (sources / id_ / "source.yaml").write_text(
                    yaml.safe_dump({"id": id_, "title": id_.title(), **settings})
                )
            for source in list_sources(sources):
                refresh_source(source, Settings.from_environment(variables))
        # A server with both eras is greeted with the handshake where its snapshot has such a version.
        snapshot = sources / "handshake/snapshot.json"
        snapshot.write_text(json.dumps({**json.loads(snapshot.read_text()), "protocol_version": "2025-11-25"}))
        (sources / "alpha_vantage").symlink_to(Path("catalog/alpha_vantage").resolve())
        catalog = folder / "catalog.json"
        catalog.write_text(compile_folder(sources), encoding="utf-8")
        yield LambdaSources(sources, {**variables, "TOOLFOLD_CATALOG": str(catalog)}, database, harbour)


def _fill(database: PostgresqlServer) -> None:
    database.execute("CREATE DATABASE shop", "REVOKE ALL ON SCHEMA public FROM PUBLIC")
    database.execute(*postgresql_statements(), *READER_STATEMENTS, database="shop")
