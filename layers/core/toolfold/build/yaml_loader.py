"""Load YAML with the line of every value, for error messages.

Limits of YAML, checked before a value is made of it: levels of nesting, and values that aliases add.

PyYAML composes nodes by recursion in C, without a limit: a file with 100,000 brackets ends the process.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from toolfold.errors import SourceError

MAX_DEPTH = 200
"""Levels of nesting. Real documents have up to 40."""

_BRACKETS = re.compile(r"[\[\]{}]")
_INDENTATION = re.compile(r"^[ ?:-]+", re.MULTILINE)


class UnreadableYaml(Exception):
    """The text is not YAML, or not a document that can be expressed as JSON."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(problem)
        self.line, self.problem = line, problem


def check_depth(text: str, loader: Any) -> None:
    """Check the depth of nesting, by brackets and indentation, and from events where those could be too many.

    Args:
        text: the YAML.
        loader: the class of PyYAML that reads it.

    Raises:
        UnreadableYaml: there are more than :data:`MAX_DEPTH` levels.
        yaml.YAMLError: it is not YAML.
    """
    if not _may_be_deep(text):
        return
    depth = 0
    for event in yaml.parse(text, Loader=loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > MAX_DEPTH:
            line = 1 if event.start_mark is None else event.start_mark.line + 1
            raise UnreadableYaml(line, f"has values nested more than {MAX_DEPTH} levels deep")


def _may_be_deep(text: str) -> bool:
    """Return whether ``text`` can have more than :data:`MAX_DEPTH` levels."""
    depth = most = 0
    for bracket in _BRACKETS.findall(text):
        depth = depth + 1 if bracket in "[{" else max(depth - 1, 0)
        most = max(most, depth)
    indentation = max((len(found) for found in _INDENTATION.findall(text)), default=0)
    return most + indentation > MAX_DEPTH


def check_aliases(root: yaml.Node, max_aliased: int) -> None:
    """Count the values below ``root`` with aliases expanded, without expanding them.

    Args:
        root: what was composed.
        max_aliased: values that aliases may add. Nested aliases reach any number in ten lines.

    Raises:
        UnreadableYaml: there are more, or an alias is inside the value that it refers to.
    """
    sizes: dict[int, int] = {}
    open_: list[tuple[yaml.Node, int, bool]] = [(root, 0, False)]
    active: set[int] = set()
    while open_:
        node, depth, is_done = open_.pop()
        key = id(node)
        if is_done:
            active.discard(key)
            sizes[key] = 1 + sum(sizes[id(child)] for child in _children(node))
            if sizes[key] > max_aliased + 2 * len(sizes):
                raise UnreadableYaml(_line(node), f"has aliases that add more than {max_aliased:,} values")
        elif key in active:
            raise UnreadableYaml(_line(node), "has an alias inside the value that it refers to")
        elif key not in sizes:
            if depth > MAX_DEPTH:
                raise UnreadableYaml(_line(node), f"has values nested more than {MAX_DEPTH} levels deep")
            if isinstance(node, yaml.ScalarNode):
                sizes[key] = 1
                continue
            active.add(key)
            open_.append((node, depth, True))
            open_ += [(child, depth + 1, False) for child in _children(node)]


def _children(node: yaml.Node) -> list[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return [child for pair in node.value for child in pair]
    return list(node.value) if isinstance(node, yaml.SequenceNode) else []


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1


Location = tuple[str | int, ...]
"""Keys and indexes from the root of a document to a value, like the locations of pydantic."""

MAX_BYTES = 8 << 20
"""Of one file. The largest that was written by hand has 130 kB."""

MAX_ALIASED = 100_000
"""Values that the aliases of one file may add."""

# libyaml is ten times as fast; not every build of PyYAML has it.
_Safe: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_Safe):  # type: ignore[misc]  # which of the two is known at run time
    """A loader that leaves dates as text: 2024-01-31 is a string in JSON as well."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, regex) for tag, regex in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


@dataclass(frozen=True, slots=True)
class Document:
    """One YAML file: its data, and the line of every value."""

    path: Path
    data: Any
    lines: dict[Location, int] = field(repr=False)

    def where(self, location: Location) -> str:
        """Return ``file:line`` of ``location``, or of the closest enclosing value that exists."""
        for length in range(len(location), -1, -1):
            line = self.lines.get(location[:length])
            if line is not None:
                return f"{self.path}:{line}"
        return str(self.path)


def load(path: Path) -> Document:
    """Read one YAML file.

    Raises:
        SourceError: The file cannot be read, is not YAML, is too large, or repeats a key in one mapping.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            raise SourceError([f"{path}:1: is larger than {MAX_BYTES >> 20} MB"])
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise SourceError([f"{path}:1: cannot be read: {error.strerror}"]) from None
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise SourceError([f"{path}:{line}: is not UTF-8"]) from None
    return parse(path, text)


def parse(path: Path, text: str, first_line: int = 1) -> Document:
    """Parse YAML that is a file, or a part of one.

    Args:
        path: The file.
        text: The YAML.
        first_line: The line of the file at which it begins.

    Raises:
        SourceError: It is not YAML, is nested too deeply, or repeats a key in one mapping.
    """
    try:
        _check_depth(path, text, first_line)
        loader = _Loader(text)
    except yaml.reader.ReaderError as error:  # PyYAML's own reader checks the text here, libyaml's below
        raise _not_printable(path, text, error, first_line) from None
    lines: dict[Location, int] = {}
    try:
        root = loader.get_single_node()
        if root is not None:
            check_aliases(root, MAX_ALIASED)
        data = None if root is None else _build(loader, root, (), lines, path, first_line)
    except yaml.MarkedYAMLError as error:
        line = first_line if error.problem_mark is None else error.problem_mark.line + first_line
        raise SourceError([f"{path}:{line}: is not valid YAML: {error.problem or error.context}"]) from None
    except UnreadableYaml as error:
        raise SourceError([f"{path}:{error.line - 1 + first_line}: {error.problem}"]) from None
    except yaml.reader.ReaderError as error:
        raise _not_printable(path, text, error, first_line) from None
    finally:
        loader.dispose()
    return Document(path, data, lines)


def _check_depth(path: Path, text: str, first_line: int) -> None:
    """Raise an error for YAML that is nested too deeply to be composed; what is not YAML is found later."""
    try:
        check_depth(text, _Loader)
    except UnreadableYaml as error:
        raise SourceError([f"{path}:{error.line - 1 + first_line}: {error.problem}"]) from None
    except yaml.MarkedYAMLError:
        pass


def _not_printable(path: Path, text: str, error: yaml.reader.ReaderError, first_line: int) -> SourceError:
    position = error.position if isinstance(error.position, int) else 0
    line = text.encode()[:position].count(b"\n") + first_line
    return SourceError([f"{path}:{line}: contains a character that YAML does not allow"])


def _build(
    loader: _Loader, node: yaml.Node, at: Location, lines: dict[Location, int], path: Path, first_line: int
) -> Any:
    lines.setdefault(at, node.start_mark.line + first_line)
    if isinstance(node, yaml.SequenceNode):
        return [_build(loader, child, (*at, index), lines, path, first_line) for index, child in enumerate(node.value)]
    if isinstance(node, yaml.MappingNode):
        mapping: dict[Any, Any] = {}
        for key_node, value_node in node.value:
            key: Any = loader.construct_object(key_node, deep=True)
            line = key_node.start_mark.line + first_line
            if isinstance(key, list | dict | set):
                raise SourceError([f"{path}:{line}: a key must be text"])
            if key in mapping:
                raise SourceError([f"{path}:{line}: key {key!r} is given twice"])
            lines[(*at, key)] = line
            mapping[key] = _build(loader, value_node, (*at, key), lines, path, first_line)
        return mapping
    return loader.construct_object(node, deep=True)
