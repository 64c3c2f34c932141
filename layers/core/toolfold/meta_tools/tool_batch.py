"""``TOOL_BATCH(calls, …)``: up to fifty independent calls, answered in their order, each with its result or error.

Answers share one budget of tokens fairly. The structured data has each answer completely. The text is for a model:
answers of the same form become one table with the ids as its first column; others stand below a line with their id.
"""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from toolfold.budget import WorkBudget
from toolfold.errors import InsufficientScope, InvalidArguments, InvalidSelect
from toolfold.fuzzy import normalize
from toolfold.meta_tools import continuation
from toolfold.meta_tools.arguments import invalid, is_blank, own_option, parse_object, quote, read_items, read_value
from toolfold.meta_tools.call import answer_of, metadata, output_options, parse_select
from toolfold.meta_tools.definitions import MAX_CALLS
from toolfold.meta_tools.plan import USUAL_PARALLEL, Item, Plan
from toolfold.meta_tools.references import refers
from toolfold.meta_tools.result import Result, dumps_compact, error_text, safe_line
from toolfold.results import output, render, tokens
from toolfold.results.combine import HOW, LabelledDocument, combine, join, stack_documents
from toolfold.results.output import RenderedResult
from toolfold.results.tables import Document, Table
from toolfold.text_safety import quoted_name
from toolfold.wording import joined

if TYPE_CHECKING:
    from datetime import date

    from toolfold.meta_tools.call import Answer
    from toolfold.meta_tools.dispatcher import MetaRequest
    from toolfold.results.output import OutputOptions
    from toolfold.results.select.grammar import Selection
    from toolfold.wording import Reader


TOOL = "TOOL_BATCH"

_EXAMPLE = '[{"id": "a", "tool_name": "NAME", "arguments": {…}}, …]'
_MAX_ID_CHARS = 64
_REFERS = (
    "This call refers to another one, and the calls of a batch are independent.",
    'Send both to TOOL_PIPE as steps, with {"$ref": "name.rows[0].column"}; this one was not sent.',
)
_WORD = r"(?:\"[^\"]+\"|`[^`]+`|\w+)"
_NAME = re.compile(rf"(?!\d+(?:\.\d+)?(?![\w.])){_WORD}(?:\.{_WORD})?")
"""A name, with the table before it where it has one; ``1.5`` is a number."""

_OWN_SELECT = "Or give this call a select of its own: that of the batch is for each call without one."


