"""What happens before a command runs: settings are read from a file, and all names are checked.

Only a file that the command line names, or else the user's own settings, is read. A ``settings.toml`` or ``.env`` in
the working directory is not: a folder that was downloaded could send the calls of a user, and the key, to another host.
"""

from __future__ import annotations

import os
import re
from typing import Any

from toolfold.errors import SettingsError, ToolfoldError
from toolfold.extras import install_command
from toolfold.local_defaults import use_settings_file
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


def prepare(options: Any, *, checks_names: bool = True) -> None:
    """Set the variables of the settings file that the environment lacks, then check all names.

    Afterwards ``options.from_file`` has the names that were set, and ``options.mistake`` a sentence about a settings
    file that cannot be used, where the command reports it itself.

    Args:
        options: those of the command.
        checks_names: whether a mistake ends the command.
    """
    options.from_file, options.mistake = {}, ""
    try:
        options.from_file = use_settings_file(options.settings_file or "")
    except SettingsError as error:
        if checks_names:
            raise
        options.mistake = str(error)
    if checks_names and (unknown := unknown_names(os.environ)):
        raise SettingsError("\n".join(unknown.values()))


def secret_of(name: str | None) -> str:
    """Return the value of an environment variable; empty for None."""
    if name is None:
        return ""
    value = os.environ.get(name, "").strip()
    if not value:
        raise ToolfoldError(f"The environment variable {name} is not set. Set it to the secret, and run this again.")
    return value
