"""Find the tool that a name means: other spellings of its name, and the closest names for an unknown one.

A name is found when it can mean one tool only: in another letter case, with other signs between its words, or with
what clients put around names: ``functions.GLOBAL_QUOTE``, ``mcp__server__GLOBAL_QUOTE``, ``GLOBAL_QUOTE()``. A misspelt
name is never taken for another: the error for it names the closest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from toolfold import messages
from toolfold.catalog.entries import COMBINING_TOOLS, META_TOOLS
from toolfold.errors import ToolNotFound
from toolfold.fuzzy import normalize
from toolfold.meta_tools.arguments import next_call, quote
from toolfold.meta_tools.detail_levels import properties, signature
from toolfold.wording import SignatureText, Text, joined

if TYPE_CHECKING:
    from toolfold.catalog.model import Catalog

MAX_NAME_LENGTH = 200
"""Characters of a name that is looked for in other spellings."""

_MAX_NORMALIZED = 2000
"""Largest catalog in which names are compared by letters and digits alone, which needs all of them."""

_SEPARATORS = re.compile(r"__|[.:/]")
_JOINTS = re.compile(r"[\W_]+|(?<=[a-z0-9])(?=[A-Z])")
_PREFIXES = frozenset({"api", "defaultapi", "function", "functions", "mcp", "tool", "tools", "toolfold"})
"""What clients and models put before the name of a tool, as ``fuzzy.normalize`` spells it."""

_META_TOOL_KEYS = {normalize(name): name for name in (*META_TOOLS, "TOOL_CALL_WRITE", *COMBINING_TOOLS)}


def find_meta_tool(name: str) -> str | None:
    """Return which meta-tool is called ``name``, in any spelling; None for other names."""
    if name in META_TOOLS or name in COMBINING_TOOLS:
        return name
    if len(name) > MAX_NAME_LENGTH:
        return None
    return next((found for text in _bare(name, ()) if (found := _META_TOOL_KEYS.get(normalize(text)))), None)


def find_name(catalog: Catalog, name: str) -> str | None:
    """Return the catalog's spelling of ``name``, or None when no tool, or more than one, may be meant."""
    if len(name) > MAX_NAME_LENGTH:
        return None
    if (found := catalog.canonical_name(name)) is not None:
        return found
    bare = list(_bare(name, [source.id for source in catalog.sources]))
    for text in bare:
        words = [word for word in _JOINTS.split(text) if word]
        for joint in ("_", "-", ".", ""):
            if (found := catalog.canonical_name(joint.join(words))) is not None:
                return found
    if len(catalog) > _MAX_NORMALIZED:
        return None
    names = catalog.memoize("normalized names", lambda: _normalized_names(catalog))
    return next((found for text in bare if (found := names.get(normalize(text)))), None)


def _bare(name: str, sources: list[str] | tuple[()]) -> Iterator[str]:
    """Yield ``name`` without quotes and brackets around it, then without the prefixes of clients."""
    text = name.strip().strip("`'\"").strip().removesuffix("()").strip()
    yield text
    parts = _SEPARATORS.split(text)
    known = _PREFIXES | {normalize(source) for source in sources}
    # The name of the server in mcp__server__tool is the client's.
    is_prefixed = normalize(parts[0]) == "mcp" or all(normalize(part) in known for part in parts[:-1])
    if len(parts) > 1 and is_prefixed:
        yield parts[-1] if normalize(parts[0]) != "mcp" or len(parts) < 3 else "__".join(parts[2:])


def _normalized_names(catalog: Catalog) -> dict[str, str | None]:
    """Return letters and digits of a name → the name, or None where several tools have the same."""
    names: dict[str, str | None] = {}
    for name in catalog:
        key = normalize(name)
        names[key] = None if key in names else name
    return names


def tool_not_found(catalog: Catalog, name: str, arguments: Mapping[str, Any] | None = None) -> ToolNotFound:
    """Return the error for a name that no tool has: the closest tool with its parameters, or the search to make."""
    from toolfold.catalog import search, tokenizer  # needed for errors only

    closest = search.closest_names(catalog, name)
    tool = catalog.get(closest[0]) if closest else None
    if tool is None:
        words = " ".join(tokenizer.in_words(name[:MAX_NAME_LENGTH]).lower().split())
        return ToolNotFound(
            f"There is no tool named {quote(name)}.",
            messages.SEARCH,
            closest=closest,
            **next_call("TOOL_LIST", {"query": words} if words.isprintable() and words else {}),
        )

    from toolfold.meta_tools.corrections import correct

    similar = f"Similar: {', '.join(closest[1:])}." if closest[1:] else ""
    note: str | Text = ""
    following = {}
    if arguments is not None:
        correction = correct(catalog, tool, arguments)
        following = correction.call(tool, {})
        note = correction.note(tool) if following else ""
    following = following or next_call("TOOL_GET", {"tool_name": tool.name})
    required = tool.parameters.get("required", ())
    meant = SignatureText(tool.name, signature(tool), {name: name in required for name in properties(tool.parameters)})
    return ToolNotFound(
        f"There is no tool named {quote(name)}.",
        joined(messages.DID_YOU_MEAN.filled(signature=meant), similar, note),
        closest=closest,
        **following,
    )
