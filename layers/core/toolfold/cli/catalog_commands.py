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
    argument("location", "s3://BUCKET/PREFIX", "where the catalog is, as in TOOLFOLD_CATALOG; its bucket is the output "
             "CatalogBucketName of the stack", default=""),
    option("--bucket-owner", metavar="ACCOUNT", help="the account that must own the bucket, 12 digits, or any "
           "(default: that of the credentials)"),
    flag("--json", help="print JSON, for a program"),
)  # fmt: skip

_LIST = Command(
    "list",
    "catalog_views:list_tools",
    "list all tools, or those of a category, tag or access",
    [*_FILTERS, _JSON_LIST],
    about="List tools by category. In a pipe each is a line: name, category, access and summary, with tabs between "
    "them.",
    examples="""examples:
  toolfold catalog list                                     every tool, by category
  toolfold catalog list --category forex                    one category
  toolfold catalog list --tag metal --tag energy            tools with one of two tags
  toolfold catalog list --access free --limit 5 --json      as JSON, for a program""",
    takes_endpoint=True,
)

_GET = Command(
    "get",
    "catalog_views:describe_tools",
    "describe tools: arguments, answer, example",
    [
        argument("names", "TOOL_NAME...", "as in `toolfold catalog list`; at most 20", nargs=-1, required=True,
                 type=ToolName()),
        option("--detail", type=Choice(("full", "medium", "minimal")), help="how much of each (default full)"),
        flag("--json", help="print the structured answer of TOOL_GET"),
    ],
    examples="""examples:
  toolfold catalog get WTI
  toolfold catalog get GLOBAL_QUOTE SMA --detail minimal
  toolfold catalog get WTI --json | jq '.tools[0].parameters'""",
    takes_endpoint=True,
)  # fmt: skip

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
    about="Find tools by what you need, in English words. Typos are corrected.",
    examples="""examples:
  toolfold catalog search what is gold worth today
  toolfold catalog search dividnds of a stock --explain     which words matched
  toolfold catalog search moving average --category "Technical Indicators" --limit 20
  toolfold catalog search oil price | cut -f1               names only; columns are separated by tabs""",
    takes_endpoint=True,
)

_STATS = Command(
    "stats",
    "catalog_views:print_stats",
    "count the tools of each category, by access, and the tags",
    [flag("--json", help="print {tools, sources, categories, tags, sha256}")],
    examples="examples:\n  toolfold catalog stats\n  toolfold catalog stats --json | jq .categories",
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
    about="Check the YAML of all sources and write the compiled catalog. The format of the YAML: "
    "docs/reference/catalog-format.md.",
    examples="""examples:
  toolfold catalog compile                       catalog/**/*.yaml to catalog/catalog.json
  toolfold catalog compile --check               fail if catalog.json is out of date, for CI
  toolfold catalog compile --folder mine --output mine.json""",
)

