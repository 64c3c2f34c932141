"""The built package with the extras of settings.toml, in AWS's runtime client: MCP servers, databases and scripts.

The sources are real ones of this machine. Where the machine allows it, the function has the file system of Lambda.
"""

import functools
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from tests.support import built_function, postgresql
from tests.support.built_function import LOCAL_BUILD, NEEDS_BUILD, ROOT, BuiltFunction
from tests.support.catalogs import write_and_refresh
from tests.support.lambda_runtime import LambdaRuntime
from tests.support.mcp_requests import message
from tests.support.mcp_sources import PROGRAM, HttpServer
from tests.support.postgresql import READER_STATEMENTS, PostgresqlServer
from tests.support.running_app import running_app
from tests.support.sql_databases import create_sqlite, postgresql_statements
from tests.unit.test_import_budget import MAX_TOOLFOLD_MODULES, forbidden, ours
from toolfold.build.compiler import compile_folder
from toolfold.mock_api.server import MockApi

pytestmark = [pytest.mark.e2e, NEEDS_BUILD]


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
def lambda_sources(folder: Path) -> Iterator[LambdaSources]:
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
        write_and_refresh(sources, given, variables)
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


MAX_UNZIPPED_BYTES = 262_144_000
"""Of a function with its layers: https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html."""

ALL = "sources scripts"
OF_EXTRAS = ("mcp", "pydantic", "pydantic_monty", "psycopg", "sqlglot", "anyio", "asyncio")


_SCRIPT = """
set -e
mount --make-rprivate /
mount --bind /tmp /tmp
mount --bind "$0" "$0"
mount -o remount,bind,ro "$0"
mount -t tmpfs -o ro none /dev/shm
mount -o remount,bind,ro /
exec "$@"
"""


@functools.cache
def launcher() -> Sequence[str]:
    """Return a command that runs the one behind it in the file system of Lambda, or nothing where that is not allowed.

    Code that makes a lock or a queue of ``multiprocessing``, or writes beside its package, fails there as on Lambda.
    """
    command = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c", _SCRIPT, str(ROOT))
    if shutil.which("unshare") is None:
        return ()
    tried = subprocess.run([*command, "true"], capture_output=True, check=False)
    return () if tried.returncode else command


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LambdaSources]:
    with lambda_sources(tmp_path_factory.mktemp("sources")) as running:
        yield running


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], BuiltFunction]:
    """Returns the function whose dependencies layer has these extras, for this machine or for Lambda."""
    known: dict[tuple[str, str], Path] = {}

    def build(extras: str, platform: str = "host") -> BuiltFunction:
        function = built_function.load_built_function(LOCAL_BUILD)
        if not extras:
            return function
        if (extras, platform) not in known:
            layer = known[extras, platform] = tmp_path_factory.mktemp("layer")
            # On the command line, where `sam build` reads settings.toml: the checkout has one of its own.
            given = [f"extras={extras}", f"ARTIFACTS_DIR={layer}", f"TOOLFOLD_PLATFORM={platform}"]
            environment = {**os.environ, "PATH": f"{ROOT}/.venv-sam/bin:{os.environ['PATH']}"}
            command = ["make", "-f", "layers/dependencies/Makefile", "build-DependenciesLayer", *given]
            subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=True)
        return replace(function, layers=(known[extras, platform], *function.layers[1:]))

    return build


@pytest.fixture(scope="module")
def start(sources: LambdaSources, built: Callable[[str], BuiltFunction]) -> Callable[..., LambdaRuntime]:
    """Makes a runtime with extras, separated by spaces, and further variables."""

    def make(extras: str, **variables: str) -> LambdaRuntime:
        return built(extras).runtime({**sources.variables, **variables}, launcher())

    return make


@pytest.fixture(scope="module")
def runtime(start: Callable[..., LambdaRuntime]) -> Iterator[LambdaRuntime]:
    with start(ALL) as runtime:
        yield runtime


