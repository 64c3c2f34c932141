"""The tables, in Markdown, of what a run has measured."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from scripts.measured_tables import markdown_table
from tests.benchmarks.cold.contenders import FLOOR
from tests.benchmarks.cold.events import HELD, LISTING, METHODS, SEARCH
from tests.benchmarks.cold.growth import FILE, S3
from tests.benchmarks.cold.packages import COMPILED, PLAIN
from tests.benchmarks.cold.services import described
from tests.benchmarks.cold.targets import Target, targets

COLD_NOTE = """\
From the start of the process, in one environment: until the runtime client asks for its first event (init), until
`tools/list` is answered, until the `TOOL_CALL` after it is. `TOOL_LIST(query)` is the first request of another
environment. Median, and in brackets the quartiles; the contenders take turns, one start at a time. Ratios are to the
empty handler's first answer.

The peers ([scripts/peers](../../scripts/peers)) have the same three tools, with the same definitions. They start without
anything of toolfold, as if the tools were empty, and import its core with the first call. Each is set up stateless and
with JSON answers, as its documentation says. The SDK's session manager runs once in its life, and Mangum starts it at
each invocation; its users make a new app for each ([python-sdk 3121]), and so does this one, over a server that is
made once. S3 and DynamoDB are moto's server, the upstream is the mock API without latency, each a process of its own; an
answer of moto's takes some milliseconds.

