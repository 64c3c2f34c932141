"""``toolfold source add``: make the draft of a source of each kind, from options and by asking.

None of the URLs that are written into the catalog, which others read, may have a key.
"""

from __future__ import annotations

import functools
import itertools
import os
import re
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast
from urllib.parse import parse_qsl, unquote, urlsplit

import click

from toolfold.build.typed_secrets import SECRET_NAME
from toolfold.catalog.allow_list import own_variable
from toolfold.catalog.text_checks import host_of
from toolfold.cli.application import Options
from toolfold.cli.sign_in import register
from toolfold.cli.source_writer import Draft, check_folder, host_variables, write
from toolfold.cli.terminal import Questions
from toolfold.errors import ToolfoldError

_VALUE = re.compile(r"\d+|[0-9a-f]{8,}|[0-9a-fA-F-]{36}")
"""A part of a path that is a value: a number, or an id in hexadecimal digits."""

_NUMBER = re.compile(r"-?\d+\.\d+|0|-?[1-9]\d*")
_COUNTS = re.compile(r"(per_)?page|limit|offset|count|size|days|hours|months?|years?|n|top|first|last|.*_id|id")
"""Names of parameters whose numbers are whole."""

_NOT_IN_NAME = re.compile(r"[^a-z0-9]+")
_NOT_IN_ARGUMENT = re.compile(r"[^A-Za-z0-9_.\[\]-]+")


def tool_of(request: str, name: str | None = None) -> dict[str, Any]:
    """Return the tool that sends ``request``: its path with placeholders, and its parameters with examples.

    Example:
        >>> tool_of("https://api.example.com/v1/towns/4711/rain?days=3")["path"]
        '/v1/towns/{town_id}/rain'
    """
    parts = urlsplit(request)
    path, parameters = _path(parts.path)
    example = {key: rule["example"] for key, rule in parameters.items()}
    for sent_as, value in parse_qsl(parts.query, keep_blank_values=True):
        if SECRET_NAME.fullmatch(sent_as):
            continue
        key = _argument(sent_as)
        if key in parameters and isinstance(example[key], list):
            example[key].append(_typed(value))
            continue
        if key in parameters:
            example[key] = [example[key], _typed(value)]
            parameters[key] = {"type": "array", "items": {"type": _type(key, value)}, "description": _words(key)}
        else:
            example[key] = _typed(value)
            parameters[key] = {"type": _type(key, value), "description": _words(key), "example": _typed(value)}
        if sent_as != key:
            parameters[key]["sent_as"] = sent_as
    # The tool is called after the last word of the path.
    words = [_NOT_IN_NAME.sub("_", part.lower()).strip("_") for part in path.split("/") if part and "{" not in part]
    named = [word for word in words if word and not re.fullmatch(r"v?\d{1,2}|api", word)]
    own_name = f"get_{named[-1]}"[:40] if named else "get"
    tool: dict[str, Any] = {"name": name or own_name, "path": path or "/", "description": ""}
    return {**tool, **({"parameters": parameters, "example": example} if parameters else {})}


def _path(path: str) -> tuple[str, dict[str, Any]]:
    """Return a path in which values are placeholders, and their parameters."""
    segments: list[str] = []
    parameters: dict[str, Any] = {}
    for segment in path.split("/"):
        text = unquote(segment)
        if not _VALUE.fullmatch(text) or re.fullmatch(r"v?\d{1,2}", text):
            segments.append(segment.replace("{", "%7B").replace("}", "%7D"))
            continue
        before = _NOT_IN_NAME.sub("_", unquote(segments[-1]).lower()).strip("_") if segments and segments[-1] else ""
        name = f"{before.removesuffix('s')}_id" if before and "{" not in segments[-1] else f"id_{len(parameters) + 1}"
        parameters[name] = {"type": "string", "required": True, "description": _words(name), "example": text}
        segments.append(f"{{{name}}}")
    return "/".join(segments), parameters


