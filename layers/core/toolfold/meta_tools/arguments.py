"""Read the values of the arguments of meta-tools, which ``definitions`` describes.

Each meta-tool is also a tool without a source, which the reader of all tools reads. Here are other names of arguments,
and the text of objects.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Mapping, Sized
from typing import TYPE_CHECKING, Any

from toolfold.catalog.entries import COMBINING_TOOLS, Tool
from toolfold.catalog.json_schema import properties, type_words
from toolfold.errors import InvalidArguments
from toolfold.fuzzy import Names
from toolfold.messages import META_ARGUMENT
from toolfold.meta_tools.definitions import TOOLS
from toolfold.text_safety import load_json, quoted

if TYPE_CHECKING:
    from toolfold.catalog.entries import Effect
    from toolfold.wording import Text


MAX_NEXT_CALL = 600
"""Characters of the arguments of a call that an error proposes: more than any call has that a model would repeat."""

MAX_READ = 1000
"""Arguments of a call, and items of a list for a meta-tool, that are read: more than any tool takes."""

NAMES_OF_ARGUMENTS: Mapping[str, Names] = {
    name: Names(tool.arguments, {key: rule.other_names.split() for key, rule in tool.arguments.items()})
    for name, tool in TOOLS.items()
}
"""Meta-tool → what names of its arguments mean."""


def too_many(tool: str, given: Sized, known: Iterable[str]) -> InvalidArguments:
    """Return the error for more arguments than :data:`MAX_READ`: each is compared with all that are known."""
    takes = f"{tool} takes {', '.join([*known][:20])}."
    return InvalidArguments(f"{tool}: {len(given):,} arguments were given.", takes)


def own_name(tool: str, name: str) -> str | None:
    """Return the argument of a meta-tool that ``name`` means; None for an unknown name."""
    return name if name in TOOLS[tool].arguments else next(iter(NAMES_OF_ARGUMENTS[tool].of(name)), None)


OPTIONS = tuple(name for name in TOOLS["TOOL_CALL"].arguments if name not in ("tool_name", "arguments"))
"""Arguments of TOOL_CALL itself, beside the tool's name and its arguments."""


def is_blank(value: Any) -> bool:
    """Return whether ``value`` is null or blank text, which clients send for what they leave out."""
    return value is None or (isinstance(value, str) and not value.strip())


def next_call(tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the detail of an error that has the call to make next, ``{"next_call": {tool: arguments}}``.

    It is empty for a call that is longer than :data:`MAX_NEXT_CALL` characters.
    """
    try:
        length = len(json.dumps(arguments, ensure_ascii=False))
    except (ValueError, RecursionError):
        return {}
    return {"next_call": {tool: dict(arguments)}} if length <= MAX_NEXT_CALL else {}


def invalid(tool: str, problem: str | Text, next_step: str | Text, **details: Any) -> InvalidArguments:
    """Return the error for an argument of the meta-tool ``tool`` that cannot be used."""
    return InvalidArguments(META_ARGUMENT.filled(tool=tool, problem=problem), next_step, **details)


def put(tool: str, read: dict[str, Any], name: str, value: Any, given_as: str) -> None:
    """Set an argument in ``read``, which is changed, unless it is there already.

    Raises:
        InvalidArguments: it has another value there.
    """
    if name not in read or is_blank(read[name]):
        read[name] = value
    elif not is_blank(value) and read[name] != value:
        twice = f"{name} is given twice" if given_as == name else f"{quoted(given_as)} and {name} are the same argument"
        known = {key: one for key, one in read.items() if key in TOOLS[tool].arguments}
        following = next_call(tool, known) if tool != "TOOL_CALL" or "tool_name" in known else {}
        raise invalid(tool, f"{twice}, with different values", f"Send {name} once.", **following)


def signature(tool: Tool) -> str:
    """Return the name and the parameters of a tool: ``SMA(symbol, interval, time_period: integer, month?)``."""
    required = tool.parameters.get("required", ())
    types = {name: type_words(tool.parameters, rule) for name, rule in properties(tool.parameters).items()}
    parameters = ", ".join(
        name + ("" if name in required else "?") + ("" if words == ["string"] else f": {'|'.join(words) or 'any'}")
        for name, words in types.items()
    )
    return f"{tool.name}({parameters})"


def parse_object(value: Any) -> dict[str, Any] | None:
    """Return the object that ``value`` is or spells as JSON; else None."""
    try:
        parsed = load_json(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return None
    return parsed if isinstance(parsed, dict) else None


@functools.cache
def meta_tool(name: str) -> Tool:
    """Return a meta-tool as a tool without a source: its arguments are read, checked and corrected as those of any."""
    tool = TOOLS[name]
    rules = {key: rule.schema if rule.reads is None else rule.reads for key, rule in tool.arguments.items()}
    schema: dict[str, Any] = {"type": "object", "properties": rules, "additionalProperties": False}
    if "continue" in rules:
        schema["anyOf"] = [{"required": [next(iter(rules))]}, {"required": ["continue"]}]
    elif tool.required:
        schema["required"] = list(tool.required)
    # Without an argument that it has no place for, a call of several would be another one.
    effect: Effect = "write" if name in COMBINING_TOOLS else "read"
    call = {"blank_allowed": ["query"]}
    blank = Tool("", "", "", "", "", "", (), "free", effect, "", (), schema, "fields: ", {}, {}, call, {}, (), "")
    return blank._replace(name=name, title=tool.title, summary=", ".join(rules), description=tool.description)
