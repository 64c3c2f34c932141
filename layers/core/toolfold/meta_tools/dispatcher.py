"""Dispatch a meta-tool by name.

Every failure becomes a result here, except a scope that the access token lacks: HTTP has a status for that.
"""

from __future__ import annotations

import importlib
import logging
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from toolfold.catalog.entries import COMBINING_TOOLS, DEFAULT_PROFILE, META_TOOLS, RESERVED_NAMES
from toolfold.errors import (
    ASK_FOR_LESS,
    AnswerTooLarge,
    CallError,
    CatalogUnavailable,
    InsufficientScope,
    InternalError,
    ToolNotExposed,
)
from toolfold.execution.credentials import NO_CREDENTIALS, RequestCredentials
from toolfold.messages import DEFECT
from toolfold.meta_tools.definitions import TOOLS, definitions, detail_level_of, instructions
from toolfold.meta_tools.result import WRITE, MetaCall, Result, dumps_compact, error_result, to_text
from toolfold.text_safety import quoted

if TYPE_CHECKING:
    from toolfold.catalog.model import Catalog
    from toolfold.execution.executor import ToolExecutor
    from toolfold.scripts.interpreter import Interpreter
    from toolfold.wording import Reader

logger = logging.getLogger("toolfold")


class ToolPage(NamedTuple):
    """A page of ``tools/list``: its definitions as JSON, and the cursor of the next page, None after the last."""

    tools: bytes
    next_cursor: str | None = None


class MetaRequest(NamedTuple):
    """What the function of a meta-tool gets.

    Attributes:
        tools: those of the path that the request came to.
        catalog: that of ``tools`` when the request came; it may change afterwards.
        arguments: of the meta-tool.
        deadline: ``time.monotonic()`` at which the answer must be complete; None: the time-outs of the settings.
        whole: whether the answer is for a person or a file, and complete.
    """

    tools: MetaTools
    catalog: Catalog
    arguments: Mapping[str, Any]
    credentials: RequestCredentials
    deadline: float | None = None
    whole: bool = False


class UnknownCursor(ValueError):
    """A cursor that is not one of this list."""


