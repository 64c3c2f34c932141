"""Answers of ten shapes, of any size: those of real tools, and those that a table or a preview is worst at."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple


class Answer(NamedTuple):
    """The text of an upstream, and its kind: ``json`` or ``csv``."""

    kind: str
    body: str


def _filled(line: Callable[[int], str], size: int, separator: str) -> str:
    """Return lines of about ``size`` characters together."""
    lines, length, number = [], 0, 0
    while length < size:
        lines.append(line(number))
        length += len(lines[-1]) + len(separator)
        number += 1
    return separator.join(lines)


def _csv(header: str, line: Callable[[int], str]) -> Callable[[int], Answer]:
    return lambda size: Answer("csv", f"{header}\n{_filled(line, size, chr(10))}")


def _json(before: str, item: Callable[[int], str], after: str) -> Callable[[int], Answer]:
    return lambda size: Answer("json", before + _filled(item, size, ",") + after)


def _day(number: int) -> str:
    return f"{1000 + number // 336 % 9000}-{number // 28 % 12 + 1:02}-{number % 28 + 1:02}"


_MEMBERS = '"open":"{0}.25","high":"{0}.75","low":"{0}.00","volume":{0}'

SHAPES: Mapping[str, Callable[[int], Answer]] = {
    "flat CSV": _csv("timestamp,open,high,low,volume", lambda n: f"{_day(n)},{n}.2500,{n}.7500,{n}.0000,{n * 1000}"),
    "wide CSV": _csv(
        ",".join(f"c{n}" for n in range(500)), lambda n: ",".join(f"{n + column}.5000" for column in range(500))
    ),
    "ragged CSV": _csv("a,b", lambda n: "x" + ",y" * (n % 500)),
    "list of objects": _json("[", lambda n: f'{{"date":"{_day(n)}",{_MEMBERS.format(n)}}}', "]"),
    "disjoint objects": _json("[", lambda n: f'{{"key{n}":"word {n}","other{n}":{n}.5}}', "]"),
    "date map": _json('{"series":{', lambda n: f'"{_day(n)}":{{{_MEMBERS.format(n)}}}', "}}"),
    "nested objects": _json("[", lambda n: f'{{"a":{{"b":{{"c":{{"name":"word {n}","text":"{"x" * 80}"}}}}}}}}', "]"),
    "nested lists": _json("[", lambda n: f'[[{n},[{n}.5,["word {n}","{"x" * 80}"]]]]', "]"),
    "one long text": _json('{"text":"', lambda n: f"lorem ipsum {n}", '"}'),
    "many keys": _json("{", lambda n: f'"{n}. name":"{n}.5"', "}"),
}
