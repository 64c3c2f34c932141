"""The meta-tools for a command, and printing what they return.

Write an answer into a file, completely or not at all.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolfold.cli import terminal
from toolfold.errors import CallError, ToolfoldError
from toolfold.local_defaults import with_local_defaults
from toolfold.settings import Settings

if TYPE_CHECKING:
    from toolfold.app import App
    from toolfold.meta_tools.dispatcher import MetaTools
    from toolfold.meta_tools.result import Result


class OutputFile:
    """A file that is about to be written. What can be checked before the call is checked when it is made.

    Args:
        path: of the file; ``~`` stands for the user's home.
        overwrite: whether a file of that name is replaced.

    Attributes:
        size: bytes that were written.

    Raises:
        ToolfoldError: it exists, is a folder, or its folder does not exist.
    """

    size = 0

    def __init__(self, path: str, *, overwrite: bool) -> None:
        self.path, self._overwrite = Path(path).expanduser(), overwrite
        try:
            os.fsencode(path)
            if "\0" in path:
                raise ValueError
            if self.path.is_dir():
                raise ToolfoldError(f"{path} is a folder. Name a file in it, e.g. --output {self.path / 'answer.csv'}")
            if not self.path.parent.is_dir():
                raise ToolfoldError(f"There is no folder {self.path.parent}. Create it, or name another file.")
            if self.path.is_file() and not overwrite:
                raise self._exists()
        except (OSError, ValueError) as error:
            raise self._failed(error) from None

    def write(self, content: bytes) -> None:
        """Write ``content``; another process sees the whole file or none.

        Raises:
            ToolfoldError: it cannot be written, or has been made by another process.
        """
        self.size = len(content)
        try:
            if self.path.exists() and not self.path.is_file():  # /dev/stdout, a named pipe
                self.path.write_bytes(content)
                return
            # A link is followed: the file that it names is replaced, and the link stays.
            self._write_file(Path(os.path.realpath(self.path)), content)
        except FileExistsError:
            raise self._exists() from None
        except (OSError, ValueError) as error:
            raise self._failed(error) from None

    def _write_file(self, target: Path, content: bytes) -> None:
        partial = target.with_name(f".{target.name[:100]}.{secrets.token_hex(4)}.part")
        try:
            with open(partial, "xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            if self._overwrite:
                with contextlib.suppress(OSError):
                    partial.chmod(target.stat().st_mode & 0o7777)
                os.replace(partial, target)
            elif hasattr(os, "link"):
                try:
                    os.link(partial, target)  # fails where the file exists by now
                except FileExistsError:
                    raise
                except OSError:  # a file system without hard links
                    self._rename_new(partial, target)
            else:
                self._rename_new(partial, target)
        finally:
            partial.unlink(missing_ok=True)

    @staticmethod
    def _rename_new(partial: Path, target: Path) -> None:
        if target.exists():
            raise FileExistsError
        os.replace(partial, target)

    def _exists(self) -> ToolfoldError:
        return ToolfoldError(f"{self.path} exists. Add --force to replace it, or name another file.")

    def _failed(self, error: Exception) -> ToolfoldError:
        reason = getattr(error, "strerror", None) or "not a possible name of a file"
        return ToolfoldError(f"{self.path} cannot be written: {reason}. Name another file.")


def make_app() -> App:
    """Return the App with the settings of the environment and the defaults of a user's machine."""
    from toolfold.app import build_app
    from toolfold.cache.factory import check_cache_file
    from toolfold.catalog.start_check import check_catalog
    from toolfold.execution.audit import check_audit_setting

    settings = Settings.from_environment()
    check_cache_file(settings)
    check_audit_setting(settings)
    # The ceiling of tokens keeps a model's context small; a person chooses.
    app = build_app(with_local_defaults(settings).replaced(max_tokens_ceiling=sys.maxsize), exposes_all=True)
    check_catalog(settings, app.catalog_store)
    return app


def meta_tools() -> MetaTools:
    """Return the meta-tools of :func:`make_app`."""
    return make_app().server.tools


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
        text = "\n".join(
            textwrap.fill(line, columns, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
            for line in text.split("\n")
        )
    print(text, file=sys.stderr)
