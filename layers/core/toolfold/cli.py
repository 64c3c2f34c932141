"""The command line: ``toolfold stdio | serve | call | catalog | sandbox | demo``.

Each command imports what it needs when it runs, so that ``--help`` is instant and ``stdio`` starts without the rest.
Exit codes: 0 done, 1 the call or check failed, 2 wrong usage, 130 interrupted.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from toolfold import __version__
from toolfold.errors import CallError, ToolfoldError
from toolfold.settings import VARIABLES, Settings

_EXAMPLES = """examples:
  toolfold demo                                     from a question to its answer, offline, in a few seconds
  toolfold stdio                                    an MCP server for Claude, Cursor, …
  toolfold serve --port 8080                        the Lambda handler on http://127.0.0.1:8080/mcp
  toolfold catalog search oil price                 which tool is it?
  toolfold call GLOBAL_QUOTE symbol=IBM             call it (needs ALPHA_VANTAGE_API_KEY)
  toolfold call WTI --select "date,value; last 12"  a part of its answer
  toolfold sandbox --port 8787                      an imitation of the API, for work without a key

environment:
"""


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
  too-alike        tools that are alike say what sets them apart: in their names and summaries, or in not_for
  same-summary     no two summaries have the same words
  says-the-name    a summary says more than the name and the title: what comes back, of what, how often
  too-short        summary and description have words enough to choose by
  empty-words      nothing that is true of every tool ("This tool is used to …"), no praise
  speaks-to-model  text describes; it gives the model no orders, asks for no secrets, hides nothing in markup,
                   addresses or characters that nobody sees
  line-tokens      NAME: summary has at most 30 tokens: it is read in every listing
  schema-tokens    name, description and parameters have at most 350 tokens; 50 more for each parameter after six
  asks             a tool has 8 to 15 asks: what people say when they need it
  shared-words     an alias or an ask belongs to one tool

A comment on the line that is shown lets it pass, with a reason:   # lint: allow RULE: why
docs/catalog.md tells how to write a tool, and why each rule is there.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    parser = _parser()
    options = parser.parse_args(argv)
    with _errors_for_people() as outcome:
        outcome.append(options.run(options))
        sys.stdout.flush()
    return outcome[-1]


@contextlib.contextmanager
def _errors_for_people() -> Iterator[list[int]]:
    """Turn what is raised into a message on stderr and an exit code."""
    outcome = [1]
    try:
        yield outcome
    except CallError as error:
        print(f"{error.code}: {error.message}\n{error.suggestion}", file=sys.stderr)
    except ToolfoldError as error:
        print(error, file=sys.stderr)
    except ModuleNotFoundError as error:
        extra = {"yaml": "build", "pydantic": "build", "boto3": "aws", "obstore": "aws"}.get(error.name or "")
        if extra is None:
            raise
        print(f"This needs {error.name}: pip install 'toolfold[{extra}]'", file=sys.stderr)
    except KeyboardInterrupt:
        outcome.append(130)
    except BrokenPipeError:
        # The reader has gone. Python would find that out once more when it ends, and say so.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _parser() -> argparse.ArgumentParser:
    environment = "\n".join(f"  {name:28}{meaning}" for name, (_, meaning) in VARIABLES.items())
    parser = argparse.ArgumentParser(
        prog="toolfold",
        description="Hundreds of API tools behind three: TOOL_LIST, TOOL_GET, TOOL_CALL.",
        epilog=_EXAMPLES + "  ALPHA_VANTAGE_API_KEY       The API key of calls that bring none.\n" + environment,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"toolfold {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    stdio = commands.add_parser("stdio", help="serve MCP on stdin and stdout, for an agent on this machine")
    stdio.set_defaults(run=_stdio)

    serve = commands.add_parser("serve", help="serve MCP over HTTP on this machine, through the Lambda handler")
    serve.add_argument("--port", type=_port, default=8080, help="port to listen on (default 8080; 0: a free one)")
    serve.set_defaults(run=_serve)

    call = commands.add_parser("call", help="call one tool and print its answer")
    call.add_argument("tool_name", metavar="TOOL_NAME", help="as in `toolfold catalog list`")
    call.add_argument("arguments", metavar="key=value", nargs="*", help="its arguments; a key given twice is a list")
    call.add_argument("--select", metavar="PARTS", help='a part of the answer, e.g. "close,volume; last 5"')
    call.add_argument("--max-tokens", type=int, metavar="N", help="longest answer that is printed whole (default 8000)")
    call.add_argument("--fresh", action="store_true", help="ask the source again, whatever is held")
    call.add_argument("--json", action="store_true", help='print {"result": …} or {"error": …}')
    call.set_defaults(run=_call)

    _catalog_commands(commands.add_parser("catalog", help="look into the catalog, compile it, publish it"))

    sandbox = commands.add_parser("sandbox", help="imitate the Alpha Vantage API on this machine, with made-up data")
    sandbox.add_argument("--port", type=_port, default=8787, help="port to listen on (default 8787; 0: a free one)")
    sandbox.add_argument(
        "--plan", choices=["free"], help="count requests, 25 a day and one a second (default: no limits)"
    )
    sandbox.add_argument(
        "--latency-ms", type=_count, default=0, metavar="N", help="milliseconds before every answer (default 0)"
    )
    sandbox.set_defaults(run=_sandbox)

    demo = commands.add_parser("demo", help='answer "give me aapl price" step by step, offline')
    demo.set_defaults(run=_demo)
    return parser


def _catalog_commands(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    listing = commands.add_parser(
        "list",
        help="all tools, or those of a category, tag or access, one line each: what TOOL_LIST answers",
        epilog=_LIST_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _filters(listing)
    listing.add_argument("--json", action="store_true", help="the structured answer of TOOL_LIST")
    listing.set_defaults(run=_catalog_list)

    get = commands.add_parser("get", help="the full entry of tools: what TOOL_GET answers")
    get.add_argument("names", metavar="TOOL_NAME", nargs="+")
    get.add_argument("--detail", choices=("full", "medium", "minimal"), help="how much of each (default full)")
    get.add_argument("--json", action="store_true", help="as compact JSON (default: indented)")
    get.set_defaults(run=_catalog_get)

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
    search.set_defaults(run=_catalog_search)

    compile_ = commands.add_parser("compile", help="check the YAML of all sources and write the compiled catalog")
    compile_.add_argument(
        "--folder", type=Path, default=Path("catalog"), help="where the sources are (default catalog)"
    )
    compile_.add_argument("--output", type=Path, help="compiled catalog (default FOLDER/catalog.json)")
    compile_.add_argument("--check", action="store_true", help="write nothing; fail when the compiled catalog is stale")
    compile_.set_defaults(run=_catalog_compile)

    lint = commands.add_parser(
        "lint",
        help="judge whether a model can choose from the catalog",
        description="Compile the sources without writing anything, and judge what a model would read of them.",
        epilog=_LINT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    lint.add_argument("--folder", type=Path, default=Path("catalog"), help="where the sources are (default catalog)")
    lint.add_argument("--json", action="store_true", help="a JSON list of {file, line, rule, problem, advice}")
    lint.set_defaults(run=_catalog_lint)

    publish = commands.add_parser("publish", help="make a compiled catalog the current one in S3")
    publish.add_argument("place", metavar="s3://BUCKET/PREFIX")
    publish.add_argument("--file", type=Path, help="compiled catalog (default: the one in the package)")
    publish.set_defaults(run=_catalog_publish)


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


def _port(text: str) -> int:
    if not text.isdigit() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port (0 to 65535)")
    return int(text)


def _count(text: str) -> int:
    if not text.isdigit() or len(text) > 9:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0")
    return int(text)


def _tools() -> Any:
    from toolfold.calling.caller import Caller
    from toolfold.calling.places import at_home
    from toolfold.catalog.store import open_store
    from toolfold.meta_tools.dispatch import MetaTools

    settings = at_home(Settings.from_environment())
    return MetaTools(open_store(settings), Caller(settings))


def _stdio(_options: argparse.Namespace) -> int:
    from toolfold.transports import stdio

    stdio.run(Settings.from_environment())
    return 0


def _serve(options: argparse.Namespace) -> int:
    from toolfold.transports.local_http import LocalGateway

    server = _listening(lambda: LocalGateway(Settings.from_environment(), port=options.port), options.port)
    print(f"toolfold serves MCP at {server.url} (stop with Ctrl-C)", file=sys.stderr, flush=True)
    server.serve_forever()
    return 0


def _sandbox(options: argparse.Namespace) -> int:
    from toolfold.sandbox.server import Sandbox

    sandbox = _listening(
        lambda: Sandbox(port=options.port, plan=options.plan, latency_s=options.latency_ms / 1000), options.port
    )
    print(
        f"The sandbox answers at {sandbox.url} with made-up data (stop with Ctrl-C). Point toolfold at it:\n"
        f"  export TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL={sandbox.url} ALPHA_VANTAGE_API_KEY=sandbox",
        file=sys.stderr,
        flush=True,
    )
    sandbox.serve_forever()
    return 0


def _listening(make: Any, port: int) -> Any:
    try:
        return make()
    except OSError as error:
        raise ToolfoldError(f"Port {port} cannot be used: {error.strerror}. Choose another with --port.") from None


def _call(options: argparse.Namespace) -> int:
    arguments: dict[str, Any] = {}
    for pair in options.arguments:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise ToolfoldError(f"Arguments are key=value, not {pair!r}; e.g. toolfold call GLOBAL_QUOTE symbol=IBM")
        before = arguments.get(key)
        arguments[key] = value if before is None else [*(before if isinstance(before, list) else [before]), value]
    own = {"select": options.select, "max_tokens": options.max_tokens, "fresh": options.fresh}
    given = {name: value for name, value in own.items() if value is not None and value is not False}
    result = _tools().call("TOOL_CALL", {"tool_name": options.tool_name, "arguments": arguments, **given})
    return _show(result, options.json)


def _show(result: Any, as_json: bool) -> int:
    if as_json:
        print(json.dumps(result.structured, ensure_ascii=False))
    elif not result.is_error:
        print(result.text)
    else:
        error = result.structured["error"]
        print(f"{error['code']}: {error['message']}\n{error['suggestion']}", file=sys.stderr)
        for problem in error.get("problems", ()):
            print(f"  {problem['parameter']} {problem['problem']}: {problem['expected']}", file=sys.stderr)
    return 1 if result.is_error else 0


def _catalog_list(options: argparse.Namespace) -> int:
    return _show(_tools().call("TOOL_LIST", _asked(options)), options.json)


def _catalog_get(options: argparse.Namespace) -> int:
    result = _tools().call("TOOL_GET", {"tool_name": options.names, "detail": options.detail})
    if result.is_error or options.json:
        return _show(result, options.json)
    for entry in result.structured["tools"]:
        print(json.dumps(entry, ensure_ascii=False, indent=2))
    return 0 if all(entry["found"] for entry in result.structured["tools"]) else 1


def _catalog_search(options: argparse.Namespace) -> int:
    from toolfold import catalog_search

    arguments = {"query": " ".join(options.words), **_asked(options)}
    return catalog_search.run(_tools(), arguments, as_json=options.json, explain=options.explain)


def _catalog_compile(options: argparse.Namespace) -> int:
    from toolfold.catalog.compile import compile_folder

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


def _catalog_lint(options: argparse.Namespace) -> int:
    from toolfold.catalog import quality

    found = quality.check(options.folder)
    if options.json:
        print(json.dumps([dataclasses.asdict(finding) for finding in found], ensure_ascii=False))
    elif found:
        print(*found, sep="\n")
        print(f"{len(found)} found; `toolfold catalog lint --help` tells what each rule is for.", file=sys.stderr)
    else:
        print(f"Nothing found in {options.folder} by {len(quality.RULES)} rules.")
    return 1 if found else 0


def _catalog_publish(options: argparse.Namespace) -> int:
    from toolfold.catalog.publish import publish
    from toolfold.catalog.store import embedded_path

    path = options.file or embedded_path()
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ToolfoldError(f"{path} cannot be read: {error.strerror}.") from None
    sha256 = publish(content, options.place)
    print(f"{options.place} now serves catalog {sha256[:12]} ({len(content):,} bytes).")
    return 0


def _demo(_options: argparse.Namespace) -> int:
    from toolfold import demo

    return demo.run()
