"""Read the steps of a pipe; check names, references and literal arguments before the first call."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from toolfold.budget import WorkBudget
from toolfold.errors import CallError, InsufficientScope, InvalidArguments, UpstreamTimeout
from toolfold.execution.argument_reader import reader_of
from toolfold.execution.call import NO_USE
from toolfold.execution.validation import invalid_arguments
from toolfold.messages import STEP
from toolfold.meta_tools import continuation
from toolfold.meta_tools.arguments import escape, invalid, is_blank, own_option, quote, read_items, read_value
from toolfold.meta_tools.call import Answer, metadata, output_options, parse_select, read_options
from toolfold.meta_tools.plan import Item, Plan, document_size
from toolfold.meta_tools.reader import read_call
from toolfold.meta_tools.references import (
    LITERAL,
    PREVIOUS,
    check_path,
    check_templates,
    has_reference,
    keys_of,
    parse_reference,
    references_in,
    replace_references,
    value_at,
    view_of,
)
from toolfold.meta_tools.result import MetaRequest, Result, dumps_compact, error_text, repeated_by, to_text
from toolfold.meta_tools.tool_batch import Combination, JoinRequest, read_join, render_answer, render_items, status_of
from toolfold.results.output import AnswerStatus

if TYPE_CHECKING:
    from toolfold.catalog.entries import Tool
    from toolfold.catalog.model import Catalog
    from toolfold.results.select.grammar import Selection


MAX_STEPS = 20
"""Steps of a pipe: more than any task had that was recorded, and a bound on the calls of one request."""

_EXAMPLE = '[{"as": "found", "tool_name": "NAME", "arguments": {…}}, …]'
_LATE = "The time for one call was over before this step.", "Call again with continue for the rest."
_NAME = re.compile(r"[A-Za-z_][\w-]{0,63}", re.ASCII)


class Step(NamedTuple):
    """One step.

    Attributes:
        name: given with ``as``; empty for a step without one.
        given: its TOOL_CALL in the documented form, or the join as it was sent.
        joined: indexes of the steps that it joins; empty for a call.
        join: how it joins them; None: by SQL.
        select: what to select of the joined steps.
    """

    name: str
    given: Mapping[str, Any]
    joined: tuple[int, ...] = ()
    join: JoinRequest | None = None
    select: Selection | None = None


class PipeRequest(NamedTuple):
    """A pipe as it was requested.

    Attributes:
        steps: in order.
        names: name of each step → its index.
        returned: index of the step whose answer is returned; None: all.
    """

    steps: tuple[Step, ...]
    names: Mapping[str, int]
    returned: int | None


def read_pipe(catalog: Catalog, arguments: Mapping[str, Any]) -> PipeRequest:
    """Return the pipe.

    Raises:
        CallError: it cannot be read, or a step cannot work; names the step.
    """
    items = read_items(TOOL, "steps", arguments.get("steps"), MAX_STEPS, _EXAMPLE)
    for position, item in enumerate(items):
        if not isinstance(item, dict):
            raise invalid(TOOL, f"step {position} must be an object, not {quote(item)}", f"Send steps as {_EXAMPLE}.")
    given = [dict(item) for item in items]
    names = _names(given)
    steps = []
    for position in range(len(given)):
        try:
            steps.append(_read_step(catalog, given, names, position))
        except CallError as error:
            raise located(error, position, names) from None
    return PipeRequest(tuple(steps), names, _returned(arguments, names, len(steps)))


def located(error: CallError, position: int, names: Mapping[str, int]) -> CallError:
    """Return an error with the step that it belongs to: ``step`` is its index, ``as`` its name."""
    name = next((name for name, index in names.items() if index == position), None)
    problem = None
    if "step" not in error.details:
        problem = STEP.filled(step=position, name=f" ({name})" if name else "", problem=error.problem)
    return error.changed(problem=problem, step=position, **({"as": name} if name else {}))


def _names(given: Sequence[dict[str, Any]]) -> dict[str, int]:
    """Remove the name of each step, and return name → index."""
    names: dict[str, int] = {}
    for position, item in enumerate(given):
        name = own_option(item, ("as", "id", "key", "label"))
        if not name:
            continue
        if _NAME.fullmatch(name) is None or name.lower() in (PREVIOUS, "last", "all", "steps"):
            raise invalid(
                TOOL,
                f"step {position} cannot be called {quote(name)}",
                "A name has letters, digits and _, begins with a letter, and is not prev, last, all or steps.",
            )
        if name in names:
            raise invalid(
                TOOL, f"steps {names[name]} and {position} are both called {quote(name)}", "Name each step once."
            )
        names[name] = position
    return names


def _has_rows(
    catalog: Catalog, items: Sequence[Mapping[str, Any]], names: Mapping[str, int], position: int, head: str
) -> bool:
    """Return whether the answer of the step that ``head`` names, as of a step at ``position``, is a table."""
    index = names.get(head, int(head) if head.isdecimal() else position - 1)
    tool = catalog.get(str(items[index].get("tool_name"))) if 0 <= index < len(items) else None
    return tool is None or tool.answer.get("kind") != "object"


def _read_step(catalog: Catalog, items: Sequence[dict[str, Any]], names: Mapping[str, int], position: int) -> Step:
    item = items[position]
    name = next((name for name, index in names.items() if index == position), "")
    if "join" in item and "tool_name" not in item:
        return _read_join(item, names, position, name)
    given = read_call(catalog, item)
    arguments = given.get("arguments") or {}
    tool = catalog.get(given["tool_name"])
    for text in references_in(arguments):
        check_path(parse_reference(text, names, position))
    check_templates(arguments, list(names), lambda head: _has_rows(catalog, items, names, position, head))
    if tool is not None:
        read_options(given)
        _check_literals(catalog, tool, arguments)
    return Step(name, given)


def _read_join(item: Mapping[str, Any], names: Mapping[str, int], position: int, name: str) -> Step:
    unknown = [key for key in item if key not in ("join", "on", "how", "select")]
    if unknown:
        raise InvalidArguments(
            f"A join has no member {quote(unknown[0])}.", 'Send {"join": ["a", "b"], "on": "date", "select": "…"}.'
        )
    listed = item["join"] if isinstance(item["join"], list) else [item["join"]]
    indexes = tuple(parse_reference(str(one), names, position).step for one in listed)
    selection = parse_select(item.get("select"))
    is_sql = selection is not None and selection.has_sql and "on" not in item
    join = None if is_sql else read_join({"on": item.get("on", "date"), "how": item.get("how", "inner")})
    if len(set(indexes)) < (1 if is_sql else 2):
        raise InvalidArguments("A join needs two different steps.", 'Name them, as in {"join": ["a", "b"]}.')
    return Step(name, dict(item), indexes, join, selection)


def _check_literals(catalog: Catalog, tool: Tool, arguments: Mapping[str, Any]) -> None:
    """Check the arguments that have no reference, the others being taken for those of the tool's example."""
    referring = {name for name, value in arguments.items() if has_reference(value)}
    given = {
        name: tool.example.get(name) if name in referring else replace_references(value, lambda text: text)
        for name, value in arguments.items()
    }
    left_out = catalog.source(tool.source).format_parameter  # a combined call does without it
    given = {
        name: value
        for name, value in given.items()
        if name != left_out and (value is not None or name not in referring)
    }
    if any(isinstance(value, list) for value in given.values()):
        return  # read as several calls, with what the references bring
    resolved = reader_of(catalog, tool).resolve(given)
    problems = [
        problem
        for problem in resolved.problems
        if problem["parameter"].partition(".")[0].partition("[")[0] not in referring
    ]
    if problems:
        raise invalid_arguments(tool, resolved._replace(problems=problems, next_step=None))


