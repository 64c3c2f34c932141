"""``GET`` and ``POST ui/api/approvals``: the calls that wait for a person, and the decision about one."""

from __future__ import annotations

import json
import os
import re
from typing import Any

from toolfold.aws.clients import error_code
from toolfold.errors import ToolfoldError
from toolfold.execution.approval import AlreadyDecided, CannotDecide, WaitingCall, iso_time
from toolfold.explorer.page import ApiProblem, Explorer, PageRequest, invalid, json_answer
from toolfold.protocol.http import Response
from toolfold.text_safety import escape_unsafe

_ID = re.compile(r"[0-9a-f]{16}")
_NOT_LISTED = "Waiting calls in DynamoDB are not listed. Decide about one by its token: toolfold approve TOKEN."
_AGAIN = "Reload the list; if the call is still wanted, let the client make it again."


def respond(explorer: Explorer, request: PageRequest) -> Response:
    """Return the waiting calls, or record a decision about one."""
    try:
        return _decide(explorer, request) if request.source.method == "POST" else _list(explorer)
    except (ApiProblem, ToolfoldError):
        raise
    except Exception as error:  # noqa: BLE001 - of SQLite and of AWS; their texts may have paths and addresses
        raise ApiProblem(
            503,
            "APPROVAL_UNAVAILABLE",
            f"The approvals cannot be read or written at the moment: {error_code(error)}.",
            "Try again; `toolfold doctor` checks the folder of the cache.",
        ) from None


def _list(explorer: Explorer) -> Response:
    mode, waiting, note = explorer.app.settings.approve, [], ""
    if mode == "human" and explorer.app.settings.cache.startswith("dynamodb://"):
        note = _NOT_LISTED
    elif mode == "human":
        try:
            waiting = explorer.approval_desk.waiting()
        except CannotDecide as error:
            note = str(error)
    return json_answer({"mode": mode, "waiting": [_describe(call) for call in waiting], "note": note})


def _describe(call: WaitingCall) -> dict[str, Any]:
    """Return all that identifies a call. The texts of its arguments are exact: a browser rounds large numbers."""
    terms = call.terms
    arguments: dict[str, Any] = json.loads(terms.arguments)
    return {
        "id": call.token.id,
        "tool": escape_unsafe(terms.tool),
        "source": escape_unsafe(terms.source),
        "endpoint": escape_unsafe(_without_credentials(terms.endpoint)),
        "effect": escape_unsafe(call.reason),
        "arguments": arguments,
        "arguments_text": _exact_texts(terms.arguments),
        "caller": escape_unsafe(terms.principal),
        "expires_at": iso_time(call.token.expires_at),
    }


def _exact_texts(arguments: str) -> dict[str, str]:
    """Return name → value as JSON, its numbers with the digits that they have in the JSON object ``arguments``."""
    mark = os.urandom(8).hex()  # no text of a caller has it

    def keep(digits: str) -> str:
        return f"{mark}{digits}{mark}"

    values: dict[str, Any] = json.loads(arguments, parse_int=keep, parse_float=keep)
    numbers = re.compile(f'"{mark}(.*?){mark}"')
    return {name: numbers.sub(r"\1", json.dumps(value, ensure_ascii=False, indent=2)) for name, value in values.items()}


def _without_credentials(url: str) -> str:
    """Return a URL without what stands before ``@`` in its host, and without a query."""
    scheme, separator, rest = url.partition("://")
    host, slash, path = rest.partition("?")[0].partition("/")
    return f"{scheme}{separator}{host.rpartition('@')[2]}{slash}{path}"


def _decide(explorer: Explorer, request: PageRequest) -> Response:
    body = request.json()
    id_, approve = body.get("id"), body.get("approve")
    if not isinstance(id_, str) or _ID.fullmatch(id_) is None:
        raise invalid("id must be the id of a waiting call.", "Take one of the list.")
    if not isinstance(approve, bool):
        raise invalid("approve must be true or false.", 'Send {"id": "…", "approve": true}.')
    if explorer.app.settings.approve != "human":
        raise ApiProblem(
            409, "APPROVAL_NOT_PENDING", "No person decides about calls here.", "Set TOOLFOLD_APPROVE=human for that."
        )
    desk = explorer.approval_desk
    try:
        desk.decide(desk.find_waiting(id_), approve=approve)
    except AlreadyDecided as error:
        raise ApiProblem(409, "APPROVAL_NOT_PENDING", str(error), _AGAIN) from None
    except CannotDecide as error:
        raise ApiProblem(404, "APPROVAL_NOT_FOUND", str(error), _AGAIN) from None
    return json_answer({"id": id_, "state": "approved" if approve else "denied"})
