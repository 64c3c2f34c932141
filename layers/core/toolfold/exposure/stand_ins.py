"""Read a call of a tool that stands for several: a group of the mode ``grouped``, or a kind of the mode ``kinds``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from toolfold.fuzzy import closest_matches, did_you_mean, normalize
from toolfold.meta_tools.arguments import invalid, is_blank, next_call, quote
from toolfold.meta_tools.other_names import kind_call
from toolfold.meta_tools.result import MetaCall
from toolfold.meta_tools.tool_names import find_name

if TYPE_CHECKING:
    from toolfold.catalog.model import Catalog
    from toolfold.errors import InvalidArguments

__all__ = ["call_of"]

_ACTION_KEYS = ("action", "tool_name", "tool", "command", "method", "operation")
"""Names of the argument that names the tool, the documented one first."""


def call_of(catalog: Catalog, mode: str, stand_in: Mapping[str, Any], arguments: Mapping[str, Any]) -> MetaCall:
    """Return the call of a meta-tool that a call of ``stand_in`` stands for.

    Args:
        catalog: What the profile exposes.
        mode: ``grouped`` or ``kinds``.
        stand_in: The definition of the tool that was called.
        arguments: As the client sent them.

    Raises:
        CallError: The arguments name no tool of ``stand_in``.
    """
    if mode == "kinds":
        return kind_call(catalog, str(stand_in["name"]), arguments, stand_in)
    return _group_call(catalog, stand_in, arguments)


def _group_call(catalog: Catalog, group: Mapping[str, Any], arguments: Mapping[str, Any]) -> MetaCall:
    properties: Mapping[str, Any] = group["inputSchema"]["properties"]
    actions: list[str] = properties["action"]["enum"]
    key = next((key for key in _ACTION_KEYS if not is_blank(arguments.get(key)) and _is_own(key, properties)), None)
    given = arguments.get(key) if key is not None else None
    name = _action(catalog, actions, given)
    if name is None:
        raise _no_such_action(group, actions, given, arguments)
    rest = {other: value for other, value in arguments.items() if other != key}
    return MetaCall("TOOL_CALL_WRITE", {"tool_name": name, "arguments": rest})


def _is_own(key: str, properties: Mapping[str, Any]) -> bool:
    """Return whether ``key`` names the tool, and is no parameter of the tools of the group."""
    return key == "action" or key not in properties


def _action(catalog: Catalog, actions: list[str], given: Any) -> str | None:
    """Return which of ``actions`` is given; the only one of a group need not be named."""
    if is_blank(given):
        return actions[0] if len(actions) == 1 else None
    if not isinstance(given, str):
        return None
    if given in actions:
        return given
    found = find_name(catalog, given)
    if found in actions:
        return found
    short = {normalize(name.rpartition("__")[2]): name for name in actions}
    return short.get(normalize(given))


def _no_such_action(
    group: Mapping[str, Any], actions: list[str], given: Any, arguments: Mapping[str, Any]
) -> InvalidArguments:
    name = str(group["name"])
    problem = "action is missing" if is_blank(given) else f"action has no tool {quote(given)}"
    closest = closest_matches(given, actions) if isinstance(given, str) else []
    shown = ", ".join(actions[:20]) + (", …" if len(actions) > 20 else "")
    hint = did_you_mean(str(given), closest).strip() or f"There are {shown}."
    others = {key: value for key, value in arguments.items() if key not in _ACTION_KEYS}
    following = next_call(name, {"action": closest[0], **others}) if closest else {}
    return invalid(name, problem, hint, closest=closest, **following)
