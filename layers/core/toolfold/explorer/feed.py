"""The calls and requests of this process, and those of a log, for the page.

The last ones are kept in memory, each with a number by which the page requests what is new. Queries that found nothing
are kept here and nowhere else: no log has the words of a request.
"""

from __future__ import annotations

import itertools
import json
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeAlias

from cachetools import LRUCache

from toolfold.errors import CallError
from toolfold.execution.call import Middleware
from toolfold.log_analysis.figures import Figures, as_json, is_of_call, is_of_request, number
from toolfold.log_analysis.follower import LogFollower

if TYPE_CHECKING:
    from toolfold.app import App
    from toolfold.execution.call import CallContext, CallResult

MAX_ENTRIES = 500
"""Calls, and as many requests, that are kept. A page that is open reads each within a second or two."""

_MAX_QUERIES, _MAX_QUERY_CHARS = 100, 500
_MAX_TIMES = 10_000
"""Times in requests whose median is shown: sorting them takes a millisecond."""

_MAX_OWN_LINES = 20_000
"""Lines that this process has written and not read yet: some 6 MB, while no page is open."""

_MAX_TEXT = 100
"""Characters of a name or a code of a log line: a file may contain anything."""

_Entry: TypeAlias = dict[str, Any]

_calls: ContextVar[list[_Entry] | None] = ContextVar("watched_calls", default=None)
"""The entries of the calls that the current request has made."""

_NOTHING = {"code": "", "ms": 0, "upstream_ms": None, "cache": "", "tokens": None, "saved": None, "profile": ""}
"""What is known of a call before it has ended."""


