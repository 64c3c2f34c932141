"""The tools of one profile: what ``tools/list`` answers, and what a call of a name stands for.

A cursor of ``tools/list`` has a hash of the catalog, the profile and its mode, and an offset. A cursor of another
catalog or profile is not valid: the client starts again.
"""

from __future__ import annotations

import contextlib
import functools
import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from toolfold.catalog.entries import COMBINING_TOOLS, DEFAULT_PROFILE
from toolfold.catalog.profiles import Profile, kind_of
from toolfold.errors import CallError
from toolfold.execution.credentials import NO_CREDENTIALS
from toolfold.exposure.modes import MODES, ModeReader
from toolfold.meta_tools.definitions import definitions, instructions
from toolfold.meta_tools.dispatcher import MetaTools, ToolPage, UnknownCursor
from toolfold.meta_tools.result import MetaCall, Result, dumps_compact, error_result
from toolfold.meta_tools.tool_names import call_of

if TYPE_CHECKING:
    from toolfold.catalog.model import Catalog
    from toolfold.execution.credentials import RequestCredentials
    from toolfold.scripts.interpreter import Interpreter
    from toolfold.wording import Reader

AUTO_DIRECT = 12
"""Tools up to which ``auto`` shows each alone."""

PAGE_SIZE = 100
"""Definitions of a page: some 25,000 tokens, and 100 kB."""

_CURSOR = re.compile(r"([0-9a-f]{16})\.([1-9][0-9]{0,8})")
"""Of a list and a page: the hash of the list, a dot, and the offset of the page."""


class Decision(NamedTuple):
    """A value, and where it comes from."""

    value: str
    origin: str


class Resolution(NamedTuple):
    """What a profile is in this process.

    Attributes:
        mode: The mode, which may be ``auto``.
        kinds: Kind of source → its mode.
        combining: Tool that combines several calls → ``on`` or ``off``.
    """

    profile: Profile
    mode: Decision
    kinds: Mapping[str, Decision]
    combining: Mapping[str, Decision]

    def with_mode(self, mode: str) -> frozenset[str]:
        """Return the kinds that are ``off``, or those that are ``inline``: whose tools are each listed."""
        return frozenset(kind for kind, decision in self.kinds.items() if decision.value == mode)

    def switched_off(self) -> frozenset[str]:
        """Return the tools that combine several calls, and that are switched off."""
        return frozenset(name for name, decision in self.combining.items() if decision.value == "off")


