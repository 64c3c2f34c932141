"""Ask the user of a client for approval, or to sign in: the multi-round-trip requests of version 2026-07-28.

A call that needs approval is answered with ``resultType: "input_required"``: an elicitation that the client shows to
its user, and the approval token as ``requestState``. The client sends the call again with the answer and that state.
Clients that have not declared the capability get the error APPROVAL_REQUIRED, as those of earlier versions do.

A call that needs its user to sign in is answered with the link for the client to open (URL mode), so that neither key
nor token passes through a chat. Clients of earlier versions over stdio get it with the error -32042 of 2025-11-25.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from toolfold.protocol.jsonrpc import JsonRpcError
from toolfold.protocol.versions import META_CAPABILITIES, META_VERSION, URL_ELICITATION_REQUIRED

if TYPE_CHECKING:
    from toolfold.execution.credentials import RequestCredentials
    from toolfold.protocol.jsonrpc import Message

__all__ = ["add_answer", "from_result", "sign_in"]

_KEY, _SIGN_IN = "approval", "sign_in"
_FIELD = "approve"
_MAX_STATE_CHARS = 200
"""Several times the length of a token."""


def from_result(message: Message, result: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the result that has the question, or ``result`` itself for a client that shows no forms.

    Args:
        message: the request, of a stateless version.
        result: of a call that ended in APPROVAL_REQUIRED.
    """
    error = result["structuredContent"]["error"]
    if not _can_ask(message) or "approval_token" not in error:
        return result
    question = {
        "mode": "form",
        "message": _question(error),
        "requestedSchema": {
            "type": "object",
            "properties": {_FIELD: {"type": "boolean", "title": "Approve this call", "default": False}},
            "required": [_FIELD],
        },
    }
    return {
        "resultType": "input_required",
        "inputRequests": {_KEY: {"method": "elicitation/create", "params": question}},
        "requestState": error["approval_token"],
    }


def sign_in(message: Message, result: Mapping[str, Any], *, stateless: bool) -> Mapping[str, Any]:
    """Return the result with the link, or ``result`` itself for a client that opens none, or has just opened it.

    Args:
        message: the request.
        result: of a call that ended in AUTHORIZATION_REQUIRED.
        stateless: whether the version is; otherwise the client has declared that it opens links.

    Raises:
        JsonRpcError: with the link, for a client of a version that opens with ``initialize``.
    """
    error = result["structuredContent"]["error"]
    url = error.get("authorization_url")
    if url is None:
        return result
    question = {"mode": "url", "message": error["message"], "url": url}
    if not stateless:
        link = {**question, "elicitationId": url.rpartition("ticket=")[2][:16]}
        raise JsonRpcError(URL_ELICITATION_REQUIRED, error["message"], {"elicitations": [link]})
    capability = _meta(message).get(META_CAPABILITIES, {}).get("elicitation")
    if not isinstance(capability, dict) or "url" not in capability or _action(message, _SIGN_IN):
        return result
    return {
        "resultType": "input_required",
        "inputRequests": {_SIGN_IN: {"method": "elicitation/create", "params": question}},
    }


def add_answer(message: Message, credentials: RequestCredentials) -> RequestCredentials:
    """Return ``credentials`` with the approval, or the refusal, that a client sends with a call that it repeats."""
    if _action(message, _SIGN_IN) == "accept":
        return credentials._replace(awaits_sign_in=True)
    answer = _answer(message)
    state = message.params.get("requestState")
    if META_VERSION not in _meta(message) or not isinstance(state, str) or len(state) > _MAX_STATE_CHARS:
        return credentials
    if answer is None:  # without an answer the call is as one without the state
        return credentials
    return credentials._replace(approval_token=state, is_declined=not answer)


def _question(error: Mapping[str, Any]) -> str:
    """Return the question for the user, with the command of a person who must approve the call elsewhere."""
    command = f"toolfold approve {error['approval_token']}"
    return (
        f"{error['prompt']} Run `{command}` first, then confirm here."
        if command in error["suggestion"]
        else str(error["prompt"])
    )


def _answer(message: Message) -> bool | None:
    """Return whether the user approves; None without an answer."""
    action = _action(message, _KEY)
    if not action:
        return None
    content = message.params["inputResponses"][_KEY].get("content")
    return action == "accept" and isinstance(content, dict) and content.get(_FIELD) is True


def _action(message: Message, key: str) -> str:
    """Return what the user did with a request of this server: ``accept``, ``decline`` or ``cancel``; else ""."""
    responses = message.params.get("inputResponses")
    response = responses.get(key) if isinstance(responses, dict) else None
    action = response.get("action") if isinstance(response, dict) else None
    return action if action in ("accept", "decline", "cancel") else ""


def _can_ask(message: Message) -> bool:
    """Return whether the client shows forms to its user: ``elicitation`` alone means forms."""
    capability = _meta(message).get(META_CAPABILITIES, {}).get("elicitation")
    return isinstance(capability, dict) and (not capability or "form" in capability)


def _meta(message: Message) -> Mapping[str, Any]:
    meta = message.params.get("_meta")
    return meta if isinstance(meta, dict) else {}
