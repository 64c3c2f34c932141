"""``toolfold serve``: an MCP server over HTTP.

``toolfold stdio``: an MCP server on stdin and stdout.
"""

from __future__ import annotations

import errno
import functools
import socket
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from toolfold.cache.factory import check_cache_file
from toolfold.catalog.start_check import check_catalog
from toolfold.cli.application import Options
from toolfold.cli.log_lines import show_requests_to_a_person
from toolfold.errors import SettingsError, ToolfoldError
from toolfold.execution.audit import check_audit_setting
from toolfold.local_defaults import user_settings_file
from toolfold.network.ssrf import is_loopback_name
from toolfold.settings import Settings
from toolfold.settings.model import open_keys
from toolfold.transports import stdio
from toolfold.transports.reloading import SettingsSource

if TYPE_CHECKING:
    from toolfold.explorer.local_page import LocalPage
    from toolfold.transports.local_http.server import LocalServer  # needs the extra serve

T = TypeVar("T")


def run_stdio(options: Options) -> int:
    """Serve until stdin ends."""
    return stdio.run(options.profile, *_settings_file(options))


def run(options: Options) -> int:
    """Serve until interrupted; return 0 after the requests in flight are answered."""
    if options.any_host and is_loopback_name(options.host):
        raise ToolfoldError("--any-host is for a server that other machines reach. Add --host with its address.")
    server = start_server(check_settings(options.host), options, any_host=options.any_host)
    print(f"toolfold serves MCP at {server.url} (stop with Ctrl-C)", file=sys.stderr, flush=True)
    server.serve_forever()
    return 0


def _settings_file(options: Options) -> tuple[str, list[str]]:
    """Return the settings file of a command, empty for the user's own, and the variables that were set from it."""
    path = options.settings_file or ""
    return path, [name for name, file in options.from_file.items() if file == (path or user_settings_file())]


def check_settings(host: str) -> Settings:
    """Return the settings of a server that listens on ``host``.

    Raises:
        ToolfoldError: they cannot work, or would let every caller use a key.
    """
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


def listen(make_server: Callable[[], T], port: int, hint: str = "") -> T:
    """Return the server that ``make_server`` makes.

    Raises:
        ToolfoldError: the port is taken or not allowed.
    """
    try:
        return make_server()
    except OSError as error:
        step = hint or "Choose another with --port."
        raise ToolfoldError(f"Port {port} cannot be used: {error.strerror}. {step}") from None


def start_server(
    settings: Settings, options: Options, page: LocalPage | None = None, hint: str = "", any_host: bool = False
) -> LocalServer:
    """Return a server that listens; ``hint`` says what helps where the port is taken.

    Raises:
        ToolfoldError: the address or the port cannot be used.
    """
    from toolfold.transports.local_http.server import LocalServer

    host = options.host
    source = SettingsSource(functools.partial(check_settings, host), *_settings_file(options))

    def start() -> LocalServer:
        try:
            server = LocalServer(settings, host, options.port, page, any_host, source)
        except OSError as error:
            if isinstance(error, socket.gaierror) or error.errno in (errno.EADDRNOTAVAIL, errno.EINVAL):
                raise ToolfoldError(f"{host} is not an address of this machine. Choose another with --host.") from None
            raise
        show_requests_to_a_person()
        return server

    return listen(start, options.port, hint)
