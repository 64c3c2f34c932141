"""``TOOL_SCRIPT(script, inputs)``: a script in a Python subset whose functions are the tools of the catalog."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from toolfold.budget import WorkBudget
from toolfold.errors import CallError, InvalidArguments, ScriptError
from toolfold.fuzzy import closest_matches
from toolfold.meta_tools import call_arguments
from toolfold.meta_tools.arguments import invalid, is_blank, parse_integer, quote
from toolfold.meta_tools.combined_answer import output_options
from toolfold.meta_tools.combined_calls import CombinedCalls, Item
from toolfold.meta_tools.dispatcher import MetaRequest
from toolfold.meta_tools.object_text import parse_object
from toolfold.meta_tools.reference_view import view_of
from toolfold.meta_tools.result import Result, safe_line, to_text
from toolfold.results import output, tables
from toolfold.results.output import AnswerStatus
from toolfold.scripts.interpreter import (
    LATER,
    MAX_SCRIPT_BYTES,
    Output,
    ScriptCall,
    call_id,
    limit_error,
    own_arguments,
)
from toolfold.scripts.positions import CallPlaces
from toolfold.scripts.values import TooLarge, to_json

if TYPE_CHECKING:
    from toolfold.catalog.entries import Tool
    from toolfold.catalog.model import Catalog

__all__ = ["tool_script"]

TOOL = "TOOL_SCRIPT"

MAX_CALLS = 50
MAX_PARALLEL = 16
"""Calls of one ``gather`` at the same time."""

_PENDING = "$pending"
"""Key of the value that stands for a call inside ``gather(…)`` until all of them are made."""

_IDENTIFIER = re.compile(r"\W")
_WORD = re.compile(r"[A-Za-z_]\w*")
_MAX_MODULE = 5_000
"""Tools of a source that a script finds as functions of its module; ``call`` finds all."""

_NEEDS_APPROVAL = "It was called by a script."
"""Why a tool that writes needs approval in a script, where the user has seen no call of it."""


def tool_script(request: MetaRequest) -> Result:
    """Run a script.

    Returns:
        ``{"result": the value of its last expression, "printed": text, "calls": [{"tool_name", "ok", "elapsed_ms", …}],
        "elapsed_ms", "script_ms"}``. Of a script that failed ``{"error", "printed", "calls"}``.

    Raises:
        InvalidArguments: there is no script, or its inputs are no object.
    """
    started = time.perf_counter()
    script, inputs = _read(request.arguments)
    max_tokens = call_arguments.parse_max_tokens(request.arguments.get("max_tokens"), 0)
    printed = Output()
    with CombinedCalls(request, _with_approval) as calls:
        run = _Script(request, calls, script)
        try:
            if len(script.encode("utf-8", "surrogatepass")) > MAX_SCRIPT_BYTES:
                raise limit_error("script")
            value = request.interpreter().run(script, inputs, run.modules, run.call, run.settle, printed, calls.end)
            found = to_json(value)
        except TooLarge:
            return _failed(limit_error("result"), printed, run, started)
        except CallError as error:
            return _failed(error, printed, run, started)
        return _answer(request, found, printed, run, max_tokens, started)


def _read(arguments: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    script = arguments.get("script")
    if is_blank(script) or not isinstance(script, str):
        problem = "is missing" if is_blank(script) else f"must be text, not {quote(script)}"
        raise invalid(TOOL, f"script {problem}", "Send script as Python, e.g. \"call('NAME', argument=1)\".")
    given = arguments.get("inputs")
    inputs = {} if is_blank(given) else parse_object(given)
    if inputs is None:
        raise invalid(TOOL, f"inputs must be an object, not {quote(given)}", 'Send inputs as {"name": value}.')
    parse_integer(TOOL, arguments, "max_tokens", 1, 10**9)
    own = {name: value for name, value in inputs.items() if _WORD.fullmatch(name) and name not in ("call", "gather")}
    return _unfenced(script), {**own, "inputs": inputs}


def _unfenced(script: str) -> str:
    """Return a script without the fence of Markdown around it; the numbers of its lines stay."""
    text = script.strip()
    if not (text.startswith("```") and text.endswith("```")):
        return script
    first, _, rest = text[:-3].partition("\n")
    return "\n" + rest if first.strip("`").strip().lower() in ("", "python", "py") else script


def _with_approval(tool: Tool) -> Tool:
    """Return a tool as scripts call it: one that writes needs approval of each call."""
    return tool if tool.effect == "read" or tool.needs_approval else tool._replace(confirm=_NEEDS_APPROVAL)


class _Script:
    """The calls of one script.

    Attributes:
        modules: module → the functions of it that the script may use.
        items: the calls, in the order in which they were made.
    """

    def __init__(self, request: MetaRequest, calls: CombinedCalls, script: str) -> None:
        self.request, self._calls = request, calls
        self._places = CallPlaces(script)
        self._functions = _modules(request.catalog, script)
        self.modules = {module: frozenset(functions) for module, functions in self._functions.items()}
        self.items: list[Item] = []
        self._later: dict[int, Item] = {}

    def call(self, called: ScriptCall) -> Any:
        """Return what a call of the script returns.

        Raises:
            CallError: it failed; the script may catch it.
            ScriptLimit: the script makes too many calls.
        """
        if called.function == "gather":
            return self._gather(called.args, keeps_errors=own_arguments(called).get("return_exceptions") is True)
        place = self._places.at(called.start)
        item = self._open(called)
        if place.is_gathered or place.is_awaited:
            id_ = call_id(called)
            self._later[id_] = item
            return {_PENDING: id_} if place.is_gathered else LATER
        self._perform([item])
        return self._value(item)

    def settle(self, ids: Collection[int]) -> Mapping[int, Any]:
        """Make awaited calls at the same time; return their results or errors."""
        items = {id_: self._later.pop(id_) for id_ in ids if id_ in self._later}
        self._perform(list(items.values()))
        return {id_: self._value_or_error(item) for id_, item in items.items()}

    def _gather(self, given: tuple[Any, ...], *, keeps_errors: bool) -> list[Any]:
        values = list(given[0]) if len(given) == 1 and isinstance(given[0], list | tuple) else list(given)
        pending = [one[_PENDING] if isinstance(one, dict) and set(one) == {_PENDING} else None for one in values]
        items = {id_: self._later.pop(id_) for id_ in pending if id_ in self._later}
        self._perform(list(items.values()))
        return [
            (self._or_error(items[id_]) if keeps_errors else self._value(items[id_])) if id_ in items else value
            for id_, value in zip(pending, values, strict=True)
        ]

    def _open(self, called: ScriptCall) -> Item:
        name, arguments = self._tool_of(called)
        if len(self.items) >= MAX_CALLS:
            raise limit_error("calls")
        item = self._calls.open(str(len(self.items)), {"tool_name": name, "arguments": arguments})
        self.items.append(item)
        if self._calls.count > MAX_CALLS or (item.error is not None and "more than 50 calls" in item.error.message):
            raise limit_error("calls")
        return item

    def _tool_of(self, called: ScriptCall) -> tuple[str, dict[str, Any]]:
        """Return the name of the tool that a script calls, and its arguments.

        Raises:
            CallError: the function is not one of a script, or the arguments cannot be sent.
        """
        module, _, function = called.function.rpartition(".")
        args = list(called.args)
        if module:
            name = self._functions.get(module, {}).get(function, "")
        elif function == "call" and args and isinstance(args[0], str):
            name = args.pop(0)
        else:
            step = 'Use call("NAME", argument=value), gather(…), or the tools of a source as functions of its module.'
            if function == "call":
                raise InvalidArguments("call needs the name of a tool first.", step)
            closest = closest_matches(function, ["call", "gather", *self._functions])
            meant = f"Did you mean {closest[0]}? " if closest else ""
            raise ScriptError(f"There is no function {function[:60]}.", f"{meant}{step}", line=0)
        arguments = own_arguments(called)
        if len(args) == 1 and isinstance(args[0], dict) and not arguments:
            arguments = {str(key): value for key, value in args.pop().items()}
        if args:
            arguments = {**_positional(self.request.catalog, name, args), **arguments}
        return name, _sendable(arguments)

    def _perform(self, items: list[Item]) -> None:
        self._calls.perform(items, MAX_PARALLEL)
        if any(item.is_skipped for item in items):
            raise limit_error("deadline")

    def _value(self, item: Item) -> Any:
        value = self._value_or_error(item)
        if isinstance(value, CallError):
            raise value
        return value

    def _or_error(self, item: Item) -> Any:
        value = self._value_or_error(item)
        return {"error": {"code": value.code, "message": value.message}} if isinstance(value, CallError) else value

    def _value_or_error(self, item: Item) -> Any:
        if item.error is not None or item.answer is None:
            return item.error
        return view_of(item.answer.document, WorkBudget(self._calls.budget.deadline))


def _modules(catalog: Catalog, script: str) -> dict[str, dict[str, str]]:
    """Return the sources that a script names → name of a function → name of the tool."""
    words = set(_WORD.findall(script))
    sources = {_IDENTIFIER.sub("_", source.id): source.id for source in catalog.sources}
    named = {module: id_ for module, id_ in sources.items() if module in words}
    if not named:
        return {}
    functions: dict[str, dict[str, str]] = {module: {} for module in named}
    modules = {id_: module for module, id_ in named.items()}
    for name in catalog:
        tool_source, bare = _source_of(catalog, name, modules)
        if tool_source and len(functions[tool_source]) < _MAX_MODULE:
            for word in (name, bare):
                functions[tool_source].setdefault(_IDENTIFIER.sub("_", word), name)
    return functions


def _source_of(catalog: Catalog, name: str, modules: Mapping[str, str]) -> tuple[str, str]:
    """Return the module of a tool, and its name without the prefix of its source; empty: of no module that is used."""
    if len(catalog.sources) == 1:
        return next(iter(modules.values())), name
    tool = catalog.get(name)
    if tool is None or tool.source not in modules:
        return "", name
    return modules[tool.source], name.removeprefix(f"{tool.source}__")


def _positional(catalog: Catalog, name: str, args: list[Any]) -> dict[str, Any]:
    """Return positional arguments under the names of the tool's parameters: the required ones first.

    Raises:
        InvalidArguments: there are more than it has parameters.
    """
    from toolfold.meta_tools.tool_names import find_name

    tool = catalog.get(find_name(catalog, name) or name)
    if tool is None:
        return {}
    required = list(tool.parameters.get("required", ()))
    names = [*required, *(one for one in tool.parameters.get("properties", {}) if one not in required)]
    if len(args) > len(names):
        raise InvalidArguments(f"{tool.name} takes {len(names)} arguments.", f"Name them: {', '.join(names[:20])}.")
    return dict(zip(names, args, strict=False))


def _sendable(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments as JSON.

    Raises:
        InvalidArguments: one has no such form, or is too large.
    """
    try:
        found = to_json(dict(arguments))
        json.dumps(found, ensure_ascii=False).encode()
    except (TooLarge, UnicodeEncodeError):
        raise InvalidArguments("The arguments are too large, or not text.", "Pass values that JSON has.") from None
    return dict(found)


