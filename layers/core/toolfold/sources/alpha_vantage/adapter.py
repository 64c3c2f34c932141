"""The adapter of Alpha Vantage: an HTTP API with plans, market hours and notices in prose."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from toolfold.sources.alpha_vantage import freshness
from toolfold.sources.base import CachePolicy
from toolfold.sources.http_api.adapter import HttpApiAdapter
from toolfold.sources.http_api.faults import ResponseParser

if TYPE_CHECKING:
    from toolfold.catalog.entries import Tool

_KEY_IN_NOTICE = re.compile(r"(?i)(api ?key(?: as| is|:|=)?\s+)[\w-]{8,}")
"""An API key as notices quote it: "We have detected your API key as …"."""


class AlphaVantageParser(ResponseParser):
    """Read the limits that notices name, and remove API keys from notices."""

    def fault_details(self, fault: Mapping[str, Any], body: str) -> dict[str, Any]:
        """Add ``limit``, e.g. ``25 per day``: of the limits in a notice the one that the wait is for."""
        details = super().fault_details(fault, body)
        wait_s = fault.get("retry_after_s")
        if wait_s is None:
            return details
        unit = "second" if wait_s < 60 else "minute" if wait_s < 3600 else "day"
        named = re.search(rf"(\d{{1,6}}) (?:API )?(?:requests?|calls?) per {unit}", body)
        return {**details, "limit": f"{named[1]} per {unit}"} if named else details

    def redact_notice(self, text: str) -> str:
        """Replace API keys."""
        return _KEY_IN_NOTICE.sub(r"\1[key]", text)


class AlphaVantageAdapter(HttpApiAdapter):
    """Call Alpha Vantage."""

    parser_type = AlphaVantageParser
    smaller_response_hint = "Ask for less: a shorter span, outputsize=compact, or datatype=csv where the tool has them."

    def cache_policy(self, tool: Tool, arguments: Mapping[str, Any], now: float) -> CachePolicy:
        """Keep a response until the data can change; for its key alone where the plan may decide what is returned.

        So may a key that the vendor does not know: where the form of the data is not known, a message looks like it.
        """
        ttl_s = freshness.ttl(tool, arguments, now, self.source.freshness)
        return CachePolicy(ttl_s, self.varies_by_key(tool, arguments))

    def varies_by_key(self, tool: Tool, arguments: Mapping[str, Any]) -> bool:
        """Return the part of :meth:`cache_policy` that looking up a response needs; it takes no time."""
        varies_by_plan = tool.access != "free" or "entitlement" in arguments
        has_known_form = tool.answer["csv"] is not None or any(tool.answer["rows"])
        return varies_by_plan or not has_known_form

    def quota_resets_at(self, now: float) -> float:
        """Return the next midnight in New York, where the vendor's markets are. The vendor documents no hour."""
        return freshness.next_midnight(now)
