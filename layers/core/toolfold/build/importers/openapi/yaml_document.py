"""Parse an OpenAPI document in YAML as YAML 1.2 means it, and refuse documents that expand without bounds.

PyYAML follows YAML 1.1, in which the country code ``NO`` is false and ``12:30`` a number. The OpenAPI specification
recommends the JSON schema of YAML 1.2: here only ``true``, ``false``, ``null`` and numbers are not text. Keys are
always text, so that the response ``200`` needs no quotes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import yaml

from toolfold.build.yaml_limits import UnreadableYaml, check_aliases, check_depth

__all__ = ["UnreadableYaml", "load_yaml"]

Location = tuple[str | int, ...]

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
