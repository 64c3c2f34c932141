r"""Start a command, and turn what it raises into a message and an exit code.

Exit codes: 0 success, 1 the call or check failed, 2 wrong usage, 130 interrupted.

An answer, a catalog, a file name or an environment variable may hold sequences that rewrite the screen, set the
clipboard (OSC 52) or overwrite a line. While a command runs, stdout and stderr write such characters as ``\u001b``.
Text for a pipe is the same, as its reader may be a pager. In JSON these are escapes: its value is exact.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import threading
import traceback
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TextIO, cast

from toolfold.errors import CallError, ToolfoldError
from toolfold.extras import missing_extra
from toolfold.local_defaults import use_settings_file
from toolfold.text_safety import escape_terminal, to_encoding


class OutputError(ToolfoldError):
    """A stream cannot be written, for example because its disk is full. A reader that is gone is no such error."""

    def __init__(self, error: OSError) -> None:
        reason = "it is closed" if isinstance(error, io.UnsupportedOperation) else error.strerror or error
        super().__init__(f"The output cannot be written: {reason}. It is not complete.")


@contextlib.contextmanager
def output_errors() -> Iterator[None]:
    """Raise an :class:`OutputError` for each error of a stream, unless its reader is gone."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(error) from None


class SafeStream:
    """Write text without control sequences, in the encoding of a stream; what that lacks as look-alikes or escapes.

    Args:
        stream: stdout or stderr. Everything but writing is done by it.
        escapes: whether control characters are escapes.
    """

    def __init__(self, stream: TextIO, *, escapes: bool = True) -> None:
        self._stream, self._escapes = stream, escapes

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    @property
    def unescaped(self) -> SafeStream:
        """The stream for text that was made safe piece by piece, and has control sequences of our own."""
        return SafeStream(self._stream, escapes=False)

    def write(self, text: str) -> int:
        """Write ``text``."""
        from toolfold.cli.terminal import is_unicode  # by the first text: stdio prints none

        shown = escape_terminal(text) if self._escapes else text
        with output_errors():
            try:
                # stderr does not fail at a character that its encoding lacks: it would write an escape.
                if not shown.isascii() and not is_unicode(self._stream):
                    raise UnicodeError
                self._stream.write(shown)
            except UnicodeError:  # also half of a surrogate pair
                self._stream.write(to_encoding(shown, self._stream.encoding))
        return len(text)

    def flush(self) -> None:
        """Write what is buffered."""
        with output_errors():
            self._stream.flush()

    def writelines(self, lines: Iterable[str]) -> None:
        """Write several texts."""
        for line in lines:
            self.write(line)


@contextlib.contextmanager
def safe_streams() -> Iterator[None]:
    """Replace ``sys.stdout`` and ``sys.stderr`` for the time of a command."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if stream is None:  # closed by the parent: another file would get its number, the lowest that is free
            os.open(os.devnull, os.O_RDWR)
    with contextlib.ExitStack() as stack:
        # What is printed to a closed stdout fails, as in a file that is only read; print() has no stderr but this.
        stdout = stack.enter_context(open(os.devnull)) if sys.stdout is None else sys.stdout
        stderr = stack.enter_context(open(os.devnull, "w")) if sys.stderr is None else sys.stderr
        stack.enter_context(contextlib.redirect_stdout(cast(TextIO, SafeStream(stdout))))
        stack.enter_context(contextlib.redirect_stderr(cast(TextIO, SafeStream(stderr))))
        yield


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        argv: its name and arguments; by default those of the process.

    Returns:
        The exit code.
    """
    with safe_streams():
        try:
            code = _exit_code(list(sys.argv[1:] if argv is None else argv))
        except OutputError:  # of stderr
            code = 1
        except Exception:  # noqa: BLE001 - Python itself would print it after the streams are as before
            traceback.print_exc()
            code = 1
    if argv is None:
        _end_process(code)
    return code


def _run(arguments: list[str]) -> int:
    """Run the command. Started by an agent that waits, ``stdio`` does not wait for click."""
    if arguments == ["stdio"] or (arguments[:2] == ["stdio", "--profile"] and len(arguments) == 3):
        from toolfold.transports import stdio

        return stdio.run("".join(arguments[2:]), from_file=use_settings_file())
    import click

    from toolfold.cli import application

    try:
        if instruction := os.environ.get("_TOOLFOLD_COMPLETE"):
            return application.complete(instruction)
        return application.run_arguments(arguments)
    except click.ClickException as error:
        error.show(sys.stderr)
        return 2


def _exit_code(arguments: list[str]) -> int:
    """Run the command and return its exit code, after printing the error that it raises to stderr."""
    try:
        code = _run(arguments)
        sys.stdout.flush()  # an error of stdout is raised here, not at the exit of Python
        return code
    except CallError as error:
        from toolfold.cli.output import print_error

        print_error(error)
    except OutputError as error:
        _discard_stdout()
        print(error, file=sys.stderr)
    except ToolfoldError as error:
        print(error, file=sys.stderr)
    except ModuleNotFoundError as error:
        if not (sentence := missing_extra(error)):
            raise
        print(f"This needs {sentence}", file=sys.stderr)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader of stdout is gone
        _discard_stdout()
    return 1


def _discard_stdout() -> None:
    """Discard what stdout still buffers: Python writes it at exit, and would report the same error again."""
    with contextlib.suppress(OSError, ValueError):  # not a file, as in a test
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _end_process(code: int) -> None:
    """End the process here if it has other threads, such as calls that were cancelled.

    Python stops such a thread wherever it next needs the interpreter. Inside an extension module, or with the lock of
    a stream, that aborts the process.
    """
    if threading.active_count() == 1:
        return
    with contextlib.suppress(AttributeError, OSError, ValueError):  # closed, or its reader is gone
        sys.stdout.flush()
    for thread in threading.enumerate():
        end = getattr(thread, "end", None)  # of toolfold.sources.mcp.adapter: it ends programs that it has started
        if end is not None:
            end()
    os._exit(code)
