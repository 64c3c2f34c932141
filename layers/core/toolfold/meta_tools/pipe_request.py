"""Read the steps of a pipe; check names, references and literal arguments before the first call."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from toolfold.errors import CallError, InvalidArguments
from toolfold.execution.validation import validator_of
from toolfold.messages import CORRECT_ARGUMENTS, STEP
from toolfold.meta_tools.arguments import invalid, own_option, quote, read_items
from toolfold.meta_tools.call import may_have_lists, parse_select, read_options
from toolfold.meta_tools.combination import JoinRequest, read_join
from toolfold.meta_tools.reader import read_call
from toolfold.meta_tools.references import (
    PREVIOUS,
    check_path,
    check_templates,
    has_reference,
    parse_reference,
    references_in,
    replace_references,
)

if TYPE_CHECKING:
    from toolfold.catalog.entries import Tool
    from toolfold.catalog.model import Catalog
    from toolfold.results.select.grammar import Selection

__all__ = ["MAX_STEPS", "PipeRequest", "Step", "read_pipe"]

TOOL = "TOOL_PIPE"
MAX_STEPS = 20
"""Steps of a pipe: more than any task had that was recorded, and a bound on the calls of one request."""

_EXAMPLE = '[{"as": "found", "tool_name": "NAME", "arguments": {…}}, …]'
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

    @property
    def tool_name(self) -> str:
        """The tool that it calls; empty for a join."""
        return str(self.given.get("tool_name", ""))


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
    given = [_object(item, position) for position, item in enumerate(items)]
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


def _object(item: Any, position: int) -> dict[str, Any]:
    if not isinstance(item, dict):
        raise invalid(TOOL, f"step {position} must be an object, not {quote(item)}", f"Send steps as {_EXAMPLE}.")
    return dict(item)


def _names(given: Sequence[dict[str, Any]]) -> dict[str, int]:
    """Remove the name of each step, and return name → index.

    Raises:
        InvalidArguments: a name is not an identifier, is ``prev``, or is given twice.
    """
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
    """Return a step that joins earlier ones, or selects from them with SQL."""
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
    """Check the arguments that have no reference, the others being taken for those of the tool's example.

    Raises:
        InvalidArguments: one of them cannot work.
    """
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
    if may_have_lists(given):
        return  # read as several calls, with what the references bring
    problems = [
        problem
        for problem in validator_of(catalog, tool).resolve(given).problems
        if problem["parameter"].partition(".")[0].partition("[")[0] not in referring
    ]
    if problems:
        raise InvalidArguments(
            f"{tool.name}: {problems[0]['parameter']} {problems[0]['problem']}: {problems[0]['expected']}.",
            CORRECT_ARGUMENTS,
            problems=problems,
            schema=tool.parameters,
        )


def _returned(arguments: Mapping[str, Any], names: Mapping[str, int], count: int) -> int | None:
    """Return the index of the step whose answer is wanted; None: all."""
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
