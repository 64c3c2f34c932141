"""Make the draft of a new source of each kind, from the options of ``toolfold source add`` and by asking."""

from __future__ import annotations

import argparse
import os
import re
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from toolfold.catalog.allow_list import own_variable
from toolfold.cli.questions import Questions
from toolfold.cli.source_options import auth_of
from toolfold.cli.source_urls import url_problem
from toolfold.cli.source_writer import Draft, check_folder, host_variables
from toolfold.errors import ToolfoldError

__all__ = ["KINDS", "draft_source", "set_defaults"]

_ID = re.compile(r"[a-z][a-z0-9_]{0,31}")

_YOUR_KEY = "YOUR_KEY"

_DATABASES = {"sqlite": "sqlite", "postgresql": "postgresql", "postgres": "postgresql"}
"""Scheme of a connection string → dialect."""


def draft_source(options: argparse.Namespace, questions: Questions) -> Draft:
    """Return the draft of the source that ``options`` and the person describe.

    Raises:
        ToolfoldError: something is missing or wrong; nothing was written.
    """
    set_defaults(options)
    source_id = questions.text(options.id, "ID, a short name in lower case, such as weather", "ID", check=_id_problem)
    check_folder(options.folder, source_id)
    options.id = source_id
    return KINDS[options.kind](options, questions)


def set_defaults(options: argparse.Namespace) -> None:
    """Give every option that was not parsed its default."""
    for name, value in _NOTHING_GIVEN.items():
        if not hasattr(options, name):
            setattr(options, name, value)


_NOTHING_GIVEN: Mapping[str, Any] = {
    **dict.fromkeys(("id", "url", "document", "request", "database", "title", "description", "tool", "base_url")),
    **dict.fromkeys(("header", "query_key", "key_variable")),
    **dict.fromkeys(("trust_annotations", "bearer", "basic", "caller_key", "binary_files"), False),
    **dict.fromkeys(("command", "folders", "include_tag", "exclude_tag", "exclude"), ()),
    "folder": Path("catalog"),
}


def _id_problem(text: str) -> str:
    return "" if _ID.fullmatch(text) else "must be lower-case letters, digits and _, beginning with a letter"


