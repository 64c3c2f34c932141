"""``toolfold catalog``: the options of its commands, which list, search, describe, check, compile and publish it."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import TypeAlias

from toolfold.cli.argument_parser import later

_Subparsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"

_EXAMPLES = """examples:
  toolfold catalog search oil price              find the tool for a request
  toolfold catalog get WTI                       its parameters
  toolfold catalog compile                       after a change of the YAML of a source
  toolfold catalog publish s3://BUCKET/catalog   make the compiled catalog the current one of a deployment
  toolfold catalog rollback s3://BUCKET/catalog  go back to the version before; versions and diff show what there is
"""

_GET_EXAMPLES = """examples:
  toolfold catalog get WTI
  toolfold catalog get GLOBAL_QUOTE SMA --detail minimal
  toolfold catalog get WTI --json | jq '.tools[0].parameters'
"""

_COMPILE_EXAMPLES = """examples:
  toolfold catalog compile                       catalog/**/*.yaml to catalog/catalog.json
  toolfold catalog compile --check               fail if catalog.json is out of date, for CI
  toolfold catalog compile --folder mine --output mine.json
"""

_LIST_EXAMPLES = """examples:
  toolfold catalog list                                     every tool, by category
  toolfold catalog list --category forex                    one category
  toolfold catalog list --tag metal --tag energy            tools with one of two tags
  toolfold catalog list --access free --limit 5 --json      as JSON, for a program
"""

_STATS_EXAMPLES = """examples:
  toolfold catalog stats
  toolfold catalog stats --json | jq .categories
"""

_SEARCH_EXAMPLES = """examples:
  toolfold catalog search what is gold worth today
  toolfold catalog search dividnds of a stock --explain     which words matched
  toolfold catalog search moving average --category "Technical Indicators" --limit 20
  toolfold catalog search oil price | cut -f1               names only; columns are separated by tabs
"""

_LINT = """each line: FILE:LINE: RULE: the problem; the advice.   exit code: 0 no findings or warnings alone, 1 findings

rules:
  source           the YAML compiles; until then no other rule is checked
  left-out         what an imported source describes can be a tool; accept what cannot with exclude in source.yaml
  too-alike        tools that are alike say what sets them apart: in their names and summaries, or in use_instead
  same-summary     no two summaries have the same words
  says-the-name    a summary says more than the name and the title: what comes back, of what, how often
  too-short        summary and description have words enough to choose by
  empty-words      nothing that is true of every tool ("This tool is used to …"), no praise
  typed-secret     no key, token or password is typed into source.yaml, which all who have the catalog can read
  speaks-to-model  text describes; it gives the model no orders, asks for no secrets, and hides nothing in
                   markup, URLs or invisible characters
  line-tokens      NAME: summary has at most 30 tokens: it is read in every listing
  schema-tokens    name, description and parameters have at most 350 tokens; 50 more for each parameter after six
  example-queries  a tool has 8 to 15 example queries: what people say when they need it
  shared-words     an alias or an example query belongs to one tool

To accept a finding, add a comment with the reason to its line:   # lint: allow RULE: why
How to write a tool, and the reason for each rule: docs/reference/catalog-format.md.
"""

_PUBLISH_EXAMPLES = """examples:
  toolfold catalog publish s3://BUCKET/catalog               BUCKET is the output CatalogBucketName of the stack
  toolfold catalog publish s3://BUCKET/catalog --dry-run     check everything and show what would change
  toolfold catalog publish s3://BUCKET/catalog --file mine.json
  toolfold catalog publish s3://BUCKET/catalog --folder catalog    compile and lint the YAML, and publish that
  AWS_PROFILE=prod toolfold catalog publish s3://BUCKET/catalog

Nothing is written unless the catalog is complete, up to date with its YAML, and names only variables and hosts that the
settings allow. If someone else publishes at the same time, one of the two succeeds and the other ends with an error.

What is published here stays: neither a deployment nor the schedule of the stack replaces it. --automatic lets them.
To go back: toolfold catalog rollback s3://BUCKET/catalog   what there is: toolfold catalog versions s3://BUCKET/catalog

permissions: s3:GetObject and s3:PutObject on the prefix, s3:ListBucket on the bucket
"""

_VERSIONS_EXAMPLES = """examples:
  toolfold catalog versions s3://BUCKET/catalog
  toolfold catalog versions s3://BUCKET/catalog --json | jq -r '.versions[1].sha256'