_LINT = Command(
    "lint",
    "catalog_build:lint_catalog",
    "check whether a model can choose from the catalog",
    [_FOLDER, flag("--json", help="print a JSON list of {file, line, rule, problem, advice}")],
    about="Compile the sources without writing anything, and check the texts that a model reads.",
    examples="""each line: FILE:LINE: RULE: the problem; the advice.

exit code: 0 no findings or warnings alone, 1 findings

rules:
  source           the YAML compiles; until then no other rule is checked
  left-out         what an imported source describes can be a tool; accept what cannot with exclude in source.yaml
  too-alike        tools that are alike say what sets them apart: in their names and summaries, or in use_instead
  same-summary     no two summaries have the same words
  says-the-name    a summary says more than the name and the title: what comes back, of what, how often
  too-short        summary and description have words enough to choose by
  empty-words      nothing that is true of every tool ("This tool is used to …"), no praise
  typed-secret     no key, token or password is typed into source.yaml, which all who have the catalog can read
  speaks-to-model  text describes: no orders to the model, no requests for secrets, nothing hidden in markup or URLs
  line-tokens      NAME: summary has at most 30 tokens: it is read in every listing
  schema-tokens    name, description and parameters have at most 350 tokens; 50 more for each parameter after six
  example-queries  a tool has 8 to 15 example queries: what people say when they need it
  shared-words     an alias or an example query belongs to one tool

To accept a finding, add a comment with the reason to its line: `# lint: allow RULE: why`
How to write a tool, and the reason for each rule: docs/reference/catalog-format.md.""",
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
    about="Check a compiled catalog, upload it to S3, and make it the current one. Readers find a complete catalog at "
    "any moment. Uses the AWS credentials of this machine.",
    examples="""examples:
  toolfold catalog publish s3://BUCKET/catalog                     BUCKET: the output CatalogBucketName of the stack
  toolfold catalog publish s3://BUCKET/catalog --dry-run           check everything and show what would change
  toolfold catalog publish s3://BUCKET/catalog --file mine.json
  toolfold catalog publish s3://BUCKET/catalog --folder catalog    compile and lint the YAML, and publish that
  AWS_PROFILE=prod toolfold catalog publish s3://BUCKET/catalog

Nothing is written unless the catalog is complete, up to date with its YAML, and names only variables and hosts that the
settings allow. If someone else publishes at the same time, one of the two succeeds and the other ends with an error.

What is published here stays: neither a deployment nor the schedule of the stack replaces it. --automatic lets them.
To go back: toolfold catalog rollback s3://BUCKET/catalog   what there is: toolfold catalog versions s3://BUCKET/catalog

permissions: s3:GetObject and s3:PutObject on the prefix, s3:ListBucket on the bucket""",
    exclusive=[("file", "folder")],
)

_VERSIONS = Command(
    "versions",
    "versions:list_versions",
    "list the published versions of a catalog in S3",
    _BUCKET,
    about="List the published versions, newest first: hash, time, tools, what published it, and who.",
    examples="""examples:
  toolfold catalog versions s3://BUCKET/catalog
  toolfold catalog versions s3://BUCKET/catalog --json | jq -r '.versions[1].sha256'

The pointer in the bucket lists the last 20 versions; catalogs themselves are never deleted. writer is what published a
version: a person at a terminal, a deployment, or the schedule of the stack. A withdrawn version was left by a
rollback.""",
)

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
    about="Show the tools and sources that differ between two versions, or a version and a file.",
    examples="""examples:
  toolfold catalog diff s3://BUCKET/catalog                      the previous version and the current one
  toolfold catalog diff s3://BUCKET/catalog 3f9a1c current       a version, named by the beginning of its hash
  toolfold catalog diff s3://BUCKET/catalog current mine.json    the current one and a compiled catalog in a file
  toolfold catalog diff s3://BUCKET/catalog --json | jq .removed

Each line begins with + (added), - (removed) or ~ (changed). Lines of sources say where requests and keys would go.

exit code: 0 they are equal or differ, 1 one of them cannot be read""",
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
    about="Make an earlier version the current one, after checking that it is complete.",
    examples="""examples:
  toolfold catalog rollback s3://BUCKET/catalog                  to the version before the current one
  toolfold catalog rollback s3://BUCKET/catalog 3f9a1c           to a version of `toolfold catalog versions`
  toolfold catalog rollback s3://BUCKET/catalog --dry-run        show what would change

Gateways serve the earlier catalog within a minute (TOOLFOLD_CATALOG_MAX_AGE_S). The version that is left is marked as
withdrawn, so a second rollback goes back one further. Deployments and the schedule do not replace it, until you run:
toolfold catalog publish s3://BUCKET/catalog --automatic""",
)

CATALOG = Group(
    "catalog",
    "search, check, compile and publish the catalog",
    [_LIST, _GET, _SEARCH, _STATS, _COMPILE, _LINT, _PUBLISH, _VERSIONS, _DIFF, _ROLLBACK],
    examples="""examples:
  toolfold catalog search oil price              find the tool for a request
  toolfold catalog get WTI                       its parameters
  toolfold catalog compile                       after a change of the YAML of a source
  toolfold catalog publish s3://BUCKET/catalog   make the compiled catalog the current one of a deployment
  toolfold catalog rollback s3://BUCKET/catalog  go back to the version before; versions and diff show what there is""",
)
