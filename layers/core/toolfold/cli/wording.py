"""An error in the words for the person at the terminal, made of the words for a model; see ``toolfold.messages``."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Mapping
from typing import Any

from toolfold import messages

_FIELDS = {
    "host": r"\S*?",
    "variable": r"[A-Z][A-Z0-9_]*(?:, [A-Z_]+ or [A-Z_]+)?",
    "header": r"(?:, or to send .*?)?",
    "signup": r"(?:; a key is at \S+?)?",
}
"""Field of a template → what it can be. Others are any text."""

_AUDIENCE = (
    (r"[Aa]sk the user for (an?|the) (\w+) of their own", r"use \1 \2 of your own"),
    (r"[Aa]sk the user (?:to|for) ", ""),
    (r", or tell the user that ", "; otherwise "),
    (r"[Tt]ell the operator, whose log says", "the log says"),
    (r"[Tt]ell the operator to ([^.]*?), or to ", r"\1, or "),
    (r"[Tt]ell the (?:user|operator)(?: to |: |, who can | that )", ""),
    (r"[;,] tell the (?:user|operator)(?=\W)", ""),
    (r"[Tt]ell the (?:user|operator)\b,? ?", ""),
    (r"\bthe operator can\b", "you can"),
    (r"\bthe (?:user|operator)'s\b", "your"),
    (r"\bthe (?:user|operator)\b", "you"),
)
"""Text for a model that acts for a user → text for that user."""

_VOCABULARY = (
    (r" \(\d+ more in problems\)", ""),
    (r"\?\.$", "?"),
    (r"\b[Cc]all TOOL_LIST with what you need as query", "`toolfold catalog search WORD …` finds it by what you need"),
    (r'\b[Cc]all TOOL_CALL (?:again )?with \{"tool_name": "NAME"[^}]*\}?\}', "Write `toolfold call NAME key=value`"),
    (r'\b[Cc]all TOOL_GET (?:again )?with \{"tool_name": "NAME"[^}]*\}', "Write `toolfold catalog get NAME`"),
    (r"\bTOOL_LIST(?:\(\)|(?= has the names))", "`toolfold catalog list`"),
    (r"\bTOOL_LIST\b(?:\(query\))?", "`toolfold catalog search`"),
    (r"\bTOOL_GET(?:\(tool_name\))?(?![\w(])", "`toolfold catalog get`"),
    (r"\bTOOL_CALL(?:_WRITE)?\b", "`toolfold call`"),
    (r"(?:\bas long as )?\bretry_after_s says\b", "{retry_after}"),
    (r"\bor search with query alone", "or search: `toolfold catalog search WORD …`"),
    (r"\bselect=(?=[\"'])", "--select "),
    (r"\bmax_tokens\b", "--max-tokens"),
)
"""Names of the meta-tools and their arguments → commands and options."""

_CHANGED = "\0"
"""Marks where a replacement begins, which may now begin a sentence."""

_LONG_S = 120
"""Seconds to wait from which on they are mentioned where the text does not."""

_EXAMPLES_NOTE = re.compile(r" ?In next_call ([\w, ]+?) (?:is an example|are examples)\.")
"""The end of a suggestion that says which values of the proposed call are made up."""

_META_TOOL = re.compile(r"TOOL_(?:LIST|GET|CALL): ")
"""The beginning of a message about the arguments of a meta-tool, which a person has not called."""

_SIGNATURE = re.compile(r"\b([A-Z][A-Z0-9_]+)\((\w+\??(?:, \w+\??)*)\)")
_CALL = re.compile(r"\b(?:[Cc]all )?TOOL_CALL(?: again with)? ?\(?(?=\{)")


def for_person(
    error: Mapping[str, Any], tool_name: str = "", environment: Mapping[str, str] | None = None
) -> tuple[str, str]:
    """Return message and next step of an error for a person.

    Args:
        error: ``code``, ``message``, ``suggestion`` and details, as ``CallError.as_dict`` returns them.
        tool_name: the tool that was called; empty: none.
        environment: the environment variables (default: those of the process).
    """
    message, suggestion = _META_TOOL.sub("", str(error["message"])), str(error["suggestion"])
    variables = os.environ if environment is None else environment
    message, step = _worded(error, message, _EXAMPLES_NOTE.sub("", suggestion), tool_name, variables)
    command = _next_command(error)
    if command and command not in step:
        named = _EXAMPLES_NOTE.search(suggestion)
        examples = f" ({named[1]} {'are examples' if ',' in named[1] else 'is an example'})" if named else ""
        step = f"{step}\nTry: {command}{examples}"
    return message, step


def _next_command(error: Mapping[str, Any]) -> str:
    """Return the call that the error proposes, as a command; empty: it proposes none."""
    proposed = error.get("next_call")
    if not isinstance(proposed, Mapping) or len(proposed) != 1:
        return ""
    ((meta_tool, arguments),) = proposed.items()
    if meta_tool in ("TOOL_CALL", "TOOL_CALL_WRITE") and "tool_name" in arguments:
        return _command(arguments)
    words = arguments.get("tool_name" if meta_tool == "TOOL_GET" else "query", ())
    subcommand = {"TOOL_GET": "get", "TOOL_LIST": "search"}.get(meta_tool)
    if not subcommand or not words:
        return ""
    return shlex.join(["toolfold", "catalog", subcommand, *(words.split() if isinstance(words, str) else words)])


def _worded(
    error: Mapping[str, Any], message: str, step: str, tool_name: str, variables: Mapping[str, str]
) -> tuple[str, str]:
    found = _find(message, step)
    if found is None:
        waits = error.get("retry_after_s", 0) >= _LONG_S and "retry_after_s" not in step
        until = f" Calls work again in {_duration(error)}." if waits else ""
        return _translated(message, error), _translated(step, error) + until
    wording, fields = found
    return _translated(message, error), wording.for_person.format_map(_Fields(fields, error, tool_name, variables))


def _find(message: str, step: str) -> tuple[messages.Wording, dict[str, str]] | None:
    for has_message in (True, False):
        for wording in messages.TABLE:
            if bool(wording.message) is not has_message or not wording.for_person:
                continue
            in_message = _match(wording.message, message) if wording.message else {}
            in_step = _match(wording.for_model, step)
            if in_message is not None and in_step is not None:
                return wording, {**in_step, **in_message}
    return None


def _match(template: str, text: str) -> dict[str, str] | None:
    """Return the fields of ``template`` in ``text``; None where it is another text."""
    names: set[str] = set()
    pattern = ""
    for part in re.split(r"(\{\w+\})", template):
        name = part[1:-1] if part.startswith("{") else ""
        if not name:
            pattern += re.escape(part)
        elif name in names:
            pattern += f"(?P={name})"
        else:
            names.add(name)
            pattern += f"(?P<{name}>{_FIELDS.get(name, '.*?')})"
    found = re.fullmatch(pattern, text, re.DOTALL)
    return found.groupdict() if found else None


class _Fields(dict[str, str]):
    """The fields of a text for a person: those of the model's text, and what only this machine may know."""

    def __init__(
        self, fields: Mapping[str, str], error: Mapping[str, Any], tool_name: str, environment: Mapping[str, str]
    ) -> None:
        super().__init__({**{name: str(value) for name, value in error.items()}, **fields})
        self._error, self._tool, self._environment = error, tool_name, environment

    def __missing__(self, name: str) -> str:
        if name == "tool":
            return self._tool.upper() or "TOOL_NAME"
        if name == "retry_after":
            return _duration(self._error)
        if name == "set_command":
            return f"{'set' if os.name == 'nt' else 'export'} {self['variable']}=YOUR_KEY"
        if name == "set_database":
            if os.name == "nt":
                return f"set {self['variable']}=postgresql://role:password@host/database, or sqlite:///C:/shop.db."
            return f"export {self['variable']}=postgresql://role:password@host/database, or …=sqlite:///shop.db."
        if name == "source_variable":
            given = [f"{key}" for key in self._environment if re.fullmatch(r"TOOLFOLD_SOURCE_\w+_URL", key)]
            return given[0] if len(given) == 1 else "TOOLFOLD_SOURCE_<ID>_URL"
        if name == "bundle":
            from toolfold.network.sockets import ca_bundle

            variable, path = ca_bundle(self._environment)
            return f"{variable}={path}" if variable else f"{path} (set REQUESTS_CA_BUNDLE to use another one)"
        if name == "proxy":
            from toolfold.network.proxies import describe_proxy

            return describe_proxy(f"https://{self.get('host', '')}") or "which HTTPS_PROXY names"
        return f"{{{name}}}"


