"""Each step of a ``select`` returns what it says, also of nested values."""

import json
from typing import Any

import pytest

from tests.support.cpu_time import cpu_within
from tests.support.rendering import render_result
from tests.unit.results.select.answers import ANSWERS
from tests.unit.results.select.outcomes import outcome, run, select_from, written
from toolfold.errors import InvalidArguments, InvalidSelect
from toolfold.results.output import OutputOptions
from toolfold.results.select.grammar import parse_select
from toolfold.results.tables import Document, Table

PRICES = """timestamp,open,close,adjusted close,volume
2024-03-05,10.0,12.5,12.4,300
2024-03-04,9.5,10.0,9.9,200
2024-02-29,9.0,.,9.4,100
2024-02-28,8.0,9.0,8.9,400
"""
OPTIONS = """contractID,expiration,strike,type,last,volume,delta
A,2024-03-15,100.00,call,5.5,10,0.5
B,2024-03-15,100.00,put,4.5,30,-0.5
C,2024-04-19,110.00,call,2.5,20,-
D,2024-04-19,90.00,put,1.5,5,-0.2
"""
STATEMENTS = json.dumps(
    {
        "symbol": "IBM",
        "annualReports": [
            {"fiscalDateEnding": "2023-12-31", "totalRevenue": "200", "netIncome": "20"},
            {"fiscalDateEnding": "2022-12-31", "totalRevenue": "100", "netIncome": "None"},
        ],
        "quarterlyReports": [{"fiscalDateEnding": "2023-09-30", "totalRevenue": "50", "reportTime": "post-market"}],
    }
)
NEWS = json.dumps(
    {
        "items": "2",
        "feed": [
            {"title": "One", "time_published": "20240305T101500", "score": 0.3, "topics": [{"topic": "Tech"}]},
            {"title": "Two", "time_published": "20240304T101500", "score": -0.1, "topics": [{"topic": "Retail"}]},
        ],
    }
)
RECORD = json.dumps({"Symbol": "IBM", "PERatio": "19.4", "EPS": "None"})
TIMES = "timestamp,close\n2024-03-05 10:15:00,2\n2024-03-05 10:10:00,1\n"
LIST = "name,weight\nA,1\nB,2\nC,3\n"
TITLES = "name,title,shares\nA,Chief Financial Officer,5\nB,Director,7\n"

_TWO = "timestamp,close: 2024-03-05,12.5 / 2024-03-04,10 / 2024-02-29, / 2024-02-28,9"


