"""Guess the steps that a ``select`` outside the grammar means, for the form that its error proposes.

Nothing here is part of the language: a guess is written as steps, and the engine tries them on the answer before an
error shows them. A row of a table is a pattern and what replaces it: the rules of words apply to a whole guess, those
of steps to each of its steps.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterator
from contextlib import suppress

from toolfold.dates import moved, parse_date
from toolfold.fuzzy import normalize
from toolfold.results.select.expressions import split_items, split_outside
from toolfold.results.select.functions import AGGREGATES
from toolfold.results.select.names import find_table, known_names, table_name, words_of, written_name
from toolfold.results.tables import DATE_NAMES, Document, Table
from toolfold.results.types import Kind

_MAX_CHARS = 500
"""Length of a guess: a longer one is SQL, or has no one meaning."""

_MAX_ROUNDS = 3
_MAX_WORDS = 40
_COMPARED_ROWS = 300

SIGNS = {
    "eq": "=", "equal": "=", "equals": "=", "ne": "!=", "neq": "!=",
    "gt": ">", "gte": ">=", "ge": ">=", "lt": "<", "lte": "<=", "le": "<=",
}  # fmt: skip
"""Words for comparisons."""

_NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_UNITS = r"(?:day|week|month|quarter|year)s?"
_SUMMARY = r"(max|min|sum|avg|mean|average|median|std|stddev|count)"
_SIDE = r"(?:\w+\([^()]*\)|[\w.$'-]+|\"[^\"]+\")"
"""What a value is compared with."""

_WORDS = (
    (r"&&?", " and "),
    (r"\|\|", " or "),
    (r"groupby", "group by"),
    *((f" {word}", sign) for word, sign in (("thousand", "K"), ("million", "M"), ("billion", "B"))),
    (r"\b(?:please|just|for the|of the|the|their|its|(?:give|show|tell|get) me|i (?:want|need))\b", " "),
    (r"(?<![\w\])'\"])\.(?=[a-z_])", ""),
    (r"\s\|\s", "; "),
    (r"!\s*\(", "not ("),
    (r"\b(order|sort)_?by\b", r"\1 by"),
    *((rf"\b{end}(?:_?date)?[ :=]+(?=\d{{4}})", f"{word} ") for end, word in (("start", "since"), ("end", "until"))),
    (rf"(?<![\w.$'-])({_SIDE} ?[<>≥≤]=?) ?({_SIDE}(?: ?[-+*/] ?{_SIDE})*) ?([<>≥≤]=? ?{_SIDE})", r"(\1 \2 and \2 \3)"),
    (r"\b(?:is )?(?:at least|no less than)\b", ">="),
    (r"\b(?:is )?(?:at most|no more than)\b", "<="),
    (r"(?<!\) )\b(?:is )?(?:(?:greater|more|larger|higher) than\b|(?:above|over)(?= *[\d$]))", ">"),
    (r"\b(?:is )?(?:(?:less|lower|smaller|fewer) than\b|(?:below|under)(?= *[\d$]))", "<"),
    *((rf"(?<=[\w)]) {word} (?=[\w'\"-])", f" {sign} ") for word, sign in SIGNS.items()),
    (r"(?<=\w)(?<!contains)(?:[. ]is ?|[. ])(not ?)?(?:na|null|missing)\b(?:\(\))?", r" is \1null"),
    (r"\b(max|min)imum\(", r"\1("),
    (r"\b(asc|desc)ending\b", r"\1"),
    (r"\b(?:per|(?:for|of|in) each|each) (year|quarter|month|week|weekday|day)\b", r"by \1"),
    (rf"\bgroup by (\w+) ?[;, ] ?(\w+\(.*?\)|{_SUMMARY} [\w ]+)", r"\2 by \1"),
    (r"\bfrom (\w+)(?: select |: ?)", r"from \1; "),
    (r"(?<!\band )\b(?:date|timestamp|time|day) (after|before|since|until|between|on)\b", r"\1"),
    (r"\bdate in (?=\d)", ""),
    (r"\b(?:count|how many|number)(?: of)?(?: days| rows| records)?(?: where| with| if| have) ([^;]+)", r"\1; count"),
    (r"\b(?:days|rows|records) (?:where|with|when) ", ""),
    (r"\b(\w+ ?\(.*?\)) (asc|desc) by (\w+)", r"\1 by \3; order by \1 \2"),
    (rf"\b(top|bottom) (\d+) (?:{_UNITS}|rows|values|items|stocks) by\b", r"\1 \2 by"),
    (r"\b(?:skip|offset) (\d+)[;,]? *limit (\d+)|\blimit (\d+)[;,]? *skip (\d+)", r"limit \2\3 offset \1\4"),
    (r"(?<![\w.])\d+[a-z]?\. (?=[A-Za-z])", ""),
    (r"(?<![\w.,])([1-9]\d{0,2}),(\d{3})(?:,(\d{3}))?(?![\d,])", r"\1\2\3"),
    (r"(?:df|data)?\[ ?['\"](\w+)['\"] ?\]", r"\1"),
    (rf"\b(?:(?:df|data)\.)?(\w+)\.{_SUMMARY}\(\)", r"\2(\1)"),
    (r"([)\]])\.head\( ?(\d+) ?\)", r"\1; limit \2"),
    (r"\b(?:top|bottom)( \d+ by [\w.]+) asc\b|\bbottom( \d+ by [\w.]+) desc\b", r"bottom\1\2"),
    (r"\b(top \d+ by [\w.]+) desc\b", r"\1"),
    *((rf"\b(last|first|newest|oldest|top|bottom|limit) {word}\b", rf"\1 {number}")
      for number, word in enumerate(_NUMBERS, 1)),
)  # fmt: skip
"""Words and signs anywhere in a guess → those of the language."""

_STEPS = (
    (r"last -(\d+)", r"last \1"),
    (rf"{_SUMMARY} (?:of )?(?!(?:by|rows)\b)([\w ]+?)( by [\w ]+)?", r"\1(\2)\3"),
    (r"(\w+) ?= ?([A-Za-z_]\w* ?(?:[-+*/] ?\w|\().*)", r"\2 as \1"),
    (r"(last|first) (\w+) by (year|quarter|month|week|day)", r"\1(\2) by \3"),
    (r"total (?:of )?([\w ]+) by (.+)", r"sum(\1) by \2"),
    *((rf"last (\d+) ?(?:{short})", rf"last \1 {unit}s") for short, unit in (
        ("d", "day"), ("w|wks?", "week"), ("m|mos?", "month"), ("q|qtrs?", "quarter"), ("y|yrs?", "year"))),
    (rf"(\d+) (?:most recent|latest|newest|last)( {_UNITS})?(?: rows)?", r"last \1\2"),
    (rf"(?:newest|latest|most recent|recent) (\d+)( {_UNITS})?", r"last \1\2"),
    (r"(?:\w+\.)?tail ?\(? ?(\d+) ?\)?", r"last \1"),
    (r"(?:rows|count|number) ?[=:] ?(\d+)|top (\d+)", r"limit \1\2"),
    *(
        pair
        for word, end, others in (("top", "last", "highest|n?largest"), ("bottom", "first", "lowest|n?smallest"))
        for pair in (
            (rf"(?:\w+\.)?(?:{others})\( ?(\d+) ?, ?['\"]?(\w+)['\"]? ?\)", rf"{word} \1 by \2"),
            (rf"(?:\w+\.)?(?:{others})\( ?['\"]?(\w+)['\"]? ?, ?(\d+) ?\)", rf"{word} \2 by \1"),
            (rf"(\w+)\.(?:{others})\( ?(\d+) ?\)", rf"{word} \2 by \1"),
            (rf"(\d+) (?:{others}) (.+)|(?:{others}|{end}) (\d+) by (?!{_UNITS}$)(.+)", rf"{word} \1\3 by \2\4"),
        )
    ),
    (r"(?:(?:sort|order)(?:ed)?(?: by)? ?=? ?)?-(\w+)|desc (\w+)", r"order by \1\2 desc"),
    (r"(?:latest|newest|last|most recent|current) (\D.*)", r"last 1; \1"),
    (r"(?:oldest|first|earliest) (\D.*)", r"first 1; \1"),
    (r"(week|month|quarter|year)ly (.+)", r"\2 by \1"),
    (r"(?:df|data)\[\[(.+)\]\]", r"\1"),
    (r"'(\w+)', ?'(\w+)'", r"\1, \2"),
    (r"(?:sma|ma|moving[ _]average|rolling[ _](?:mean|avg|average))\( ?(\w+) ?, ?(\d+) ?\)", r"avg(\1) over \2"),
    (r"(?:(\w*)\.)?rolling\( ?(\d+) ?\)\.mean\(\)", r"avg(\1) over \2"),
    (r"(?:unique|distinct)\( ?(.+?) ?\)", r"distinct \1"),
    (r"group by ([^:()]+)", r"count by \1"),
    (r"(.+?) ?(?:[;,] ?-|\bwithout\b ?-?)(\w+)(?<=date|time)|(.+?) without (\w+)", r"\1\3; * except \2\4"),
    (r"columns? only ?: ?(.+)|only (.+)", r"\1\2; * except date"),
    (r"(\w+) is (?!null\b|not\b)(.+)", r"\1 = \2"),
)  # fmt: skip
"""A step as it is guessed → steps."""

_STEP_RULES = tuple((re.compile(pattern, re.I | re.S), template) for pattern, template in _STEPS)
_WORD_RULES = tuple((re.compile(pattern, re.I), template) for pattern, template in _WORDS)

_CLAUSE = re.compile(
    r"(?:,\s*|\s+)(?=(?:last|first|newest|latest|oldest|top|bottom|head|tail|limit|skip|offset) \d"
    r"|(?:order|sort)(?:ed)? by\b|(?:since|until|before|after) \S*\d{4}|(?:in|on|during) \d{4}|ytd\b)",
    re.I,
)
"""What a step of its own begins with."""

SUMMARY_STEP = re.compile(rf"(?:{_SUMMARY}|{'|'.join(sorted(AGGREGATES))})\((?!.*(?: (?:by|over) |[<>=]))|count$", re.I)
"""Functions of all rows, after which there is one row."""

_RANKS = {"from": 0, "condition": 1, "period": 1, "items": 3, "group": 3}
"""Kind of a step → its place among others, where that of any other is 2: columns come last."""

_ROW_STEPS = frozenset(("period", "order", "first", "last", "top", "bottom", "slice"))
_COLUMN_AND_VALUE = re.compile(
    r"([\w ]+?)(?: ?: ?| )(\$?-?[\d.,]+%?"
    r"|['\"]?(?!(?:at|on|in|of|from|since|between|over|contains|starts|ends|like)\b)[A-Za-z][\w .-]*['\"]?)"
)
_BEFORE_ROWS = re.compile(r"\s+(?:at|on|in|for|of|from|over|during|within|and|,)$", re.I)
_CONDITION = re.compile(r"[<>=]|\b(?:is|in|like|between|contains|starts with|ends with|not)\b", re.I)
_RANGE = re.compile(r"(.+?) ?(?:\.\.|:| - |–|\bto\b) ?(.+)", re.I)
_PLACE = r"\*|-?\d*(?::-?\d*)?"
_PATH = re.compile(
    rf"(?:\$\.?)?(?P<head>[A-Za-z_][\w ]*)?(?:\[(?P<place>{_PLACE})\])?"
    rf"(?:\.(?P<tail>[\w. ]+))?(?:\[(?P<end>{_PLACE})\])?"
)

BOUNDS = {"since": ">=", "after": ">", "before": "<", "until": "<="}
"""Words of a period → the comparison of dates that each is."""

KindOf = Callable[[str], str]
"""Returns the kind of a step as the grammar reads it; empty where it does not."""


class _NeedsAnswerError(Exception):
    """What is meant depends on the names of the answer."""


def suggested(
    select: str, kind_of: KindOf, document: Document | None = None, today: datetime.date = datetime.date.min
) -> list[str] | None:
    """Return the steps that a guess may mean, best first; the guess itself is not among them.

    None where ``document``, the answer, is not known yet and has to be known. ``yesterday`` counts from ``today``.
    """
    if len(select) > _MAX_CHARS or re.match(r"\s*(?:select\b.+\bfrom|with)\b", select, re.I | re.S):
        return []
    has_signs = re.search(r"\[\*\]|^\s*\$|\[\]|\.\{|\|", select) and not re.search(r";|\s\|\s", select)
    is_path = "[?" in select or has_signs
    if is_path and document is None:
        return None
    text = select
    for pattern, template in _WORD_RULES:
        text = pattern.sub(template, text)
    guess = _Guess(kind_of, document, today)
    try:
        parts = split_outside(" ".join(text.split()), ";")
        steps = list(dict.fromkeys(step for part, _ in parts for step in guess.steps(part.strip())))
    except _NeedsAnswerError:
        return None
    forms = ["; ".join(steps), "; ".join(sorted(steps, key=guess.rank))]
    if steps and SUMMARY_STEP.match(steps[0]):
        forms.reverse()
    forms += [f"jmespath: {re.sub(r'^[$]?[.]?', '', select.strip())}"] if is_path else []
    written = " ".join(select.split())
    return [form for form in dict.fromkeys(forms) if form and form != written]


class _Guess:
    """Writes the steps of a guess, with the names of an answer."""

    def __init__(self, kind_of: KindOf, document: Document | None, today: datetime.date) -> None:
        self._kind_of, self._today, self._has_names = kind_of, today, document is not None
        document = document or Document()
        self._tables, self._name = document.tables, document.name
        self._fields = list(document.metadata) if isinstance(document.metadata, dict) else []
        paths = [name for table in self._tables for name in known_names(table, table.columns)]
        names = (*paths, *(name for table in self._tables for name in table.columns), *self._fields)
        self._columns = {normalize(name): name for name in names}

    def rank(self, step: str) -> int:
        """Return the place of a step among others."""
        kind = self._kind_of(step)
        return _RANKS.get("condition" if kind in ("items", "group") and _CONDITION.search(step) else kind, 2)

    def steps(self, text: str, rounds: int = _MAX_ROUNDS) -> Iterator[str]:
        """Yield the steps that one step of the guess means."""
        for part in self._parts(text):
            found = self._changed(part) if rounds else None
            if found is None:
                yield part
            else:
                for step, _ in split_outside(found, ";"):
                    yield from self.steps(step, rounds - 1)

    def _parts(self, text: str) -> Iterator[str]:
        text = text.strip()
        if self._kind_of(text) in ("sql", "slice"):
            yield text
            return
        dates = [part.strip() for part in re.split(r",|\bor\b|\band\b", text)]
        if len(dates) > 1 and all(len(parse_date(one)) == 1 for one in dates):
            yield f"date in ({', '.join(dates)})"
            return
        if match := re.fullmatch(r"([\w.]+) (since|after|before|until|on) (\S+)", text, re.I):
            self._require_names()
            name = self._columns.get(normalize(match[1]), "")
            if name and all(kind.is_date for kind in self._kinds(name)):  # of a path the kind is not known
                yield f"{written_name(name)} {BOUNDS.get(match[2].lower(), '=')} {match[3]}"
                return
        start = 0
        for match in _CLAUSE.finditer(text):
            before = text[: match.start()]
            if before[start:].strip():
                if match[0].startswith(","):
                    self._require_names()
                yield before[start:].strip(" ,")
                start = match.end()
        if rest := text[start:].strip():
            yield rest

    def _changed(self, step: str) -> str | None:
        """Return other steps for one; None: it stays."""
        if self._kind_of(step) not in ("items", "group", "") or step.lower() == "count":
            return None
        for change in (self._path, self._table, self._day, self._field, self._pair, self._names):
            if (found := change(step)) is not None and found != step:
                return found
        for pattern, template in _STEP_RULES:
            if match := pattern.fullmatch(step):
                return match.expand(template).replace("()", f"({self._number()})")
        # Rows that are named behind it are a step of their own: "close from 2025-12-01 to 2025-12-05".
        words = step.split(" ")[:_MAX_WORDS]
        for at in range(1, len(words)):
            before, rest = _BEFORE_ROWS.sub("", " ".join(words[:at])), " ".join(words[at:])
            if self._kind_of(rest) in _ROW_STEPS and self._kind_of(before) and not parse_date(words[at - 1]):
                return f"{before}; {rest}"
        return None

    def _require_names(self) -> None:
        if not self._has_names:
            raise _NeedsAnswerError

    def _is_column(self, text: str) -> bool:
        return normalize(text) in self._columns or normalize(text) in DATE_NAMES

    def _find_table(self, text: str) -> Table | None:
        return find_table(text, [table for table in self._tables if table.name]) if len(normalize(text)) > 2 else None

    def _kinds(self, name: str) -> Iterator[Kind]:
        return (table.type_of(table.columns.index(name)).kind for table in self._tables if name in table.columns)

    def _number(self) -> str:
        """Return the column that a function without a column may be of: the last decimal one, or the first integer."""
        kinds = [(name, table.type_of(at).kind) for table in self._tables[:1] for at, name in enumerate(table.columns)]
        decimal, whole = ([name for name, kind in kinds if kind is one] for one in (Kind.NUMBER, Kind.INTEGER))
        return (decimal[-1:] or whole[:1] or [""])[0]

    def _path(self, step: str) -> str | None:
        """Return the steps of a path such as ``feed[0:3].title``."""
        match = _PATH.fullmatch(step)
        if match is None or not any(sign in step for sign in ".["):
            return None
        self._require_names()
        head, tail = (match["head"] or "").strip(), (match["tail"] or "").strip(" .")
        place = match["place"] if match["place"] is not None else match["end"]
        whole = self._find_table(f"{head}.{tail}")
        is_whole = whole is not None and normalize(whole.name) == normalize(f"{head}.{tail}")
        table, tail = (whole, "") if is_whole else (self._find_table(head), tail)
        if place and table is None and Kind.NESTED in self._kinds(self._columns.get(normalize(head), "")):
            return None  # of the list in a cell
        found = [f"from {table_name(table)}"] if table is not None else []
        if table is None and (self._is_column(head) or not place):  # rows[0:5] are those of any list
            tail = ".".join(filter(None, (head, tail)))
        key, _, rest = tail.rpartition(".")
        if condition := self._pair(key):  # of a row
            found, tail = [*found, condition], rest
        if place and place != "*":
            found.append("limit 1" if place == "0" else f"[{place}]")
        last = next((part for part in (tail, tail.rpartition(".")[2]) if self._is_column(part)), None)
        if tail and last is None:
            return None
        return "; ".join([*found, *([written_name(str(last))] if tail else [])])

    def _table(self, step: str) -> str | None:
        """Return the steps of a guess that names a table or columns beside rows: ``top 2 holdings``."""
        if match := re.fullmatch(r"(top|first|last|bottom) (\d+) ([\w ,]+?)(?: by (.+))?", step, re.I):
            self._require_names()
            word, count, name, by = match.groups()
            if (table := self._find_table(name)) is not None:
                return f"from {table_name(table)}; {f'{word} {count} by {by}' if by else f'limit {count}'}"
            if all(map(self._is_column, split_items(name))) and not by:
                is_ranked = word.lower() in ("top", "bottom") and "," not in name
                return f"{word} {count} by {name}" if is_ranked else f"{word} {count}; {name}"
            if name.startswith("by ") and word.lower() == "last" and Kind.TEXT in self._kinds(name[3:]):
                over = f"PARTITION BY {written_name(name[3:])} ORDER BY date DESC"
                return f"SELECT * FROM data QUALIFY row_number() OVER ({over}) <= {count}"
        return None

    def _day(self, step: str) -> str | None:
        """Return the period of a word for a day, of dates in another form, or from the oldest date on."""
        word, _, day = step.lower().rpartition(" ")
        offset = {"today": 0, "yesterday": -1, "tomorrow": 1}.get(day)
        if offset is not None and word in ("", "on", "since", "after", "until", "before"):
            self._require_names()
            return f"{word} {self._today + datetime.timedelta(days=offset)}".removeprefix("on ").strip()
        if (match := _RANGE.fullmatch(step)) and all(len(parse_date(end)) == 1 for end in match.groups()):
            return f"{match[1]}..{match[2]}"
        if match := re.fullmatch(rf"(?:oldest|first|earliest) (\d+) ({_UNITS})", step, re.I):
            unit = match[2].lower().rstrip("s")
            if unit == "day":
                return f"first {match[1]}"
            self._require_names()
            with suppress(ValueError, OverflowError):  # from the oldest date on, if there is one
                oldest = min(self._tables[0].dates if self._tables else ())
                return f"before {moved(datetime.date.fromisoformat(oldest[:10]), int(match[1]), unit)}"
        return None

    def _field(self, step: str) -> str | None:
        """Return the field beside the tables that has the words, or everything for the name of a single record."""
        wanted = normalize(step)
        if self._name and wanted == normalize(self._name):
            return "all"
        having = [name for name in self._fields if wanted in words_of(name)]
        return having[0] if len(having) == 1 and wanted not in self._columns else None

    def _pair(self, step: str) -> str | None:
        """Return the condition of a column and its value: ``strike 300``, ``type: call``, or of a value: ``calls``."""
        match = _COLUMN_AND_VALUE.fullmatch(step)
        if match and (":" in step or step[-1].isdigit()):
            self._require_names()
            if self._is_column(match[1]) and not self._is_column(match[2]):
                return f"{match[1]} = {match[2]}"
        if self._is_column(step):
            return None
        wanted = {step.lower(), step.lower().removesuffix("s"), step.lower().removesuffix("es")}
        cells = (
            (name, row[index])
            for table in self._tables
            for index, name in enumerate(table.columns)
            for row in table.rows[:_COMPARED_ROWS]
        )
        return next(
            (f"{name} = {cell}" for name, cell in cells if isinstance(cell, str) and cell.lower() in wanted), None
        )

    def _names(self, step: str) -> str | None:
        """Return columns that are joined by ``and`` or behind their table, or a condition as a step of its own."""
        names = [name.strip() for name in re.split(r",|\band\b", step)]
        if len(names) > 1:
            paths = [(self._path(name) or "").rpartition("; ") for name in names]
            if len({before for before, _, _ in paths}) == 1 and all(self._is_column(last) for _, _, last in paths):
                return "".join((*paths[0][:2], ", ".join(last for _, _, last in paths)))
            table = None if self._is_column(names[0]) else self._find_table(names[0])
            if all(map(self._is_column, names[table is not None :])):
                begin = "" if table is None else f"from {table_name(table)}; "
                return begin + ", ".join(names[table is not None :])
        if match := re.fullmatch(r"(.+?) where (.+)", step, re.I):
            self._require_names()  # the order of both depends on them
            return f"{match[1]}; {match[2]}"
        return None
