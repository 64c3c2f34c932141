"""The commands: what each is called and takes, and what it runs. Each imports what it needs when it runs."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from toolfold import __version__, cli
from toolfold.cli import catalog, output
from toolfold.errors import ToolfoldError
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


def parser() -> argparse.ArgumentParser:
    """The parser; what it reads has ``run(options)``, which runs the command and returns its exit code."""
    environment = "\n".join(f"  {name:28}{variable.meaning}" for name, variable in VARIABLES.items())
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

    catalog.add_commands(commands.add_parser("catalog", help="look into the catalog, compile it, publish it"))

    mock_api = commands.add_parser("sandbox", help="imitate the Alpha Vantage API on this machine, with made-up data")
    mock_api.add_argument("--port", type=_port, default=8787, help="port to listen on (default 8787; 0: a free one)")
    mock_api.add_argument(
        "--plan", choices=["free"], help="count requests, 25 a day and one a second (default: no limits)"
    )
    mock_api.add_argument(
        "--latency-ms", type=_count, default=0, metavar="N", help="milliseconds before every answer (default 0)"
    )
    mock_api.set_defaults(run=_sandbox)

    demo = commands.add_parser("demo", help='answer "give me aapl price" step by step, offline')
    demo.set_defaults(run=_demo)
    return parser


def _port(text: str) -> int:
    if not text.isdigit() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port (0 to 65535)")
    return int(text)


def _count(text: str) -> int:
    if not text.isdigit() or len(text) > 9:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0")
    return int(text)


def _stdio(_options: argparse.Namespace) -> int:
    return cli.stdio()


def _serve(options: argparse.Namespace) -> int:
    from toolfold.transports.http_server import LocalServer

    server = _listening(lambda: LocalServer(Settings.from_environment(), port=options.port), options.port)
    print(f"toolfold serves MCP at {server.url} (stop with Ctrl-C)", file=sys.stderr, flush=True)
    server.serve_forever()
    return 0


def _sandbox(options: argparse.Namespace) -> int:
    from toolfold.mock_api.server import MockApi

    mock_api = _listening(
        lambda: MockApi(port=options.port, plan=options.plan, latency_s=options.latency_ms / 1000), options.port
    )
    print(
        f"The sandbox answers at {mock_api.url} with made-up data (stop with Ctrl-C). Point toolfold at it:\n"
        f"  export TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL={mock_api.url} ALPHA_VANTAGE_API_KEY=sandbox",
        file=sys.stderr,
        flush=True,
    )
    mock_api.serve_forever()
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
    result = output.tools().call("TOOL_CALL", {"tool_name": options.tool_name, "arguments": arguments, **given})
    return output.show(result, options.json)


def _demo(_options: argparse.Namespace) -> int:
    from toolfold import demo

    return demo.run()
