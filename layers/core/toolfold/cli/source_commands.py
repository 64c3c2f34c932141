"""The commands of ``toolfold source`` and their options, as data."""

from __future__ import annotations

from pathlib import Path

import click

from toolfold.cli.application import PATH, Command, Group, argument, flag, option

_FOLDER = option("--folder", type=PATH, default=Path("catalog"), metavar="FOLDER",
                 help="folder of the sources (default catalog)")  # fmt: skip

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
    option("--key-variable", metavar="NAME",
           help="variable with the key (default TOOLFOLD_SOURCE_<ID>_KEY); with a command, the one that the program "
           "reads"),
    flag("--caller-key", help="callers may send a key of their own"),
)  # fmt: skip
"""How a key is sent. The key itself is in a variable, never in the catalog."""


def _kind(
    name: str, short: str, params: list[click.Parameter], about: str, examples: str, auth: bool = True, rest: str = ""
) -> Command:
    """Return the command that adds a source of one kind."""
    place = argument("id", "[ID]", "name of the source: lower-case letters, digits and _", required=False)
    return Command(
        name,
        f"source_kinds:add_{name}",
        short,
        [place, *params, *(_AUTH if auth else ()), *_COMMON],
        about=about,
        examples=examples,
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
            "Add an MCP server, on the network or as a process.",
            """examples:
  toolfold source add mcp time -- uvx mcp-server-time
  toolfold source add mcp github --url https://api.githubcopilot.com/mcp/ --bearer
  toolfold source add mcp files --trust-annotations -- npx -y @modelcontextprotocol/server-filesystem /srv/files

Without --trust-annotations every tool counts as destructive, and each of its calls needs approval, until overlay.yaml
says what it does. On Lambda only a server with --url can be reached.""",
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
            "Add a service that an OpenAPI document (3.0 or 3.1) describes.",
            """examples:
  toolfold source add openapi pets https://petstore3.swagger.io/api/v3/openapi.json
  toolfold source add openapi billing ./openapi.yaml --bearer
  toolfold source add openapi github ./github.json --include-tag issues --include-tag pulls""",
        ),
        _kind(
            "http",
            "an HTTP API, written by hand",
            [
                argument("request", "[URL]", "a request that works, with its parameters", required=False),
                option("--tool", metavar="NAME", help="name of the first tool (default: from the path)"),
            ],
            "Add an HTTP API by an example of a request.",
            """examples:
  toolfold source add http weather "https://api.open-meteo.com/v1/forecast?latitude=60&longitude=10&current=rain"
  toolfold source add http tickets https://tickets.example.com/api/tickets/4711 --header X-Api-Key

Write a request that works as a URL: its path and its parameters become the first tool, whose texts you improve.""",
        ),
        _kind(
            "sql",
            "a SQLite or PostgreSQL database",
            [argument("database", "[DATABASE]", "sqlite:FILE or postgresql://USER@HOST/NAME", required=False)],
            "Add a database, which is only read.",
            """examples:
  toolfold source add sql shop sqlite:shop.db
  toolfold source add sql warehouse postgresql://reader@db.example.com/warehouse

A password is never written into the catalog: the command says which variable it belongs to.""",
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
            "Add skills: instructions and files that a model reads when it needs them.",
            """examples:
  toolfold source add skills handbook ./skills               copies the skills into the catalog
  toolfold source add skills handbook ./skills ./more-skills
  toolfold source add skills handbook ./skills --binary-files --exclude "*/tests/*"

The format of a skill: https://agentskills.io/specification. Nothing in it is executed.""",
            auth=False,
        ),
    ],
    about="Add a source: write catalog/ID/source.yaml and what belongs to it, and the settings that it needs.",
    examples="""examples:
  toolfold source add                                       asks for everything
  toolfold source add mcp time -- uvx mcp-server-time       an MCP server that runs on this machine
  toolfold source add openapi pets https://petstore3.swagger.io/api/v3/openapi.json
  toolfold source add http weather "https://api.open-meteo.com/v1/forecast?latitude=60&longitude=10"
  toolfold source add sql shop sqlite:shop.db               a database, for reading
  toolfold source add skills handbook ./skills              folders with a SKILL.md

Each prints what it writes and what to do next, and overwrites nothing.""",
    run="source_kinds:ask_kind",
)

