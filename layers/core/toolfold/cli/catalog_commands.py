"""The commands of ``toolfold catalog`` and their options, as data."""

from __future__ import annotations

from pathlib import Path

from toolfold.cli.application import PATH, Choice, Command, Group, ToolName, argument, flag, option

_JSON_LIST = flag("--json", help="print the structured answer of TOOL_LIST")
_FOLDER = option("--folder", type=PATH, default=Path("catalog"), help="folder of the sources (default catalog)")

# Names are checked against the catalog when the command runs, and the error suggests the closest ones.
_FILTERS = (
    option("--category", metavar="NAME", help="only tools of this category, by name or title"),
    option("--tag", metavar="TAG", multiple=True, help="only tools with this tag; repeatable: with any of them"),
    option("--access", metavar="KIND", help="only free, mixed or premium tools"),
    option("--limit", metavar="N", help="most tools to show, 1 to 200"),
)

_BUCKET = (
    argument(
        "location",
        "s3://BUCKET/PREFIX",
        "where the catalog is, as in TOOLFOLD_CATALOG; its bucket is the output CatalogBucketName of the stack",
        default="",
    ),
    option(
        "--bucket-owner",
        metavar="ACCOUNT",
        help="the account that must own the bucket, 12 digits, or any (default: that of the credentials)",
    ),
    flag("--json", help="print JSON, for a program"),
)

_LIST = Command(
    "list",
    "catalog_views:list_tools",
    "list all tools, or those of a category, tag or access",
    [*_FILTERS, _JSON_LIST],
    takes_endpoint=True,
)

_GET = Command(
    "get",
    "catalog_views:describe_tools",
    "describe tools: arguments, answer, example",
    [
        argument(
            "names",
            "TOOL_NAME...",
            "as in `toolfold catalog list`; at most 20",
            nargs=-1,
            required=True,
            type=ToolName(),
        ),
        option("--detail", type=Choice(("full", "medium", "minimal")), help="how much of each (default full)"),
        flag("--json", help="print the structured answer of TOOL_GET"),
    ],
    takes_endpoint=True,
)

_SEARCH = Command(
    "search",
    "catalog_views:search_tools",
    "find the tools for a request, best first, with scores",
    [
        argument("words", "WORD...", "what you need", nargs=-1, required=True),
        *_FILTERS,
        flag("--explain", help="show which words matched, and how typos were corrected"),
        _JSON_LIST,
    ],
    takes_endpoint=True,
)

_STATS = Command(
    "stats",
    "catalog_views:print_stats",
    "count the tools of each category, by access, and the tags",
    [flag("--json", help="print {tools, sources, categories, tags, sha256}")],
)

_COMPILE = Command(
    "compile",
    "catalog_build:compile_catalog",
    "check the YAML of all sources and write the compiled catalog",
    [
        _FOLDER,
        option("--output", type=PATH, metavar="FILE", help="compiled catalog (default FOLDER/catalog.json)"),
        flag("--check", help="write nothing; fail if the compiled catalog is out of date"),
        flag("--notes", help="print what is left out of imported tools: sentences, inner parts of schemas"),
    ],
)

_LINT = Command(
    "lint",
    "catalog_build:lint_catalog",
    "check whether a model can choose from the catalog",
    [_FOLDER, flag("--json", help="print a JSON list of {file, line, rule, problem, advice}")],
)

_PUBLISH = Command(
    "publish",
    "publish:run",
    "upload a compiled catalog to S3 and make it the current one",
    [
        *_BUCKET,
        option("--file", type=PATH, metavar="FILE", help="compiled catalog (default: the one in the package)"),
        option("--folder", type=PATH, metavar="FOLDER", help="compile the sources in this folder instead"),
        flag("--refresh", help="with --folder: read the tools of its sources again first, in a copy"),
        flag("--dry-run", help="write nothing; show what would change"),
        flag("--automatic", help="let deployments and the schedule replace this catalog, as they replace their own"),
    ],
    exclusive=[("file", "folder")],
)

_VERSIONS = Command("versions", "versions:list_versions", "list the published versions of a catalog in S3", _BUCKET)

_VERSION_HELP = "current, previous, the beginning of a hash, or a file (default %s)"

_DIFF = Command(
    "diff",
    "versions:print_diff",
    "show what differs between two versions of a catalog in S3",
    [
        *_BUCKET,
        argument("before", "[BEFORE]", _VERSION_HELP % "previous", default="previous"),
        argument("after", "[AFTER]", _VERSION_HELP % "current", default="current"),
    ],
)

_ROLLBACK = Command(
    "rollback",
    "versions:roll_back_catalog",
    "make an earlier version of a catalog in S3 the current one",
    [
        *_BUCKET,
        argument("version", "[VERSION]", "the beginning of its hash", default=""),
        flag("--dry-run", help="write nothing; show what would change"),
    ],
)

CATALOG = Group(
    "catalog",
    "search, check, compile and publish the catalog",
    [_LIST, _GET, _SEARCH, _STATS, _COMPILE, _LINT, _PUBLISH, _VERSIONS, _DIFF, _ROLLBACK],
)
