"""``toolfold ui``: the web explorer on this machine."""

from __future__ import annotations

import os
import sys
import threading
from contextlib import suppress

from toolfold.cli.application import Options
from toolfold.cli.serve import check_settings, start_server
from toolfold.errors import ToolfoldError
from toolfold.explorer.local_page import LocalPage
from toolfold.network.ssrf import is_loopback_name

_IN_USE = "--port 0 takes any free one. A `toolfold ui` that runs already has printed its URL in its terminal."


def run(options: Options) -> int:
    """Serve until interrupted; return 0 after the requests in flight are answered."""
    settings = check_settings(options.host)
    _check_log(options.log)
    page = LocalPage(options.log)
    server = start_server(settings, options, page, _IN_USE)
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
