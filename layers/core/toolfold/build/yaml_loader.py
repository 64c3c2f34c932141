"""Load YAML and JSON with the lines of values, for error messages, and within limits.

PyYAML follows YAML 1.1, in which the country code ``NO`` is false and ``12:30`` a number. Here only ``true``,
``false``, ``null`` and numbers are not text, as in YAML 1.2 and JSON, and keys are always text.

What pydantic says about the data is reported as ``file:line: key: problem``.

A document of ten megabytes has a million values. The lines of JSON are therefore not recorded: the text is scanned
again for the few locations that problems and tools refer to.

Values are made of the events of PyYAML. It composes nodes by recursion in C, without a limit: a file with 100,000
brackets ends the process.
"""

from __future__ import annotations

import functools
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, get_args

import yaml
from pydantic import BaseModel, ValidationError

from toolfold.errors import SourceError
from toolfold.fuzzy import did_you_mean
from toolfold.text_safety import quoted


class Limits(NamedTuple):
    """The bounds of a file. Real documents have up to 40 levels; the largest one that a person wrote has 130 kB.

    Attributes:
        depth: levels of nesting.
        aliased: values that aliases may add; nested ones add any number in ten lines.
        max_bytes: its size.
        may_be_json: whether it may be JSON, which then has its size as the only bound. What a person writes in braces
            is YAML, in which a key that is given twice is a mistake.
    """

    depth: int = 200
    aliased: int = 100_000
    max_bytes: int = 8 << 20
    may_be_json: bool = False


LIMITS = Limits()

Location = tuple[str | int, ...]
"""Keys and indexes from the root of a document to a value, like the locations of pydantic."""

Lines = Callable[[Iterable[Location]], Mapping[Location, int]]

_MAX_DIGITS = 300
_TAG = "tag:yaml.org,2002:"
_SPACE = re.compile(r"[ \t\n\r]*")

# libyaml is ten times as fast; not every build of PyYAML has it.
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_PLAIN = re.compile(
    r"(?P<bool>true|True|TRUE|false|False|FALSE)"
    r"|(?P<int>[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)"
    r"|(?P<float>[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?)"
    r"|(?P<null>~|null|Null|NULL|)"
)
"""Types of scalars without quotes, as in YAML 1.2 (section 10.3, core schema); others are text."""

_HINTS = {
    "mapping values": "; put the text in quotes",
    "cannot start any token": "; put the text in quotes, and use spaces, not tabs",
    "tab character": "; use spaces",
    "expected key": "; indent it as its neighbours, or put the text in quotes",
}
"""Part of a sentence of libyaml → what is most often meant by it."""


@dataclass(frozen=True, slots=True)
class Document:
    """One file: its path, or name, its data, and what returns the lines of those of given locations that exist.

    ``aliased`` is the number of values that its aliases add.
    """

    path: Path | str
    data: Any
    scan_lines: Lines = field(repr=False)
    first_line: int = 1
    aliased: int = 0

    def lines(self, locations: Iterable[Location]) -> dict[Location, int]:
        """Return the line of each of ``locations``, or of the closest enclosing value that exists."""
        wanted = set(locations)
        found = self.scan_lines({at[:length] for at in wanted for length in range(len(at) + 1)})
        lengths = {at: next((length for length in range(len(at), -1, -1) if at[:length] in found), 0) for at in wanted}
        return {at: found.get(at[:length], self.first_line) for at, length in lengths.items()}

    def where(self, *at: str | int) -> str:
        """Return ``file:line`` of a location, or of the closest enclosing value that exists."""
        return f"{self.path}:{self.lines([at])[at]}"