def tool_batch(request: MetaRequest) -> Result:
    """Perform the calls of a batch.

    Returns:
        ``{"results": [{"id", "tool_name", "ok", "elapsed_ms", "result", …} or {…, "error"}], "summary": {"total",
        "succeeded", "failed", "skipped"}, "continue": token or null}``. With ``join`` or SQL ``result`` is the one
        table, and ``results`` have none.

    Raises:
        InvalidArguments: the batch cannot be read. Every other failure is that of a call, beside the others.
        InsufficientScope: the access token of the caller allows none of the calls.
    """
    started = time.perf_counter()
    arguments = continuation.resume(request, TOOL)
    given = _with_ids(read_items(TOOL, "calls", arguments.get("calls"), MAX_CALLS, _EXAMPLE))
    stop = bool(read_value(TOOL, arguments, "stop_on_error"))
    most = read_value(TOOL, arguments, "max_parallel") or USUAL_PARALLEL
    max_tokens = read_value(TOOL, arguments, "max_tokens")
    with Plan(request) as plan:
        items = [plan.open(id_, call) for id_, call in given.items()]
        for item in items:
            if item.error is None and refers(item.given.get("arguments"), list(given)):
                item.error = InvalidArguments(*_REFERS)
        if max_tokens is None and all(not is_blank(item.given.get("max_tokens")) for item in items):
            max_tokens = sum(item.call.options.max_tokens for item in items if item.call is not None) or None
        combination = Combination.plan(arguments.get("join"), arguments.get("select"), items)
        plan.perform(items, most, stops_on_error=stop)
        for item in items:
            if isinstance(item.error, InvalidSelect) and is_blank(item.given.get("select")):
                step = joined(item.error.next_step, _OWN_SELECT if len(items) > 1 else "")
                item.error = item.error.changed(next_step=step)
        first = items[0].error
        if first is not None and all(isinstance(item.error, InsufficientScope) for item in items):
            raise first
        rest = [item for item in items if item.is_skipped]
        token = None
        if rest and not stop:
            repeated = items if combination is not None else rest
            left = [{"id": item.id, **call} for item in repeated if isinstance(call := given[item.id], dict)]
            token = continuation.issue(request, TOOL, {**arguments, "calls": left}, repeated)
        render = render_items if combination is None else combination.render
        rendering = render(plan, items, max_tokens)
    errors = [item.error for item in items if item.error is not None]
    skipped, failed = len(rest), len(errors)
    summary = {"total": len(items), "succeeded": len(items) - failed - skipped, "failed": failed, "skipped": skipped}
    # What failed or is missing comes first, in a line of its own.
    lines = [rendering.text]
    if failed or skipped:
        parts = [f"{summary['succeeded']} of {len(items)} calls succeeded"]
        parts += [f"{failed} failed"] if failed else []
        parts += [f"{skipped} not answered"] if skipped else []
        lines.insert(0, f"# {', '.join(parts)}")
    if token is not None:
        lines.append(f"# The time was over. For the rest call TOOL_BATCH with {dumps_compact({'continue': token})}")
    elif skipped:
        lines.append("# Calls that were not made can be sent again in another batch")
    structured = {
        **rendering.structured,
        "summary": summary,
        "continue": token,
        "elapsed_ms": round((time.perf_counter() - started) * 1000, 1),
    }
    blocks = [block for item in items if item.answer is not None for block in item.answer.blocks]
    answered = plan.progress(lacks_time=bool(rest) and not stop)
    text = "" if request.whole else "\n".join(lines)  # whole answers are in the data alone
    return Result(structured, text, blocks=blocks, errors=errors, answered=answered)


def _with_ids(items: Sequence[Any]) -> dict[str, Any]:
    """Return each call under its id; one without an id gets ``c1``, ``c2``, … by its position."""
    given = [dict(item) if isinstance(item, dict) else item for item in items]
    ids = [own_option(item, ("id", "as", "key", "label")) if isinstance(item, dict) else "" for item in given]
    for index, id_ in enumerate(ids):
        if len(id_) > _MAX_ID_CHARS or not id_.isprintable():
            raise invalid(
                TOOL,
                f"the id {quote(id_)} is too long or has signs that cannot be printed",
                f"Send ids of at most {_MAX_ID_CHARS} characters.",
            )
        if id_ and id_ in ids[:index]:
            raise invalid(TOOL, f"the id {quote(id_)} is given twice", "Give each call an id of its own, or none.")
    named: dict[str, Any] = {}
    for position, (id_, item) in enumerate(zip(ids, given, strict=True), 1):
        free = (f"c{number}" for number in itertools.count(position))
        named[id_ or next(name for name in free if name not in ids and name not in named)] = item
    return named


_MIN_SHARE = 100
"""Tokens that an answer gets at least: a header and a row of a usual table."""

_CHARS_PER_TOKEN = 8
"""Longer answers than that do not fit in one table: a token has some four characters."""


