"""Read an OpenAPI document within limits, and find the lines of its values for error messages.

A document of ten megabytes has a million values. Their lines are therefore not recorded: :meth:`Document.lines` scans
the text again for the few locations that problems and tools refer to.

Parse an OpenAPI document in YAML as YAML 1.2 means it, and refuse documents that expand without bounds.

PyYAML follows YAML 1.1, in which the country code ``NO`` is false and ``12:30`` a number. The OpenAPI specification
recommends the JSON schema of YAML 1.2: here only ``true``, ``false``, ``null`` and numbers are not text. Keys are
always text, so that the response ``200`` needs no quotes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from json.decoder import scanstring  # type: ignore[attr-defined]  # not in typeshed
from pathlib import Path
from typing import Any

import yaml

from toolfold.build.yaml_loader import UnreadableYaml, check_aliases, check_depth
from toolfold.errors import SourceError

MAX_ALIASED = 500_000
"""Values that aliases may add. Nested aliases reach any number in ten lines."""

_MAX_DIGITS = 300
_TAG = "tag:yaml.org,2002:"
_MERGE = f"{_TAG}merge"

# libyaml is ten times as fast; not every build of PyYAML has it.
_Safe: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_RESOLVERS: tuple[tuple[str, str, str], ...] = (
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("int", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", "-+0123456789"),
    ("float", r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", "-+.0123456789"),
    ("null", r"~|null|Null|NULL|", "~nN"),
    ("merge", r"<<", "<"),
)


class _Loader(_Safe):  # type: ignore[misc]  # which of the two is known at run time
    """A loader with the implicit types of YAML 1.2 (section 10.3, core schema), and merge keys."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012 - as PyYAML has it


for _kind, _pattern, _first in _RESOLVERS:
    for _letter in (*_first, *([""] if _kind == "null" else [])):
        _entries = _Loader.yaml_implicit_resolvers.setdefault(_letter, [])
        _entries.append((f"{_TAG}{_kind}", re.compile(f"(?:{_pattern})\\Z")))


def load_yaml(text: str) -> tuple[Any, Callable[[Iterable[Location]], Mapping[Location, int]]]:
    """Return the data of ``text``, and a function that returns the lines of given locations.

    Raises:
        UnreadableYaml: It is not valid, or exceeds the limits.
    """
    root = _compose(text)
    if root is None:
        return None, lambda _: {}
    check_aliases(root, MAX_ALIASED)
    return _construct(root, {}), lambda wanted: _lines(root, wanted)


def _compose(text: str) -> yaml.Node | None:
    try:
        check_depth(text, _Loader)
        loader = _Loader(text)
        try:
            root: yaml.Node | None = loader.get_single_node()
            return root
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        line = 1 if error.problem_mark is None else error.problem_mark.line + 1
        raise UnreadableYaml(line, f"is not valid YAML: {error.problem or error.context}") from None
    except yaml.reader.ReaderError as error:
        position = error.position if isinstance(error.position, int) else 0
        line = text.encode(errors="replace")[:position].count(b"\n") + 1
        raise UnreadableYaml(line, "contains a character that YAML does not allow") from None
    except RecursionError:
        raise UnreadableYaml(1, "is not valid YAML: values are nested too deeply") from None


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1


def _construct(node: yaml.Node, known: dict[int, Any]) -> Any:
    """Return the value of ``node``. Aliases share one value, which nothing changes."""
    if isinstance(node, yaml.ScalarNode):
        return _scalar(node)
    if id(node) in known:
        return known[id(node)]
    made: Any
    if isinstance(node, yaml.SequenceNode):
        made = [_construct(child, known) for child in node.value]
    else:
        made = _mapping(node, known)
    known[id(node)] = made
    return made


