"""``toolfold catalog``: list, search, describe, check, compile and publish the catalog."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from pathlib import Path
from typing import Any, TypeAlias

from toolfold.cli import output, progress, publish, versions
from toolfold.cli.remote import RemoteTools

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


_MANY_TOOLS = 50
"""Number of tools from which a catalog is searched more often than it is listed as a whole."""

_MAX_SHOWN = 10
"""Problems of single tools that are printed: a large document may have hundreds."""


def add_parser(commands: _Subparsers) -> None:
    """Add the command and its subcommands."""
    parser = commands.add_parser("catalog", help="search, check, compile and publish the catalog", epilog=_EXAMPLES)
    parser.set_defaults(run=lambda options: options.parser.show_help())
    subcommands = parser.add_subparsers(title="commands", metavar="COMMAND")
    for add in (
        _add_list,
        _add_get,
        _add_search,
        _add_stats,
        _add_compile,
        _add_lint,
        publish.add_parser,
        versions.add_parsers,
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
    parser.set_defaults(run=_list, takes_endpoint=True)


def _add_get(subcommands: _Subparsers) -> None:
    parser = subcommands.add_parser("get", help="describe tools: arguments, answer, example", epilog=_GET_EXAMPLES)
    parser.add_argument("names", metavar="TOOL_NAME", nargs="+", help="as in `toolfold catalog list`; at most 20")
    parser.add_argument("--detail", choices=("full", "medium", "minimal"), help="how much of each (default full)")
    parser.add_argument("--json", action="store_true", help="print the structured answer of TOOL_GET")
    parser.set_defaults(run=_get, takes_endpoint=True)


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
    parser.set_defaults(run=_search, takes_endpoint=True)


def _add_stats(subcommands: _Subparsers) -> None:
    parser = subcommands.add_parser(
        "stats", help="count the tools of each category, by access, and the tags", epilog=_STATS_EXAMPLES
    )
    parser.add_argument("--json", action="store_true", help="print {tools, sources, categories, tags, sha256}")
    parser.set_defaults(run=_stats)


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
    parser.set_defaults(run=_compile)


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
    parser.set_defaults(run=_lint)


def _add_filters(parser: argparse.ArgumentParser) -> None:
    # Names are checked against the catalog when the command runs, and the error suggests the closest ones.
    parser.add_argument("--category", metavar="NAME", help="only tools of this category, by name or title")
    parser.add_argument(
        "--tag", metavar="TAG", action="append", help="only tools with this tag; repeatable: with any of them"
    )
    parser.add_argument("--access", metavar="KIND", help="only free, mixed or premium tools")
    parser.add_argument("--limit", metavar="N", help="most tools to show, 1 to 200")


def _given_filters(options: argparse.Namespace) -> dict[str, Any]:
    """Return the filters given, as arguments of TOOL_LIST."""
    given = {name: getattr(options, name) for name in ("category", "tag", "access", "limit")}
    return {name: value for name, value in given.items() if value is not None}


def _list(options: argparse.Namespace) -> int:
    from toolfold.cli import catalog_views

    filters = _given_filters(options)
    if options.endpoint:
        return _print_remote(options, "TOOL_LIST", filters)
    tools = output.meta_tools()
    if options.json:
        return output.print_result(tools.call("TOOL_LIST", filters), as_json=True)
    return catalog_views.list_tools(tools, filters)


def _print_remote(options: argparse.Namespace, name: str, arguments: dict[str, Any]) -> int:
    """Print the answer of a meta-tool of an endpoint, as a model gets it."""
    with RemoteTools(options) as tools:
        return output.print_result(tools.call(name, arguments), options.json)


def _get(options: argparse.Namespace) -> int:
    from toolfold.cli import catalog_views

    arguments = {"tool_name": options.names, "detail": options.detail}
    if options.endpoint:
        with RemoteTools(options) as remote_tools:
            return catalog_views.get_tools(remote_tools, arguments, as_json=options.json)
    return catalog_views.get_tools(output.meta_tools(), arguments, as_json=options.json)


def _stats(options: argparse.Namespace) -> int:
    from toolfold.cli import catalog_views

    return catalog_views.print_stats(output.meta_tools(), as_json=options.json)


def _search(options: argparse.Namespace) -> int:
    from toolfold.cli import catalog_views

    arguments = {"query": " ".join(options.words), **_given_filters(options)}
    if options.endpoint:
        if options.explain:
            options.parser.error("--explain reads the catalog of this machine. Leave out --explain or --endpoint.")
        return _print_remote(options, "TOOL_LIST", arguments)
    return catalog_views.search_catalog(output.meta_tools(), arguments, as_json=options.json, explain=options.explain)


def _compile(options: argparse.Namespace) -> int:
    from toolfold.build import lint
    from toolfold.build.compiler import compile_sources
    from toolfold.build.writer import read_output_file, replace_catalog_file

    path = options.output or options.folder / "catalog.json"
    with progress.steps() as steps:
        compiled, left_out, notes, _ = compile_sources(options.folder, progress=steps.start)
    current = read_output_file(path)
    _print_left_out(left_out)
    _print_notes(notes, is_whole=options.notes)
    for finding in lint.find_secrets(options.folder):
        print(finding, file=sys.stderr)
    if options.check:
        if current != compiled:
            print(f"{path} is out of date. Run: toolfold catalog compile --folder {options.folder}", file=sys.stderr)
            return 1
        print(f"{path} is up to date with {options.folder}.")
        return 0
    replace_catalog_file(path, compiled)
    tools = len(json.loads(compiled)["tools"])
    print(f"{path}: {tools} tools, {len(compiled.encode()):,} bytes{'' if current != compiled else ', unchanged'}")
    if tools >= _MANY_TOOLS:
        _note_semantic_postings(compiled)
    return 0


def _note_semantic_postings(compiled: str) -> None:
    """Tell how imported tools are found by more words, where what that needs is not installed."""
    from toolfold.build import semantic_index
    from toolfold.build.importers import IMPORTERS

    sources = json.loads(compiled)["sources"].values()
    if any(source["kind"] in IMPORTERS for source in sources) and not semantic_index.is_available():
        print(
            "Imported tools are found by the words of their texts. To find them by words near in meaning as well: "
            f"{semantic_index.INSTALL}",
            file=sys.stderr,
        )


def _print_notes(notes: list[str], *, is_whole: bool) -> None:
    """Print what tools of imported sources lack, or how many such notes there are."""
    if notes and is_whole:
        print(*notes, sep="\n", file=sys.stderr)
    elif notes:
        print(f"{len(notes)} notes about parts that are left out of tools; --notes prints them.", file=sys.stderr)


def _print_left_out(problems: list[str]) -> None:
    """Print how many operations of imported sources are not tools, and the first of them."""
    if problems:
        print(*problems[:_MAX_SHOWN], sep="\n", file=sys.stderr)
        more = f", of which {_MAX_SHOWN} are shown" if len(problems) > _MAX_SHOWN else ""
        print(
            f"{len(problems)} left out{more}: the others compile. `toolfold catalog lint` lists all.", file=sys.stderr
        )


def _lint(options: argparse.Namespace) -> int:
    from toolfold.build import lint

    findings = lint.check(options.folder)
    errors = sum(not finding.is_warning for finding in findings)
    if options.json:
        output.print_json([dataclasses.asdict(finding) for finding in findings])
    elif findings:
        print(*findings, sep="\n")
        counted = f"{errors} found" + (f", {len(findings) - errors} warnings" if errors < len(findings) else "")
        print(f"{counted}; `toolfold catalog lint --help` explains the rules.", file=sys.stderr)
    else:
        print(f"Nothing found in {options.folder} by {len(lint.RULES)} rules.")
    return 1 if errors else 0