def event(method: str, params: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((ROOT / "events/tool-call.json").read_text())
    return {**found, "body": json.dumps(message(method, dict(params)))}


def call(runtime: LambdaRuntime, tool: str, arguments: Mapping[str, Any] | None = None, **beside: Any) -> Any:
    given = {"tool_name": tool, "arguments": dict(arguments or {}), **beside}
    answer = runtime.invoke(event("tools/call", {"name": "TOOL_CALL", "arguments": given}))
    return json.loads(answer["body"])["result"]["structuredContent"]


def script(runtime: LambdaRuntime, text: str, **inputs: Any) -> Any:
    return call(runtime, "TOOL_SCRIPT", {"script": text, "inputs": inputs})


def children(runtime: LambdaRuntime) -> dict[int, str]:
    """The processes that the function has started, with their states."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            _, _, rest = path.read_text().rpartition(") ")
        except OSError:
            continue
        state, parent = rest.split()[:2]
        if int(parent) == runtime.pid:
            found[int(path.parent.name)] = state
    return found


class TestSources:
    @pytest.mark.parametrize("source", ["weather", "handshake"])
    def test_a_tool_of_an_mcp_server_is_called_in_both_eras(self, runtime: LambdaRuntime, source: str) -> None:
        answer = call(runtime, f"{source}__temperature", {"city": "Oslo"})
        assert answer["result"] == {"city": "Oslo", "celsius": 7.5}

    @pytest.mark.parametrize("source", ["shop", "stock"])
    def test_a_database_is_read_and_not_written(self, runtime: LambdaRuntime, source: str) -> None:
        joined = "customers JOIN orders ON customer_id = customers.id"
        sql = f"SELECT name, sum(total) AS spent FROM {joined} GROUP BY name ORDER BY spent DESC"
        rows = call(runtime, f"{source}__query", {"sql": sql})["result"]["rows"]
        assert [(name, float(spent)) for name, spent in rows] == [("Ann", 30.5), ("Bob", 7.25)]
        for statement in ("DELETE FROM orders", "SELECT 1; DROP TABLE orders", "SELECT * FROM secrets"):
            assert call(runtime, f"{source}__query", {"sql": statement})["error"]["code"] == "INVALID_ARGUMENTS"

    @pytest.mark.parametrize(("journal", "works"), [("delete", True), ("wal", False)])
    def test_a_file_of_sqlite_beside_the_code_is_read_unless_it_is_in_wal_mode(
        self, start: Callable[..., LambdaRuntime], journal: str, works: bool
    ) -> None:
        if not launcher():
            pytest.skip("this machine does not let its users make namespaces")
        with tempfile.TemporaryDirectory(dir=LOCAL_BUILD) as folder:  # read-only for the function
            file = create_sqlite(Path(folder) / "stock.db")
            with closing(sqlite3.connect(file)) as connection:
                connection.execute(f"PRAGMA journal_mode = {journal}")
            with start("sources", TOOLFOLD_SOURCE_STOCK_KEY=f"sqlite:{file}") as runtime:
                answer = call(runtime, "stock__query", {"sql": "SELECT count(*) AS n FROM customers"})
        assert answer.get("result", {}).get("rows") == ([[3]] if works else None)
        assert works or "cannot be read" in answer["error"]["message"]

    def test_a_program_is_refused(self, runtime: LambdaRuntime) -> None:
        error = call(runtime, "clock__echo", {"text": "a"})["error"]
        assert error["code"] == "UPSTREAM_ERROR"
        assert "which a Lambda function cannot do" in error["message"]

    def test_connections_that_ended_while_the_environment_was_frozen_are_opened_again(
        self, runtime: LambdaRuntime, sources: LambdaSources
    ) -> None:
        query = {"sql": "SELECT count(*) AS n FROM orders"}
        assert call(runtime, "shop__query", query, fresh=True)["result"]["rows"] == [[3]]
        assert call(runtime, "harbour__echo", {"text": "before"})["result"] == "before"
        os.kill(runtime.pid, signal.SIGSTOP)
        try:
            sources.database.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'reader'")
            sources.harbour.forget_sessions()
            time.sleep(0.2)
        finally:
            os.kill(runtime.pid, signal.SIGCONT)
        assert call(runtime, "shop__query", query, fresh=True)["result"]["rows"] == [[3]]
        assert call(runtime, "harbour__echo", {"text": "after"})["result"] == "after"

    def test_no_secret_is_in_the_log(self, runtime: LambdaRuntime, sources: LambdaSources) -> None:
        written = "\n".join(runtime.log)
        for name, value in sources.variables.items():
            assert not (name.endswith("_KEY") and len(value) > 4 and value in written), name


class TestScripts:
    def test_a_script_calls_tools_of_all_sources(self, runtime: LambdaRuntime) -> None:
        text = (
            "city = call('weather__temperature', city='Oslo')\n"
            "rows = call('shop__query', sql='SELECT id FROM customers')['rows']\n"
            "{'celsius': city['celsius'], 'customers': len(rows), 'sum': sum(inputs['values'])}"
        )
        answer = script(runtime, text, values=[1, 2, 3])
        assert answer["result"] == {"celsius": 7.5, "customers": 3, "sum": 6}

    def test_a_script_runs_after_the_environment_was_frozen(self, runtime: LambdaRuntime) -> None:
        assert script(runtime, "1 + 1")["result"] == 2
        stopped = [runtime.pid, *children(runtime)]
        for process in stopped:
            os.kill(process, signal.SIGSTOP)
        time.sleep(1)
        for process in stopped:
            os.kill(process, signal.SIGCONT)
        assert script(runtime, "2 + 2")["result"] == 4
        assert len(children(runtime)) <= 2

    def test_the_file_system_is_the_one_of_lambda(self, runtime: LambdaRuntime) -> None:
        if not launcher():
            pytest.skip("this machine does not let its users make namespaces")
        process = Path(f"/proc/{runtime.pid}")
        mounts = {line.split()[4]: line.split()[5] for line in (process / "mountinfo").read_text().splitlines()}
        assert all(mounts[place].startswith("ro") for place in ("/", "/dev/shm", str(ROOT)))
        assert mounts["/tmp"].startswith("rw")


class TestWithoutExtras:
    @pytest.mark.parametrize(
        ("extras", "tool", "arguments", "missing"),
        [
            ("", "weather__temperature", {"city": "Oslo"}, "sources"),
            ("", "shop__query", {"sql": "SELECT 1 FROM orders"}, "sources"),
            ("", "TOOL_SCRIPT", {"script": "1"}, "scripts"),
            ("sources", "TOOL_SCRIPT", {"script": "1"}, "scripts"),
            ("scripts", "weather__temperature", {"city": "Oslo"}, "sources"),
            ("scripts", "shop__query", {"sql": "SELECT 1 FROM orders"}, "sources"),
        ],
    )
    def test_one_sentence_names_the_setting(
        self, start: Callable[..., LambdaRuntime], extras: str, tool: str, arguments: dict[str, Any], missing: str
    ) -> None:
        with start(extras) as runtime:
            error = call(runtime, tool, arguments)["error"]
            assert f'add "{missing}" to extras in settings.toml' in error["suggestion"]
            assert "pip" not in json.dumps(error)
            quote = call(runtime, "GLOBAL_QUOTE", {"symbol": "IBM"})
            assert quote["result"]["symbol"] == "IBM"


class TestColdStart:
    @pytest.mark.parametrize("extras", ["", ALL])
    def test_neither_the_first_response_nor_a_call_of_an_api_imports_anything_of_them(
        self, start: Callable[..., LambdaRuntime], extras: str
    ) -> None:
        with start(extras, PYTHONPROFILEIMPORTTIME="1") as runtime:
            runtime.invoke(event("tools/list", {}))
            modules = imported(runtime)
            assert {name.partition(".")[0] for name in forbidden(modules)} <= {"jsonschema_rs"}  # of a foreign catalog
            assert 0 < len(ours(modules)) <= MAX_TOOLFOLD_MODULES
            assert call(runtime, "GLOBAL_QUOTE", {"symbol": "IBM"})["result"]["symbol"] == "IBM"
            found = {name.partition(".")[0] for name in imported(runtime)}
            assert not found.intersection(OF_EXTRAS)

    def test_a_warm_environment_has_imported_what_its_catalog_uses(self, start: Callable[..., LambdaRuntime]) -> None:
        with start(ALL, PYTHONPROFILEIMPORTTIME="1", AWS_LAMBDA_INITIALIZATION_TYPE="snap-start") as runtime:
            runtime.start()
            prepared = imported(runtime)
            assert {"mcp.client", "sqlglot", "psycopg.pq", "pydantic_monty._monty"} <= prepared
            assert not children(runtime)
            assert call(runtime, "weather__temperature", {"city": "Oslo"})["result"]["celsius"] == 7.5
            assert call(runtime, "shop__query", {"sql": "SELECT id FROM customers"})["result"]["rows"]
            assert script(runtime, "1 + 1")["result"] == 2
            later = imported(runtime) - prepared
            assert sorted(name for name in later if name.partition(".")[0] in (*OF_EXTRAS[:5], "toolfold")) == []


def imported(runtime: LambdaRuntime) -> set[str]:
    """The modules that the handler has imported."""
    lines = [line.rpartition("|")[2].strip() for line in runtime.log if line.startswith("import time:")]
    first = next(number for number, name in enumerate(lines) if name.startswith("aws_lambda_powertools"))
    return set(lines[first:])


class TestLayers:
    def test_the_function_with_all_extras_fits_and_has_each_package_once(
        self, built: Callable[..., BuiltFunction]
    ) -> None:
        function = built(ALL, "aarch64-manylinux_2_34")
        sizes = [path.stat().st_size for folder in (function.function, *function.layers) for path in folder.rglob("*")]
        assert sum(sizes) < MAX_UNZIPPED_BYTES * 0.8
        distributions = [
            re.sub(r"[-_.]+", "-", path.name.partition("-")[0]).lower()
            for layer in function.layers
            for path in (layer / "python").glob("*.dist-info")
        ]
        assert len(distributions) == len(set(distributions))

    def test_the_interpreter_of_scripts_is_a_program_for_the_platform_of_the_function(
        self, built: Callable[..., BuiltFunction]
    ) -> None:
        function = built(ALL, "aarch64-manylinux_2_34")
        [program] = [path for layer in function.layers for path in (layer / "bin").glob("*")]
        assert program.name == "monty"
        assert program.stat().st_mode & 0o111 == 0o111
        assert program.read_bytes()[:20][18:] == b"\xb7\x00"  # EM_AARCH64 of the ELF header
