"""The commands of ``toolfold catalog`` and ``toolfold source``, and their options, as data."""

from __future__ import annotations

from pathlib import Path

import click

from toolfold.cli.application import PATH, Choice, Command, Group, ToolName, argument, option

_JSON_LIST = option("--json", "print the structured answer of TOOL_LIST")
_FOLDER = option("--folder FOLDER", "folder of the sources (default catalog)", type=PATH, default=Path("catalog"))

# Names are checked against the catalog when the command runs, and the error suggests the closest ones.
_FILTERS = (
    option("--category NAME", "only tools of this category, by name or title"),
    option("--tag TAG", "only tools with this tag; repeatable: with any of them", multiple=True),
    option("--access KIND", "only free, mixed or premium tools"),
    option("--limit N", "most tools to show, 1 to 200"),
)

_BUCKET = (
    argument(
        "location",
        "s3://BUCKET/PREFIX",
        "where the catalog is, as in TOOLFOLD_CATALOG; its bucket is the output CatalogBucketName of the stack",
        default="",
    ),
    option(
        "--bucket-owner ACCOUNT",
        "the account that must own the bucket, 12 digits, or any (default: that of the credentials)",
    ),
    option("--json", "print JSON, for a program"),
)

_VERSION_HELP = "current, previous, the beginning of a hash, or a file (default %s)"

CATALOG = Group(
    "catalog",
    "search, check, compile and publish the catalog",
    Command(
        "list",
        "catalog_views:list_tools",
        "list all tools, or those of a category, tag or access",
        *_FILTERS,
        _JSON_LIST,
        takes_endpoint=True,
    ),
    Command(
        "get",
        "catalog_views:describe_tools",
        "describe tools: arguments, answer, example",
        argument("names", "TOOL_NAME...", "as in `toolfold catalog list`; at most 20", type=ToolName()),
        option("--detail", "how much of each (default full)", type=Choice(("full", "medium", "minimal"))),
        option("--json", "print the structured answer of TOOL_GET"),
        takes_endpoint=True,
    ),
    Command(
        "search",
        "catalog_views:search_tools",
        "find the tools for a request, best first, with scores",
        argument("words", "WORD...", "what you need"),
        *_FILTERS,
        option("--explain", "show which words matched, and how typos were corrected"),
        _JSON_LIST,
        takes_endpoint=True,
    ),
    Command(
        "stats",
        "catalog_views:print_stats",
        "count the tools of each category, by access, and the tags",
        option("--json", "print {tools, sources, categories, tags, sha256}"),
    ),
    Command(
        "compile",
        "catalog_build:compile_catalog",
        "check the YAML of all sources and write the compiled catalog",
        _FOLDER,
        option("--output FILE", "compiled catalog (default FOLDER/catalog.json)", type=PATH),
        option("--check", "write nothing; fail if the compiled catalog is out of date"),
        option("--notes", "print what is left out of imported tools: sentences, inner parts of schemas"),
    ),
    Command(
        "lint",
        "catalog_build:lint_catalog",
        "check whether a model can choose from the catalog",
        _FOLDER,
        option("--json", "print a JSON list of {file, line, rule, problem, advice}"),
    ),
    Command(
        "publish",
        "publish:run",
        "upload a compiled catalog to S3 and make it the current one",
        *_BUCKET,
        option("--file FILE", "compiled catalog (default: the one in the package)", type=PATH),
        option("--folder FOLDER", "compile the sources in this folder instead", type=PATH),
        option("--refresh", "with --folder: read the tools of its sources again first, in a copy"),
        option("--dry-run", "write nothing; show what would change"),
        option("--automatic", "let deployments and the schedule replace this catalog, as they replace their own"),
        exclusive=[("file", "folder")],
    ),
    Command("versions", "versions:list_versions", "list the published versions of a catalog in S3", *_BUCKET),
    Command(
        "diff",
        "versions:print_diff",
        "show what differs between two versions of a catalog in S3",
        *_BUCKET,
        argument("before", "[BEFORE]", _VERSION_HELP % "previous", default="previous"),
        argument("after", "[AFTER]", _VERSION_HELP % "current", default="current"),
    ),
    Command(
        "rollback",
        "versions:roll_back_catalog",
        "make an earlier version of a catalog in S3 the current one",
        *_BUCKET,
        argument("version", "[VERSION]", "the beginning of its hash", default=""),
        option("--dry-run", "write nothing; show what would change"),
    ),
)

_COMMON = (
    option("--title TEXT", "name for people (default: the id in words)"),
    option("--description TEXT", "what a model reads about the source"),
    option("--yes", "write, refresh and compile without a question"),
    _FOLDER,
)