class MetaTools:
    """The meta-tools: :data:`HANDLERS` has all of them, ``/mcp`` lists :data:`META_TOOLS`.

    Args:
        catalog: returns the current catalog. It is called for every request, so that the catalog can change or be
            missing for a while.
        executor: performs the calls.
        exposes_all: whether the profile ``default`` restricts nothing.
    """

    def __init__(
        self,
        catalog: Callable[[], Catalog],
        executor: ToolExecutor,
        *,
        exposes_all: bool = False,
    ) -> None:
        self.catalog, self.executor = catalog, executor
        self._exposes_all, self._switched_off = exposes_all, executor.settings.switched_off
        self._interpreter: Interpreter | None = None
        self._lock = threading.Lock()

    def without_catalog(self, error: CallError) -> MetaTools:
        """Return the meta-tools for a request that has found no catalog: it is not read again for the answer."""

        def fail() -> Catalog:
            raise error

        return MetaTools(fail, self.executor)

    def list_page(self, cursor: object = None) -> ToolPage:
        """Return the page of ``tools/list`` that ``cursor`` names, or the first.

        Raises:
            UnknownCursor: there is no such page.
        """
        if cursor is not None:
            raise UnknownCursor("Unknown cursor: the list has a single page.")
        catalog = self._catalog_or_none()
        if catalog is None:
            return ToolPage(dumps_compact(definitions(None)).encode())
        return catalog.memoize("tools/list", lambda: ToolPage(dumps_compact(definitions(catalog)).encode()))

    def resolve(self, name: str, arguments: Mapping[str, Any]) -> MetaCall | None:
        """Return the call that a ``tools/call`` of ``name`` stands for: of a meta-tool, or of a tool of the catalog.

        Returns:
            None when there is no such tool.

        Raises:
            CatalogUnavailable: the catalog, which has the tools that are no meta-tools, cannot be read.
        """
        if name in HANDLERS or name == WRITE:
            return MetaCall(name, arguments)
        from toolfold.meta_tools import tool_names

        if (meta_tool := tool_names.find_meta_tool(name)) is not None:
            return MetaCall(meta_tool, arguments)
        catalog = self.catalog()
        if (found := tool_names.find_name(catalog, name)) is not None:
            # A client that calls a tool by its own name knows what it calls.
            executor = WRITE if catalog.has_writes else "TOOL_CALL"
            return MetaCall(executor, {"tool_name": found, "arguments": arguments})
        try:
            return tool_names.translate(catalog, name, arguments)
        except CatalogUnavailable:
            raise
        except CallError:
            return None

    def unknown_tool(self, name: str, arguments: Mapping[str, Any]) -> str:
        """Return the message for a ``tools/call`` of a name that no tool has: what to call instead."""
        from toolfold.meta_tools import next_steps, tool_names

        names = self.own_names()
        known = f"The tools are {', '.join(names)}." if names else "tools/list has those that there are."
        problem = f"Unknown tool {quoted(name)}. {known}"
        catalog = self.catalog()
        error = next_steps.with_executor(catalog, tool_names.tool_not_found(catalog, name, arguments))
        details = error.as_dict(self.reader)
        similar = f" {details['suggestion']}" if details["closest"] else ""
        following = [f" Call {tool} with {to_text(given)}." for tool, given in details.get("next_call", {}).items()]
        return f"{problem}{similar}{''.join(following)}"

    @property
    def reader(self) -> Reader | None:
        """The model that reads the next steps; None: one whose client lists the meta-tools."""
        return None

    def own_names(self) -> Sequence[str]:
        """Return the tools of ``tools/list`` beside those of the catalog."""
        return META_TOOLS

    def instructions(self) -> str:
        """Return the instructions for a client that connects."""
        catalog = self._catalog_or_none()
        return instructions(catalog, time.time(), switched_off=self.switched_off(catalog))

    def switched_off(self, catalog: Catalog | None) -> frozenset[str]:
        """Return the tools that combine several calls, and that a variable or the profile ``default`` switches off."""
        off = self._switched_off
        if self._exposes_all or catalog is None or DEFAULT_PROFILE not in catalog.profile_names:
            return off
        return off | catalog.memoize("switched off", lambda: frozenset(catalog.profile(DEFAULT_PROFILE).switched_off))

    def has_skills(self) -> bool:
        """Return whether the catalog has skills, which clients may list and read as resources."""
        catalog = self._catalog_or_none()
        return catalog is not None and catalog.skill_count > 0

    def interpreter(self) -> Interpreter:
        """Return what runs scripts; made by the first of them, which starts its process."""
        with self._lock:
            if self._interpreter is None:
                from toolfold.scripts.interpreter import Interpreter

                self._interpreter = Interpreter()
            return self._interpreter

    def _catalog_or_none(self) -> Catalog | None:
        try:
            return self.catalog()
        except CallError:
            return None

    def call(
        self,
        name: str,
        arguments: Mapping[str, Any],
        credentials: RequestCredentials = NO_CREDENTIALS,
        deadline: float | None = None,
        *,
        whole: bool = False,
        reads_only: bool = False,
    ) -> Result:
        """Call a meta-tool.

        Args:
            name: one of :data:`HANDLERS`, or :data:`WRITE`.
            arguments: as the client sent them.
            credentials: the API keys of the request.
            deadline: ``time.monotonic()`` at which the answer must be complete; None: the time-outs of the settings.
            whole: whether TOOL_CALL returns the whole answer, however long it is: for a person and for files.
            reads_only: whether tools that change data are refused.

        Raises:
            InsufficientScope: the caller's access token does not allow this; HTTP has a status of its own for that.
        """
        on_request = self.executor.on_request
        end = None if on_request is None else on_request(name, arguments, credentials.profile)
        result: Result | None = None
        try:
            credentials.require_scopes("tools:read")
            credentials = credentials._replace(reads_only=reads_only or credentials.reads_only)
            result = self.handle(name, MetaRequest(self, self.catalog(), arguments, credentials, deadline, whole))
        except InsufficientScope:
            raise
        except CallError as error:
            if "next_call" in error.details:
                from toolfold.meta_tools.next_steps import with_executor  # no error is a first response

                error = with_executor(self.catalog(), error)
            result = error_result(error, self.reader)
        except Exception as error:  # noqa: BLE001 - an internal error must not end the server
            # Only the type and the place: an exception's text may contain a URL with an API key.
            trace = traceback.extract_tb(error.__traceback__)[-1]
            logger.error("defect in %s: %s at %s:%s", name, type(error).__name__, trace.name, trace.lineno)
            failure: CallError = InternalError(*DEFECT)
            if isinstance(error, MemoryError):  # of a process whose memory is limited
                failure = AnswerTooLarge("This call needs more memory than this server has.", ASK_FOR_LESS)
            result = error_result(failure)
        finally:
            if end is not None:
                fields: dict[str, Any] = {"error": InsufficientScope.code}
                if result is not None:
                    code = {"error": result.structured["error"]["code"]} if result.is_error else {}
                    fields = {**code, **result.usage}
                end(fields)
        return result

    def handle(self, name: str, request: MetaRequest) -> Result:
        """Return the answer of a meta-tool, or raise the ``CallError`` that :meth:`call` makes a result of."""
        catalog = request.catalog
        call = _read_call(catalog, "TOOL_CALL" if name == WRITE else name, request.arguments)
        if call.name in COMBINING_TOOLS and call.name in (off := self.switched_off(catalog)):
            others = " or ".join(other for other in COMBINING_TOOLS if other not in off)
            step = f"Use {others}" if others else "Make the calls one after the other, with TOOL_CALL"
            raise ToolNotExposed(
                f"{call.name} is switched off here; nothing was called.",
                f"{step}; the operator can switch {call.name} on.",
            )
        module, _, function = HANDLERS[call.name].partition(":")
        performer = getattr(importlib.import_module(f"{__package__}.{module}"), function)
        result: Result = performer(request._replace(arguments=call.arguments))
        return result._replace(usage=usage_of(catalog, call, result))


