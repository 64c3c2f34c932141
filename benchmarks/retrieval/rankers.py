"""What is compared: each ranker sees the same name and description of every tool, and a request's text. No more."""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
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


def direct_texts(catalog: Catalog) -> dict[str, str]:
    """name → the characters of the description that clients index which search the list of the mode ``direct``."""
    return {name: catalog.definition(at)["description"][:200] for at, name in enumerate(catalog)}


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


class Recorded:
    """A ranker that ran elsewhere, on these queries and with this limit.

    ``rank`` raises KeyError for any other query.
    """

    def __init__(self, answers: Mapping[str, Sequence[str]]) -> None:
        self._answers = answers

    def rank(self, query: str, limit: int) -> list[str]:
        return list(self._answers[query][:limit])


PYTHON = Path(".venv-clients/bin/python")
SCRIPT = Path(__file__).with_name("fastmcp_search.py")


def fastmcp_bm25(texts: Mapping[str, str], queries: Sequence[str], limit: int) -> Recorded:
    """Return FastMCP's search by keywords, for ``queries`` alone, at most ``limit`` deep.

    It runs in a separate environment (``make clients`` fills it), on the same names and texts.

    Raises:
        FileNotFoundError: FastMCP's environment is missing.
        subprocess.CalledProcessError: the search failed; its last words are on stderr.
    """
    if not PYTHON.exists():
        raise FileNotFoundError(f"{PYTHON} is missing: make clients")
    # Isolated: no module of this folder may stand in for one of FastMCP's.
    done = subprocess.run(
        [str(PYTHON), "-I", str(SCRIPT)],
        input=json.dumps({"tools": dict(texts), "queries": list(queries), "limit": limit}),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=1800,
    )
    return Recorded(json.loads(done.stdout))
