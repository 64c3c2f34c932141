"""A Lambda execution environment without AWS and without containers.

The function runs in AWS's own runtime client (``awslambdaric``), as an ordinary process; ``RuntimeApi`` is the service
that it connects to. Start-up, crashes, time-outs and the size limit of a result are therefore real; memory, CPU and the
read-only file system are not imitated. With ``AWS_LAMBDA_INITIALIZATION_TYPE=snap-start`` the process waits in its
snapshot between its hooks, until it is restored; it is the same process, not a copy.

    with LambdaRuntime(function=Path("build/Fn"), layers=[Path("build/Layer")], python=Path("bin/python")) as runtime:
        result = runtime.invoke({"version": "2.0", ...})
        with runtime.serve_http() as url:
            ...  # any HTTP client; each request becomes an API Gateway event
"""

import json
import os
import queue
import signal
import subprocess
import tempfile
import threading
import time
import uuid
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from tests.support import http_api
from tests.support.local_server import Handler, LocalServer
from tests.support.waiting import PATIENCE_S

START_LIMIT_S = PATIENCE_S
"""Limit of the initialization, and of a restore with its hooks. Lambda's is 10 s; this machine may be busy."""

ANSWER_LIMIT_BYTES = 6_291_556
"""The largest result of a synchronous invocation: 6 MB, plus Lambda's allowance for its envelope."""


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


class RuntimeApi(LocalServer):
    """The Lambda Runtime API for one process; decisions are made by the owner of the two queues.

    Endpoints: https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html, and those of SnapStart in
    https://docs.aws.amazon.com/lambda/latest/dg/snapstart-runtime-hooks-custom.html.
    """

    def __init__(self, work: queue.Queue[Work | None], reports: queue.Queue[Report]) -> None:
        super().__init__(_Handler)
        self.work = work
        self.reports = reports
        self.is_ready = False
        self.handed_out_at = 0.0
        self.restored = threading.Event()
        """Set when a process that waits in its snapshot may continue."""


class _Handler(Handler):
    server: RuntimeApi

    def do_GET(self) -> None:
        """Respond to ``/invocation/next`` and ``/restore/next`` when there is work or a restore, however late."""
        if self.path == f"{_API}/restore/next":
            self.server.reports.put(Report("snapshot"))
            self.server.restored.wait()
            return self.reply(200, {}, b"")
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
        headers = {
            "Content-Type": "application/json",
            "Lambda-Runtime-Aws-Request-Id": work.request_id,
            "Lambda-Runtime-Deadline-Ms": str(work.deadline_ms),
            "Lambda-Runtime-Invoked-Function-Arn": _ARN,
            "Lambda-Runtime-Trace-Id": "Root=1-00000000-000000000000000000000000;Sampled=0",
        }
        return self.reply(200, headers, work.event)

    def do_POST(self) -> None:
        """Accept ``/invocation/<id>/response``, ``/invocation/<id>/error``, ``/init/error`` and ``/restore/error``."""
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        taken_s = time.perf_counter() - self.server.handed_out_at
        *start, subject, what = self.path.split("/")
        kind: Literal["response", "error"] = "response" if what == "response" else "error"
        if "/".join(start) not in (_API, f"{_API}/invocation") or what not in ("response", "error"):
            return self.send_error(404)
        self.server.reports.put(Report(kind, body, subject, taken_s))
        return self.reply(202, {"Content-Type": "application/json"}, b'{"status":"OK"}')


class FunctionError(Exception):
    """A failed invocation, as the ``X-Amz-Function-Error`` header reports it.

    ``error_type`` is the class of an exception in the handler, or one of Lambda's own: ``Runtime.ExitError``,
    ``Sandbox.Timedout``, ``Function.ResponseSizeTooLarge``. ``payload`` is the JSON that the caller of the function
    gets: ``errorType``, ``errorMessage`` and, for an exception, ``stackTrace``.
    """

    def __init__(self, payload: Mapping[str, Any]) -> None:
        super().__init__(f"{payload.get('errorType')}: {payload.get('errorMessage')}")
        self.payload = payload
        self.error_type = str(payload.get("errorType"))