class CallFeed(Middleware):
    """Keep the last calls and requests in memory, and those of the log that the settings of the App name."""

    def __init__(self) -> None:
        self._log: LogFollower | None = None
        self._app: App | None = None
        self._own_lines: LRUCache[str, int] = LRUCache(_MAX_OWN_LINES)
        self._lock, self._log_lock = threading.Lock(), threading.Lock()
        self._numbers = itertools.count(1)
        self._last = 0
        self._running: dict[CallContext, tuple[_Entry, float]] = {}
        self._calls: deque[_Entry] = deque(maxlen=MAX_ENTRIES)
        self._requests: deque[_Entry] = deque(maxlen=MAX_ENTRIES)
        self._empty_searches: deque[_Entry] = deque(maxlen=_MAX_QUERIES)
        self._limits: dict[str, float] = {}
        self._figures = Figures(times_ms=deque(maxlen=_MAX_TIMES))

    def observe(self, app: App) -> None:
        """Watch the calls of ``app``. The lines that it appends to its log are not counted again."""
        self._app = app
        app.executor.on_request = self.start_request
        app.executor.middleware = (self, *app.executor.middleware)
        if self._log is None and app.settings.call_log:
            self._log = LogFollower(app.settings.call_log)
        if app.call_log is not None:
            app.call_log.on_line = self._note_own_line

    def start_request(
        self, name: str, arguments: Mapping[str, Any], profile: str
    ) -> Callable[[Mapping[str, Any]], None]:
        """Note that a call of a meta-tool begins; see :attr:`~toolfold.execution.executor.ToolExecutor.on_request`."""
        started, calls = time.perf_counter(), list[_Entry]()
        token = _calls.set(calls)
        # Clients that use another name for it have one text among the arguments.
        query = arguments.get("query") or next((text for text in arguments.values() if isinstance(text, str)), None)

        def end(fields: Mapping[str, Any]) -> None:
            _calls.reset(token)
            if fields.get("searched") and not fields.get("matched"):
                texts = query[:_MAX_QUERIES] if isinstance(query, list) else [query]
                found = [text[:_MAX_QUERY_CHARS] for text in texts if isinstance(text, str) and text.strip()]
                with self._lock:
                    self._empty_searches.extend({"time": self._time(), "query": text} for text in found)
            ms = (time.perf_counter() - started) * 1000
            line = {"message": "request", "tool": name, "ms": ms, **fields, "profile": profile}
            self._add_request(line, self._time(), calls)

        return end

    def before(self, call: CallContext) -> None:
        """Note that a call of a tool begins."""
        entry = {**_NOTHING, "tool": call.tool.name, "source": call.tool.source, "profile": call.credentials.profile}
        with self._lock:
            entry["id"] = str(next(self._numbers))
            self._running[call] = entry, time.perf_counter()

    def after(self, call: CallContext, result: CallResult) -> CallResult:
        """Note a call that has succeeded."""
        self._end(call, "OK")
        return result

    def error(self, call: CallContext, error: CallError) -> CallError:
        """Note a call that has failed."""
        self._end(call, error.code)
        return error

    def _end(self, call: CallContext, code: str) -> None:
        log, calls = call.log, _calls.get()
        with self._lock:
            entry, started = self._running.pop(call)
            entry.update(code=code, ms=round((time.perf_counter() - started) * 1000, 1))
            if log.is_counted:
                entry.update(cache=log.cache, upstream_ms=round(log.upstream_s * 1000, 1) if log.requests else None)
                self._count_call({"timestamp": self._time(), **log.fields(), "code": code}, log.source)
            self._append(self._calls, self._time(), entry)
            if calls is not None:
                calls.append(entry)

    def add_line(self, line: Mapping[str, Any]) -> None:
        """Add the line of a log of another process; lines of other kinds change nothing."""
        line = {name: value[:_MAX_TEXT] if isinstance(value, str) else value for name, value in line.items()}
        at = line["timestamp"] if isinstance(line.get("timestamp"), str) else ""
        # One line may be both. Its request comes first, without the call, which is counted below.
        if is_of_request(line):
            self._add_request({name: value for name, value in line.items() if name != "cache"}, at, [])
        if is_of_call(line):
            tool = line["inner_tool"] if isinstance(line.get("inner_tool"), str) else ""
            source = self._source_of(tool)
            upstream_ms = number(line, "upstream_ms")
            entry = {
                **_NOTHING,
                "tool": tool,
                "source": source,
                "code": line["code"],
                "ms": round(upstream_ms + number(line, "wait_ms"), 1),
                "upstream_ms": upstream_ms if line.get("upstream_requests") else None,
                "cache": line["cache"],
            }
            with self._lock:
                self._count_call(line, source)
                self._append(self._calls, at, entry)

    def snapshot(self, after: int) -> dict[str, Any]:
        """Return what the page shows: entries with a number above ``after``, and the state of all else."""
        self._read_log()
        now = time.perf_counter()
        with self._lock:
            after = after if after <= self._last else 0  # a number of an earlier process
            return {
                "next": self._last,
                "running": [
                    {"id": entry["id"], "tool": entry["tool"], "source": entry["source"],
                     "ms": round((now - started) * 1000)}
                    for entry, started in self._running.values()
                ],
                "calls": [dict(entry) for entry in self._calls if int(entry["id"]) > after],
                "requests": [dict(entry) for entry in self._requests if int(entry["id"]) > after],
                "figures": as_json(self._figures),
                "limits": [{"source": name, "used_percent": used} for name, used in sorted(self._limits.items())],
                "empty_searches": list(self._empty_searches),
                "log": None if self._log is None else {
                    "file": self._log.path, "lines": self._log.lines,
                    "problem": self._log.problem, "is_complete": self._log.is_complete,
                },
            }  # fmt: skip

    def _read_log(self) -> None:
        """Add what is new in the log, and was not written by this process: its calls and requests are here already."""
        if self._log is None:
            return
        with self._log_lock:
            for line in self._log.read():
                text = json.dumps(line)
                with self._lock:
                    count = self._own_lines.pop(text, 0)
                    if count > 1:
                        self._own_lines[text] = count - 1
                if not count:
                    self.add_line(line)

    def _note_own_line(self, line: str) -> None:
        with self._lock:
            self._own_lines[line] = self._own_lines.get(line, 0) + 1

    def _source_of(self, name: str) -> str:
        """Return the id of the source of a tool, which lines of a log do not have; empty for an unknown one."""
        try:
            tool = None if self._app is None else self._app.catalog_store().get(name)
        except CallError:
            return ""
        return "" if tool is None else tool.source

    def _add_request(self, line: Mapping[str, Any], at: str, calls: list[_Entry]) -> None:
        tokens, saved, error, profile = map(line.get, ("tokens", "tokens_saved", "error", "profile"))
        with self._lock:
            self._figures.add({**line, "timestamp": at})
            entry = {
                "name": line["tool"],
                "ms": round(number(line, "ms"), 1),
                "code": (error if isinstance(error, str) else "?") if error else "OK",
                "tokens": None if tokens is None else round(number(line, "tokens")),
                "saved": None if saved is None else round(number(line, "tokens_saved")),
                "profile": profile if isinstance(profile, str) else "",
            }
            self._append(self._requests, at, entry)
            if len(calls) == 1:  # the answer of several calls is not divided
                calls[0].update(tokens=entry["tokens"], saved=entry["saved"])

    def _append(self, entries: deque[_Entry], at: str, entry: _Entry) -> None:
        """Add an entry, with the lock held."""
        self._last = next(self._numbers)
        entry["id"], entry["time"] = str(self._last), at
        entries.append(entry)

    def _count_call(self, line: Mapping[str, Any], source: str) -> None:
        """Add the figures of a call, with the lock held."""
        self._figures.add({**line, "message": "call"})
        used_percent = line.get("quota_used_percent")
        if source and isinstance(used_percent, int | float):
            self._limits[source] = round(float(used_percent), 1)

    def _time(self) -> str:
        return datetime.now(UTC).isoformat(timespec="milliseconds")