def _settings(options: argparse.Namespace, kind: str, own: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of source.yaml: what every source has, and ``own``, without what is empty."""
    auth = auth_of(options)
    whole = {
        "id": options.id,
        "kind": kind,
        "title": options.title or options.id.replace("_", " ").capitalize(),
        "description": options.description,
        **own,
        "auth": auth,
    }
    return {name: value for name, value in whole.items() if value not in (None, "", [], {}, False)}


def _key_variables(options: argparse.Namespace) -> list[tuple[str, str]]:
    """Return the variable with the key of the source, and the setting that allows a variable of another name."""
    if not auth_of(options):
        return []
    name = options.key_variable or own_variable(options.id)
    allowed = [] if name == own_variable(options.id) else [("TOOLFOLD_KEY_VARIABLES", name)]
    return [(name, _YOUR_KEY), *allowed]


def _mcp(options: argparse.Namespace, questions: Questions) -> Draft:
    if options.url and options.command:
        raise ToolfoldError("Give a command or --url, not both.")
    if not options.url and not options.command:
        given = questions.text(
            None, "URL of the server, or the command that starts it, such as uvx mcp-server-time", "--url or a command"
        )
        if "://" in given:
            options.url = given
        else:
            options.command = shlex.split(given)
    own: dict[str, Any]
    if options.url:
        questions.text(options.url, "", "--url", check=url_problem)
        own = {"transport": "http", "url": options.url}
        variables = host_variables(options.url)
    else:
        program, *arguments = options.command
        own = {"transport": "stdio", "command": program, "args": arguments}
        _give_key_to_program(options, own)
        variables = [("TOOLFOLD_ALLOWED_COMMANDS", " ".join(options.command))]
    own["trust_annotations"] = options.trust_annotations
    settings = _settings(options, "mcp", own)
    return Draft(options.id, "mcp", settings, variables=[*variables, *_key_variables(options)], is_refreshed=True)


def _give_key_to_program(options: argparse.Namespace, own: dict[str, Any]) -> None:
    """Add the variable in which a program gets its key to ``own``, and change ``options`` to those of its source.

    A program gets no header. ``--key-variable`` is its own variable; the key is in that of the source.
    """
    if not auth_of(options):
        return
    if options.bearer or options.basic or options.header or options.query_key or options.caller_key:
        raise ToolfoldError(
            "A program gets its key in a variable: give --key-variable with the name that it reads, such as API_KEY, "
            "in place of --bearer, --basic, --header, --query-key and --caller-key."
        )
    own["key_variable"], options.key_variable = options.key_variable, own_variable(options.id)


def _openapi(options: argparse.Namespace, questions: Questions) -> Draft:
    document = questions.text(options.document, "OpenAPI document, a file or a URL", "DOCUMENT")
    selection = {
        name: {"tags": list(tags)}
        for name, tags in (("include", options.include_tag), ("exclude", options.exclude_tag))
        if tags
    }
    own: dict[str, Any] = {"base_url": options.base_url, **selection}
    if "://" in document:
        questions.text(document, "", "DOCUMENT", check=url_problem)
        settings = _settings(options, "openapi", {"url": document, **own})
        variables = [*host_variables(document, options.base_url or ""), *_key_variables(options)]
        return Draft(options.id, "openapi", settings, variables=variables, is_refreshed=True)
    path = Path(document).expanduser()
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ToolfoldError(f"{path} cannot be read: {error.strerror}.") from None
    name = "openapi.json" if content.lstrip()[:1] == b"{" else "openapi.yaml"
    settings = _settings(options, "openapi", {"document": name, **own})
    variables = [*host_variables(options.base_url or ""), *_key_variables(options)]
    return Draft(options.id, "openapi", settings, {name: content}, variables=variables)


def _sql(options: argparse.Namespace, questions: Questions) -> Draft:
    given = questions.text(
        options.database,
        "Database, sqlite:FILE or postgresql://USER@HOST/NAME",
        "DATABASE",
        check=lambda text: "" if _dialect(text) else "must begin with sqlite: or postgresql://",
    )
    dialect = _dialect(given)
    if dialect == "sqlite":
        path = os.path.abspath(os.path.expanduser(re.sub(r"^sqlite:(///)?", "", given)))
        connection = f"sqlite:///{path}"
    else:
        connection = _without_password(given)
    variable = options.key_variable or own_variable(options.id)
    auth = {"environment": variable} if options.key_variable else {}
    options.key_variable = None
    settings = {**_settings(options, "sql", {"dialect": dialect}), **({"auth": auth} if auth else {})}
    return Draft(options.id, "sql", settings, variables=[(variable, shlex.quote(connection))], is_refreshed=True)


def _dialect(database: str) -> str:
    return _DATABASES.get(database.partition(":")[0].lower(), "")


def _without_password(url: str) -> str:
    """Return a connection string without its password: what is printed may be in a log."""
    parts = urlsplit(url)
    if parts.password is None:
        return url
    user = unquote(parts.username or "")
    return parts._replace(netloc=f"{user}:PASSWORD@{parts.netloc.rpartition('@')[2]}").geturl()


def _skills(options: argparse.Namespace, questions: Questions) -> Draft:
    given = list(options.folders)
    if not given:
        given = [questions.text(None, "Folder with skills", "FOLDER", check=_folder_problem)]
    for folder in given:
        questions.text(folder, "", "FOLDER", check=_folder_problem)
    names = _names([Path(folder).expanduser().resolve() for folder in given])
    target = (options.folder / options.id).resolve()
    origins = {name: Path(folder).expanduser() for name, folder in zip(names, given, strict=True)}
    own = {
        "folders": names,
        "exclude": list(options.exclude),
        "binary_files": options.binary_files,
        "copied_from": [_origin(origin.resolve(), target) for origin in origins.values()],
    }
    return Draft(options.id, "skills", _settings(options, "skills", own), skills=origins)


def _folder_problem(folder: str) -> str:
    return "" if Path(folder).expanduser().is_dir() else f"is not a folder: {folder}"


def _names(folders: list[Path]) -> list[str]:
    """Return the name of each copy: that of its folder, with a number where two have the same."""
    names: list[str] = []
    for folder in folders:
        name = folder.name.lstrip(".") or "skills"
        same = sum(other == name or other.startswith(f"{name}-") for other in names)
        names.append(f"{name}-{same + 1}" if name in names else name)
    return names


def _origin(origin: Path, target: Path) -> str:
    """Return where a folder is copied from: relative where both are in one project, else absolute."""
    working = Path.cwd().resolve()
    if origin.is_relative_to(working) and target.is_relative_to(working):
        return Path(os.path.relpath(origin, target)).as_posix()
    return str(origin)


def _http(options: argparse.Namespace, questions: Questions) -> Draft:
    from toolfold.cli.source_example import draft_http

    return draft_http(options, questions, _settings, [*_key_variables(options)])


KINDS: Mapping[str, Callable[[argparse.Namespace, Questions], Draft]] = {
    "mcp": _mcp,
    "openapi": _openapi,
    "http": _http,
    "sql": _sql,
    "skills": _skills,
}
"""Kind on the command line → what makes its draft."""
