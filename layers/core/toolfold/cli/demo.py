"""``toolfold demo``: from a question to its answer, offline.

``toolfold mock-api``: an imitation of the Alpha Vantage API, for work without a key and without a network.
"""

from __future__ import annotations

import argparse
import contextlib
import sys

from toolfold.cli import terminal
from toolfold.cli.argument_parser import listen, port_number, whole_number

_MOCK_API_EXAMPLES = """examples:
  toolfold mock-api                               on port 8787, without limits
  toolfold mock-api --plan free --latency-ms 300  with the limits of a free key, and slower
then, in another terminal:
  export TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL=http://127.0.0.1:8787/query ALPHA_VANTAGE_API_KEY=mock
  toolfold call GLOBAL_QUOTE symbol=IBM
"""


def add_mock_api_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "mock-api",
        description="Serve all functions of the Alpha Vantage API with made-up data, and its errors on request: "
        "docs/reference/mock-api.md. Prints the settings that point toolfold at it; logs requests at a terminal.",
        epilog=_MOCK_API_EXAMPLES,
    )
    parser.add_argument("--port", type=port_number, default=8787, help="port to listen on (default 8787; 0: any free)")
    parser.add_argument(
        "--plan", choices=["free"], help="limit requests as the free plan does: 25 a day, one a second (default: none)"
    )
    parser.add_argument(
        "--latency-ms", type=whole_number, default=0, metavar="N", help="milliseconds before every answer (default 0)"
    )
    parser.add_argument("--catalog", metavar="FILE", help="serve the tools of this compiled catalog")
    parser.set_defaults(run=run_mock_api)


def run_mock_api(options: argparse.Namespace) -> int:
    """Serve until interrupted."""
    from toolfold.mock_api.server import MockApi

    log = sys.stderr if sys.stderr.isatty() else None
    latency_s = options.latency_ms / 1000
    mock_api = listen(
        lambda: MockApi(port=options.port, catalog=options.catalog, plan=options.plan, latency_s=latency_s, log=log),
        options.port,
    )
    variables = " ".join(f"{name}={value}" for name, value in mock_api.variables.items())
    with contextlib.suppress(KeyboardInterrupt):
        print(
            f"The mock API answers at {mock_api.url} with made-up data (stop with Ctrl-C). Point toolfold at it:\n"
            f"  export {variables}",
            file=sys.stderr,
            flush=True,
        )
        mock_api.serve_forever()
    return 0


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "demo",
        description="Find the tool for a question, call it, and print each step. Uses the mock API: no network, no "
        "API key, no configuration.",
        epilog="examples:\n  toolfold demo\n  toolfold demo | less\n",
    )
    parser.set_defaults(run=run)


def run(_options: argparse.Namespace) -> int:
    """Run the demo; return 0, or 1 when a step failed."""
    from toolfold import demo  # and with it the server: `mock-api` needs neither

    return demo.run(terminal.width())
