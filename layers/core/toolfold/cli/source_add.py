"""``toolfold source add``: write the folder of a new source, by options or by asking."""

from __future__ import annotations

import argparse
from typing import TypeAlias

from toolfold.cli.argument_parser import later
from toolfold.cli.questions import Questions, add_auth, add_common

_Subparsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"

_EXAMPLES = """examples:
  toolfold source add                                       asks for everything
  toolfold source add mcp time -- uvx mcp-server-time       an MCP server that runs on this machine
  toolfold source add openapi pets https://petstore3.swagger.io/api/v3/openapi.json
  toolfold source add http weather "https://api.open-meteo.com/v1/forecast?latitude=60&longitude=10"
  toolfold source add sql shop sqlite:shop.db               a database, for reading
  toolfold source add skills handbook ./skills              folders with a SKILL.md

Each prints what it writes and what to do next, and overwrites nothing.
"""

_MCP_EXAMPLES = """examples:
  toolfold source add mcp time -- uvx mcp-server-time
  toolfold source add mcp github --url https://api.githubcopilot.com/mcp/ --bearer
  toolfold source add mcp files --trust-annotations -- npx -y @modelcontextprotocol/server-filesystem /srv/files

Without --trust-annotations every tool counts as destructive, and each of its calls needs approval, until overlay.yaml
says what it does. On Lambda only a server with --url can be reached.
"""

_OPENAPI_EXAMPLES = """examples:
  toolfold source add openapi pets https://petstore3.swagger.io/api/v3/openapi.json
  toolfold source add openapi billing ./openapi.yaml --bearer
  toolfold source add openapi github ./github.json --include-tag issues --include-tag pulls
"""

_HTTP_EXAMPLES = """examples:
  toolfold source add http weather "https://api.open-meteo.com/v1/forecast?latitude=60&longitude=10&current=rain"
  toolfold source add http tickets https://tickets.example.com/api/tickets/4711 --header X-Api-Key

Write a request that works as a URL: its path and its parameters become the first tool, whose texts you then improve.
"""

_SQL_EXAMPLES = """examples:
  toolfold source add sql shop sqlite:shop.db
  toolfold source add sql warehouse postgresql://reader@db.example.com/warehouse

A password is never written into the catalog: the command says which variable it belongs to.
"""

_SKILLS_EXAMPLES = """examples:
  toolfold source add skills handbook ./skills               copies the skills into the catalog
  toolfold source add skills handbook ./skills ./more-skills
  toolfold source add skills handbook ./skills --binary-files --exclude "*/tests/*"

The format of a skill: https://agentskills.io/specification. Nothing in it is executed.
"""


def add_parser(subcommands: _Subparsers) -> None:
    """Add the command, with one for each kind of source."""
    parser = subcommands.add_parser(
        "add",
        help="add an MCP server, an OpenAPI service, an HTTP API, a database or skills",
        description="Write the folder of a new source: catalog/ID/source.yaml and what belongs to it.",
        epilog=_EXAMPLES,
    )
    parser.set_defaults(run=_ask_kind, kind=None)
    kinds = parser.add_subparsers(title="kinds", metavar="KIND")
    for add in (_add_mcp, _add_openapi, _add_http, _add_sql, _add_skills):
        add(kinds)


def _kind(kinds: _Subparsers, name: str, help_text: str, description: str, epilog: str) -> argparse.ArgumentParser:
    parser = kinds.add_parser(name, help=help_text, description=description, epilog=epilog)
    parser.add_argument("id", metavar="ID", nargs="?", help="name of the source: lower-case letters, digits and _")
    parser.set_defaults(run=later("toolfold.cli.source_kinds:run"), kind=name)
    return parser


def _add_mcp(kinds: _Subparsers) -> None:
    parser = _kind(
        kinds, "mcp", "an MCP server", "Add an MCP server, on the network or as a process.", _MCP_EXAMPLES
    )  # fmt: skip
    parser.add_argument("command", metavar="COMMAND", nargs="*", help="what starts the server, after --")
    parser.add_argument("--url", metavar="URL", help="where the server answers, instead of a command")
    parser.add_argument(
        "--trust-annotations", action="store_true", help="believe what the server says its tools change"
    )
    parser.rest_name = "command"  # type: ignore[attr-defined]  # of our own class of parsers
    add_auth(parser)
    add_common(parser)


def _add_openapi(kinds: _Subparsers) -> None:
    parser = _kind(
        kinds,
        "openapi",
        "a service with an OpenAPI document",
        "Add a service that an OpenAPI document (3.0 or 3.1) describes.",
        _OPENAPI_EXAMPLES,
    )
    parser.add_argument("document", metavar="DOCUMENT", nargs="?", help="a file, or the URL of one")
    parser.add_argument("--base-url", metavar="URL", help="where calls are sent, if not where the document says")
    parser.add_argument("--include-tag", metavar="TAG", action="append", default=[], help="only these; repeatable")
    parser.add_argument("--exclude-tag", metavar="TAG", action="append", default=[], help="not these; repeatable")
    add_auth(parser)
    add_common(parser)


def _add_http(kinds: _Subparsers) -> None:
    parser = _kind(
        kinds, "http", "an HTTP API, written by hand", "Add an HTTP API by an example of a request.", _HTTP_EXAMPLES
    )  # fmt: skip
    parser.add_argument("request", metavar="URL", nargs="?", help="a request that works, with its parameters")
    parser.add_argument("--tool", metavar="NAME", help="name of the first tool (default: from the path)")
    add_auth(parser)
    add_common(parser)


def _add_sql(kinds: _Subparsers) -> None:
    parser = _kind(
        kinds, "sql", "a SQLite or PostgreSQL database", "Add a database, which is only read.", _SQL_EXAMPLES
    )  # fmt: skip
    parser.add_argument("database", metavar="DATABASE", nargs="?", help="sqlite:FILE or postgresql://USER@HOST/NAME")
    add_common(parser)


def _add_skills(kinds: _Subparsers) -> None:
    parser = _kind(
        kinds,
        "skills",
        "folders with a SKILL.md",
        "Add skills: instructions and files that a model reads when it needs them.",
        _SKILLS_EXAMPLES,
    )
    parser.add_argument("folders", metavar="FOLDER", nargs="*", help="a skill, or a folder with skills at any depth")
    parser.add_argument("--exclude", metavar="PATTERN", action="append", default=[], help="files to leave out")
    parser.add_argument("--binary-files", action="store_true", help="serve files that are not text, too")
    add_common(parser)


def _ask_kind(options: argparse.Namespace) -> int:
    ask_kind = later("toolfold.cli.source_kinds:ask_kind")
    return int(ask_kind(options) if Questions().is_asking else options.parser.show_help())
