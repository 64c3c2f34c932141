"""Read the arguments of a tool: as its schema takes them, or, where it refuses them, as the one thing they can mean.

An argument that its schema accepts is never changed, except for tickers and dates in a form that the catalog says the
source does not write. What is read in a way that a caller may not expect is stated in a note; what can be read in two
ways is refused with both.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

from toolfold.catalog.json_schema import allowed_types, keyword
from toolfold.catalog.reader import damaged
from toolfold.dates import UNITS, Bound, Period, Reading, impossible_date, parse_date, parse_period, spellings
from toolfold.execution import argument_values
from toolfold.execution.argument_values import REQUESTED, Proposal
from toolfold.execution.validation import ArgumentValidator, SchemaError
from toolfold.execution.validation_problems import Problem, ResolvedArguments, describe_expected
from toolfold.fuzzy import normalize
from toolfold.messages import CALL, CALL_FIRST
from toolfold.text_safety import quoted
from toolfold.wording import CallText, Text

if TYPE_CHECKING:
    from toolfold.cache.response_cache import Memo
    from toolfold.catalog.entries import Tool
    from toolfold.catalog.model import Catalog

_MAX_ITEMS = 200
"""Items of a list that are read, which is not one of several calls."""

_MAX_READ = 200
"""Arguments of a call that are read where the schema refuses them: several times what any tool has."""

_MAX_WORD_CHARS = 64

_SIMPLE_TYPES = frozenset({str, int, float, bool, type(None)})
_MAX_SIMPLE, _MAX_SIMPLE_CHARS = 20, 500
"""Arguments, and characters of each, that :func:`simple_text` accepts: those of usual calls."""


class _Refused(Exception):
    """A value that has two meanings, or one that cannot be sent."""

    def __init__(self, name: str, problem: str, expected: str, next_step: Text | None = None) -> None:
        super().__init__(problem)
        self.problem, self.next_step = Problem(parameter=name, problem=problem, expected=expected), next_step


class ArgumentReader(ArgumentValidator):
    """Reads the arguments of one tool. Safe to use from many threads.

    ``forms`` says how callers may write arguments otherwise: ``arguments`` of the source. ``ticker_patterns`` has, for
    each parameter of tickers, what a value in the form of the source matches. ``has_rows``: whether its answer has rows
    to choose from.
    """

    def __init__(
        self, schema: Mapping[str, Any], call: Mapping[str, Any], forms: Mapping[str, Any], *, has_rows: bool = True
    ) -> None:
        super().__init__(schema, call)
        self._forms, self._has_rows = forms, has_rows
        rules = forms.get("tickers") or {}
        self.ticker_patterns = {
            name: argument_values.canonical_pattern(rules, self.separator(name))
            for name in rules.get("parameters", ())
            if name in self.properties
        }

    def resolve(self, arguments: Mapping[str, Any], memo: Memo | None = None) -> ResolvedArguments:
        """Check ``arguments`` as the caller sent them, and read what the schema refuses where it has one meaning."""
        text = None if memo is None else simple_text(arguments)
        if memo is not None and text is not None and (found := memo.get("arguments", (self,), text)) is not None:
            return ResolvedArguments(dict(found), [])
        checked, problems = self.validate(arguments)
        if not problems and not any(
            type(value := checked.get(name)) is str and pattern.fullmatch(value) is None
            for name, pattern in self.ticker_patterns.items()
        ):
            if memo is not None and text is not None and simple_text(checked) is not None:
                memo.put("arguments", (self,), text, dict(checked), 3 * len(text))
            return ResolvedArguments(checked, problems)
        if len(arguments) > _MAX_READ or (problems and self.unsafe(arguments)):
            return ResolvedArguments(checked, problems)
        return self._resolved(arguments)

    def rename(self, arguments: Mapping[str, Any]) -> argument_values.Renamed:
        """Return ``arguments`` under the names of the tool's parameters; their values are not changed."""
        named = ((name, value) for name, value in arguments.items() if normalize(name) in REQUESTED)
        periods = [name for name, value in named if self.period_hint({name: value})]
        return argument_values.rename(arguments, self.properties, self._forms, self._takes, periods)

    def reads(self, name: str, value: Any) -> bool:
        """Return whether there is a parameter ``name`` that takes ``value``, in any spelling of it."""
        return name in self.properties and self.accepts(name, self.read_value(name, value))

    def read_value(self, name: str, value: Any) -> Any:
        """Return ``value`` as the parameter ``name`` takes it, or ``value`` where it cannot be read."""
        try:
            return self._read(name, value)[0]
        except _Refused:
            return value

    def _resolved(self, arguments: Mapping[str, Any]) -> ResolvedArguments:
        renamed = self.rename(arguments)
        given, notes, own = dict(renamed.arguments), list(renamed.notes), list(renamed.problems)
        noted = dict[str, Any]()
        next_step: Text | None = None
        for name, value in list(given.items()):
            if name not in self.properties or value is None:
                continue
            try:
                given[name], is_noted = self._read(name, value)
            except _Refused as refused:
                own.append(refused.problem)
                next_step = next_step or refused.next_step
                continue
            noted |= {name: value} if is_noted else {}
        checked, problems = self.validate(given)
        read = ((name, value, checked.get(name, given[name])) for name, value in noted.items())
        notes += (f"{name} {_shown(value)} was read as {_shown(sent)}." for name, value, sent in read)
        refused_names = {problem["parameter"] for problem in own}
        problems = own + [problem for problem in problems if problem["parameter"] not in refused_names]
        return ResolvedArguments(checked, problems, tuple(notes), next_step)

    def _takes(self, name: str, value: Any) -> bool:
        is_day = name in self.ticker_patterns and "-" in str(value) and parse_date(value)
        if is_day or (isinstance(value, list) and len(value) > _MAX_ITEMS):
            return False
        try:
            return self.accepts(name, self._read(name, value)[0])
        except _Refused:
            return False

    def _read(self, name: str, value: Any) -> tuple[Any, bool]:
        """Return ``value`` as the parameter takes it, and whether a note states it; ``value`` where it cannot."""
        if isinstance(value, list) and len(value) > _MAX_ITEMS:
            return value, False
        rule, bound = self.properties[name], argument_values.bound_of(name)
        if not self.accepts(name, value):
            found = self._meant(name, rule, value, bound)
            return (value, False) if found is None else (found.value, found.is_noted)
        if name in self.ticker_patterns:
            separator = self.separator(name)
            if isinstance(value, list) and separator:
                value = separator.join(value)
            return self._tickers(name, value) if isinstance(value, str) else (value, False)
        return value, False

    def _meant(self, name: str, rule: Any, value: Any, bound: Bound) -> Proposal | None:
        """Return what ``value``, which ``rule`` does not take, means."""

        def fits(one: Any) -> bool:
            return self.accepts(name, one)

        types, options = allowed_types(self.schema, rule), keyword(self.schema, rule, "enum")
        is_text = "string" in types and options is None
        # A number may be meant as any text, such as an id, and is thus no date.
        if is_text and type(value) is int and not keyword(self.schema, rule, "format") and fits(str(value)):
            return None
        if types & {"integer", "number"} and options is None:
            # "50,200" and "50 200" are one number or two; "1,000" is one, as 000 is not a number.
            listed = re.split("[, ]+", value.strip()) if isinstance(value, str) else []
            one = next(argument_values.numbers(value), None)
            if one is not None and len(listed) > 1 and all(re.fullmatch(r"[1-9]\d*", str(item)) for item in listed):
                several = f"{one.value} or [{', '.join(listed)}]"
                raise _Refused(name, f"{quoted(value)} can be read in two ways", several)
        proposals = self._proposals(name, rule, value, bound, fits)
        if (found := next((one for one in proposals if fits(one.value)), None)) is not None or not is_text:
            return found

        def spelled(reading: Reading, end: Bound) -> str:
            return next((text for text, _ in spellings(reading, end) if fits(text)), "")

        readings, wrong = parse_date(value, _today()), impossible_date(value)
        nearest = parse_date(wrong.nearest) if wrong else []
        if wrong and nearest and (text := spelled(nearest[0], "")):
            raise _Refused(name, f"{quoted(value)} {wrong.problem}", text)
        # A date has two readings, or it lacks the day that is needed.
        bounds: tuple[Bound, ...] = (bound,) if len(readings) > 1 else ("start", "end")
        texts = [spelled(reading, end) for reading in readings for end in bounds]
        if len(texts) == 2 and all(texts):
            raise _Refused(name, f"{quoted(value)} can be read in two ways", " or ".join(texts))
        return None

    def _proposals(
        self, name: str, rule: Any, value: Any, bound: Bound, fits: Callable[[Any], bool]
    ) -> Iterator[Proposal]:
        types, options = allowed_types(self.schema, rule), keyword(self.schema, rule, "enum")
        yield from self._words(name, value)
        if isinstance(options, list):
            yield from argument_values.measured_options(value, options)
            return
        if types & {"integer", "number"}:
            yield from argument_values.numbers(value)
        if "string" in types:
            yield from self._texts(value, bound, fits)

    def _words(self, name: str, value: Any) -> Iterator[Proposal]:
        """Yield the value that the catalog says a word stands for: ``bitcoin`` for ``BTC``."""
        values = self._forms.get("values", {})
        words = values.get(name, {})
        words = values.get(words, {}) if isinstance(words, str) else words
        is_short = isinstance(value, str | int) and len(str(value)) <= _MAX_WORD_CHARS
        spelled = normalize(str(value)) if is_short and not isinstance(value, bool) else ""
        for known, others in words.items() if spelled and isinstance(words, Mapping) else ():
            if any(normalize(other) == spelled for other in ((known, *others) if known.isalpha() else others)):
                yield Proposal(known, True)

    def _texts(self, value: Any, bound: Bound, fits: Callable[[Any], bool]) -> Iterator[Proposal]:
        if isinstance(value, str):
            text, code = value.strip(), value.strip().upper()
            yield Proposal(text, False)
            # In a password, say, the case of each letter counts: there another spelling of the code fits as well.
            others = {code[:at] + code[at].lower() + code[at + 1 :] for at in range(min(len(code), _MAX_WORD_CHARS))}
            if fits(code) and not any(map(fits, others - {code})):
                yield Proposal(code, False)
        yield from argument_values.spans(value)
        readings = parse_date(value, _today())
        if len(readings) == 1:
            for text, says_less in spellings(readings[0], bound):
                yield Proposal(text, says_less or readings[0].is_relative)

    def _tickers(self, name: str, value: str) -> tuple[str, bool]:
        if self.ticker_patterns[name].fullmatch(value):
            return value, False
        rules = self._forms["tickers"]
        separator = self.separator(name)
        if not separator and (listed := argument_values.listed_values(value)):
            text = f"{quoted(value)} is a text of several values"
            raise _Refused(name, text, f"a list, as in {json.dumps(listed)}")
        read: list[Proposal] = []
        parts = (argument_values.listed_values(value) or value.split(separator)) if separator else [value]
        for part in map(str, parts):
            meant = next(self._words(name, part), None) or argument_values.parse_ticker(part, rules)
            if meant is None:
                company, finder = part.strip(), self._forms.get("found_by", {}).get(name)
                expected, step = describe_expected(self.properties[name], self.schema), None
                if finder:
                    given = {finder["parameter"]: company[:60]} if finder.get("parameter") else {}
                    call = CallText({"tool_name": finder["tool"], "arguments": given})
                    step = CALL_FIRST.filled(step=CALL.filled(call=call), name=name)
                raise _Refused(name, f"{quoted(company)} is a name, not a code", expected, step)
            read.append(meant)
        return separator.join(one.value for one in read), any(one.is_noted for one in read)

    def period_hint(self, wanted: Mapping[str, Any]) -> str:
        """Return the ``select`` that serves arguments; nothing where the answer is of a day that a parameter names."""
        hint = period_select(wanted, _today()) if self._has_rows else ""
        is_period = hint and any(REQUESTED[normalize(name)] not in ("first", "last") for name in wanted)
        names = [name for name in self.properties if is_period and not argument_values.bound_of(name)]
        takes_day = any(self.accepts(name, "2024-01-02") and not self.accepts(name, "x") for name in names)
        return "" if takes_day else hint


