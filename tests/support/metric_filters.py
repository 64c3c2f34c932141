"""Metric filters of CloudWatch Logs: which log lines a pattern matches, and the metrics that a filter makes of them.

Patterns for JSON only. What is not implemented here is an error. Source:
https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/FilterAndPatternSyntax.html.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tests.support.cloudwatch import CloudWatch


def read_filtered(
    cloudwatch: CloudWatch, lines: Iterable[Mapping[str, Any]], filters: Iterable[Mapping[str, Any]], at_s: float
) -> None:
    """Add the metrics that ``filters`` (properties of ``AWS::Logs::MetricFilter``) make of log lines."""
    known = [(matcher(one["FilterPattern"]), one["MetricTransformations"]) for one in filters]
    for line in lines:
        for matches, transformations in known:
            for one in transformations if matches(line) else ():
                dimensions = {pair["Key"]: str(_field(line, pair["Value"])) for pair in one.get("Dimensions", ())}
                cloudwatch.put(one["MetricNamespace"], one["MetricName"], float(one["MetricValue"]), at_s, **dimensions)


_TOKEN = re.compile(r'\s*(\(|\)|&&|\|\||\{|\}|!=|>=|<=|=|>|<|"(?:[^"\\]|\\.)*"|NOT EXISTS|IS NULL|[$.\w*-]+)\s*')
_COMPARISONS: Mapping[str, Callable[[float, float], bool]] = {
    ">": operator.gt,
    "<": operator.lt,
    ">=": operator.ge,
    "<=": operator.le,
}


def matcher(pattern: str) -> Callable[[Mapping[str, Any]], bool]:
    """Return a function that matches log lines, as objects, with a pattern for JSON: ``{ $.a = "b" && … }``."""
    tokens = [found[1] for found in _TOKEN.finditer(pattern)]
    if _TOKEN.sub("", pattern):
        raise NotImplementedError(f"pattern {pattern}")
    parser = _PatternParser(tokens)
    parser.expect("{")
    parsed = parser.either()
    parser.expect("}")
    parser.expect("")
    return parsed


class _PatternParser:
    def __init__(self, tokens: Sequence[str]) -> None:
        self._tokens = iter(tokens)
        self._next = next(self._tokens, "")

    def take(self) -> str:
        token, self._next = self._next, next(self._tokens, "")
        return token

    def expect(self, token: str) -> None:
        if (found := self.take()) != token:
            raise NotImplementedError(f"{found or 'the end'} in a pattern, for {token}")

    def either(self) -> Callable[[Mapping[str, Any]], bool]:
        parts = [self.both()]
        while self._next == "||":
            self.take()
            parts.append(self.both())
        return lambda entry: any(part(entry) for part in parts)

    def both(self) -> Callable[[Mapping[str, Any]], bool]:
        parts = [self.term()]
        while self._next == "&&":
            self.take()
            parts.append(self.term())
        return lambda entry: all(part(entry) for part in parts)

    def term(self) -> Callable[[Mapping[str, Any]], bool]:
        if self._next == "(":
            self.take()
            inner = self.either()
            self.expect(")")
            return inner
        selector, comparison = self.take(), self.take()
        if comparison in ("NOT EXISTS", "IS NULL"):
            return lambda entry: (_field(entry, selector) is None) == (comparison in ("NOT EXISTS", "IS NULL"))
        wanted = self.take()
        if comparison in _COMPARISONS:
            compare, bound = _COMPARISONS[comparison], float(wanted)
            return lambda entry: isinstance(value := _field(entry, selector), int | float) and compare(value, bound)
        if comparison not in ("=", "!="):
            raise NotImplementedError(f"{comparison} in a pattern")
        text = re.compile(re.escape(wanted.strip('"')).replace(r"\*", ".*"), re.DOTALL)
        # "!=" matches a line only if it has the field.
        return lambda entry: (
            (value := _field(entry, selector)) is not None
            and ((text.fullmatch(str(value)) is not None) == (comparison == "="))
        )


def _field(entry: Mapping[str, Any], selector: str) -> Any:
    """Return what ``$.a.b`` selects, or None."""
    if not selector.startswith("$."):
        raise NotImplementedError(f"selector {selector}")
    value: Any = entry
    for name in selector.removeprefix("$.").split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value
