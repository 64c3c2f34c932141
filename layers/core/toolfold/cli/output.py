"""Print results, errors, notices, lines of a log and traces of requests, and show that a long command is at work.

The data alone go to stdout. All else goes to stderr.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from toolfold.cli import terminal
from toolfold.errors import CallError
from toolfold.text_safety import counted, escape_unsafe

if TYPE_CHECKING:
    from toolfold.meta_tools.result import Result
    from toolfold.network.connection import RequestState


def print_message(*texts: object) -> None:
    """Print texts to stderr, each in a line."""
    print(*texts, sep="\n", file=sys.stderr, flush=True)


def print_json(value: Any, indent: int | None = None) -> None:
    """Print a value as JSON; characters that stdout lacks as escapes, which keeps the value."""
    print(json.dumps(value, ensure_ascii=not terminal.is_unicode(sys.stdout), indent=indent))


def print_result(result: Result, as_json: bool, tool_name: str = "") -> int:
    """Print a result to stdout, or an error to stderr; return the exit code: 0, or 1 for an error.

    Args:
        result: of a meta-tool.
        as_json: whether to print it as JSON, also if it is an error.
        tool_name: the tool that was named, for the next step after an error.
    """
    if as_json:
        print_json(result.structured)
    elif result.is_error:
        print_error(result.errors[0], tool_name)
        if rest := result.structured.get("continue"):
            print_notice(f"For the rest: toolfold call {tool_name} continue={rest}")
    elif result.text.strip():
        print(result.text)
    else:  # several answers, which are whole
        print_json(result.structured, indent=2)
    return 1 if result.is_error else 0


def print_error(error: CallError, tool_name: str = "") -> None:
    """Print an error to stderr, in the words for a person."""
    from toolfold.cli.error_text import for_person

    message, next_step = for_person(error, tool_name)
    print_wrapped(f"{error.code}: {message}")
    problems = error.details.get("problems", ())
    for problem in problems if len(problems) > 1 else ():  # a single one is the message
        print_wrapped(f"  {problem['parameter']} {problem['problem']}: {problem['expected']}", "    ")
    if next_step:
        print_wrapped(next_step)


def print_notice(text: str) -> None:
    """Print a notice about an answer to stderr, so that stdout has the data alone."""
    print_wrapped(f"# {text}", "# ")


def print_wrapped(text: str, indent: str = "") -> None:
    """Print text to stderr, on a terminal in lines that end between words; ``indent`` begins those after the first."""
    if terminal.is_terminal(sys.stderr):
        columns = terminal.width()
        text = "\n".join(part for line in text.split("\n") for part in terminal.wrap(line, columns, indent))
    print_message(text)


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
    for handler in logging.getLogger("toolfold").handlers:
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
            print_wrapped(f"{counted(more, 'more warning')} of the same kind.")


def print_trace(request: RequestState) -> None:
    """Print what happened to one request: never its path, its query or a key."""
    words = [f"{request.method} {request.origin} (path and query are not shown)", f"proxy: {request.proxy or 'none'}"]
    words += [f"address: {', '.join(request.addresses)}"] if request.addresses else []
    if request.origin.startswith("https:"):
        from toolfold.network.sockets import ca_bundle  # and ssl, which a command without a request does not wait for

        variable, path = ca_bundle(os.environ)
        words.append(f"trusted: {path} ({variable or 'of certifi: no variable is set'})")
    words.append(f"{request.total_s * 1000:.1f} ms")
    words += [f"HTTP status {request.status}, {request.body_bytes:,} bytes"] if request.status else []
    words += [f"failed: {' < '.join(request.causes)}"] if request.causes else []
    print_wrapped("* " + "; ".join(words), "  ")


@contextlib.contextmanager
def waiting(text: str) -> Iterator[Callable[[str], None]]:
    """Show a spinner with a text on stderr while the body runs, if stderr is a terminal.

    Yields:
        What changes the text.
    """
    if not terminal.can_draw(sys.stderr):
        yield lambda _: None
        return
    from rich.live import Live
    from rich.spinner import Spinner
    from rich.text import Text

    spinner = Spinner("dots" if terminal.is_unicode(sys.stderr) else "line")

    def describe(text: str) -> None:
        # One line, in which names may come from a service.
        spinner.update(text=Text(escape_unsafe(text)[: terminal.width() - 3]))

    describe(text)
    console = terminal.make_console(sys.stderr)
    # What is printed in between is made safe by stdout and stderr, not by rich.
    with Live(spinner, console=console, transient=True, redirect_stdout=False, redirect_stderr=False):
        yield describe
