"""Figures about one answer of a meta-tool, for the log and the metrics: what was found, sent and saved.

Counting may take a tenth of a millisecond at most, so that a long answer is counted by a sample.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from toolfold.meta_tools import detail_levels
from toolfold.results import tokens

if TYPE_CHECKING:
    from toolfold.catalog.model import Catalog
    from toolfold.meta_tools.result import MetaCall, Result

_SAMPLES, _SAMPLE_CHARS = 4, 128
"""Parts of an answer of TOOL_CALL whose tokens are counted: 0.03 ms, and within a tenth on tables."""


def usage_of(catalog: Catalog, call: MetaCall, result: Result) -> dict[str, int]:
    """Return the figures of one answer. Each is left out where it does not apply.

    Returns:
        ``searched``: 1 for a TOOL_LIST with a query, from the first match on. ``matched``: the tools that matched a
        TOOL_LIST. ``schemas_full``, ``schemas_medium``, ``schemas_minimal`` and ``schemas_unchanged``: the tools that
        TOOL_LIST and TOOL_GET described, by detail level. ``tokens``: those of the answer. ``tokens_saved``: of a
        search that found a tool, the tokens of the definitions of all tools less those of the answer; of other answers
        of TOOL_LIST and TOOL_GET, which add to a search, the tokens of the answer as a negative number.
    """
    if call.name not in ("TOOL_LIST", "TOOL_GET"):
        return {"tokens": _estimate(result.text)}
    entries = result.structured["tools"]
    if call.name == "TOOL_GET":
        levels = Counter(map(_level_of_entry, entries))
        found = {}
        # The text of one tool is the same at every call.
        answered = (
            catalog.memoize(("tokens", result.text), lambda: tokens.count(result.text))
            if len(entries) == 1
            else _estimate(result.text)
        )
    else:
        levels = Counter(detail_levels.name_of(entry) for entry in entries)
        found = {"matched": result.structured["matched"]}
        answered = result.structured["tokens"]
    saved = -answered
    query = call.arguments.get("query")
    if (query.strip() if isinstance(query, str) else query) and not result.structured.get("offset"):
        found["searched"] = 1
        saved += catalog.definition_tokens if entries else 0
    sent = {f"schemas_{level}": number for level, number in levels.items() if level}
    return {**found, **sent, "tokens": answered, **({"tokens_saved": saved} if catalog.definition_tokens else {})}


def _level_of_entry(entry: Mapping[str, Any]) -> str:
    """Return the detail level of an entry of TOOL_GET; empty for a name that was not found."""
    if not entry["found"]:
        return ""
    if "unchanged" in entry:
        return "unchanged"
    return detail_levels.name_of(entry)


def _estimate(text: str) -> int:
    """Return about the tokens of ``text``: of a long one from parts of it."""
    if len(text) <= _SAMPLES * _SAMPLE_CHARS:
        return tokens.count(text)
    # From the middle of each quarter: the notes above a table have longer words than its rows.
    step = len(text) // _SAMPLES
    starts = range((step - _SAMPLE_CHARS) // 2, len(text), step)
    sample = "".join(text[start : start + _SAMPLE_CHARS] for start in starts)
    return tokens.count(sample) * len(text) // len(sample)
