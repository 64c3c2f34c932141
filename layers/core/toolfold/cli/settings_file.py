"""Change the user's settings file, and leave its comments and everything else as they are."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import platformdirs

from toolfold.cli.files import replace_file
from toolfold.errors import ToolfoldError
from toolfold.settings.file import read_settings
from toolfold.settings.model import PREFIX

LISTS = ("TOOLFOLD_ALLOWED_COMMANDS", "TOOLFOLD_ALLOWED_HOSTS", "TOOLFOLD_KEY_VARIABLES")
"""Settings that are lists with commas, and arrays in the file."""


def settings_path(given: str | None) -> Path:
    """Return the file that ``--settings`` names, else the user's own."""
    return Path(given) if given else Path(platformdirs.user_config_dir("toolfold", appauthor=False), "settings.toml")


def write_settings(path: Path, variables: Mapping[str, str]) -> None:
    """Set variables in a file of settings, which is made where it does not exist.

    Args:
        path: the file.
        variables: variable → text. None is a key.

    Raises:
        ToolfoldError: the file cannot be written, or has a form that is not changed safely. It is then as it was.
    """
    try:
        before = path.read_text(encoding="utf-8") if path.exists() else ""
        tables = tomllib.loads(before)
        after, expected = before, tables
        for variable, text in variables.items():
            name = variable.removeprefix(PREFIX).lower()
            value: Any = text.split(",") if variable in LISTS else text
            after, expected = _with_line(after, name, value), {**expected, name: value}
        if tomllib.loads(after) != expected:
            raise ValueError("a setting has a form that is not changed here")
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, after.encode(), mode=0o600)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        shown = "".join(f"\n  export {name}={value}" for name, value in variables.items())
        raise ToolfoldError(f"{path} was not changed: {reason}. Set by hand:{shown}") from None
    read_settings(path)


def _with_line(text: str, name: str, value: Any) -> str:
    """Return the text with a top-level ``name = value``: in the place of its line, else before the first table."""
    line = f"{name} = {json.dumps(value, ensure_ascii=False)}"
    table = re.search(r"(?m)^[ \t]*\[", text)
    top = table.start() if table else len(text)
    known = re.compile(rf"(?m)^[ \t]*{name}[ \t]*=[^\n#]*").search(text, 0, top)
    if known:
        return text[: known.start()] + line + text[known.end() :]
    head = text[:top]
    return f"{head}{'' if not head or head.endswith(chr(10)) else chr(10)}{line}\n{text[top:]}"