class _Unreadable(Exception):
    """The text is not YAML, or has what JSON does not have. ``line`` is counted from the first of the text, as 1."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(problem)
        self.line = line


def load(path: Path, limits: Limits = LIMITS) -> Document:
    """Read one file.

    Raises:
        SourceError: The file cannot be read, is not YAML, is too large, or repeats a key in one mapping.
    """
    try:
        if path.stat().st_size > limits.max_bytes:
            raise SourceError([f"{path}:1: is larger than {limits.max_bytes >> 20} MB"])
        content = path.read_bytes()
    except OSError as error:
        raise SourceError([f"{path}:1: cannot be read: {error.strerror}"]) from None
    return parse(path, decode(path, content), limits=limits)


def decode(path: Path | str, content: bytes) -> str:
    """Return the content of a file as text.

    Raises:
        SourceError: It is not UTF-8.
    """
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise SourceError([f"{path}:{line}: is not UTF-8"]) from None


def parse(path: Path | str, text: str, first_line: int = 1, limits: Limits = LIMITS) -> Document:
    """Parse YAML, or JSON where ``limits`` allow it, that is a file or the part of one that begins at ``first_line``.

    Raises:
        SourceError: It is neither, exceeds the limits, or repeats a key in one mapping of YAML.
    """
    if limits.may_be_json and text.lstrip()[:1] == "{":
        try:
            # No number of JSON: int() raises ValueError for NaN and Infinity.
            return Document(path, json.loads(text, parse_constant=int), functools.partial(json_lines, text))
        except json.JSONDecodeError as error:
            # YAML may begin with a brace as well; only a file called .json must be JSON.
            if not str(path).endswith((".yaml", ".yml")):
                raise SourceError([f"{path}:{error.lineno}: is not valid JSON: {error.msg}"]) from None
        except (ValueError, RecursionError) as error:
            reason = "values are nested too deeply" if isinstance(error, RecursionError) else "a number is too large"
            raise SourceError([f"{path}:1: is not valid JSON: {reason}"]) from None
    try:
        root, aliased = _read(text, limits)
        return Document(path, root.data, functools.partial(_lines, root, first_line), first_line, aliased)
    except _Unreadable as error:
        line, problem = error.line, str(error)
    except yaml.MarkedYAMLError as error:
        # What is not closed is found at the end, far from where it begins.
        mark = error.context_mark if "end of stream" in str(error.problem) else error.problem_mark
        line = 1 if mark is None else mark.line + 1
        hint = next((hint for words, hint in _HINTS.items() if words in str(error.problem)), "")
        problem = f"is not valid YAML: {error.problem or error.context}{hint}"
    except yaml.reader.ReaderError as error:
        position = error.position if isinstance(error.position, int) else 0
        line = text.encode(errors="replace")[:position].count(b"\n") + 1
        problem = "contains a character that YAML does not allow"
    raise SourceError([f"{path}:{line - 1 + first_line}: {problem}"])


class _Value(NamedTuple):
    """A value that was read: its line, its size with aliases expanded, and its text, or the values inside by keys."""

    data: Any
    line: int
    size: int = 1
    text: str | None = None
    members: dict[str | int, _Value] = {}  # noqa: RUF012 - nothing changes it


class _Collection:
    """A mapping or a list of which not all has been read."""

    def __init__(self, event: yaml.CollectionStartEvent) -> None:
        self.anchor, self.line = event.anchor, _line(event)
        self.is_list = isinstance(event, yaml.SequenceStartEvent)
        self._members: dict[str | int, _Value] = {}
        self._key: _Value | None = None

    def add(self, value: _Value) -> None:
        """Add an item of a list; of a mapping, by turns a key and its value."""
        key, self._key = self._key, None
        if self.is_list:
            self._members[len(self._members)] = value
        elif key is None:
            if value.text is None:
                raise _Unreadable(value.line, "a key must be text")
            if value.text == "<<":  # which YAML 1.2 has no more
                raise _Unreadable(value.line, "has a merge key (<<); write its keys again")
            if value.text in self._members:
                raise _Unreadable(value.line, f"key {value.text!r} is given twice")
            self._key = value
        else:
            self._members[str(key.text)] = value._replace(line=key.line)

    def close(self) -> _Value:
        """Return the whole value."""
        found = {key: value.data for key, value in self._members.items()}
        size = 1 + sum(value.size for value in self._members.values())
        return _Value(list(found.values()) if self.is_list else found, self.line, size, members=self._members)


def _read(text: str, limits: Limits) -> tuple[_Value, int]:
    """Return the value of a text, and the number of values that aliases add. Aliases share one value."""
    root: _Value | None = None
    known: dict[str, _Value] = {}
    open_: list[_Collection] = []
    aliased = 0
    for event in yaml.parse(text, Loader=_LOADER):
        line, anchor = _line(event), getattr(event, "anchor", None)
        if root is not None and isinstance(event, yaml.NodeEvent):
            raise _Unreadable(line, "is not valid YAML: it has more than one document")
        if isinstance(event, yaml.CollectionStartEvent):
            open_.append(_Collection(event))
            if len(open_) > limits.depth:
                raise _Unreadable(line, f"has values nested more than {limits.depth} levels deep")
            continue
        if isinstance(event, yaml.ScalarEvent):
            value = _scalar(event)
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, value = open_[-1].anchor, open_.pop().close()
        elif isinstance(event, yaml.AliasEvent):
            value = _target(event, known, open_)
            aliased += value.size
            if aliased > limits.aliased:
                more = f"aliases that add more than {limits.aliased:,} values" if limits.aliased else "an alias"
                raise _Unreadable(line, f"has {more}; write the values again")
        else:
            continue
        if anchor is not None:
            known[anchor] = value
        if open_:
            open_[-1].add(value)
        else:
            root = value
    return root or _Value(None, 1), aliased


def _line(event: yaml.Event) -> int:
    return 1 if event.start_mark is None else event.start_mark.line + 1


def _target(event: yaml.AliasEvent, known: Mapping[str, _Value], open_: Iterable[_Collection]) -> _Value:
    name, line = str(event.anchor), _line(event)
    if any(one.anchor == name for one in open_):
        raise _Unreadable(line, "has an alias inside the value that it refers to")
    if name not in known:
        raise _Unreadable(line, f"is not valid YAML: there is no anchor {name[:60]!r} before it")
    return known[name]._replace(line=line)


def json_lines(text: str, wanted: Iterable[Location]) -> dict[Location, int]:
    """Return the lines of the ``wanted`` locations that exist in ``text``, which is valid JSON.

    Only objects and lists on the way to a wanted value are read in Python; the parser of ``json`` skips the others.
    """
    tree: dict[str | int, Any] = {}
    for at in wanted:
        branch = tree
        for key in at:
            branch = branch.setdefault(key, {})
    positions: dict[Location, int] = {}
    _scan(text, _space(text, 0), tree, (), positions)
    lines: dict[Location, int] = {}
    line, last = 1, 0
    for at, position in sorted(positions.items(), key=lambda item: item[1]):
        line += text.count("\n", last, position)
        last = position
        lines[at] = line
    return lines


_decode_value = json.JSONDecoder().raw_decode


def _space(text: str, index: int) -> int:
    return _SPACE.match(text, index).end()  # type: ignore[union-attr]  # it matches the empty string


def _scan(text: str, index: int, tree: Mapping[str | int, Any], at: Location, found: dict[Location, int]) -> int:
    """Record the positions of the members of the value at ``index`` that ``tree`` has, and return its end."""
    opening = text[index]
    if opening not in "{[" or not tree:
        return _decode_value(text, index)[1]
    closing = "}" if opening == "{" else "]"
    number, index = 0, _space(text, index + 1)
    while text[index] != closing:
        key: str | int = number
        start = index
        if opening == "{":
            key, index = _decode_value(text, index)
            index = _space(text, _space(text, index) + 1)
        if key in tree:
            found[(*at, key)] = start
            index = _scan(text, index, tree[key], (*at, key), found)
        else:
            index = _decode_value(text, index)[1]
        index = _space(text, index)
        if text[index] == ",":
            index = _space(text, index + 1)
        number += 1
    return index + 1


def _scalar(event: yaml.ScalarEvent) -> _Value:
    text, line, tag = event.value, _line(event), event.tag or "!"
    kind = tag.removeprefix(_TAG)
    if tag == "!":
        found = _PLAIN.fullmatch(text) if event.implicit[0] else None
        kind = "str" if found is None else str(found.lastgroup)
    data: Any = text
    if kind == "null":
        data = None
    elif kind == "bool":
        data = text.lower() == "true"
    elif kind in ("int", "float"):
        if len(text) > _MAX_DIGITS:
            raise _Unreadable(line, "has a number that is too large")
        try:
            data = float(text) if kind == "float" else int(text, 0 if text[:2] in ("0o", "0x") else 10)
        except ValueError:
            raise _Unreadable(line, f"{text[:40]!r} is not of the type {kind}") from None
        if abs(data) == math.inf:
            raise _Unreadable(line, "has a number that is too large")
    elif kind != "str":
        raise _Unreadable(line, f"is not valid YAML: it has the tag {tag[:60]!r}, which is not read")
    return _Value(data, line, text=text)


def _lines(root: _Value, first_line: int, wanted: Iterable[Location]) -> dict[Location, int]:
    found: dict[Location, int] = {}
    for at in wanted:
        value: _Value | None = root
        for key in at:
            value = None if value is None else _member(value, key)
        if value is not None:
            found[at] = value.line - 1 + first_line
    return found


def _member(value: _Value, key: str | int) -> _Value | None:
    """Return what is under ``key``. An item of a list is also found by its name."""
    if key in value.members or not isinstance(value.data, list):
        return value.members.get(key)
    named = ((item, item.members.get("name"), item.members.get("ref")) for item in reversed(value.members.values()))
    return next((names[0] for names in named if any(one is not None and one.text == key for one in names)), None)


ModelT = TypeVar("ModelT", bound=BaseModel)

_UNION_MEMBERS = {"str", "bool", "int", "float", "list[str]"}
"""Names that pydantic appends to a location when a value matches no type of a union."""

_MADE_BY_PYDANTIC = {*_UNION_MEMBERS, "[key]"}

_SUBJECT = re.compile(r"^(Input|String|List|Dictionary) should ")

_MAX_SHOWN = 4
"""Keys that a message names as examples."""


def parse_model(model: type[ModelT], document: Document, data: Any, problems: list[str]) -> ModelT | None:
    """Return ``data`` of ``document`` as a model, or None after adding to ``problems`` what is wrong with it, once."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        found: dict[str, None] = {}
        for item in error.errors():
            location = tuple(part for part in item["loc"] if part not in _MADE_BY_PYDANTIC)
            key = ".".join(map(str, location)) or "file"
            found[f"{document.where(*location)}: {key}: {_problem(item, location, model)}"] = None
        problems += found
        return None


