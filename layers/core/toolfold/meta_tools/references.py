"""References between the steps of a pipe: ``{"$ref": "found.rows[0].symbol"}`` in the arguments of a later step.

A reference is the name of a step, ``prev`` or an index from 0, then JMESPath on its answer. The value has the type that
it has there. ``{"$literal": value}`` is the value itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from toolfold.budget import WorkBudget
from toolfold.errors import CallError, InvalidArguments, InvalidSelect, ReferenceNotFound
from toolfold.fuzzy import did_you_mean, normalize
from toolfold.results import parsing
from toolfold.results.select import jmespath
from toolfold.results.tables import Document
from toolfold.text_safety import shortened

REFERENCE, LITERAL = "$ref", "$literal"
PREVIOUS = "prev"

_EXPRESSION = re.compile(r"\s*\$?\.?(?:steps\.|steps\[|\[)?([A-Za-z_][\w-]*|\d{1,2})\]?(.*)", re.DOTALL)
_VARIABLE = re.compile(r"\s*([$@]?)(steps[.\[])?([A-Za-z_][\w-]*|\d{1,2})\]?((?:[.\[|].*)?)", re.DOTALL)
_PATH = re.compile(r"\.[a-z_]|\[")
"""A reference as other systems write it: ``$prev.rows[0].symbol``, ``$1.symbol``, ``prev.rows[0].symbol``. ``$1.50``
and ``$BRK.B`` are texts."""

_TEMPLATE = re.compile(r"(?:\{\{|\$\{)\s*\$?(?:[A-Za-z_][\w-]*|\d{1,2})\b[^{}]{0,500}\}")
"""A reference in a text, such as ``{{found.rows[0].symbol}}``."""

_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
"""A key that JMESPath reads without quotation marks."""

_STEP = re.compile(r"\.?([A-Za-z_]\w*|\"[^\"]*\")|\[(-?\d+)\]")
_MAX_CHARS = 500
_MAX_DEPTH = 60
_MAX_VALUE_CHARS = 100_000
"""Characters of a value as JSON that may become an argument: more than any request takes."""


class Reference(NamedTuple):
    """A reference.

    Attributes:
        step: index of the step.
        path: JMESPath on its answer; empty for the whole.
        text: as it was written.
    """

    step: int
    path: str
    text: str


def parse_reference(text: Any, names: Mapping[str, int], position: int) -> Reference:
    """Return the reference ``text`` of the step at ``position``.

    Raises:
        InvalidArguments: it is not text, or refers to its own or a later step.
        ReferenceNotFound: no step has the name.
    """
    if type(text) is int:
        text = str(text)
    found = _EXPRESSION.fullmatch(text) if isinstance(text, str) and len(text) <= _MAX_CHARS else None
    if found is None:
        raise InvalidArguments(
            f"{REFERENCE} must be a step and a path, not {shortened(str(text))}.",
            f'Write {{"{REFERENCE}": "name.rows[0].column"}}; nothing was sent.',
        )
    head, path = found[1], found[2].strip()
    index = position - 1 if head == PREVIOUS else names.get(head, int(head) if head.isdecimal() else -1)
    if not 0 <= index < max([position, *(step + 1 for step in names.values())]):
        earlier = [name for name, step in names.items() if step < position] + [str(step) for step in range(position)]
        raise ReferenceNotFound(
            f"{shortened(text)}: no step is called {shortened(head)}.",
            f"{did_you_mean(head, names)}Earlier steps: {', '.join(earlier) or 'it is the first'}; nothing was sent.",
            keys=earlier,
        )
    if index >= position:
        own = "itself" if index == position else f"step {index}, which comes later"
        raise InvalidArguments(
            f"{shortened(text)}: step {position} refers to {own}.",
            "Put a step after those that it refers to; steps that need each other cannot be run. Nothing was sent.",
        )
    return Reference(index, path, text)


def check_path(reference: Reference) -> None:
    """Check that the path of a reference is JMESPath.

    Raises:
        InvalidArguments: it is not.
    """
    path = reference.path.removeprefix(".").removeprefix("|").strip()
    if not path:
        return

    try:
        jmespath.parse(path)
    except InvalidSelect as error:
        raise InvalidArguments(
            f"{shortened(reference.text)}: {error.reason}.",
            f'Write a path such as {{"{REFERENCE}": "name.rows[0].column"}}; nothing was sent.',
        ) from None


def _leaves(value: Any, depth: int = 0) -> Iterator[Any]:
    """Yield each text in an argument that is not in a ``$literal``, and each object with a ``$ref`` or ``$literal``."""
    if isinstance(value, str) or (isinstance(value, dict) and (REFERENCE in value or LITERAL in value)):
        yield value
    elif isinstance(value, dict | list):
        if depth == _MAX_DEPTH:
            raise InvalidArguments("The arguments are nested too deeply.", "Send flatter arguments; nothing was sent.")
        for item in value.values() if isinstance(value, dict) else value:
            yield from _leaves(item, depth + 1)


def references_in(value: Any) -> Iterator[Any]:
    """Yield the value of each ``$ref`` in an argument.

    Raises:
        InvalidArguments: an object has more than its ``$ref`` or ``$literal``, or the argument is nested too deeply.
    """
    for leaf in _leaves(value):
        if isinstance(leaf, dict):
            key = REFERENCE if REFERENCE in leaf else LITERAL
            if len(leaf) > 1:
                others = ", ".join(shortened(str(name)) for name in leaf if name != key)
                raise InvalidArguments(
                    f"An object with {key} has other members: {others}.",
                    f'Send {{"{key}": …}} alone; to send such an object itself, put it into {{"{LITERAL}": …}}.',
                )
            if key == REFERENCE:
                yield leaf[REFERENCE]


def replace_references(value: Any, resolve: Any) -> Any:
    """Return an argument with each reference replaced by ``resolve(its text)``, and literals by their values."""
    if isinstance(value, dict):
        if REFERENCE in value:
            return resolve(value[REFERENCE])
        if LITERAL in value:
            return value[LITERAL]
        return {key: replace_references(item, resolve) for key, item in value.items()}
    return [replace_references(item, resolve) for item in value] if isinstance(value, list) else value


def check_templates(value: Any, names: Sequence[str], position: int, has_rows: Callable[[str], bool]) -> None:
    """Raise an error for a text such as ``$found.symbol`` or ``{{symbol}}`` in the step at ``position``.

    Raises:
        InvalidArguments: an argument is such a text; says which reference works, and how to send the text itself.
    """
    for text in (leaf for leaf in _leaves(value) if isinstance(leaf, str) and _is_template(leaf, names)):
        found = _EXPRESSION.fullmatch(text.strip().strip("{}$@ "))
        step = json.dumps({LITERAL: text}, ensure_ascii=False) + " to send it. Nothing was sent."
        if found is None or not position:
            why = f"A {REFERENCE} is a whole value, and refers to a step before it"
            raise InvalidArguments(_AS_TEXT.format(shortened(text)), f"{why}; send {step}")
        head, rest = found[1], found[2].strip()
        if head.isdecimal() and int(head) >= position:  # counted from 1
            head = PREVIOUS
        elif head not in (*names, PREVIOUS) and not head.isdecimal():
            head, rest = PREVIOUS, rest or f".{head}"
        is_column = re.fullmatch(r"\.\w+", rest) is not None and rest not in (".rows", ".columns", ".row_count")
        row = ".rows[0]" if is_column and has_rows(head) else ""
        reference = json.dumps({REFERENCE: f"{head}{row}{rest}"})
        raise InvalidArguments(_AS_TEXT.format(shortened(text)), f"Write {reference}, or {step}")


_AS_TEXT = "{} is text and would be sent as it is."


def _is_template(text: str, names: Sequence[str]) -> bool:
    found = _VARIABLE.fullmatch(text[: _MAX_CHARS + 1])
    if found is None:
        return _TEMPLATE.search(text[: _MAX_CHARS + 1]) is not None
    sign, steps, head, path = found.groups()
    if steps or head in (*names, PREVIOUS):
        return bool(sign) or "[" in path
    return bool(sign) and _PATH.match(path) is not None and not head.isupper()


def refers(value: Any, names: Sequence[str]) -> bool:
    """Return whether an argument has a reference to one of ``names``, or to ``prev``, also one written as a text."""
    for leaf in _leaves(value):
        text = leaf.get(REFERENCE) if isinstance(leaf, dict) else leaf
        if isinstance(text, str) and (isinstance(leaf, dict) or _is_template(text, names)):
            found = _EXPRESSION.fullmatch(text[: _MAX_CHARS + 1].strip().strip("{}$@ "))
            if found is not None and found[1] in (*names, PREVIOUS):
                return True
    return False


def value_at(reference: Reference, view: Any, budget: WorkBudget) -> Any:
    """Return the value that a reference means.

    Raises:
        ReferenceNotFound: there is nothing there; says which keys there are.
        InvalidArguments: the value is too long for an argument.
    """
    path = reference.path.removeprefix(".")
    found = view
    if path:
        data = view["rows"] if path.startswith("[") and isinstance(view, dict) and "rows" in view else view
        expression = path.removeprefix("|").strip()
        try:
            found = jmespath.search(expression, data, budget)
        except CallError as error:
            if not isinstance(error, InvalidArguments):
                raise
            raise _not_found(reference, path, data) from None
    length = 0
    for piece in json.JSONEncoder(ensure_ascii=False).iterencode(found):  # no more of it than that takes
        length += len(piece)
        if length > _MAX_VALUE_CHARS:
            text = shortened(reference.text)
            raise InvalidArguments(
                f"{text} is longer than {_MAX_VALUE_CHARS:,} characters, too long for an argument.",
                "Refer to a part of it, as in rows[0].column or rows[*].column, or select less in its step.",
            )
    return found


def _not_found(reference: Reference, path: str, data: Any) -> ReferenceNotFound:
    """Return the error for a path that leads to nothing, with the keys at the last place that exists."""
    known, position = data, 0
    while (part := _STEP.match(path, position)) is not None:
        key: Any = part[1].strip('"') if part[1] is not None else int(part[2])
        try:
            following = known[key] if isinstance(known, list if isinstance(key, int) else dict) else None
        except (KeyError, IndexError):
            following = None
        if following is None:
            break
        known, position = following, part.end()
    # An object has no places: its keys would not help.
    keys = [] if isinstance(known, dict) and path[position:].startswith("[") else keys_of(known)
    where = f"in {shortened(path[:position])} " if position else ""
    there = f"there are: {', '.join(map(shortened, keys))}" if keys else "it is a value"
    if isinstance(known, list) and not known:
        there = "the list is empty"
    step = reference.text[: len(reference.text) - len(reference.path)]
    # The last name may be that of a column.
    columns = data["columns"] if isinstance(data, dict) and "row_count" in data else ()
    wanted = normalize(re.split(r"\W+", path)[-1])
    column = next((one for one in columns if normalize(str(one)) == wanted and _NAME.fullmatch(one)), "")
    form = f"Write {json.dumps({REFERENCE: f'{step}.rows[0].{column}'})}. " if column else ""
    return ReferenceNotFound(
        f"{shortened(reference.text)}: nothing is there; {where}{there}.",
        f"{form}Correct the path by these keys, or call with return: all to see the answers.",
        keys=keys,
    )


_MAX_KEYS = 40
"""Keys that an error names."""


def view_of(document: Document, budget: WorkBudget) -> Any:
    """Return an answer as one JSON value.

    Returns:
        An answer without tables as it is. Otherwise an object: ``rows`` (one object for each row), ``columns`` and
        ``row_count`` of the first table, each named table under its name, and the fields beside the tables.

    Raises:
        AnswerTooLarge: the budget is used up.
    """
    if not document.tables:
        return document.metadata
    view: dict[str, Any] = dict(document.metadata) if isinstance(document.metadata, dict) else {}
    if not isinstance(document.metadata, dict):
        view["meta"] = document.metadata
    for position, table in enumerate(document.tables):
        budget.reserve(len(table.rows) * parsing.object_size(len(table.columns)))
        rows = [dict(zip(table.columns, row, strict=True)) for row in budget.checked(table.rows)]
        if not position:
            view |= {"rows": rows, "columns": list(table.columns), "row_count": len(rows)}
        if table.name:
            view.setdefault(table.name, rows)
            view.setdefault(table.name.rpartition(".")[2], rows)
    return view


def keys_of(value: Any) -> list[str]:
    """Return what can follow in a path: the keys of an object, the indexes of a list."""
    if isinstance(value, dict):
        keys = (str(key) for key, _ in zip(value, range(_MAX_KEYS), strict=False))
        return [key if _NAME.fullmatch(key) else json.dumps(key, ensure_ascii=False) for key in keys]
    if isinstance(value, list):
        return [f"[0] to [{len(value) - 1}]"] if value else []
    return []