HANDLERS: Mapping[str, str] = {
    "TOOL_LIST": "tool_list:list_tools",
    "TOOL_GET": "tool_get:describe_tools",
    "TOOL_CALL": "plan:tool_call",
    "TOOL_BATCH": "tool_batch:tool_batch",
    "TOOL_PIPE": "tool_pipe:tool_pipe",
    "TOOL_SCRIPT": "tool_script:tool_script",
}
"""Meta-tool → what performs a call of it, ``module:function`` of this package.

Each is called by its name and as the ``tool_name`` of TOOL_CALL, and imported by its first call: a cold start waits for
what its request needs alone.
"""


def _read_call(catalog: Catalog, name: str, arguments: Mapping[str, Any]) -> MetaCall:
    known = TOOLS[name].arguments
    may_be_usual = name == "TOOL_LIST" or (name == "TOOL_GET" and "tool_name" in arguments)
    if may_be_usual and all(key in known and known[key].takes(value) for key, value in arguments.items()):
        return MetaCall(name, arguments)
    tool_name = arguments.get("tool_name") if name == "TOOL_CALL" else None
    if isinstance(tool_name, str) and tool_name not in RESERVED_NAMES and catalog.get(tool_name) is not None:
        return MetaCall(name, arguments)  # the plan of the call reads it
    from toolfold.meta_tools.reader import read_arguments, read_tool_call

    if name == "TOOL_CALL":
        return read_tool_call(catalog, arguments)
    return MetaCall(name, read_arguments(catalog, name, arguments))


_SAMPLES, _SAMPLE_CHARS = 4, 128
"""Parts of a long answer whose tokens are counted: 0.03 ms, and within a tenth on tables."""


def usage_of(catalog: Catalog, call: MetaCall, result: Result) -> dict[str, int]:
    """Return figures about one answer, for the log and the metrics. Each is left out where it does not apply.

    Returns:
        ``searched``: 1 for a TOOL_LIST with a query, from the first match on. ``matched``: the tools that matched a
        TOOL_LIST. ``schemas_full``, ``schemas_medium``, ``schemas_minimal`` and ``schemas_unchanged``: the tools that
        TOOL_LIST and TOOL_GET described, by detail level. ``tokens``: those of the answer. ``tokens_saved``: of a
        search that found a tool, the tokens of the definitions of all tools less those of the answer; of other answers
        of TOOL_LIST and TOOL_GET, which add to a search, the tokens of the answer as a negative number.
    """
    from toolfold.results import tokens  # the first response is not counted

    text, structured = result.text, result.structured
    if call.name == "TOOL_LIST":
        answered = structured["tokens"]
    elif call.name == "TOOL_GET" and len(structured["tools"]) == 1:  # the same at every call
        answered = catalog.memoize(("tokens", text), lambda: tokens.count(text))
    else:
        # From the middle of each part: the notes above a table have longer words than its rows.
        step = max(_SAMPLE_CHARS, len(text) // _SAMPLES)
        starts = range((step - _SAMPLE_CHARS) // 2, len(text), step)
        sample = "".join([text[start : start + _SAMPLE_CHARS] for start in starts])
        answered = tokens.count(sample) * len(text) // max(1, len(sample))
    if call.name not in ("TOOL_LIST", "TOOL_GET"):
        return {"tokens": answered}
    found = {} if call.name == "TOOL_GET" else {"matched": structured["matched"]}
    query = call.arguments.get("query")
    is_search = bool(query.strip() if isinstance(query, str) else query) and not structured.get("offset")
    found |= {"searched": 1} if is_search else {}
    for entry in structured["tools"]:
        if entry.get("found", True):
            level = "unchanged" if "unchanged" in entry else detail_level_of(entry)
            found[f"schemas_{level}"] = found.get(f"schemas_{level}", 0) + 1
    saved = catalog.definition_tokens
    saving = (saved if is_search and structured["tools"] else 0) - answered
    return {**found, "tokens": answered, **({"tokens_saved": saving} if saved else {})}