def _argument(name: str) -> str:
    """Return the name of the argument for a parameter of the query: ``$top`` is ``top``."""
    word = _NOT_IN_ARGUMENT.sub("_", name).lstrip("_.[]-")[:60] or "value"
    return f"_{word}" if word[0].isdigit() else word


def _typed(value: str) -> Any:
    """Return a number or a boolean for a text that is one: ``007`` is a text."""
    if value in ("true", "false"):
        return value == "true"
    if not _NUMBER.fullmatch(value):
        return value
    return float(value) if "." in value else int(value)


def _type(name: str, value: str) -> str:
    """Return the type of a parameter by its example: only some names have whole numbers."""
    typed = _typed(value)
    if isinstance(typed, bool | str):
        return "boolean" if isinstance(typed, bool) else "string"
    return "integer" if isinstance(typed, int) and _COUNTS.fullmatch(name.lower()) else "number"


def _words(name: str) -> str:
    return f"{name.replace('_', ' ').replace('-', ' ').strip().capitalize()}."


def request_problem(url: str) -> str:
    """Return what is wrong with the URL of a request, whose key is left out; empty: nothing."""
    if host_of(url.partition("#")[0]):
        return ""
    if "@" in urlsplit(url).netloc:
        return "must have no user and password: leave them out, and add --basic"
    return "must be an https URL, or http:// and this machine"


def _example_problem(url: str) -> str:
    found = re.search(r"\{\w+\}|<\w+>|(?<=/):[a-z]\w*", url)
    return request_problem(url) or (f"must have a value in the place of {found[0]}" if found else "")


def url_problem(url: str) -> str:
    """Return what is wrong with a URL that is written as it is; empty: nothing.

    Example:
        >>> url_problem("https://mcp.example.com/mcp?api_key=k")
        'must have no key: leave api_key=… out, and add --query-key api_key'
    """
    if problem := request_problem(url):
        return problem
    secret = next((name for name, _ in parse_qsl(urlsplit(url).query) if SECRET_NAME.fullmatch(name)), None)
    return f"must have no key: leave {secret}=… out, and add --query-key {secret}" if secret else ""


_DATABASES = {"sqlite": "sqlite", "postgresql": "postgresql", "postgres": "postgresql"}
"""Scheme of a connection string → dialect."""


