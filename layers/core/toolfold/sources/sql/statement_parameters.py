"""Give the parameters of a statement their values, in any style of placeholders.

SQLite is given ``:p1``, PostgreSQL ``$1``. ``?``, ``%s``, ``:name`` and ``%(name)s`` become these. Values
are never put into the text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolfold.sources.sql.errors import DatabaseFailure, FailureKind

__all__ = ["BoundStatement", "bind_parameters"]

_PARTS = re.compile(
    r"""[eE]'(?:[^'\\]|''|\\.)*+'?+|'(?:[^']|'')*+'?+|"(?:[^"]|"")*+"?+|--[^\n]*+|/\*(?:[^*]|\*(?!/))*+(?:\*/)?+
    |\$\$(?:.|\n)*?(?:\$\$|\Z)|\$(?P<tag>[A-Za-z_]\w*)\$(?:.|\n)*?(?:\$(?P=tag)\$|\Z)
    |(?P<number>[$?]\d+)|(?P<mark>\?)|%\((?P<percent_name>\w+)\)s\b|(?P<percent>%s\b)
    |(?<![:\w])[:@$](?P<name>[A-Za-z_]\w*)""",
    re.VERBOSE,
)
"""Texts, quoted names and comments, in which nothing is a placeholder; then the placeholders."""

_PREFIXES = {"sqlite": ":p", "postgresql": "$"}


@dataclass(frozen=True)
class BoundStatement:
    """A statement with the placeholders of its dialect.

    Attributes:
        text: the statement.
        values: the first is that of ``:p1`` or ``$1``.
        edits: where ``text`` differs from the original: the end of a change in ``text``, and by how much it is longer.
    """

    text: str
    values: Sequence[Any]
    edits: tuple[tuple[int, int], ...] = ()

    def original_offset(self, offset: int) -> int:
        """Return the character of the original that the character ``offset`` of ``text`` is."""
        return offset - sum(added for end, added in self.edits if end <= offset)


def bind_parameters(statement: str, params: Sequence[Any] | Mapping[str, Any], dialect: str) -> BoundStatement:
    """Return ``statement`` with its placeholders as ``dialect`` has them, and the values.

    Args:
        statement: as the caller wrote it.
        params: the values, as a list or by name.
        dialect: ``sqlite`` or ``postgresql``.

    Raises:
        DatabaseFailure: a name has no value.
    """
    found = [match for match in _PARTS.finditer(statement) if match.lastgroup not in (None, "tag")]
    if isinstance(params, Mapping):
        return _by_name(statement, params, dialect, found)
    prefix = _PREFIXES[dialect]
    marks = [match for match in found if match["mark"]]
    percents = [match for match in found if match["percent"]]
    numbers = [match for match in found if match["number"]]
    if numbers:
        return _replaced(statement, [(match, f"{prefix}{match['number'][1:]}") for match in numbers], params)
    # In PostgreSQL "?" is an operator of jsonb as well, and "%s" may be a remainder: the numbers decide.
    if marks and dialect == "sqlite" and len(marks) != len(params):
        raise DatabaseFailure(
            FailureKind.STATEMENT, f"the statement has {len(marks)} parameters and params has {len(params)} values"
        )
    for group in (marks, percents):
        if group and len(group) == len(params):
            changes = [(match, f"{prefix}{position}") for position, match in enumerate(group, 1)]
            return _replaced(statement, changes, params)
    names = list(dict.fromkeys(match["name"] for match in found if match["name"]))
    if names and (len(names) == len(params) or dialect == "sqlite"):
        return _by_name(statement, dict(zip(names, params, strict=False)), dialect, found)
    return BoundStatement(statement, params)


def _by_name(statement: str, params: Mapping[str, Any], dialect: str, found: Sequence[re.Match[str]]) -> BoundStatement:
    named = [match for match in found if (match["name"] or match["percent_name"])]
    if dialect == "postgresql":  # where ":" may be that of a slice
        named = [match for match in named if (match["name"] or match["percent_name"]) in params]
    order: dict[str, int] = {}
    changes = []
    for match in named:
        name = match["name"] or match["percent_name"]
        if name not in params:
            raise DatabaseFailure(FailureKind.STATEMENT, f"params has no value for {name}", match.start())
        number = order.setdefault(name, len(order) + 1)
        changes.append((match, f"{_PREFIXES[dialect]}{number}"))
    return _replaced(statement, changes, [params[name] for name in order])


def _replaced(statement: str, changes: Sequence[tuple[re.Match[str], str]], values: Sequence[Any]) -> BoundStatement:
    parts, edits, position, length = [], [], 0, 0
    for match, text in changes:
        parts += [statement[position : match.start()], text]
        length += match.start() - position + len(text)
        edits.append((length, len(text) - len(match[0])))
        position = match.end()
    return BoundStatement("".join((*parts, statement[position:])), values, tuple(edits))