@pytest.mark.parametrize(
    ("body", "select", "expected"),
    [
        # columns
        *((PRICES, select, _TWO) for select in ("close", "Timestamp, CLOSE", '"timestamp", "close"', "date, close")),
        *((PRICES, f"last 1; {name}", "timestamp,adjusted_close: 2024-03-05,12.4") for name in (
            "adjusted_close", '"adjusted close"', "adjustedClose", "adjusted close")),
        (PRICES, "last 1; * except timestamp, volume", "open,close,adjusted_close: 10,12.5,12.4"),
        (PRICES, "last 1; close, timestamp", "close,timestamp: 12.5,2024-03-05"),
        (PRICES, "last 1; close - open as gain, volume", "timestamp,gain,volume: 2024-03-05,2.5,300"),
        (PRICES, "last 1; (close - open) / open", "timestamp,(close - open) / open: 2024-03-05,0.25"),
        (PRICES, "last 1; close as price; price * 2 as twice", "timestamp,twice: 2024-03-05,25"),
        # rows
        (PRICES, ["last 2", "close"], "timestamp,close: 2024-03-05,12.5 / 2024-03-04,10"),
        (PRICES, "oldest 1", "= 2024-02-28"), (PRICES, "close < 11; limit 1", "= 2024-03-04"),
        (LIST, "first 1", "= A"), (LIST, "[1:2]", "= B"),
        ("k,n\na,9007199254740993\nb,9007199254740995\nc,9007199254740992\n", "n = 9007199254740993", "= a"),
        (LIST, "order by weight desc; [0:2]", "= C B"), (LIST, "limit 5 offset 9", "= "),
        (OPTIONS, "first 1", "= A"), (OPTIONS, "last 1", "= D"),
        # periods
        (PRICES, "2024-02-29..2024-03-04", "= 2024-03-04 2024-02-29"), (PRICES, "..2024-02", "= 2024-02-29 2024-02-28"),
        (PRICES, "2024-02..", "= 2024-03-05 2024-03-04 2024-02-29 2024-02-28"), (PRICES, "2025", "= "),
        (PRICES, "after 2024-02", "= 2024-03-05 2024-03-04"), (PRICES, "before 2024-03", "= 2024-02-29 2024-02-28"),
        (PRICES, "timestamp = 2024-02-29", "= 2024-02-29"),
        (TIMES, "since 2024-03-05T10:12; close", "timestamp,close: 2024-03-05T10:15:00,2"),
        (TIMES, "2024-03-05T10:10..2024-03-05T10:12; close", "timestamp,close: 2024-03-05T10:10:00,1"),
        # parts of dates
        (ANSWERS["daily"], "weekday in (Monday, Friday)", "= 2026-01-12 2026-01-09 2025-12-15 2025-01-13"),
        (ANSWERS["daily"], "month between 7 and 9", "= 2025-09-30 2025-07-15"),
        (ANSWERS["daily"], "quarter = 4", "= 2025-12-31 2025-12-15 2024-12-31"),
        (ANSWERS["daily"], "day(date) = 31", "= 2025-12-31 2024-12-31"),
        # conditions
        *((OPTIONS, select, expected) for select, expected in (
            ("strike<100.0", "= D"), ("type != call", "= B D"), ("type = call; strike >= 110", "= C"),
            ("2024-04", "= C D"), ("expiration = 2024-03-15 and type = put", "= B"), ("strike > 1e2", "= C"),
            ("not (type = put or strike > 100)", "= A"), ("volume > 2 * avg(volume) - 10", "= B"),
            ("top 2 by strike", "= C A"), ("bottom 2 by strike", "= D A"), ("top 9 by delta", "= A D B C"),
        )),
        (TITLES, "title = Chief Financial Officer; name", "name: A"), (TITLES,
             "title = chief financial officer and shares < 9", "= A"),
        (NEWS, "topics contains tech; title", "time_published,title: 2024-03-05T10:15:00,One"),
        (NEWS, "score < 0; title", "time_published,title: 2024-03-04T10:15:00,Two"),
        # functions
        (PRICES, "min(open)", "timestamp,min(open): 2024-02-28,8"), (PRICES, "first(close)", "first(close): 9"),
        (PRICES, "count(close), count(*), sum(volume)", "count(close),count(*),sum(volume): 3,4,1000"),
        (PRICES, "last 2; avg(volume) as mean", "mean: 250"), (PRICES, "2030; max(close)", "timestamp,max(close): ,"),
        (PRICES, "2030; count", "count: 0"), (PRICES, "count(distinct open)", "count(distinct open): 4"),
        (PRICES, "total(volume)", "total(volume): 1000"), (PRICES, "last 2; count, total(volume)",
             "count,total(volume): 2,500"), (PRICES, "last 2; array_agg(volume)", "array_agg(volume): [300,200]"),
        (PRICES, "percentile(volume, 50), median(volume)", "percentile(volume, 50),median(volume): 250,250"),
        # groups
        (PRICES, "sum(volume) by month", "month,sum(volume): 2024-03,500 / 2024-02,500"),
        (PRICES, "group by month: max(close), count", "month,max(close),count: 2024-03,12.5,2 / 2024-02,9,2"),
        (OPTIONS, "sum(volume) by type, strike",
             "type,strike,sum(volume): call,100,10 / put,100,30 / call,110,20 / put,90,5"),
        (ANSWERS["daily"], "sum(volume) by year; sum(volume) > 5M", "year,sum(volume): 2026,6200000"),
        (ANSWERS["daily"], "sum(volume) as v by year; v < 1M", "year,v: 2024,100000"),
        (ANSWERS["daily"], "count by year; count >= 6", "year,count: 2026,6 / 2025,6"),
        (ANSWERS["daily"], "sum(volume) by month; top 1 by sum(volume)", "month,sum(volume): 2026-01,6200000"),
        (ANSWERS["daily"], "sum(volume) by year; year = 2025", "year,sum(volume): 2025,4800000"),
        (ANSWERS["daily"], "max(close) by quarter; 2025", "quarter,max(close): 2025-Q4,96 / 2025-Q3,86 / 2025-Q1,72"),
        (ANSWERS["daily"], "max(close) by week; limit 2", "week,max(close): 2026-W03,104 / 2026-W02,100"),
        (ANSWERS["daily"], "count by weekday; limit 2", "weekday,count: Tuesday,6 / Monday,3"),
        (ANSWERS["options"], "type; count by type", "type,count: call,3 / put,3"),
        (ANSWERS["options"], "strike >= 300; count by type", "type,count: call,2 / put,2"),
        # tables and fields
        (STATEMENTS, "from quarterlyReports; totalRevenue", "fiscalDateEnding,totalRevenue: 2023-09-30,50"),
        (STATEMENTS, "netIncome", "fiscalDateEnding,netIncome: 2023-12-31,20 / 2022-12-31,"),
        (STATEMENTS, "annual_reports: top 1 by totalRevenue; totalRevenue",
             "fiscalDateEnding,totalRevenue: 2023-12-31,200"),
        (STATEMENTS, "symbol", '{"symbol":"IBM"}'), (RECORD, "EPS, peratio", '{"EPS":null,"PERatio":19.4}'),
        # JMESPath
        (NEWS, "jmespath: feed[0].title", '"One"'), (PRICES, "jmespath: rows[0].close", "12.5"),
        (STATEMENTS, "jmespath: annualReports[*].totalRevenue", "[200,100]"),
        # other scripts
        *(("name,n\nÉcole,1\nZÜRICH,2\n", select, "name,n: École,1") for select in (
            "name = ÉCOLE", "name != zürich", "name contains COLE", "name starts with éc", "name like 'éco%'")),
    ],
)  # fmt: skip
def test_step_returns_what_it_says(body: str, select: Any, expected: str) -> None:
    assert written(run(select, body), expected) == expected


