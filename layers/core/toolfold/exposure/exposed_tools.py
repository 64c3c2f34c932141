"""The tools of one profile: what ``tools/list`` answers, and what a call of a name stands for.

A cursor of ``tools/list`` has a hash of the catalog, the profile and its mode, and an offset. A cursor of another
catalog or profile is not valid: the client starts again.

Each mode has its entries, and names that stand for several tools. An entry is the JSON of a definition, or the position
of a tool in the whole catalog, whose compiled definition is read for the page that has it.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from toolfold.catalog.entries import COMBINING_TOOLS
from toolfold.catalog.profiles import KINDS, SWITCHES, Profile, kind_of
from toolfold.errors import CallError
from toolfold.execution.credentials import NO_CREDENTIALS
from toolfold.meta_tools.definitions import definitions, instructions
from toolfold.meta_tools.dispatcher import MetaTools, ToolPage, UnknownCursor
from toolfold.meta_tools.result import MetaCall, Result, dumps_compact, error_result
from toolfold.meta_tools.tool_names import call_of

if TYPE_CHECKING:
    from toolfold.catalog.model import Catalog
    from toolfold.execution.credentials import RequestCredentials
    from toolfold.scripts.interpreter import Interpreter
    from toolfold.settings import Settings
    from toolfold.wording import Reader


AUTO_DIRECT = 12
"""Tools up to which ``auto`` shows each alone."""

DEFAULT_MODE = "progressive"


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
        is_ready_made: Whether the profile is named after a mode and was not written by anyone.
    """

    profile: Profile
    mode: Decision
    kinds: Mapping[str, Decision]
    combining: Mapping[str, Decision]
    is_ready_made: bool = False

    def with_mode(self, mode: str) -> frozenset[str]:
        """Return the kinds that are ``off``, or those that are ``inline``: whose tools are each listed."""
        return frozenset(kind for kind, decision in self.kinds.items() if decision.value == mode)

    def switched_off(self) -> frozenset[str]:
        """Return the tools that combine several calls, and that are switched off."""
        return frozenset(name for name, decision in self.combining.items() if decision.value == "off")


_PLURALS: Mapping[str, str] = {"connector": "kinds", "database": "databases", "mcp": "mcp", "skill": "kinds"}
"""Kind of source → the key of a profile that sets it where ``kinds`` is not given."""


def resolve(profile: Profile, settings: Settings, *, is_ready_made: bool = False) -> Resolution:
    """Return what ``profile`` is with ``settings``."""

    def line(key: str) -> str:
        return profile.where.get(key, f"profile {profile.name}")

    mode = Decision(settings.mode, "TOOLFOLD_MODE") if settings.mode else Decision(DEFAULT_MODE, "default")
    if profile.mode:
        mode = Decision(profile.mode, f"the name {profile.name}" if is_ready_made else line("mode"))
    kinds: dict[str, Decision] = {}
    for kind in KINDS:
        setting = getattr(settings, f"{kind}_mode")
        kinds[kind] = Decision(setting or "progressive", f"TOOLFOLD_{kind.upper()}_MODE" if setting else "default")
        if kind in profile.kinds:
            kinds[kind] = Decision(profile.kinds[kind], line("kinds" if "kinds" in profile.where else _PLURALS[kind]))
    combining = {}
    for key, name in SWITCHES.items():  # on, where neither the variable nor the profile says no
        combining[name] = Decision("on", line(key) if key in profile.where else "default")
        if name in settings.switched_off:
            combining[name] = Decision("off", f"TOOLFOLD_{key.upper()}")
        elif name in profile.switched_off:
            combining[name] = Decision("off", line(key))
    return Resolution(profile, mode, kinds, combining, is_ready_made)


Entry = bytes | int

_COMBINING = ("TOOL_BATCH", "TOOL_PIPE")
"""Meta-tools that the modes lazy and grouped list beside TOOL_CALL."""


class Exposed(NamedTuple):
    """What a mode shows: entries of ``tools/list``, and name in lower case → tool that stands for several."""

    mode: str
    entries: Sequence[Entry]
    stand_ins: Mapping[str, Mapping[str, Any]] = {}


