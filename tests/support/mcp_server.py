"""An MCP server with faults that are chosen by name: a program over stdio; ``mcp_http_server`` has it over HTTP.

It imports nothing but the standard library, so that a process starts in the time of an interpreter. Faults:

==================  ==================================================================
hang                never answers ``initialize``
slow_list           takes 30 s to list its tools
many_tools          lists 10,000 tools, 100 a page
endless             lists pages for ever
changed             has another schema of ``echo``
gone                has no tool ``echo``
dies_at_start       ends before it answers anything, and writes its key to stderr
errs_at_start       ends so, with an error and its usage behind it
dies                ends in each call
dies_once           ends in the first call, if the marker does not exist
large               sends 50 MB in answer to a call
notifies            sends 30,000 notifications before it answers a call
many_blocks         sends 60,000 content blocks in answer to a call
malformed           sends broken JSON in answer to a call
not_mcp             answers a call with JSON that is not a result
refuses             answers calls with an error of the protocol
sampling            requests a model of its client, and fails without one
samples             the same, and fails with an error of the protocol
elicits             requires input in its result (2026-07-28)
stateless           speaks 2026-07-28 alone
leaks               writes its key to stderr, and a banner and a log in JSON to stdout
sse                 over HTTP: answers with a stream of events
status_503          over HTTP: answers calls with status 503
==================  ==================================================================
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

SECRET = "sk-from-the-servers-own-log"
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
ROWS = [{"city": "Oslo", "people": 717710}, {"city": "Bergen", "people": 291940}, {"city": "Tromsø", "people": 77992}]
LARGE_BYTES = 50_000_000

Send = Callable[[dict[str, Any]], None]


def tool(name: str, description: str, properties: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties or {}}
    return {"name": name, "description": description, "inputSchema": schema, **more}


TRACE = ("traceparent", "tracestate")
"""What ``echo`` returns of its request, where it has them."""

READ = {"readOnlyHint": True}
TOOLS = [
    tool("echo", "Return the text that it is given.", {"text": {"type": "string", "description": "Any text."}},
         annotations=READ),
    tool("cities", "List cities of Norway with the number of their people.", annotations=READ,
         outputSchema={"type": "object", "properties": {"cities": {"type": "array"}}}),
    tool("cities-as-text", "List cities of Norway as JSON in a text, and their year.", annotations=READ),
    tool("picture", "Draw a picture of a harbour, with a sound of it.", annotations=READ),
    tool("documents", "Return a document, and a link to another one.", annotations=READ),
    tool("fail", "Fail with a message that quotes the key.", annotations=READ),
    tool("wait", "Wait for some seconds, and report progress.", {"seconds": {"type": "number"}}, annotations=READ),
    tool("environment", "Return the names of the variables of this process.", annotations=READ),
    tool("count", "Count how often this process was called.", annotations={"readOnlyHint": False}),
    tool("save", "Save a note for later.", {"note": {"type": "string"}},
         annotations={"readOnlyHint": False, "destructiveHint": False}),
    tool("remove", "Remove all notes."),
]  # fmt: skip


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


class Server:
    """The answers to one client."""

    def __init__(self, fault: str = "", marker: str = "") -> None:
        self.fault, self.marker = fault, Path(marker) if marker else None
        self.calls = 0
        self.received: list[dict[str, Any]] = []
        self.cancelled: set[Any] = set()

    def handle(self, message: dict[str, Any], send: Send) -> None:
        """Answer one message; what is sent with ``send`` may be nothing, or more than an answer."""
        self.received.append(message)
        method, id_, params = message.get("method", ""), message.get("id"), message.get("params") or {}
        if method == "notifications/cancelled":
            self.cancelled.add(params.get("requestId"))
        if id_ is None or not method:
            return
        try:
            result = self._result(method, id_, params, send)
        except LookupError as error:
            send({"jsonrpc": "2.0", "id": id_, "error": {"code": error.args[0], "message": error.args[1]}})
            return
        if result is not None:
            send({"jsonrpc": "2.0", "id": id_, "result": result})

    def _result(self, method: str, id_: Any, params: dict[str, Any], send: Send) -> dict[str, Any] | None:
        modern = self.fault in ("stateless", "elicits")
        if method == "initialize" and not modern:
            if self.fault == "hang":
                return None
            return {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {"listChanged": True}},
                "serverInfo": {"name": "harbour", "version": "1.2.3"},
                "instructions": "Ask for cities first.",
            }
        if method == "server/discover" and modern:
            return {
                "resultType": "complete",
                "supportedVersions": ["2026-07-28"],
                "capabilities": {"tools": {}},
                "instructions": "Ask for cities first.",
                "ttlMs": 0,
                "cacheScope": "public",
                "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "harbour", "version": "1.2.3"}},
            }
        if method == "tools/list":
            found = self._listing(params.get("cursor"))
            return {**found, "resultType": "complete", "ttlMs": 0, "cacheScope": "public"} if modern else found
        if method == "tools/call":
            found = self._call(id_, params, send)
            return {"resultType": "complete", **found} if modern and found is not None else found
        raise LookupError(-32601, f"Method not found: {method}")

    def _listing(self, cursor: str | None) -> dict[str, Any]:
        start = int(cursor or 0)
        if self.fault == "slow_list":
            time.sleep(30)
        if self.fault == "endless":
            return {"tools": [tool(f"tool_{start}", "One of many.")], "nextCursor": str(start + 1)}
        if self.fault == "many_tools":
            tools = [tool(f"tool_{index}", f"Tool number {index} of many.") for index in range(start, start + 100)]
            return {"tools": tools, **({"nextCursor": str(start + 100)} if start < 9_900 else {})}
        tools = list(TOOLS)
        if self.fault == "gone":
            tools = tools[1:]
        if self.fault == "changed":
            tools[0] = tool(
                "echo", "Return the text that it is given.", {"text": {"type": "integer"}}, annotations=READ
            )
        page = tools[start : start + 4]
        return {"tools": page, **({"nextCursor": str(start + 4)} if start + 4 < len(tools) else {})}

    def _call(self, id_: Any, params: dict[str, Any], send: Send) -> dict[str, Any] | None:
        self.calls += 1
        self._misbehave(id_, send)
        name, arguments = params["name"], params.get("arguments") or {}
        meta = params.get("_meta") or {}
        token, traced = meta.get("progressToken"), " ".join(meta[key] for key in TRACE if key in meta)
        if self.fault in ("sampling", "samples"):
            send({"jsonrpc": "2.0", "id": "ask-1", "method": "sampling/createMessage",
                  "params": {"messages": [], "maxTokens": 5}})  # fmt: skip
            if self.fault == "samples":
                raise LookupError(-32603, "No model to ask.")
            return {"content": [text("No model to ask.")], "isError": True}
        if self.fault == "elicits":
            return {
                "resultType": "input_required",
                "inputRequests": {
                    "who": {
                        "method": "elicitation/create",
                        "params": {"mode": "form", "message": "Who are you?",
                                   "requestedSchema": {"type": "object", "properties": {}}},
                    }
                },
                "requestState": "x",
            }  # fmt: skip
        if name == "wait":
            return self._wait(id_, float(arguments.get("seconds", 1)), token, send)
        found = {
            "echo": lambda: {"content": [text(traced or str(arguments.get("text", "")))]},
            "cities": lambda: {"content": [text(json.dumps({"cities": ROWS}))], "structuredContent": {"cities": ROWS}},
            "cities-as-text": lambda: {"content": [text(json.dumps(ROWS, indent=1)), text("As of 2024.")]},
            "picture": lambda: {
                "content": [
                    text("The harbour at noon."),
                    {"type": "image", "data": PIXEL, "mimeType": "image/png", "annotations": {"audience": ["user"]}},
                    {"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav"},
                ]
            },
            "documents": lambda: {
                "content": [
                    {"type": "resource", "resource": {"uri": "note://1", "mimeType": "text/plain", "text": "Low"}},
                    {"type": "resource", "resource": {"uri": "note://2", "mimeType": "image/png", "blob": PIXEL}},
                    {"type": "resource_link", "uri": "note://3", "name": "third", "_meta": {"pages": 2}},
                ]
            },
            "fail": lambda: {"content": [text(f"No such berth; the key was {os.environ.get('HARBOUR_KEY', '')}")],
                             "isError": True},
            "environment": lambda: {"content": [text(" ".join(sorted(os.environ)))]},
            "count": lambda: {"content": [text(str(self.calls))]},
            "save": lambda: {"content": [text(f"saved {arguments.get('note')}")]},
            "remove": lambda: {"content": []},
        }.get(name)  # fmt: skip
        if found is None:
            raise LookupError(-32602, f"Unknown tool: {name}")
        return found()

    def _misbehave(self, id_: Any, send: Send) -> None:
        if self.fault == "refuses":
            raise LookupError(-32050, "The harbour is closed today.")
        if self.fault == "not_mcp":
            raise LookupError(0, "")  # replaced by the transport
        if self.fault == "dies_once" and self.marker is not None and not self.marker.exists():
            self.marker.touch()
            os._exit(3)
        if self.fault == "dies":
            os._exit(3)
        if self.fault == "notifies":
            for number in range(30_000):
                send({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": number}})

    def _wait(self, id_: Any, seconds: float, token: Any, send: Send) -> dict[str, Any] | None:
        end, step = time.monotonic() + seconds, 0
        if self.marker is not None:
            self.marker.write_text("waiting")
        while time.monotonic() < end:
            if id_ in self.cancelled:
                if self.marker is not None:
                    self.marker.write_text("cancelled")
                return None
            step += 1
            if token is not None:
                params = {"progressToken": token, "progress": step, "total": 10, "message": "waiting"}
                send({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
            time.sleep(min(0.15, seconds))
        return {"content": [text(f"waited {seconds:g} s")]}


def encode(fault: str, message: dict[str, Any]) -> bytes:
    """Return an answer as the fault says that it is sent."""
    is_call = "content" in message.get("result", {})
    if fault == "malformed" and is_call:
        return b'{"jsonrpc": "2.0", "id": 3, "result": {"content": [' + SECRET.encode()
    if fault == "not_mcp" and message.get("error", {}).get("code") == 0:
        return json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {"content": "none"}}).encode()
    if fault == "large" and is_call:
        message["result"]["content"] = [text("x" * LARGE_BYTES)]
    if fault == "many_blocks" and is_call:
        message["result"]["content"] = [{"type": 1}] * 60_000
    return json.dumps(message).encode()


def main(fault: str = "", marker: str = "") -> None:
    """Serve stdin and stdout."""
    server, lock = Server(fault, marker), threading.Lock()

    def send(message: dict[str, Any]) -> None:
        with lock:
            sys.stdout.buffer.write(encode(fault, message) + b"\n")
            sys.stdout.buffer.flush()

    if fault == "leaks":
        print(f"{SECRET} {os.environ.get('HARBOUR_KEY')}", file=sys.stderr, flush=True)
        print('harbour server, ready\n{"level": "info", "message": "ready"}', flush=True)
    if fault in ("dies_at_start", "errs_at_start"):
        reason, lines = f"no berth for {os.environ.get('HARBOUR_KEY')}", ("first of six", "1", "2", "3", "4")
        written = [*lines, reason] if fault == "dies_at_start" else [f"Error: {reason}", "Usage:", *lines]
        print(*written, sep="\n", file=sys.stderr, flush=True)
        os._exit(4)
    for line in sys.stdin.buffer:
        message = json.loads(line)
        threading.Thread(target=server.handle, args=(message, send), daemon=True).start()
    if marker and fault == "stays":
        time.sleep(300)


if __name__ == "__main__":
    main(*sys.argv[1:])
