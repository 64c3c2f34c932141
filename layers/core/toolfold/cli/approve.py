"""``toolfold approve``: approve or deny a call that waits for a person."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from toolfold.aws.clients import AwsClients, error_code
from toolfold.cli import terminal
from toolfold.cli.application import Options
from toolfold.errors import ToolfoldError
from toolfold.execution.api_keys import SecretProvider
from toolfold.execution.approval import ApprovalDesk, WaitingCall
from toolfold.local_defaults import with_local_defaults
from toolfold.settings import Settings
from toolfold.text_safety import escape_unsafe

if TYPE_CHECKING:
    from toolfold.app import App


def run(options: Options) -> int:
    """Show the call and decide about it."""
    try:
        desk = _desk(Settings.from_environment())
        call = desk.find(options.token)
        _show(call)
        if not (options.yes or options.deny) and not terminal.is_interactive():
            raise ToolfoldError("There is no terminal for the question. Use --yes or --deny.")
        approve = options.yes or (not options.deny and terminal.confirm("Approve this call?", ""))
        desk.decide(call, approve=approve)
    except ToolfoldError:
        raise
    except Exception as error:  # noqa: BLE001 - of SQLite and of AWS; their texts may have paths and addresses
        raise ToolfoldError(f"The approvals of the server cannot be reached: {error_code(error)}.") from None
    print("Approved. The call can be repeated with this token, once." if approve else "Denied.")
    return 0 if approve or options.deny else 1


def approve_here(app: App, error: Mapping[str, Any]) -> str:
    """Ask the person at this terminal about a call of ``toolfold call``.

    Args:
        app: the objects of this process.
        error: APPROVAL_REQUIRED, with the prompt and the token.

    Returns:
        The token of the approved call; empty where there is no terminal for the question.
    """
    if "approval_token" not in error or not terminal.is_interactive():
        return ""
    token = str(error["approval_token"])
    is_human = app.settings.approve == "human"
    if is_human:
        desk = _desk(app.settings)
        call = desk.find(token)
        _show(call)
    else:
        print(error["prompt"], file=sys.stderr)
    approve = terminal.confirm("Approve this call?", "")
    if is_human:
        desk.decide(call, approve=approve)
    if not approve:
        raise ToolfoldError("Not approved; nothing was sent.")
    return token


def _desk(settings: Settings) -> ApprovalDesk:
    aws = AwsClients()
    return ApprovalDesk(with_local_defaults(settings), aws, SecretProvider(settings, aws).get_secret)


def _show(call: WaitingCall) -> None:
    """Print the call to stderr: all of its arguments, who makes it, and how long the token is valid."""
    terms = call.terms
    left_s = max(0, round(call.token.expires_at - time.time()))
    rows = [
        ("tool", f"{terms.tool} ({terms.source}, {terms.endpoint})"),
        ("effect", call.reason),
        *((f"  {name}", json.dumps(value, ensure_ascii=False)) for name, value in json.loads(terms.arguments).items()),
        ("caller", terms.principal or "not known: no access token and no key in the request"),
        ("expires", f"in {left_s // 60} min {left_s % 60} s"),
        ("approval", call.token.id),
    ]
    for name, value in rows:
        print(f"{escape_unsafe(name):12}  {escape_unsafe(value)}", file=sys.stderr)