def _entries(run: _Script) -> list[dict[str, Any]]:
    entries = []
    for item in run.items:
        entry: dict[str, Any] = {"tool_name": item.tool_name, "ok": item.answer is not None}
        if item.answer is not None:
            entry |= {"elapsed_ms": round(item.elapsed_s * 1000, 1), "cached": item.answer.status.cached}
        elif item.error is not None:
            entry["error"] = {key: value for key, value in item.error.as_dict().items() if key != "schema"}
        entries.append(entry)
    return entries


def _failed(error: CallError, printed: Output, run: _Script, started: float) -> Result:
    structured = {
        "error": error.as_dict(),
        "printed": printed.text,
        "calls": _entries(run),
        "elapsed_ms": round((time.perf_counter() - started) * 1000, 1),
    }
    text = {"error": {key: value for key, value in error.as_dict().items() if key != "schema"}}
    return Result(structured, "\n".join([to_text(text), *_printed_lines(printed)]), is_error=True)


def _printed_lines(printed: Output) -> list[str]:
    """Return what was printed as one line of JSON: it may have texts of a source in it."""
    return [safe_line(f"# printed: {json.dumps(printed.text, ensure_ascii=False)}")] if printed.text else []


def _answer(request: MetaRequest, value: Any, printed: Output, run: _Script, max_tokens: int, started: float) -> Result:
    budget = WorkBudget(run._calls.budget.deadline)
    document = tables.from_value(value, budget) if value is not None else tables.Document(metadata=None)
    answered = [item.answer for item in run.items if item.answer is not None]
    status = AnswerStatus(
        cached=bool(answered) and all(answer.status.cached for answer in answered),
        age_s=max((answer.status.age_s for answer in answered), default=0),
    )
    size = len(json.dumps(value)) if value is not None else 4
    rendered = output.render_document(document, output_options(request, max_tokens), status, budget, size)
    blocks = [block for answer in answered for block in answer.blocks]
    structured = {
        **rendered.structured,
        "printed": printed.text,
        "calls": _entries(run),
        "elapsed_ms": round((time.perf_counter() - started) * 1000, 1),
        "upstream_requests": sum(answer.use.requests for answer in answered),
    }
    return Result(structured, "\n".join([rendered.text, *_printed_lines(printed)]), blocks=blocks)
