"""Bounds of time that a loaded machine keeps too."""

import statistics
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.scale import generate
from tests.browser.checked_page import CheckedPage
from tests.browser.conftest import OpenPage
from tests.browser.explorer import Explorer, running_explorer
from tests.browser.page_timing import measure_load, measure_search

pytestmark = pytest.mark.browser

MAX_BYTES = 150_000
LOADED = 6
"""How much slower two busy cores may be than idle ones."""


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Explorer]:
    """Serve 10,000 tools."""
    folder: Path = tmp_path_factory.mktemp("large")
    generate.write(10_000, folder / "catalog.json")
    variables = {"TOOLFOLD_CATALOG": str(folder / "catalog.json"), "TOOLFOLD_ALLOWED_HOSTS": "platform.example.org"}
    with running_explorer(folder, **variables) as running:
        yield running


def test_page_paints_at_once_and_weighs_little(checked: CheckedPage) -> None:
    load = measure_load(checked)

    assert load.files < MAX_BYTES
    assert load.first_paint_ms < 500 * LOADED


def test_search_is_painted_as_a_person_types(checked: CheckedPage) -> None:
    assert statistics.median(measure_search(checked)) < 50 * LOADED


def test_search_of_10_000_tools_is_painted_as_a_person_types(open_page: OpenPage, large: Explorer) -> None:
    checked = open_page(large)
    queries = [generate.request(number) for number in (1, 2)]

    assert statistics.median(measure_search(checked, queries)) < 150 * LOADED
    assert checked.page.get_by_role("list", name="Tools").get_by_role("listitem").count() < 60
    assert not checked.has_horizontal_scroll()
    checked.page.get_by_role("searchbox").fill("")
    checked.page.get_by_text("10,000 tools").first.wait_for()
    checked.page.get_by_role("list", name="Tools").get_by_role("link").first.focus()
    checked.page.keyboard.press("End")
    checked.wait_until("document.activeElement.closest('[aria-posinset]')?.ariaPosInSet === '10000'")
