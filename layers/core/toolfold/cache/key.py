"""Names of calls and API keys: hashes, from which neither arguments nor keys can be read."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from toolfold.catalog.json_schema import properties

if TYPE_CHECKING:
    from toolfold.catalog.entries import Source, Tool

_LAYOUT = 3
"""Increased when a stored entry changes its meaning: old entries are then never found again."""

_SIMPLE_TYPES = frozenset({str, int, float, bool, type(None)})
_MAX_SIMPLE, _MAX_SIMPLE_CHARS = 20, 500
"""Arguments, and characters of each, that :func:`simple_text` accepts: those of usual calls."""

_NOT_SENT = frozenset({"function", "query", "lists", "sends", "arguments", "blank_allowed"})
"""Keys of a tool's ``call`` that say how arguments are read, or whose effect is in the arguments."""


class CacheKeys(NamedTuple):
    """The cache keys of one call.

    Attributes:
        data: of data that it may get: first what all API keys share, where there is such, then what is its key's alone.
        error: of the error that its key met.
    """

    data: tuple[str, ...]
    error: str

    @property
    def own(self) -> str:
        """Where data is stored for the key alone."""
        return self.data[-1]


def hash_api_key(source: Source, endpoint: str, key: str, salt: str) -> str:
    """Return the hash that stands for an API key in counters, limits and cache keys.

    The address is part of it: what one service refuses says nothing about another that is called with the same key.

    Args:
        source: the source that the key belongs to.
        endpoint: where the source is reached (``SourceAdapter.endpoint``).
        key: the API key; empty for a source without one.
        salt: makes the hash differ from one deployment to the next.
    """
    secret = f"toolfold {salt}".encode(errors="surrogatepass")  # an environment may hold any bytes
    message = f"{source.id}\0{endpoint}\0{key}".encode(errors="surrogatepass")
    return hmac.digest(secret, message, "sha256").hex()[:32]


def cache_key(source: Source, tool: Tool, arguments: Mapping[str, Any], endpoint: str) -> str:
    """Return the key under which the response to a call is stored.

    Two calls have the same key when they send the upstream the same: to the same endpoint, for the same function, with
    the same values, given or left to their defaults, in any order. Values keep their spelling and their type, since an
    upstream may distinguish ``ibm`` from ``IBM``; lists and nested objects keep their order, since responses follow it.

    Args:
        source: the source of ``tool``.
        tool: the tool that is called.
        arguments: the validated arguments.
        endpoint: where the source is reached (``SourceAdapter.endpoint``).
    """
    declared = properties(tool.parameters)
    defaults = {name: rule["default"] for name, rule in declared.items() if rule.get("default") is not None}
    values = {**defaults, **tool.call.get("sends", {}), **arguments}
    named = [(name, values[name]) for name in declared if name in values]
    # What the schema does not name is sent in the order in which it is given.
    other = [(name, value) for name, value in values.items() if name not in declared]
    parts = [_LAYOUT, source.id, endpoint, tool.call.get("function"), tool.name, named, other]
    # The rest of what an imported tool sends, which another version of the catalog may change.
    if binding := {key: value for key, value in tool.call.items() if key not in _NOT_SENT}:
        parts.append(binding)
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def own_key(key: str, key_id: str) -> str:
    """Return the cache key of a response that is given to calls with one API key alone."""
    return f"{key}-{key_id}"


def simple_text(arguments: Mapping[str, Any]) -> str | None:
    """Return a text that only equal arguments in the same order have; None for many, long or nested ones.

    Values of different types differ: ``1``, ``1.0``, ``true`` and ``"1"``.
    """
    if len(arguments) > _MAX_SIMPLE:
        return None
    for value in arguments.values():
        if type(value) not in _SIMPLE_TYPES or (type(value) is str and len(value) > _MAX_SIMPLE_CHARS):
            return None
    return repr(arguments)


def is_own_key(key: str) -> bool:
    """Return whether ``key`` is one that :func:`own_key` returned."""
    return "-" in key