def _returned(arguments: Mapping[str, Any], names: Mapping[str, int], count: int) -> int | None:
    given = arguments.get("return")
    if given is None or given == "last":
        return count - 1
    if given == "all":
        return None
    if isinstance(given, str) and given in names:
        return names[given]
    raise invalid(
        TOOL,
        f"return must be last, all or the name of a step, not {quote(given)}",
        f"The steps with names are: {', '.join(names) or 'no step has one'}.",
    )


TOOL = "TOOL_PIPE"


def tool_pipe(request: MetaRequest) -> Result:
    """Perform the steps of a pipe.

    Returns:
        ``{"result": the answer that ``return`` names, "steps": [{"as", "tool_name", "ok", "elapsed_ms", …}]}``. Of a
        pipe with a failed step ``{"error", "failed_step": its index, "steps": the finished ones with their results,
        "continue": token or null}``; the token has the rest where only time or an approval was missing.

    Raises:
        CallError: a step cannot work, found before the first call.
        InsufficientScope: the access token of the caller does not allow the first step.
    """
    started = time.perf_counter()
    arguments = continuation.resume(request, TOOL)
    max_tokens = read_value(TOOL, arguments, "max_tokens") or 0
    pipe = read_pipe(request.catalog, arguments)
    with Plan(request) as calls:
        run = _Run(request, pipe, calls, arguments.get("approval_token"))
        error = run.perform()
        if error is not None:
            result = _failure(request, run, error, arguments, max_tokens)
            result = result._replace(answered=calls.progress(lacks_time=run.items[-1].is_skipped))
        else:
            result = _success(request, run, max_tokens)
    elapsed_ms = round((time.perf_counter() - started) * 1000, 1)
    return result._replace(structured={**result.structured, "elapsed_ms": elapsed_ms})


