"""Strategies of whole calls: their arguments and selects, and bodies of an upstream that are hard to process.

Bodies are wide, deep, ragged, repeated, nearly numbers, nearly notices; any of them may be damaged.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from tests.fuzz.whole_call.inputs import ENCODINGS, WORDS, CallInput, corpus
from tests.support.example_responses import RESPONSE_IDS, example_response

Texts = st.SearchStrategy[str]


def words(kind: str) -> st.SearchStrategy[Any]:
    return st.sampled_from(WORDS[kind])


SIZES = st.sampled_from((0, 1, 1, 2, 2, 3, 3, 4, 5, 5, 8, 12, 20, 40) * 10 + (300, 300, 300, 3000))
"""Most faults need few items; what is quadratic needs many, and those inputs take a hundred times as long."""

ECHO = st.sampled_from(sorted(ENCODINGS)).map("<<{}>>".format)
VALUE = words("json_values") | st.builds('"{}{}"'.format, st.sampled_from(("", "x ", "key=")), ECHO)


def _many(text: Texts, join: str = ",") -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({"repeat": text, "times": SIZES, "join": st.just(join)})


def _within(before: str, text: Texts, after: str) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.tuples(st.just(before), _many(text), st.just(after))


def _csv(header: str, values: Sequence[str], columns: int, rows: int, end: str) -> tuple[Any, ...]:
    cells = [json.loads(value) if value.startswith('"') else value for value in values] * columns
    row = "2024-03-01," + ",".join(cells[: columns - 1] or ["1"])
    return f"{header}\n", {"repeat": row, "times": rows, "join": "\n"}, end


SHAPES: st.SearchStrategy[tuple[Any, ...]] = st.one_of(
    _within(
        '{"name":"x","data":[',
        st.builds('{{"date":"2024-03-01","{}":{},"value":{}}}'.format, words("member_names"), VALUE, VALUE),
        "]}",
    ),
    _within("[", VALUE, "]"),
    _within(
        '{"Meta Data":{"1. Information":"x"},"Time Series (Daily)":{',
        st.builds('"{}":{{"1. open":{}}}'.format, words("row_names"), VALUE),
        "}}",
    ),
    _within("{", st.builds('"{}":{}'.format, st.sampled_from(("{i}. a", "k{i}", "a", "a {i}", "A.{i}")), VALUE), "}"),
    _within('{"data":[', VALUE.map('{{"k{{i}}":{}}}'.format), "]}"),
    _within("{", VALUE.map('"s{{i}}":[{{"date":"2024-03-01","value":{}}}]'.format), "}"),
    st.builds(
        lambda times, pair, value: ({"repeat": pair[0], "times": times}, value, {"repeat": pair[1], "times": times}),
        st.sampled_from((2, 3, 5, 5, 8, 20, 60, 60, 99, 100, 400, 900, 5000)),
        st.sampled_from((("[", "]"), ('{"a":', "}"), ('[{"a":', "}]"), ('{"data":[', "]}"))),
        VALUE,
    ),
    st.builds(
        _csv,
        words("csv_headers"),
        st.lists(VALUE, min_size=1, max_size=5),
        st.sampled_from((1, 2, 2, 3, 5, 5, 6, 10, 30, 600)),
        SIZES,
        st.sampled_from(("\n", "", "\n2024-03-01", '\n"', "\r\n\r\n")),
    ),
    st.builds(
        lambda rows, commas: (
            "timestamp,value\n",
            {"repeat": "2024-03-01,{i}\n", "times": rows},
            {"repeat": ",", "times": commas},
            "\n",
        ),
        SIZES,
        SIZES,
    ),
    st.builds(
        lambda form, name, notice: (form.replace("NAME", name).replace("TEXT", json.dumps(notice)),),
        st.sampled_from(('{"NAME":TEXT}', '{"NAME":[TEXT]}', '{"data":[1],"NAME":TEXT}', '[{"NAME":{"text":TEXT}}]')),
        words("notice_names"),
        words("notices"),
    ),
    st.tuples(words("other_bodies")),
)

_INSERTED = words("tokens") | ECHO | st.sampled_from(("", "\udcfe\udcff"))


def _spliced(text: str, at: float, size: int, inserted: str) -> str:
    place = int(at * len(text))
    return text[:place] + inserted + text[place + size :]


def _damaged(body: tuple[Any, ...], part: int, at: float, size: int, inserted: str) -> tuple[Any, ...]:
    parts = list(body) or [""]
    index, changed = part % len(parts), parts[part % len(parts)]
    is_text = isinstance(changed, str)
    text = _spliced(changed if is_text else str(changed["repeat"]), at, size, inserted)
    parts[index] = text if is_text else {**changed, "repeat": text}
    return tuple(parts)


_PLACES = st.floats(0, 1)
_LENGTHS = st.sampled_from((0, 0, 1, 2, 8, 64))


def _bodies(samples: Sequence[str]) -> st.SearchStrategy[tuple[Any, ...]]:
    whole = SHAPES | (st.tuples(st.sampled_from(samples)) if samples else SHAPES)
    return whole | st.builds(_damaged, whole, st.integers(0, 3), _PLACES, _LENGTHS, _INSERTED)


_EXPRESSION = st.builds(
    str.format,
    st.sampled_from(("{0}", "{0}", "{1}({0})", "{0} / 2 AS half")),
    words("sql_columns"),
    words("sql_functions"),
)
_CONDITION = st.builds("{} {} {}".format, words("sql_columns"), words("sql_operators"), words("sql_values"))
_SELECTS = st.one_of(
    words("selects"),
    words("sql_statements"),
    st.builds(
        str.join, st.sampled_from(("; ", ", ", " ", " and ")), st.lists(words("sql_words"), min_size=1, max_size=4)
    ),
    st.builds(
        "SELECT {}{} FROM {}{}{}".format,
        st.sampled_from(("", "", "TOP 2 ", "DISTINCT ")),
        st.lists(_EXPRESSION, min_size=1, max_size=3).map(", ".join),
        words("sql_tables"),
        st.just("") | _CONDITION.map(" WHERE {}".format),
        words("sql_tails"),
    ),
)
_DAMAGED_SELECTS = st.builds(_spliced, _SELECTS.filter(lambda one: isinstance(one, str)), _PLACES, _LENGTHS, _INSERTED)
_OPTIONS = words("options") | st.builds(
    lambda options, select: {**options, "select": select}, words("options"), _SELECTS | _DAMAGED_SELECTS
)

_ODD: dict[str, st.SearchStrategy[Any]] = {
    "key": words("keys") | st.text('ABCDEFabcdef0123456789/+=%-_\\"', max_size=40),
    "carrier": st.sampled_from(("x-api-key", "query")),
    "transport": st.just("http"),
    "options": _OPTIONS,
    "times": st.sampled_from((2, 6)),
    "served_to": st.just("caller"),
    "status": st.just("200 OK") | words("statuses"),
    "headers": st.lists(words("headers"), max_size=2, unique=True).map(tuple),
    "framing": st.sampled_from(("chunked", "close", "gzip", "short", "long", "cut", "none")),
}
"""Field of an input → what it may be, where it is not the usual one."""


@st.composite
def calls(draw: st.DrawFn, examples: Mapping[str, dict[str, Any]], samples: Mapping[str, list[str]]) -> CallInput:
    """Draw a call of a tool, or one of the corpus, with odd fields; ``examples`` and ``samples`` are of the tools."""
    if draw(st.integers(0, 2)):
        tool = draw(
            st.sampled_from(["WTI", "GLOBAL_QUOTE", "SMA", "NEWS_SENTIMENT"]) | st.sampled_from(sorted(examples))
        )
        sent = CallInput(tool=tool, arguments=dict(examples[tool]), body=draw(_bodies(samples.get(tool, ()))))
        if draw(st.integers(0, 3)) == 0:
            names = st.sampled_from([*sent.arguments, "datatype", "x", "apikey", "é", ""])
            sent.arguments[draw(names)] = draw(words("odd_values") | st.sampled_from(("json", "csv")))
        elif draw(st.booleans()):
            sent.arguments["datatype"] = draw(st.sampled_from(("json", "csv")))
    else:
        sent = draw(st.sampled_from(list(corpus().values())))
        if draw(st.booleans()):
            sent = replace(sent, body=draw(_bodies(())))
    odd = draw(st.lists(st.sampled_from(sorted(_ODD)), max_size=4, unique=True))
    return replace(sent, **{name: draw(_ODD[name]) for name in odd})


_MAX_ITEMS = 4


def load_samples() -> dict[str, list[str]]:
    """Return tool → bodies."""
    samples: dict[str, list[str]] = {}
    for response in map(example_response, RESPONSE_IDS):
        samples.setdefault(response.tool.name, []).append(_shortened(response.body, response.kind))
    return samples


def _shortened(body: str, kind: str) -> str:
    if kind == "csv":
        return "\n".join(body.splitlines()[: _MAX_ITEMS + 1]) + "\n"
    return json.dumps(_cut(json.loads(body)))


def _cut(value: Any) -> Any:
    if isinstance(value, list):
        return [_cut(item) for item in value[:_MAX_ITEMS]]
    if isinstance(value, dict):
        items = list(value.items())
        if len(items) > 30 and isinstance(items[0][1], dict):
            items = items[:_MAX_ITEMS]
        return {key: _cut(item) for key, item in items}
    return value