def render_items(plan: Plan, items: Sequence[Item], max_tokens: int | None) -> RenderedResult:
    """Render each item: answers of the same form as one table, others as previews where they are over their share."""
    options = output_options(plan.request, max_tokens)
    reader = plan.request.tools.reader
    failures = {item.id: error_text(item.error, reader) for item in items if item.error is not None}
    left = max(output.MIN_TOKENS, options.max_tokens - sum(tokens.count(text) + 8 for text in failures.values()))
    options = replace(options, max_tokens=left)
    answers = {item.id: item.answer for item in items if item.answer is not None}
    table = None if options.whole else _as_one_table(answers, left, plan.budget)
    if table is not None:
        rendered = {
            id_: RenderedResult(
                {
                    "result": render.to_structured(answer.document),
                    **answer.status.as_dict(),
                    **({"notes": list(answer.document.notes)} if answer.document.notes else {}),
                },
                "",
            )
            for id_, answer in answers.items()
        }
    else:
        rendered = _rendered(answers, options, plan.budget)
    entries = [status_of(item, rendered.get(item.id), reader) for item in items]
    if options.whole:
        return RenderedResult({"results": entries}, "")
    texts = {**({} if table is not None else {id_: one.text for id_, one in rendered.items()}), **failures}
    # No data can look like the line above an answer.
    heads = {item.id: f"# {quoted_name(item.id)}{' failed' if item.error is not None else ''}" for item in items}
    lines = [f"{heads[item.id]}\n{texts[item.id]}" for item in items if item.id in texts]
    return RenderedResult({"results": entries}, "\n".join(lines if table is None else [table, *lines]))


def status_of(item: Item, rendered: RenderedResult | None, reader: Reader | None) -> dict[str, Any]:
    """Return the entry of an item in the structured data."""
    entry: dict[str, Any] = {"id": item.id, "tool_name": item.tool_name, "ok": item.answer is not None}
    if item.is_skipped:
        return {**entry, "skipped": True}
    entry["elapsed_ms"] = round(item.elapsed_s * 1000, 1)
    if item.error is not None:
        return {**entry, "error": item.error.as_dict(reader)}
    if rendered is None or item.call is None or item.answer is None:
        return entry
    figures = metadata(item.call, rendered.structured, item.answer.use, item.elapsed_s)
    return {**entry, **rendered.structured, **figures}


