"""The processes in which scripts run, and the limits of a script.

``pydantic-monty`` is an interpreter of a Python subset without files, network, environment and modules of the host. It
runs in worker processes: one that ends, or that does not stop at its limit, is replaced. A session has nothing of the
session before it. States of scripts are never loaded: there is no way to pass one.

The interpreter is a program, ``monty``, which the package finds on ``PATH``; on Lambda it is in ``/opt/bin``. A process
needs neither files nor shared memory, so it runs on Lambda, which freezes it with the rest of the environment.

What a script returns becomes JSON here. A look at its text finds where it makes several calls at once: a call that is
not found is made at once, with the same result.
"""

from __future__ import annotations

import ast
import contextlib
import logging
import math
import os
import re
import signal
import threading
import time
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from toolfold.errors import CallError, ScriptError, ScriptLimit, ScriptsUnavailable, ScriptSyntax
from toolfold.extras import how_to_add
from toolfold.messages import SEE_LOG, TELL_OPERATOR_TO
from toolfold.wording import joined

if TYPE_CHECKING:
    import pydantic_monty

logger = logging.getLogger("toolfold")

_GRACE_S = 0.05
"""After its limit, a process that has not stopped is ended."""

_MAX_PROCESSES = max(2, os.cpu_count() or 2)
_WITHOUT = "Use TOOL_BATCH or TOOL_PIPE, which work without it."


def start_processes() -> pydantic_monty.Monty:
    """Start the first process.

    Raises:
        ScriptsUnavailable: the package is missing, or no process starts.
    """
    try:
        import pydantic_monty as monty
    except ImportError:
        raise ScriptsUnavailable(
            "Scripts cannot be run here: a package is missing.",
            joined(TELL_OPERATOR_TO.filled(do=f"{how_to_add('scripts')}."), _WITHOUT),
        ) from None
    pool = monty.Monty(
        min_processes=1,
        max_processes=_MAX_PROCESSES,
        checkout_timeout=5.0,
        feed_duration_limit_grace=_GRACE_S,
        turn_duration_limit_grace=_GRACE_S,
    )
    try:
        return pool.__enter__()
    except Exception as error:  # noqa: BLE001 - of the operating system: no memory, no right to start a process
        logger.error("the process of scripts does not start: %s", ascii(str(error)[:_MAX_MESSAGE]))
        raise ScriptsUnavailable(
            "Scripts cannot be run here: their process does not start.", joined(SEE_LOG.filled(what="why"), _WITHOUT)
        ) from None


MAX_SCRIPT_BYTES = 32_768
MAX_SCRIPT_S = 5.0
"""Time that a script computes; waiting for calls does not count."""

MAX_MEMORY_BYTES = 64 << 20
MAX_PRINTED_CHARS = 20_000
"""Characters that a script prints: more than a model reads of it."""

_MAX_RECURSION = 200
_MAX_SUSPENSIONS = 2_000
"""Calls, look-ups of names and imports of one script: fifty calls and what a loop of look-ups takes."""

_UNSUPPORTED = re.compile(r"The monty syntax parser does not yet support (.{1,100})")

_MAX_MESSAGE = 300
"""Characters of a message of the interpreter in an error or the log."""


_GATHER = """
def gather(*calls, return_exceptions=False):
    import asyncio

    async def settled(value):
        if type(value).__name__ != "coroutine":
            return value
        try:
            return await value
        except RuntimeError as error:
            if not return_exceptions:
                raise
            code, _, message = str(error).partition(": ")
            return {"error": {"code": code, "message": message}}

    async def together(values):
        return await asyncio.gather(*[settled(value) for value in values])

    only = calls[0] if len(calls) == 1 else None
    return asyncio.run(together(only if isinstance(only, (list, tuple)) else calls))
"""
"""``gather`` without ``await``, of calls and of other values: the interpreter's own takes no ``return_exceptions``."""


class ScriptCall(NamedTuple):
    """A function of the host that a script calls.

    Attributes:
        function: its name, with that of a module before it.
        start: byte of the script at which the call begins.
        id: by which the result of an awaited call is requested.
    """

    function: str
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    start: int
    id: int


