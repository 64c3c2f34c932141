"""Complete an answer that lacks what was requested, and state what it lacks.

Some tools return a part of their data unless an argument requests the rest: the latest hundred days, fifty articles,
monthly rows. The catalog names these arguments (``hints`` of a tool). A call that lacks rows is sent once more with
them, unless the caller gave the argument.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from enum import Enum
from typing import TYPE_CHECKING, Any

from toolfold.catalog.json_schema import properties
from toolfold.dates import bounds
from toolfold.errors import CallError, PremiumOnly
from toolfold.meta_tools.result import dumps_compact
from toolfold.models import Requested
from toolfold.results.select import coverage
from toolfold.results.select.coverage import Coverage
from toolfold.text_safety import counted

if TYPE_CHECKING:
    from toolfold.catalog.entries import Tool
    from toolfold.results.tables import Document


class GapKind(Enum):
    """What is lacking: the note on it, what the call returns by default, and whether an argument has to ask for it."""

    BEGINNING = ("Asked {beginning}; the data begin {first}.", "begins {first}", False)
    START_OF_DAY = ("Asked {beginning}; the data begin {first}.", "begins {first}", True)
    END = ("Asked {end}; the data end {last}.", "begins {first}", False)
    FUTURE = ("Asked {end}; the data end {last}.", "ends {last}", True)
    ROWS = ("Asked for {wanted}{until}; the data have {count}.", "has {rows}{until}", False)
    OLDEST = ("The oldest of the {rows} since {first}, not of the whole series.", "begins {first}", True)
    SUMMARY = ("Computed from the {rows} {reach}.", "begins {first}", True)
    MATCHES = ("Searched the {rows} {reach}.", "begins {first}", True)
    RESOLUTION = ("The rows are {step}, too far apart for this period.", "has {step} rows", False)

    def __init__(self, note: str, default: str, needs_argument: bool) -> None:
        self.note, self.default, self.needs_argument = note, default, needs_argument


@dataclass(frozen=True)
class Gap:
    """What a document lacks of what a ``select`` requests.

    Attributes:
        covered: its dates.
        complete: arguments that the call lacks and with which the tool returns more; may be empty.
        is_of_future: whether there are rows of days to come, and the arguments bring more of these.
    """

    kind: GapKind
    requested: Requested
    covered: Coverage
    complete: Mapping[str, Any]
    is_of_future: bool = False

    @property
    def note(self) -> str:
        """What is lacking, as a sentence."""
        return self.kind.note.format(**self._fields)

    @property
    def default(self) -> str:
        """What the call returns without the arguments."""
        return self.kind.default.format(**self._fields)

    @property
    def _fields(self) -> dict[str, str]:
        covered, low, high = self.covered, self.requested.low, self.requested.high
        wanted, count = self.requested.rows_before if low else self.requested.needed_rows, len(covered.dates)
        if self.kind is GapKind.ROWS:
            count = wanted - coverage.lacked_rows(self.requested, covered)
        return {
            "beginning": f"from {low}" if low else f"until {high}",
            "end": f"until {high}" if high else f"from {low}",
            "until": f" before {low}" if low else f" until {high}" if high else "",
            "first": f"{covered.first}{covered.zone}",
            "last": f"{covered.last}{covered.zone}",
            "step": covered.step_name,
            "wanted": counted(wanted, "row"),
            "count": f"{count:,}",
            "rows": counted(count, "row"),
            # How far the rows reach, on the side where there may be more.
            "reach": f"until {covered.last}" if self.is_of_future else f"since {covered.first}",
        }


def find_gap(
    tool: Tool,
    arguments: Mapping[str, Any],
    requested: Requested,
    document: Document,
    today: date,
    selected_rows: int = 0,
) -> Gap | None:
    """Return what a document lacks of what is requested, or None."""
    covered = coverage.coverage_of(document, requested.table) if requested.depends_on_length else None
    kind = None if covered is None else _kind(requested, covered, today, selected_rows)
    if covered is None or kind is None:
        return None
    complete = {}
    for name, value in tool.hints.get("finest" if kind is GapKind.RESOLUTION else "complete", {}).items():
        default = properties(tool.parameters).get(name, {}).get("default")
        # Fewer rows than the default number of them are all there are; a number of rows is not the whole series.
        has_all = type(default) is int and len(covered.dates) < default
        is_part = type(value) is int and kind is GapKind.OLDEST
        if kind is not GapKind.END and name not in arguments and value != default and not has_all and not is_part:
            is_count = type(value) is int and kind is GapKind.ROWS  # it need not be the greatest
            complete[name] = min(value, requested.needed_rows) if is_count else value
    month, parameter = requested.low[: len("2024-01")], tool.hints.get("month", "")
    is_month = len(month) == len("2024-01") and requested.high.startswith(month)
    if kind is GapKind.BEGINNING and is_month and covered.step_days < 1 and parameter and parameter not in arguments:
        complete[parameter] = month
    if not complete and (kind.needs_argument or (kind is GapKind.RESOLUTION and coverage.has_rows(requested, covered))):
        return None
    return Gap(kind, requested, covered, complete, covered.last[:10] > today.isoformat())


def _kind(requested: Requested, covered: Coverage, today: date, selected_rows: int) -> GapKind | None:
    low, high, ends = requested.low, requested.high, bounds(covered.last)[0]
    if coverage.is_too_coarse(requested, covered):
        return GapKind.RESOLUTION
    if coverage.lacks_beginning(requested, covered):
        return GapKind.BEGINNING
    is_day = len(low) == len("2024-01-01") and covered.first.startswith(f"{low}T")
    if is_day and not covered.first.endswith("T00:00:00"):  # it begins at some time of that day
        return GapKind.START_OF_DAY
    if coverage.lacked_rows(requested, covered) > 0:
        return GapKind.ROWS
    if high and today < ends < bounds(high)[1]:
        return GapKind.FUTURE
    if coverage.lacks_end(requested, covered, today):
        return GapKind.END
    if low or (ends > today and (high or requested.is_oldest_first)):
        return None
    if requested.is_oldest_first:
        return GapKind.OLDEST
    if requested.is_summary:
        return GapKind.SUMMARY
    is_found = 0 < requested.row_count <= selected_rows
    return GapKind.MATCHES if requested.is_filtered and not is_found else None


def used_note(gap: Gap) -> str:
    """Return the note on an answer that was completed."""
    return f"{_arguments(gap.complete)} {'was' if len(gap.complete) == 1 else 'were'} used: the default {gap.default}."


def lacking_note(tool: Tool, arguments: Mapping[str, Any], gap: Gap, failure: CallError | None = None) -> str:
    """Return the note on an answer that lacks something, with what would help."""
    if failure is not None:
        is_plan = isinstance(failure, PremiumOnly)
        reason = "this key's plan does not include it" if is_plan else f"failed: {failure.code}"
        free = tool.hints.get("free_instead") if is_plan else None
        is_free = f" {free['tool']} is free." if free else ""
        return f"{gap.note} {_arguments(gap.complete)} has more, but {reason}.{is_free}"
    others = gap.complete
    if not others and gap.kind in (GapKind.BEGINNING, GapKind.ROWS, GapKind.RESOLUTION):  # given another value
        hints = tool.hints.get("finest" if gap.kind is GapKind.RESOLUTION else "complete", {}).items()
        others = {name: value for name, value in hints if arguments.get(name, value) != value}
    return f"{gap.note} {_arguments(others)} has more." if others else gap.note


def _arguments(arguments: Mapping[str, Any]) -> str:
    return " and ".join(f"{name} {dumps_compact(value)}" for name, value in arguments.items())
