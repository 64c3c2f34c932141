"""Calls that take more than one request of version 2026-07-28: for approval, to sign in, and tasks.

A call that needs approval is answered with ``resultType: "input_required"``: an elicitation that the client shows to
its user, and the approval token as ``requestState``. The client sends the call again with the answer and that state.
Clients that have not declared the capability get the error APPROVAL_REQUIRED, as those of earlier versions do.

A call that needs its user to sign in is answered with the link for the client to open (URL mode), so that neither key
nor token passes through a chat. Clients of earlier versions over stdio get it with the error -32042 of 2025-11-25.

A call that combines others which only read is answered with a task (``io.modelcontextprotocol/tasks``, SEP-2663) when
its time is over, where the client has the extension. Each ``tasks/get`` makes the same call again: what was answered
comes from the cache, and the rest has the time of one more request, in any process. A task is the call and its caller.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from toolfold.client_call import iso_time
from toolfold.errors import AuthorizationRequired
from toolfold.execution.services import KEPT_REQUEST_S
from toolfold.protocol import versions
from toolfold.protocol.jsonrpc import JsonRpcError
from toolfold.text_safety import counted

if TYPE_CHECKING:
    from toolfold.execution.credentials import RequestCredentials
    from toolfold.execution.services import KeptRequests
    from toolfold.protocol.http import Exchange, Request
    from toolfold.protocol.jsonrpc import Message

    Perform = Callable[[str, Mapping[str, Any]], tuple[dict[str, Any], int | None]]

_KEY, _SIGN_IN = "approval", "sign_in"
_FIELD = "approve"
_MAX_STATE_CHARS = 200
"""Several times the length of a token."""


def from_result(exchange: Exchange, result: dict[str, Any]) -> dict[str, Any]:
    """Return the result that has the question, or ``result`` itself for a client that cannot put it to its user.

    Args:
        exchange: the request.
        result: of a call that ended in APPROVAL_REQUIRED or AUTHORIZATION_REQUIRED.

    Raises:
        JsonRpcError: with the link to sign in, for a client of a version that opens with ``initialize``.
    """
    error, message = result["structuredContent"]["error"], exchange.message
    token, url = error.get("approval_token"), error.get("authorization_url")
    question: dict[str, Any]
    if error["code"] == AuthorizationRequired.code:
        key, question = _SIGN_IN, {"mode": "url", "message": error["message"], "url": url}
        if url is not None and not exchange.stateless and exchange.request.opens_urls:
            link = {**question, "elicitationId": url.rpartition("ticket=")[2][:16]}
            raise JsonRpcError(versions.URL_ELICITATION_REQUIRED, error["message"], {"elicitations": [link]})
        is_open = url is not None and not _action(message, _SIGN_IN)  # it may have been opened just now
    else:
        command = f"toolfold approve {token}"
        step = f" Run `{command}` first, then confirm here." if command in error["suggestion"] else ""
        field = {"type": "boolean", "title": "Approve this call", "default": False}
        schema = {"type": "object", "properties": {_FIELD: field}, "required": [_FIELD]}
        key, is_open = _KEY, token is not None
        question = {"mode": "form", "message": f"{error.get('prompt')}{step}", "requestedSchema": schema}
    if not (is_open and exchange.stateless and versions.elicits(message.params, question["mode"])):
        return result
    requested = {key: {"method": "elicitation/create", "params": question}}
    state = {} if token is None else {"requestState": token}
    return {"resultType": "input_required", "inputRequests": requested, **state}


def add_answer(message: Message, credentials: RequestCredentials) -> RequestCredentials:
    """Return ``credentials`` with the approval, or the refusal, that a client sends with a call that it repeats."""
    if _action(message, _SIGN_IN) == "accept":
        return credentials._replace(awaits_sign_in=True)
    action, state = _action(message, _KEY), message.params.get("requestState")
    is_stateless = versions.META_VERSION in message.meta
    # Without an answer the call is as one without the state.
    if not action or not is_stateless or not isinstance(state, str) or len(state) > _MAX_STATE_CHARS:
        return credentials
    content = message.params["inputResponses"][_KEY].get("content")
    is_approved = action == "accept" and isinstance(content, dict) and content.get(_FIELD) is True
    return credentials._replace(approval_token=state, is_declined=not is_approved)


def _action(message: Message, key: str) -> str:
    """Return what the user did with a request of this server: ``accept``, ``decline`` or ``cancel``; else ""."""
    responses = message.params.get("inputResponses")
    response = responses.get(key) if isinstance(responses, dict) else None
    action = response.get("action") if isinstance(response, dict) else None
    return action if action in ("accept", "decline", "cancel") else ""


def create_task(store: KeptRequests, exchange: Exchange, answered: int | None) -> dict[str, Any] | None:
    """Return the task of a call whose result is not complete; None where it cannot be kept."""
    params = exchange.message.params
    call = {"name": params["name"], "arguments": params.get("arguments") or {}, **_owner(store, exchange.request)}
    added = store.add({**call, "status": "working", "answered": answered})
    return None if added is None else {"resultType": "task", **_shown(*added)}


def answer_task(store: KeptRequests, exchange: Exchange, perform: Perform) -> dict[str, Any]:
    """Return the result of a method of tasks, with that of the call if it is complete.

    Raises:
        JsonRpcError: the client has not declared the extension, or has no such task.
    """
    method, params = exchange.message.method, exchange.message.params
    if versions.declared(params, versions.TASKS) is None:
        needed: dict[str, Any] = {"requiredCapabilities": {"extensions": {versions.TASKS: {}}}}
        raise JsonRpcError(versions.MISSING_CAPABILITY, f"{method} needs the extension {versions.TASKS}.", needed)
    id_ = params.get("taskId")
    task = store.get(id_) if isinstance(id_, str) else None
    if not isinstance(id_, str) or task is None or not _owner(store, exchange.request).items() <= task.items():
        step = f"A task ends {KEPT_REQUEST_S // 60} minutes after its call: make the call again."
        raise JsonRpcError(versions.INVALID_PARAMS, f"There is no such task of this caller. {step}")
    if method == "tasks/cancel" and task["status"] == "working":
        store.replace(id_, {**task, "status": "cancelled"})
    if method != "tasks/get":
        return {}
    if task["status"] == "cancelled":
        return _shown(id_, task)
    result, answered = perform(task["name"], task["arguments"])
    latest = store.get(id_)
    if latest is not None and latest["status"] == "cancelled":  # while the call was made
        return _shown(id_, latest)
    # What brings no further answer would not end: answers that are not kept in the cache, a source without any.
    is_complete = answered is None or answered <= task["answered"] or task["status"] == "completed"
    task = {**task, "status": "completed" if is_complete else "working", "answered": answered or 0}
    store.replace(id_, task)
    return {**_shown(id_, task), **({"result": {"resultType": "complete", **result}} if is_complete else {})}


def _owner(store: KeptRequests, request: Request) -> dict[str, str]:
    return {"caller": store.caller(request.credentials()), "profile": request.profile}


def _shown(id_: str, task: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "taskId": id_,
        "status": task["status"],
        **({"statusMessage": f"Answered: {counted(task['answered'], 'call')}."} if task["status"] == "working" else {}),
        "createdAt": iso_time(task["created"], has_ms=True),
        "lastUpdatedAt": iso_time(time.time(), has_ms=True),
        "ttlMs": KEPT_REQUEST_S * 1000,
        "pollIntervalMs": 1000,  # a poll works as long as one request may: the next can follow at once
    }