def simple_text(arguments: Mapping[str, Any]) -> str | None:
    """Return a text that only equal arguments in the same order have; None for many, long or nested ones.

    Values of different types differ: ``1``, ``1.0``, ``true`` and ``"1"``.
    """
    if len(arguments) > _MAX_SIMPLE:
        return None
    for value in arguments.values():
        if type(value) not in _SIMPLE_TYPES or (type(value) is str and len(value) > _MAX_SIMPLE_CHARS):
            return None
    return repr(arguments)


def reader_of(catalog: Catalog, tool: Tool) -> ArgumentReader:
    """Return the reader of ``tool``, whose schema is compiled once and kept with ``catalog``.

    Raises:
        CatalogUnavailable: the schema of the tool cannot be used.
    """

    def make() -> ArgumentReader:
        forms, own = catalog.source(tool.source).arguments if tool.source else {}, tool.call.get("arguments", {})
        merged = {key: {**forms.get(key, {}), **one} if isinstance(one, dict) else one for key, one in own.items()}
        forms = {**forms, **merged, "found_by": tool.hints.get("found_by", {})}
        try:
            has_rows = not tool.returns.startswith("fields: ")
            return ArgumentReader(tool.parameters, tool.call, forms, has_rows=has_rows)
        except SchemaError as error:
            raise damaged(f"the parameters of {tool.name}: {error}") from None

    return catalog.memoize(("validator", tool.name), make)


