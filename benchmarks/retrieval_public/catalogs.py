"""Compile the tools of a public set as imported tools are: without texts written for the search."""

from __future__ import annotations

import re
from collections.abc import Sequence

from benchmarks.retrieval_public.public_sets import PublicTool
from toolfold.build import search_index, semantic_index, writer
from toolfold.catalog.model import Catalog
from toolfold.catalog.store import parse_catalog
from toolfold.catalog.tokenizer import in_words

_SENTENCE_END = re.compile(r"(?<=[.!?])\s")

_SOURCE = {
    "title": "Public",
    "description": "Tools of a public set.",
    "kind": "http_api",
    "base_url": "https://tools.example.org/",
    "function_key": "function",
    "auth": None,
    "no_data": "",
    "freshness": {},
    "faults": [],
    "unknown_notice": [],
}


def texts_of(tool: PublicTool) -> dict[str, list[str]]:
    """Return field → texts, as the compiler makes them of an imported tool."""
    summary, *rest = _SENTENCE_END.split(" ".join((tool.description or "").split()), maxsplit=1)
    texts = {
        "name": [in_words(tool.name)],
        "source": [in_words(tool.source)],
        "summary": [summary],
        "description": rest,
        "parameter_names": [in_words(name) for name, _ in tool.parameters],
        "parameter_descriptions": [description for _, description in tool.parameters],
        "category": [tool.category],
    }
    return {field: kept for field, found in texts.items() if (kept := [text for text in found if text])}


def name_of(position: int) -> str:
    """Return the name of a tool in the compiled catalog: some names of the sets occur twice."""
    return f"T{position}"


def compile_tools(tools: Sequence[PublicTool], *, semantic: bool = False) -> Catalog:
    """Return a catalog of ``tools``.

    Args:
        tools: The tools, in the order of the positions.
        semantic: Whether it has semantic postings, which needs the extra ``semantic``.
    """
    texts = [texts_of(tool) for tool in tools]
    index = search_index.build(texts)
    near, share = semantic_index.build(dict(enumerate(texts))) if semantic else ({}, 0.0)
    compiled = {
        "sources": {"public": _SOURCE},
        "categories": [],
        "listing": "",
        "definition_tokens": 0,
        "tools": {name_of(at): _entry(name_of(at)) for at in range(len(tools))},
        "index": index,
        "spellings": search_index.spellings(texts),
        "synonyms": {},
        "semantic": near,
        "semantic_share": share,
    }
    return parse_catalog(writer.dumps(compiled).encode())


def _entry(name: str) -> dict[str, object]:
    kind = {"source": "public", "category": "all", "access": "free", "effect": "read"}
    return {**kind, "title": name, "summary": name, "tags": []}
