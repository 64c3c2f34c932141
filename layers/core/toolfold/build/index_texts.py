"""Collect the texts by which tools are found: field → texts, for ``search_index`` and ``semantic_index``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from toolfold.build.schema.tools import Tool
from toolfold.build.schema.vocabulary import Vocabulary
from toolfold.build.tool_definition import ToolDefinition
from toolfold.catalog import json_schema
from toolfold.catalog.index_fields import described_fields
from toolfold.catalog.tokenizer import in_words, stems

__all__ = ["out_of_scope_texts", "searchable_texts", "without_queries"]


def searchable_texts(
    definitions: Sequence[ToolDefinition], vocabularies: Mapping[str, Vocabulary]
) -> list[dict[str, list[str]]]:
    """Return the indexed texts of each tool. A phrase in ``use_instead`` is a text of the tool that it refers to."""
    redirected: dict[str, list[str]] = {}
    for entry in definitions:
        for other in entry.tool.use_instead:
            redirected.setdefault(other.tool, []).append(other.phrase)
    return [
        _texts(entry, vocabularies[entry.source.settings.id], redirected.get(entry.tool.name, []))
        for entry in definitions
    ]


def without_queries(
    definitions: Sequence[ToolDefinition], searchable: Sequence[dict[str, list[str]]]
) -> dict[int, dict[str, list[str]]]:
    """Return position → indexed texts of the tools without example queries.

    Example queries have the words of users. Words near in meaning beside them rank worse than they do alone
    (docs/explanation/decisions/semantic-postings.md).
    """
    return {at: texts for at, texts in enumerate(searchable) if not definitions[at].tool.example_queries}


def _texts(entry: ToolDefinition, vocabulary: Vocabulary, redirected: list[str]) -> dict[str, list[str]]:
    category, tool, names = entry.category, entry.tool, vocabulary.names.items()
    # Written requests say better what a tool is for than its parameters, which similar tools share.
    parameters = {} if tool.example_queries else _parameters(tool)
    return {
        **described_fields(tool, parameters, [category.title, category.description]),
        "example_queries": tool.example_queries,
        "aliases": tool.aliases,
        "redirected_queries": redirected,
        "kinds": [f"@{kind}" for kind, known in names if known.matches_tool(category.category, tool.name)],
        "preferred": [f"@{kind}" for kind, known in names if tool.name in known.preferred],
    }


def _parameters(tool: Tool) -> dict[str, str]:
    """Return parameter → description."""
    if tool.parameters_schema is None:
        return {parameter.name: parameter.description or "" for parameter in tool.parameters}
    rules = json_schema.properties(tool.parameters_schema)
    return {name: str(rule.get("description", "")) for name, rule in rules.items()}


def out_of_scope_texts(
    definitions: Sequence[ToolDefinition], vocabularies: Mapping[str, Vocabulary]
) -> list[dict[str, list[str]]]:
    """Return the indexed texts of each topic that no tool serves.

    A source knows only its own tools. What it does not serve, such as placing orders, another source may be for: a
    phrase is left out where it shares a word with the name, the title or the summary of a tool of another source.
    """
    served: dict[str, set[str]] = {}
    for entry in definitions:
        text = f"{in_words(entry.tool.name)} {entry.tool.title} {entry.tool.summary}"
        served.setdefault(entry.source.settings.id, set()).update(stems(text))
    topics = []
    for source, vocabulary in vocabularies.items():
        others = {term for id_, terms in served.items() if id_ != source for term in terms}
        for topic, phrases in vocabulary.out_of_scope.items():
            parts = [part for phrase in phrases for part in phrase.split(",")]
            kept = [part for part in parts if others.isdisjoint(stems(part))]
            titles = [topic] if others.isdisjoint(stems(topic)) else []
            topics.append({"example_queries": kept, "title": titles})
    return topics
