"""``toolfold ui``: the web explorer on this machine."""

from __future__ import annotations

import argparse
import os
import sys
import threading
from contextlib import suppress

from toolfold.cli.argument_parser import port_number
from toolfold.cli.serve import check_settings, start_server
from toolfold.errors import ToolfoldError
from toolfold.explorer import LOCAL_PORT
from toolfold.explorer.local_page import LocalPage
from toolfold.network.ssrf import is_loopback_name

_EXAMPLES = """examples:
  toolfold ui                          open the page in a browser
  toolfold ui --no-open                print its URL only
  toolfold ui --port 0                 any free port
  toolfold ui --log calls.jsonl        watch the calls of other processes too: their TOOLFOLD_CALL_LOG
  toolfold ui --env-file my.env        try tools with the keys in a file, which the page never gets

The printed URL has a token that the page requires. The same server answers MCP clients at /mcp, without that
token. docs/how-to/explore.md says what is safe and why, and how a deployment serves the page.
"""

_IN_USE = "--port 0 takes any free one. A `toolfold ui` that runs already has printed its URL in its terminal."


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "ui",
        description="Serve the web explorer on this machine until interrupted, and open it in a browser: the catalog "
        "and its search, what a model sees of each tool and what that costs, calls and their answers, and calls that "
        "wait for approval. Only this machine can connect, unless --host says otherwise.",
        epilog=_EXAMPLES,
    )
    parser.add_argument(
        "--host", default="127.0.0.1", help="address to listen on, and name to answer to (default 127.0.0.1)"
    )
    parser.add_argument(
        "--port",
        type=port_number,
        default=LOCAL_PORT,
        help=f"port to listen on (default {LOCAL_PORT}; 0: any free)",
    )
    parser.add_argument("--no-open", action="store_true", help="open no browser; print the URL only")
    parser.add_argument("--log", metavar="FILE", default="", help="show the calls in FILE, a call log, as well")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Serve until interrupted; return 0 after the requests in flight are answered."""
    settings = check_settings(options.host)
    _check_log(options.log)
    page = LocalPage(options.log)
    server = start_server(settings, options.host, options.port, page, _IN_USE)
    print(f"toolfold explorer: {server.page_url}", file=sys.stderr)
    if not is_loopback_name(options.host):
        print("Other machines can read its traffic, and with it the token: prefer a tunnel (SSH).", file=sys.stderr)
    print(f"MCP clients connect to {server.url} (stop with Ctrl-C)", file=sys.stderr, flush=True)
    if not options.no_open and _has_browser():
        url = page.url_for_browser(server.url)
        threading.Thread(target=_open_browser, args=(url,), name="browser", daemon=True).start()
    server.serve_forever()
    return 0


def _check_log(path: str) -> None:
    """Check that a log can be followed. It may be created later, by a process that starts then.

    Raises:
        ToolfoldError: It never can.
    """
    if not path:
        return
    if not os.path.isdir(os.path.dirname(os.path.abspath(path))):
        raise ToolfoldError(f"--log {path} cannot be read: its folder does not exist.")
    if os.path.exists(path) and not (os.path.isfile(path) and os.access(path, os.R_OK)):
        raise ToolfoldError(f"--log {path} cannot be read: it is not a file, or not readable for this user.")
    if not os.path.exists(path):
        print(f"{path} does not exist yet; its calls are shown when it does.", file=sys.stderr)


def _has_browser() -> bool:
    """Return whether the user is at a terminal with a display."""
    if not (sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    # Elsewhere the standard library may start a text browser in this terminal.
    return sys.platform in ("darwin", "win32") or any(
        os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
    )


def _open_browser(url: str) -> None:
    """Open a browser. It may take seconds, or fail; the printed URL works without it."""
    import webbrowser

    with suppress(Exception):  # webbrowser.Error, and what the launcher of a desktop raises
        webbrowser.open(url)