def _problem(item: Any, location: Location, model: type[BaseModel]) -> str:
    kind, given, context = item["type"], item["input"], item.get("ctx", {})
    if item["loc"][-1:] and item["loc"][-1] in _UNION_MEMBERS:
        return "must be a string, a number, true or false"
    if kind in ("model_type", "dict_type"):
        fields = ", ".join(keys_at(model, location)[:_MAX_SHOWN]) if kind == "model_type" else ""
        return f"must be keys and values{f', such as {fields}' if fields else ''}"
    if kind == "extra_forbidden":
        hint = did_you_mean(str(location[-1]), keys_at(model, location[:-1]))
        return f"there is no such key. {hint}".rstrip(". ")
    if kind == "literal_error":
        allowed = re.findall(r"'([^']*)'", context["expected"])
        hint = did_you_mean(given, allowed) if isinstance(given, str) else ""
        return f"must be {context['expected']}, not {given!r}. {hint}".rstrip(". ")
    if kind == "missing":
        return "is missing"
    text = str(item["msg"]).removeprefix("Value error, ").partition(", unable to parse")[0]
    requirement = _SUBJECT.sub("must ", text)
    is_shown = requirement != text and ", not " not in text and location[:1] != ("auth",)  # which may have a key
    return f"{requirement}, not {quoted(given)}" if is_shown else requirement


def keys_at(model: type[BaseModel], location: tuple[str | int, ...]) -> list[str]:
    """Return the keys that the object at ``location`` of a ``model`` may have."""
    models = {model}
    for key in location:
        fields = [field for one in models for name, field in one.model_fields.items() if (field.alias or name) == key]
        # Indexes of lists and keys of objects are no fields: what they contain was found with the field around them.
        models = {inner for field in fields for inner in _models_in(field.annotation)} or models
    return sorted({field.alias or name for one in models for name, field in one.model_fields.items()})


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _models_in(argument)