def expose(catalog: Catalog, resolution: Resolution) -> Exposed:
    """Return what ``catalog``, the whole or a view, shows to the clients of a profile."""
    mode = resolution.mode.value
    if mode == "auto":
        mode = "direct" if len(catalog) <= AUTO_DIRECT else "progressive"
    own, profile, off = catalog.base_positions, resolution.profile, resolution.switched_off()
    pinned = [at for at in profile.pinned if at in own]
    if mode == "direct":
        return Exposed(mode, list(dict.fromkeys([*pinned, *own])) if pinned else own)
    if mode == "research":
        from toolfold.exposure.research import DEFINITIONS  # for this mode only

        return Exposed(mode, _encoded(DEFINITIONS), {str(one["name"]): one for one in DEFINITIONS})
    stand_ins: list[Mapping[str, Any]] = []
    inline = resolution.with_mode("inline")
    if mode in ("grouped", "kinds"):
        hidden = inline | resolution.with_mode("off")
        # A ready-made profile has those of ``default``.
        compiled = catalog.base.exposed("default" if resolution.is_ready_made else profile.name, mode)
        stand_ins = [one["definition"] for one in compiled if one["kind"] not in hidden]
    shown = list(stand_ins)
    if mode != "kinds":
        shown += [one for one in definitions(catalog) if mode != "grouped" or one["name"].startswith("TOOL_CALL")]
    if mode in ("grouped", "lazy"):
        shown += definitions(catalog, [name for name in COMBINING_TOOLS if name in _COMBINING and name not in off])
    # Beside these are the tools of kinds that are inline, and the pins.
    sources = [source.id for source in catalog.sources if kind_of(source.kind) in inline]
    beside = [own[at] for source in sources for at in catalog.positions("source", source)]
    most_used = profile.most_used if resolution.mode.value == "auto" else ()
    beside += [*pinned, *(at for at in most_used if at in own)]
    entries = [*_encoded(shown), *dict.fromkeys(beside)]
    return Exposed(mode, entries, {str(one["name"]).lower(): one for one in stand_ins})


def _encoded(shown: Iterable[Mapping[str, Any]]) -> list[Entry]:
    return [dumps_compact(one).encode() for one in shown]


PAGE_SIZE = 100
"""Definitions of a page: some 25,000 tokens, and 100 kB."""

_CURSOR = re.compile(r"([0-9a-f]{16})\.([1-9][0-9]{0,8})")
"""Of a list and a page: the hash of the list, a dot, and the offset of the page."""

_STEPS: Mapping[str, str] = {
    "direct": "Each tool is called by its own name; select among its arguments picks a part of the answer. ",
    "grouped": "Each tool is a category: action names one of its tools, and the parameters of that tool are beside it. "
    "An error has the parameters of the tool. TOOL_CALL(tool_name, arguments, select) runs any tool, and its select "
    "picks a part of an answer; by it TOOL_LIST(query) finds tools, and TOOL_GET(tool_name) describes one. ",
    "kinds": "Each tool stands for a kind of source. Its subcommands return the tools of a source with their "
    "parameters, and run one; request_tools(query) finds tools. For a tool you know, run it: an error has the call to "
    "make instead. ",
    "research": "search(query) finds tools, and answers where the query names all that a call needs; fetch(id) returns "
    "one. ",
}
"""Mode → how to call, in the instructions, before what follows; the other modes have those of the meta-tools."""

_WITHOUT_META_TOOLS = ("direct", "kinds", "research")
"""Modes that list no meta-tool: a model does not call there what combines several calls."""