def _rendered(answers: Mapping[str, Answer], options: OutputOptions, budget: WorkBudget) -> dict[str, RenderedResult]:
    """Return the rendered answers. Each has an equal share of the tokens, and what short ones leave is for the longer.

    An answer over its share becomes a preview.
    """
    first = {id_: render_answer(answer, replace(options, save_answer=None), budget) for id_, answer in answers.items()}
    if options.whole:
        return first
    sizes = {
        id_: options.max_tokens + 1 if "preview" in one.structured else tokens.count(one.text)
        for id_, one in first.items()
    }
    left = options.max_tokens
    for position, (id_, size) in enumerate(sorted(sizes.items(), key=lambda item: item[1])):
        share = max(_MIN_SHARE, left // (len(sizes) - position))
        left -= min(size, share)
        if size > share:
            first[id_] = render_answer(answers[id_], replace(options, max_tokens=share), budget)
    return first


def render_answer(answer: Answer, options: OutputOptions, budget: WorkBudget) -> RenderedResult:
    """Render one answer alone, in the time that is left of ``budget``."""
    own = WorkBudget(budget.deadline)
    return output.render_document(
        answer.document, replace(options, select=answer.select), answer.status, own, answer.size
    )


def _as_one_table(answers: Mapping[str, Answer], max_tokens: int, budget: WorkBudget) -> str | None:
    """Return answers of the same form as one table, or None where they differ in form, or are too long together."""
    documents = [answer.document for answer in answers.values()]
    is_stale = any(answer.status.stale_reason for answer in answers.values())
    is_long = sum(answer.size for answer in answers.values()) > _CHARS_PER_TOKEN * max_tokens
    if len(documents) < 2 or is_stale or is_long:
        return None
    form, notes = _form(documents[0]), documents[0].notes
    if form is None or any(_form(document) != form or document.notes != notes for document in documents[1:]):
        return None
    parts = [LabelledDocument((id_,), answer.document) for id_, answer in answers.items()]
    document = combine(("id",), parts, WorkBudget(budget.deadline))
    text = render.notes_to_text([safe_line(note) for note in notes]) + render.to_text(document)
    return text if tokens.fits(text, max_tokens) else None


def _form(document: Document) -> tuple[str, ...] | None:
    """Return the columns of a document that is one table or one object of simple values; None for others."""
    if len(document.tables) == 1 and not document.metadata:
        return ("table", *document.tables[0].columns)
    fields = document.metadata
    if document.tables or not isinstance(fields, dict) or not fields:
        return None
    return ("fields", *fields) if {type(value) for value in fields.values()}.isdisjoint((dict, list)) else None


class JoinRequest(NamedTuple):
    """How results are joined: by which column, and which rows stay; see :func:`toolfold.results.combine.join`."""

    on: str = "date"
    how: str = "inner"


class Combination(NamedTuple):
    """What is made of several results.

    Attributes:
        join: how they are joined; None: they are not.
        select: what to select of the joined table, or SQL over all; None: everything.
    """

    join: JoinRequest | None
    select: Selection | None

    @staticmethod
    def plan(join_: Any, select: Any, items: Sequence[Item]) -> Combination | None:
        """Return what to make of the results; None where ``select`` is one for each call, which is then set.

        Raises:
            InvalidArguments: ``join`` or ``select`` cannot be used.
        """
        selection = parse_select(select)
        requested = _named_join(selection, items) if is_blank(join_) else read_join(join_)
        is_of_all = selection is not None and _ranks_things(selection, items)
        if selection is not None and selection.has_sql:
            # Of tables by the ids of calls, rather than of the rows of each.
            tables = {part for name in _names_in(selection) for part in (name, name.partition(".")[0])}
            is_of_all = is_of_all or not tables.isdisjoint(item.id.lower() for item in items)
        if requested is None and not is_of_all:
            for item in items:
                if item.call is not None and item.call.options.select is None and selection is not None:
                    is_part = item.lists is not None and not selection.jmespath
                    item.call = item.call._replace(
                        options=replace(item.call.options, select=selection), is_part=is_part
                    )
            return None
        if any(not item.is_read for item in items if item.error is None):
            raise InvalidArguments(
                "Results of calls that change something are not joined or selected from together.",
                "Leave out join and select, or put these calls into a batch of their own; nothing was sent.",
            )
        for item in items:
            complete_for(item, selection)
        return Combination(requested, selection)

    def document(self, named: Mapping[str, Document], today: date, budget: WorkBudget) -> Document:
        """Return the one result of several.

        Raises:
            InvalidArguments: they have no such column, or the ``select`` does not fit them.
            AnswerTooLarge: the budget is used up.
        """
        notes = [note for document in named.values() for note in document.notes]
        if self.select is not None and self.select.has_sql:
            tables = [*named_tables(named), *_all_rows(named, budget)]
            whole = Document(tuple(tables))
        else:
            whole = Document(tuple(_all_rows(named, budget)))
            if self.join:
                columns = set(map(normalize, _names_in(self.select)))
                whole = join(named_tables(named), self.join.on, self.join.how, budget, columns)
        selected = whole
        if self.select is not None:
            data = {"rows": whole.tables[0].objects()} if self.select.jmespath else None
            selected = output.select_from(output.ParsedAnswer(whole, data), self.select, today, budget)
        return replace(selected, notes=tuple(dict.fromkeys((*notes, *whole.notes, *selected.notes))))

    def render(self, plan: Plan, items: Sequence[Item], max_tokens: int | None) -> RenderedResult:
        """Render the one result of a batch."""
        answered = {item.id: item.answer for item in items if item.answer is not None}
        reader = plan.request.tools.reader
        entries = [status_of(item, None, reader) for item in items]
        failed = [(quoted_name(item.id), item.error) for item in items if item.error is not None]
        failures = [f"# {name} failed\n{error_text(error, reader)}" for name, error in failed]
        if not answered or any(item.is_skipped for item in items):
            return RenderedResult({"results": entries}, "\n".join(failures))
        named = {id_: answer.document for id_, answer in answered.items()}
        try:
            document = self.document(named, plan.executor.today(), plan.budget)
        except InvalidArguments as error:
            names = ", ".join(name for name, _ in failed)
            step = joined(error.next_step, names and f"Of {names} there is no answer: see results.")
            raise error.changed(next_step=step, results=entries) from None
        answer = replace(answer_of(document, list(answered.values())), select=self.select)
        rendered = render_answer(answer, output_options(plan.request, max_tokens), plan.budget)
        return RenderedResult({**rendered.structured, "results": entries}, "\n".join([rendered.text, *failures]))


def complete_for(item: Item, selection: Selection | None) -> None:
    """Let a call that has no ``select`` bring the rows that the one of several results requests of it."""
    call = item.call
    if selection is None or selection.jmespath or call is None or call.options.select:
        return
    item.is_combined = True
    item.call = call._replace(options=replace(call.options, select=selection), is_part=True)


def read_join(given: Any) -> JoinRequest:
    """Return how to join, from ``"date"``, a column, or ``{"on": column, "how": "outer"}``.

    Raises:
        InvalidArguments: it is neither.
    """
    fields = parse_object(given) or ({"on": given} if isinstance(given, str) else {})
    if given is True:
        return JoinRequest()
    on = fields.get("on", fields.get("by", fields.get("key", "date")))
    if isinstance(on, list) and len(on) == 1:
        on = on[0]
    how = str(fields.get("how", fields.get("type", "inner"))).lower().replace("full", "outer")
    if not isinstance(on, str) or not on.strip() or how not in HOW or not fields:
        unknown = f"there is no join {quote(how)}" if how not in HOW else ""
        raise InvalidArguments(
            f"{unknown or f'join must be a column, or an object with on and how, not {quote(given)}'}.",
            'Send join as "date", or as {"on": "symbol", "how": "inner"}; how is one of ' + f"{', '.join(HOW)}.",
        )
    return JoinRequest(on.strip(), how)


def named_tables(named: Mapping[str, Document]) -> list[Table]:
    """Return the tables of several results, each with the name of its result; an object is a table of one row."""
    tables: list[Table] = []
    for name, document in named.items():
        if not document.tables:
            fields = document.metadata if isinstance(document.metadata, dict) else {"value": document.metadata}
            if fields:
                tables.append(Table(name, tuple(fields), [tuple(fields.values())]))
        for table in document.tables:
            own = name if len(document.tables) == 1 or not table.name else f"{name}.{table.name}"
            tables.append(replace(table, name=own))
    return tables


def _all_rows(named: Mapping[str, Document], budget: WorkBudget) -> list[Table]:
    """Return the rows of all results under each other as ``data``, where they have the same columns; else nothing."""
    tables = named_tables(named)
    if len({table.columns for table in tables}) != 1 or "data" in named or len(tables) != len(named):
        return []
    parts = [LabelledDocument((table.name,), Document((replace(table, name=""),))) for table in tables]
    return [replace(stack_documents(("id",), parts, budget).tables[0], name="data")]


def _ranks_things(selection: Selection, items: Sequence[Item]) -> bool:
    """Return whether steps sort, count off or read as SQL what is a single thing in each answer: rows of all."""
    calls = [item.call for item in items if item.lists is None]
    of_things = [call for call in calls if call is not None and call.tool.answer.get("kind") == "object"]
    is_each_whole = 1 < len(of_things) == len(items) and all(call.options.select is None for call in of_things)
    of_rows = any(step.clause.kind not in ("items", "from") for step in selection.steps)
    return is_each_whole and of_rows and len({call.tool.name for call in of_things}) == 1


def _named_join(selection: Selection | None, items: Sequence[Item]) -> JoinRequest | None:
    """Return the join by date whose columns steps name: ``AAPL_close`` and ``MSFT.close``; None: they name no join."""
    names = set() if selection is None or selection.has_sql else _names_in(selection)
    ends = {item.id: (f"{item.id.lower()}_", f"{item.id.lower()}.") for item in items}
    return JoinRequest() if sum(any(name.startswith(end) for name in names) for end in ends.values()) > 1 else None


def _names_in(selection: Selection | None) -> set[str]:
    """Return the names in a selection, with the table before them where it has one: ``msft.close``."""
    texts = () if selection is None else (step.clause.text for step in selection.steps)
    return {re.sub('["`]', "", name).lower() for text in texts for name in _NAME.findall(text)}
