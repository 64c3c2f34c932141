"""``toolfold stats``: what agents do with the tools, and what it saves, from a log."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from toolfold.cli.output import print_json, print_wrapped
from toolfold.errors import ToolfoldError
from toolfold.log_analysis.figures import MOST_CALLED, Figures, as_json, seven_figures

_EXAMPLES = """examples:
  toolfold stats                                     the file in TOOLFOLD_CALL_LOG
  toolfold stats --since 1d --json
  toolfold serve | tee serve.log                     then: toolfold stats --log serve.log
  aws logs tail /aws/lambda/NAME-gateway | toolfold stats --log -
  toolfold stats --stack NAME --since 7d             a deployment, by CloudWatch Logs Insights
  toolfold stats --log-group /aws/lambda/mine --since 2026-01-14

To log what agents on this machine do, set TOOLFOLD_CALL_LOG to a file, for example ~/.cache/toolfold/calls.jsonl, where
the server is configured. The lines have names, codes and figures, but no arguments, no answers and no keys.
"""

_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_DEFAULT_AWS = timedelta(days=1)
"""Time of a deployment's log that is counted by default: AWS bills what is read."""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "stats",
        help="count what agents do and what it saves, from a log",
        description="Count searches, calls, tokens and the share of the cache, from log files, or from the log of a "
        "deployment (with the AWS credentials of this machine; AWS bills the bytes that are read).",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--since", metavar="TIME", type=parse_since, help="count lines since then: 30m, 12h, 1d, 2w, or a date or time "
        "such as 2026-01-14 (UTC); default: all of a file, a day of a deployment",
    )  # fmt: skip
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--log", metavar="FILE", nargs="+", help="log files, also .gz; - reads stdin")
    source.add_argument("--stack", metavar="NAME", help="the log of the function of this stack")
    source.add_argument("--log-group", metavar="NAME", help="this log group of CloudWatch")
    parser.add_argument("--json", action="store_true", help="print all figures as JSON")
    parser.set_defaults(run=run)


def parse_since(text: str) -> datetime:
    """Parse a length of time until now, or a date or time, which is in UTC unless it says otherwise."""
    if found := re.fullmatch(r"(\d{1,6})([mhdw])", text):
        return datetime.now(UTC) - timedelta(**{_UNITS[found[2]]: int(found[1])})
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no time such as 1d, 12h or 2026-01-14") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def run(options: argparse.Namespace) -> int:
    """Print the figures."""
    group = options.log_group or (f"/aws/lambda/{options.stack}-gateway" if options.stack else "")
    if group:
        figures, source = _from_aws(group, options.since), f"log group {group}"
    else:
        paths = options.log or _own_log()
        source = ", ".join("stdin" if path == "-" else path for path in paths)
        figures = _from_files(paths, options.since)
    if options.json:
        print_json({"source": source, **as_json(figures)}, indent=2)
    elif figures.is_empty:
        print_wrapped(f"There is no request and no call in {source}{_since_text(options.since)}.")
        print_wrapped("Its lines are JSON, with the message “request” or “call”, as the Lambda function and "
                      "`toolfold serve` write them. `toolfold stats --help` has examples.")  # fmt: skip
    else:
        _print_figures(figures, source)
    return 0


def _from_files(paths: Iterable[str], since: datetime | None) -> Figures:
    from toolfold.log_analysis.figures import FigureCounter
    from toolfold.log_analysis.reader import read_log

    counter = FigureCounter()
    for line in read_log(paths, since):
        counter.add(line)
    return counter.figures()


def _from_aws(group: str, since: datetime | None) -> Figures:
    from toolfold.cli.log_insights import count_figures
    from toolfold.cli.progress import waiting

    now = datetime.now(UTC)
    with waiting(f"Waiting for the log group {group} …"):
        return count_figures(group, since or now - _DEFAULT_AWS, now)


def _own_log() -> list[str]:
    """Return the files that ``TOOLFOLD_CALL_LOG`` names: the one before, and the current one.

    Raises:
        ToolfoldError: it is not set, or the file does not exist yet.
    """
    from toolfold.settings import Settings

    location = Settings.from_environment().call_log
    if not location:
        raise ToolfoldError(
            "There is no log to count. Name files with --log, or a deployment with --stack.\n"
            "To log what agents on this machine do, set TOOLFOLD_CALL_LOG to a file where the server is configured: "
            "`toolfold stats --help` says what is written."
        )
    path = os.path.expanduser(location)
    found = [one for one in (f"{path}.1", path) if os.path.exists(one)]
    if not found:
        raise ToolfoldError(
            f"Nothing has been logged yet: {path} does not exist. A server that was started before TOOLFOLD_CALL_LOG "
            "was set has to be started again."
        )
    return found


def _since_text(since: datetime | None) -> str:
    return f" since {since.isoformat(sep=' ', timespec='minutes')}" if since else ""


def _print_figures(figures: Figures, source: str) -> None:
    from toolfold.cli.tables import print_fields, print_table

    seven = seven_figures(figures)
    print_wrapped(f"{source}: {figures.first} to {figures.last}" if figures.first else source)
    print_table(
        ("progressive loading", "", "of"),
        [
            ("tokens of a search", _number(seven["tokens_per_query"]), f"{figures.searches:,} searches"),
            ("less than all definitions", _percent(seven["token_reduction_percent"]), ""),
            ("tools in full, a search", _number(seven["full_per_query"]), ""),
            ("tools at the medium level, a search", _number(seven["medium_per_query"]), ""),
            ("tools in one line, a search", _number(seven["minimal_per_query"]), ""),
            (
                "schemas loaded on demand",
                _number(seven["loaded_on_demand"]),
                f"{figures.requests['TOOL_GET']:,} TOOL_GET",
            ),
            ("answered from the cache", _percent(seven["cache_hit_percent"]), f"{figures.cacheable:,} calls"),
        ],
    )
    print()
    outcomes = ", ".join(f"{number:,} {code}" for code, number in figures.codes.most_common())
    requests = ", ".join(f"{number:,} {tool}" for tool, number in figures.requests.most_common())
    fields: dict[str, Any] = {
        "requests": f"{requests or 'none'}; {figures.failed_requests:,} failed",
        "searches that found nothing": f"{figures.empty_searches:,} of {figures.searches:,}",
        "tokens answered": f"{figures.tokens:,.0f}",
        "tokens saved": f"{figures.tokens_saved:,.0f}",
        "calls": outcomes or "none",
        "requests to sources": f"{figures.upstream_requests:,}",
    }
    if figures.upstream_ms is not None:
        fields["time in a source"] = "median {:,.0f} ms, 99 % below {:,.0f} ms".format(*figures.upstream_ms)
    print_fields(fields)
    if figures.tools:
        print()
        print_table(("most called", "calls"), figures.tools.most_common(MOST_CALLED))
    sys.stdout.flush()


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:,g}"


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{value:g} %"
