"""Propose the call to make after arguments that do not fit the schema of their tool."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from toolfold.execution.calendar_dates import impossible_date
from toolfold.fuzzy import closest_matches
from toolfold.meta_tools.arguments import next_call
from toolfold.meta_tools.tool_names import examples_note, fitting_arguments

if TYPE_CHECKING:
    from toolfold.catalog.entries import Tool
    from toolfold.catalog.model import Catalog
    from toolfold.errors import InvalidArguments


def add_next_call(catalog: Catalog, arguments: Mapping[str, Any], error: InvalidArguments) -> None:
    """Add to ``error`` the call that would work, where it lists the problems of a tool's arguments.

    Args:
        catalog: the current catalog.
        arguments: those of the TOOL_CALL that failed, in the documented form.
        error: is changed.
    """
    problems = error.details.get("problems")
    tool = catalog.get(arguments["tool_name"])
    if not problems or "next_call" in error.details or tool is None or "Call TOOL_CALL with " in error.suggestion:
        return  # one next call, not two that differ
    from toolfold.execution.validation import validator_of

    given = arguments.get("arguments") or {}
    corrected = _corrected(tool, given, problems)
    if validator_of(catalog, tool).validate(corrected)[1]:
        corrected = dict(tool.example)
    others = {name: value for name, value in arguments.items() if name in ("select", "max_tokens", "fresh")}
    following = next_call("TOOL_CALL", {"tool_name": tool.name, "arguments": corrected, **others})
    if following:
        error.details = {**error.details, **following}
        error.suggestion += examples_note(given, corrected)


def _corrected(tool: Tool, given: Mapping[str, Any], problems: list[Mapping[str, str]]) -> dict[str, Any]:
    """Return what of ``given`` has no problem, with the closest values for the rest."""
    wrong = {problem["parameter"].partition(".")[0].partition("[")[0] for problem in problems}
    corrected = {name: value for name, value in given.items() if name not in wrong}
    known = tool.parameters.get("properties", {})
    for problem in problems:
        name = problem["parameter"]
        if name not in known:
            if name in given and (meant := closest_matches(name, known)):
                corrected.setdefault(meant[0], given[name])
        elif (closest := _closest_value(known[name], given.get(name))) is not None:
            corrected[name] = closest
        elif name in given and name in tool.example:
            corrected[name] = tool.example[name]
    return fitting_arguments(tool, corrected)


def _closest_value(rule: Any, value: Any) -> str | None:
    """Return the value allowed by ``rule`` that is closest to ``value``, or the date before one that does not exist."""
    if isinstance(value, str) and (wrong := impossible_date(value)) is not None and wrong.nearest:
        return wrong.nearest
    options = rule.get("enum") if isinstance(rule, Mapping) else None
    if not isinstance(options, list) or not isinstance(value, str | int | float):
        return None
    closest = closest_matches(str(value), [option for option in options if isinstance(option, str)], least=0.5)
    return closest[0] if closest else None
