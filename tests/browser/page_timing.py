"""Measure the page: bytes, first paint, and the time from a keystroke to the painted list."""

from collections.abc import Sequence
from typing import NamedTuple

from tests.browser.checked_page import CheckedPage

QUERIES = (
    "daily prices of a stock",
    "oil price by month",
    "earnings call transcript",
    "exchange rate of two currencies",
)
"""For the catalog of the package."""


class Load(NamedTuple):
    """What one opening of the page took.

    Attributes:
        first_paint_ms: from the request to the first contentful paint, as the browser measures it.
        transferred: bytes of the responses, headers included.
        files: bytes of the page's own files among them.
    """

    first_paint_ms: float
    transferred: int
    files: int


def measure_load(checked: CheckedPage) -> Load:
    """Open the page without a cache."""
    page = checked.page
    page.goto(checked.explorer.entry)
    page.locator("main h1").first.wait_for()
    checked.settle()
    paint, transferred, files = page.evaluate(_LOAD)
    return Load(paint, transferred, files)


_LOAD = """() => {
  const paint = performance.getEntriesByName("first-contentful-paint")[0].startTime;
  const entries = [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")];
  const sum = (chosen) => chosen.reduce((total, entry) => total + entry.transferSize, 0);
  return [paint, sum(entries), sum(entries.filter((entry) => !entry.name.includes("/ui/api/")))];
}"""


def measure_search(checked: CheckedPage, queries: Sequence[str] = QUERIES) -> list[float]:
    """Return, for each query typed by a person, the milliseconds from its last letter to the painted results.

    A list is painted when two frames have passed after it changed. The first search of a page is left out: it loads
    what explains the hits.
    """
    page = checked.open("catalog")
    checked.settle()
    times = []
    for number, query in enumerate([queries[-1], *queries]):
        field = page.get_by_role("searchbox")
        field.fill(query[:-1])
        page.wait_for_timeout(700)
        page.evaluate(_OBSERVE)
        field.focus()
        page.keyboard.press("End")
        page.keyboard.type(query[-1])
        checked.wait_until("window.paintedAt !== undefined")
        if number:
            times.append(float(page.evaluate("window.paintedAt - window.typedAt")))
    return times


# The line above the results names the query that they answer.
_OBSERVE = """() => {
  window.typedAt = window.paintedAt = undefined;
  const field = document.querySelector("input[type=search]");
  field.addEventListener("input", () => { window.typedAt = performance.now(); }, {once: true, capture: true});
  const observer = new MutationObserver(() => {
    if (window.typedAt === undefined) return;
    const shown = document.querySelector("[data-query]")?.dataset.query;
    if (shown !== field.value.trim()) return;
    observer.disconnect();
    requestAnimationFrame(() => requestAnimationFrame(() => { window.paintedAt = performance.now(); }));
  });
  const changes = {subtree: true, childList: true, characterData: true, attributes: true};
  observer.observe(document.querySelector("main"), changes);
}"""
