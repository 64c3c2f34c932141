"""Answers as APIs nest them: paths into objects and lists of rows, columns side by side, and rows that are lists."""

import json
from typing import Any

import pytest

from tests.support.cpu_time import cpu_within
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
PAGE = [{"page": 1, "total": 50}, [{"date": "2023", "value": 27.3}, {"date": "2022", "value": 26}]]
SPLIT = {"index": [0, 1], "columns": ["date", "close"], "data": [["2024-01-03", "11.5"], ["2024-01-02", "9.5"]]}
HEADED = [["NAME", "people", "state"], ["Alabama", "5024279", "01"], ["Alaska", "733391", "02"]]
DESCRIBED = {"headers": [{"name": "ga:date"}, {"name": "ga:users"}], "rows": [["20240101", "5"], ["20240102", "7"]]}
KLINES = [[1700000000000, "36000.1", "36500.2"], [1700003600000, "36400.5", "36700.2"]]
SERIES = {"prices": [[1700000000000, 1.5], [1700003600000, 2.5]], "volumes": [[1700000000000, 7], [1700003600000, 9]]}
SQUARE = {"symbols": ["A", "B"], "r": [[1, 0.5], [0.5, 1]], "labels": ["x", "y"], "places": [[1.5, 2], [3, 4]]}
QUOTES = {"AAPL": {"price": "260.5", "change": "0.5%"}, "MSFT": {"price": "410", "change": "-1%"}}
KEYED = {"data": {"a1": {"key": 3, "time": "2024-01-02"}, "a2": {"key": 4, "time": "2024-01-03"}}, "page": 1}
UNLIKE = {"a": {"x": 1}, "b": {"x": 2, "y": 3}, "c": {"x": {"z": 1}}}
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
        (COMMITS, "labels.name contains urg; sha", "sha: a"),
        (COMMITS, "labels.name; limit 1", "labels.name: ['bug', 'urgent']"),
        (COMMITS, "labels.name is null; sha", "sha: b"),
        ([{"sha": "a", "labels": []}, {"sha": "b", "labels": []}], "labels.name", "labels.name: [] / []"),
        (COMMITS, "labels is not null; sha", "sha: a / c"),
        (COMMITS, "length(labels) < 2; sha", "sha: b / c"),
        (COMMITS, "SELECT sha FROM data WHERE length(labels) = 2", "sha: a"),
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
        (PAGE, "max(value)", "max(value): 27.3"),
        (PAGE, "top 1 by value; date", "date: 2023"),
        (SPLIT, "last 1", "date,close: 2024-01-03,11.5"),
        (SPLIT, "sum(close)", "sum(close): 21"),
        (HEADED, "people > 1M; NAME, state", "NAME,state: Alabama,01"),
        (DESCRIBED, "rows: last 1", "ga:date,ga:users: 20240102,7"),
        (KLINES, "max(column_3)", "max(column_3): 36700.2"),
        (KLINES, "jmespath: [0][1]", "36000.1"),
        (SERIES, "prices: max(value)", "max(value): 2.5"),
        (SQUARE, "r", '{"r":[[1,0.5],[0.5,1]]}'),
        (QUOTES, "price > 300", "key,price,change_percent: MSFT,410,-1"),
        (QUOTES, "top 1 by price; change", "key,change_percent: MSFT,-1"),
        (QUOTES, "jmespath: AAPL.price", "260.5"),
        (KEYED, "last 1", "key_2,key,time: a2,4,2024-01-03"),
        (KEYED, "page", '{"page":1}'),
        (UNLIKE, "a", '{"a":{"x":1}}'),
        ({"holidays": ["2025-01-01", "2025-12-25"], "names": ["a", "b"]}, "names", '{"names":["a","b"]}'),
    ],
)  # fmt: skip
def test_nested_values_and_lists_of_columns_are_selected(answer: Any, select: str, expected: str) -> None:
    assert written(run(select, json.dumps(answer)), expected) == expected


@pytest.mark.parametrize(
    ("select", "expected"),
    [
        ("labels.name = BUG; sha", "sha: a / c"),
        ("labels.name = ur; sha", "sha: "),
        ("labels.name in (urgent, x); sha", "sha: a"),
        ("labels.name != urgent; sha", "sha: b / c"),
        ("commit.comments < 9 and labels.name = urgent; sha", "sha: a"),
        ("commit.comments > 9 or labels.name = urgent; sha", "sha: a / b"),
        ("scores > 3; sha", "sha: a"),
        ("commit.comments < 9; scores between 2 and 3; sha", "sha: c"),
        ("commit.author = ann; sha", "sha: a"),
        ("top 1 by labels.name", ""),
        ("max(scores)", ""),
        ("avg(scores) by sha", ""),
        ("scores * 2 as x", ""),
        ("scores > 3 and labels.name = bug", ""),
        ("SELECT sha FROM data WHERE scores > 3", ""),
    ],
)
def test_lists_are_compared_by_the_values_in_them(select: str, expected: str) -> None:
    rows = [{**row, "scores": scores} for row, scores in zip(COMMITS, ([1, 10], [], [1.5, 2.5]), strict=True)]
    found = outcome(select, json.dumps(rows))
    assert found.error is not None
    assert "lists or objects" in found.said
    assert (found.document is None) == (not expected)
    assert not expected or written(found.document, expected) == expected


@pytest.mark.parametrize(
    ("answer", "select", "said"),
    [
        (COMMITS, "commit.author.nme", "commit.author.date, commit.message, commit.comments, labels.name"),
        (COMMITS, "sha, labels.nme", "commit.author.date, commit.message, commit.comments, labels.name"),
        (COMMITS, "state = open", "commit.author.name"),
        (COMMITS, "SELECT commit.nothing FROM data", "commit"),
        (COMMITS, "count by commit.author.name; commit.message = first", "commit.message"),
        (COMMITS, "commit.comments, count", "count by commit.comments"),
        (WEATHER, "hourly.temp", "from hourly; temp"),
        (QUOTES, "AAPL.price", "key = AAPL; price"),
        (QUOTES, "AAPL.price, MSFT.price", "no column AAPL.price"),
        (QUOTES, "SELECT AAPL.price FROM data", "no column AAPL.price"),
        (SERIES, "max(value)", '"from prices; max(value)" or "from volumes; max(value)"'),
        ([{"a": {f"k{index}": index for index in range(41)}, "b": 1}] * 2, "x", "Columns: a, b."),
        (SQUARE, "count", "this answer is one object"),
        (SQUARE, "last 1", "this answer is one object"),
    ],
)  # fmt: skip
def test_error_names_the_paths_that_there_are(answer: Any, select: str, said: str) -> None:
    found = outcome(select, json.dumps(answer))
    assert found.error is not None
    assert said in found.said


def test_path_is_shown_where_it_is_named_alone() -> None:
    (table,) = run("commit.author.name = ann", json.dumps(COMMITS)).tables
    assert table.columns == ("sha", "commit", "labels")


def test_count_of_a_page_names_the_total_beside_its_rows() -> None:
    assert "2 of 50" in run("count", json.dumps(PAGE)).notes[0]


def test_paths_of_a_wide_answer_are_bounded_by_the_text_alone() -> None:
    rows = [{f"c{index}": {"k": index} for index in range(1_000)}] * 20
    select = ", ".join(f"c{index}.k" for index in range(0, 1_000, 10))
    with cpu_within(3):
        (table,) = run(select, json.dumps(rows)).tables
        assert len(outcome("c5000.k", json.dumps(rows)).said) < 2_000
    assert (len(table.columns), table.rows[0][-1]) == (100, 990)
