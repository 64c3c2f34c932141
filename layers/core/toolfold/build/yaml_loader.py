"""Load YAML and JSON with the lines of values, for error messages, and within limits.

PyYAML follows YAML 1.1, in which the country code ``NO`` is false and ``12:30`` a number. Here only ``true``,
``false``, ``null`` and numbers are not text, as in YAML 1.2 and JSON, and keys are always text.

What pydantic says about the data is reported as ``file:line: key: problem``.

A document of ten megabytes has a million values. The lines of JSON are therefore not recorded: the text is scanned
again for the few locations that problems and tools refer to.

PyYAML composes nodes by recursion in C, without a limit: a file with 100,000 brackets ends the process.
"""

from __future__ import annotations

import functools
import json
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
_BRACKETS = re.compile(r"[\[\]{}]")
_INDENTATION = re.compile(r"^[ ?:-]+", re.MULTILINE)
_TAG = "tag:yaml.org,2002:"
_MERGE = f"{_TAG}merge"
_SPACE = re.compile(r"[ \t\n\r]*")

# libyaml is ten times as fast; not every build of PyYAML has it.
_Safe: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_RESOLVERS: tuple[tuple[str, str, str], ...] = (
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("int", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", "-+0123456789"),
    ("float", r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", "-+.0123456789"),
    ("null", r"~|null|Null|NULL|", "~nN"),
    ("merge", r"<<", "<"),
)


_HINTS = {
    "mapping values": "; put the text in quotes",
    "cannot start any token": "; put the text in quotes, and use spaces, not tabs",
    "tab character": "; use spaces",
    "expected key": "; indent it as its neighbours, or put the text in quotes",
}
"""Part of a sentence of libyaml → what is most often meant by it."""


class _Loader(_Safe):  # type: ignore[misc]  # which of the two is known at run time
    """A loader with the implicit types of YAML 1.2 (section 10.3, core schema), and merge keys."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012 - as PyYAML has it


for _kind, _pattern, _first in _RESOLVERS:
    for _letter in (*_first, *([""] if _kind == "null" else [])):
        _entries = _Loader.yaml_implicit_resolvers.setdefault(_letter, [])
        _entries.append((f"{_TAG}{_kind}", re.compile(f"(?:{_pattern})\\Z")))


@dataclass(frozen=True, slots=True)
class Document:
    """One file: its path, or name, its data, and what returns the lines of those of given locations that exist."""

    path: Path | str
    data: Any
    scan_lines: Lines = field(repr=False)
    first_line: int = 1

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
        # Both are rare, and reading the events of a large document takes as long as composing it.
        if "*" in text or _depth_at_most(text) > limits.depth:
            _check_events(text, limits)
        root: yaml.Node | None = yaml.compose(text, Loader=_Loader)
        data = None if root is None else _construct(root, {})
        return Document(path, data, functools.partial(_lines, root, first_line), first_line)
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


def _depth_at_most(text: str) -> int:
    """Return levels that ``text`` does not exceed, by its brackets and its indentation."""
    depth = most = 0
    for bracket in _BRACKETS.findall(text):
        depth = depth + 1 if bracket in "[{" else max(depth - 1, 0)
        most = max(most, depth)
    return most + max((len(found) for found in _INDENTATION.findall(text)), default=0)


def _check_events(text: str, limits: Limits) -> None:
    """Check the levels of nesting, and count the values with aliases expanded, without expanding them."""
    sizes: dict[str, int] = {}
    open_: list[tuple[str | None, int]] = [(None, 0)]
    values = 0
    for event in yaml.parse(text, Loader=_Loader):
        line = 1 if event.start_mark is None else event.start_mark.line + 1
        if isinstance(event, yaml.CollectionStartEvent):
            values += 1
            open_.append((event.anchor, 1))
            if len(open_) - 1 > limits.depth:
                raise _Unreadable(line, f"has values nested more than {limits.depth} levels deep")
            continue
        anchor, size = None, 0
        if isinstance(event, yaml.AliasEvent):
            if any(name == event.anchor for name, _ in open_):
                raise _Unreadable(line, "has an alias inside the value that it refers to")
            size = sizes.get(event.anchor or "", 0)
        elif isinstance(event, yaml.ScalarEvent):
            anchor, size, values = event.anchor, 1, values + 1
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, size = open_.pop()
        if anchor is not None:
            sizes[anchor] = size
        open_[-1] = (open_[-1][0], open_[-1][1] + size)
        if sum(inner for _, inner in open_) > limits.aliased + values:
            more = f"aliases that add more than {limits.aliased:,} values" if limits.aliased else "an alias"
            raise _Unreadable(line, f"has {more}; write the values again")


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


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1


def _construct(node: yaml.Node, known: dict[int, Any]) -> Any:
    """Return the value of ``node``. Aliases share one value, which nothing changes."""
    if isinstance(node, yaml.ScalarNode):
        return _scalar(node)
    if id(node) not in known:
        is_list = isinstance(node, yaml.SequenceNode)
        known[id(node)] = [_construct(child, known) for child in node.value] if is_list else _mapping(node, known)
    return known[id(node)]


def _mapping(node: yaml.Node, known: dict[int, Any]) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    own: dict[str, Any] = {}
    for key_node, value_node in node.value:
        if not isinstance(key_node, yaml.ScalarNode):
            raise _Unreadable(_line(key_node), "a key must be text")
        if key_node.tag == _MERGE:
            value = _construct(value_node, known)
            for part in value if isinstance(value, list) else [value]:
                if not isinstance(part, dict):
                    raise _Unreadable(_line(value_node), "has a merge key (<<) whose value is not a mapping")
                merged = {**part, **merged}
        elif key_node.value in own:
            raise _Unreadable(_line(key_node), f"key {key_node.value!r} is given twice")
        else:
            own[key_node.value] = _construct(value_node, known)
    return {**merged, **own}


def _scalar(node: yaml.ScalarNode) -> Any:
    kind, text = node.tag.removeprefix(_TAG), node.value
    if kind in ("str", "merge"):
        return text
    if kind == "null":
        return None
    if kind == "bool":
        return text.lower() == "true"
    if kind not in ("int", "float"):
        raise _Unreadable(_line(node), f"is not valid YAML: it has the tag {node.tag[:60]!r}, which is not read")
    if len(text) > _MAX_DIGITS:
        raise _Unreadable(_line(node), "has a number that is too large")
    try:
        if kind == "int":
            return int(text, 0 if text[:2] in ("0o", "0x") else 10)
        return float(text)
    except ValueError:
        raise _Unreadable(_line(node), f"{text[:40]!r} is not of the type {kind}") from None


def _lines(root: yaml.Node | None, first_line: int, wanted: Iterable[Location]) -> dict[Location, int]:
    if root is None:
        return {}
    found: dict[Location, int] = {}
    members: dict[int, dict[str | int, tuple[int, yaml.Node]]] = {}
    for at in wanted:
        node, line = root, _line(root)
        for key in at:
            if id(node) not in members:
                members[id(node)] = dict(_members(node))
            if key not in members[id(node)]:
                break
            line, node = members[id(node)][key]
        else:
            found[at] = line - 1 + first_line
    return found


def _members(node: yaml.Node) -> Iterator[tuple[str | int, tuple[int, yaml.Node]]]:
    if isinstance(node, yaml.MappingNode):
        for key_node, value_node in node.value:
            if key_node.tag == _MERGE:
                for part in value_node.value if isinstance(value_node, yaml.SequenceNode) else [value_node]:
                    yield from _members(part)
        yield from ((key.value, (_line(key), value)) for key, value in node.value if key.tag != _MERGE)
    elif isinstance(node, yaml.SequenceNode):
        for number, child in enumerate(node.value):
            members = child.value if isinstance(child, yaml.MappingNode) else ()
            names = [value for key, value in members if key.value in ("name", "ref")]
            # An item of a list is also found by its name.
            for key in (number, *(one.value for one in (child, *names) if isinstance(one, yaml.ScalarNode))):
                yield key, (_line(child), child)


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
