"""What the structured answer of TOOL_GET says of a tool beside its text: effect, errors, examples, version."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from toolfold.catalog.entries import EFFECT_WORDS
from toolfold.errors import CallError
from toolfold.meta_tools.detail_levels import properties

if TYPE_CHECKING:
    from toolfold.catalog.entries import Source, Tool
    from toolfold.catalog.model import Catalog

__all__ = ["MAX_EXAMPLES", "refusal_of", "tool_details"]

MAX_EXAMPLES = 3

_RESTRICTING = ("oneOf", "not", "if", "dependentSchemas", "dependentRequired")
"""Keywords by which one argument may exclude another: then no argument is added to the example."""


def refusal_of(catalog: Catalog, tool: Tool) -> str:
    """Return the code of the error that every call of ``tool`` has here; empty for one that may be called."""
    try:
        catalog.require_callable(tool)
    except CallError as error:
        return error.code
    return ""


def tool_details(catalog: Catalog, tool: Tool, refusal: str) -> dict[str, Any]:
    """Return the further members of an entry of the level ``full``.

    Args:
        catalog: the current catalog.
        tool: the tool that is described.
        refusal: what :func:`refusal_of` returns for the tool.
    """
    source = next((source for source in catalog.base.sources if source.id == tool.source), None)
    examples = _examples(tool, "" if source is None else source.format_parameter)
    return {
        "effect": EFFECT_WORDS.get(tool.effect, tool.effect),
        "callable": not refusal,
        "version": (source.version if source is not None else "") or tool.hash,
        "errors": [refusal] if refusal else list(_errors(tool, source)),
        "examples": [{"tool_name": tool.name, "arguments": arguments} for arguments in examples],
    }


def _errors(tool: Tool, source: Source | None) -> Iterator[str]:
    """Yield the codes of the errors that a call may end in, and that are not about the deployment."""
    yield "INVALID_ARGUMENTS"
    if source is not None and source.auth is not None:
        yield from ("AUTH_REQUIRED", "AUTH_REJECTED")
    if tool.needs_approval:
        yield from ("APPROVAL_REQUIRED", "APPROVAL_PENDING", "APPROVAL_DENIED")
    if tool.access != "free":
        yield "PREMIUM_ONLY"
    if tool.effect == "read":
        yield "NO_DATA"
    yield from ("RATE_LIMITED", "UPSTREAM_ERROR", "UPSTREAM_TIMEOUT", "ANSWER_TOO_LARGE")


def _examples(tool: Tool, format_parameter: str) -> Iterator[Mapping[str, Any]]:
    """Yield the example of the catalog, and the same with an optional argument each."""
    yield tool.example
    if any(keyword in tool.parameters for keyword in _RESTRICTING):
        return
    premium, count = tool.hints.get("premium", {}), 1
    for name, rule in properties(tool.parameters).items():
        if count == MAX_EXAMPLES:
            return
        if name in tool.example or name == format_parameter or not isinstance(rule, dict):
            continue
        values = [
            value
            for value in rule.get("enum") or rule.get("examples") or ()
            if value != rule.get("default") and value not in premium.get(name, ())
        ]
        if values:
            count += 1
            yield {**tool.example, name: values[0]}
