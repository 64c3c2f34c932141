"""``toolfold stats``: what agents do with the tools, and what it saves, from a log."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from toolfold.cli.application import Options, fail
from toolfold.cli.output import print_json, print_wrapped, waiting
from toolfold.cli.terminal import print_fields
from toolfold.dates import parse_date
from toolfold.errors import ToolfoldError
from toolfold.log_analysis.figures import Figures, as_json, read_log
from toolfold.settings import Settings

_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def parse_since(text: str) -> datetime:
    """Parse a length of time until now, or a date or time, which is in UTC unless it says otherwise."""
    if found := re.fullmatch(r"(\d{1,6})([mhdw])", text):
        return datetime.now(UTC) - timedelta(**{_UNITS[found[2]]: int(found[1])})
    readings = parse_date(text)
    if len(readings) != 1:
        raise fail(f"--since: {text!r} is no time such as 1d, 12h or 2026-01-14.")
    return readings[0].low


def run(options: Options) -> int:
    """Print the figures."""
    since = parse_since(options.since) if options.since else None
    paths = [*options.log, *options.files] or own_log()
    source = ", ".join("stdin" if path == "-" else path for path in paths)
    figures = Figures()
    with waiting(f"Reading {source} …"):
        for line in read_log(paths, since):
            figures.add(line)
    if options.json:
        print_json({"source": source, **as_json(figures)}, indent=2)
    elif not figures.requests and not figures.codes:
        start = f" since {since.isoformat(sep=' ', timespec='minutes')}" if since else ""
        print_wrapped(f"There is no request and no call in {source}{start}. `toolfold stats --help` has examples.")
    else:
        data = as_json(figures)
        print_fields([("source", source), *_labelled({**data.pop("figures"), **data})])
    return 0


def own_log() -> list[str]:
    """Return the files that ``TOOLFOLD_CALL_LOG`` names: the one before, and the current one."""
    location = Settings.from_environment().call_log
    if not location:
        raise ToolfoldError(
            "There is no log to count. Name files with --log, or set TOOLFOLD_CALL_LOG to a file where the server is "
            "configured: `toolfold stats --help` has examples."
        )
    path = os.path.expanduser(location)
    found = [one for one in (f"{path}.1", path) if os.path.exists(one)]
    if not found:
        raise ToolfoldError(f"Nothing has been logged yet: {path} does not exist.")
    return found


def _labelled(data: Mapping[str, Any], group: str = "") -> Iterator[tuple[str, str]]:
    """Yield the names of the figures in words, and their values; a group of groups has its counts in one line."""
    for name, value in data.items():
        label = f"{group} {name.replace('_', ' ') if group != 'tools' else name}".strip()
        if isinstance(value, dict) and not group:
            yield from _labelled(value, label)
        elif isinstance(value, dict):
            yield label, ", ".join(f"{number:,} {counted}" for counted, number in value.items()) or "none"
        else:
            yield label, f"{value:,}" if isinstance(value, int | float) else value or "–"
