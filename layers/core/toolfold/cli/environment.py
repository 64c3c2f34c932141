"""What happens before a command runs: variables and settings are read from files, and their names are checked.

Only files that the command line names, and the user's own settings, are read. A ``.env`` or ``settings.toml`` in the
working directory is not: a folder that was downloaded could send the calls of a user, and the key, to another host.
"""

from __future__ import annotations

import os
import re
from typing import Any

from toolfold.errors import SettingsError, ToolfoldError
from toolfold.extras import install_command
from toolfold.local_defaults import use_settings_file
from toolfold.settings.file import apply_settings
from toolfold.settings.model import unknown_names

EXTRAS = {
    "yaml": "build",
    "pydantic": "build",
    "boto3": "aws",
    "botocore": "aws",
    "obstore": "aws",
    "aws_xray_sdk": "tracer",
    "opentelemetry": "otel",
    "uvicorn": "serve",
    "h11": "serve",
    "joserfc": "oauth",
    "mcp": "mcp",
    "psycopg": "sql",
    "pydantic_monty": "scripts",
}
"""Module that an extra installs → the extra; see pyproject.toml."""

PLACEHOLDER = re.compile(
    r"\W*((your|my|the|insert|enter)[-_ ]?.*(key|token|secret)[-_ ]?(here)?|change[-_ ]?me|placeholder|todo|x{3,})\W*",
    re.IGNORECASE,
)
"""What documents and examples have in the place of a key."""


def missing_extra(error: ModuleNotFoundError) -> str:
    """Return which package is missing and the command that installs it; empty for a module of no extra."""
    package = (error.name or "").partition(".")[0]
    if package not in EXTRAS:
        return ""
    command = install_command(EXTRAS[package])
    every = f"   ([all] in the place of [{EXTRAS[package]}] installs every extra)" if "[" in command else ""
    return f"{package}: {command}{every}"


_MAX_BYTES = 1_000_000
_LINE = re.compile(r"(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)", re.ASCII)


def prepare(options: Any, *, checks_names: bool = True) -> None:
    """Set the variables of ``--env-file`` and of the settings file that the environment lacks, then check all names.

    Afterwards ``options.from_file`` has the names that were set, and ``options.mistake`` a sentence about a settings
    file that cannot be used, where the command reports it itself.

    Args:
        options: those of the command.
        checks_names: whether a mistake ends the command.
    """
    path = options.env_file
    options.from_file = dict.fromkeys(apply_settings(read_env_file(path)), path) if path is not None else {}
    options.mistake = ""
    try:
        options.from_file |= use_settings_file(options.settings_file or "")
    except SettingsError as error:
        if checks_names:
            raise
        options.mistake = str(error)
    if checks_names and (unknown := unknown_names(os.environ)):
        raise SettingsError("\n".join(unknown.values()))


def read_env_file(path: str) -> dict[str, str]:
    """Return the variables of a file.

    A line is empty, a comment that begins with ``#``, or ``NAME=VALUE``, also after ``export``. A value may have
    quotation marks; nothing in it is replaced.
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
    found = {}
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        match = _LINE.fullmatch(stripped)
        value = None if match is None else _unquote(match[2])
        if match is None or value is None or "\0" in value:
            raise SettingsError(f"{path}:{number}: a line must be NAME=VALUE, or a comment after #.")
        found[match[1]] = value
    return found


def _unquote(text: str) -> str | None:
    """Return a value without its quotation marks and the comment after it, or None where the second mark is missing."""
    if text[:1] in ("'", '"'):
        value, mark, rest = text[1:].partition(text[0])
        return value if mark and (not rest.strip() or rest.lstrip().startswith("#")) else None
    return re.split(r"\s#", text, maxsplit=1)[0].strip()


def secret_of(name: str | None) -> str:
    """Return the value of an environment variable; empty for None."""
    if name is None:
        return ""
    value = os.environ.get(name, "").strip()
    if not value:
        raise ToolfoldError(f"The environment variable {name} is not set. Set it to the secret, and run this again.")
    return value
