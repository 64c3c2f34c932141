"""Apps with a catalog of profiles, and requests to their paths."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.support.mcp_requests import message, request, stateless
from toolfold.app import App, build_app
from toolfold.build.compiler import compile_folder
from toolfold.settings import Settings

SOURCES = Path("tests/fixtures/sources")


def compile_profiles(folder: Path, text: str, *sources: str) -> Path:
    """Compile ``profiles.yaml`` and sources, Alpha Vantage or fixtures; return the path of the catalog."""
    for name in sources:
        shutil.copytree((Path("catalog") if name == "alpha_vantage" else SOURCES) / name, folder / name)
    (folder / "profiles.yaml").write_text(text)
    path = folder / "catalog.json"
    path.write_text(compile_folder(folder, adapters=["http_api", "alpha_vantage"]))
    return path


def app_of(catalog: Path | str = "", **environment: str) -> App:
    """Return an App for a catalog; without one, for that of the package."""
    hosts = "docks.test,harbour.test,tides.test"
    variables = {"TOOLFOLD_CATALOG": str(catalog), "TOOLFOLD_ALLOWED_HOSTS": hosts} if catalog else {}
    return build_app(Settings.from_environment({**variables, **environment}))


def rpc(app: App, path: str, method: str, params: Mapping[str, Any] | None = None, *, modern: bool = False) -> Any:
    """Send a request to a path and return the message of its response."""
    sent = stateless(method, dict(params or {})) if modern else request(message(method, dict(params or {})))
    response = app.server.handle_http(sent._replace(path=path))
    assert response.status in (200, 400), response
    return json.loads(response.body)


def listed(app: App, path: str, *, modern: bool = False) -> list[dict[str, Any]]:
    """Return the definitions of all pages of ``tools/list``."""
    found: list[dict[str, Any]] = []
    cursor: dict[str, Any] = {}
    while True:
        result = rpc(app, path, "tools/list", cursor, modern=modern)["result"]
        found += result["tools"]
        if "nextCursor" not in result:
            return found
        cursor = {"cursor": result["nextCursor"]}


def names(app: App, path: str) -> list[str]:
    return [definition["name"] for definition in listed(app, path)]


def call(app: App, path: str, name: str, arguments: Mapping[str, Any], *, modern: bool = False) -> dict[str, Any]:
    """Call a tool and return its result."""
    answer = rpc(app, path, "tools/call", {"name": name, "arguments": dict(arguments)}, modern=modern)
    result: dict[str, Any] = answer["result"]
    return result


def code(result: Mapping[str, Any]) -> str:
    """Return the code of the error of a result, or ``OK``."""
    structured = result["structuredContent"]
    return str(structured["error"]["code"]) if result["isError"] else "OK"