class Output:
    """What a script prints, up to a limit, at which its process is ended: it would print until its time is over.

    Attributes:
        text: what was printed.
        is_full: whether the script has printed more.
        process_id: of the process of the script.
    """

    def __init__(self) -> None:
        self.text, self.is_full = "", False
        self.process_id: int | None = None

    def __call__(self, _stream: str, text: str) -> None:
        """Add a text; where it is too long, end the process and raise: the script may have ended before that."""
        self.text, self.is_full = (self.text + text)[:MAX_PRINTED_CHARS], len(self.text + text) > MAX_PRINTED_CHARS
        if self.is_full:
            process_id, self.process_id = self.process_id, None
            if process_id:
                with contextlib.suppress(OSError):
                    os.kill(process_id, getattr(signal, "SIGKILL", signal.SIGTERM))
            raise OverflowError


class Host(Protocol):
    """What a script can reach: the one that makes its calls.

    Attributes:
        modules: modules that the script may use → the names of their functions, each with that of its tool.
        printed: collects what the script prints.
    """

    modules: Mapping[str, Mapping[str, str]]
    printed: Output

    def call(self, called: ScriptCall) -> Any:
        """Return what a call returns or its error; :data:`LATER` for one that is awaited. May raise a ``CallError``."""

    def settle(self, ids: Collection[int]) -> Mapping[int, Any]:
        """Return the results of awaited calls, or the exceptions that they raise, by their ids."""


class Interpreter:
    """Runs scripts. One for a process; safe to use from many threads."""

    def __init__(self) -> None:
        self._pool: pydantic_monty.Monty | None = None
        self._lock = threading.Lock()

    def run(self, script: str, inputs: Mapping[str, Any], host: Host, deadline: float) -> Any:
        """Run a script and return the value of its last expression.

        Args:
            script: the text.
            inputs: name → value.
            host: makes its calls.
            deadline: ``time.monotonic()`` at which the script must end.

        Raises:
            ScriptSyntax: it cannot be parsed.
            ScriptError: it ended with an exception.
            ScriptLimit: it was stopped.
            ScriptsUnavailable: there is no interpreter.
            CallError: what the host raised, where the script did not catch it.
        """
        with self._lock:
            if self._pool is None:
                self._pool = start_processes()
            pool = self._pool
        import pydantic_monty as monty

        run = _Run(monty, host, deadline)
        limits: Any = {
            "max_feed_duration_secs": max(0.01, min(MAX_SCRIPT_S, deadline - time.monotonic())),
            "max_memory": MAX_MEMORY_BYTES,
            "max_recursion_depth": _MAX_RECURSION,
            "max_suspensions": _MAX_SUSPENSIONS,
            "max_total_sleep_secs": 0.0,
        }
        hosted = {
            name: monty.ExternalModule(dict.fromkeys(functions, _named(name)))
            for name, functions in host.modules.items()
        }
        try:
            with contextlib.ExitStack() as stack:
                # A process may have ended since the last script, as while Lambda kept the environment.
                for attempts_left in range(_MAX_PROCESSES, -1, -1):
                    checkout = pool.checkout(script_name="script.py", limits=limits, external_modules=hosted)
                    try:
                        session = stack.enter_context(checkout)
                        break
                    except monty.MontyCrashedError:
                        if not attempts_left:
                            raise
                host.printed.process_id = session.worker_pid
                session.feed_run(_GATHER + "".join(f"import {module}\n" for module in hosted))
                return run.drive(session.feed_start(script, inputs=dict(inputs), print_callback=host.printed))
        except monty.MontySyntaxError as error:
            raise ScriptSyntax(
                f"The script cannot be parsed: {_message(error)}.",
                "A script is Python; its last expression is the result. Correct this line; nothing was called.",
                line=_line(error),
            ) from None
        except monty.MontyRuntimeError as error:
            raise run.explain(error) from None
        except monty.MontyConversionError as error:
            raise ScriptError(
                f"A value cannot be passed to the script: {_message(error)}.", "Send inputs as JSON.", line=1
            ) from None
        except monty.MontyCrashedError as error:
            raise limit_error("output" if host.printed.is_full else "time" if error.timed_out else "memory") from None


