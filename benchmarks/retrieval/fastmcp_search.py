"""Runs FastMCP's search by keywords on tools and queries from stdin. Needs fastmcp alone; ``rankers.py`` starts it.

In: ``{"tools": {name: description}, "queries": [text], "limit": n}``; out: ``{query: [names]}``. The search is used as
a client uses it: by calling the tool that the transform adds.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence

from fastmcp import Client, FastMCP
from fastmcp.server.transforms.search import BM25SearchTransform
from fastmcp.tools import Tool


def _nothing() -> None:
    """Stands for every tool: what is compared are names and descriptions."""


def _names(tools: Sequence[Tool]) -> str:
    return "\n".join(tool.name for tool in tools)


async def main() -> None:
    given = json.load(sys.stdin)
    server = FastMCP("tools")
    for name, description in given["tools"].items():
        server.add_tool(Tool.from_function(_nothing, name=name, description=description))
    server.add_transform(BM25SearchTransform(max_results=given["limit"], search_result_serializer=_names))
    answers = {}
    async with Client(server) as client:
        for query in given["queries"]:
            result = await client.call_tool("search_tools", {"query": query})
            answers[query] = result.content[0].text.split() if result.content else []
    json.dump(answers, sys.stdout)


if __name__ == "__main__":
    asyncio.run(main())
