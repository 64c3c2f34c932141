"""Make one table of the results of a batch, or of steps of a pipe: a join by date or key, or SQL over all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from toolfold.budget import WorkBudget
from toolfold.errors import InvalidArguments
from toolfold.meta_tools.arguments import is_blank, quote
from toolfold.meta_tools.call import output_options, parse_select
from toolfold.meta_tools.combined_answer import Rendering, error_of, heading, status_of
from toolfold.meta_tools.object_text import parse_object
from toolfold.results import output
from toolfold.results.combine import HOW, LabelledDocument, join, stack_documents
from toolfold.results.tables import Document, Table

if TYPE_CHECKING:
    from datetime import date

    from toolfold.meta_tools.plan import Item
    from toolfold.meta_tools.result import MetaRequest
    from toolfold.results.select.grammar import Selection

__all__ = ["Combination", "JoinRequest", "named_tables", "read_join"]


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

    @property
    def needs_all(self) -> bool:
        """Whether the rest of a batch is of use with the calls before it alone."""
        return True

    @staticmethod
    def plan(join_: Any, select: Any, items: Sequence[Item]) -> Combination | None:
        """Return what to make of the results; None where ``select`` is one for each call, which is then set.

        Raises:
            InvalidArguments: ``join`` or ``select`` cannot be used.
        """
        requested = None if is_blank(join_) else read_join(join_)
        selection = parse_select(select)
        if requested is None and (selection is None or not _names_a_result(selection, items)):
            for item in items:
                if item.call is not None and item.call.options.select is None and selection is not None:
                    item.call = replace(item.call, options=replace(item.call.options, select=selection))
            return None
        if any(not item.is_read for item in items if item.error is None):
            raise InvalidArguments(
                "Results of calls that change something are not joined or selected from together.",
                "Leave out join and select, or put these calls into a batch of their own; nothing was sent.",
            )
        return Combination(requested, selection)

    def document(self, named: Mapping[str, Document], today: date, budget: WorkBudget) -> Document:
        """Return the one result of several.

        Raises:
            InvalidArguments: they have no such column, or the ``select`` does not fit them.
            AnswerTooLarge: the budget is used up.
        """
        if self.select is not None and self.select.has_sql:
            tables = [*named_tables(named), *_all_rows(named, budget)]
            return output.select_from(output.ParsedAnswer(Document(tuple(tables))), self.select, today, budget)
        joined = join(named_tables(named), self.join.on, self.join.how, budget) if self.join else Document()
        if self.select is None:
            return joined
        data = {"rows": joined.tables[0].objects()} if self.select.jmespath else None
        selected = output.select_from(output.ParsedAnswer(joined, data), self.select, today, budget)
        return replace(selected, notes=tuple(dict.fromkeys((*joined.notes, *selected.notes))))

    def render(self, request: MetaRequest, items: Sequence[Item], budget: WorkBudget, max_tokens: int) -> Rendering:
        """Render the one result of a batch."""
        answered = {item.id: item.answer for item in items if item.answer is not None}
        entries = [status_of(item, None) for item in items]
        failures = [f"{heading(item)}\n{error_of(item.error)}" for item in items if item.error is not None]
        if not answered or (any(item.is_skipped for item in items)):
            return Rendering({"results": entries}, "\n".join(failures))
        named = {id_: answer.document for id_, answer in answered.items()}
        try:
            document = self.document(named, request.executor.today(), budget)
        except InvalidArguments as error:
            raise error.changed(results=entries) from None
        status = output.AnswerStatus(
            cached=all(answer.status.cached for answer in answered.values()),
            age_s=max(answer.status.age_s for answer in answered.values()),
        )
        size = sum(answer.size for answer in answered.values())
        options = output_options(request, max_tokens)
        rendered = output.render_document(document, options, status, WorkBudget(budget.deadline), size)
        return Rendering({**rendered.structured, "results": entries}, "\n".join([rendered.text, *failures]))


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
        raise InvalidArguments(
            f"join must be a column, or an object with on and how, not {quote(given)}.",
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
    columns = {table.columns for document in named.values() for table in document.tables}
    if len(columns) != 1 or any(len(document.tables) != 1 for document in named.values()):
        return []
    parts = [
        LabelledDocument((name,), replace(document, tables=(replace(document.tables[0], name=""),), metadata={}))
        for name, document in named.items()
    ]
    return [replace(stack_documents(("id",), parts, budget).tables[0], name="data")]


def _names_a_result(selection: Selection, items: Sequence[Item]) -> bool:
    """Return whether SQL reads a table by the id of a call, rather than the rows of each call."""
    if not selection.has_sql:
        return False
    from toolfold.results.select.expressions import names_in

    ids = {item.id.lower() for item in items}
    return any(name.lower() in ids for step in selection.steps for name in names_in(step.clause.text))