class _Run:
    """The steps of one pipe as they are performed.

    Attributes:
        pipe: what was requested.
        items: the steps that were performed, the last possibly failed.
    """

    def __init__(self, request: MetaRequest, pipe: PipeRequest, calls: Plan, approval_token: Any) -> None:
        self.request, self.pipe, self.calls = request, pipe, calls
        self.items: list[Item] = []
        self._views: dict[int, Any] = {}
        self._approval_token = approval_token

    def perform(self) -> CallError | None:
        """Perform the steps; return the error of the one that failed, or None."""
        for position, step in enumerate(self.pipe.steps):
            item = Item(step.name or str(position), step.given)
            try:
                item = self._join(step, item) if step.joined else self._call(step, item, position)
            except CallError as error:
                item.error = error
            self.items.append(item)
            if item.is_skipped:
                return located(UpstreamTimeout(*_LATE), position, {})
            if item.error is not None:
                if isinstance(item.error, InsufficientScope) and not position:
                    raise item.error
                return located(item.error, position, self.pipe.names)
        return None

    def view(self, index: int) -> Any:
        """Return the answer of a finished step as references see it."""
        if index not in self._views:
            answer = self.items[index].answer
            self._views[index] = None if answer is None else view_of(answer.document, self.calls.budget)
        return self._views[index]

    def resolved(self, given: Mapping[str, Any], position: int) -> dict[str, Any]:
        """Return a TOOL_CALL with the references of its arguments replaced."""

        def resolve(text: Any) -> Any:
            reference = parse_reference(text, self.pipe.names, position)
            return value_at(reference, self.view(reference.step), self.calls.budget)

        return {**given, "arguments": replace_references(given.get("arguments") or {}, resolve)}

    def _call(self, step: Step, item: Item, position: int) -> Item:
        if self.calls.is_over:
            item.is_skipped = True
            return item
        given = self.resolved(step.given, position)
        if not position and isinstance(self._approval_token, str) and is_blank(given.get("approval_token")):
            given["approval_token"] = self._approval_token
        opened = self.calls.open(item.id, given)
        self.calls.perform([opened])
        if isinstance(opened.error, InvalidArguments):
            opened.error = self._with_keys(step, position, opened.error)
        return opened

    def _with_keys(self, step: Step, position: int, error: InvalidArguments) -> InvalidArguments:
        """Return ``error`` with the keys of an object that a reference has put where a value belongs."""
        wrong = {problem["parameter"].partition(".")[0] for problem in error.details.get("problems", ())}
        given = step.given.get("arguments")
        suspects = {name: value for name, value in given.items() if name in wrong} if isinstance(given, dict) else {}
        for text in references_in(suspects):
            reference = parse_reference(text, self.pipe.names, position)
            value = value_at(reference, self.view(reference.step), self.calls.budget)
            if isinstance(value, dict) and (keys := keys_of(value)):
                listed = ", ".join(map(escape, keys))
                hint = f"{escape(reference.text)} is an object; refer to one of its keys: {listed}."
                return error.changed(next_step=hint, keys=keys)
        return error

    def _join(self, step: Step, item: Item) -> Item:
        started = time.perf_counter()
        answers = {self.items[index].id: self.items[index].answer for index in step.joined}
        documents = {name: answer.document for name, answer in answers.items() if answer is not None}
        sizes = sum(answer.size for answer in answers.values() if answer is not None)
        budget = WorkBudget(self.calls.budget.deadline)
        document = Combination(step.join, step.select).document(documents, self.request.executor.today(), budget)
        item.answer = Answer(document, AnswerStatus(), max(sizes, document_size(document)))
        item.elapsed_s = time.perf_counter() - started
        return item