LATER = object()
"""Returned for a call whose result is awaited."""


_SCRIPT = "<python-input-1>"
"""What the interpreter calls the script, which it reads after ``gather`` and the imports."""


class _Run:
    """One script as it runs."""

    def __init__(self, monty: Any, host: Host, deadline: float) -> None:
        self._monty, self._host, self._deadline = monty, host, deadline
        self._raised: dict[str, CallError] = {}

    def drive(self, step: Any) -> Any:
        """Answer what the script requests until it ends, and return its result."""
        monty = self._monty
        while not isinstance(step, monty.MontyComplete):
            if time.monotonic() >= self._deadline:
                raise limit_error("deadline")
            if isinstance(step, monty.NameLookupSnapshot):
                name = step.variable_name
                step = step.resume(value=_named(name)) if name == "call" else step.resume()
            elif isinstance(step, monty.FutureSnapshot):
                settled = self._host.settle(step.pending_call_ids)
                step = step.resume({id_: self._outcome(value) for id_, value in settled.items()})
            elif step.is_os_function:
                step = step.resume_auto() if step.function_name == "import" else step.resume_not_handled()
            else:
                step = step.resume(self._answer(step))
        return step.output

    def explain(self, error: Any) -> CallError:
        """Return the error for an exception that ended a script."""
        inner, message, line = error.exception(), _message(error), _line(error)
        if self._host.printed.is_full:
            return limit_error("output")
        for exception, part, limit in _STOPPED:
            if isinstance(inner, exception) and part in message:
                is_late = limit == "time" and time.monotonic() >= self._deadline
                return limit_error("deadline" if is_late else limit)
        if isinstance(inner, NotImplementedError) and (found := _UNSUPPORTED.match(message)) is not None:
            return ScriptSyntax(
                f"The script cannot be parsed: scripts have no {found[1]}.",
                "Scripts are a subset of Python: write this line without it; nothing was called.",
                line=line,
            )
        raised = next((found for text, found in self._raised.items() if text in str(inner)), None)
        if raised is not None:
            return raised.changed(line=line)
        return ScriptError(
            f"Line {line}: {type(inner).__name__}: {message}.",
            "Correct the script and send it again.",
            line=line,
            exception=type(inner).__name__,
        )

    def _answer(self, step: Any) -> dict[str, Any]:
        # A text that the script evaluates has places of its own.
        start = step.position.start if step.position.filename == _SCRIPT else -1
        called = ScriptCall(str(step.function_name), tuple(step.args), dict(step.kwargs), start, step.call_id)
        try:
            value = self._host.call(called)
        except ScriptLimit:
            raise
        except CallError as error:
            return self._outcome(error)
        return {"future": ...} if value is LATER else self._outcome(value)

    def _outcome(self, value: Any) -> dict[str, Any]:
        if not isinstance(value, CallError):
            return {"return_value": value}
        text = f"{value.code}: {value.message} {value.suggestion}"[:2000]
        self._raised[text] = value
        return {"exception": RuntimeError(text)}


_STOPPED: tuple[tuple[type[Exception], str, str], ...] = (
    (TimeoutError, "sleep", "sleep"),
    (TimeoutError, "limit exceeded", "time"),
    (RecursionError, "", "recursion"),
    (MemoryError, "limit", "memory"),
    (RuntimeError, "suspension limit", "suspensions"),
)
"""Exception of the interpreter, with a part of its message, that says at which limit a script was stopped."""


def limit_error(limit: str) -> ScriptLimit:
    """Return the error for a script that was stopped at ``limit``."""
    message, suggestion = _LIMITS[limit]
    return ScriptLimit(message, suggestion, limit=limit)


