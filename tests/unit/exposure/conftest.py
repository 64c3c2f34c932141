"""A catalog of three sources with profiles of every sort."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.exposure import app_of, compile_profiles
from toolfold.app import App
from toolfold.build import compiler
from toolfold.catalog.profiles import MODES

HIDING = "".join(
    f"  some_{mode}: {{mode: {mode}, include: {{category: [core_stock_apis, forex]}}, "
    "exclude: {tool: [SYMBOL_SEARCH, TIME_SERIES_DAILY, TIME_SERIES_WEEKLY_ADJUSTED, FX_DAILY]}}\n"
    f"  related_{mode}: {{mode: {mode}, include: {{source: levels}}, exclude: {{tool: [levels__b, levels__c]}}}}\n"
    for mode in MODES
)
"""Profiles of each mode without some tools that the others name, in their texts and as their relations."""

LEVELS = "id: levels\nkind: http_api\nbase_url: https://harbour.test\ntools:\n" + "".join(
    f"  - {{name: {name}, summary: Water levels of place {name} at noon, path: /levels/{name},"
    f" relations: [{{to: {to}, kind: then}}, {{to: {other}, kind: alternative}}]}}\n"
    for name, to, other in ("abc", "bcd", "cda", "dab")
)

PROFILES = """
most_used: [GLOBAL_QUOTE, CLOSE_HARBOUR, TIME_SERIES_DAILY]
contexts:
  markets:
    include: {category: [core_stock_apis, forex]}
  harbours:
    include: {source: docks}
profiles:
  trading:
    title: Trading
    description: Prices for a desk of traders.
    mode: direct
    include: {category: [core_stock_apis, Forex], access: [free, mixed]}
    exclude: {tool: MARKET_STATUS}
    pinned: [SYMBOL_SEARCH]
  prices:
    context: markets
    pinned: [GLOBAL_QUOTE]
    kinds: {connector: progressive}
  ports: {context: harbours, mode: grouped}
  readers:
    mode: auto
    include: {category: congress}
  desk: {mode: research, include: {category: [core_stock_apis]}}
  busy:
    mode: auto
    exclude: {effect: [write, destructive]}
"""


@pytest.fixture(scope="package")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any, Any]:
    """Return a compiled catalog, and the two things that its profiles are compiled from."""
    found: list[tuple[Any, Any]] = []
    compile_section = compiler.compile_profiles

    def recorded(folder: Path, parts: Any, described: Any, problems: list[str]) -> dict[str, Any]:
        found.append((parts, described))
        return compile_section(folder, parts, described, problems)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiler, "compile_profiles", recorded)
        folder = tmp_path_factory.mktemp("profiles")
        (folder / "levels").mkdir()
        (folder / "levels" / "source.yaml").write_text(LEVELS)
        path = compile_profiles(folder, PROFILES + HIDING, "alpha_vantage", "docks")
    return path, *found[0]


@pytest.fixture(scope="package")
def catalog(compiled: tuple[Path, Any, Any]) -> Path:
    return compiled[0]


@pytest.fixture(scope="package")
def app(catalog: Path) -> App:
    """Return an App with that catalog. Its docks have a host that is never reached."""
    return app_of(catalog)


@pytest.fixture(scope="package")
def bundled() -> App:
    """Return an App with the catalog of the package."""
    return app_of()
