"""``toolfold call``: call one tool."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Sequence
from typing import Any

from toolfold.cli import answers, output, progress
from toolfold.cli.application import Options
from toolfold.cli.log_lines import print_trace
from toolfold.cli.tools import WHOLE_TOKENS, RemoteTools, make_app
from toolfold.errors import ApprovalRequired, CallError, ToolfoldError
from toolfold.meta_tools.dispatcher import MetaTools
from toolfold.meta_tools.result import Result


def run(options: Options) -> int:
    """Call the tool and print or write its answer."""
    file = None
    if options.output not in (None, "-"):
        file = answers.OutputFile(options.output, overwrite=options.force)
    if options.endpoint:
        with RemoteTools(options) as remote:
            result = _call(options, remote, _call_arguments(options, None))
        return _print(options, result, file, WHOLE_TOKENS)
    app = make_app()
    tools = app.server.tools
    arguments = _call_arguments(options, tools)
    if options.verbose:
        app.executor.resources.http_client.on_request = print_trace
    result = _call(options, tools, arguments)
    if result.is_error and result.structured["error"]["code"] == ApprovalRequired.code:
        from toolfold.cli.approve import approve_here

        if token := approve_here(app, result.structured["error"]):
            result = _call(options, tools, {**arguments, "approval_token": token})
    return _print(options, result, file, app.settings.max_tokens)


def _call(options: Options, tools: MetaTools | RemoteTools, arguments: dict[str, Any]) -> Result:
    with progress.waiting(f"Waiting for {options.tool_name} …"):
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


def _print(options: Options, result: Result, file: answers.OutputFile | None, max_tokens: int) -> int:
    if result.is_error or "result" not in result.structured:  # of another meta-tool, if its name was given
        return output.print_result(result, options.json, options.tool_name)
    form = options.format or ("csv" if options.csv else "") or (answers.format_of(file.path) if file else "")
    answers.print_answer(
        result,
        "structured" if options.json else form,
        file,
        is_whole=options.max_tokens is None and "preview" not in result.structured,
        show_all=options.all,
        max_tokens=max_tokens,
        is_remote=bool(options.endpoint),
    )
    return 0


def _parse_arguments(tool_name: str, words: Sequence[str], tools: MetaTools | None) -> dict[str, Any]:
    """Parse ``key=value`` words, or one JSON object; a key that is repeated has a list."""
    if len(words) != 1 or not words[0].lstrip().startswith("{"):
        return parse_pairs(words, lambda word: f"; e.g. toolfold call {_example(tool_name, word, words, tools)}")
    try:
        return dict(json.loads(words[0]))
    except (ValueError, RecursionError) as error:
        raise ToolfoldError(
            f'The arguments are not valid JSON: {error}. Write them as \'{{"symbol": "IBM"}}\', or as symbol=IBM'
        ) from None


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


def _example(tool_name: str, word: str, words: Sequence[str], tools: MetaTools | None) -> str:
    """Return the call that was probably meant: the word as the first argument that the tool requires, or a name."""
    try:
        tool = None if tools is None else tools.catalog().get(tool_name)
    except CallError:
        tool = None
    required = list(tool.parameters.get("required", ())) if tool is not None else []
    name, rest = word.strip("-:"), words[words.index(word) + 1 :]
    if tool is not None and name in tool.parameters.get("properties", ()) and rest:
        return shlex.join([tool.name, f"{name}={rest[0]}"])
    if tool is None or not required or not word.replace(".", "").isalnum():
        return "GLOBAL_QUOTE symbol=IBM"
    return f"{tool.name} {required[0]}={word}"
