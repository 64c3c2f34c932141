"""What is left of a batch or a pipe when the time of a request is over: kept for the next request of the same caller.

The token in ``continue`` is the id under which the rest is kept. It is for the catalog that its calls were read with.
One with calls that may change something is used once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from toolfold.errors import WriteNotAllowed
from toolfold.messages import CALL_WRITE, READS_ONLY
from toolfold.meta_tools.arguments import invalid, next_call
from toolfold.meta_tools.reader import read_values

if TYPE_CHECKING:
    from toolfold.meta_tools.call import Item
    from toolfold.meta_tools.dispatcher import MetaRequest


def issue(request: MetaRequest, tool: str, arguments: Mapping[str, Any], items: Sequence[Item]) -> str | None:
    """Return the token for the rest of a request; None where it cannot be kept."""
    kept = request.tools.executor.services.kept_requests
    rest = {
        "tool": tool,
        "catalog": request.catalog.fingerprint,
        "caller": kept.caller(request.credentials),
        "is_read": all(item.is_read for item in items),
        "writes": any(item.call is not None and item.call.tool.effect != "read" for item in items),
        "arguments": {name: value for name, value in arguments.items() if name not in ("continue", "approval_token")},
    }
    added = kept.add(rest)
    return None if added is None else added[0]


def resume(request: MetaRequest, tool: str) -> dict[str, Any]:
    """Return the arguments of a request: its own, or those of the token in ``continue``.

    Raises:
        WriteNotAllowed: the rest has calls that change something, and this request may only read.
        InvalidArguments: the token is unknown, of another catalog, caller or meta-tool, or was used before.
    """
    arguments = dict(request.arguments)
    token = arguments.pop("continue", None)
    if token is None:
        return arguments
    kept = request.tools.executor.services.kept_requests
    rest = kept.get(token) if isinstance(token, str) else None
    problem, step = "", "Send the remaining calls again; nothing was sent."
    following: dict[str, Any] = {}
    if rest is None or "tool" not in rest or rest["caller"] != kept.caller(request.credentials):
        problem = "is not one of this caller, or has expired"
    elif rest["tool"] != tool:
        problem, step = f"is one of {rest['tool']}", f"Send it to {rest['tool']}; nothing was sent."
        following = next_call(rest["tool"], {"continue": token})
    elif rest["catalog"] != request.catalog.fingerprint:
        problem = "was made with another catalog, whose tools may differ"
    elif rest.get("writes") and request.credentials.reads_only:
        call = next_call("TOOL_CALL_WRITE", {"tool_name": tool, "arguments": request.arguments})
        raise WriteNotAllowed(READS_ONLY.filled(tool=f"the rest of {tool}"), CALL_WRITE, **call)
    elif not rest["is_read"] and not kept.use_once(token):
        problem = "has calls that change something, and was used before"
        step = "They may have taken effect: check with a tool that reads before you send one again."
    if rest is None or problem:
        raise invalid(tool, f"the token in continue {problem}", step, **following)
    given = {**rest["arguments"], **arguments}
    done = given.pop("done", 0)
    return {**read_values(request.catalog, tool, given), "done": done}