@pytest.mark.parametrize("select", [None, "", "  ", ";"])
def test_blank_select_returns_everything(select: Any) -> None:
    assert parse_select(select) is None


@pytest.mark.parametrize("raw", [STATEMENTS, PRICES])
def test_raw_json_accepts_only_jmespath(raw: str) -> None:
    options = OutputOptions(select=parse_select("totalRevenue"), raw_by="datatype")
    with pytest.raises(InvalidArguments) as caught:
        render_result(raw, "json" if raw[0] == "{" else "csv", {}, options)
    assert "Leave out datatype" in caught.value.suggestion


def test_selecting_every_row_returns_the_table() -> None:
    table = Table("", ("date", "n"), [("2024-01-02", 1), ("2024-01-02", 2), (None, 3), ("2024-01-01", None)])
    for select in ("last 4", "first 4", "last 99"):
        assert list(select_from(Document((table,)), select).tables[0].rows) == list(table.rows)


@pytest.mark.parametrize("name", ["description", "ascent", "by_day", "order_id", "lastly"])
def test_columns_whose_names_begin_as_words_of_the_language_are_found(name: str) -> None:
    document = Document((Table("", ("id", name), ((1, "a"), (2, "b"))),))
    assert select_from(document, f"order by {name} desc; limit 1; {name}").tables[0].rows == [("b",)]


# What cannot be followed


@pytest.mark.parametrize(
    ("select", "position", "words"),
    [
        ("close; vox", 7, "no column vox"),
        ("clsoe", 0, 'Write "close". Columns: timestamp, open, close, adjusted_close, volume.'),
        ("close; % 5", 7, "cannot be read"),
        ("mode(close)", None, "no function mode"), ("max()", None, "max"), ("close, sum(volume)", 0, "by"),
        ("from nothing", 0, "no table"),
        ("close > high", 0, "no column high"), ("avg(timestamp)", None, "not a number"),
        ("volume by", 0, "by"), ("close, last 3", None, '"close; last 3"'),
    ],
)  # fmt: skip
def test_error_has_the_reason_and_the_position(select: str, position: int | None, words: str) -> None:
    with pytest.raises(InvalidSelect) as caught:
        run(select, PRICES)
    assert words in f"{caught.value.message} {caught.value.suggestion}"
    assert position is None or caught.value.details["position"] == position


@pytest.mark.parametrize(
    "select", [7, {"a": 1}, ["a", 7], "x" * 4001, "(" * 100, "jmespath: feed[", "$", ";" * 90 + "a;" * 90]
)
def test_nonsense_is_refused(select: Any) -> None:
    with pytest.raises(InvalidArguments):
        run(select, NEWS)


@pytest.mark.parametrize("body", ["[]", '{"items": [], "total": 0}'])
@pytest.mark.parametrize("select", ["id", "id; last 5", "id > 3; top 5 by id", "sum(a) by b", "SELECT id FROM data"])
def test_an_answer_without_rows_has_none_of_any_column(body: str, select: str) -> None:
    found = run(select, body, {"rows": ["items"]})
    assert [(table.columns, table.rows) for table in found.tables] == [((), [])]
    assert found.notes[-1:] == ("There are no rows to select from.",)
    assert run("count(*)", body, {"rows": ["items"]}).tables[0].rows == [(0,)]


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
NESTED = {"id": 5, "user": {"login": "ann"}, "genres": ["a", "b"], "languages": ["en", "fr"]}


