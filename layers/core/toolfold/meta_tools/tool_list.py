"""``TOOL_LIST()``: every tool's name and one line, by category."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolfold.meta_tools.result import Result

if TYPE_CHECKING:
    from toolfold.catalog.model import Catalog


def tool_list(catalog: Catalog) -> Result:
    """``{"tools": [{"name", "description", "category"}, …], "total", "categories": {name: count}}``.

    The text is the catalog's listing, made when it was compiled.
    """
    tools = [
        {"name": name, "description": summary, "category": category} for name, summary, category in catalog.summaries()
    ]
    categories = {category.name: category.tools for category in catalog.categories}
    return Result({"tools": tools, "total": len(tools), "categories": categories}, catalog.listing)
