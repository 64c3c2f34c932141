"""``TOOL_PIPE(steps, …)``: calls one after the other, in which later steps refer to the answers of earlier ones.

Names, references and literal arguments are checked before the first call.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple

from toolfold.budget import WorkBudget
from toolfold.errors import CallError, InsufficientScope, InvalidArguments, UpstreamTimeout
from toolfold.execution.argument_reader import reader_of
from toolfold.execution.call import NO_USE
from toolfold.execution.validation import invalid_arguments
from toolfold.execution.validation_problems import parameter_of
from toolfold.messages import STEP
from toolfold.meta_tools.arguments import invalid
from toolfold.meta_tools.call import Item, metadata, output_options, parse_select, with_notes
from toolfold.meta_tools.combination import Combination
from toolfold.meta_tools.plan import Plan
from toolfold.meta_tools.reader import read_tool_call
from toolfold.meta_tools.references import (
    check_path,
    check_templates,
    parse_reference,
    references_in,
    replace_references,
    value_at,
    view_of,
)
from toolfold.meta_tools.result import Result, dumps_compact, error_text, repeated_by, to_text
from toolfold.meta_tools.tool_batch import issue_token, render_items, resume_arguments, take_names
from toolfold.text_safety import quoted
from toolfold.wording import Text

if TYPE_CHECKING:
    from toolfold.catalog.entries import Tool
    from toolfold.meta_tools.call import Answer
    from toolfold.meta_tools.dispatcher import MetaRequest

TOOL = "TOOL_PIPE"

_EXAMPLE = '[{"as": "found", "tool_name": "NAME", "arguments": {…}}, …]'
_LATE = "The time for one call was over before this step.", Text("For the rest, {repeat}.")
_MOVED = "write values in place of references to finished steps, and send again the steps that a join needs"
_NAME = re.compile(r"(?!(?:prev|last|all|steps)$)[A-Za-z_][\w-]{0,63}", re.ASCII | re.IGNORECASE)
_NAME_RULE = "A name has letters, digits and _, begins with a letter, and is not prev, last, all or steps."


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
    arguments = resume_arguments(request, TOOL)
    max_tokens = arguments.get("max_tokens")
    with closing(Plan(request)) as plan:
        pipe = _Pipe(plan, arguments)
        error = pipe.perform()
        if error is None:
            result = pipe.success(max_tokens)
        else:
            result = pipe.failure(error, max_tokens)
            result = result._replace(answered=plan.progress(lacks_time=pipe.items[-1].is_skipped))
    return result._replace(structured={**result.structured, "elapsed_ms": plan.elapsed_ms})


class _Step(NamedTuple):
    """One step: ``given`` is its TOOL_CALL in the documented form, or what is made of the steps ``joined``."""

    given: Mapping[str, Any]
    joined: tuple[int, ...] = ()
    combination: Combination = Combination(None, None)


class _Pipe:
    """The steps of one pipe, which are all read when it is made. They are counted from 0.

    A token has the steps as they are, how many are finished (``done``), and of those the ``values`` that later ones
    refer to.

    Attributes:
        items: the steps that were performed by this request, the last possibly failed.
    """

    def __init__(self, plan: Plan, arguments: Mapping[str, Any]) -> None:
        self._plan, self._arguments = plan, arguments
        self._done: int = arguments.get("done", 0)
        self._values: Mapping[str, Any] = arguments.get("values", {})
        self._steps: list[_Step] = []
        self.items: list[Item] = []
        self._answers: dict[int, Answer] = {}
        self._views: dict[int, Any] = {}
        listed = arguments["steps"]
        for position, item in enumerate(listed):
            if not isinstance(item, dict):
                problem = f"step {position} must be an object, not {quoted(item)}"
                raise invalid(TOOL, problem, f"Send steps as {_EXAMPLE}.")
        given = [dict(item) for item in listed]
        self._labels = take_names(TOOL, given, _NAME_RULE, lambda name: _NAME.fullmatch(name) is not None)
        self._names = {name: position for position, name in enumerate(self._labels) if name}
        self._ids = [name or str(position) for position, name in enumerate(self._labels)]
        for position in range(len(given)):
            try:
                self._steps.append(self._read_step(given, position))
            except CallError as error:
                raise self._located(error, position) from None
        returned = arguments.get("return")
        last = len(given) - 1
        rest = {name: position for name, position in self._names.items() if position >= self._done}
        choices: dict[str | None, int | None] = {None: last, "last": last, "all": None}
        choices.update(rest)
        if returned not in choices:
            raise invalid(
                TOOL,
                f"return must be last, all or the name of a step, not {quoted(returned)}",
                f"The steps with names are: {', '.join(rest) or 'no step has one'}.",
            )
        self._returned = choices[returned]

    def perform(self) -> CallError | None:
        """Perform the steps; return the error of the one that failed, or None."""
        for position, step in enumerate(self._steps[self._done :], self._done):
            item = Item(self._ids[position], step.given)
            try:
                if step.joined:
                    started, budget = time.perf_counter(), WorkBudget(self._plan.budget.deadline)
                    answers = {self._ids[index]: self._answers[index] for index in step.joined}
                    item.answer = step.combination.answer(answers, self._plan.services.today(), budget)
                    item.elapsed_s = time.perf_counter() - started
                elif self._plan.is_over:
                    item.is_skipped = True
                else:
                    item = self._call(step, position)
            except CallError as error:
                item.error = error
            self.items.append(item)
            if item.is_skipped:
                return UpstreamTimeout(*_LATE).changed(step=position)
            if item.error is not None:
                if isinstance(item.error, InsufficientScope) and position == self._done:
                    raise item.error
                return self._located(item.error, position)
            if item.answer is not None:
                self._answers[position] = item.answer
        return None

    def success(self, max_tokens: int | None) -> Result:
        """Return the result of a pipe whose steps are all finished."""
        plan = self._plan
        if self._returned is None:
            rendering = render_items(plan, self.items, max_tokens)
            entries = rendering.structured["results"]
            structured = {"result": entries[-1].get("result"), "steps": _entries(self.items, entries)}
            return rendering._replace(structured=structured)
        item, answer = self.items[self._returned - self._done], self._answers[self._returned]
        notes = [
            f"{self._ids[position]}: {note}"
            for position, one in self._answers.items()
            for note in one.document.notes
            if note not in answer.document.notes
        ]
        wanted = output_options(plan.request, max_tokens or item.given.get("max_tokens"))
        rendered = with_notes(answer, *notes).render(wanted, WorkBudget(plan.budget.deadline))
        figures = {}
        if item.call is not None:
            use = sum((one.use for position, one in self._answers.items() if not self._steps[position].joined), NO_USE)
            figures = metadata(item.call, rendered.structured, use, round(item.elapsed_s * 1000, 1), answer.blocks)
        entries = _entries(self.items, [one.entry(None, plan.request.tools.reader) for one in self.items])
        return Result({**rendered.structured, **figures, "steps": entries}, rendered.text, blocks=answer.blocks)

    def failure(self, error: CallError, max_tokens: int | None) -> Result:
        """Return the result of a pipe whose last step so far has failed."""
        *finished, failed = self.items
        rendering = render_items(self._plan, finished, max_tokens)
        # Only time or an approval was missing.
        can_continue = failed.is_skipped or error.code in ("APPROVAL_REQUIRED", "APPROVAL_PENDING")
        position = self._done + len(finished)
        token = self._token(position) if can_continue else None
        if can_continue:
            rest = "the steps from this one on" if token is None else "continue"
            approval = "" if failed.is_skipped else " and approval_token"
            error = repeated_by(error, f"call TOOL_PIPE with {rest}{approval}{f'; {_MOVED}' if token is None else ''}")
        structured = {
            "error": error.as_dict(self._plan.request.tools.reader),
            "failed_step": position,
            "steps": _entries(finished, rendering.structured["results"]),
            "continue": token,
        }
        lines = [error_text(error, self._plan.request.tools.reader)]
        if token is not None:
            lines.append(f"# For the rest call TOOL_PIPE with {dumps_compact({'continue': token})}")
        if finished and rendering.text:
            lines += ["# The steps before it:", rendering.text]
        text = "\n".join(lines) if finished or token is not None else to_text(structured)
        return Result(structured, text, is_error=True, errors=(error,))

    def _located(self, error: CallError, position: int) -> CallError:
        """Return an error with the step that it belongs to: ``step`` is its index, ``as`` its name."""
        name, problem = self._labels[position], None
        if "step" not in error.details:
            shown = f" ({name})" if name else ""
            problem = STEP.filled(step=position, name=shown, problem=error.problem)
        return error.changed(problem=problem, step=position, **({"as": name} if name else {}))

    def _read_step(self, items: Sequence[Mapping[str, Any]], position: int) -> _Step:
        item, names, catalog = items[position], self._names, self._plan.catalog
        if "tool_name" not in item and "join" in item:
            return self._read_join(item, position)
        given = read_tool_call(catalog, item, only_tools=True).arguments
        arguments = given.get("arguments") or {}
        for text in references_in(arguments):
            check_path(parse_reference(text, names, position))

        def has_rows(head: str) -> bool:
            index = names.get(head, int(head) if head.isdecimal() else position - 1)
            tool = catalog.get(str(items[index].get("tool_name"))) if 0 <= index < len(items) else None
            return tool is None or tool.answer.get("kind") != "object"

        check_templates(arguments, list(names), position, has_rows)
        if (tool := catalog.get(given["tool_name"])) is not None:
            parse_select(given.get("select"))
            self._check_literals(tool, arguments)
        return _Step(given)

    def _read_join(self, item: Mapping[str, Any], position: int) -> _Step:
        unknown = [key for key in item if key not in ("join", "on", "select")]
        if unknown:
            raise InvalidArguments(
                f"A join has no member {quoted(unknown[0])}.", 'Send {"join": ["a", "b"], "on": "date", "select": "…"}.'
            )
        listed = item["join"] if isinstance(item["join"], list) else [item["join"]]
        indexes = tuple(parse_reference(str(one), self._names, position).step for one in listed)
        selection = parse_select(item.get("select"))
        is_sql = selection is not None and selection.has_sql and "on" not in item
        on = None if is_sql else str(item.get("on", "date"))
        if len(set(indexes)) < (1 if is_sql else 2):
            raise InvalidArguments("A join needs two different steps.", 'Name them, as in {"join": ["a", "b"]}.')
        return _Step(item, indexes, Combination(on, selection))

    def _check_literals(self, tool: Tool, arguments: Mapping[str, Any]) -> None:
        """Check the arguments that have no reference, the others being taken for those of the tool's example."""
        referring = {name for name, value in arguments.items() if any(True for _ in references_in(value))}
        left_out = self._plan.catalog.source(tool.source).format_parameter  # a combined call does without it
        given = {name: tool.example[name] for name in referring if name in tool.example}
        for name, value in arguments.items():
            if name not in referring and name != left_out:
                given[name] = replace_references(value, str)
        if any(isinstance(value, list) for value in given.values()):
            return  # read as several calls, with what the references bring
        resolved = reader_of(self._plan.catalog, tool).resolve(given)
        problems = [problem for problem in resolved.problems if parameter_of(problem, arguments) not in referring]
        if problems:
            raise invalid_arguments(tool, resolved._replace(problems=problems, next_step=None))

    def _value(self, text: Any, position: int) -> Any:
        reference = parse_reference(text, self._names, position)
        if reference.step < self._done:
            return self._values[f"{reference.step}{reference.path}"]
        if reference.step not in self._views:
            self._views[reference.step] = view_of(self._answers[reference.step].document, self._plan.budget)
        return value_at(reference, self._views[reference.step], self._plan.budget)

    def _call(self, step: _Step, position: int) -> Item:
        arguments = replace_references(step.given.get("arguments") or {}, lambda text: self._value(text, position))
        given = {**step.given, "arguments": arguments}
        token = self._arguments.get("approval_token")
        if position == self._done and isinstance(token, str):
            given["approval_token"] = token
        item = self._plan.open(self._ids[position], given)
        if (join := next((later for later in self._steps if position in later.joined), None)) is not None:
            join.combination.complete(item)
        self._plan.perform([item])
        return item

    def _token(self, position: int) -> str | None:
        """Return the token for the steps from ``position`` on."""
        values: dict[str, Any] = {}
        for index, step in enumerate(self._steps[position:], position):
            if any(one < position for one in step.joined):
                return None  # a table of a finished step is too long for a token
            for text in references_in(step.given.get("arguments") or {}):
                reference = parse_reference(text, self._names, index)
                if reference.step < position:
                    try:
                        values[f"{reference.step}{reference.path}"] = self._value(text, index)
                    except CallError:
                        return None
        sent = {**self._arguments, "done": position, "values": values}
        if self._names.get(str(sent.get("return")), position) < position:
            sent["return"] = "last"
        names = [step.given["tool_name"] for step in self._steps[position:] if not step.joined]
        return issue_token(self._plan.request, TOOL, sent, [self._plan.catalog.get(name) for name in names])


def _entries(items: Sequence[Item], entries: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the entries of steps: ``as`` instead of ``id``, and how many rows each has."""
    found = []
    for entry, item in zip(entries, items, strict=True):
        rows = {}
        if item.answer is not None and item.answer.document.tables:
            rows = {"row_count": len(item.answer.document.tables[0].rows)}
        found.append({"as": entry["id"], **{key: value for key, value in entry.items() if key != "id"}, **rows})
    return found