The pointer in the bucket lists the last 20 versions; catalogs themselves are never deleted. writer is what published a
version: a person at a terminal, a deployment, or the schedule of the stack. A withdrawn version was left by a rollback.
"""

_DIFF_EXAMPLES = """examples:
  toolfold catalog diff s3://BUCKET/catalog                      the previous version and the current one
  toolfold catalog diff s3://BUCKET/catalog 3f9a1c current       a version, named by the beginning of its hash
  toolfold catalog diff s3://BUCKET/catalog current mine.json    the current one and a compiled catalog in a file
  toolfold catalog diff s3://BUCKET/catalog --json | jq .removed

Each line begins with + (added), - (removed) or ~ (changed). Lines of sources say where requests and keys would go.
exit code: 0 they are equal or differ, 1 one of them cannot be read
"""

_ROLLBACK_EXAMPLES = """examples:
  toolfold catalog rollback s3://BUCKET/catalog                  to the version before the current one
  toolfold catalog rollback s3://BUCKET/catalog 3f9a1c           to a version of `toolfold catalog versions`
  toolfold catalog rollback s3://BUCKET/catalog --dry-run        show what would change

Gateways serve the earlier catalog within a minute (TOOLFOLD_CATALOG_MAX_AGE_S). The version that is left is marked as
withdrawn, so a second rollback goes back one further. Deployments and the schedule do not replace it, until you run:
toolfold catalog publish s3://BUCKET/catalog --automatic
"""


def add_parser(commands: _Subparsers) -> None:
    """Add the command and its subcommands."""
    parser = commands.add_parser("catalog", epilog=_EXAMPLES)
    parser.set_defaults(run=lambda options: options.parser.show_help())
    subcommands = parser.add_subparsers(title="commands", metavar="COMMAND")
    for add in (
        _add_list,
        _add_get,
        _add_search,
        _add_stats,
        _add_compile,
        _add_lint,
        _add_publish,
        _add_versions,
    ):
        add(subcommands)


def _add_list(subcommands: _Subparsers) -> None:
    parser = subcommands.add_parser(
        "list",
        help="list all tools, or those of a category, tag or access",
        description="List tools by category. In a pipe each is a line: name, category, access and summary, with tabs "
        "between them.",
        epilog=_LIST_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_filters(parser)
    parser.add_argument("--json", action="store_true", help="print the structured answer of TOOL_LIST")
    parser.set_defaults(run=later("toolfold.cli.catalog_views:list_tools"), takes_endpoint=True)


def _add_get(subcommands: _Subparsers) -> None:
    parser = subcommands.add_parser("get", help="describe tools: arguments, answer, example", epilog=_GET_EXAMPLES)
    parser.add_argument("names", metavar="TOOL_NAME", nargs="+", help="as in `toolfold catalog list`; at most 20")
    parser.add_argument("--detail", choices=("full", "medium", "minimal"), help="how much of each (default full)")
    parser.add_argument("--json", action="store_true", help="print the structured answer of TOOL_GET")
    parser.set_defaults(run=later("toolfold.cli.catalog_views:describe_tools"), takes_endpoint=True)


def _add_search(subcommands: _Subparsers) -> None:
    parser = subcommands.add_parser(
        "search",
        help="find the tools for a request, best first, with scores",
        description="Find tools by what you need, in English words. Typos are corrected.",
        epilog=_SEARCH_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("words", metavar="WORD", nargs="+", help="what you need")
    _add_filters(parser)
    parser.add_argument("--explain", action="store_true", help="show which words matched, and how typos were corrected")
    parser.add_argument("--json", action="store_true", help="print the structured answer of TOOL_LIST")
    parser.set_defaults(run=later("toolfold.cli.catalog_views:search_tools"), takes_endpoint=True)


def _add_stats(subcommands: _Subparsers) -> None:
    parser = subcommands.add_parser(
        "stats", help="count the tools of each category, by access, and the tags", epilog=_STATS_EXAMPLES
    )
    parser.add_argument("--json", action="store_true", help="print {tools, sources, categories, tags, sha256}")
    parser.set_defaults(run=later("toolfold.cli.catalog_views:print_stats"))


def _add_compile(subcommands: _Subparsers) -> None:
    parser = subcommands.add_parser(
        "compile",
        help="check the YAML of all sources and write the compiled catalog",
        description="Check the YAML of all sources and write the compiled catalog. The format of the YAML: "
        "docs/reference/catalog-format.md.",
        epilog=_COMPILE_EXAMPLES,
    )
    parser.add_argument("--folder", type=Path, default=Path("catalog"), help="folder of the sources (default catalog)")
    parser.add_argument("--output", type=Path, help="compiled catalog (default FOLDER/catalog.json)")
    parser.add_argument(
        "--check", action="store_true", help="write nothing; fail if the compiled catalog is out of date"
    )
    parser.add_argument(
        "--notes",
        action="store_true",
        help="print what is left out of imported tools: sentences, inner parts of schemas",
    )
    parser.set_defaults(run=later("toolfold.cli.catalog_build:compile_catalog"))


def _add_lint(subcommands: _Subparsers) -> None:
    parser = subcommands.add_parser(
        "lint",
        help="check whether a model can choose from the catalog",
        description="Compile the sources without writing anything, and check the texts that a model reads.",
        epilog=_LINT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--folder", type=Path, default=Path("catalog"), help="folder of the sources (default catalog)")
    parser.add_argument("--json", action="store_true", help="print a JSON list of {file, line, rule, problem, advice}")
    parser.set_defaults(run=later("toolfold.cli.catalog_build:lint_catalog"))


def _add_filters(parser: argparse.ArgumentParser) -> None:
    # Names are checked against the catalog when the command runs, and the error suggests the closest ones.
    parser.add_argument("--category", metavar="NAME", help="only tools of this category, by name or title")
    parser.add_argument(
        "--tag", metavar="TAG", action="append", help="only tools with this tag; repeatable: with any of them"
    )
    parser.add_argument("--access", metavar="KIND", help="only free, mixed or premium tools")
    parser.add_argument("--limit", metavar="N", help="most tools to show, 1 to 200")


def _add_publish(subcommands: _Subparsers) -> None:
    parser = subcommands.add_parser(
        "publish",
        help="upload a compiled catalog to S3 and make it the current one",
        description="Check a compiled catalog, upload it to S3, and make it the current one. Readers find a complete "
        "catalog at any moment. Uses the AWS credentials of this machine.",
        epilog=_PUBLISH_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_location(parser)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--file", type=Path, metavar="FILE", help="compiled catalog (default: the one in the package)")
    what.add_argument("--folder", type=Path, metavar="FOLDER", help="compile the sources in this folder instead")
    parser.add_argument(
        "--refresh", action="store_true", help="with --folder: read the tools of its sources again first, in a copy"
    )
    parser.add_argument("--dry-run", action="store_true", help="write nothing; show what would change")
    parser.add_argument(
        "--automatic",
        action="store_true",
        help="let deployments and the schedule replace this catalog, as they replace their own",
    )
    parser.set_defaults(run=later("toolfold.cli.publish:run"))


def _add_versions(subcommands: _Subparsers) -> None:
    raw = argparse.RawDescriptionHelpFormatter
    versions = subcommands.add_parser(
        "versions",
        help="list the published versions of a catalog in S3",
        description="List the published versions, newest first: hash, time, tools, what published it, and who.",
        epilog=_VERSIONS_EXAMPLES,
        formatter_class=raw,
    )
    _add_location(versions)
    versions.set_defaults(run=later("toolfold.cli.versions:list_versions"))
    diff = subcommands.add_parser(
        "diff",
        help="show what differs between two versions of a catalog in S3",
        description="Show the tools and sources that differ between two versions, or a version and a file.",
        epilog=_DIFF_EXAMPLES,
        formatter_class=raw,
    )
    _add_location(diff)
    for name, default in (("before", "previous"), ("after", "current")):
        diff.add_argument(
            name,
            metavar=name.upper(),
            nargs="?",
            default=default,
            help=f"current, previous, the beginning of a hash, or a file (default {default})",
        )
    diff.set_defaults(run=later("toolfold.cli.versions:print_diff"))
    rollback = subcommands.add_parser(
        "rollback",
        help="make an earlier version of a catalog in S3 the current one",
        description="Make an earlier version the current one, after checking that it is complete.",
        epilog=_ROLLBACK_EXAMPLES,
        formatter_class=raw,
    )
    _add_location(rollback)
    rollback.add_argument("version", metavar="VERSION", nargs="?", default="", help="the beginning of its hash")
    rollback.add_argument("--dry-run", action="store_true", help="write nothing; show what would change")
    rollback.set_defaults(run=later("toolfold.cli.versions:roll_back_catalog"))


def _add_location(parser: argparse.ArgumentParser) -> None:
    """Add the options that all these commands have."""
    parser.add_argument(
        "location",
        metavar="s3://BUCKET/PREFIX",
        nargs="?",
        default="",
        help="where the catalog is, as in TOOLFOLD_CATALOG; its bucket is the output CatalogBucketName of the stack",
    )
    parser.add_argument(
        "--bucket-owner",
        metavar="ACCOUNT",
        type=_account,
        help="the account that must own the bucket, 12 digits, or any (default: that of the credentials)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON, for a program")


def _account(text: str) -> str:
    if text != "any" and not re.fullmatch(r"[0-9]{12}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not the number of an account (12 digits), nor any")
    return text