class LambdaRuntime:
    """A function with its layers, invoked one event at a time, in a new process after each crash or time-out.

    As in Lambda, the process starts with the first invocation and is reused for the next ones. Concurrent callers wait
    for each other.

    Args:
        function: Folder of the handler.
        layers: Folders of the layers.
        python: Interpreter with only the runtime client and boto3, so that a package missing from the layers is
            missing.
        handler: Module and function.
        environment: All variables of the process beside what Lambda sets.
        timeout_s: Seconds that an invocation may take.
        memory_mb: The value of the memory setting; it has no effect.
        managed: Folders with the packages of the managed runtime, searched before those of ``python``.
        launcher: Command that is given the one of the process, and runs it.
    """

    def __init__(
        self,
        *,
        function: Path,
        layers: Sequence[Path],
        python: Path,
        handler: str = "app.handler",
        environment: Mapping[str, str] | None = None,
        timeout_s: float = 29.0,
        memory_mb: int = 512,
        managed: Sequence[Path] = (),
        launcher: Sequence[str] = (),
    ) -> None:
        self.timeout_s = timeout_s
        self.init_times_s: list[float] = []
        """Seconds from the start of a process to its first request for an event, one entry per process."""
        self.duration_s = 0.0
        """Seconds of the last invocation, from handing out the event to receiving the result."""
        self._command = [*launcher, str(python), "-m", "awslambdaric", handler]
        self._function = function
        self.variables: Mapping[str, str] = {
            **_lambda_variables(function, layers, handler, memory_mb, managed),
            **{name: _in_layer(value, layers) for name, value in (environment or {}).items()},
        }
        """The whole environment of the process, without the address of the Runtime API."""
        # A file, not a pipe: as in Lambda, the log takes no time of the process that waits for the answer.
        self._log, path = tempfile.mkstemp()
        os.unlink(path)
        weakref.finalize(self, os.close, self._log)
        self._process: _Process | None = None
        self._is_frozen = False
        self._one_at_a_time = threading.RLock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.stop()

    @property
    def log(self) -> list[str]:
        """All lines that the function has written so far, in all its processes."""
        written = os.pread(self._log, os.fstat(self._log).st_size, 0)
        return [line.decode(errors="replace") for line in written.splitlines()]

    @property
    def pid(self) -> int:
        """The id of the running process.

        Raises:
            RuntimeError: No process is running.
        """
        if self._process is None:
            raise RuntimeError("no process was started")
        return self._process.pid

    def start(self) -> None:
        """Start the process before the first invocation, unless it is running; with SnapStart, up to its snapshot.

        Raises:
            FunctionError: The handler cannot be imported, or its import took too long.
        """
        with self._one_at_a_time:
            if self._process is not None and self._process.is_running:
                return
            self.stop()
            started = time.perf_counter()
            self._process = _Process(self._command, self._function, self.variables, self._log)
            report = self._process.next_report(START_LIMIT_S)
            if report is None or report.kind not in ("ready", "snapshot"):
                self.stop()
                raise FunctionError(_failure(report, "init", START_LIMIT_S))
            self._is_frozen = report.kind == "snapshot"
            self.init_times_s.append(time.perf_counter() - started)

    def restore(self) -> None:
        """Continue the process from its snapshot, unless it is running.

        Raises:
            FunctionError: A hook failed, or took too long.
        """
        with self._one_at_a_time:
            self.start()
            if not self._is_frozen:
                return
            assert self._process is not None
            self._process.restore()
            report = self._process.next_report(START_LIMIT_S)
            if report is None or report.kind != "ready":
                self.stop()
                raise FunctionError(_failure(report, "restore", START_LIMIT_S))
            self._is_frozen = False

    def stop(self) -> None:
        """Stop the process, if there is one; the next invocation starts another."""
        with self._one_at_a_time:
            if self._process is not None:
                self._process.close()
                self._process = None

    def update_environment(self, **variables: str) -> None:
        """Change environment variables; as in Lambda, this stops the running process."""
        self.stop()
        self.variables = {**self.variables, **variables}

    def invoke(self, event: Mapping[str, Any]) -> Any:
        """Return the handler's result for ``event``, both encoded as JSON as in Lambda.

        Raises:
            FunctionError: The handler raised, the process ended, the time was up, or the result is too large.
        """
        with self._one_at_a_time:
            self.restore()
            assert self._process is not None
            work = Work(str(uuid.uuid4()), json.dumps(event).encode(), int((time.time() + self.timeout_s) * 1000))
            self._process.send(work)
            report = self._process.next_report(self.timeout_s)
            if report is None or report.kind == "exit":
                self.stop()
                raise FunctionError(_failure(report, work.request_id, self.timeout_s))
        self.duration_s = report.taken_s
        if report.kind == "error":
            raise FunctionError(json.loads(report.body))
        if len(report.body) > ANSWER_LIMIT_BYTES:
            message = f"Response payload size ({len(report.body)} bytes) exceeded maximum allowed payload size."
            raise FunctionError({"errorType": "Function.ResponseSizeTooLarge", "errorMessage": message})
        return json.loads(report.body)

    @contextmanager
    def serve_http(self, path: str = "/mcp") -> Iterator[str]:
        """Serve the function like an API Gateway HTTP API with the one route ``ANY path``; yield its URL.

        A failed invocation becomes a 500 with API Gateway's own body.
        """

        def answer(event: Mapping[str, Any]) -> Any:
            try:
                return self.invoke(event)
            except FunctionError:
                return http_api.INTERNAL_ERROR

        with http_api.serve(answer, path) as url:
            yield url


