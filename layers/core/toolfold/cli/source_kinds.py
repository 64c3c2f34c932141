"""``toolfold source add``: make the draft of a source of each kind, from options and by asking.

None of the URLs that are written into the catalog, which others read, may have a key.
"""

from __future__ import annotations

import functools
import itertools
import os
import re
import shlex
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast
from urllib.parse import parse_qsl, quote, unquote, urlsplit

import click

from toolfold.build.importers.skills import read_skills
from toolfold.build.text_safety import SECRET_NAME
from toolfold.catalog.allow_list import own_variable
from toolfold.catalog.text_checks import host_of
from toolfold.cli.application import Options, os_errors
from toolfold.cli.sign_in import register
from toolfold.cli.source_writer import Draft, check_folder, host_variables, write
from toolfold.cli.terminal import Questions
from toolfold.errors import ToolfoldError
from toolfold.sources.mcp.connection import NO_HTTP_SSE

_VALUE = re.compile(r"\d+|[0-9a-f]{8,}|[0-9a-fA-F-]{36}")
"""A part of a path that is a value: a number, or an id in hexadecimal digits."""

_NUMBER = re.compile(r"-?\d+\.\d+|0|-?[1-9]\d*")
_TYPES: Mapping[type, str] = {bool: "boolean", str: "string", int: "number", float: "number"}
"""Type of an example → that of its parameter. A number that is whole in one request need not be in another."""

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
    for sent_as, value in parse_qsl(parts.query, keep_blank_values=True):
        if SECRET_NAME.fullmatch(sent_as):
            continue
        # The name of the argument for ``$top`` is ``top``.
        key = _NOT_IN_ARGUMENT.sub("_", sent_as).lstrip("_.[]-")[:60] or "value"
        key = f"_{key}" if key[0].isdigit() else key
        typed = _typed(value)
        rule = {"type": _TYPES[type(typed)], "description": _words(key), "example": typed}
        parameters[key] = {**rule, **({"sent_as": sent_as} if sent_as != key else {})}
    example = {key: rule["example"] for key, rule in parameters.items()}
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


def _typed(value: str) -> Any:
    """Return a number or a boolean for a text that is one: ``007`` is a text."""
    if value in ("true", "false"):
        return value == "true"
    if not _NUMBER.fullmatch(value):
        return value
    return float(value) if "." in value else int(value)


def _words(name: str) -> str:
    return f"{name.replace('_', ' ').replace('-', ' ').strip().capitalize()}."


def request_problem(url: str) -> str:
    """Return what is wrong with the URL of a request, whose key is left out; empty: nothing."""
    if "@" in urlsplit(url).netloc:
        return "must have no user and password: leave them out, and add --basic"
    if found := re.search(r"\{[^{}]*\}|<\w+>|(?<=[^/]/):[a-z]\w*", url):
        return f"must have a value in the place of {found[0]}"
    if host_of(url.partition("#")[0]):
        return ""
    if host_of(encoded := quote(url, safe="%/:?#[]@!$&'()*+,;=~").partition("#")[0]):
        return f"must be percent-encoded: {encoded}"
    return "must be an https URL, or http:// and this machine"


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


def _auth_of(options: Options) -> dict[str, Any]:
    """Return ``auth`` of source.yaml; empty for a source without a key."""
    names = {name: name for name in ("bearer", "basic", "header", "query_key", "caller_key", "oauth2")}
    given = {name: getattr(options, option) for name, option in {**names, "environment": "key_variable"}.items()}
    return {name: value for name, value in given.items() if value}


def _draft(options: Options, kind: str, own: Mapping[str, Any], *needed: tuple[str, str], **more: Any) -> Draft:
    """Return the draft of a source: what every source has, and ``own``, without what is empty.

    It needs the variable with its key, and the setting that allows one of another name.
    """
    auth, key, own_key = _auth_of(options), options.key_variable, own_variable(options.id)
    whole = {
        "id": options.id,
        "kind": kind,
        "title": options.title or options.id.replace("_", " ").capitalize(),
        "description": options.description,
        **own,
        "auth": auth,
    }
    settings = {name: value for name, value in whole.items() if value not in (None, "", [], {}, False)}
    keys = [(key or own_key, options.client or "YOUR_KEY")] if auth else []
    allowed = [("TOOLFOLD_KEY_VARIABLES", key)] if auth and key not in (None, own_key) else []
    return Draft(options.id, settings, variables=[*needed, *keys, *allowed], **more)


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
    if not options.url and not options.command:
        asked = "URL of the server, or the command that starts it, such as uvx mcp-server-time"
        options.command = [questions.text(None, asked, "--url or a command")]
    if len(options.command) == 1 and "://" in options.command[0]:  # the URL, where a command may be
        options.url, options.command = options.command[0], []
    if len(options.command) == 1 and shutil.which(options.command[0]) is None:  # all of it in quotes
        try:
            options.command = shlex.split(options.command[0])
        except ValueError as error:
            raise ToolfoldError(f"The command cannot be read: {error}.") from None
    if options.sign_in and not options.url:
        raise ToolfoldError("--sign-in is for a server on the network: give --url.")
    note = "" if options.trust_annotations else _UNTRUSTED
    trust = {"trust_annotations": options.trust_annotations}
    if options.url:
        questions.text(options.url, "", "--url", check=_server_url_problem)
        variables = host_variables(options.url)
        if options.sign_in:
            registered = register(options.url)
            options.oauth2, options.client = registered.oauth2, registered.client or "YOUR_CLIENT_ID"
            variables += host_variables(*(value for name, value in options.oauth2.items() if name.endswith("_url")))
            note += _SIGN_IN if registered.client else _UNREGISTERED.format(redirect_uri=registered.redirect_uri)
        own = {"transport": "http", "url": options.url, **trust}
        return _draft(options, "mcp", own, *variables, is_refreshed=True, note=note)
    own = {"transport": "stdio", "command": options.command[0], "args": list(options.command[1:])}
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
    allowed = ("TOOLFOLD_ALLOWED_COMMANDS", owner + shlex.join(words))
    return _draft(options, "mcp", {**own, **trust}, allowed, is_refreshed=True, note=note)


