"""Ask the user of a client for approval: the multi-round-trip requests of protocol version 2026-07-28.

A call that needs approval is answered with ``resultType: "input_required"``: an elicitation that the client shows to
its user, and the approval token as ``requestState``. The client sends the call again with the answer and that state.
Clients that have not declared the capability get the error APPROVAL_REQUIRED, as those of earlier versions do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from toolfold.protocol.versions import META_CAPABILITIES, META_VERSION

if TYPE_CHECKING:
    from toolfold.execution.credentials import RequestCredentials
    from toolfold.protocol.jsonrpc import Message

__all__ = ["add_answer", "from_result"]

_KEY = "approval"
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


def add_answer(message: Message, credentials: RequestCredentials) -> RequestCredentials:
    """Return ``credentials`` with the approval, or the refusal, that a client sends with a call that it repeats."""
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
    responses = message.params.get("inputResponses")
    response = responses.get(_KEY) if isinstance(responses, dict) else None
    if not isinstance(response, dict) or response.get("action") not in ("accept", "decline", "cancel"):
        return None
    content = response.get("content")
    return response["action"] == "accept" and isinstance(content, dict) and content.get(_FIELD) is True


def _can_ask(message: Message) -> bool:
    """Return whether the client shows forms to its user: ``elicitation`` alone means forms."""
    capability = _meta(message).get(META_CAPABILITIES, {}).get("elicitation")
    return isinstance(capability, dict) and (not capability or "form" in capability)


def _meta(message: Message) -> Mapping[str, Any]:
    meta = message.params.get("_meta")
    return meta if isinstance(meta, dict) else {}
