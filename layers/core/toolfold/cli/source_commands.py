"""The commands of ``toolfold source`` and their options, as data."""

from __future__ import annotations

from pathlib import Path

import click

from toolfold.cli.application import PATH, Command, Group, argument, flag, option

_FOLDER = option(
    "--folder", type=PATH, default=Path("catalog"), metavar="FOLDER", help="folder of the sources (default catalog)"
)

_COMMON = (
    option("--title", metavar="TEXT", help="name for people (default: the id in words)"),
    option("--description", metavar="TEXT", help="what a model reads about the source"),
    flag("--yes", help="write, refresh and compile without a question"),
    _FOLDER,
)

_AUTH = (
    flag("--bearer", help="the key is sent as Authorization: Bearer"),
    flag("--basic", help="the key is user:password, sent as Authorization: Basic"),
    option("--header", metavar="NAME", help="the key is sent in this header"),
    option("--query-key", metavar="NAME", help="the key is sent in this parameter of the URL"),
    option(
        "--key-variable",
        metavar="NAME",
        help="variable with the key (default TOOLFOLD_SOURCE_<ID>_KEY); with a command, the one that the program reads",
    ),
    flag("--caller-key", help="callers may send a key of their own"),
)
"""How a key is sent. The key itself is in a variable, never in the catalog."""


def _kind(name: str, short: str, params: list[click.Parameter], auth: bool = True, rest: str = "") -> Command:
    """Return the command that adds a source of one kind."""
    place = argument("id", "[ID]", "name of the source: lower-case letters, digits and _", required=False)
    return Command(
        name,
        f"source_kinds:add_{name}",
        short,
        [place, *params, *(_AUTH if auth else ()), *_COMMON],
        exclusive=[("bearer", "basic", "header", "query_key")] if auth else [],
        rest=rest,
    )


_ADD = Group(
    "add",
    "add an MCP server, an OpenAPI service, an HTTP API, a database or skills",
    [
        _kind(
            "mcp",
            "an MCP server",
            [
                argument("command", "[COMMAND]...", "what starts the server, after --", nargs=-1),
                option("--url", metavar="URL", help="where the server answers, instead of a command"),
                flag("--trust-annotations", help="believe what the server says its tools change"),
            ],
            rest="command",
        ),
        _kind(
            "openapi",
            "a service with an OpenAPI document",
            [
                argument("document", "[DOCUMENT]", "a file, or the URL of one", required=False),
                option("--base-url", metavar="URL", help="where calls are sent, if not where the document says"),
                option("--include-tag", metavar="TAG", multiple=True, help="only these; repeatable"),
                option("--exclude-tag", metavar="TAG", multiple=True, help="not these; repeatable"),
            ],
        ),
        _kind(
            "http",
            "an HTTP API, written by hand",
            [
                argument("request", "[URL]", "a request that works, with its parameters", required=False),
                option("--tool", metavar="NAME", help="name of the first tool (default: from the path)"),
            ],
        ),
        _kind(
            "sql",
            "a SQLite or PostgreSQL database",
            [argument("database", "[DATABASE]", "sqlite:FILE or postgresql://USER@HOST/NAME", required=False)],
            auth=False,
        ),
        _kind(
            "skills",
            "folders with a SKILL.md",
            [
                argument("folders", "[FOLDER]...", "a skill, or a folder with skills at any depth", nargs=-1),
                option("--exclude", metavar="PATTERN", multiple=True, help="files to leave out"),
                flag("--binary-files", help="serve files that are not text, too"),
            ],
            auth=False,
        ),
    ],
    run="source_kinds:ask_kind",
)

SOURCE = Group(
    "source",
    "add, refresh, list, test, review and remove the sources of a catalog",
    [
        _ADD,
        Command(
            "refresh",
            "sources:refresh",
            "read the tools of sources again, and show what changed",
            [
                argument("ids", "[ID]...", "the sources (default: all that can be read again)", nargs=-1),
                flag("--check", help="write nothing; fail if something has changed"),
                _FOLDER,
            ],
        ),
        Command(
            "list",
            "sources:list_folders",
            "list the sources, their tools, and what is wrong with them",
            [flag("--json", help="print a list of objects"), _FOLDER],
        ),
        Command(
            "test",
            "sources:test",
            "make one call that only reads, and say what failed",
            [
                argument("id", "ID", "the source"),
                argument("tool", "[TOOL]", "one of its tools (default: one that needs least)", required=False),
                argument("arguments", "[key=value]...", "its arguments (default: those of its example)", nargs=-1),
                flag("--json", help="print what was done, and the answer or the error"),
                _FOLDER,
            ],
        ),
        Command(
            "review",
            "sources:review",
            "show texts that look like instructions to a model, and accept them",
            [
                argument("id", "ID", "the source"),
                argument("hashes", "[HASH]...", "the texts to accept, as they are shown", nargs=-1),
                flag("--yes", help="accept all of them"),
                _FOLDER,
            ],
        ),
        Command(
            "remove",
            "sources:remove",
            "remove a source, and keep a copy of its folder",
            [argument("id", "ID", "the source"), flag("--yes", help="do not ask"), _FOLDER],
        ),
    ],
)
