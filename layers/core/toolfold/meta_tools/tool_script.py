"""``TOOL_SCRIPT(script, inputs)``: a script in a Python subset whose functions are the tools of the catalog."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Collection, Mapping
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from toolfold.budget import WorkBudget
from toolfold.errors import CallError, InvalidArguments, ScriptError, ScriptLimit
from toolfold.fuzzy import did_you_mean
from toolfold.meta_tools.call import Item, answer_of, output_options
from toolfold.meta_tools.definitions import MAX_CALLS, MAX_PARALLEL
from toolfold.meta_tools.plan import Plan
from toolfold.meta_tools.references import view_of
from toolfold.meta_tools.result import Result, error_text, repeated_by, safe_line
from toolfold.meta_tools.tool_names import find_name
from toolfold.results import tables
from toolfold.scripts.interpreter import (
    LATER,
    MAX_SCRIPT_BYTES,
    Output,
    ScriptCall,
    find_calls,
    limit_error,
    to_json,
)
from toolfold.wording import joined

if TYPE_CHECKING:
    from toolfold.catalog.entries import Tool
    from toolfold.catalog.model import Catalog
    from toolfold.meta_tools.dispatcher import MetaRequest


TOOL = "TOOL_SCRIPT"

_ASK_LESS = "return fewer rows or only figures from the script, or use select in its calls"
"""How to ask for less, in a preview: TOOL_SCRIPT has no ``select``."""

_REPEAT_SCRIPT = "run the script again with approval_token among the arguments of this call"

_WORD = re.compile(r"[A-Za-z_]\w*")
_FENCE = re.compile(r"```(?:python|py)?[ \t]*\n(.*)```", re.DOTALL | re.IGNORECASE)


def tool_script(request: MetaRequest) -> Result:
    """Run a script.

    Returns:
        ``{"result": the value of its last expression, "printed": text, "calls": [{"tool_name", "ok", "elapsed_ms", …}],
        "elapsed_ms", "upstream_requests"}``. Of a script that failed ``{"error", "printed", "calls"}``.
    """
    script, inputs = request.arguments["script"], request.arguments.get("inputs", {})
    own = {name: value for name, value in inputs.items() if _WORD.fullmatch(name) and name not in ("call", "gather")}
    fence = _FENCE.fullmatch(script.strip())  # of Markdown
    script, variables = "\n" + fence[1] if fence else script, {**own, "inputs": inputs}
    max_tokens = request.arguments.get("max_tokens")
    with closing(Plan(request)) as plan:
        run = _Script(plan, script)
        try:
            if len(script.encode("utf-8", "surrogatepass")) > MAX_SCRIPT_BYTES:
                raise limit_error("script")
            found = to_json(request.tools.interpreter().run(script, variables, run, plan.end))
        except CallError as error:
            if isinstance(error, ScriptError):
                error = run.with_hint(error)
            elif error.code in ("APPROVAL_REQUIRED", "APPROVAL_PENDING"):
                error = repeated_by(error, _REPEAT_SCRIPT)
            return run.failed(error)._replace(answered=plan.progress(lacks_time=True))
        return run.answer(found, max_tokens)


_SUBSET = (
    "Scripts are a subset of Python, and a function that is passed to map, sorted, max or the like cannot make calls: "
    "make them before, in a loop or in a list, as in [call(…) for x in xs]."
)
_NO_HOST = "A script has no files, network or variables of a system: data comes from call(…) and from inputs."
_NO_RESULT = "The script has no result: the value of its last expression is. End it with what to return."

_CALLS = ("call", "TOOL_CALL")
"""Functions that call the tool they are given the name of."""

_FUNCTIONS = 'Use call("NAME", argument=value), gather(…), or the tools of a source as functions of its module.'

_ANSWERS = f"{_FUNCTIONS} An answer is a dict: its fields, or rows, a list of dicts; print(call(…).keys()) shows them."

_STEPS: Mapping[str, str] = {
    **dict.fromkeys(("ImportError", "NameError"), _FUNCTIONS),
    **dict.fromkeys(("AttributeError", "IndexError", "KeyError", "TypeError"), _ANSWERS),
    "NotImplementedError": _SUBSET,
    "PermissionError": _NO_HOST,
}
"""Exception of a script → what to write instead."""

_IDENTIFIER = re.compile(r"\W")
_MAX_MODULE = 5_000
"""Tools of a source that a script finds as functions of its module; ``call`` finds all."""


def with_approval(tool: Tool) -> Tool:
    """Return a tool as scripts call it: one that writes needs approval of each call, which the user has not seen."""
    return tool if tool.effect == "read" or tool.needs_approval else tool._replace(confirm="It was called by a script")


class _Script:
    """One script: its calls, and its result.

    Attributes:
        modules: module → the functions of it that the script may use, each with the name of its tool.
        printed: what it prints.
        items: the calls, in the order in which they were made.
    """

    def __init__(self, plan: Plan, script: str) -> None:
        self._plan = plan
        self._together = find_calls(script)
        words = set(_WORD.findall(script))
        self.modules: Mapping[str, Mapping[str, str]] = {
            module: _functions_of(plan.catalog, id_)
            for module, id_ in _source_modules(plan.catalog).items()
            if module in words
        }
        self.printed = Output()
        self.items: list[Item] = []
        self._later: dict[int, Item] = {}

    def failed(self, error: CallError) -> Result:
        """Return the result of a script that ended in ``error``."""
        reader = self._plan.request.tools.reader
        structured = {"error": error.as_dict(reader), **self._figures()}
        text = "\n".join([error_text(error, reader), *self._printed_lines()])
        return Result(structured, text, is_error=True, errors=(error,))

    def answer(self, value: Any, max_tokens: int | None) -> Result:
        """Return the result of a script whose last expression has the value ``value``."""
        budget = WorkBudget(self._plan.budget.deadline)
        document = tables.from_value(value, budget) if value is not None else tables.Document(metadata=None)
        answered = [(item.tool_name, item.answer) for item in self.items if item.answer is not None]
        notes = dict.fromkeys(f"{name}: {note}" for name, answer in answered for note in answer.document.notes)
        missing = (_NO_RESULT,) if value is None and not self.printed.text else ()
        document = replace(document, notes=(*document.notes, *notes, *missing))
        answer = replace(answer_of(document, [answer for _, answer in answered]), size=len(json.dumps(value)))
        options = replace(output_options(self._plan.request, max_tokens), ask_less=_ASK_LESS)
        rendered = answer.render(options, budget)
        structured = {**rendered.structured, **self._figures(), "upstream_requests": answer.use.requests}
        return Result(structured, "\n".join([rendered.text, *self._printed_lines()]), blocks=answer.blocks)

    def _figures(self) -> dict[str, Any]:
        calls = []
        for item in self.items:
            entry = item.entry(None, self._plan.request.tools.reader)
            del entry["id"]
            entry.get("error", {}).pop("schema", None)  # the error of the script has it
            calls.append(entry | ({} if item.answer is None else {"cached": item.answer.status.cached}))
        return {"printed": self.printed.text, "calls": calls, "elapsed_ms": self._plan.elapsed_ms}

    def _printed_lines(self) -> list[str]:
        """Return what was printed as one line of JSON: it may have texts of a source in it."""
        printed = self.printed.text
        return [safe_line(f"# printed: {json.dumps(printed, ensure_ascii=False)}")] if printed else []

    def call(self, called: ScriptCall) -> Any:
        """Return what a call of the script returns, or its error; :data:`LATER` for one of several at the same time.

        Raises:
            CallError: it cannot be made; the script may catch it.
            ScriptLimit: the script makes too many calls.
        """
        name, arguments = self._tool_of(called)
        if len(self.items) >= MAX_CALLS:
            raise limit_error("calls")
        item = self._plan.open(str(len(self.items)), {"tool_name": name, "arguments": arguments})
        self.items.append(item)
        if self._plan.is_full:
            raise limit_error("calls")
        if item.call is not None:
            item.call = item.call._replace(tool=with_approval(item.call.tool))
        self._later[called.id] = item
        return LATER if called.start in self._together else self.settle([called.id])[called.id]

    def settle(self, ids: Collection[int]) -> Mapping[int, Any]:
        """Make calls at the same time; return their results or errors."""
        items = {id_: self._later.pop(id_) for id_ in ids}
        self._plan.perform(list(items.values()), MAX_PARALLEL)
        if any(item.is_skipped for item in items.values()):
            raise limit_error("deadline")
        found: dict[int, Any] = {}
        for id_, item in items.items():
            budget = WorkBudget(self._plan.budget.deadline)
            found[id_] = item.error if item.answer is None else view_of(item.answer.document, budget)
        return found

    def with_hint(self, error: ScriptError) -> ScriptError:
        """Return an exception of the script with what to change."""
        exception = str(error.details.get("exception"))
        step = _STEPS.get(exception, error.next_step)
        if exception == "ModuleNotFoundError":
            sources = ", ".join(itertools.islice(_source_modules(self._plan.catalog), 20))
            step = f"There are modules of Python that need no system, such as datetime, json, math, re, and {sources}."
        is_cached = any(item.answer is not None for item in self.items)
        return error.changed(next_step=joined(step, "Calls that have succeeded are cached." if is_cached else ""))

    def _tool_of(self, called: ScriptCall) -> tuple[str, dict[str, Any]]:
        module, _, function = called.function.rpartition(".")
        args, arguments = list(called.args), dict(called.kwargs)
        if module:
            name = self.modules.get(module, {}).get(function, "")
        elif function in _CALLS:
            name = args.pop(0) if args else arguments.pop("tool_name", None)
            if not isinstance(name, str):
                raise InvalidArguments("call needs the name of a tool first.", _FUNCTIONS)
        elif self._plan.catalog.get(function) is not None:
            name = function
        else:
            meant = did_you_mean(function, [*_CALLS, "gather", *self.modules])
            raise ScriptError(f"There is no function {function[:60]}.", f"{meant}{_FUNCTIONS}", line=0)
        if len(args) == 1 and isinstance(args[0], dict) and not arguments:
            arguments = {str(key): value for key, value in args.pop().items()}
        if args:
            arguments = {**_positional(self._plan.catalog, name, args), **arguments}
        try:
            found = to_json(arguments)
            json.dumps(found, ensure_ascii=False).encode()
        except (ScriptLimit, UnicodeEncodeError):
            raise InvalidArguments("The arguments are too large, or not text.", "Pass values that JSON has.") from None
        return name, dict(found)


def _source_modules(catalog: Catalog) -> dict[str, str]:
    return {_IDENTIFIER.sub("_", source.id): source.id for source in catalog.sources}


def _functions_of(catalog: Catalog, source: str) -> Mapping[str, str]:
    """Return name of a function of a source → name of the tool."""

    def read() -> dict[str, str]:
        functions: dict[str, str] = {}
        for position in itertools.islice(catalog.positions("source", source), _MAX_MODULE):
            name = catalog.summary(position).name
            for word in (name, name.removeprefix(f"{source}__")):
                functions.setdefault(_IDENTIFIER.sub("_", word), name)
        return functions

    return catalog.memoize(("functions of", source), read)


def _positional(catalog: Catalog, name: str, args: list[Any]) -> dict[str, Any]:
    """Return positional arguments under the names of the tool's parameters: the required ones first."""
    tool = catalog.get(find_name(catalog, name) or name)
    if tool is None:
        return {}
    required = list(tool.parameters.get("required", ()))
    names = [*required, *(one for one in tool.parameters.get("properties", {}) if one not in required)]
    if len(args) > len(names):
        raise InvalidArguments(f"{tool.name} takes {len(names)} arguments.", f"Name them: {', '.join(names[:20])}.")
    return dict(zip(names, args, strict=False))
