"""Find the call that an answer proposes, by what a model reads in it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from benchmarks.agent.client import Answer

Proposal = tuple[str, dict[str, Any]]

_WITH = re.compile(r"(TOOL_(?:LIST|GET|CALL))(?: again)?(?: with | |\()(?=\{)")
_SELECT = re.compile(r"""\bselect(?:=|: ?| )(?:"([^"]+)"|'([^']+)')""")
_WRITE = re.compile(
    r"""\b(?:write|try|use|send|ask for)(?: select)?:? (?:"([^"]+)"|'([^']+)'|`([^`]+)`)""", re.IGNORECASE
)
_PLAIN = re.compile(
    r"""\b[Ww]rite (?:e\.g\. )?((?!e\.g)[^\s"'][^"']*?)(?: for [\w ]+)?\.(?:\s|$)|\bas in (\w+\([\w*]+\))"""
)
_MEANT = re.compile(r"[Dd]id you mean '?([\w.]+)'?")
_QUOTED = re.compile(r"'([^']*)'")
_MOST_EXAMPLES = 3
"""Quoted forms beyond this are a list of the syntax, from which a model must choose."""


def proposed_call(name: str, arguments: Mapping[str, Any], answer: Answer) -> Proposal | None:
    """Return the call that ``answer`` says to make next, or None.

    Args:
        name: the tool of the call that was answered.
        arguments: of that call.
        answer: an error, or an answer with notes.
    """
    error = answer.structured.get("error", {})
    details = error if answer.is_error else answer.structured.get("preview", {})
    if isinstance(details, Mapping) and isinstance(details.get("next_call"), Mapping):
        ((tool, given),) = details["next_call"].items()
        return str(tool), dict(given)
    return _whole_call(answer.advice) or _select(name, arguments, answer.advice) or _meant(name, arguments, answer)


def _whole_call(text: str) -> Proposal | None:
    for found in _WITH.finditer(text):
        try:
            given, _ = json.JSONDecoder().raw_decode(text, found.end())
        except ValueError:
            continue
        return found[1], given
    if "TOOL_LIST()" in text:
        return "TOOL_LIST", {}
    return None


def _select(name: str, arguments: Mapping[str, Any], text: str) -> Proposal | None:
    if name != "TOOL_CALL":
        return None
    is_specific = len(re.findall(r'"[^"]+"', text)) <= _MOST_EXAMPLES
    found = (_WRITE.search(text) or _SELECT.search(text)) if is_specific else None
    found = found or (_PLAIN.search(text) if arguments.get("select") else None)
    if found is None:
        return None
    return name, {**arguments, "select": next(group for group in found.groups() if group)}


def _meant(name: str, arguments: Mapping[str, Any], answer: Answer) -> Proposal | None:
    """Return the call with the wrong word replaced by the one that may be meant."""
    if not answer.is_error:
        return None
    error, text = answer.structured["error"], answer.advice
    problems = error.get("problems")
    inner = arguments.get("arguments")
    if isinstance(problems, list) and isinstance(inner, Mapping):
        corrected = dict(inner)
        for problem in problems:
            meant = _MEANT.search(problem["expected"])
            if meant is not None and problem["parameter"] in corrected:
                corrected[meant[1]] = corrected.pop(problem["parameter"])
        return (name, {**arguments, "arguments": corrected}) if corrected != inner else None
    meant = _MEANT.search(text)
    if meant is None:
        return None
    wrong = {found.lower() for found in _QUOTED.findall(text)}
    corrected = {}
    for key, value in arguments.items():
        corrected[meant[1] if key.lower() in wrong else key] = _corrected(key, value, wrong, meant[1])
    return (name, corrected) if corrected != arguments else None


def _corrected(key: str, value: Any, wrong: set[str], meant: str) -> Any:
    if not isinstance(value, str):
        return value
    if key != "select":
        return meant if value.lower() in wrong else value
    words = "|".join(map(re.escape, filter(None, wrong)))
    return re.sub(rf"(?<!\w)(?:{words})(?!\w)", meant, value, flags=re.IGNORECASE) if words else value