SOURCE = Group(
    "source",
    "add, refresh, list, test and remove the sources of a catalog",
    [
        _ADD,
        Command(
            "refresh",
            "source_refresh:run",
            "read the tools of sources again, and show what changed",
            [
                argument("ids", "[ID]...", "the sources (default: all that can be read again)", nargs=-1),
                flag("--check", help="write nothing; fail if something has changed"),
                _FOLDER,
            ],
            about="Read the tools of sources again, from their services, and write them beside source.yaml.",
            examples="""examples:
  toolfold source refresh                  every source that can be read again
  toolfold source refresh github time      two of them
  toolfold source refresh --check          write nothing; exit code 1 if something has changed, for CI

Each line says what changed: + a new tool, - a tool that is gone, ~ a tool that is different. Nothing of a source is
written where reading it fails. What it reaches is what the settings allow: TOOLFOLD_ALLOWED_HOSTS,
TOOLFOLD_SOURCE_<ID>_URL, TOOLFOLD_ALLOWED_COMMANDS.

exit code: 0 success, 1 a source failed, or --check found a change, 2 wrong usage""",
        ),
        Command(
            "list",
            "source_folders:list_folders",
            "list the sources, their tools, and what is wrong with them",
            [flag("--json", help="print a list of objects"), _FOLDER],
            about="List the sources of a catalog. In a pipe each is a line with tabs between its columns.",
            examples="examples:\n  toolfold source list\n"
            "  toolfold source list --json | jq '.[] | select(.problems > 0)'",
        ),
        Command(
            "test",
            "source_test:run",
            "make one call that only reads, and say what failed",
            [
                argument("id", "ID", "the source"),
                argument("tool", "[TOOL]", "one of its tools (default: one that needs least)", required=False),
                argument("arguments", "[key=value]...", "its arguments (default: those of its example)", nargs=-1),
                flag("--json", help="print what was done, and the answer or the error"),
                _FOLDER,
            ],
            about="Compile the sources, and make one call of a tool of this source that only reads.",
            examples="""examples:
  toolfold source test weather                       the first tool that only reads, with its example arguments
  toolfold source test weather RAIN_FORECAST         this one
  toolfold source test weather rain_forecast town=Bergen

A tool that writes is not called. The answer is shown in short, and how long each part took.

exit code: 0 it answered, 1 it failed, 2 wrong usage""",
        ),
        Command(
            "remove",
            "source_folders:remove",
            "remove a source, and keep a copy of its folder",
            [argument("id", "ID", "the source"), flag("--yes", help="do not ask"), _FOLDER],
            about="Remove the folder of a source. It is moved to FOLDER/.removed, from where it can be moved back.",
            examples="""examples:
  toolfold source remove weather           shows what goes, asks, and keeps a copy beside the catalog
  toolfold source remove weather --yes     without a question""",
        ),
    ],
    examples="""examples:
  toolfold source add skills handbook ./skills          folders with a SKILL.md
  toolfold source add openapi pets https://petstore3.swagger.io/api/v3/openapi.json
  toolfold source add mcp time -- uvx mcp-server-time   a server that runs here; --url for one on the network
  toolfold source list                                  what there is, and what is wrong with it
  toolfold source refresh                               read the tools of all sources again
  toolfold source test time                             one call that only reads
  toolfold source remove time                           asks first, and keeps a copy

A source is a folder: catalog/ID/source.yaml and what is read from the service, which you review and commit. What the
keys mean: docs/reference/source-yaml.md. After a change: toolfold catalog compile""",
)
