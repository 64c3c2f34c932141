"""The compiled layout of a catalog: the keys of its head, its sections, and what their values may be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolfold.catalog.entries import CONFIRM, EFFECTS, Auth, Source, Tool
from toolfold.catalog.text_checks import is_line

FORMAT = 4
"""Version of the compiled layout. A reader refuses any other."""

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

_LISTS = frozenset({"tags", "formats", "see_also", "relations"})

_MAX_SYNONYMS = 100
"""Terms of one word: several times what any vocabulary has. Each takes a look-up."""


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
    """Return the tool of an entry that the contract of catalogs allows."""
    fields: dict[str, Any] = {
        key: tuple(value) if key in _LISTS else value for key, value in entry.items() if key in Tool._fields
    }
    return Tool(**fields)


def parse_source(id_: str, entry: Mapping[str, Any]) -> Source:
    """Return the source of an entry of the head."""
    fields = {key: value for key, value in entry.items() if key in Source._fields}
    fields["faults"], fields["unknown_notice"] = tuple(entry["faults"]), tuple(entry["unknown_notice"])
    fields["auth"] = None if entry["auth"] is None else Auth(**entry["auth"])
    return Source(id=id_, **fields)