@pytest.mark.parametrize(
    ("answer", "select", "expected"),
    [
        (COMMITS, '"commit.author.name"', "commit.author.name: ann / bob / "),
        (COMMITS, "Commit.author.name as who; who = bob", "who: bob"),
        (COMMITS, "top 1 by commit.comments; sha", "sha: b"),
        (COMMITS, "count by commit.author.name", "commit.author.name,count: ann,1 / bob,1 / ,1"),
        (COMMITS, "commit.author.date > 2025-02-01; sha", "sha: a"),
        (COMMITS, "sha, commit.author.date; last 1", "sha,commit.author.date: a,2025-03-01T12:00:00Z"),
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
        (NESTED, "user.login", '{"user.login":"ann"}'),
        (WEATHER, "min(temp)", "time,min(temp): 2025-01-01T01:00,-3"),
        (WEATHER, "hourly: rain is null; temp", "time,temp: 2025-01-01T00:00,1.5"),
        (WEATHER, "latitude", '{"latitude":52.5}'),
        (WEATHER, "daily", "time,sunrise: 2025-01-01,2025-01-01T08:00"),
        (CANDLES, "max(c)", "max(c): 2.5"),
        (CANDLES, "s", '{"s":"ok"}'),
        (NESTED, "genres", '{"genres":["a","b"]}'),
        (PAGE, "max(value)", "max(value): 27.3"),
        (PAGE, "top 1 by value; date", "date: 2023"),
        (SPLIT, "last 1", "date,close: 2024-01-03,11.5"),
        (SPLIT, "sum(close)", "sum(close): 21"),
        (HEADED, "people > 1M; NAME, state", "NAME,state: Alabama,01"),
        (KLINES, "max(column_3)", "max(column_3): 36700.2"),
        (KLINES, "jmespath: [0][1]", "36000.1"),
        (SERIES, "prices: max(value)", "max(value): 2.5"),
        (SQUARE, "r", '{"r":[[1,0.5],[0.5,1]]}'),
        (QUOTES, "price > 300", "key,price,change: MSFT,410,-1%"),
        (QUOTES, "top 1 by price; change", "key,change: MSFT,-1%"),
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
    "select",
    [
        "labels.name in (urgent, x); sha",
        "labels.name != urgent; sha",
        "commit.comments < 9 and labels.name = urgent; sha",
        "scores between 2 and 3; sha",
        "commit.author = ann; sha",
        "top 1 by labels.name",
        "sum(distinct scores)",
        "sum(scores), count",
        "max(scores) * 2",
        "avg(scores) by sha",
        "count by labels.name",
        "distinct labels.name",
        "scores * 2 as x",
        "SELECT sha FROM data WHERE scores > 3",
    ],
)
def test_lists_are_not_compared(select: str) -> None:
    rows = [{**row, "scores": scores} for row, scores in zip(COMMITS, ([1, 10], [], [1.5, 2.5]), strict=True)]
    found = outcome(select, json.dumps(rows))
    assert found.document is None
    assert "are lists" in found.said
    assert "json_each(data." in found.said


@pytest.mark.parametrize(
    ("answer", "select", "said"),
    [
        (COMMITS, "commit.author.nme", "commit.author.date, commit.message, commit.comments, labels.name"),
        (COMMITS, "sha, labels.nme", "commit.author.date, commit.message, commit.comments, labels.name"),
        (COMMITS, "state = open", "commit.author.name"),
        ({"data": {"items": [{"id": 1}, {"id": 2}]}, "n": 2}, "data.items[0]", '"from data.items; limit 1"'),
        ({"MarketCapitalization": 5, "PERatio": 7}, "MarketCap", 'Write "MarketCapitalization".'),
        ({"MarketCapitalization": 5, "PERatio": 7}, "Mar", "Columns: MarketCapitalization, PERatio."),
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


def test_a_text_has_no_rows_to_select() -> None:
    with pytest.raises(InvalidSelect, match="a text, which has no rows") as caught:
        select_from(Document(metadata="1. row\na: 1", is_text=True), "last 1")
    assert caught.value.suggestion == "Leave select out."


def test_path_is_shown_where_it_is_named_alone() -> None:
    (table,) = run("commit.author.name = ann", json.dumps(COMMITS)).tables
    assert table.columns == ("sha", "commit", "labels")


def test_paths_of_a_wide_answer_are_bounded_by_the_text_alone() -> None:
    rows = [{f"c{index}": {"k": index} for index in range(1_000)}] * 20
    select = ", ".join(f"c{index}.k" for index in range(0, 1_000, 10))
    with cpu_within(3):
        (table,) = run(select, json.dumps(rows)).tables
        assert len(outcome("c5000.k", json.dumps(rows)).said) < 2_000
    assert (len(table.columns), table.rows[0][-1]) == (100, 990)
