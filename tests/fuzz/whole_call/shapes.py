"""Bodies that are hard to process: wide, deep, ragged, repeated, nearly numbers, nearly notices."""

import json
from random import Random
from typing import Any

from tests.fuzz.whole_call.inputs import ENCODINGS, WORDS

_SIZES = (0, 1, 1, 2, 2, 3, 3, 4, 5, 5, 8, 12, 20, 40) * 10 + (300, 300, 300, 3000)
"""Most faults need few items; what is quadratic needs many, and those inputs take a hundred times as long."""

_VALUES = WORDS["json_values"]
_NOTICES = WORDS["notices"]


def make(random: Random) -> tuple[Any, ...]:
    """Return the parts of a body."""
    return random.choice(_KINDS)(random)


def _value(random: Random) -> str:
    if random.random() < 0.15:
        return '"' + random.choice(("", "x ", "key=")) + f'<<{random.choice(list(ENCODINGS))}>>"'
    return random.choice(_VALUES)


def _many(text: str, random: Random, join: str = ",") -> dict[str, Any]:
    return {"repeat": text, "times": random.choice(_SIZES), "join": join}


def _objects(random: Random) -> tuple[Any, ...]:
    name = random.choice(WORDS["member_names"])
    row = f'{{"date":"2024-03-01","{name}":{_value(random)},"value":{_value(random)}}}'
    return ('{"name":"x","data":[', _many(row, random), "]}")


def _list(random: Random) -> tuple[Any, ...]:
    return ("[", _many(_value(random), random), "]")


def _map(random: Random) -> tuple[Any, ...]:
    key = random.choice(("k{i}", "{i}. a", "2024-{i}", "a{i} b", "a {i}", "<<json-one>>{i}"))
    return (
        '{"Meta Data":{"1. Information":' + _value(random) + '},"Time Series (Daily)":{',
        _many(f'"{key}":{{"1. open":{_value(random)}}}', random),
        "}}",
    )


def _many_keys(random: Random) -> tuple[Any, ...]:
    return (
        "{",
        _many(random.choice(('"{i}. a":', '"k{i}":', '"a":', '"a {i}":', '"A.{i}":')) + _value(random), random),
        "}",
    )


def _disjoint(random: Random) -> tuple[Any, ...]:
    return ('{"data":[', _many(f'{{"k{{i}}":{_value(random)}}}', random), "]}")


def _series(random: Random) -> tuple[Any, ...]:
    return ("{", _many(f'"s{{i}}":[{{"date":"2024-03-01","value":{_value(random)}}}]', random), "}")


def _deep(random: Random) -> tuple[Any, ...]:
    times = random.choice((2, 3, 5, 5, 8, 20, 60, 60, 99, 100, 400, 900, 5000))
    before, after = random.choice((("[", "]"), ('{"a":', "}"), ('[{"a":', "}]"), ('{"data":[', "]}")))
    return ({"repeat": before, "times": times}, _value(random), {"repeat": after, "times": times})


def _csv(random: Random) -> tuple[Any, ...]:
    columns = random.choice((1, 2, 2, 3, 5, 5, 6, 10, 30, 600))
    header = random.choice(
        ("timestamp,value", "timestamp,open,high,low,close,volume", "symbol,name,exchange", "a,a,a", "date,value\r")
    )
    cells = [
        json.loads(value) if value.startswith('"') else value
        for value in (_value(random) for _ in range(min(columns, 6)))
    ]
    row = "2024-03-01," + ",".join((cells * columns)[: columns - 1] or ["1"])
    return (header + "\n", _many(row, random, "\n"), random.choice(("\n", "", "\n2024-03-01", '\n"', "\r\n\r\n")))


def _ragged(random: Random) -> tuple[Any, ...]:
    return (
        "timestamp,value\n",
        {"repeat": "2024-03-01,{i}\n", "times": random.choice(_SIZES)},
        {"repeat": ",", "times": random.choice(_SIZES)},
        "\n",
    )


def _notice(random: Random) -> tuple[Any, ...]:
    name = random.choice(("Information", "Note", "Error Message", "message", "information", "detail", "error"))
    text = json.dumps(random.choice(_NOTICES))
    value = random.choice((text, f"[{text}]", f'{{"text":{text}}}'))
    return (random.choice((f'{{"{name}":{value}}}', f'{{"data":[1],"{name}":{value}}}', f'[{{"{name}":{value}}}]')),)


def _other(random: Random) -> tuple[Any, ...]:
    return (random.choice(WORDS["other_bodies"]),)


_KINDS = (
    *(_objects, _objects, _objects, _list, _map, _map, _many_keys, _disjoint, _series, _deep),
    *(_csv, _csv, _csv, _ragged, _notice, _notice, _other),
)