class _Process:
    """One execution environment: a process with the runtime client, and its own Runtime API."""

    def __init__(self, command: list[str], folder: Path, variables: Mapping[str, str], log: int) -> None:
        self._work: queue.Queue[Work | None] = queue.Queue()
        self._reports: queue.Queue[Report] = queue.Queue()
        self._api = RuntimeApi(self._work, self._reports)
        self._popen = subprocess.Popen(
            command,
            cwd=folder,
            env={**variables, "AWS_LAMBDA_RUNTIME_API": f"127.0.0.1:{self._api.server_port}"},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # a group of its own, so that what the handler may have started ends with it
        )
        self._api.__enter__()
        self._exit_thread = threading.Thread(target=self._report_exit, daemon=True)
        self._exit_thread.start()

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def is_running(self) -> bool:
        return self._popen.poll() is None

    def send(self, work: Work) -> None:
        self._work.put(work)

    def restore(self) -> None:
        self._api.restored.set()

    def next_report(self, timeout_s: float) -> Report | None:
        """Return the next message of the process, or None after ``timeout_s`` seconds without one."""
        with suppress(queue.Empty):
            return self._reports.get(timeout=timeout_s)
        return None

    def close(self) -> None:
        with suppress(ProcessLookupError):  # the process and all that it started have ended already
            os.killpg(self._popen.pid, signal.SIGKILL)
        self._popen.wait()
        self._api.restored.set()  # as below
        self._work.put(None)  # frees the thread that waits for work on behalf of the process
        self._api.__exit__()
        self._exit_thread.join()

    def _report_exit(self) -> None:
        self._reports.put(Report("exit", str(self._popen.wait()).encode()))


def _lambda_variables(
    function: Path, layers: Sequence[Path], handler: str, memory_mb: int, managed: Sequence[Path]
) -> dict[str, str]:
    """Return the environment variables that Lambda itself sets, as far as a handler may read them."""
    return {
        "PATH": os.pathsep.join([os.defpath, *(str(layer / "bin") for layer in layers)]),
        "PYTHONPATH": os.pathsep.join(map(str, [function, *(layer / "python" for layer in layers), *managed])),
        "PYTHONDONTWRITEBYTECODE": "1",  # code is mounted read-only there: no .pyc appears after the build
        "LANG": "en_US.UTF-8",
        "TZ": ":UTC",
        "LAMBDA_TASK_ROOT": str(function),
        "_HANDLER": handler,
        "AWS_EXECUTION_ENV": "AWS_Lambda_python3.13",
        "AWS_LAMBDA_FUNCTION_NAME": "under-test",
        "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(memory_mb),
        "AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand",
        "AWS_REGION": "eu-central-1",
        "AWS_DEFAULT_REGION": "eu-central-1",
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_SESSION_TOKEN": "testing",
    }


def _in_layer(value: str, layers: Sequence[Path]) -> str:
    """Return the file of a layer that a variable names below ``/opt``, where Lambda has the layers; else ``value``."""
    if not value.startswith("/opt/"):
        return value
    return next((str(path) for layer in layers if (path := layer / value.removeprefix("/opt/")).exists()), value)


def _failure(report: Report | None, request_id: str, limit_s: float) -> Mapping[str, Any]:
    """Return the payload of a failure: the runtime's own, or Lambda's for a process that is silent or has ended."""
    if report is None:
        message = f"RequestId: {request_id} Error: Task timed out after {limit_s:.2f} seconds"
        return {"errorType": "Sandbox.Timedout", "errorMessage": message}
    if report.kind == "exit":
        message = f"RequestId: {request_id} Error: Runtime exited with status {report.body.decode()}"
        return {"errorType": "Runtime.ExitError", "errorMessage": message}
    payload: Mapping[str, Any] = json.loads(report.body)
    return payload
