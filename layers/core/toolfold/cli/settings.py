"""``toolfold settings``: every setting, its value in force and where that comes from.

The user's settings file is changed here, and its comments and everything else stay as they are.
"""

from __future__ import annotations

import importlib.resources
import os
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from toolfold.cli.application import Options, os_errors
from toolfold.cli.config_files import TomlDocument
from toolfold.cli.output import print_json, print_message
from toolfold.errors import SettingsError
from toolfold.local_defaults import user_settings_file, with_local_defaults
from toolfold.private_folder import replace_file
from toolfold.settings import VARIABLES, Settings
from toolfold.settings.file import read_settings
from toolfold.settings.model import BUILT_IN_SOURCES, HIDDEN, PREFIX, source_of, unknown_names

_NAME_WIDTH = 32
_HIDDEN = "(set, hidden)"
_OF_KEYS = "API key used when a request has none."
_LOCAL_DEFAULTS = {"TOOLFOLD_CACHE": "cache", "TOOLFOLD_OFFLOAD": "offload"}


class Row(NamedTuple):
    """One setting: ``value`` is what is in force, ``problem`` a sentence where that cannot be used."""

    name: str
    value: str
    default: str
    origin: str
    meaning: str
    problem: str = ""


def run(options: Options) -> int:
    """Print the settings; return 1 if one cannot be used."""
    rows = [row for row in list_settings(os.environ, options.from_file) if not options.set or row.origin != "default"]
    if options.json:
        print_json([row._asdict() for row in rows], indent=2)
    else:
        if not rows:
            print_message("Nothing is set; all settings have their defaults.")
        for row in rows:
            print(f"{row.name:{_NAME_WIDTH}}  {row.value or '(empty)'}  [{row.origin}]")
    problems = [row.problem for row in rows if row.problem]
    problems += [options.mistake] if options.mistake else list(unknown_names(os.environ).values())
    for problem in problems:
        print_message(problem)
    return 1 if problems else 0


def list_settings(environment: Mapping[str, str], from_file: Mapping[str, str]) -> Iterator[Row]:
    """Yield every setting, and every variable that holds a key.

    Args:
        environment: the environment variables.
        from_file: variable → the file that it was read from.
    """
    meanings = setting_meanings()

    def row(name: str, value: str, meaning: str, default: str = "", problem: str = "") -> Row:
        origin = from_file.get(name) or ("environment" if name in environment else "default")
        return Row(name, value, default, origin, meaning, problem)

    for known in BUILT_IN_SOURCES.values():
        is_set = environment.get(known.variable, "").strip()
        yield row(known.variable, _HIDDEN if is_set else "", _OF_KEYS)
    for name in sorted(filter(source_of, environment)):
        value = _HIDDEN if name.endswith("_KEY") else _without_secrets(environment[name])
        yield row(name, value, meanings[f"TOOLFOLD_SOURCE_<ID>_{name[-3:]}"])
    for name, variable in VARIABLES.items():
        text, problem = environment.get(name, variable.default).strip(), ""
        try:
            variable.parse(name, text)
        except SettingsError as error:
            problem = str(error)
        # What is no reference to keys may be the keys.
        if name in HIDDEN or (problem and name == "TOOLFOLD_SOURCE_KEYS"):
            text = _HIDDEN if text else ""
        elif not text and name in _LOCAL_DEFAULTS:
            text = str(getattr(with_local_defaults(Settings.from_environment({})), _LOCAL_DEFAULTS[name]))
        yield row(name, text, meanings[name], variable.default, problem)


def setting_meanings() -> dict[str, str]:
    """Return what each variable means; those of a source have ``<ID>`` for its id."""
    content = importlib.resources.files("toolfold.settings").joinpath("meanings.toml").read_text(encoding="utf-8")
    return {PREFIX + name.upper(): meaning for name, meaning in tomllib.loads(content).items()}


def describe_settings() -> str:
    """Return a line for each setting: name, meaning and default."""
    rows = {known.variable: _OF_KEYS for known in BUILT_IN_SOURCES.values()}
    for name, meaning in setting_meanings().items():
        default = VARIABLES[name].default if name in VARIABLES else ""
        rows[name] = f"{meaning}{f' Default: {default}' if default else ''}"
    return "settings:\n" + "\n".join(f"  {name}  {meaning}" for name, meaning in rows.items())


def _without_secrets(url: str) -> str:
    """Return a URL without user name, password and query, which may hold a key."""
    try:
        parts = urlsplit(url.strip())
    except ValueError:
        return "(not a URL)"
    hidden = "?(hidden)" if parts.query else ""
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}{hidden}"


LISTS = ("TOOLFOLD_ALLOWED_COMMANDS", "TOOLFOLD_ALLOWED_HOSTS", "TOOLFOLD_KEY_VARIABLES")
"""Settings that are lists with commas, and arrays in the file."""


def settings_path(given: str | None) -> Path:
    """Return the file that ``--settings`` names, else the user's own."""
    return Path(given or user_settings_file())


def write_settings(path: Path, variables: Mapping[str, str]) -> None:
    """Set variables in a file of settings, which is made where it does not exist.

    Args:
        path: the file.
        variables: variable → text. None is a key.
    """
    shown = "".join(f"\n  export {name}={value}" for name, value in variables.items())
    with os_errors(f"{path} was not changed", f"Set by hand:{shown}", ValueError):
        document = TomlDocument(path.read_text(encoding="utf-8") if path.exists() else "")
        for variable, text in variables.items():
            value = list(filter(None, text.split(","))) if variable in LISTS else text
            document = document.with_line(variable.removeprefix(PREFIX).lower(), value)
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path.resolve(), document.text.encode(), mode=0o600)
    read_settings(path)
