"""Limits of YAML, checked before a value is made of it: levels of nesting, and values that aliases add.

PyYAML composes nodes by recursion in C, without a limit: a file with 100,000 brackets ends the process.
"""

from __future__ import annotations

import re
from typing import Any

import yaml

__all__ = ["MAX_DEPTH", "UnreadableYaml", "check_aliases", "check_depth"]

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
