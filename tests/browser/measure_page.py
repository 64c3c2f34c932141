"""Measure the page of the explorer: ``make bench-page``.

Chromium opens what ``toolfold ui`` prints, without a cache, and types into the search of the catalog. The figures are
of this machine; the limits are those of the explorer.

    make bench-page                 print the table
    make bench-page ARGS=--write    put it into docs/reference/measurements.md
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path

from playwright.sync_api import Browser

from benchmarks.scale import generate
from scripts.measured_tables import markdown_table, parse_options, update_page
from tests.browser.checked_page import CheckedPage
from tests.browser.chromium import running_chromium
from tests.browser.explorer import Explorer, running_explorer
from tests.browser.page_timing import QUERIES, measure_load, measure_search
from toolfold.mock_api.server import MockApi

PAGE = Path("docs/reference/measurements.md")
COMMAND = "make bench-page ARGS=--write"
OPENINGS, SEARCHES = 7, 8
LARGE = 10_000


def main() -> int:
    """Measure, and print or write the tables."""
    options = parse_options(__doc__, "--write")
    return update_page(PAGE if options.write else None, COMMAND, measure())


def measure() -> str:
    """Return the tables."""
    with running_chromium() as browser, MockApi() as mock_api, tempfile.TemporaryDirectory() as folder:
        variables = {"TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": mock_api.url, "ALPHA_VANTAGE_API_KEY": "key-of-the-mock-api"}
        with running_explorer(Path(folder), **variables) as explorer:
            loads = [measure_load(_open(browser, explorer)) for _ in range(OPENINGS)]
            small = measure_search(_open(browser, explorer), QUERIES * (SEARCHES // len(QUERIES)))
    with running_chromium() as browser, tempfile.TemporaryDirectory() as folder:
        catalog = Path(folder) / "catalog.json"
        generate.write(LARGE, catalog)
        variables = {"TOOLFOLD_CATALOG": str(catalog), "TOOLFOLD_ALLOWED_HOSTS": "platform.example.org"}
        with running_explorer(Path(folder), **variables) as explorer:
            many = measure_search(_open(browser, explorer), [generate.request(number) for number in range(SEARCHES)])
            many_loads = [measure_load(_open(browser, explorer)) for _ in range(OPENINGS)]
    rows = [
        _row("first contentful paint, 129 tools", [load.first_paint_ms for load in loads], "500 ms"),
        _row("first contentful paint, 10,000 tools", [load.first_paint_ms for load in many_loads], "500 ms"),
        _row("last letter to painted results, 129 tools", small, "50 ms"),
        _row("last letter to painted results, 10,000 tools", many, "150 ms"),
    ]
    files = max(load.files for load in loads)
    weight = f"\nThe files of the page are {files / 1000:.1f} kB as they are sent, of at most 150 kB.\n"
    return markdown_table(["", "median", "slowest", "limit"], rows) + weight


def _open(browser: Browser, explorer: Explorer) -> CheckedPage:
    return CheckedPage(browser.new_context(viewport={"width": 1280, "height": 800}), explorer)


def _row(title: str, times: Sequence[float], limit: str) -> list[str]:
    return [title, f"{statistics.median(times):.0f} ms", f"{max(times):.0f} ms", limit]


if __name__ == "__main__":
    raise SystemExit(main())