[python-sdk 3121]: https://github.com/modelcontextprotocol/python-sdk/issues/3121
"""

PLAIN_NOTE = """\
The same packages with every compiled file taken out. What AWS brings is compiled here too, as it is on Lambda; most of
awslabs.mcp-lambda-handler's start is boto3, which it imports and AWS brings.
"""

WARM_NOTE = """\
From handing out the event to having the answer, as the Runtime API sees it: median / 99th percentile. The contenders
take turns, fifty invocations at a time. The empty handler sends the same few bytes whatever it is asked: what it takes
is the way there and back. “Handler alone” calls the handler without the runtime client. A fresh call goes to the
mock API, a held one is answered with what the core still has. The queries are titles of tools.
"""

SIZE_NOTE = """\
Memory is the most that the process had in it (VmHWM). The package is what is added to what AWS brings, with compiled
files, for this machine's processor; a peer's is its libraries, its handler and the definitions, without toolfold's
core. awslabs.mcp-lambda-handler depends on boto3 alone, which AWS brings.
"""

GROWTH_NOTE = """\
toolfold's own package, in the runtime client. S3 is here a server that waits 20 ms before each answer. Search and get
are `TOOL_LIST(query)` and `TOOL_GET`, whole invocations, each kind in an environment of its own: the first one, then
the median of a hundred others, no two alike. What those need of a large catalog has often to be fetched first. Medians
of all starts, in ms; memory in MB, the most that either environment needed.
"""


def page(results: Mapping[str, Any]) -> str:
    """Everything between the marks."""
    parts = [
        "### Cold starts on Lambda, beside the peers\n",
        about(results),
        "![Cold start by contender](../images/cold-start.png)\n",
        cold(results, COMPILED, "Cold start, in ms"),
        COLD_NOTE,
        cold(results, PLAIN, "Cold start without `.pyc`, in ms"),
        PLAIN_NOTE,
        warm(results),
        WARM_NOTE,
        sizes(results),
        SIZE_NOTE,
        "![As the catalog grows](../images/growth.png)\n",
        growth(results),
        GROWTH_NOTE,
        wanted(targets(results)),
    ]
    return "\n".join(parts)


def about(results: Mapping[str, Any]) -> str:
    """What was run, on what."""
    titles = [one["title"] for one in results["contenders"] if one["kind"] == "peer"]
    starts = results["cold"][COMPILED][FLOOR]
    plain = results["cold"][PLAIN][FLOOR]
    invocations = results["warm"][FLOOR]["times"][LISTING]
    return (
        f"awslambdaric {results['awslambdaric']} on Python {results['python']}; toolfold {results['toolfold']}, "
        f"{', '.join(titles)}. {len(starts)} cold starts of each ({len(plain)} without `.pyc`), "
        f"{len(invocations):,} invocations of each method, about {results['tools']} tools in turn. "
        f"{described(results['machine'])}\n"
    )


def cold(results: Mapping[str, Any], variant: str, title: str) -> str:
    starts = results["cold"][variant]
    floor = _middle(starts[FLOOR], LISTING)
    rows = []
    for one in results["contenders"]:
        of_one = starts[one["name"]]
        rows.append(
            (
                one["title"],
                _spread(of_one, "init"),
                _spread(of_one, LISTING),
                f"{_middle(of_one, LISTING) / floor:.1f}",
                "–" if one["kind"] == "floor" else _spread(of_one, HELD),
                "–" if one["kind"] == "floor" else f"{_middle(of_one, HELD) / floor:.1f}",
                _spread(of_one, SEARCH) if SEARCH in of_one[0] else "–",
            )
        )
    head = ("", "init", "first `tools/list`", "ratio", "first `TOOL_CALL`", "ratio", "first `TOOL_LIST(query)`")
    return f"#### {title}\n\n" + markdown_table(head, rows)


def warm(results: Mapping[str, Any]) -> str:
    rows = [
        (one["title"], *(_percentiles(results["warm"][one["name"]]["times"][method]) for method in METHODS))
        for one in results["contenders"]
    ]
    alone = ("toolfold, catalog in the package: handler alone", *(_percentiles(results["handler"][m]) for m in METHODS))
    rows.insert(2, alone)
    head = ("", *(f"`{method}`" if "," not in method else f"`{method.replace(', ', '`, ')}" for method in METHODS))
    return "#### Warm, in ms\n\n" + markdown_table(head, rows)


def sizes(results: Mapping[str, Any]) -> str:
    rows = []
    for one in results["contenders"]:
        size = results["sizes"][one["package"]]
        after = _middle(results["cold"][COMPILED][one["name"]], "memory")
        rows.append(
            (
                one["title"],
                f"{after:.0f}",
                f"{results['warm'][one['name']]['memory']:.0f}",
                f"{size['files']:,}",
                f"{size['unzipped'] / 1e6:.2f}",
                f"{size['zipped'] / 1e6:.2f}",
            )
        )
    head = ("", "after the first `TOOL_CALL`", "after the warm rounds", "files", "unzipped", "zipped")
    return "#### Peak memory and size of the package, in MB\n\n" + markdown_table(head, rows)


def growth(results: Mapping[str, Any]) -> str:
    figures = ("listed", "first search", "search", "first get", "get", "memory")
    found = {(one["tools"], one["place"]): one["starts"] for one in results["growth"]}
    rows = [
        (f"{size:,}", place, *(_short(_middle(found[size, place], figure)) for figure in figures))
        for size in sorted({size for size, _ in found})
        for place in (FILE, S3)
    ]
    head = ("tools", "catalog in", "first `tools/list`", "first search", "search", "first get", "get", "peak memory")
    count = len(results["growth"][0]["starts"])
    return f"#### As the catalog grows, {count} starts of each\n\n" + markdown_table(head, rows)


def wanted(found: Sequence[Target]) -> str:
    rows = [
        (
            target.title,
            f"≤ {_short(target.limit)}{target.unit}",
            f"{_short(target.measured)}{target.unit}",
            "met" if target.is_met else "**missed**",
        )
        for target in found
    ]
    return "#### Targets\n\n" + markdown_table(("", "target", "measured", ""), rows)


def spread(values: Sequence[float]) -> str:
    """The median, and in brackets the quartiles."""
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return f"{middle:,.0f} ({low:,.0f}–{high:,.0f})"


def _middle(starts: Sequence[Mapping[str, float]], figure: str) -> float:
    return statistics.median(start[figure] for start in starts)


def _spread(starts: Sequence[Mapping[str, float]], figure: str) -> str:
    return spread([start[figure] for start in starts])


def _percentiles(times: Sequence[float]) -> str:
    return f"{_short(statistics.median(times))} / {_short(statistics.quantiles(times, n=100, method='inclusive')[98])}"


def _short(value: float) -> str:
    return f"{value:.3g}" if value < 100 else f"{value:,.0f}"