def _duration(error: Mapping[str, Any]) -> str:
    """Return the time to wait in the largest unit of which there are two or more; ``a moment`` if it is not known."""
    seconds = error.get("retry_after_s")
    if not isinstance(seconds, int | float):
        return "a moment"
    for size, unit in ((3600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{round(seconds / size)} {unit}"
    return f"{round(seconds)} {'second' if round(seconds) == 1 else 'seconds'}"


def _translated(text: str, error: Mapping[str, Any]) -> str:
    """Return a text for a model with the names of commands, spoken to the person who reads it."""
    text = _SIGNATURE.sub(_signature, _commands(text))
    for pattern, replacement in _VOCABULARY:
        text = re.sub(pattern, replacement, text)
    for pattern, replacement in _AUDIENCE:
        text = re.sub(pattern, f"{_CHANGED}{replacement}", text)
    text = re.sub(rf"(^|[.!?] ){_CHANGED}([a-z])", lambda found: found[1] + found[2].upper(), text)
    return text.replace(_CHANGED, "").replace("{retry_after}", _duration(error))


def _signature(found: re.Match[str]) -> str:
    """Return ``NAME(a, b?)`` as a command."""
    words = [f"[{name[:-1]}=…]" if name.endswith("?") else f"{name}=…" for name in found[2].split(", ")]
    return f"`toolfold call {' '.join([found[1], *words])}`"


def _commands(text: str) -> str:
    """Return ``text`` with each TOOL_CALL and its JSON arguments as a command."""
    while found := _CALL.search(text):
        try:
            arguments, end = json.JSONDecoder().raw_decode(text, found.end())
            command = _command(arguments)
        except (ValueError, RecursionError, AttributeError, KeyError):
            return text
        end += text[end : end + 1] == ")" and "(" in found[0]
        verb = "Write " if found[0].startswith("C") else "write " if found[0].startswith("c") else ""
        text = f"{text[: found.start()]}{verb}`{command}`{text[end:]}"
    return text


def _command(arguments: Mapping[str, Any]) -> str:
    words = ["toolfold", "call", arguments["tool_name"]]
    for name, value in arguments.get("arguments", {}).items():
        for item in value if isinstance(value, list) else [value]:
            words.append(f"{name}={item if isinstance(item, str) else json.dumps(item)}")
    for name in ("select", "max_tokens"):
        if name in arguments:
            words += [f"--{name.replace('_', '-')}", str(arguments[name])]
    return shlex.join(words)