class ExposedTools(MetaTools):
    """What the clients of one profile see of the meta-tools ``base``: the part ``catalog`` of the whole catalog."""

    def __init__(self, base: MetaTools, catalog: Catalog, resolution: Resolution) -> None:
        super().__init__(lambda: catalog, base.executor, base.now)
        self._base, self._catalog_of_profile, self.resolution = base, catalog, resolution
        self.exposed = expose(catalog, resolution)
        self._whole = catalog.base
        self._pages: dict[int, ToolPage] = {}

    def switched_off(self, catalog: Catalog | None) -> frozenset[str]:
        """Return the tools that combine several calls, and that a variable or the profile switches off."""
        return self.resolution.switched_off()

    def interpreter(self) -> Interpreter:
        """Return what runs scripts: one for all profiles."""
        return self._base.interpreter()

    @functools.cached_property
    def reader(self) -> Reader | None:
        """The model that reads the next steps; None: one whose client lists the meta-tools."""
        if self.exposed.mode not in _STEPS:
            return None
        from toolfold.exposure.mode_reader import ModeReader  # for errors only

        return ModeReader(self._catalog_of_profile, self.exposed.mode, self.own_names())

    @functools.cached_property
    def _list_id(self) -> str:
        """What the cursors of this list have in common: a hash of everything that its entries depend on."""
        import hashlib  # loads a compiled library, which a list of one page does not need

        parts = self._whole.fingerprint, self.resolution.profile.name, self.exposed.mode
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]

    def list_page(self, cursor: object = None) -> ToolPage:
        """Return the page of ``tools/list`` that ``cursor`` names, or the first.

        Raises:
            UnknownCursor: It is not a cursor of this list.
        """
        match = _CURSOR.fullmatch(cursor) if isinstance(cursor, str) else None
        offset = 0 if cursor is None else int(match[2]) if match is not None and match[1] == self._list_id else -1
        if offset % PAGE_SIZE or (offset and offset >= len(self.exposed.entries)):
            raise UnknownCursor("Unknown cursor: the list has changed, or is another one. Request it from the start.")
        if offset not in self._pages:
            self._pages[offset] = self._make_page(offset)
        return self._pages[offset]

    def _make_page(self, offset: int) -> ToolPage:
        end = offset + PAGE_SIZE
        entries = self.exposed.entries[offset:end]
        self._whole.prefetch_definitions([entry for entry in entries if isinstance(entry, int)])
        definitions = [
            entry if isinstance(entry, bytes) else dumps_compact(self._whole.definition(entry)).encode()
            for entry in entries
        ]
        more = f"{self._list_id}.{end}" if end < len(self.exposed.entries) else None
        return ToolPage(b"[" + b",".join(definitions) + b"]", more)

    def every_definition(self) -> list[dict[str, Any]]:
        """Return all definitions of ``tools/list``, as one page."""
        offsets = range(0, max(len(self.exposed.entries), 1), PAGE_SIZE)
        return [one for offset in offsets for one in json.loads(self._make_page(offset).tools)]

    def instructions(self) -> str:
        """Return the instructions for a client that connects."""
        mode = self.exposed.mode
        return instructions(
            self._catalog_of_profile,
            self.now(),
            steps=_STEPS.get(mode),
            purpose=self.resolution.profile.description,
            switched_off=COMBINING_TOOLS if mode in _WITHOUT_META_TOOLS else self.resolution.switched_off(),
            has_select=mode != "research",
        )

    def own_names(self) -> list[str]:
        """Return the tools of ``tools/list`` beside those of the catalog."""
        return [str(json.loads(entry)["name"]) for entry in self.exposed.entries if isinstance(entry, bytes)]

    def resolve(self, name: str, arguments: Mapping[str, Any]) -> MetaCall | None:
        """Return the call that a ``tools/call`` of ``name`` stands for."""
        stand_in = self.exposed.stand_ins.get(name.lower())
        if stand_in is None:
            return super().resolve(name, arguments)
        if self.exposed.mode == "research":
            return MetaCall(str(stand_in["name"]), arguments)
        try:
            return call_of(self._catalog_of_profile, self.exposed.mode, stand_in, arguments)
        except CallError:
            return MetaCall(str(stand_in["name"]), arguments)  # its call has the error

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
        stand_in = self.exposed.stand_ins.get(name.lower())
        if stand_in is None:
            found = super().call(name, arguments, credentials, deadline, whole=whole, reads_only=reads_only)
            return self._with_own_step(found)
        credentials.require_scopes("tools:read")
        if self.exposed.mode == "research":
            from toolfold.exposure import research  # for this mode only

            make = functools.partial(super().call, credentials=credentials, deadline=deadline, reads_only=True)
            kind, catalog = str(stand_in["name"]), self._catalog_of_profile
            return research.answer(catalog, self.executor.settings, kind, arguments, make, self.reader)
        try:
            meta_call = call_of(self._catalog_of_profile, self.exposed.mode, stand_in, arguments)
        except CallError as error:
            from toolfold.meta_tools.next_steps import with_executor  # for errors only

            return error_result(with_executor(self._catalog_of_profile, error), self.reader)
        found = super().call(meta_call.name, meta_call.arguments, credentials, deadline, whole=whole)
        return self._with_own_step(found)

    def _with_own_step(self, result: Result) -> Result:
        """Return a list of tools with what this mode does with them."""
        if self.exposed.mode != "kinds" or "next" not in result.structured:
            return result
        step = result.structured["next"]
        own = re.sub("TOOL_CALL( or TOOL_CALL_WRITE|_WRITE)?", "call", step)
        own = re.sub(r"TOOL_(GET|LIST)(\(tool_name\))?", "request_tools", own)
        return result._replace(structured={**result.structured, "next": own}, text=result.text.replace(step, own, 1))