_AUTH = (
    option("--bearer", "the key is sent as Authorization: Bearer"),
    option("--basic", "the key is user:password, sent as Authorization: Basic"),
    option("--header NAME", "the key is sent in this header"),
    option("--query-key NAME", "the key is sent in this parameter of the URL"),
    option(
        "--key-variable NAME",
        "variable with the key (default TOOLFOLD_SOURCE_<ID>_KEY); with a command, the one that the program reads",
    ),
    option("--caller-key", "callers may send a key of their own"),
)
"""How a key is sent. The key itself is in a variable, never in the catalog."""


_KEYS = ("bearer", "basic", "header", "query_key")


def _kind(name: str, short: str, *params: click.Parameter, auth: bool = True, rest: str = "") -> Command:
    place = argument("id", "[ID]", "name of the source: lower-case letters, digits and _")
    return Command(
        name,
        f"source_kinds:add_{name}",
        short,
        place,
        *params,
        *(_AUTH if auth else ()),
        *_COMMON,
        exclusive=[(*_KEYS, "sign_in") if name == "mcp" else _KEYS] if auth else [],
        rest=rest,
    )


SOURCE = Group(
    "source",
    "add, refresh, list, test, review and remove the sources of a catalog",
    Group(
        "add",
        "add an MCP server, an OpenAPI service, an HTTP API, a database or skills",
        _kind(
            "mcp",
            "an MCP server",
            argument("command", "[COMMAND]...", "what starts the server, after --"),
            option("--url URL", "where the server answers, instead of a command"),
            option("--sign-in", "users sign in there: find out where, and register toolfold"),
            option("--trust-annotations", "believe what the server says its tools change"),
            rest="command",
        ),
        _kind(
            "openapi",
            "a service with an OpenAPI document",
            argument("document", "[DOCUMENT]", "a file, or the URL of one"),
            option("--base-url URL", "where calls are sent, if not where the document says"),
            option("--include-tag TAG", "only these; repeatable", multiple=True),
            option("--exclude-tag TAG", "not these; repeatable", multiple=True),
        ),
        _kind(
            "http",
            "an HTTP API, written by hand",
            argument("request", "[URL]", "a request that works, with its parameters"),
            option("--tool NAME", "name of the first tool (default: from the path)"),
        ),
        _kind(
            "sql",
            "a SQLite or PostgreSQL database",
            argument("database", "[DATABASE]", "sqlite:FILE or postgresql://USER@HOST/NAME"),
            auth=False,
        ),
        _kind(
            "skills",
            "folders with a SKILL.md",
            argument("folders", "[FOLDER]...", "a skill, or a folder with skills at any depth"),
            option("--exclude PATTERN", "files to leave out", multiple=True),
            option("--binary-files", "serve files that are not text, too"),
            auth=False,
        ),
        run="source_kinds:ask_kind",
    ),
    Command(
        "refresh",
        "sources:refresh",
        "read the tools of sources again, and show what changed",
        argument("ids", "[ID]...", "the sources (default: all that can be read again)"),
        option("--check", "write nothing; fail if something has changed"),
        _FOLDER,
    ),
    Command(
        "list",
        "sources:list_folders",
        "list the sources, their tools, and what is wrong with them",
        option("--json", "print a list of objects"),
        _FOLDER,
    ),
    Command(
        "test",
        "sources:test",
        "make one call that only reads, and say what failed",
        argument("id", "ID", "the source"),
        argument("tool", "[TOOL]", "one of its tools (default: one that needs least)"),
        argument("arguments", "[key=value]...", "its arguments (default: those of its example)"),
        option("--json", "print what was done, and the answer or the error"),
        _FOLDER,
    ),
    Command(
        "review",
        "sources:review",
        "show texts that look like instructions to a model, and accept them",
        argument("id", "ID", "the source"),
        argument("hashes", "[HASH]...", "the texts to accept, as they are shown"),
        option("--yes", "accept all of them"),
        _FOLDER,
    ),
    Command(
        "sign-in",
        "sign_in:sign_in",
        "sign in at a source whose calls are made with your own token",
        argument("id", "ID", "the source, of the catalog that is in use"),
    ),
    Command(
        "sign-out",
        "sign_in:sign_out",
        "revoke and delete your token at a source",
        argument("id", "ID", "the source, of the catalog that is in use"),
    ),
    Command(
        "remove",
        "sources:remove",
        "remove a source, and keep a copy of its folder",
        argument("id", "ID", "the source"),
        option("--yes", "do not ask"),
        _FOLDER,
    ),
)
