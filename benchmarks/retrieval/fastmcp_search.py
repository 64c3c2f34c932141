"""Runs FastMCP's tool searches on tools and queries from stdin. Needs fastmcp alone; ``rankers.py`` starts it.

In: ``{"tools": {name: description}, "queries": [text], "limit": n}``; out: ``{"bm25" | "regex" | "regex_words":
{query: [names]}}``. The searches are used as a client uses them: by calling the tool that the transform adds.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fastmcp import Client, FastMCP
from fastmcp.server.transforms.search import BM25SearchTransform, RegexSearchTransform
from fastmcp.tools import Tool


def _nothing() -> None:
    """Stands for every tool: what is compared are names and descriptions."""


def _names(tools: Sequence[Tool]) -> str:
    return "\n".join(tool.name for tool in tools)


def _any_word(query: str) -> str:
    """A pattern that a model could write from a sentence: any of its words."""
    return r"\b(" + "|".join(map(re.escape, re.findall(r"\w+", query))) + r")\b"


async def _ask(
    given: Mapping[str, Any], transform: Any, argument: str, put: Callable[[str], str]
) -> dict[str, list[str]]:
    server = FastMCP("tools")
    for name, description in given["tools"].items():
        server.add_tool(Tool.from_function(_nothing, name=name, description=description))
    server.add_transform(transform(max_results=given["limit"], search_result_serializer=_names))
    answers = {}
    async with Client(server) as client:
        for query in given["queries"]:
            result = await client.call_tool("search_tools", {argument: put(query)})
            answers[query] = result.content[0].text.split() if result.content else []
    return answers


async def main() -> None:
    given = json.load(sys.stdin)
    json.dump(
        {
            "bm25": await _ask(given, BM25SearchTransform, "query", str),
            "regex": await _ask(given, RegexSearchTransform, "pattern", str),
            "regex_words": await _ask(given, RegexSearchTransform, "pattern", _any_word),
        },
        sys.stdout,
    )


if __name__ == "__main__":
    asyncio.run(main())
