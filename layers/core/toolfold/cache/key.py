"""What a call is known by where answers are held: hashes, from which neither arguments nor keys can be read."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from toolfold.catalog.json_schema import properties

if TYPE_CHECKING:
    from toolfold.catalog.model import Source, Tool

_LAYOUT = 1
"""Raised when what is held under a name changes its meaning: the old entries are then never found again."""


def hash_api_key(source: Source, key: str, salt: str) -> str:
    """What stands for an API key in counters and in names. ``salt`` makes it differ from one deployment to the next."""
    return hmac.new(f"toolfold {salt}".encode(), f"{source.id}\0{key}".encode(), hashlib.sha256).hexdigest()[:32]


def cache_key(source: Source, tool: Tool, arguments: Mapping[str, Any], address: str, key_id: str) -> str:
    """The name under which the answer to a call is held.

    Two calls have the same name when the upstream is asked the same: at the same address, for the same function, with
    the same values, whether given or left to their defaults, in any order. Values keep their spelling, since nothing
    says that the upstream takes ``ibm`` for ``IBM``, and lists their order, since answers follow it.

    Where the plan behind a key may change the answer, the key is part of the name: what a premium key was given is
    never served to another.
    """
    defaults = {
        name: rule["default"] for name, rule in properties(tool.parameters).items() if rule.get("default") is not None
    }
    values = {**defaults, **tool.call.get("sends", {}), **arguments}
    scope = key_id if varies_by_plan(tool, arguments) else ""
    asked = [_LAYOUT, source.id, address, tool.call["function"], tool.name, values, scope]
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()


def varies_by_plan(tool: Tool, arguments: Mapping[str, Any]) -> bool:
    """Whether keys of different plans may be given different answers."""
    return tool.access != "free" or "entitlement" in arguments
