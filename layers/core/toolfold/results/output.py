"""From an upstream's text to what a call returns: in toolfold's own form or the upstream's, selected, and fitting.

The two forms are never mixed. Who names a ``datatype`` gets the upstream's own JSON or CSV, keys untouched; who names
none gets typed tables (``shape``) and the most compact text of the same (``render``).
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from toolfold.errors import UpstreamError
from toolfold.results import preview, render, tables, tokens, values
from toolfold.results.tables import Document

if TYPE_CHECKING:
    from toolfold.aws.clients import AwsClients
    from toolfold.results.select.parser import Selection

    _T = TypeVar("_T")


MIN_TOKENS = 500
"""No answer is made to fit less: a header of forty columns with two rows and a notice needs as much."""

OLD_S = 300
"""Seconds from which a model is told the age of an answer: what changes faster than that is not held so long."""

_WIRE_BYTES = 5_500_000
"""A Lambda function returns at most 6 MB (6,291,556 bytes, lambda/latest/dg/gettingstarted-limits.html)."""

_MAY_BE_LARGE = 100_000
"""Characters of a text below which the answer, twice in it and escaped twice, cannot come near that."""

_LINK_SHARE = 3
"""A link that costs more than this part of the budget is in the data alone."""

_PLAIN = re.compile(r"[A-Za-z_]\w*")
_TELLING = ("close", "adjusted_close", "value", "price", "totalRevenue", "reportedEPS", "title")
"""Columns that are asked for most, for the example of asking for less."""


@dataclass(frozen=True)
class OutputOptions:
    """How an answer is wanted.

    ``raw``: in the upstream's own form. ``offload_to``: where the whole of a long answer is kept (``offload``), or empty;
    ``presigned_url_ttl_s``: seconds that a link to it lives; ``offload_timeout_s``: seconds that keeping it in S3 may take, and ``deadline``
    when all must be done, by ``time.monotonic``.
    """

    raw: bool = False
    select: Selection | None = None
    max_tokens: int = 8000
    offload_to: str = ""
    presigned_url_ttl_s: float = 3600
    offload_timeout_s: float = 5
    deadline: float | None = None
    aws: AwsClients | None = None


@dataclass(frozen=True)
class RenderedResult:
    """``structured`` is a JSON object: ``result``, ``cached``, ``age_s``, ``late`` where an answer is past its time,
    and ``preview`` where there is more."""

    structured: Mapping[str, Any]
    text: str


def render_result(
    body: str,
    kind: str,
    answer: Mapping[str, Any],
    wishes: OutputOptions,
    *,
    cached: bool = False,
    age_s: int = 0,
    stale_reason: str = "",
) -> RenderedResult:
    """An upstream's ``body`` (``kind``: json or csv) as the result of a call.

    Args:
        stale_reason: the code of the error for which an answer past its time is given.
        answer: what the catalog knows of the tool's answers; see :func:`toolfold.results.tables.document`.

    Raises:
        InvalidArguments: a ``select`` that cannot be followed.
        UpstreamError: an answer that cannot be read after all.
    """
    about: dict[str, Any] = {"cached": cached, "age_s": age_s, **({"late": stale_reason} if stale_reason else {})}
    try:
        return (_raw if wishes.raw else _own)(body, kind, answer, wishes, about)
    except RecursionError:
        raise UpstreamError(
            "The service sent an answer that is nested too deeply.", "Tell the user that this answer cannot be read."
        ) from None


def _notice(about: Mapping[str, Any]) -> str:
    if "late" in about:
        return (
            f"# {_duration(about['age_s'])} old and past its time: {about['late']} now, so nothing newer can be had\n"
        )
    return f"# cached {_duration(about['age_s'])} ago\n" if about["cached"] and about["age_s"] >= OLD_S else ""


def _own(
    body: str, kind: str, answer: Mapping[str, Any], wishes: OutputOptions, about: Mapping[str, Any]
) -> RenderedResult:
    document = _document(body, kind, answer, wishes.select)
    notice = _notice(about)
    whole = render.text(document)
    text = notice + whole
    size = tokens.count(text)
    if size <= wishes.max_tokens and _leaves(text, lambda: render.structured(document)):
        return RenderedResult({"result": render.structured(document), **about}, text)
    suffix = "txt" if document.rest and document.tables else "json" if not document.tables else "csv"
    more = _More(whole, size, suffix, f"select={json.dumps(_example(document))}", wishes)
    totals = tuple(len(table.rows) for table in document.tables)

    def texted(made: tuple[Document, preview.Cuts]) -> str:
        return f"{notice}{more.notice(made[1])}\n{render.text(made[0])}"

    shown, cuts = preview.fitting(
        preview.longest(document),
        lambda level: preview.cut(document, level),
        lambda made: _fits(texted(made), lambda: render.structured(made[0]), wishes.max_tokens),
    )
    result = render.structured(shown, totals)
    return RenderedResult({"result": result, "preview": more.block(cuts), **about}, texted((shown, cuts)))


def _document(body: str, kind: str, answer: Mapping[str, Any], selection: Selection | None) -> Document:
    if selection is None:
        return tables.document(body, kind, answer)
    from toolfold.results.select import evaluator, jmespath_query

    if not selection.path:
        return evaluator.evaluate(selection, tables.document(body, kind, answer))
    if kind == "json":
        return tables.from_value(jmespath_query.search(selection.path, tables.tree(body, answer)))
    document = tables.document(body, kind, answer)
    data = {"rows": document.tables[0].objects()} if document.tables else document.rest
    return tables.from_value(jmespath_query.search(selection.path, data))


def _raw(
    body: str,
    kind: str,
    answer: Mapping[str, Any],
    wishes: OutputOptions,
    about: Mapping[str, Any],
) -> RenderedResult:
    selection = wishes.select
    if selection is not None and not (selection.path and kind == "json"):
        from toolfold.results.select.parser import refused

        raise refused(
            "works on toolfold's own form" if kind == "json" else "does not work on the upstream's CSV",
            None,
            "Leave out datatype; with datatype=json only jmespath: and an expression can be used.",
        )
    data: Any
    if kind == "csv":
        data = text = body.replace("\r\n", "\n").strip("\n")
    else:
        data = json.loads(body, parse_constant=lambda _constant: None)
        if selection is not None:
            from toolfold.results.select import jmespath_query

            data = jmespath_query.search(selection.path, data)
        text = render.compact(data)
    size = tokens.count(text)
    if size <= wishes.max_tokens and _leaves(text, lambda: data):
        return RenderedResult({"result": data, **about}, text)
    example = f"leave out datatype and add select={json.dumps(_example(tables.document(body, kind, answer)))}"
    more = _More(text, size, kind, example, wishes)

    def cut(level: preview.Level) -> tuple[Any, preview.Cuts]:
        if kind == "csv":
            return preview.cut_csv(text, level)
        return preview.shortened(data, level, cuts := preview.Cuts()), cuts

    def texted(made: tuple[Any, preview.Cuts]) -> str:
        if kind == "csv":
            return f"{more.notice(made[1])}\n{made[0]}"
        return render.compact({"preview": more.block(made[1]), "result": made[0]})

    shown, cuts = preview.fitting(
        text.count("\n") if kind == "csv" else preview.longest_list(data),
        cut,
        lambda made: _fits(texted(made), lambda: made[0], wishes.max_tokens),
    )
    return RenderedResult({"result": shown, "preview": more.block(cuts), **about}, texted((shown, cuts)))


class _More:
    """The way to the rest of an answer: where the whole of it is kept, and how to ask for less."""

    def __init__(self, whole: str, size: int, suffix: str, ask_less: str, wishes: OutputOptions) -> None:
        kept = {}
        if wishes.offload_to:
            from toolfold.results import offload

            left_s = float("inf") if wishes.deadline is None else wishes.deadline - time.monotonic()
            kept = offload.save(
                whole, suffix, wishes.offload_to, wishes.presigned_url_ttl_s, wishes.offload_timeout_s, left_s, wishes.aws
            )
        self._tokens = size
        self._full = {**kept, "tokens": size}
        self._ask_less = ask_less
        place = kept.get("url") or kept.get("path") or ""
        long = tokens.count(place) > wishes.max_tokens // _LINK_SHARE
        self._place = "in structuredContent.preview.full" if place and long else place

    def notice(self, cuts: preview.Cuts) -> str:
        """One line for the model, before the data."""
        size = f"{cuts.shown:,} of {cuts.total:,} rows; " if cuts.total else ""
        whole = f"All of it ({self._tokens:,} tokens)"
        where = (
            f"{whole}, until {self._full['expires_at']}: {self._place}. " if self._place else f"{whole} is too long. "
        )
        return f"# Preview: {size}left out: {cuts}. {where}For less: {self._ask_less}"

    def block(self, cuts: preview.Cuts) -> dict[str, Any]:
        """The same as data: ``{"rows_shown", "rows_total", "left_out", "full": {…}, "ask_less"}``."""
        return {
            "rows_shown": cuts.shown,
            "rows_total": cuts.total,
            "left_out": str(cuts),
            "full": self._full,
            "ask_less": self._ask_less,
        }


def _fits(text: str, data: Callable[[], Any], max_tokens: int) -> bool:
    return tokens.count(text) <= max_tokens and _leaves(text, data)


def _leaves(text: str, data: Callable[[], Any]) -> bool:
    """Whether a Lambda function can return the answer: JSON in the string of a body, in JSON."""
    if len(text) < _MAY_BE_LARGE:
        return True
    body = json.dumps({"content": text, "structuredContent": data()})
    return len(json.dumps(body)) <= _WIRE_BYTES


def _example(document: Document) -> str:
    """A selection that would be short, with columns that are there."""
    if not document.tables:
        fields = document.rest if isinstance(document.rest, dict) else {}
        plain = [key for key, value in fields.items() if not isinstance(value, list | dict)][:2]
        inner = next((key for key in fields if key not in plain), "[0]")
        return ",".join(map(_quoted, plain)) or f"jmespath: {_quoted(inner) if fields else inner}"
    table = max(document.tables, key=lambda table: len(table.rows))
    first = table.rows[0] if table.rows else ()
    numbers = [name for name, cell in zip(table.columns, first, strict=False) if isinstance(cell, int | float)]
    dates = [name for name, cell in zip(table.columns, first, strict=False) if values.is_date(cell)][:1]
    telling = [name for name in _TELLING if name in table.columns] or numbers or list(table.columns)
    wanted = dict.fromkeys([*(dates or table.columns[:1]), telling[0]]) if table.columns else {}
    return f"{','.join(map(_quoted, wanted))}; last 20"


def _quoted(name: str) -> str:
    return name if _PLAIN.fullmatch(name) else f'"{name}"'


def _duration(seconds: int) -> str:
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"
