"""One call of a tool: how it was read, the requests that it stands for, and its answer.

Metadata of an answer is for programs: in the structured content, never in the text that a model reads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from toolfold.budget import WorkBudget
from toolfold.execution.call import NO_USE, UpstreamUse
from toolfold.meta_tools.arguments import is_blank
from toolfold.results import output, parsing
from toolfold.results.output import MIN_TOKENS, AnswerStatus, OutputOptions, RenderedResult

if TYPE_CHECKING:
    from toolfold.catalog.entries import Tool
    from toolfold.errors import CallError
    from toolfold.meta_tools.dispatcher import MetaRequest
    from toolfold.results.select.grammar import Selection
    from toolfold.results.tables import Document
    from toolfold.wording import Reader


class Call(NamedTuple):
    """A TOOL_CALL that was read, but for the arguments of its tool. Equal calls of one catalog share it.

    Attributes:
        given: the arguments of TOOL_CALL, in the documented form.
        tool: the tool to call.
        sent: the arguments of the tool; a list among them may stand for several calls.
        options: how the answer is wanted.
        fresh: whether to ignore what is cached.
        approval_token: of an approval that was given.
        is_part: whether the answer is one of several, of which all together the ``select`` takes a part.
    """

    given: Mapping[str, Any]
    tool: Tool
    sent: Mapping[str, Any]
    options: OutputOptions
    fresh: bool = False
    approval_token: str | None = None
    is_part: bool = False


def parse_select(value: Any) -> Selection | None:
    """Return what ``select`` selects; None: everything."""
    if is_blank(value):
        return None
    from toolfold.results.select import grammar  # compiles its expressions when it is imported

    return grammar.parse_select(value)


def output_options(
    request: MetaRequest, max_tokens: int | None, select: Selection | None = None, raw_by: str = ""
) -> OutputOptions:
    """Return how an answer is wanted: ``max_tokens`` as given, ``raw_by`` the parameter for the form of the service."""
    settings = request.tools.executor.settings
    requested = max_tokens or settings.max_tokens
    return OutputOptions(
        raw_by=raw_by,
        select=select,
        max_tokens=max(MIN_TOKENS, min(requested, settings.max_tokens_ceiling)),
        save_answer=request.tools.executor.services.answer_store.save if settings.offload not in ("", "off") else None,
        whole=request.whole,
    )


@dataclass(frozen=True)
class Answer:
    """The answer to a call, selected but not rendered.

    Attributes:
        size: that of the text it was made of, in bytes.
        select: what has been selected, where further steps can follow it.
    """

    document: Document
    status: AnswerStatus
    size: int
    blocks: Sequence[Mapping[str, Any]] = ()
    use: UpstreamUse = NO_USE
    select: Selection | None = None

    def render(self, options: OutputOptions, budget: WorkBudget) -> RenderedResult:
        """Return the answer within the tokens of ``options``.

        Raises:
            AnswerTooLarge: the budget is used up.
        """
        options = replace(options, select=self.select)
        return output.render_document(self.document, options, self.status, budget, self.size)


def with_notes(answer: Answer, *notes: str) -> Answer:
    """Return an answer with further notes, each once."""
    if not notes:
        return answer
    added = tuple(dict.fromkeys((*answer.document.notes, *notes)))
    return replace(answer, document=replace(answer.document, notes=added))


_CELL_BYTES = 60
"""What a cell of a document takes about: a number or a short text, and its place."""


def document_size(document: Document) -> int:
    """Return about how many bytes a document takes."""
    shapes = [(len(table.rows), len(table.columns)) for table in document.tables]
    return sum([parsing.rows_size(rows, columns) + _CELL_BYTES * rows * columns for rows, columns in shapes])


def answer_of(document: Document, answers: Sequence[Answer]) -> Answer:
    """Return ``document``, which was made of ``answers``, as an answer: as old as the oldest of them."""
    status = AnswerStatus(
        cached=bool(answers) and all(answer.status.cached for answer in answers),
        age_s=max((answer.status.age_s for answer in answers), default=0),
        stale_reason=next((answer.status.stale_reason for answer in answers if answer.status.stale_reason), ""),
    )
    blocks = [block for answer in answers for block in answer.blocks]
    size = sum(answer.size for answer in answers)
    return Answer(document, status, size, blocks, sum((answer.use for answer in answers), NO_USE))


_MAX_ALTERNATIVES = 3
"""Similar tools that are named: those that the catalog lists first."""


def metadata(
    call: Call, answer: Any, use: UpstreamUse, elapsed_ms: float, blocks: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the metadata of an answer: times, requests, ``source``, ``reasoning``, ``warnings`` and the like.

    ``warnings`` are the notes of the answer and that it is a preview or has expired, ``alternatives`` similar tools,
    ``reasoning`` where the answer comes from, ``further_text`` the texts among its content ``blocks``: some clients
    read structured content alone.
    """
    tool = call.tool
    others = list(dict.fromkeys([*tool.use_instead.values(), *tool.see_also]))[:_MAX_ALTERNATIVES]
    texts = [block["text"] for block in blocks if block.get("type") == "text"]
    warnings = list(answer.get("notes", ()))
    if "late" in answer:
        warnings.append(f"The answer has expired; the source could not be reached: {answer['late']}.")
    if "preview" in answer:
        warnings.append(f"Shortened; left out: {answer['preview']['left_out']}.")
    origin = "the cache" if answer.get("cached") else "an equal call that was running"
    if use.requests:
        origin = f"{use.requests} request{'' if use.requests == 1 else 's'} to the source"
    form = " in the form of the source" if call.options.raw_by else ""
    part = ", of which a part was selected" if call.options.select is not None else ""
    return {
        "elapsed_ms": elapsed_ms,
        "upstream_ms": round(use.seconds * 1000, 1),
        "upstream_requests": use.requests,
        "source": tool.source,
        **({"further_text": texts} if texts else {}),
        **({"warnings": warnings} if warnings else {}),
        **({"alternatives": others} if others else {}),
        "reasoning": f"From {origin}{form}{part}.",
    }


