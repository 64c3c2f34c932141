"""The servers of the command line: ``toolfold serve``, ``stdio``, ``ui`` and ``mock-api``."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import threading
from typing import TYPE_CHECKING

from toolfold.cache.sqlite import check_cache_file
from toolfold.catalog.start_check import check_catalog
from toolfold.cli import terminal
from toolfold.cli.application import Options, os_errors
from toolfold.cli.output import print_message, show_requests_to_a_person
from toolfold.errors import SettingsError, ToolfoldError
from toolfold.execution.audit import check_audit_setting
from toolfold.local_defaults import user_settings_file
from toolfold.network.ssrf import is_loopback_name
from toolfold.settings import Settings
from toolfold.settings.model import open_keys
from toolfold.transports import stdio
from toolfold.transports.reloading import SettingsSource

if TYPE_CHECKING:
    from toolfold.explorer.router import LocalPage
    from toolfold.transports.local_http.server import LocalServer  # needs the extra serve

_OTHER_PORT = "Choose another with --port."
_IN_USE = "--port 0 takes any free one. A `toolfold ui` that runs already has printed its URL in its terminal."


def run_stdio(options: Options) -> int:
    """Serve until stdin ends."""
    return stdio.run(options.profile, *_settings_file(options))


def run(options: Options) -> int:
    """Serve until interrupted; return 0 after the requests in flight are answered."""
    if options.any_host and is_loopback_name(options.host):
        raise ToolfoldError("--any-host is for a server that other machines reach. Add --host with its address.")
    server = start_server(check_settings(options.host), options, any_host=options.any_host)
    print_message(f"toolfold serves MCP at {server.url} (stop with Ctrl-C)")
    server.serve_forever()
    return 0


def _settings_file(options: Options) -> tuple[str, list[str]]:
    """Return the settings file of a command, empty for the user's own, and the variables that were set from it."""
    path = options.settings_file or ""
    return path, [name for name, file in options.from_file.items() if file == (path or user_settings_file())]


def check_settings(host: str) -> Settings:
    """Return the settings of a server that listens on ``host``, if they can work and let no caller use a key."""
    settings = Settings.from_environment()
    for name in [] if is_loopback_name(host) else open_keys(settings):
        raise SettingsError(
            f"Anyone who reaches this server would use the key in {name}. Remove it, so that callers send their "
            "own, set TOOLFOLD_OAUTH_ISSUER, or confirm it with TOOLFOLD_ANYONE_MAY_USE_THE_KEY=true."
        )
    check_cache_file(settings)
    check_audit_setting(settings)
    check_catalog(settings)
    return settings


def start_server(
    settings: Settings, options: Options, page: LocalPage | None = None, hint: str = "", any_host: bool = False
) -> LocalServer:
    """Return a server that listens; ``hint`` says what helps where the port is taken."""
    from toolfold.transports.local_http.server import LocalServer

    host = options.host
    source = SettingsSource(functools.partial(check_settings, host), *_settings_file(options))
    is_local = is_loopback_name(host)
    step = hint or _OTHER_PORT if is_local else "Choose others with --host and --port."
    with os_errors(f"Port {options.port}{'' if is_local else f' of {host}'} cannot be used", step):
        server = LocalServer(settings, host, options.port, page, any_host, source)
    show_requests_to_a_person()
    return server


def run_ui(options: Options) -> int:
    """Serve the web explorer until interrupted; return 0 after the requests in flight are answered."""
    from toolfold.explorer.router import LocalPage  # the other servers have no page

    settings = check_settings(options.host)
    if settings.oauth_issuer:
        raise SettingsError("The page sends no access tokens: start toolfold ui without TOOLFOLD_OAUTH_ISSUER.")
    server = start_server(settings, options, page := LocalPage(), _IN_USE)
    print_message(f"toolfold explorer: {server.page_url}")
    if not is_loopback_name(options.host):
        print_message("Other machines can read its traffic, and with it the token: prefer a tunnel (SSH).")
    print_message(f"MCP clients connect to {server.url} (stop with Ctrl-C)")
    if not options.no_open and has_browser():
        threading.Thread(target=open_browser, args=(page.url(once=True),), name="browser", daemon=True).start()
    server.serve_forever()
    return 0


def has_browser() -> bool:
    """Return whether this command can open a browser for the person at its terminal."""
    if not terminal.is_interactive():
        return False
    # Elsewhere the standard library may start a text browser in this terminal.
    return sys.platform in ("darwin", "win32") or any(
        os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
    )


def open_browser(url: str) -> None:
    """Open a browser. It may take seconds, or fail; the printed URL works without it."""
    import webbrowser

    with contextlib.suppress(Exception):  # webbrowser.Error, and what the launcher of a desktop raises
        webbrowser.open(url)


def run_mock_api(options: Options) -> int:
    """Serve the mock API until interrupted."""
    from toolfold.mock_api.server import MockApi

    log = sys.stderr if sys.stderr.isatty() else None
    latency_s = options.latency_ms / 1000
    with os_errors(f"Port {options.port} cannot be used", _OTHER_PORT):
        mock_api = MockApi(options.port, catalog=options.catalog, plan=options.plan, latency_s=latency_s, log=log)
    variables = " ".join(f"{name}={value}" for name, value in mock_api.variables.items())
    with contextlib.suppress(KeyboardInterrupt):
        print_message(
            f"The mock API answers at {mock_api.url} with made-up data (stop with Ctrl-C). Point toolfold at it:\n"
            f"  export {variables}"
        )
        mock_api.serve_forever()
    return 0
