"""The compiled layout of a catalog: the keys of its head, its sections, and what their values may be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolfold.catalog.entries import CONFIRM, EFFECTS, Auth, Category, Source, Tool
from toolfold.catalog.head_checks import is_line

FORMAT = 4
"""Version of the compiled layout. A reader refuses any other."""

HEAD_KEYS = {"count": int, "sources": dict, "categories": list, "counts": dict, "listing": str, "sections": dict}
"""Required keys of the head → their types."""

SECTIONS = {"tools", "names", "lines", "members", "index", "spellings", "synonyms"}
"""Required sections.

- ``tools``: name → fields of :class:`Tool`
- ``names``: name → position
- ``lines``: position → ``[name, summary, category, access]``, the effect where it is not ``read``, and
  :data:`CONFIRM`, after the effect, for a tool with ``confirm``
- ``members``: field and value → positions, as runs
- ``index``: term → postings
- ``spellings``: first letter and length → words
- ``synonyms``: word → terms

Optional is ``semantic``: word → postings of the tools near it in meaning, which ``catalog.semantic`` decodes.

Sections of a catalog with skills (``catalog.skills``):

- ``skills``: URI of a SKILL.md → name of its tool
- ``files``: SHA-256 → ``{"text"}``, or ``{"blob"}`` in Base64

Optional are ``profiles``, ``definitions`` and ``exposed`` as well: see ``catalog.profiles``.
"""

_LISTS = frozenset({"tags", "formats", "see_also"})
_OBJECTS = frozenset({"parameters", "example", "use_instead", "call", "answer"})
_OPTIONAL = frozenset({"hints", "confirm", "relations"})
_TOOL_FIELDS = {
    field: list if field in _LISTS else dict if field in _OBJECTS else str
    for field in Tool._fields
    if field not in _OPTIONAL
}
"""Required fields of the entry of a tool → their JSON types."""

_MAX_SYNONYMS = 100
"""Terms of one word: several times what any vocabulary has. Each takes a look-up."""


def is_tool(value: Any) -> bool:
    """Return whether ``value`` has the fields of a tool; ``catalog.tool_checks`` checks what is in them."""
    return (
        isinstance(value, dict)
        and all(isinstance(value.get(key), type_) for key, type_ in _TOOL_FIELDS.items())
        and value["effect"] in EFFECTS
    )


def is_summary(value: Any) -> bool:
    """Return whether ``value`` is the line of a tool: the fields of :class:`ToolSummary`."""
    # The effect is left out of the line of a tool that only reads.
    if not (is_texts(value) and 4 <= len(value) <= 6):
        return False
    if not (value[4:5] == [] or value[4] in EFFECTS) or value[5:] not in ([], [CONFIRM]):
        return False
    name, summary, category, access = value[:4]
    return is_line(name, summary, category, access)


def is_text(value: Any) -> bool:
    """Return whether ``value`` is a text."""
    return isinstance(value, str)


def is_content(value: Any) -> bool:
    """Return whether ``value`` is the content of a file: ``{"text"}`` or ``{"blob"}``."""
    return (
        isinstance(value, dict)
        and len(value) == 1
        and all(isinstance(value.get(key), str) for key in value)
        and (value.keys() <= {"text", "blob"})
    )


def is_texts(value: Any) -> bool:
    """Return whether ``value`` is a list of texts."""
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


def is_synonyms(value: Any) -> bool:
    """Return whether ``value`` has the terms of a word."""
    return is_texts(value) and len(value) <= _MAX_SYNONYMS


def parse_tool(entry: Mapping[str, Any]) -> Tool:
    """Return the tool of an entry for which :func:`is_tool` is true."""
    fields: dict[str, Any] = {
        key: tuple(entry[key]) if type_ is list else entry[key] for key, type_ in _TOOL_FIELDS.items()
    }
    relations = tuple(entry.get("relations", ()))
    return Tool(**fields, hints=entry.get("hints", {}), confirm=entry.get("confirm", ""), relations=relations)


def parse_source(id_: str, entry: Mapping[str, Any]) -> Source:
    """Return the source of an entry of the head.

    Raises:
        TypeError: the entry lacks a field.
        KeyError: the same.
    """
    fields = {key: value for key, value in entry.items() if key in Source._fields}
    fields["faults"], fields["unknown_notice"] = tuple(entry["faults"]), tuple(entry["unknown_notice"])
    fields["auth"] = None if entry["auth"] is None else Auth(**entry["auth"])
    return Source(id=id_, **fields)


def parse_category(entry: Mapping[str, Any]) -> Category:
    """Return the category of an entry of the head.

    Raises:
        TypeError: it is not one.
    """
    match entry:
        case {"name": str(), "source": str(), "title": str(), "description": str(), "tools": int()}:
            return Category(**entry)
    raise TypeError