def _today() -> date:
    return datetime.now(UTC).date()


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)[:80]


def period_select(arguments: Mapping[str, Any], today: date) -> str:
    """Return the ``select`` that serves ``arguments``, or an empty text where one of them is something else.

    >>> period_select({"start_date": "2025-01-01", "limit": 5}, date(2026, 1, 1))
    'since 2025-01-01; limit 5'
    """
    kinds = {REQUESTED.get(normalize(name), ""): value for name, value in arguments.items()}
    if not kinds or "" in kinds or len(kinds) != len(arguments):
        return ""
    dates = {kind: parse_date(kinds[kind], today) for kind in ("start", "end", "day") if kind in kinds}
    if any(len(readings) != 1 for readings in dates.values()):
        return ""
    parts = []
    low, high = (dates[end][0] if end in dates else None for end in ("start", "end"))
    if low and high and low.low > high.high:
        return ""
    parts += [_written(Period(low, high))] if low or high else []
    parts += [_written(Period(dates["day"][0], dates["day"][0]))] if "day" in dates else []
    span = kinds.get("span", "")
    spans = ["..".join(map(str, span)) if isinstance(span, list) else span] if "span" in kinds else []
    if any(str(span).strip().lower() in UNITS for span in spans):
        return ""  # how often, not how long
    parts += [_written(parse_period(span, today)) if isinstance(span, str) else "" for span in spans]
    for kind, step in (("first", "limit"), ("last", "last")):  # the first rows of a series are the newest
        if kind in kinds:
            count = str(kinds[kind]).strip()
            parts.append(f"{step} {count}" if count.isdecimal() and len(count) < 7 else "")
    return "; ".join(parts) if all(parts) else ""


def _written(period: Period | None) -> str:
    """Return a period as ``select`` takes it; nothing of one that it has no words for."""
    if period is None or period.unit in ("second", "minute", "hour", "quarter", "halfyear"):
        return ""
    ends = [end.low for end in (period.low, period.high) if end is not None and end.has_time]
    if len(ends) == 2 and ends[0].date() == ends[1].date() and ends[0] < ends[1] and ends[0].hour:
        return "..".join(f"{end:%Y-%m-%dT%H:%M:%S}" for end in ends)  # a part of one day, which has rows of minutes
    low, high = period.low and period.low.low.date(), period.high and period.high.high.date()
    if period.unit:
        counted = f"last {period.count} {period.unit}s" if period.count != 1 else f"past {period.unit}"
        return counted if period.count else "ytd"
    return f"{low}..{high}" if low and high else f"since {low}" if low else f"until {high}"
