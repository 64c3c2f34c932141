"""What happens before a command runs: variables are read from a file, and their names are checked.

A file is read only when the command line names it. A ``.env`` in the working directory is not: a folder that was
downloaded could send the calls of a user, and the key, to another host.
"""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Iterator

from toolfold.errors import SettingsError
from toolfold.settings.names import check_names

__all__ = ["add_env_file", "prepare", "read_env_file"]

_MAX_BYTES = 1_000_000
_LINE = re.compile(r"(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)", re.ASCII)


def add_env_file(parser: argparse.ArgumentParser) -> None:
    """Add ``--env-file`` to a command."""
    parser.add_argument(
        "--env-file",
        metavar="FILE",
        default=argparse.SUPPRESS,
        help="read variables from FILE, lines of NAME=VALUE; those of the environment take precedence",
    )


def prepare(options: argparse.Namespace) -> None:
    """Set the variables of ``--env-file`` that the environment lacks, then check the names of all.

    Afterwards ``options.from_file`` has the names that were set.

    Raises:
        SettingsError: the file cannot be used, or a name is misspelt.
    """
    path = getattr(options, "env_file", None)
    options.from_file = {}
    if path is not None:
        options.from_file = {
            name: path for name, value in read_env_file(path).items() if os.environ.setdefault(name, value) is value
        }
    if getattr(options, "checks_names", True):
        check_names(os.environ)


def read_env_file(path: str) -> dict[str, str]:
    """Return the variables of a file.

    A line is empty, a comment that begins with ``#``, or ``NAME=VALUE``, also after ``export``. A value may have
    quotation marks; nothing in it is replaced.

    Raises:
        SettingsError: the file cannot be read, or a line has another form; names file and line, and no value.
    """
    try:
        with open(path, "rb") as file:
            content = file.read(_MAX_BYTES + 1)
        text = content.decode("utf-8-sig")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        raise SettingsError(f"--env-file {path} cannot be read: {reason}.") from None
    if len(content) > _MAX_BYTES:
        raise SettingsError(f"--env-file {path} is larger than {_MAX_BYTES:,} bytes.")
    return dict(_parse(path, text))


def _parse(path: str, text: str) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        match = _LINE.fullmatch(stripped)
        value = None if match is None else _unquote(match[2])
        if match is None or value is None or "\0" in value:
            raise SettingsError(f"{path}:{number}: a line must be NAME=VALUE, or a comment after #.")
        yield match[1], value


def _unquote(text: str) -> str | None:
    """Return a value without its quotation marks and the comment after it, or None where the second mark is missing."""
    if text[:1] in ("'", '"'):
        value, mark, rest = text[1:].partition(text[0])
        return value if mark and (not rest.strip() or rest.lstrip().startswith("#")) else None
    return re.split(r"\s#", text, maxsplit=1)[0].strip()
