"""A FastMCP server over HTTP with tools of every kind of answer; its argument is the port. Run by ``.venv-clients``."""

import sys
from typing import Any

from fastmcp import Context, FastMCP
from fastmcp.utilities.types import Image
from pydantic import BaseModel

PIXEL = b"\x89PNG\r\n\x1a\n"
"""The beginning of a picture: what is in it does not matter here."""

mcp = FastMCP("depot", instructions="Stock of a depot.", version="4.5.6")


class Part(BaseModel):
    """One kind of part."""

    number: str
    name: str
    stock: int


PARTS = [
    Part(number="0017", name="bolt", stock=120),
    Part(number="0042", name="nut", stock=7),
    Part(number="0100", name="gear", stock=0),
]


@mcp.tool(annotations={"readOnlyHint": True})
def list_parts() -> list[Part]:
    """List all parts with their stock."""
    return PARTS


@mcp.tool(annotations={"readOnlyHint": True})
def find_part(number: str) -> Part:
    """Return one part by its number."""
    for part in PARTS:
        if part.number == number:
            return part
    raise ValueError(f"no part has the number {number}")


@mcp.tool(annotations={"readOnlyHint": True})
def picture_of_part(number: str) -> list[Any]:
    """Return a picture of a part, and its name."""
    return [f"Part {number}", Image(data=PIXEL, format="png")]


@mcp.tool(annotations={"readOnlyHint": True})
async def count_stock(ctx: Context) -> int:
    """Count all parts, reporting progress."""
    for position, _ in enumerate(PARTS, 1):
        await ctx.report_progress(position, len(PARTS), "counting")
    return sum(part.stock for part in PARTS)


@mcp.tool(annotations={"readOnlyHint": False, "destructiveHint": False})
def reserve_part(number: str, count: int = 1) -> str:
    """Reserve parts of one kind."""
    return f"reserved {count} × {number}"


@mcp.tool
def scrap_part(number: str) -> str:
    """Scrap all parts of one kind."""
    return f"scrapped {number}"


if __name__ == "__main__":
    mcp.run(transport="http", host="127.0.0.1", port=int(sys.argv[1]), show_banner=False)
