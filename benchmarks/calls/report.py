"""Tables of a replayed workload."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from benchmarks.calls.replay import CallResult, as_compact_json, tokens
from benchmarks.calls.workload import Call
from benchmarks.timing import percentile
from scripts.measured_tables import markdown_table

LONG = 25_000
"""Tokens of one answer from which some clients cut it off or refuse it."""

Day = Sequence[CallResult]


def has_answer(unlimited: CallResult, *, free: bool) -> bool:
    """Return whether a server with unlimited requests could answer this call, ``free``: with a free key."""
    return not unlimited.output.code and not (free and unlimited.call.kind == "premium")


def answered(day: Day) -> list[CallResult]:
    return [one for one in day if not one.output.code]


def read(day: Day) -> int:
    return sum(one.read for one in day)


def requests(day: Day) -> int:
    return sum(one.requests for one in day)


def comparison_table(title: str, ours: Day, theirs: Day, unlimited: Day, *, free: bool) -> str:
    """Return the table of one plan: toolfold beside the pass-through.

    ``unlimited`` is the pass-through without limits, which has the length of every response.
    """
    possible = sum(has_answer(one, free=free) for one in unlimited)
    both = (ours, theirs)
    rows = [
        _row(f"answered, of {possible:,} calls that have an answer", [len(answered(day)) for day in both], up=True),
        _row("requests to the upstream", [requests(day) for day in both]),
        _row("tokens read", [read(day) for day in both]),
        _row("tokens read per answered call", [round(read(day) / max(1, len(answered(day)))) for day in both]),
        ("time of a call, median", *(_ms(day, 0.5) for day in both), ""),
    ]
    return f"### {title}\n\n" + markdown_table(("", "toolfold", "passed through", "ratio"), rows)


def variants_table(days: Mapping[str, Day], theirs: Day, csv: Day) -> str:
    """Return the table without limits: the effect of each part of toolfold, and other ways of passing through."""
    rows = [(name, _n(requests(day)), _n(read(day)), _n(_long(day)), _ms(day, 0.5)) for name, day in days.items()]
    compacted = [tokens(as_compact_json(one.output.text)) for one in theirs]
    cut = sum(min(count, LONG) for count in compacted)
    passed = _n(requests(theirs))
    time = _ms(theirs, 0.5)
    rows += [
        ("passed through: JSON as it is sent", passed, _n(read(theirs)), _n(_long(theirs)), time),
        ("passed through: CSV where it is offered", passed, _n(read(csv)), _n(_long(csv)), time),
        (f"passed through: JSON without white space, cut at {LONG:,} tokens", passed, _n(cut), "0", time),
    ]
    head = ("", "requests", "tokens read", f"answers over {LONG:,} tokens", "time, median")
    return "### Variants, without limits\n\n" + markdown_table(head, rows)


def describe_calls(calls: Sequence[Call]) -> str:
    """Return a description of the workload."""
    kinds = Counter(call.kind for call in calls)
    things = {(call.tool, str(sorted(call.arguments.items()))) for call in calls}
    lines = (
        f"{len(calls):,} calls of {len({call.user for call in calls})} users to {len({call.tool for call in calls})} "
        f"tools; {len(things):,} of them differ in tool or arguments.",
        f"{kinds['data']:,} are for any key, {kinds['premium']:,} for premium keys only; {kinds['wrong']:,} have wrong "
        f"arguments, {kinds['unknown']:,} ask for symbols that do not exist.",
        f"{sum(bool(call.select) for call in calls):,} come with `select`, "
        f"{sum(call.max_tokens is not None for call in calls):,} with `max_tokens`, "
        f"{sum(call.fresh for call in calls):,} with `fresh`.",
    )
    return "\n".join(lines) + "\n"


def _row(title: str, values: Sequence[int], *, up: bool = False) -> tuple[str, ...]:
    """``up``: more is better."""
    ours, theirs = values
    over, under = (ours, theirs) if up else (theirs, ours)
    return title, _n(ours), _n(theirs), f"{over / under:.1f}" if under else ""


def _n(value: int) -> str:
    return f"{value:,}"


def _long(day: Day) -> int:
    return sum(one.read > LONG for one in day)


def _ms(day: Day, share: float) -> str:
    return f"{percentile([one.seconds for one in day], 100 * share) * 1000:,.1f} ms"
