"""Answers as APIs nest them: paths into objects and lists of rows, and lists that are columns side by side."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from tests.unit.results.select.outcomes import outcome, run, written

COMMITS: list[dict[str, Any]] = [
    {
        "sha": "a",
        "commit": {"author": {"name": "ann", "date": "2025-03-01T12:00:00Z"}, "message": "first", "comments": 3},
        "labels": [{"name": "bug"}, {"name": "urgent"}],
    },
    {
        "sha": "b",
        "commit": {"author": {"name": "bob", "date": "2025-01-01T12:00:00Z"}, "message": "second", "comments": 11},
        "labels": [],
    },
    {"sha": "c", "commit": {"author": None, "message": "third", "comments": 0}, "labels": [{"name": "bug"}]},
]
WEATHER = {
    "latitude": 52.5,
    "hourly_units": {"rain": "mm"},
    "hourly": {"time": ["2025-01-01T00:00", "2025-01-01T01:00"], "temp": [1.5, -3.0], "rain": [None, 0.2]},
    "daily": {"time": ["2025-01-01"], "sunrise": ["2025-01-01T08:00"]},
}
CANDLES = {"s": "ok", "t": [1735689600, 1735776000], "c": [1.5, 2.5]}
RECORD = {"id": 5, "user": {"login": "ann"}, "genres": ["a", "b"], "languages": ["en", "fr"]}


@pytest.mark.parametrize(
    ("answer", "select", "expected"),
    [
        (COMMITS, "commit.author.name", "commit.author.name: ann / bob / "),
        (COMMITS, '"commit.author.name"', "commit.author.name: ann / bob / "),
        (COMMITS, "Commit.author.name as who; who = bob", "who: bob"),
        (COMMITS, "commit.comments > 1", "= a b"),
        (COMMITS, "top 1 by commit.comments; sha", "sha: b"),
        (COMMITS, "count by commit.author.name", "commit.author.name,count: ann,1 / bob,1 / ,1"),
        (COMMITS, "commit.author.date > 2025-02-01; sha", "sha: a"),
        (COMMITS, "sha, commit.author.date; last 1", "sha,commit.author.date: a,2025-03-01T12:00:00Z"),
        (COMMITS, "labels.name contains urgent; sha", "sha: a"),
        (COMMITS, "labels.name; limit 1", "labels.name: ['bug', 'urgent']"),
        (COMMITS, "distinct commit.author.name; count", "count: 3"),
        (COMMITS, "SELECT commit.author.name AS who, count(*) AS n FROM data GROUP BY 1", "who,n: ,1 / ann,1 / bob,1"),
        (COMMITS, "SELECT d.commit.message FROM data d WHERE d.commit.comments > 5", "commit.message: second"),
        (COMMITS, "commit.comments > 1; SELECT sha FROM data WHERE commit.author.name = 'bob'", "sha: b"),
        (RECORD, "user.login", '{"user.login":"ann"}'),
        (WEATHER, "min(temp)", "time,min(temp): 2025-01-01T01:00,-3"),
        (WEATHER, "hourly: rain is null; temp", "time,temp: 2025-01-01T00:00,1.5"),
        (WEATHER, "latitude", '{"latitude":52.5}'),
        (WEATHER, "daily", "time,sunrise: 2025-01-01,2025-01-01T08:00"),
        (CANDLES, "max(c)", "max(c): 2.5"),
        (CANDLES, "s", '{"s":"ok"}'),
        (RECORD, "genres", '{"genres":["a","b"]}'),
        ({"holidays": ["2025-01-01", "2025-12-25"], "names": ["a", "b"]}, "names", '{"names":["a","b"]}'),
    ],
)  # fmt: skip
def test_nested_values_and_lists_of_columns_are_selected(answer: Any, select: str, expected: str) -> None:
    assert written(run(select, json.dumps(answer)), expected) == expected


@pytest.mark.parametrize(
    ("answer", "select", "said"),
    [
        (COMMITS, "commit.author.nme", "commit.author.date, commit.message, commit.comments, labels.name"),
        (COMMITS, "state = open", "commit.author.name"),
        (COMMITS, "SELECT commit.nothing FROM data", "commit"),
        (COMMITS, "count by commit.author.name; commit.message = first", "commit.message"),
        (COMMITS, "commit.comments, count", "count by commit.comments"),
        (WEATHER, "hourly.temp", "from hourly; temp"),
    ],
)  # fmt: skip
def test_error_names_the_paths_that_there_are(answer: Any, select: str, said: str) -> None:
    found = outcome(select, json.dumps(answer))
    assert found.error is not None
    assert said in found.said


def test_path_is_shown_where_it_is_named_alone() -> None:
    (table,) = run("commit.author.name = ann", json.dumps(COMMITS)).tables
    assert table.columns == ("sha", "commit", "labels")


def test_paths_of_a_wide_answer_are_bounded_by_the_text_alone() -> None:
    rows = [{f"c{index}": {"k": index} for index in range(3_000)}] * 20
    select = ", ".join(f"c{index}.k" for index in range(0, 3_000, 30))
    started = time.process_time()
    (table,) = run(select, json.dumps(rows)).tables
    assert (len(table.columns), table.rows[0][-1]) == (100, 2_970)
    assert len(outcome("c5000.k", json.dumps(rows)).said) < 2_000
    assert time.process_time() - started < 3
