"""Guess the steps that a ``select`` outside the grammar means, for the form that its error proposes.

Nothing here is part of the language: a guess is written as steps, and the engine tries them on the answer before an
error shows them.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from toolfold.dates import MONTHS, moved, parse_date
from toolfold.fuzzy import closest_matches, normalize
from toolfold.results.select.expressions import YEARS, has_deep_types, split_items, split_outside
from toolfold.results.select.guess_rules import BEFORE_NUMBERS, STEP_RULES, SUMMARY, UNITS, WORD_RULES
from toolfold.results.select.names import find_table, known_names, table_name, words_of, written_name
from toolfold.results.tables import DATE_NAMES, Document, Table
from toolfold.results.types import Kind
from toolfold.results.values import has_decimal_comma, with_decimal_point

_MAX_CHARS = 500
"""Length of a guess: a longer one is SQL, or has no one meaning."""

_MAX_ROUNDS = 4
_MAX_WORDS = 40
_COMPARED_ROWS = 300

_CLAUSE = re.compile(
    r"(?:,\s*|\s+)(?=(?:last|first|newest|latest|oldest|top|bottom|head|tail|limit|skip|offset) \d"
    r"|(?:order|sort)(?:ed)? by\b|(?:since|until|before|after) \S*\d{4}|(?:in|on|during) \d{4}|ytd\b)",
    re.I,
)
"""What a step of its own begins with."""

_SUMMARY_STEP = re.compile(rf"{SUMMARY}\((?!.* (?:by|over) )|count$", re.I)
"""Functions of all rows, after which there is one row."""

_RANKS = {"from": 0, "items": 3, "group": 3}
_RANKS_OF_ROWS = {**_RANKS, "condition": 1, "period": 1}
"""Kind of a step → its place among others: columns come last; or, before these, a number of rows."""

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
_OF_ROW = re.compile(r"(?P<head>[A-Za-z_][\w.]*\[\d+\])\.(?P<rest>.+)")
BOUNDS = {"since": ">=", "after": ">", "before": "<", "until": "<="}
"""Words of a period → the comparison of dates that each is."""

_ITEM = re.compile(r"(\"[^\"]+\"|\b[A-Za-z_][\w.]*)((?:\[-?\d+\])+(?:\.\w+)*)")
_COMPARED = re.compile(r"((?:[<>=]|\bbetween\b|\band\b) ?)([-+]?[\d.]*,\d+)(?![\w.,])", re.I)


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
    if len(select) > _MAX_CHARS:
        return []
    if re.match(r"\s*(?:select\b.+\bfrom|with)\b", select, re.I | re.S):
        written = _ITEM.sub(_item, _COMPARED.sub(_with_decimal_point, select))
        return [written] if written != select else []
    has_signs = re.search(r"\[\*\]|^\s*\$|\[\]|\.\{|\|", select) and not re.search(r";|\s\|\s", select)
    is_path = "[?" in select or has_signs
    if is_path and document is None:
        return None
    text = select
    for pattern, template in WORD_RULES:
        text = pattern.sub(template, text)
    text = _COMPARED.sub(_with_decimal_point, text)
    guess = _Guess(kind_of, document, today)
    try:
        steps = [step for part, _ in split_outside(" ".join(text.split()), ";") for step in guess.steps(part.strip())]
        merged: list[str] = []
        for step in dict.fromkeys(steps):  # columns that follow each other are one step
            if merged and guess.is_column(step) and guess.is_column(merged[-1].split(",")[-1].strip()):
                merged[-1] = f"{merged[-1]}, {step}"
            else:
                merged.append(step)
        steps = merged
    except _NeedsAnswerError:
        return None
    forms = ["; ".join(steps), *("; ".join(_in_order(steps, ranks, kind_of)) for ranks in (_RANKS, _RANKS_OF_ROWS))]
    if steps and _SUMMARY_STEP.match(steps[0]):
        forms.reverse()
    forms += [f"jmespath: {re.sub(r'^[$]?[.]?', '', select.strip())}"] if is_path else []
    forms += [*_as_sql(select, kind_of), *([_ITEM.sub(_item, select)] if "?" not in select else [])]
    written = " ".join(select.split())
    return [form for form in dict.fromkeys(forms) if form and form != written]


def _with_decimal_point(match: re.Match[str]) -> str:
    return match[1] + (with_decimal_point(match[2]) if has_decimal_comma(match[2]) else match[2])


def _item(match: re.Match[str]) -> str:
    """Return the place of an item in the list of a cell as SQL has it: ``p[-1]``."""
    path, name = match[2].replace("[-", "[#-"), match[1].strip('"')
    return f"json_extract({written_name(name)}, '${path}')"


def _in_order(steps: Sequence[str], ranks: Mapping[str, int], kind_of: KindOf) -> list[str]:
    def rank(step: str) -> int:
        kind = kind_of(step)
        return ranks.get("condition" if kind in ("items", "group") and _CONDITION.search(step) else kind, 2)

    return sorted(steps, key=rank)


def _as_sql(select: str, kind_of: KindOf) -> Iterator[str]:
    """Yield a last step that cannot be read as a statement of SQL, which takes more: ``count(*) FILTER (WHERE …)``."""
    *before, (last, _) = split_outside(select, ";")
    if kind_of(last.strip()) or has_deep_types(last):
        return
    with suppress(SqlglotError, RecursionError, ValueError):
        tree = sqlglot.parse_one(f"SELECT {last} FROM data")
        # "close volume" would show one column under the name of the other.
        names = len(list(tree.find_all(exp.Alias)))
        if "(" in last and names == len(re.findall(r"\bas\b", last, re.I)):
            yield "; ".join([*(step.strip() for step, _ in before), f"SELECT {last.strip()} FROM data"])


class _Guess:
    """Writes the steps of a guess, with the names of an answer."""

    def __init__(self, kind_of: KindOf, document: Document | None, today: datetime.date) -> None:
        self._kind_of, self._today, self._has_names = kind_of, today, document is not None
        document = document or Document()
        self._tables, self._name = document.tables, document.name
        self._fields = list(document.metadata) if isinstance(document.metadata, dict) else []
        paths = [name for table in self._tables for name in known_names(table, table.columns)]
        self._columns = {normalize(name): name for name in paths}
        self._columns |= {normalize(name): name for table in self._tables for name in table.columns}
        self._columns |= {normalize(name): name for name in self._fields}

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
            if before[start:].strip() and before.count("(") == before.count(")"):
                if match[0].startswith(","):
                    self._require_names()
                yield before[start:].strip(" ,")
                start = match.end()
        rest = text[start:].strip()
        parts = split_items(rest)
        if len(parts) > 1 and any(self._kind_of(part) not in ("items", "group", "") for part in parts):
            self._require_names()
            yield from (part for part in parts if not part.isdecimal() or int(part) in YEARS)
        elif rest:
            yield rest

    def _changed(self, step: str) -> str | None:
        """Return other steps for one; None: it stays."""
        if self._kind_of(step) not in ("items", "group", "") or step.lower() == "count":
            return None
        for change in (self._path, self._table, self._day, self._field, self._pair, self._names, self._misspelt):
            if (found := change(step)) is not None and found != step:
                return found
        for pattern, template in STEP_RULES:
            if match := pattern.fullmatch(step):
                return match.expand(template).replace("()", f"({self._number()})")
        # Rows that are named behind it are a step of their own: "close from 2025-12-01 to 2025-12-05".
        words = step.split(" ")[:_MAX_WORDS]
        for at in range(1, len(words)):
            before, rest = _BEFORE_ROWS.sub("", " ".join(words[:at])), " ".join(words[at:])
            if self._kind_of(rest) in _ROW_STEPS and self._kind_of(before) and not parse_date(words[at - 1]):
                return f"{before}; {rest}"
        return None

    def _misspelt(self, step: str) -> str | None:
        """Return a step with the word that its first one resembles, before a number: ``lst 2``."""
        word, _, rest = step.partition(" ")
        if rest[:1].isdigit() and self._has_names and not self.is_column(word):
            return next((f"{meant} {rest}" for meant in closest_matches(word, BEFORE_NUMBERS)), None)
        return None

    def _require_names(self) -> None:
        if not self._has_names:
            raise _NeedsAnswerError

    def is_column(self, text: str) -> bool:
        """Return whether a text is the name of a column."""
        return normalize(text) in self._columns or (normalize(text) in DATE_NAMES)

    def _find_table(self, text: str) -> Table | None:
        found = find_table(text, self._tables) if len(normalize(text)) > 2 else None
        return found if found is not None and found.name else None

    def _kinds(self, name: str) -> Iterator[Kind]:
        return (table.type_of(table.columns.index(name)).kind for table in self._tables if name in table.columns)

    def _number(self) -> str:
        """Return the column that a function without a column may be of: the last one of decimal numbers."""
        table = next(iter(self._tables), Table("", (), ()))
        kinds = [(name, table.type_of(index).kind) for index, name in enumerate(table.columns)]
        decimal, whole = ([name for name, kind in kinds if kind is one] for one in (Kind.NUMBER, Kind.INTEGER))
        return (decimal[-1:] or whole[:1] or [""])[0]

    def _path(self, step: str) -> str | None:
        """Return the steps of a path such as ``feed[0:3].title``."""
        match = _PATH.fullmatch(step)
        row = _OF_ROW.fullmatch(step) if match is None else None
        if row is not None and (of_table := self._path(row["head"])):
            return f"{of_table}; {row['rest']}"
        if match is None or not any(sign in step for sign in ".[") or step in self._columns.values():
            return None
        self._require_names()
        head, tail = (match["head"] or "").strip(), (match["tail"] or "").strip(" .")
        place = match["place"] if match["place"] is not None else match["end"]
        found: list[str] = []
        whole = self._find_table(f"{head}.{tail}") if tail else None
        is_whole = whole is not None and normalize(whole.name) == normalize(f"{head}.{tail}")
        table, tail = (whole, "") if is_whole else (self._find_table(head), tail)
        if self._name and normalize(head) in normalize(self._name):
            head = ""
        if table is not None:
            found.append(f"from {table_name(table)}")
        elif (head and not self.is_column(head) and self.is_column(f"{head}.{tail}")) or (
            place and Kind.NESTED in self._kinds(self._columns.get(normalize(head), ""))
        ):
            return None  # of the list in a cell
        elif self.is_column(head) or not place:  # rows[0:5] are those of any list
            tail = ".".join(filter(None, (head, tail)))
        names = tail.split(".") if not self.is_column(tail) else []
        for count in range(len(names), 0, -1):  # the key of a row
            if condition := self._pair(".".join(names[:count])):
                found, tail = [*found, condition], ".".join(names[count:])
                break
        if place and re.fullmatch(r"-(?:1|\d+:)", place):
            found.append(f"last {place.strip('-:')}")
        elif place and place != "*":
            found.append("limit 1" if place == "0" else f"[{place}]")
        last = next((part for part in (tail, tail.rpartition(".")[2]) if self.is_column(part)), None)
        if tail and last is None:
            return None
        if tail:
            found.append(written_name(str(last)))
        return "; ".join(found)

    def _table(self, step: str) -> str | None:
        """Return the steps of a guess that names a table beside something else: ``top 2 holdings``."""
        if (match := re.fullmatch(r"(?:count|length)\((\w+)\)", step, re.I)) and self._find_table(match[1]) is not None:
            return f"from {match[1]}; count"
        if match := re.fullmatch(r"(top|first|last|bottom) (\d+) ([\w ,]+?)(?: by (.+))?", step, re.I):
            self._require_names()
            word, count, name, by = match.groups()
            if (table := self._find_table(name)) is not None:
                rows = f"{word} {count} by {by}" if by else f"limit {count}"
                return f"from {table_name(table)}; {rows}"
            if all(map(self.is_column, split_items(name))) and not by:
                is_ranked = word.lower() in ("top", "bottom") and "," not in name
                return f"{word} {count} by {name}" if is_ranked else f"{word} {count}; {name}"
            if name.startswith("by ") and word.lower() == "last" and Kind.TEXT in self._kinds(name[3:]):
                over = f"PARTITION BY {written_name(name[3:])} ORDER BY date DESC"
                return f"SELECT * FROM data QUALIFY row_number() OVER ({over}) <= {count}"
        return None

    def _day(self, step: str) -> str | None:
        """Return the period of a word for a day or a month, or of dates in another form."""
        word, _, day = step.lower().rpartition(" ")
        if step.lower() in MONTHS:
            return f"month = {step}"
        offset = {"today": 0, "yesterday": -1, "tomorrow": 1}.get(day)
        if offset is not None and word in ("", "on", "since", "after", "until", "before"):
            self._require_names()
            return f"{word} {self._today + datetime.timedelta(days=offset)}".removeprefix("on ").strip()
        if match := _RANGE.fullmatch(step):
            ends = [parse_date(end) for end in match.groups()]
            if all(len(readings) == 1 for readings in ends):
                return f"{match[1]}..{match[2]}"
        if match := re.fullmatch(rf"(?:oldest|first|earliest) (\d+) ({UNITS})", step, re.I):
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
            if self.is_column(match[1]) and not self.is_column(match[2]):
                return f"{match[1]} = {match[2]}"
        if not self._has_names or not re.fullmatch(r"[\w .-]+", step) or self.is_column(step) or self._find_table(step):
            return None
        wanted = {step.lower(), step.lower().removesuffix("s"), step.lower().removesuffix("es")}
        for table in self._tables:
            for index, column in enumerate(table.columns):
                cells = {row[index] for row in table.rows[:_COMPARED_ROWS] if isinstance(row[index], str)}
                for cell in sorted(cells):
                    if cell.lower() in wanted:
                        return f"{column} = {cell}"
        return None

    def _names(self, step: str) -> str | None:
        """Return columns that are joined by ``and`` or behind their table, or a condition as a step of its own."""
        names = [name.strip() for name in re.split(r",|\band\b", step)]
        if len(names) > 1:
            paths = [self._path(name) for name in names]
            if all(paths) and not any(_CONDITION.search(str(path)) for path in paths):
                return "; ".join(map(str, paths))
            table = None if self.is_column(names[0]) else self._find_table(names[0])
            if all(map(self.is_column, names[table is not None :])):
                begin = "" if table is None else f"from {table_name(table)}; "
                return begin + ", ".join(names[table is not None :])
        if match := re.fullmatch(r"(.+?) where (.+)", step, re.I):
            self._require_names()  # the order of both depends on them
            return f"{match[1]}; {match[2]}"
        return None
