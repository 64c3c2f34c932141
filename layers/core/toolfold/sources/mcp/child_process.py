"""A transport of the SDK's client that starts an MCP server as a child and exchanges lines with it.

Ours, because the SDK's own has no limit for a line, copies what it has read of one with every chunk, passes stderr on
and logs lines that it cannot parse: a server that prints a secret would print it into this process's log. Of stderr the
end is kept, for the person who adds the server.

The child gets an environment that is made for it (:func:`child_environment`), and a process group of its own, so that
it can be ended with the processes that it has started.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from toolfold.network.errors import ConnectionBroken, InvalidResponse, ResponseTooLarge, TransportError
from toolfold.sources.mcp.faults import PartLimit, StreamState, TooManyParts

_INHERITED = ("HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TEMP", "TERM", "TMP", "TMPDIR", "TZ",
              "USER")  # fmt: skip
"""Variables that programs need and that hold no secrets."""

_NETWORK = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY", "https_proxy", "http_proxy", "all_proxy", "no_proxy",
            "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS",
            "UV_INDEX", "UV_INDEX_URL", "UV_DEFAULT_INDEX", "UV_EXTRA_INDEX_URL", "UV_NATIVE_TLS", "UV_SYSTEM_CERTS",
            "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_CERT", "NPM_CONFIG_REGISTRY", "npm_config_registry",
            "XDG_CACHE_HOME", "UV_CACHE_DIR")  # fmt: skip
"""Variables by which programs reach the network and install their packages, as this process does. A proxy or a mirror
may have its password in them; a program that the operator allows is let through both."""

_INHERITED_ON_WINDOWS = ("APPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATHEXT", "PROGRAMDATA",
                         "PROGRAMFILES", "SYSTEMDRIVE", "SYSTEMROOT", "USERNAME", "USERPROFILE", "WINDIR")  # fmt: skip

_GRACE_S = 1.0
"""Seconds that a child has to end after its stdin was closed, and again after SIGTERM."""

_POLL_S = 0.01
_MAX_STRAY_LINES = 1_000
"""Lines that are no messages and are skipped: banners and logs of servers that should write them to stderr."""

_MAX_LOG_BYTES, _LOG_S = 4_000, 0.2
"""Bytes at the end of stderr that are kept, and seconds for what is left of it after the end of a child."""


def child_environment(given: Mapping[str, str], environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the environment of a child: what programs need of this process's, and what its source gives it."""
    names = _INHERITED + _NETWORK + (_INHERITED_ON_WINDOWS if os.name == "nt" else ())
    # A value that begins so is a shell function (CVE-2014-6271).
    inherited = {name: environment[name] for name in names if name in environment}
    return {name: value for name, value in inherited.items() if not value.startswith("()")} | dict(given)


@asynccontextmanager
async def child_process(
    command: Sequence[str], environment: Mapping[str, str], cwd: str, max_line_bytes: int, state: StreamState
) -> AsyncIterator[Any]:
    """Start ``command`` and yield the streams that an SDK client reads and writes.

    Raises:
        OSError: it cannot be started.
    """
    import anyio

    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        env=dict(environment),
        cwd=cwd or None,
        start_new_session=True,
        limit=max_line_bytes,
    )
    received, incoming = anyio.create_memory_object_stream[Any](0)
    outgoing, sent = anyio.create_memory_object_stream[Any](0)
    loop = asyncio.get_running_loop()
    log = loop.create_task(_read_log(process, state))
    tasks = [
        loop.create_task(_read_lines(process, received, state)),
        loop.create_task(_write_lines(process, sent, received)),
    ]
    try:
        yield incoming, outgoing
    finally:
        for task in tasks:
            task.cancel()
        for stream in (received, incoming, outgoing, sent):
            stream.close()
        with anyio.CancelScope(shield=True):
            await _end(process)
            await asyncio.wait([log], timeout=_LOG_S)
            log.cancel()


