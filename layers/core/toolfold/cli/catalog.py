"""``toolfold catalog``: looking into the catalog, judging it, compiling it, publishing it."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from pathlib import Path
from typing import Any

from toolfold.cli import output as speaking
from toolfold.errors import ToolfoldError

_LIST_EXAMPLES = """examples:
  toolfold catalog list                                     every tool, by category
  toolfold catalog list --category forex                    one category
  toolfold catalog list --tag metal --tag energy            with one of two tags
  toolfold catalog list --access free --limit 5 --json      as a program wants it
"""

_SEARCH_EXAMPLES = """examples:
  toolfold catalog search what is gold worth today
  toolfold catalog search dividnds of a stock --explain     how each word was understood
  toolfold catalog search moving average --category "Technical Indicators" --limit 20
  toolfold catalog search oil price | cut -f1               names alone; fields have tabs between them
"""

_LINT = """each line: FILE:LINE: RULE: what is wrong; what to do.   exit code: 0 nothing found, 1 something

rules:
  source           the YAML compiles; until then nothing else is judged
  too-alike        tools that are alike say what sets them apart: in their names and summaries, or in use_instead
  same-summary     no two summaries have the same words
  says-the-name    a summary says more than the name and the title: what comes back, of what, how often
  too-short        summary and description have words enough to choose by
  empty-words      nothing that is true of every tool ("This tool is used to …"), no praise
  speaks-to-model  text describes; it gives the model no orders, asks for no secrets, hides nothing in markup,
                   addresses or characters that nobody sees
  line-tokens      NAME: summary has at most 30 tokens: it is read in every listing
  schema-tokens    name, description and parameters have at most 350 tokens; 50 more for each parameter after six
  example-queries  a tool has 8 to 15 example queries: what people say when they need it
  shared-words     an alias or an example query belongs to one tool