_LIMITS: Mapping[str, tuple[str, str]] = {
    "time": (f"The script computed for more than {MAX_SCRIPT_S:g} seconds.", "Compute less; use select in its calls."),
    "memory": (f"The script needs more than {MAX_MEMORY_BYTES >> 20} MB.", "Use select in its calls, for less data."),
    "calls": ("The script makes more than 50 calls.", "Make fewer; the answers so far are cached."),
    "suspensions": (f"The script has more than {_MAX_SUSPENSIONS:,} calls and look-ups of names.", "Do less in loops."),
    "recursion": (f"Functions of the script call each other deeper than {_MAX_RECURSION} levels.", "Use a loop."),
    "sleep": ("A script cannot sleep.", "Leave it out; calls wait for what they need."),
    "output": (f"The script printed more than {MAX_PRINTED_CHARS:,} characters.", "Print less; return a result."),
    "result": ("The result of the script is too large.", "Return less: a few rows or figures."),
    "script": (f"The script has more than {MAX_SCRIPT_BYTES:,} bytes.", "Send a shorter one; pass data in inputs."),
    "deadline": ("The time of one call was over before the script ended.", "Do less in one; answers are cached."),
}
"""Limit → message and next step."""


def _line(error: Any) -> int:
    frames = error.traceback()
    return int(frames[0].line) if frames else 1


def _message(error: Any) -> str:
    text = str(error.display("msg")) if hasattr(error, "display") else str(error)
    return " ".join(text.split())[:_MAX_MESSAGE].rstrip(".")


def _named(name: str) -> Callable[..., None]:
    """Return what represents a function of the host: :meth:`_Run.drive` answers its calls."""

    def function(*_args: Any, **_kwargs: Any) -> None: ...

    function.__name__ = function.__qualname__ = name
    return function


_FILE = "<script>"
warnings.filterwarnings("ignore", module=_FILE)  # about a text that this process does not run


def find_calls(script: str) -> frozenset[int]:
    """Return the bytes of a script at which the calls begin that it makes at the same time.

    They are behind ``await``, or inside the parentheses of ``gather``. None of a text that Python cannot parse.
    """
    if "gather" not in script and "await" not in script:
        return frozenset()
    try:
        nodes = list(ast.walk(ast.parse(script, _FILE)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset()  # the interpreter reports what is wrong with the text
    lines = [0, *(end.end() for end in re.finditer(rb"\r\n?|\n", script.encode()))]
    found = set[int]()
    for node in nodes:
        together: Iterable[ast.AST] = ()
        if isinstance(node, ast.Await):
            together = (node.value,)
        elif isinstance(node, ast.Call) and "gather" in (getattr(node.func, "id", ""), getattr(node.func, "attr", "")):
            together = ast.walk(node)
        found.update(lines[one.lineno - 1] + one.col_offset for one in together if isinstance(one, ast.Call))
    return frozenset(found)


_MAX_CHARS = 5_000_000
"""Characters of a result; a Lambda function returns at most 6 MB."""

_CHARS_OF_VALUE = 16
"""What each value counts as, beside its text: a table may have 10,000 rows and 20 columns."""

_MAX_DEPTH = 60
_MAX_DIGITS = 1_000
"""Digits of a whole number; a longer one takes seconds to write."""


def to_json(value: Any) -> Any:
    """Return a value of a script as JSON.

    Tuples and sets become lists, keys texts, objects of a class their attributes, and what JSON has no form for text.

    Raises:
        ScriptLimit: it has too many values or characters, or is nested too deeply.
    """
    left = _MAX_CHARS

    def counted(text: str) -> str:
        nonlocal left
        left -= len(text) + _CHARS_OF_VALUE
        if left < 0:
            raise limit_error("result")
        return text

    def convert(value: Any, depth: int) -> Any:
        if isinstance(value, str):
            return counted(value)
        if isinstance(attributes := getattr(value, "attributes", None), dict):  # of a class of the script
            value = attributes
        counted("")
        if depth > _MAX_DEPTH or (isinstance(value, int) and value.bit_length() > 4 * _MAX_DIGITS):
            raise limit_error("result")
        if value is None or isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value)):
            return value
        if isinstance(value, dict):
            return {counted(str(key)): convert(item, depth + 1) for key, item in value.items()}
        if isinstance(value, list | tuple | set | frozenset):
            return [convert(item, depth + 1) for item in value]
        return counted(str(value))

    return convert(value, 0)
