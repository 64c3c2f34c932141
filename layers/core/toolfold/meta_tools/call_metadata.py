"""Metadata of an answer, for programs: in the structured content, never in the text that a model reads."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from toolfold.meta_tools.result import Result

if TYPE_CHECKING:
    from toolfold.catalog.entries import Tool
    from toolfold.execution.result import UpstreamUse
    from toolfold.meta_tools.call import Call

__all__ = ["add_metadata", "metadata"]

_MAX_ALTERNATIVES = 5
"""Similar tools that are named: those that the catalog lists first."""


def add_metadata(result: Result, call: Call, use: UpstreamUse, started: float) -> Result:
    """Return the answer to a call with its metadata.

    Args:
        result: the answer.
        call: the call.
        use: what it cost at the upstream.
        started: ``time.perf_counter()`` when the call began.
    """
    elapsed_s = time.perf_counter() - started
    return result._replace(structured={**result.structured, **metadata(call, result.structured, use, elapsed_s)})


def metadata(call: Call, answer: Any, use: UpstreamUse, elapsed_s: float) -> dict[str, Any]:
    """Return the metadata of an answer: times, requests, ``source``, ``warnings``, ``alternatives`` and ``reasoning``.

    ``warnings`` are the notes of the answer and that it is a preview or has expired, ``alternatives`` similar tools,
    ``reasoning`` how the answer was made.
    """
    tool = call.tool
    warnings = list(answer.get("notes", ()))
    if "late" in answer:
        warnings.append(f"The answer has expired; the source could not be reached: {answer['late']}.")
    if "preview" in answer:
        warnings.append(f"Shortened; left out: {answer['preview']['left_out']}.")
    return {
        "elapsed_ms": round(elapsed_s * 1000, 1),
        "upstream_ms": round(use.seconds * 1000, 1),
        "upstream_requests": use.requests,
        "source": tool.source,
        "warnings": warnings,
        "alternatives": _alternatives(tool),
        "reasoning": _reasoning(call, answer, use),
    }


def _alternatives(tool: Tool) -> list[str]:
    return list(dict.fromkeys([*tool.use_instead.values(), *tool.see_also]))[:_MAX_ALTERNATIVES]


def _reasoning(call: Call, answer: Any, use: UpstreamUse) -> str:
    """Return in a sentence where the answer comes from and what was selected of it."""
    if use.requests:
        origin = f"{use.requests} request{'' if use.requests == 1 else 's'} to {call.tool.source}"
    elif answer.get("cached"):
        origin = f"a cached answer of {call.tool.source}, {answer.get('age_s', 0)} s old"
    else:
        origin = f"an equal call of {call.tool.source} that was running"
    form = " in the form of the source" if call.options.raw_by else ""
    part = ", of which a part was selected" if call.options.select is not None else ""
    return f"{call.tool.name} was answered from {origin}{form}{part}."