class ExposedTools(MetaTools):
    """What the clients of one profile see of the meta-tools ``base``: the part ``catalog`` of the whole catalog.

    Attributes:
        mode: A key of :data:`MODES`.
        listed: The tools of ``tools/list`` beside those of the catalog: name → definition.
        positions: Of the tools of the catalog that follow them, in the whole catalog, whose compiled definitions are
            read for the page that has them.
        stand_ins: Name in lower case → tool that stands for several.
    """

    def __init__(self, base: MetaTools, catalog: Catalog, resolution: Resolution) -> None:
        super().__init__(lambda: catalog, base.executor, base.now)
        self._base, self._whole, self.resolution, self._pages = base, catalog.base, resolution, dict[int, ToolPage]()
        own, profile, self.mode = catalog.base_positions, resolution.profile, resolution.mode.value
        pins = [at for at in profile.pinned if at in own]
        if self.mode == "auto":
            self.mode = "direct" if len(catalog) <= AUTO_DIRECT else "progressive"
            pins += [at for at in profile.most_used if at in own and self.mode != "direct"]
        mode, inline, stand_ins = MODES[self.mode], resolution.with_mode("inline"), list[Mapping[str, Any]]()
        if self.mode == "research":
            from toolfold.exposure.research import DEFINITIONS  # for this mode only

            stand_ins += DEFINITIONS
        elif self.mode in ("grouped", "kinds"):
            hidden = inline | resolution.with_mode("off")
            # A profile that is named after a mode, and not written, has those of ``default``.
            compiled = profile.name if profile.name in self._whole.profile_names else DEFAULT_PROFILE
            exposed = self._whole.exposed(compiled, self.mode)
            stand_ins += [one["definition"] for one in exposed if one["kind"] not in hidden]
        shown = [*stand_ins, *(one for one in definitions(catalog) if one["name"].startswith(mode.meta_tools))]
        if mode.combines:
            off = {"TOOL_SCRIPT", *resolution.switched_off()}
            shown += definitions(catalog, [one for one in COMBINING_TOOLS if one not in off])
        self.listed = {str(one["name"]): dumps_compact(one).encode() for one in shown}
        self.stand_ins = {str(one["name"]).lower(): one for one in stand_ins}
        self.positions: Sequence[int] = ()
        if self.mode == "direct":
            self.positions = list(dict.fromkeys([*pins, *own])) if pins else own
        elif self.mode != "research":
            sources = [source.id for source in catalog.sources if kind_of(source.kind) in inline]
            each = [own[at] for source in sources for at in catalog.positions("source", source)]
            self.positions = list(dict.fromkeys([*each, *pins]))

    def switched_off(self, catalog: Catalog | None) -> frozenset[str]:
        """Return the tools that combine several calls, and that a variable or the profile switches off."""
        return self.resolution.switched_off()

    def interpreter(self) -> Interpreter:
        """Return what runs scripts: one for all profiles."""
        return self._base.interpreter()

    @functools.cached_property
    def reader(self) -> Reader | None:
        """The model that reads the next steps; None: one whose client lists the meta-tools."""
        return ModeReader(self.catalog(), self.mode, self.listed) if MODES[self.mode].terms else None

    @functools.cached_property
    def _list_id(self) -> str:
        """What the cursors of this list have in common: a hash of everything that its entries depend on."""
        import hashlib  # loads a compiled library, which a list of one page does not need

        parts = self._whole.fingerprint, self.resolution.profile.name, self.mode
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]

    def list_page(self, cursor: object = None) -> ToolPage:
        """Return the page of ``tools/list`` that ``cursor`` names, or the first.

        Raises:
            UnknownCursor: It is not a cursor of this list.
        """
        match = _CURSOR.fullmatch(cursor) if isinstance(cursor, str) else None
        offset = 0 if cursor is None else int(match[2]) if match is not None and match[1] == self._list_id else -1
        if offset not in self._pages:
            before, positions = list(self.listed.values()), self.positions
            end, count = offset + PAGE_SIZE, len(before) + len(positions)
            if offset % PAGE_SIZE or (offset and offset >= count):
                problem = "Unknown cursor: the list has changed, or is another one. Request it from the start."
                raise UnknownCursor(problem)
            shown = positions[max(offset - len(before), 0) : max(end - len(before), 0)]
            self._whole.prefetch_definitions(shown)
            tools = [*before[offset:end], *(dumps_compact(self._whole.definition(at)).encode() for at in shown)]
            more = f"{self._list_id}.{end}" if end < count else None
            self._pages[offset] = ToolPage(b"[" + b",".join(tools) + b"]", more)
        return self._pages[offset]

    def every_definition(self) -> list[dict[str, Any]]:
        """Return all definitions of ``tools/list``, as one page."""
        pages = [self.list_page()]
        while (cursor := pages[-1].next_cursor) is not None:
            pages.append(self.list_page(cursor))
        return [one for page in pages for one in json.loads(page.tools)]

    def instructions(self) -> str:
        """Return the instructions for a client that connects."""
        mode = MODES[self.mode]
        return instructions(
            self.catalog(),
            self.now(),
            steps=mode.steps or None,
            purpose=self.resolution.profile.description,
            # A model does not call what combines several calls where the mode lists no meta-tool.
            switched_off=self.resolution.switched_off() if mode.meta_tools else COMBINING_TOOLS,
            has_select=self.mode != "research",
        )

    def own_names(self) -> list[str]:
        """Return the tools of ``tools/list`` beside those of the catalog."""
        return list(self.listed)

    def resolve(self, name: str, arguments: Mapping[str, Any]) -> MetaCall | None:
        """Return the call that a ``tools/call`` of ``name`` stands for."""
        stand_in = self.stand_ins.get(name.lower())
        if stand_in is None:
            return super().resolve(name, arguments)
        if self.mode != "research":
            with contextlib.suppress(CallError):  # its call has the error
                return call_of(self.catalog(), self.mode, stand_in, arguments)
        return MetaCall(str(stand_in["name"]), arguments)

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
        """Call a meta-tool, or a tool that stands for several."""
        stand_in, catalog = self.stand_ins.get(name.lower()), self.catalog()
        if stand_in is not None:
            credentials.require_scopes("tools:read")
            if self.mode == "research":
                from toolfold.exposure import research  # for this mode only

                make = functools.partial(super().call, credentials=credentials, deadline=deadline, reads_only=True)
                kind = str(stand_in["name"])
                return research.answer(catalog, self.executor.settings, kind, arguments, make, self.reader)
            try:
                name, arguments = call_of(catalog, self.mode, stand_in, arguments)
            except CallError as error:
                from toolfold.meta_tools.next_steps import with_executor  # for errors only

                return error_result(with_executor(catalog, error), self.reader)
        found = super().call(name, arguments, credentials, deadline, whole=whole, reads_only=reads_only)
        if self.mode != "kinds" or "next" not in found.structured:
            return found
        step = found.structured["next"]  # of a list of tools: what this mode does with them
        own = re.sub("TOOL_CALL( or TOOL_CALL_WRITE|_WRITE)?", "call", step)
        own = re.sub(r"TOOL_(GET|LIST)(\(tool_name\))?", "request_tools", own)
        return found._replace(structured={**found.structured, "next": own}, text=found.text.replace(step, own, 1))
