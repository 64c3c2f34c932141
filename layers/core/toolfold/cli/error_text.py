"""An error in the words for the person at the terminal."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Mapping
from typing import Any

from toolfold.errors import CallError
from toolfold.network.session import describe_proxy
from toolfold.network.sockets import ca_bundle
from toolfold.wording import Reader, worded

_TERMS = {
    "TOOL_LIST": "`toolfold catalog search`",
    "TOOL_GET": "`toolfold catalog get`",
    "TOOL_CALL": "`toolfold call`",
    "max_tokens": "--max-tokens",
    "select": "--select",
    "approval_token": "--approval-token",
}
"""Tools and arguments of a model → commands and options."""

WHOLE_TOKENS = 100_000
"""Limit of an answer for a person; an endpoint has a ceiling of its own."""

_LONG_S = 120
"""Seconds to wait from which on they are mentioned where the text does not."""


class Person(Reader):
    """The person at this terminal, who reads one error.

    Args:
        error: its details are fields of its texts.
        tool_name: the tool that was called; empty: none.
    """

    is_person = True

    def __init__(self, error: CallError, tool_name: str) -> None:
        self._details, self._tool = error.details, tool_name
        self.has_wait = False
        """Whether a text has named the time to wait."""

    def term(self, name: str, fields: Mapping[str, Any]) -> str:
        """Return a field that only this machine knows, a detail of the error, or a command."""
        match name:
            case "tool":
                return self._tool or "TOOL_NAME"
            case "called":  # a meta-tool, which a person has not called
                return ""
            case "retry_after":
                self.has_wait = True
                return duration(self._details.get("retry_after_s"))
            case "bundle":
                variable, path = ca_bundle(os.environ)
                return f"{variable}={path}" if variable else f"{path} (set REQUESTS_CA_BUNDLE to use another one)"
            case "proxy":
                return describe_proxy(f"https://{fields.get('host', '')}") or "which HTTPS_PROXY names"
        return str(self._details.get(name, _TERMS.get(name, name)))

    def call_text(self, tool: str, arguments: Mapping[str, Any]) -> str:
        """Return a call as a command."""
        return f"`{_next_command({tool: arguments})}`"


def for_person(error: CallError, tool_name: str = "") -> tuple[str, str]:
    """Return message and next step of an error for a person.

    Args:
        error: the error.
        tool_name: the tool that was called; empty: none.
    """
    reader = Person(error, tool_name)
    message, step = worded(error.problem, reader), worded(error.next_step, reader)
    wait_s = error.details.get("retry_after_s", 0)
    if wait_s >= _LONG_S and not reader.has_wait:
        step = f"{step} Calls work again in {duration(wait_s)}."
    command = _next_command(error.details.get("next_call"))
    return message, step if not command or command in step else f"{step}\nTry: {command}".lstrip()


def duration(seconds: Any) -> str:
    """Return a time to wait in the largest unit of which there are two or more; ``a moment`` where it is not known."""
    if not isinstance(seconds, int | float):
        return "a moment"
    for size, unit in ((3600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{round(seconds / size)} {unit}"
    return f"{round(seconds)} {'second' if round(seconds) == 1 else 'seconds'}"


def _next_command(proposed: Any) -> str:
    """Return the call that an error proposes, as a command; empty: it proposes none."""
    if not isinstance(proposed, Mapping) or len(proposed) != 1:
        return ""
    ((meta_tool, arguments),) = proposed.items()
    if meta_tool in ("TOOL_CALL", "TOOL_CALL_WRITE") and "tool_name" in arguments:
        return call_command(arguments)
    words = arguments.get("tool_name" if meta_tool == "TOOL_GET" else "query", ())
    subcommand = {"TOOL_GET": "get", "TOOL_LIST": "search"}.get(meta_tool)
    if not subcommand or not words:
        return ""
    return shlex.join(["toolfold", "catalog", subcommand, *(words.split() if isinstance(words, str) else words)])


def call_command(arguments: Mapping[str, Any]) -> str:
    """Return the command for the arguments of TOOL_CALL; the limit that commands add is left out."""
    words = ["toolfold", "call", arguments["tool_name"]]
    for name, value in arguments.get("arguments", {}).items():
        for item in value if isinstance(value, list) else [value]:
            words.append(f"{name}={item if isinstance(item, str) else json.dumps(item)}")
    for name in ("select", "max_tokens"):
        if arguments.get(name) not in (None, WHOLE_TOKENS):
            words += [f"--{name.replace('_', '-')}", str(arguments[name])]
    return shlex.join(words)
