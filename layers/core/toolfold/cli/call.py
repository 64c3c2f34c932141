"""``toolfold call``: call one tool; and ``toolfold approve``: approve or deny a call that waits for a person."""

from __future__ import annotations

import contextlib
import json
import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from toolfold.app import App
from toolfold.aws.clients import AwsClients
from toolfold.cache.records import Unavailable
from toolfold.cli import answers, output, terminal
from toolfold.cli.application import Options, os_errors
from toolfold.cli.tools import RemoteTools, make_app
from toolfold.errors import ApprovalRequired, CallError, ToolfoldError
from toolfold.execution.approval import ApprovalDesk, WaitingCall
from toolfold.meta_tools.dispatcher import MetaTools
from toolfold.meta_tools.result import Result
from toolfold.settings import Settings
from toolfold.text_safety import escape_unsafe, load_json


def run(options: Options) -> int:
    """Call the tool and print or write its answer."""
    file = None
    if options.output not in (None, "-"):
        file = answers.OutputFile(options.output, overwrite=options.force)
    if options.endpoint:
        with contextlib.closing(RemoteTools(options)) as remote:
            result = _call(options, remote, _call_arguments(options, None))
        return _print(options, result, file)
    app = make_app()
    tools = app.server.tools
    arguments = _call_arguments(options, tools)
    if options.verbose:
        app.executor.http_client().on_request = output.print_trace
    result = _call(options, tools, arguments)
    while result.is_error:
        rest = result.structured.get("continue")  # of a pipe, whose first steps must not be performed again
        is_lost = rest is None and result.structured.get("failed_step")
        token = "" if is_lost else _approve_here(app, result.structured["error"])
        if not token:
            break
        arguments = {**arguments, **({} if rest is None else {"arguments": {"continue": rest}})}
        result = _call(options, tools, {**arguments, "approval_token": token})
        if rest is None:  # a script would make its first calls again
            break
    return _print(options, result, file)


def _call(options: Options, tools: MetaTools | RemoteTools, arguments: dict[str, Any]) -> Result:
    with output.waiting(f"Waiting for {options.tool_name} …"):
        return tools.call("TOOL_CALL", arguments, whole=options.max_tokens is None)


def _call_arguments(options: Options, tools: MetaTools | None) -> dict[str, Any]:
    given = {
        "select": options.select,
        "max_tokens": options.max_tokens,
        "fresh": options.fresh or None,
        "approval_token": options.approval_token,
    }
    return {
        "tool_name": options.tool_name,
        "arguments": _parse_arguments(options.tool_name, options.arguments, tools),
        **{name: value for name, value in given.items() if value is not None},
    }


def _print(options: Options, result: Result, file: answers.OutputFile | None) -> int:
    if result.is_error or "result" not in result.structured:  # of another meta-tool, if its name was given
        return output.print_result(result, options.json, options.tool_name)
    answers.print_answer(result, options, file)
    failed = [part for part in result.structured.get("results", ()) if "error" in part]
    for part, error in zip(failed, result.errors, strict=True):  # of a batch whose one answer is printed
        output.print_notice(f"{part['id']} failed.")
        output.print_error(error, part["tool_name"])
    return 0


def _parse_arguments(tool_name: str, words: Sequence[str], tools: MetaTools | None) -> dict[str, Any]:
    """Parse ``key=value`` words, or one JSON object; a key that is repeated has a list."""
    if len(words) != 1 or not words[0].lstrip().startswith("{"):
        return parse_pairs(words, lambda word: f"; e.g. toolfold call {_example(tool_name, word, words, tools)}")
    step = """Write them as '{"symbol": "IBM"}', or as symbol=IBM"""
    with os_errors("The arguments are not valid JSON", step, ValueError, RecursionError):
        return dict(load_json(words[0]))


def parse_pairs(words: Sequence[str], example: Callable[[str], str] = lambda _: ".") -> dict[str, Any]:
    """Return ``key=value`` words as arguments; a key that is repeated has a list.

    Args:
        words: the words.
        example: returns the end of the error about a word of another form.
    """
    values: dict[str, list[str]] = {}
    for word in words:
        key, equals, value = word.removeprefix("--").partition("=")
        if not equals or not key:
            raise ToolfoldError(f"Arguments are key=value, not {word!r}{example(word)}")
        values.setdefault(key, []).append(value)
    return {key: found[0] if len(found) == 1 else found for key, found in values.items()}


def pairs_hint(words: Sequence[str]) -> str:
    """Return the arguments of a tool that are meant by ``words``, which were given as options."""
    pairs = []
    for word, value in zip(words, [*words[1:], ""], strict=True):
        if word.startswith("--"):
            pairs.append(word[2:] if "=" in word else f"{word[2:]}={value}")
    return f"The arguments of a tool are key=value: {' '.join(pairs)}." if pairs else ""


def _example(tool_name: str, word: str, words: Sequence[str], tools: MetaTools | None) -> str:
    """Return the call that was probably meant: the word as the first argument that the tool requires, or a name."""
    try:
        tool = None if tools is None else tools.catalog().get(tool_name)
    except CallError:
        tool = None
    required = list(tool.parameters.get("required", ())) if tool is not None else []
    name, rest = word.strip("-:"), [value for one in words[words.index(word) + 1 :] if (value := one.lstrip("="))]
    if tool is not None and name in tool.parameters.get("properties", ()) and rest:
        return shlex.join([tool.name, f"{name}={rest[0]}"])
    if tool is None or not required or not word.replace(".", "").isalnum():
        return "GLOBAL_QUOTE symbol=IBM"
    return f"{tool.name} {required[0]}={word}"


def approve(options: Options) -> int:
    """Show the call and decide about it."""
    given = True if options.yes else False if options.deny else None
    is_approved = _decide(Settings.from_environment(), options.token, given)
    print("Approved. The call can be repeated with this token, once." if is_approved else "Denied.")
    return 0 if is_approved or options.deny else 1


def _approve_here(app: App, error: Mapping[str, Any]) -> str:
    """Ask the person at this terminal about a call that needs approval; return its token, or an empty text."""
    is_needed = error["code"] == ApprovalRequired.code and "approval_token" in error
    if not is_needed or not terminal.is_interactive():
        return ""
    token = str(error["approval_token"])
    if app.settings.approve == "human":
        is_approved = _decide(app.settings, token, None)
    else:
        output.print_message(error["prompt"])
        is_approved = terminal.confirm("Approve this call?", "")
    if not is_approved:
        raise ToolfoldError("Not approved; this call was not sent.")  # of a pipe, earlier steps were
    return token


def _decide(settings: Settings, token: str, given: bool | None) -> bool:
    """Show a waiting call, and approve or deny it: as ``given``, or as the person does; return whether it is approved.

    Raises:
        ToolfoldError: there is no such call, or no terminal for the question.
    """
    with os_errors("The approvals of the server cannot be reached", "", Unavailable):
        desk = ApprovalDesk(settings, AwsClients())
        call = desk.find(token)
        _show(call)
        if given is None and not terminal.is_interactive():
            raise ToolfoldError("There is no terminal for the question. Use --yes or --deny.")
        is_approved = terminal.confirm("Approve this call?", "") if given is None else given
        desk.decide(call, approve=is_approved)
    return is_approved


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
        output.print_message(f"{escape_unsafe(name):12}  {escape_unsafe(value)}")