def _success(request: MetaRequest, run: _Run, max_tokens: int) -> Result:
    steps = run.items
    if run.pipe.returned is None:
        rendering = render_items(request, steps, run.calls.budget, max_tokens)
        last = rendering.structured["results"][-1].get("result")
        structured = {"result": last, "steps": _entries(steps, rendering.structured["results"])}
        blocks = [block for item in steps if item.answer is not None for block in item.answer.blocks]
        return Result(structured, rendering.text, blocks=blocks)
    item = steps[run.pipe.returned]
    if item.answer is None:
        return Result({"result": None, "steps": []}, "null")
    rendered = render_answer(item.answer, output_options(request, max_tokens), run.calls.budget)
    use = sum((one.answer.use for one in steps if one.answer is not None), NO_USE)
    figures = {} if item.call is None else metadata(item.call, rendered.structured, use, item.elapsed_s)
    entries = _entries(steps, [status_of(one, None) for one in steps])
    return Result({**rendered.structured, **figures, "steps": entries}, rendered.text, blocks=item.answer.blocks)


def _entries(items: Sequence[Item], entries: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the entries of steps: ``as`` instead of ``id``, and how many rows each has."""
    found = []
    for entry, item in zip(entries, items, strict=True):
        found.append({"as": entry["id"], **{key: value for key, value in entry.items() if key != "id"}})
        if item.answer is not None and item.answer.document.tables:
            found[-1]["row_count"] = len(item.answer.document.tables[0].rows)
    return found


def _failure(
    request: MetaRequest, run: _Run, error: CallError, arguments: Mapping[str, Any], max_tokens: int
) -> Result:
    position = len(run.items) - 1
    finished = run.items[:position]
    rendering = render_items(request, finished, run.calls.budget, max_tokens)
    entries = _entries(finished, rendering.structured["results"])
    # Only time or an approval was missing.
    can_continue = run.items[position].is_skipped or error.code in ("APPROVAL_REQUIRED", "APPROVAL_PENDING")
    token = _token(request, run, arguments, position) if can_continue else None
    if token is not None:
        error = repeated_by(error, "call TOOL_PIPE with continue and approval_token")
    structured = {"error": error.as_dict(), "failed_step": position, "steps": entries, "continue": token}
    following = f"\n# For the rest call TOOL_PIPE with {dumps_compact({'continue': token})}" if token else ""
    done = f"\n# The steps before it:\n{rendering.text}" if finished and rendering.text else ""
    if not finished and token is None:
        return Result(structured, to_text(structured), is_error=True, errors=(error,))
    return Result(structured, f"{error_text(error)}{following}{done}", is_error=True, errors=(error,))


def _token(request: MetaRequest, run: _Run, arguments: Mapping[str, Any], position: int) -> str | None:
    """Return the token for the rest, in which references to finished steps are replaced by their values."""
    rest = []
    for index, step in enumerate(run.pipe.steps[position:], position):
        if step.joined and min(step.joined) < position:
            return None  # a table of a finished step is too long for a token
        try:
            item = _rest_of(run, step, index, position)
        except CallError:
            return None
        rest.append({**({"as": step.name} if step.name else {}), **item})
    returned = arguments.get("return")
    if isinstance(returned, str) and run.pipe.names.get(returned, position) < position:
        returned = "last"
    reading = [run.calls.open(str(number), item) for number, item in enumerate(rest) if "join" not in item]
    given = {"steps": rest, "return": returned, "max_tokens": arguments.get("max_tokens")}
    return continuation.issue(request, TOOL, {name: value for name, value in given.items() if value}, reading)


def _rest_of(run: _Run, step: Step, index: int, position: int) -> dict[str, Any]:
    if step.joined:
        return {**step.given, "join": [run.pipe.steps[one].name or str(one - position) for one in step.joined]}

    def resolve(text: Any) -> Any:
        reference = parse_reference(text, run.pipe.names, index)
        if reference.step < position:
            return {LITERAL: value_at(reference, run.view(reference.step), run.calls.budget)}
        name = run.pipe.steps[reference.step].name or str(reference.step - position)
        return {"$ref": f"{name}{reference.path}"}

    given = {key: value for key, value in step.given.items() if key != "approval_token"}
    literal = replace_references(given.get("arguments") or {}, resolve)
    return {**given, "arguments": literal}