@dataclass
class Part:
    """One request of a call.

    Attributes:
        labels: the values of the arguments in which the requests of the call differ.
        arguments: all arguments.
        started, ended: when it was sent, and when its answer was there, by ``time.perf_counter()``; 0: not yet.
        outcome: its answer or its error; None while it has neither.
    """

    labels: tuple[Any, ...]
    arguments: Mapping[str, Any]
    started: float = 0.0
    ended: float = 0.0
    outcome: Answer | CallError | None = None


@dataclass
class Item:
    """One call of several.

    Attributes:
        given: the arguments of TOOL_CALL, in the documented form where they could be read.
        parts: what is sent: one request, or several where an argument is a list.
        varied: the names of the arguments in which several differ; empty for a single one.
        is_skipped: whether it was not performed, because of an error before it or of the time.
        elapsed_s: the time from its first request to its answer.
        notes: what was read in a way that the caller may not expect.
        is_combined: whether the ``select`` of its call is that of the table of several items.
    """

    id: str
    given: Mapping[str, Any]
    call: Call | None = None
    parts: Sequence[Part] = ()
    varied: tuple[str, ...] = ()
    answer: Answer | None = None
    error: CallError | None = None
    is_skipped: bool = False
    elapsed_s: float = 0.0
    notes: tuple[str, ...] = ()
    is_combined: bool = False

    @property
    def tool_name(self) -> str:
        """The name of its tool, as it was given where there is no such tool."""
        name = self.given.get("tool_name") if self.call is None else self.call.tool.name
        return name if isinstance(name, str) else ""

    @property
    def is_read(self) -> bool:
        """Whether it changes nothing at its source, so that it may be repeated."""
        return self.call is not None and self.call.tool.only_reads

    def select_with(self, selection: Selection | None, *, is_combined: bool = False) -> None:
        """Select with ``selection``, unless the call has a ``select``; ``is_combined``: of several items together."""
        call = self.call
        if call is not None and call.options.select is None and selection is not None:
            self.is_combined = is_combined
            self.call = call._replace(options=replace(call.options, select=selection))

    def entry(self, rendered: RenderedResult | None, reader: Reader | None) -> dict[str, Any]:
        """Return the entry of the item in the structured data; ``rendered`` is its answer."""
        entry: dict[str, Any] = {"id": self.id, "tool_name": self.tool_name, "ok": self.answer is not None}
        if self.is_skipped:
            return {**entry, "skipped": True}
        entry["elapsed_ms"] = elapsed_ms = round(self.elapsed_s * 1000, 1)
        if self.error is not None:
            return {**entry, "error": self.error.as_dict(reader)}
        if rendered is None or self.call is None or self.answer is None:
            return entry
        figures = metadata(self.call, rendered.structured, self.answer.use, elapsed_ms, self.answer.blocks)
        return {**entry, **rendered.structured, **figures}
