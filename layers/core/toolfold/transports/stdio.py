"""MCP over stdio, for an agent on the same machine: start the server, serve one session, and stop at a signal."""

from __future__ import annotations

import functools
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, BinaryIO

from toolfold.app import build_app
from toolfold.errors import ToolfoldError
from toolfold.local_defaults import with_local_defaults
from toolfold.settings import Settings
from toolfold.transports.reloading import LOOK_S, Reloading, SettingsSource
from toolfold.transports.stdio_session import StdioSession

if TYPE_CHECKING:
    from toolfold.app import App


def run(profile: str = "", path: str = "", from_file: Iterable[str] = ()) -> int:
    """Serve stdin and stdout until stdin ends, or until SIGINT or SIGTERM. A second signal ends the process at once.

    Args:
        profile: The profile whose tools are exposed; empty: ``default``.
        path: The settings file; empty: the user's own.
        from_file: The variables that were set from it.

    Returns:
        The exit code.

    Raises:
        SettingsError: the settings name a catalog that cannot be used, or a cache file that is not toolfold's.
        ProfileNotFound: the catalog has no such profile. One in S3 is read by the first request.
        BrokenPipeError: stdout was closed by its reader.
        ToolfoldError: stdout cannot be written to for another reason.
    """
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="toolfold: %(levelname)s: %(message)s")
    settings, make = _read_settings(), functools.partial(_make_app, profile)
    current = Reloading(make, settings, SettingsSource(_read_settings, path, from_file))
    _greet()
    # A call ends within its own time-outs; a call that runs longer is not waited for.
    session = StdioSession(lambda: current().server, drain_timeout_s=settings.connect_timeout_s + settings.timeout_s)
    threading.Thread(target=_report_changes, args=(current, session), name="changes", daemon=True).start()
    incoming, outgoing = redirect_stdio()
    try:
        with stopping_at_signals(session.stop):
            session.serve(incoming, outgoing)
    except OSError as error:
        with suppress(OSError):  # Python would fail to flush it at exit, and print that
            outgoing.close()
        if isinstance(error, BrokenPipeError):
            raise
        raise ToolfoldError(f"The output cannot be written: {error.strerror}. It is not complete.") from None
    return 0


def _read_settings() -> Settings:
    settings = Settings.from_environment()
    if settings.cache:
        from toolfold.cache.sqlite import check_cache_file

        check_cache_file(settings)
    if settings.audit_file:
        from toolfold.execution.audit import check_audit_setting

        check_audit_setting(settings)
    return with_local_defaults(settings)


def _make_app(profile: str, settings: Settings) -> App:
    app = build_app(settings, profile=profile)
    if settings.catalog or settings.source_urls or settings.keyed_sources:
        from toolfold.catalog.start_check import check_catalog

        check_catalog(settings, app.catalog_store)
    if profile and not settings.catalog.startswith("s3://"):
        app.server.tools_of(profile)
    app.server.reports_changes = True
    return app


def _report_changes(current: Reloading[App], session: StdioSession) -> None:
    """Tell the client when the App is another one. Ends with the process."""
    known = current()
    while True:
        time.sleep(LOOK_S)
        before, known = known, current()
        if known is not before:
            session.report_change()


def _greet() -> None:
    """Tell a person who started the server at a terminal what it waits for. Clients connect pipes."""
    if os.isatty(0) and os.isatty(2):
        print(
            "toolfold waits for JSON-RPC messages of an MCP client, one per line; this command is for the "
            "configuration of a client.\nTo connect one: toolfold install CLIENT. To call a tool from here: "
            "toolfold call TOOL_NAME. Ctrl-D ends.",
            file=sys.stderr,
            flush=True,
        )


@contextmanager
def stopping_at_signals(stop: Callable[[], None]) -> Iterator[None]:
    """Call ``stop`` at the first SIGINT or SIGTERM inside the ``with`` statement; a second one ends the process.

    In another thread than the main one, which has no signals, nothing is changed.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    stopping = (signal.SIGINT, signal.SIGTERM)

    def first(*_: object) -> None:
        for number in stopping:
            signal.signal(number, signal.SIG_DFL)
        stop()

    before = {number: signal.signal(number, first) for number in stopping}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def redirect_stdio() -> tuple[BinaryIO, BinaryIO]:
    """Reserve stdin and stdout for the protocol, for the rest of this process.

    Returns:
        The original stdin and stdout. Other code that reads stdin finds it empty; what it prints goes to stderr.
    """
    # Unbuffered: the lock of a buffer that a blocked thread holds would abort the process at its end.
    incoming, outgoing = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb", 0)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # stderr is closed
        os.dup2(null, 1)
    os.close(null)
    return incoming, outgoing