def _settings(options: Options, kind: str, own: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of source.yaml: what every source has, and ``own``, without what is empty."""
    whole = {
        "id": options.id,
        "kind": kind,
        "title": options.title or options.id.replace("_", " ").capitalize(),
        "description": options.description,
        **own,
        "auth": _auth_of(options),
    }
    return {name: value for name, value in whole.items() if value not in (None, "", [], {}, False)}


def _auth_of(options: Options) -> dict[str, Any]:
    """Return ``auth`` of source.yaml; empty for a source without a key."""
    names = ("bearer", "basic", "header", "query_key", "caller_key", "oauth2")
    given = {name: getattr(options, name, None) for name in names}
    auth: dict[str, Any] = {name: value for name, value in given.items() if value}
    if variable := getattr(options, "key_variable", None):
        auth["environment"] = variable
    return auth


def _key_variables(options: Options) -> list[tuple[str, str]]:
    """Return the variable with the key of the source, and the setting that allows one of another name."""
    if not _auth_of(options):
        return []
    name = options.key_variable or own_variable(options.id)
    allowed = [] if name == own_variable(options.id) else [("TOOLFOLD_KEY_VARIABLES", name)]
    return [(name, getattr(options, "client", None) or "YOUR_KEY"), *allowed]


_UNTRUSTED = """
Each call of this source needs approval: what its tools change is unknown. If you trust what the server says about
them, set trust_annotations: true in source.yaml, and compile."""

_SIGN_IN = """
toolfold is registered there. The refresh prints a link, by which you sign in; `toolfold source sign-out` ends it."""
_UNREGISTERED = """
The server registers no clients: register toolfold there by hand, with the redirect URI {redirect_uri}."""


def _mcp(options: Options, questions: Questions) -> Draft:
    if options.url and options.command:
        raise ToolfoldError("Give a command or --url, not both.")
    if len(options.command) == 1 and "://" in options.command[0]:  # the URL, where a command may be
        options.url, options.command = options.command[0], []
    if not options.url and not options.command:
        given = questions.text(
            None, "URL of the server, or the command that starts it, such as uvx mcp-server-time", "--url or a command"
        )
        if "://" in given:
            options.url = given
        else:
            options.command = shlex.split(given)
    own: dict[str, Any]
    note = "" if options.trust_annotations else _UNTRUSTED
    if options.url:
        questions.text(options.url, "", "--url", check=_server_url_problem)
        own = {"transport": "http", "url": options.url}
        variables = host_variables(options.url)
        if options.sign_in:
            registered = register(options.url)
            options.oauth2, options.client = registered.oauth2, registered.client or "YOUR_CLIENT_ID"
            variables += host_variables(*(value for name, value in options.oauth2.items() if name.endswith("_url")))
            note += _SIGN_IN if registered.client else _UNREGISTERED.format(redirect_uri=registered.redirect_uri)
    elif options.sign_in:
        raise ToolfoldError("--sign-in is for a server on the network: give --url.")
    else:
        program, *arguments = options.command
        own = {"transport": "stdio", "command": program, "args": arguments}
        if auth := _auth_of(options):
            # A program gets no header: --key-variable is its own variable, and the key is in that of the source.
            if auth.keys() != {"environment"}:
                raise ToolfoldError(
                    "A program gets its key in a variable: give --key-variable with the name that it reads, such as "
                    "API_KEY, in place of --bearer, --basic, --header, --query-key and --caller-key."
                )
            own["key_variable"], options.key_variable = options.key_variable, own_variable(options.id)
        words = list(itertools.takewhile(lambda word: "," not in word, options.command))  # a comma separates entries
        owner = "" if words == list(options.command) else f"{options.id}="  # the first words may allow much
        variables = [("TOOLFOLD_ALLOWED_COMMANDS", owner + shlex.join(words))]
    own["trust_annotations"] = options.trust_annotations
    settings = _settings(options, "mcp", own)
    return Draft(options.id, settings, variables=[*variables, *_key_variables(options)], is_refreshed=True, note=note)


def _server_url_problem(url: str) -> str:
    from toolfold.sources.mcp.connection import NO_HTTP_SSE

    if problem := url_problem(url):
        return problem
    is_stream = urlsplit(url).path.rstrip("/").endswith("/sse")  # as servers of 2024-11-05 call it
    return f"must not end in /sse: {NO_HTTP_SSE}" if is_stream else ""


def _openapi(options: Options, questions: Questions) -> Draft:
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
        return Draft(options.id, settings, variables=variables, is_refreshed=True)
    path = Path(document).expanduser()
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ToolfoldError(f"{path} cannot be read: {error.strerror}.") from None
    name = "openapi.json" if content.lstrip()[:1] == b"{" else "openapi.yaml"
    settings = _settings(options, "openapi", {"document": name, **own})
    variables = [*host_variables(options.base_url or ""), *_key_variables(options)]
    return Draft(options.id, settings, {name: content}, variables=variables)


def _sql(options: Options, questions: Questions) -> Draft:
    given = questions.text(
        options.database,
        "Database, sqlite:FILE or postgresql://USER@HOST/NAME",
        "DATABASE",
        check=lambda text: "" if _dialect(text) else "must begin with sqlite: or postgresql://, such as sqlite:shop.db",
    )
    dialect = _dialect(given)
    if dialect == "sqlite":
        path = os.path.abspath(os.path.expanduser(re.sub(r"^sqlite:(///)?", "", given)))
        connection = f"sqlite:///{path}"
    else:
        parts = urlsplit(given)
        place = f"{unquote(parts.username or '')}:PASSWORD@{parts.netloc.rpartition('@')[2]}"
        # What is printed may be in a log.
        connection = given if parts.password is None else parts._replace(netloc=place).geturl()
    settings = _settings(options, "sql", {"dialect": dialect})
    return Draft(options.id, settings, variables=[(own_variable(options.id), connection)], is_refreshed=True)


def _dialect(database: str) -> str:
    return _DATABASES.get(database.partition(":")[0].lower(), "")


def _skills(options: Options, questions: Questions) -> Draft:
    given = list(options.folders)
    if not given:
        given = [questions.text(None, "Folder with skills", "FOLDER", check=_folder_problem)]
    for folder in given:
        questions.text(folder, "", "FOLDER", check=_folder_problem)
    origins: dict[str, Path] = {}
    for folder in map(Path, given):
        # The name of a copy is that of its folder, with a number where two have the same.
        name = folder.expanduser().resolve().name.lstrip(".") or "skills"
        same = sum(other == name or other.startswith(f"{name}-") for other in origins)
        origins[f"{name}-{same + 1}" if name in origins else name] = folder.expanduser()
    working, target = Path.cwd().resolve(), (options.folder / options.id).resolve()
    copied_from = [origin.resolve() for origin in origins.values()]
    own = {
        "folders": list(origins),
        "exclude": list(options.exclude),
        "binary_files": options.binary_files,
        "copied_from": [  # relative where both are in one project
            Path(os.path.relpath(origin, target)).as_posix()
            if origin.is_relative_to(working) and target.is_relative_to(working)
            else str(origin)
            for origin in copied_from
        ],
    }
    return Draft(options.id, _settings(options, "skills", own), skills=origins)


def _folder_problem(folder: str) -> str:
    return "" if Path(folder).expanduser().is_dir() else f"is not a folder: {folder}"


def _http(options: Options, questions: Questions) -> Draft:
    request = questions.text(
        options.request, "A request that works, as a URL with its parameters", "URL", check=_example_problem
    )
    parts = urlsplit(request)
    base_url = f"{parts.scheme}://{parts.netloc}"
    tool = tool_of(request, options.tool)
    tool["description"] = questions.text(
        None,
        "What does it return, in a sentence or two",
        "description",
        default=f"{tool['name'].replace('_', ' ').capitalize()} of {options.title or options.id}.",
    )
    dropped = [name for name, _ in parse_qsl(parts.query) if SECRET_NAME.fullmatch(name)]
    if dropped and not _auth_of(options):
        options.query_key = dropped[0]
    settings = _settings(options, "http_api", {"base_url": base_url, "tools": [tool]})
    variables = [("TOOLFOLD_ALLOWED_HOSTS", host_of(base_url)), *_key_variables(options)]
    return Draft(options.id, settings, variables=variables)


KINDS: Mapping[str, Callable[[Options, Questions], Draft]] = {
    "mcp": _mcp,
    "openapi": _openapi,
    "http": _http,
    "sql": _sql,
    "skills": _skills,
}
"""Kind on the command line → what makes its draft."""


def ask_kind(_options: Options) -> int:
    """Ask for the kind of a source, and run its command; return the exit code."""
    ctx, questions = click.get_current_context(), Questions()
    if not questions.is_asking:
        print(ctx.get_help())
        return 0
    listed = ", ".join(KINDS)
    kind = questions.text(
        None,
        f"Kind of source ({listed})",
        "KIND",
        check=lambda answer: "" if answer in KINDS else f"must be one of {listed}",
    )
    command = cast(click.Group, ctx.command).commands[kind]
    with command.make_context(kind, [], parent=ctx) as inner:
        return int(command.invoke(inner))


def _add(kind: str, options: Options) -> int:
    questions, rule = Questions(), "must be lower-case letters, digits and _, beginning with a letter"
    if re.search(r"[./:]", options.id or ""):
        rule += f". It comes before the address: toolfold source add {kind} ID {shlex.quote(options.id)}"
    options.id = questions.text(
        options.id,
        "ID, a short name in lower case, such as weather",
        "ID",
        check=lambda text: "" if re.fullmatch(r"[a-z][a-z0-9_]{0,31}", text) else rule,
    )
    check_folder(options.folder, options.id)
    return write(KINDS[kind](options, questions), options, questions)


add_mcp, add_openapi, add_http, add_sql, add_skills = (functools.partial(_add, kind) for kind in KINDS)
"""What the commands run."""
