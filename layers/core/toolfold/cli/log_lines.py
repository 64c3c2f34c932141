"""Log lines for a person at a terminal: one for each request of a server, and one for each kind of warning."""

from __future__ import annotations

import contextlib
import logging
import sys
import time
from collections import Counter
from collections.abc import Iterator

from toolfold.cli import terminal
from toolfold.cli.output import print_wrapped

_LOGGER = "toolfold"


class RequestFormatter(logging.Formatter):
    """Format the line of a request as time, method, tool, outcome and milliseconds; other lines as time and text."""

    def format(self, record: logging.LogRecord) -> str:
        """Return one line, in which values that a request lacks are left out."""
        fields = vars(record)
        words = [time.strftime("%H:%M:%S", time.localtime(record.created))]
        if record.getMessage() != "request":
            return "  ".join([*words, record.levelname.lower(), record.getMessage()])
        words += [str(fields[name]) for name in ("rpc", "inner_tool" if "inner_tool" in fields else "tool")
                  if fields.get(name)]  # fmt: skip
        words.append(str(fields.get("error") or fields.get("status", "")))
        words += [f"{fields[name]:.0f} ms" for name in ("ms",) if isinstance(fields.get(name), int | float)]
        words += [str(fields["cache"])] if fields.get("cache") else []
        return "  ".join(words)


def show_requests_to_a_person() -> None:
    """Write the log of this process for a person, where stdout is a terminal; elsewhere it stays JSON."""
    if not terminal.is_terminal(sys.stdout):
        return
    for handler in logging.getLogger(_LOGGER).handlers:
        handler.setFormatter(RequestFormatter())
        handler.addFilter(lambda record: record.getMessage() != "call")  # the line of its request names it


class _OneOfEach(logging.Handler):
    """Print the first warning of each kind, and count the others."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.counts: Counter[str] = Counter()

    def emit(self, record: logging.LogRecord) -> None:
        """Print a warning to stderr, if it is the first of its kind."""
        self.counts[record.msg] += 1
        if self.counts[record.msg] == 1:
            print_wrapped(record.getMessage())


@contextlib.contextmanager
def one_warning_of_each_kind() -> Iterator[None]:
    """Print what the body logs where nothing has configured the log, each kind of warning once."""
    before, handler = logging.lastResort, _OneOfEach()
    logging.lastResort = handler
    try:
        yield
    finally:
        logging.lastResort = before
        if more := sum(handler.counts.values()) - len(handler.counts):
            print_wrapped(f"{more} more {'warnings' if more > 1 else 'warning'} of the same kind.")
