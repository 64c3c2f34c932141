"""``--verbose``: print each request to stderr as it ends."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from toolfold.cli.output import print_wrapped
from toolfold.network.sockets import ca_bundle

if TYPE_CHECKING:
    from toolfold.app import App
    from toolfold.network.trace import RequestTrace


def observe(app: App) -> None:
    """Print the requests that ``app`` sends from now on."""
    app.executor.resources.http_client.on_request = print_trace


def print_trace(trace: RequestTrace) -> None:
    """Print what happened to one request: never its path, its query or a key."""
    lines = [("request", f"{trace.method} {trace.origin} (path and query are not shown)")]
    lines.append(("proxy", trace.proxy or "none"))
    if trace.addresses:
        lines.append(("address", f"{', '.join(trace.addresses)}{' (open connection)' if trace.is_reused else ''}"))
    steps = ", ".join(f"{name} {seconds * 1000:.1f}" for name, seconds in trace.steps)
    lines.append(("time in ms", f"{steps}{', ' if steps else ''}total {trace.total_s * 1000:.1f}"))
    if trace.origin.startswith("https:"):
        variable, path = ca_bundle(os.environ)
        lines.append(("tls", trace.tls or "no connection"))
        lines.append(("trusted", f"{path} ({variable or 'of certifi: no variable is set'})"))
    if trace.status:
        lines.append(("response", f"HTTP status {trace.status}, {trace.body_bytes:,} bytes"))
    if trace.causes:
        lines.append(("failed", " < ".join(trace.causes)))
    for name, text in lines:
        print_wrapped(f"* {name:10} {text}", "*            ")
