"""Names of calls and API keys: hashes, from which neither arguments nor keys can be read."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from toolfold.catalog.json_schema import properties

if TYPE_CHECKING:
    from toolfold.catalog.model import Source, Tool

_LAYOUT = 2
"""Increased when a stored entry changes its meaning: old entries are then never found again."""


def hash_api_key(source: Source, key: str, salt: str) -> str:
    """Return the hash that stands for an API key in counters and cache keys.

    Args:
        source: the source that the key belongs to.
        key: the API key; empty for a source without one.
        salt: makes the hash differ from one deployment to the next.
    """
    return hmac.new(f"toolfold {salt}".encode(), f"{source.id}\0{key}".encode(), hashlib.sha256).hexdigest()[:32]


def cache_key(source: Source, tool: Tool, arguments: Mapping[str, Any], endpoint: str, key_id: str) -> str:
    """Return the key under which the response to a call is stored.

    Two calls have the same key when they send the upstream the same: to the same endpoint, for the same function, with
    the same values, given or left to their defaults, in any order. Values keep their spelling, since an upstream may
    distinguish ``ibm`` from ``IBM``, and lists keep their order, since responses follow it.

    Args:
        source: the source of ``tool``.
        tool: the tool that is called.
        arguments: the validated arguments.
        endpoint: where the source is reached (``SourceAdapter.endpoint``).
        key_id: the hash of the API key where the response depends on it (``CachePolicy.varies_by_key``), else empty.
    """
    defaults = {
        name: rule["default"] for name, rule in properties(tool.parameters).items() if rule.get("default") is not None
    }
    values = {**defaults, **tool.call.get("sends", {}), **arguments}
    parts = [_LAYOUT, source.id, endpoint, tool.call.get("function"), tool.name, values, key_id]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