def _mapping(node: yaml.Node, known: dict[int, Any]) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    own: dict[str, Any] = {}
    for key_node, value_node in node.value:
        if not isinstance(key_node, yaml.ScalarNode):
            raise UnreadableYaml(_line(key_node), "has a key that is not text")
        if key_node.tag == _MERGE:
            value = _construct(value_node, known)
            for part in value if isinstance(value, list) else [value]:
                if not isinstance(part, dict):
                    raise UnreadableYaml(_line(value_node), "has a merge key (<<) whose value is not a mapping")
                merged = {**part, **merged}
        elif key_node.value in own:
            raise UnreadableYaml(_line(key_node), f"key {key_node.value!r} is given twice")
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
    try:
        if kind == "int" and len(text) <= _MAX_DIGITS:
            return int(text, 0 if text[:2] in ("0o", "0x") else 10)
        if kind == "float" and len(text) <= _MAX_DIGITS:
            return float(text)
    except ValueError:
        raise UnreadableYaml(_line(node), f"{text[:40]!r} is not of the type {kind}") from None
    problem = "has a number that is too large" if kind in ("int", "float") else f"has the tag {node.tag[:60]!r}"
    raise UnreadableYaml(_line(node), f"{problem}, which no OpenAPI document needs")


def _lines(root: yaml.Node, wanted: Iterable[Location]) -> dict[Location, int]:
    """Return the lines of the ``wanted`` locations that exist below ``root``."""
    found: dict[Location, int] = {}
    members: dict[int, dict[str | int, tuple[int, yaml.Node]]] = {}
    for at in wanted:
        node, line = root, 1
        for key in at:
            if id(node) not in members:
                members[id(node)] = dict(_members(node))
            if key not in members[id(node)]:
                break
            line, node = members[id(node)][key]
        else:
            found[at] = line
    return found


def _members(node: yaml.Node) -> Iterable[tuple[str | int, tuple[int, yaml.Node]]]:
    if isinstance(node, yaml.MappingNode):
        for key_node, value_node in node.value:
            if key_node.tag == _MERGE:
                parts = value_node.value if isinstance(value_node, yaml.SequenceNode) else [value_node]
                for part in parts:
                    yield from _members(part)
        yield from ((key.value, (_line(key), value)) for key, value in node.value if key.tag != _MERGE)
    elif isinstance(node, yaml.SequenceNode):
        yield from ((number, (_line(child), child)) for number, child in enumerate(node.value))


Location = tuple[str | int, ...]
"""Keys and indexes from the root of a document to a value."""

MAX_BYTES = 64 * 2**20
"""Largest document. The largest public ones, of cloud providers, have 10 to 20 MB."""

_VERSIONS = re.compile(r"3\.[01](?:\.\d+)?(?:-\w+)?")
_SPACE = re.compile(r"[ \t\n\r]*")

Lines = Callable[[Iterable[Location]], Mapping[Location, int]]


class DocumentError(Exception):
    """One operation, or the whole document, cannot be expressed as tools.

    Args:
        at: Where in the document.
        problem: What is wrong and what to do, in one sentence without a full stop.
    """

    def __init__(self, at: Location, problem: str) -> None:
        super().__init__(problem)
        self.at = at
        self.problem = problem


@dataclass
class Findings:
    """What was found in a document beside its tools.

    Attributes:
        left_out: Operations that cannot be expressed, each with the reason.
        notes: Parts that are left out of tools without harm, and corrections.
    """

    left_out: list[DocumentError] = field(default_factory=list)
    notes: list[DocumentError] = field(default_factory=list)

    def note(self, at: Location, sentence: str) -> None:
        """Add a note."""
        self.notes.append(DocumentError(at, sentence))


@dataclass(frozen=True)
class Document:
    """A parsed document. ``name`` is its path as errors show it."""

    name: str
    data: dict[str, Any] = field(repr=False)
    scan_lines: Lines = field(repr=False)

    def lines(self, locations: Iterable[Location]) -> dict[Location, int]:
        """Return the line of each of ``locations``, or of the closest enclosing value that exists."""
        wanted = set(locations)
        found = self.scan_lines({at[:length] for at in wanted for length in range(1, len(at) + 1)})
        return {
            at: next((line for length in range(len(at), 0, -1) if (line := found.get(at[:length]))), 1) for at in wanted
        }