A comment on the line that is shown lets it pass, with a reason:   # lint: allow RULE: why
docs/reference/catalog-format.md tells how to write a tool, and why each rule is there.
"""


def add_commands(parser: argparse.ArgumentParser) -> None:
    """Add them to ``parser``, that of ``toolfold catalog``."""
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    listing = commands.add_parser(
        "list",
        help="all tools, or those of a category, tag or access, one line each: what TOOL_LIST answers",
        epilog=_LIST_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _filters(listing)
    listing.add_argument("--json", action="store_true", help="the structured answer of TOOL_LIST")
    listing.set_defaults(run=_list)

    get = commands.add_parser("get", help="the full entry of tools: what TOOL_GET answers")
    get.add_argument("names", metavar="TOOL_NAME", nargs="+")
    get.add_argument("--detail", choices=("full", "medium", "minimal"), help="how much of each (default full)")
    get.add_argument("--json", action="store_true", help="as compact JSON (default: indented)")
    get.set_defaults(run=_get)

    search = commands.add_parser(
        "search",
        help="the tools that fit a request, best first, with scores",
        description="Finds tools by what you need, in English words. Slips of the pen are mended.",
        epilog=_SEARCH_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    search.add_argument("words", metavar="WORD", nargs="+", help="what you need")
    _filters(search)
    search.add_argument("--explain", action="store_true", help="show which words were understood as what")
    search.add_argument("--json", action="store_true", help="the structured answer of TOOL_LIST")
    search.set_defaults(run=_search)

    compile_ = commands.add_parser("compile", help="check the YAML of all sources and write the compiled catalog")
    compile_.add_argument(
        "--folder", type=Path, default=Path("catalog"), help="where the sources are (default catalog)"
    )
    compile_.add_argument("--output", type=Path, help="compiled catalog (default FOLDER/catalog.json)")
    compile_.add_argument("--check", action="store_true", help="write nothing; fail when the compiled catalog is stale")
    compile_.set_defaults(run=_compile)

    lint = commands.add_parser(
        "lint",
        help="judge whether a model can choose from the catalog",
        description="Compile the sources without writing anything, and judge what a model would read of them.",
        epilog=_LINT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    lint.add_argument("--folder", type=Path, default=Path("catalog"), help="where the sources are (default catalog)")
    lint.add_argument("--json", action="store_true", help="a JSON list of {file, line, rule, problem, advice}")
    lint.set_defaults(run=_lint)

    publish = commands.add_parser("publish", help="make a compiled catalog the current one in S3")
    publish.add_argument("place", metavar="s3://BUCKET/PREFIX")
    publish.add_argument("--file", type=Path, help="compiled catalog (default: the one in the package)")
    publish.set_defaults(run=_publish)


def _filters(parser: argparse.ArgumentParser) -> None:
    # Names are checked where the catalog is at hand, with the closest ones in the answer.
    parser.add_argument("--category", metavar="NAME", help="only of this category, by name or title")
    parser.add_argument("--tag", metavar="TAG", action="append", help="only with this tag; several: with any of them")
    parser.add_argument("--access", metavar="KIND", help="only free, mixed or premium tools")
    parser.add_argument("--limit", metavar="N", help="at most so many, 1 to 200")


def _asked(options: argparse.Namespace) -> dict[str, Any]:
    """The filters given, as arguments of TOOL_LIST."""
    given = {name: getattr(options, name) for name in ("category", "tag", "access", "limit")}
    return {name: value for name, value in given.items() if value is not None}


def _list(options: argparse.Namespace) -> int:
    return speaking.show(speaking.tools().call("TOOL_LIST", _asked(options)), options.json)


def _get(options: argparse.Namespace) -> int:
    result = speaking.tools().call("TOOL_GET", {"tool_name": options.names, "detail": options.detail})
    if result.is_error or options.json:
        return speaking.show(result, options.json)
    for entry in result.structured["tools"]:
        print(json.dumps(entry, ensure_ascii=False, indent=2))
    return 0 if all(entry["found"] for entry in result.structured["tools"]) else 1


def _search(options: argparse.Namespace) -> int:
    from toolfold.cli import search_command

    arguments = {"query": " ".join(options.words), **_asked(options)}
    return search_command.show(speaking.tools(), arguments, as_json=options.json, explain=options.explain)


def _compile(options: argparse.Namespace) -> int:
    from toolfold.build.compiler import compile_folder

    output = options.output or options.folder / "catalog.json"
    compiled = compile_folder(options.folder)
    current = output.read_text(encoding="utf-8") if output.exists() else None
    if options.check:
        if current != compiled:
            print(f"{output} is stale. Run: toolfold catalog compile --folder {options.folder}", file=sys.stderr)
            return 1
        print(f"{output} is what {options.folder} compiles to.")
        return 0
    # By rename: whoever reads the old one keeps it whole.
    fresh = output.with_name(f".{output.name}.new")
    fresh.write_text(compiled, encoding="utf-8")
    fresh.replace(output)
    tools = len(json.loads(compiled)["tools"])
    print(f"{output}: {tools} tools, {len(compiled.encode()):,} bytes{'' if current != compiled else ', unchanged'}")
    return 0


def _lint(options: argparse.Namespace) -> int:
    from toolfold.build import lint as quality

    search_command = quality.check(options.folder)
    if options.json:
        print(json.dumps([dataclasses.asdict(finding) for finding in search_command], ensure_ascii=False))
    elif search_command:
        print(*search_command, sep="\n")
        print(
            f"{len(search_command)} found; `toolfold catalog lint --help` tells what each rule is for.", file=sys.stderr
        )
    else:
        print(f"Nothing found in {options.folder} by {len(quality.RULES)} rules.")
    return 1 if search_command else 0


def _publish(options: argparse.Namespace) -> int:
    from toolfold.build.publisher import publish
    from toolfold.catalog.store import bundled_path

    path = options.file or bundled_path()
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ToolfoldError(f"{path} cannot be read: {error.strerror}.") from None
    sha256 = publish(content, options.place)
    print(f"{options.place} now serves catalog {sha256[:12]} ({len(content):,} bytes).")
    return 0
