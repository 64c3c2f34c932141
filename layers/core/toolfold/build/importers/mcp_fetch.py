"""Ask an MCP server what it lists: the only code of the build side that starts a server or connects to one."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from toolfold.build.importers.base import key_of_deployment
from toolfold.catalog.allow_list import AllowList
from toolfold.catalog.entries import Source
from toolfold.errors import CallError, SourceError
from toolfold.execution.user_tokens import UserTokens
from toolfold.models import SourceCredentials
from toolfold.network.session import HttpClient
from toolfold.sources.base import AdapterContext
from toolfold.sources.mcp.adapter import McpAdapter, import_sdk
from toolfold.sources.mcp.connection import NO_HTTP_SSE
from toolfold.sources.mcp.faults import McpFault, ServerFault

if TYPE_CHECKING:
    from toolfold.settings import Settings

TIMEOUT_S = 120.0
"""Seconds for all of it. A server that is started with npx or uvx may have to be downloaded first."""

_POST_REFUSED = (400, 404, 405)
"""How a server of 2024-11-05 answers a POST to the address of its stream, by the specification."""

_MAX_LINES = 5
"""Last lines of a program's log that a failure repeats."""

_REASON = re.compile(r"(?!raise )(?:\S+ )?\S*(?:error|exception|fatal|panic)\S*(?:\s|$)", re.IGNORECASE)
"""The beginning of a line with the reason of an end, which usage or stack frames may follow."""

_PASSWORD = re.compile(r"//[^\s/@]+@")


def ask(
    source: Source,
    includes: Callable[[str], bool],
    most_tools: int,
    process_settings: Settings,
    progress: Callable[[str], None],
) -> dict[str, Any]:
    """Return what the server of a source lists, of the tools whose names ``includes`` holds.

    Raises:
        SourceError: The server cannot be reached, or its answer cannot be used.
    """
    refusal = AllowList(process_settings).first_refusal([source])
    if refusal is not None:
        allow = f"To allow it, set {refusal.setting}={shlex.quote(refusal.entry)}."
        raise failure(source.id, f"{refusal.what} is not allowed here: {refusal.name}. {allow}")
    command = source.connection.get("command", ())
    progress(f"Asking {process_settings.source_urls.get(source.id, source.base_url) or ' '.join(command)} …")
    try:
        adapter = McpAdapter(source, AdapterContext(process_settings, HttpClient))
        import_sdk(source.title)
        # A server may list its tools without a key. Otherwise its refusal is the error.
        is_set = source.auth is not None and os.environ.get(source.auth.environment, "").strip()
        key = key_of_deployment(source, process_settings, "required" if is_set else "optional")
        if key and source.signs_in:
            key = _token_of_user(source, key, process_settings)
        key = next(adapter.tokens.sent_keys(key, time.monotonic() + TIMEOUT_S))
        return asyncio.run(asyncio.wait_for(adapter.describe(key, includes, most_tools), TIMEOUT_S))
    except TimeoutError:
        raise failure(source.id, f"the server did not answer in {TIMEOUT_S:g} s.") from None
    except McpFault as fault:
        found = adapter.texts.to_call_error(fault, None, SourceCredentials(key))
        said = found.details.get("upstream_says")
        says = f" It says: {said!r}." if said else ""
        step = _last_lines(fault, adapter, key) if command else ""
        exchange = fault.exchange if isinstance(fault, ServerFault) else None
        if isinstance(fault, ServerFault) and fault.kind == "large":
            step = " Name the tools that are needed under include in source.yaml."
        elif exchange is not None and exchange.location:
            step = " Where that is the server that you mean, make it the url in source.yaml."
        elif exchange is not None and exchange.status == 401 and source.auth is None:
            step = " Where its users sign in, add it with --sign-in."
        elif exchange is not None and exchange.fault is None and exchange.status in _POST_REFUSED:
            step = f" A server of 2024-11-05 answers so; {NO_HTTP_SSE}."
        raise failure(source.id, f"{found.message}{says}{step}") from None
    except CallError as error:
        raise failure(source.id, f"{error.message} {error.suggestion}") from error


def _last_lines(fault: McpFault, adapter: McpAdapter, key: str) -> str:
    """Return the errors that a program wrote, else its last lines, or where they are seen.

    They are without its key and passwords in addresses.
    """
    text = fault.log.decode("utf-8", "replace") if isinstance(fault, ServerFault) else ""
    written = [line.strip() for line in text.splitlines() if line.strip()]
    lines = (list(dict.fromkeys(filter(_REASON.match, written))) or written)[-_MAX_LINES:]
    shown = " / ".join(_PASSWORD.sub("//…@", adapter.texts.said(line, SourceCredentials(key))) for line in lines)
    return f" It wrote: {shown.rstrip('.')}." if shown else " Run its command at a terminal: that shows what it writes."


def _token_of_user(source: Source, client: str, process: Settings) -> str:
    """Return the token of the user, who can sign in first where stderr is a terminal; empty without one.

    The id and the secret of the application are for the token endpoint alone.
    """
    tokens = UserTokens(process, HttpClient)
    found = tokens.find_credentials(source, client, time.monotonic() + TIMEOUT_S)
    if found is None and sys.stderr.isatty():
        begun = tokens.begin(source, client)
        sys.stderr.write(f"Open this link to sign in to {source.title}:\n  {begun.url}\n")
        sys.stderr.flush()
        begun.wait()
        found = tokens.find_credentials(source, client, time.monotonic() + TIMEOUT_S)
    return "" if found is None else found.api_key


def failure(source_id: str, problem: str) -> SourceError:
    """Return the error of a refresh that wrote nothing, with the name of the source."""
    return SourceError([f"{source_id}: {problem}"])