def read_document(path: Path, name: str = "") -> Document:
    """Read the document at ``path``.

    Args:
        path: A JSON or YAML file.
        name: How errors name the file; by default its path.

    Raises:
        SourceError: It cannot be read, is too large, or is not an OpenAPI document.
    """
    shown = name or str(path)
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise SourceError([f"{shown}:1: cannot be read: {error.strerror}"]) from None
    return parse_document(content, shown)


def parse_document(content: bytes, name: str) -> Document:
    """Parse the bytes of a document.

    Raises:
        SourceError: It is too large, or is not an OpenAPI document.
    """
    if len(content) > MAX_BYTES:
        raise SourceError([f"{name}:1: is larger than {MAX_BYTES // 2**20} MB; split it, or remove what is not needed"])
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise SourceError([f"{name}:{line}: is not UTF-8"]) from None
    data, lines = _parse(text, name)
    if not isinstance(data, dict):
        raise SourceError([f"{name}:1: is not an OpenAPI document: it has no keys"])
    return Document(name, data, lines)


def check_version(document: Document) -> None:
    """Check that ``document`` has a version of OpenAPI that can be read.

    Raises:
        SourceError: It has another one, or none.
    """
    data = document.data
    if "openapi" not in data and "swagger" not in data:
        raise SourceError([f"{document.name}:1: is not an OpenAPI document: it has no key openapi"])
    key = "openapi" if "openapi" in data else "swagger"
    version = str(data[key])
    if not (_VERSIONS.fullmatch(version) if key == "openapi" else version == "2.0"):
        line = document.lines([(key,)])[key,]
        raise SourceError([f"{document.name}:{line}: has the version {version[:40]!r}; 3.0, 3.1 and 2.0 are read"])


def _parse(text: str, name: str) -> tuple[Any, Lines]:
    if text.lstrip()[:1] == "{":
        try:
            return json.loads(text, parse_constant=_refuse_constant), lambda wanted: json_lines(text, wanted)
        except json.JSONDecodeError as error:
            # A YAML document may begin with a brace as well; only a file called .json must be JSON.
            if not name.endswith((".yaml", ".yml")):
                raise SourceError([f"{name}:{error.lineno}: is not valid JSON: {error.msg}"]) from None
        except (ValueError, RecursionError) as error:
            reason = "values are nested too deeply" if isinstance(error, RecursionError) else "a number is too large"
            raise SourceError([f"{name}:1: is not valid JSON: {reason}"]) from None
    try:
        return load_yaml(text)
    except UnreadableYaml as error:
        raise SourceError([f"{name}:{error.line}: {error.problem}"]) from None


def _refuse_constant(_: str) -> None:
    raise ValueError


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


_skip_value = json.JSONDecoder().scan_once  # type: ignore[attr-defined]  # not in typeshed


def _space(text: str, index: int) -> int:
    return _SPACE.match(text, index).end()  # type: ignore[union-attr]  # it matches the empty string


def _scan(text: str, index: int, tree: Mapping[str | int, Any], at: Location, found: dict[Location, int]) -> int:
    """Record the positions of the members of the value at ``index`` that ``tree`` has, and return its end."""
    opening = text[index]
    if opening not in "{[" or not tree:
        return int(_skip_value(text, index)[1])
    closing = "}" if opening == "{" else "]"
    number, index = 0, _space(text, index + 1)
    while text[index] != closing:
        key: str | int = number
        start = index
        if opening == "{":
            key, index = scanstring(text, index + 1)
            index = _space(text, _space(text, index) + 1)
        if key in tree:
            found[(*at, key)] = start
            index = _scan(text, index, tree[key], (*at, key), found)
        else:
            index = int(_skip_value(text, index)[1])
        index = _space(text, index)
        if text[index] == ",":
            index = _space(text, index + 1)
        number += 1
    return index + 1
