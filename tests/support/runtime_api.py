"""Service side of the Lambda Runtime API: hand events to a function's process, and receive its results.

Four endpoints, https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html: the next event, its response, its error,
and a failed initialization; and the two of SnapStart, https://docs.aws.amazon.com/lambda/latest/dg/
snapstart-runtime-hooks-custom.html: waiting in the snapshot, and a failed restore. Decisions are made by the owner of
the two queues.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

_API = "/2018-06-01/runtime"
_ARN = "arn:aws:lambda:eu-central-1:123456789012:function:under-test"


@dataclass(frozen=True, slots=True)
class Work:
    """One invocation for the runtime."""

    request_id: str
    event: bytes
    deadline_ms: int


@dataclass(frozen=True, slots=True)
class Report:
    """Message of the runtime, or the end of its process (``body`` is then the exit status).

    ``request_id`` of an error outside of invocations is ``init`` or ``restore``. ``taken_s``: seconds from handing out
    the work to receiving the result.
    """

    kind: Literal["snapshot", "ready", "response", "error", "exit"]
    body: bytes = b""
    request_id: str = ""
    taken_s: float = 0.0


class RuntimeApi(ThreadingHTTPServer):
    """The Lambda Runtime API for one process."""

    daemon_threads = True

    def __init__(self, work: queue.Queue[Work | None], reports: queue.Queue[Report]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.work = work
        self.reports = reports
        self.is_ready = False
        self.handed_out_at = 0.0
        self.restored = threading.Event()
        """Set when a process that waits in its snapshot may continue."""

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log nothing: the only errors here are those of a process that was killed while it was responding."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # headers and body in one piece: in two, each answer waits 40 ms for a delayed acknowledgement
    server: RuntimeApi

    def do_GET(self) -> None:
        """Respond to ``/invocation/next`` and ``/restore/next`` when there is work or a restore, however late."""
        if self.path == f"{_API}/restore/next":
            self.server.reports.put(Report("snapshot"))
            self.server.restored.wait()
            return self._answer(200, b"", {})
        if self.path != f"{_API}/invocation/next":
            return self.send_error(404)
        if not self.server.is_ready:
            self.server.is_ready = True
            self.server.reports.put(Report("ready"))
        work = self.server.work.get()
        if work is None:
            self.close_connection = True
            return None
        self.server.handed_out_at = time.perf_counter()
        return self._answer(
            200,
            work.event,
            {
                "Lambda-Runtime-Aws-Request-Id": work.request_id,
                "Lambda-Runtime-Deadline-Ms": str(work.deadline_ms),
                "Lambda-Runtime-Invoked-Function-Arn": _ARN,
                "Lambda-Runtime-Trace-Id": "Root=1-00000000-000000000000000000000000;Sampled=0",
            },
        )

    def do_POST(self) -> None:
        """Accept ``/invocation/<id>/response``, ``/invocation/<id>/error``, ``/init/error`` and ``/restore/error``."""
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        taken_s = time.perf_counter() - self.server.handed_out_at
        *start, subject, what = self.path.split("/")
        kind: Literal["response", "error"] = "response" if what == "response" else "error"
        if "/".join(start) not in (_API, f"{_API}/invocation") or what not in ("response", "error"):
            return self.send_error(404)
        self.server.reports.put(Report(kind, body, subject, taken_s))
        return self._answer(202, b'{"status":"OK"}', {})

    def _answer(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: a line per request would hide the function's own log."""