async def _read_lines(process: Process, received: Any, state: StreamState) -> None:
    import anyio
    from mcp.shared.message import SessionMessage

    assert process.stdout is not None  # noqa: S101 - it was made with a pipe
    stray_lines = 0
    try:
        async with received:
            async for line in process.stdout:
                if not line.endswith(b"\n"):
                    break  # it ended within a message
                message = parse_message(line)
                if message is not None:
                    await received.send(SessionMessage(message))
                elif line.strip() and (stray_lines := stray_lines + 1) >= _MAX_STRAY_LINES:
                    raise InvalidResponse
            raise ConnectionBroken
    except (anyio.ClosedResourceError, anyio.BrokenResourceError):
        pass  # the session has ended
    except TransportError as fault:
        state.fault = fault
    except ValueError:  # a line above the limit
        state.fault = ResponseTooLarge()
    finally:
        state.is_ended = True


def parse_message(line: bytes) -> Any:
    """Return the message in a line; an error for the call whose answer cannot be used; None for a log or a banner.

    Raises:
        TransportError: a message is cut off, so that whose answer it is cannot be known, or has too many parts.
    """
    from mcp_types import PARSE_ERROR, ErrorData, JSONRPCError, jsonrpc_message_adapter

    if PartLimit().is_exceeded_by(line):
        raise TooManyParts
    with contextlib.suppress(ValueError):
        return jsonrpc_message_adapter.validate_json(line, by_name=False)
    found: Any = None
    with contextlib.suppress(ValueError, RecursionError):
        # Servers cut texts within a surrogate pair or within a character, and begin with a byte order mark.
        found = json.loads(line.decode("utf-8-sig", "replace"))
        text = json.dumps(found, ensure_ascii=False)
        return jsonrpc_message_adapter.validate_json(text.encode("utf-8", "replace"), by_name=False)
    if not isinstance(found, dict):
        if b'"jsonrpc"' in line:
            raise InvalidResponse
        return None
    id_ = found.get("id")
    if type(id_) not in (int, str) or "method" in found or found.keys().isdisjoint(("jsonrpc", "result")):
        return None
    error = ErrorData(code=PARSE_ERROR, message="Failed to parse the response")
    return JSONRPCError(jsonrpc="2.0", id=id_, error=error)


async def _read_log(process: Process, state: StreamState) -> None:
    assert process.stderr is not None  # noqa: S101 - it was made with a pipe
    while chunk := await process.stderr.read(_MAX_LOG_BYTES):
        state.log = (state.log + chunk)[-_MAX_LOG_BYTES:]


async def _write_lines(process: Process, sent: Any, received: Any) -> None:
    assert process.stdin is not None  # noqa: S101 - it was made with a pipe
    try:
        async with sent:
            async for item in sent:
                text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                process.stdin.write(text.encode("utf-8", "replace") + b"\n")
                await process.stdin.drain()
    except (OSError, RuntimeError):
        received.close()  # so that no request waits for an answer


async def _end(process: Process) -> None:
    """End a child as the specification says: close its stdin, wait, then end its process group."""
    if process.stdin is not None:
        process.stdin.close()
    try:
        if await _has_ended(process, _GRACE_S):
            return
        _signal(process, "SIGTERM")
        if not await _has_ended(process, _GRACE_S):
            _signal(process, "SIGKILL")
            await _has_ended(process, _GRACE_S)
    finally:
        _signal(process, "SIGKILL")  # what it has started and left, and the child itself if this task is cancelled
        transport = getattr(process, "_transport", None)  # asyncio keeps the pipes open as long as a grandchild does
        if transport is not None:
            with contextlib.suppress(OSError):
                transport.close()


async def _has_ended(process: Process, wait_s: float) -> bool:
    """Return whether the child has ended. ``process.wait`` waits for the pipes too, which a grandchild may hold."""
    loop = asyncio.get_running_loop()
    end = loop.time() + wait_s
    while process.returncode is None:
        if loop.time() >= end:
            return False
        await asyncio.sleep(_POLL_S)
    return True


def _signal(process: Process, name: str) -> None:
    with contextlib.suppress(OSError):
        if os.name == "posix":
            os.killpg(process.pid, getattr(signal, name))
        elif process.returncode is None:
            process.kill()
