"""Tasks, ``io.modelcontextprotocol/tasks`` (SEP-2663): calls that take longer than one request may.

A call that combines others which only read is answered with a task when its time is over, where the client has the
extension. Each ``tasks/get`` makes the same call again: what was answered comes from the cache, and the rest has the
time of one more request, in any process. What is stored is the call and its caller, in the cache of the deployment.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from toolfold.meta_tools.continuation import caller_id
from toolfold.meta_tools.result import Result, dumps_compact
from toolfold.protocol import versions
from toolfold.protocol.jsonrpc import JsonRpcError

if TYPE_CHECKING:
    from toolfold.meta_tools.dispatcher import MetaTools
    from toolfold.protocol.http import Request
    from toolfold.protocol.jsonrpc import Message

__all__ = ["answer", "create", "is_declared"]

TTL_S = 900
"""Seconds for which a task can be polled."""

POLL_MS = 1000
"""A poll works as long as one request may: the next can follow at once."""

_MAX_BYTES = 200_000
_ID_BYTES = 16


def is_declared(message: Message) -> bool:
    """Return whether the client of a stateless request has the extension."""
    extensions = message.params["_meta"][versions.META_CAPABILITIES].get("extensions")
    return isinstance(extensions, dict) and versions.TASKS in extensions


def create(
    tools: MetaTools, request: Request, name: str, arguments: Mapping[str, Any], result: Result
) -> dict[str, Any] | None:
    """Return the task of a call whose ``result`` is not complete; None where nothing can be stored.

    Args:
        tools: of the client.
        request: with the credentials of the caller.
        name: the meta-tool.
        arguments: of the call.
        result: of its first part.
    """
    now = tools.executor.resources.clock.now()
    task = {
        "name": name,
        "arguments": arguments,
        "caller": caller_id(request.credentials()),
        "profile": request.profile,
        "status": "working",
        "answered": result.answered,
        "created": now,
    }
    id_ = secrets.token_urlsafe(_ID_BYTES)
    return {"resultType": "task", **_shown(id_, task, now)} if _store(tools, id_, task) else None


def answer(tools: MetaTools, request: Request, message: Message) -> tuple[dict[str, Any], Result | None]:
    """Return the result of ``tasks/get``, ``tasks/update`` or ``tasks/cancel``, and that of the call if it is complete.

    Raises:
        JsonRpcError: the client has not declared the extension, or has no such task.
    """
    if not is_declared(message):
        needed: dict[str, Any] = {"requiredCapabilities": {"extensions": {versions.TASKS: {}}}}
        raise JsonRpcError(
            versions.MISSING_CAPABILITY, f"{message.method} needs the extension {versions.TASKS}.", needed
        )
    given = message.params.get("taskId")
    id_ = given if isinstance(given, str) else ""
    task = _load(tools, id_)
    known = {"caller": caller_id(request.credentials()), "profile": request.profile}
    if task is None or any(task[key] != value for key, value in known.items()):
        step = f"A task ends {TTL_S // 60} minutes after its call: make the call again."
        raise JsonRpcError(versions.INVALID_PARAMS, f"There is no such task of this caller. {step}")
    if message.method == "tasks/cancel" and task["status"] == "working":
        _store(tools, id_, {**task, "status": "cancelled"})
    if message.method != "tasks/get":
        return {}, None
    now = tools.executor.resources.clock.now()
    if task["status"] == "cancelled":
        return _shown(id_, task, now), None
    result = tools.call(task["name"], task["arguments"], request.credentials(), request.deadline, reads_only=True)
    latest = _load(tools, id_) or task  # it may have been cancelled since
    if latest["status"] == "cancelled":
        return _shown(id_, latest, now), None
    # What brings no further answer would not end: answers that are not kept in the cache, a source without any.
    is_complete = result.answered is None or result.answered <= task["answered"] or task["status"] == "completed"
    task = {**task, "status": "completed" if is_complete else "working", "answered": result.answered or 0}
    _store(tools, id_, task)
    return _shown(id_, task, now), result if is_complete else None


def _shown(id_: str, task: Mapping[str, Any], now: float) -> dict[str, Any]:
    """Return the task as clients see it."""
    count = task["answered"]
    return {
        "taskId": id_,
        "status": task["status"],
        **({"statusMessage": f"{count} calls are answered."} if task["status"] == "working" else {}),
        "createdAt": _iso(task["created"]),
        "lastUpdatedAt": _iso(now),
        "ttlMs": TTL_S * 1000,
        "pollIntervalMs": POLL_MS,
    }


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")


def _store(tools: MetaTools, id_: str, task: Mapping[str, Any]) -> bool:
    """Store a task, and return whether that succeeded."""
    content = dumps_compact(task).encode("utf-8", "surrogatepass")
    resources = tools.executor.resources

    def put(store: Any) -> bool:
        store.put(_key(id_), content, resources.clock.now(), task["created"] + TTL_S)
        return True

    return len(content) <= _MAX_BYTES and resources.task_store.run(put) is True


def _load(tools: MetaTools, id_: str) -> dict[str, Any] | None:
    """Return a task that has not ended, or None."""
    resources = tools.executor.resources
    content = resources.task_store.run(lambda store: store.get(_key(id_)))
    task = json.loads(content) if content else None
    return task if task is not None and resources.clock.now() < task["created"] + TTL_S else None


def _key(id_: str) -> str:
    return f"tasks/{id_[:64]}"
