"""``TOOL_GET(tool_name, detail, known)``: describe one tool, or up to twenty.

The structured answer also has what the text leaves out: effect, errors, version.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from toolfold.catalog.entries import EFFECT_WORDS
from toolfold.errors import CallError
from toolfold.meta_tools import detail_levels
from toolfold.meta_tools.definitions import definitions
from toolfold.meta_tools.result import Result, dumps_compact, to_text
from toolfold.text_safety import shortened

if TYPE_CHECKING:
    from toolfold.catalog.entries import Tool
    from toolfold.catalog.model import Catalog
    from toolfold.meta_tools.dispatcher import MetaRequest
    from toolfold.wording import Reader


def refusal_of(catalog: Catalog, tool: Tool) -> str:
    """Return the code of the error that every call of ``tool`` has here; empty for one that may be called."""
    try:
        catalog.require_callable(tool)
    except CallError as error:
        return error.code
    return ""


def _details(catalog: Catalog, tool: Tool, refusal: str) -> dict[str, Any]:
    """Return the further members of an entry in full, which the text leaves out."""
    source = next((source for source in catalog.base.sources if source.id == tool.source), None)
    version = "" if source is None else source.version
    errors = ["INVALID_ARGUMENTS"]
    if source is not None and source.auth is not None:
        errors += ["AUTH_REQUIRED", "AUTH_REJECTED"]
        if (source.auth.oauth2 or {}).get("grant") == "authorization_code":
            errors.append("AUTHORIZATION_REQUIRED")
    if tool.needs_approval:
        errors += ["APPROVAL_REQUIRED", "APPROVAL_PENDING", "APPROVAL_DENIED"]
    if tool.access != "free":
        errors.append("PREMIUM_ONLY")
    if tool.effect == "read":
        errors.append("NO_DATA")
    errors += ["RATE_LIMITED", "UPSTREAM_ERROR", "UPSTREAM_TIMEOUT", "ANSWER_TOO_LARGE"]
    return {
        "effect": EFFECT_WORDS.get(tool.effect, tool.effect),
        "callable": not refusal,
        **({"version": version} if version else {}),
        "errors": [refusal] if refusal else errors,
    }


_NAME = re.compile(r"\w+")
_PARAMETERS = re.compile(r"\([^()]*\)\s*\Z")


def describe_tools(request: MetaRequest) -> Result:
    """Describe the tools that the arguments name."""
    tools, catalog = request.tools, request.catalog
    return tool_get(catalog, request.arguments, tools.switched_off(catalog), tools.reader)


def tool_get(
    catalog: Catalog, arguments: Mapping[str, Any], switched_off: Collection[str] = (), reader: Reader | None = None
) -> Result:
    """Describe the tools named in ``arguments``.

    Returns:
        ``{"tools": [entry, …]}`` in the order of the names; the text of a single name is its entry alone. An entry is
        ``{"name", "found": true, "description", "category", "access", "parameters": JSON Schema, "returns",
        "example_call", "see_also": [names], "use_instead": {other need: its tool}, "hash"}``; less with ``detail``
        medium or minimal. ``"effect": "writes"`` or ``"destructive"`` is added for a tool that does more than read,
        ``"confirm"`` for one whose calls need approval for another reason, ``"callable": false`` for one that is known
        here and not called. In full, the structured answer has ``"effect"``, ``"callable"``, ``"version"``
        and ``"errors": [codes]`` for every tool.
        For a tool whose hash is in ``known`` it is
        ``{"name", "found", "unchanged": true, "hash"}``, for an unknown name ``{"name", "found": false, "error"}``.
    """
    given, detail = arguments["tool_name"], arguments.get("detail", "full")
    listed = given
    if isinstance(given, str) and catalog.canonical_name(given) is None:
        from toolfold.execution.argument_values import listed_values  # the usual name needs none of it

        listed = _PARAMETERS.sub("", given)
        listed = listed_values(listed) or listed
    names = [listed] if isinstance(listed, str) else [str(name).strip() for name in listed]
    known_hashes = {name.strip().upper(): str(hash_) for name, hash_ in arguments.get("known", {}).items()}
    catalog.prefetch(tools=[name.upper() for name in names])
    if isinstance(given, str) and len(names) == 1:
        name = catalog.canonical_name(names[0])
        if name is not None and not known_hashes:  # the most frequent call, and always the same answer
            return catalog.memoize((detail, name), lambda: _result([_entry(catalog, name, detail, {})], is_one=True))
    entries = [_entry(catalog, name, detail, known_hashes, switched_off, reader) for name in names]
    return _result(entries, is_one=isinstance(given, str) and len(names) == 1)


class _Entry(NamedTuple):
    """The entry of a tool: what a model reads, and what the structured answer has beside it."""

    shown: dict[str, Any]
    details: Mapping[str, Any] = MappingProxyType({})
    error: CallError | None = None


def _result(entries: Sequence[_Entry], *, is_one: bool) -> Result:
    shown: list[Any] = [entry.shown for entry in entries]
    errors = [entry.error for entry in entries if entry.error is not None]
    tools = [{**entry.shown, **entry.details} for entry in entries]
    return Result({"tools": tools}, to_text(shown[0] if is_one else shown), errors=errors)


def _entry(
    catalog: Catalog,
    name: str,
    detail: str,
    known_hashes: Mapping[str, str],
    switched_off: Collection[str] = (),
    reader: Reader | None = None,
) -> _Entry:
    tool = catalog.get(name)
    if tool is None:
        from toolfold.meta_tools.tool_names import find_meta_tool, find_name, tool_not_found  # few names need it

        if (meta_tool := find_meta_tool(name)) is not None:
            return _meta_entry(catalog, meta_tool, detail, known_hashes, is_off=meta_tool in switched_off)
        tool = catalog.get(find_name(catalog, name) or name)
        if tool is None:
            error = tool_not_found(catalog, name)
            return _Entry({"name": shortened(name), "found": False, "error": error.as_dict(reader)}, error=error)
    if known_hashes.get(tool.name.upper()) == tool.hash:
        return _Entry({"name": tool.name, "found": True, "unchanged": True, "hash": tool.hash})
    refusal = refusal_of(catalog, tool)
    entry = {"name": tool.name, "found": True, **_described(tool, detail), "hash": tool.hash}
    if refusal:
        entry["callable"] = False
    shown = {key: value for key, value in entry.items() if value not in ((), {})}
    return _Entry(shown, _details(catalog, tool, refusal) if detail == "full" else {})


def _meta_entry(catalog: Catalog, name: str, detail: str, known_hashes: Mapping[str, str], *, is_off: bool) -> _Entry:
    import hashlib

    defined = definitions(catalog, (name,))[0]
    entry: dict[str, Any] = {"name": name, "found": True}
    hash_ = hashlib.sha256(dumps_compact(defined).encode()).hexdigest()[:8]
    if known_hashes.get(name) == hash_:
        entry["unchanged"] = True
    else:
        entry["description"] = defined["description"]
        if detail != "minimal":
            entry["parameters"] = defined["inputSchema"]
    return _Entry({**entry, "hash": hash_, **({"callable": False} if is_off else {})})


def _described(tool: Tool, detail: str) -> dict[str, Any]:
    if detail == "minimal":
        return {"description": tool.summary, **detail_levels.effect_field(tool)}
    is_full = detail == "full"
    description = detail_levels.full_description(tool) if is_full else tool.summary
    entry = {
        "description": description,
        "category": tool.category,
        "access": tool.access,
        **detail_levels.effect_field(tool),
        "parameters": tool.parameters if is_full else detail_levels.without_constraints(tool.parameters),
        "returns": tool.returns,
    }
    if not is_full:
        return entry
    mentioned = set(_NAME.findall(description))
    return {
        **entry,
        **({"confirm": tool.confirm} if tool.confirm else {}),
        "example_call": detail_levels.example_call(tool),
        "see_also": tool.see_also,
        "relations": tuple(dict(zip(("to", "kind", "via"), one, strict=False)) for one in tool.relations),
        # Without what the description says already.
        "use_instead": {need: other for need, other in tool.use_instead.items() if other not in mentioned},
    }
