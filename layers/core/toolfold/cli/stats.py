"""``toolfold stats``: what agents do with the tools, and what it saves, from a log."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from toolfold.cli.application import Options
from toolfold.cli.output import print_json, print_wrapped, waiting
from toolfold.cli.terminal import print_fields
from toolfold.errors import ToolfoldError
from toolfold.log_analysis.figures import Figures, as_json, read_log
from toolfold.settings import Settings


def run(options: Options) -> int:
    """Print the figures."""
    paths = [*options.log, *options.files] or own_log()
    source = ", ".join("stdin" if path == "-" else path for path in paths)
    figures = Figures()
    with waiting(f"Reading {source} …"):
        for line in read_log(paths):
            figures.add(line)
    if options.json:
        print_json({"source": source, **as_json(figures)}, indent=2)
    elif not figures.requests and not figures.codes:
        print_wrapped(f"There is no request and no call in {source}. `toolfold stats --help` has examples.")
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
