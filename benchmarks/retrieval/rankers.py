"""What is compared: each ranker sees the same name and description of every tool, and a request's text. No more."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping, Sequence
from typing import Protocol

from toolfold.catalog.model import Catalog
from toolfold.catalog.search import search
from toolfold.meta_tools.tool_get import tool_get

_WORD = re.compile(r"\w+")


class Ranker(Protocol):
    """Orders tools by how well they fit."""

    def rank(self, query: str, limit: int) -> list[str]:
        """The names of at most ``limit`` tools, best first; none when nothing fits."""
        ...


def descriptions(catalog: Catalog) -> dict[str, str]:
    """name → description, as ``TOOL_GET`` gives it."""
    return {name: tool_get(catalog, {"tool_name": name}).structured["tools"][0]["description"] for name in catalog}


class Toolfold:
    """The search of this project. Its index has names, descriptions and example queries."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def rank(self, query: str, limit: int) -> list[str]:
        return [self._catalog.summary(hit.position).name for hit in search(self._catalog, query).hits[:limit]]


class FullText:
    """SQLite's FTS5 as it comes: Porter stems, ``bm25()`` with its defaults, any word may match."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._database = sqlite3.connect(":memory:")
        self._database.execute("CREATE VIRTUAL TABLE tools USING fts5(name, description, tokenize='porter unicode61')")
        self._database.executemany("INSERT INTO tools VALUES (?, ?)", texts.items())

    def rank(self, query: str, limit: int) -> list[str]:
        words = " OR ".join(f'"{word}"' for word in _WORD.findall(query))
        if not words:
            return []
        sql = "SELECT name FROM tools WHERE tools MATCH ? ORDER BY bm25(tools), rowid LIMIT ?"
        return [name for (name,) in self._database.execute(sql, (words, limit))]

    def close(self) -> None:
        self._database.close()


class EveryWord:
    """Tools whose name or description contains every word of the query, in the catalog's order.

    Words are runs of letters and digits, so that punctuation does not decide; case does not count.
    """

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = {name: f"{name} {description}".lower() for name, description in texts.items()}

    def rank(self, query: str, limit: int) -> list[str]:
        words = _WORD.findall(query.lower())
        return [name for name, text in self._texts.items() if words and all(word in text for word in words)][:limit]


class Recorded:
    """A ranker that ran elsewhere, on these queries and with this limit.

    ``rank`` raises KeyError for any other query.
    """

    def __init__(self, answers: Mapping[str, Sequence[str]]) -> None:
        self._answers = answers

    def rank(self, query: str, limit: int) -> list[str]:
        return list(self._answers[query][:limit])
