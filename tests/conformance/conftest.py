"""Servers for the clients: the mock API as the upstream, and toolfold as the process that a user starts."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.conformance.helpers import TOOLFOLD, start_server
from tests.conftest import KEY
from tests.support import built_function
from tests.unit.build.importers.test_skills import written
from tests.unit.protocol.test_skills import FILES
from toolfold.build.compiler import compile_folder
from toolfold.mock_api.server import MockApi


@pytest.fixture(scope="session")
def environment(mock_api: MockApi, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """Return the whole environment of clients and toolfold. Clients write their state into a home of their own."""
    home = tmp_path_factory.mktemp("home")
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "NO_COLOR": "1",
        "TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": mock_api.url,
        "ALPHA_VANTAGE_API_KEY": KEY,
    }


@pytest.fixture(scope="session")
def url(environment: Mapping[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve ``toolfold serve``; check that its log has no traceback and no key."""
    log = tmp_path_factory.mktemp("serve") / "log"
    with start_server([TOOLFOLD, "serve", "--port", "0"], env=environment, log=log) as url:
        yield url
    assert "Traceback" not in log.read_text()
    assert KEY not in log.read_text()


@pytest.fixture(scope="session")
def skills_url(environment: Mapping[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve a catalog with skills, the first of which has a folder in it."""
    folder = tmp_path_factory.mktemp("skills")
    catalog = folder / "catalog.json"
    catalog.write_text(compile_folder(written(folder / "sources", FILES, binary_files=True)), encoding="utf-8")
    variables = {**environment, "TOOLFOLD_CATALOG": str(catalog)}
    variables.pop("TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL")
    with start_server([TOOLFOLD, "serve", "--port", "0"], env=variables, log=folder / "log") as url:
        yield url


@pytest.fixture(scope="session")
def built_url(environment: Mapping[str, str]) -> Iterator[str]:
    """Serve the built package in Lambda's runtime client, as behind API Gateway; check its log in the same way.

    The catalog is a file: S3 has its own tests. Pages of the endpoint's own origin may call it, as an operator would
    configure it; by default a deployment refuses every page.
    """
    variables = {name: value for name, value in environment.items() if "ALPHA_VANTAGE" in name}
    variables["TOOLFOLD_ANYONE_MAY_USE_THE_KEY"] = "true"
    built = built_function.load_built_function(built_function.LOCAL_BUILD)
    catalog = str(built_function.ROOT / "catalog/catalog.json")
    with built.runtime({"TOOLFOLD_CATALOG": catalog, **variables}) as runtime, runtime.serve_http("/mcp") as url:
        runtime.update_environment(TOOLFOLD_ALLOWED_ORIGINS=url.removesuffix("/mcp"))
        yield url
    written = "\n".join(runtime.log)
    assert len(runtime.init_times_s) == 1, written  # it never crashed, and never took too long
    assert '"request"' in written
    assert "Traceback" not in written
    assert KEY not in written


@pytest.fixture(params=["http", "stdio"])
def target(request: pytest.FixtureRequest) -> list[str]:
    """Return how a client reaches toolfold: a URL, or the command that starts it."""
    return [request.getfixturevalue("url")] if request.param == "http" else [str(TOOLFOLD), "stdio"]


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    """Return an empty folder to run clients in, without configuration and state of others."""
    return tmp_path
