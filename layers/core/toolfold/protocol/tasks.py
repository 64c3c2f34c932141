"""Tasks, ``io.modelcontextprotocol/tasks`` (SEP-2663): calls that take longer than one request may.

A call that combines others which only read is answered with a task when its time is over, where the client has the
extension. Each ``tasks/get`` makes the same call again: what was answered comes from the cache, and the rest has the
time of one more request, in any process. A task is the call and its caller.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from toolfold.execution.task_store import TTL_S
from toolfold.meta_tools.continuation import caller_id
from toolfold.protocol import versions
from toolfold.protocol.jsonrpc import JsonRpcError

if TYPE_CHECKING:
    from toolfold.execution.task_store import TaskStore
    from toolfold.meta_tools.result import Result
    from toolfold.protocol.http import Request
    from toolfold.protocol.jsonrpc import Message

__all__ = ["answer", "create"]

_POLL_MS = 1000
"""A poll works as long as one request may: the next can follow at once."""


def create(
    store: TaskStore, request: Request, name: str, arguments: Mapping[str, Any], result: Result
) -> dict[str, Any] | None:
    """Return the task of a call whose ``result`` is not complete; None where it cannot be kept.

    Args:
        store: keeps it.
        request: with the credentials of the caller.
        name: of the tool, as the client called it.
        arguments: of the call.
        result: of its first part.
    """
    call = {"name": name, "arguments": arguments, **_owner(request)}
    added = store.add({**call, "status": "working", "answered": result.answered})
    return None if added is None else {"resultType": "task", **_shown(*added)}


def answer(
    store: TaskStore,
    request: Request,
    message: Message,
    perform: Callable[[str, Mapping[str, Any]], Result],
) -> tuple[dict[str, Any], Result | None]:
    """Return the result of ``tasks/get``, ``tasks/update`` or ``tasks/cancel``, and that of the call if it is complete.

    Args:
        store: has the tasks.
        request: with the credentials of the caller.
        message: one of the three methods.
        perform: makes a call: its name and arguments.

    Raises:
        JsonRpcError: the client has not declared the extension, or has no such task.
    """
    if versions.declared(message.params, versions.TASKS) is None:
        needed: dict[str, Any] = {"requiredCapabilities": {"extensions": {versions.TASKS: {}}}}
        raise JsonRpcError(
            versions.MISSING_CAPABILITY, f"{message.method} needs the extension {versions.TASKS}.", needed
        )
    id_ = message.params.get("taskId")
    task = store.get(id_) if isinstance(id_, str) else None
    if not isinstance(id_, str) or task is None or not _owner(request).items() <= task.items():
        step = f"A task ends {TTL_S // 60} minutes after its call: make the call again."
        raise JsonRpcError(versions.INVALID_PARAMS, f"There is no such task of this caller. {step}")
    if message.method == "tasks/cancel" and task["status"] == "working":
        store.replace(id_, {**task, "status": "cancelled"})
    if message.method != "tasks/get":
        return {}, None
    if task["status"] == "cancelled":
        return _shown(id_, task), None
    result = perform(task["name"], task["arguments"])
    latest = store.get(id_)
    if latest is not None and latest["status"] == "cancelled":  # while the call was made
        return _shown(id_, latest), None
    # What brings no further answer would not end: answers that are not kept in the cache, a source without any.
    is_complete = result.answered is None or result.answered <= task["answered"] or task["status"] == "completed"
    task = {**task, "status": "completed" if is_complete else "working", "answered": result.answered or 0}
    store.replace(id_, task)
    return _shown(id_, task), result if is_complete else None


def _owner(request: Request) -> dict[str, str]:
    return {"caller": caller_id(request.credentials()), "profile": request.profile}


def _shown(id_: str, task: Mapping[str, Any]) -> dict[str, Any]:
    """Return the task as clients see it."""
    return {
        "taskId": id_,
        "status": task["status"],
        **({"statusMessage": f"{task['answered']} calls are answered."} if task["status"] == "working" else {}),
        "createdAt": _iso(datetime.fromtimestamp(task["created"], UTC)),
        "lastUpdatedAt": _iso(datetime.now(UTC)),
        "ttlMs": TTL_S * 1000,
        "pollIntervalMs": _POLL_MS,
    }


def _iso(time: datetime) -> str:
    return time.isoformat(timespec="milliseconds")