def _server_url_problem(url: str) -> str:
    if problem := url_problem(url):
        return problem
    is_stream = urlsplit(url).path.rstrip("/").endswith("/sse")  # as servers of 2024-11-05 call it
    return f"must not end in /sse: {NO_HTTP_SSE}" if is_stream else ""


def _openapi(options: Options, questions: Questions) -> Draft:
    document = questions.text(options.document, "OpenAPI document, a file or a URL", "DOCUMENT")
    tags = {"include": list(options.include_tag), "exclude": list(options.exclude_tag)}
    own = {"base_url": options.base_url, **{name: {"tags": found} for name, found in tags.items() if found}}
    hosts = host_variables(options.base_url or "")
    if "://" in document:
        questions.text(document, "", "DOCUMENT", check=url_problem)
        needed = host_variables(document) + hosts
        return _draft(options, "openapi", {"url": document, **own}, *needed, is_refreshed=True)
    path = Path(document).expanduser()
    with os_errors(f"{path} cannot be read"):
        content = path.read_bytes()
    name = "openapi.json" if content.lstrip()[:1] == b"{" else "openapi.yaml"
    return _draft(options, "openapi", {"document": name, **own}, *hosts, files={name: content})


def _sql(options: Options, questions: Questions) -> Draft:
    given = questions.text(
        options.database,
        "Database, sqlite:FILE or postgresql://USER@HOST/NAME",
        "DATABASE",
        check=lambda text: "" if _dialect(text) else "must begin with sqlite: or postgresql://, such as sqlite:shop.db",
    )
    dialect = _dialect(given)
    if dialect == "sqlite":
        path = os.path.abspath(os.path.expanduser(re.sub(r"^sqlite:(///|//(?!/))?", "", given, flags=re.IGNORECASE)))
        connection = f"sqlite:///{path}"
    else:
        parts = urlsplit(given)
        place = f"{unquote(parts.username or '')}:PASSWORD@{parts.netloc.rpartition('@')[2]}"
        # What is printed may be in a log.
        connection = given if parts.password is None else parts._replace(netloc=place).geturl()
    return _draft(options, "sql", {"dialect": dialect}, (own_variable(options.id), connection), is_refreshed=True)


def _dialect(database: str) -> str:
    return _DATABASES.get(database.partition(":")[0].lower(), "")


def _skills(options: Options, questions: Questions) -> Draft:
    given = options.folders or [questions.text(None, "Folder with skills", "FOLDER", check=_folder_problem)]
    for folder in given:
        questions.text(folder, "", "FOLDER", check=_folder_problem)
    origins: dict[str, Path] = {}
    for path in (Path(folder).expanduser().resolve() for folder in given):
        # The name of a copy is that of its folder, with a number where two have the same.
        name = path.name.lstrip(".") or "skills"
        same = sum(other == name or other.startswith(f"{name}-") for other in origins)
        origins[f"{name}-{same + 1}" if name in origins else name] = path
    own = {"folders": list(origins), "exclude": list(options.exclude), "binary_files": options.binary_files}
    files = {
        f"{name}/{path.as_posix()}": content
        for name, origin in origins.items()
        for path, content in read_skills(origin).items()
    }
    return _draft(options, "skills", own, files=files)


def _folder_problem(folder: str) -> str:
    return "" if Path(folder).expanduser().is_dir() else f"is not a folder: {folder}"


def _http(options: Options, questions: Questions) -> Draft:
    request = questions.text(
        options.request, "A request that works, as a URL with its parameters", "URL", check=request_problem
    )
    parts = urlsplit(request)
    base_url = f"{parts.scheme}://{parts.netloc}"
    tool = tool_of(request, options.tool)
    default = f"{tool['name'].replace('_', ' ').capitalize()} of {options.title or options.id}."
    asked = "What does it return, in a sentence or two"
    tool["description"] = questions.text(None, asked, "description", default=default)
    dropped = [name for name, _ in parse_qsl(parts.query) if SECRET_NAME.fullmatch(name)]
    if dropped and not _auth_of(options):
        options.query_key = dropped[0]
    return _draft(options, "http_api", {"base_url": base_url, "tools": [tool]}, *host_variables(base_url))


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
    ctx, questions, listed = click.get_current_context(), Questions(), ", ".join(KINDS)
    if not questions.is_asking:
        print(ctx.get_help())
        return 0
    kind = questions.text(
        None,
        f"Kind of source ({listed})",
        "KIND",
        check=lambda answer: "" if answer in KINDS else f"must be one of {listed}",
    )
    with cast(click.Group, ctx.command).commands[kind].make_context(kind, [], parent=ctx) as inner:
        return int(inner.command.invoke(inner))


def _add(kind: str, options: Options) -> int:
    for name in ("bearer", "basic", "header", "query_key", "caller_key", "oauth2", "key_variable", "client"):
        vars(options).setdefault(name, None)  # those that the kind does not have
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
