"""Further meanings of words in a query: the content of ``vocabulary.yaml``."""

from __future__ import annotations

from toolfold.build.schema.field_types import Identifier, Model

__all__ = [
    "VOCABULARY",
    "Names",
    "Vocabulary",
]

VOCABULARY = "vocabulary.yaml"
"""Optional file in the folder of a source, with a :class:`Vocabulary`."""


class Names(Model):
    """Proper names of one kind, and the categories and tools that they refer to."""

    categories: list[Identifier] = []
    tools: list[str] = []
    preferred: list[str] = []
    """Tools that are preferred for a query with nothing but such a name."""
    words: str

    def matches_tool(self, category: str, tool: str) -> bool:
        """Return whether a name of this kind can refer to ``tool`` of ``category``."""
        return category in self.categories or tool in self.tools or tool in self.preferred


class Vocabulary(Model):
    """Additional meanings of words in a query."""

    names: dict[Identifier, Names] = {}
    synonyms: dict[str, dict[str, str]] = {}
    """Words of the catalog → language → synonyms, separated by commas."""
    ignored: str = ""
    """Words that a search ignores."""
    out_of_scope: dict[str, list[str]] = {}
    """Topic that the source does not serve → requests for it."""
