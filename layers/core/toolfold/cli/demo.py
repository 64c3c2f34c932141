"""``toolfold demo``: from a question to its answer, offline.

``toolfold mock-api``: an imitation of the Alpha Vantage API, for work without a key and without a network.
"""

from __future__ import annotations

import contextlib
import sys

from toolfold.cli import terminal
from toolfold.cli.application import Options
from toolfold.cli.serve import listen


def run_mock_api(options: Options) -> int:
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


def run(_options: Options) -> int:
    """Run the demo; return 0, or 1 when a step failed."""
    from toolfold import demo  # and with it the server: `mock-api` needs neither

    return demo.run(terminal.width())
