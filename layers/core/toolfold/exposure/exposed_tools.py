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
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from toolfold.catalog.entries import COMBINING_TOOLS
from toolfold.catalog.profiles import KINDS, Profile, kind_of
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
        profile: The profile.
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

    def off(self) -> frozenset[str]:
        """Return the kinds that are not exposed."""
        return self._with_mode("off")

    def inline(self) -> frozenset[str]:
        """Return the kinds whose tools are each listed."""
        return self._with_mode("inline")

    def switched_off(self) -> frozenset[str]:
        """Return the tools that combine several calls, and that are switched off."""
        return frozenset(name for name, decision in self.combining.items() if decision.value == "off")

    def _with_mode(self, mode: str) -> frozenset[str]:
        return frozenset(kind for kind, decision in self.kinds.items() if decision.value == mode)


def resolve(profile: Profile, settings: Settings, *, is_ready_made: bool = False) -> Resolution:
    """Return what ``profile`` is with ``settings``."""
    mode = Decision(DEFAULT_MODE, "default")
    if profile.mode:
        origin = f"the name {profile.name}" if is_ready_made else _line(profile, "mode")
        mode = Decision(profile.mode, origin)
    elif settings.mode:
        mode = Decision(settings.mode, "TOOLFOLD_MODE")
    kinds = {kind: _kind_mode(kind, profile, getattr(settings, f"{kind}_mode")) for kind in KINDS}
    combining = {name: _switch(name, key, profile, settings) for key, name in _SWITCHES.items()}
    return Resolution(profile, mode, kinds, combining, is_ready_made)


_SWITCHES: Mapping[str, str] = {"batch": "TOOL_BATCH", "pipe": "TOOL_PIPE", "scripts": "TOOL_SCRIPT"}
"""Key of a profile and field of the settings → the tool that it switches off."""


def _switch(name: str, key: str, profile: Profile, settings: Settings) -> Decision:
    """Return whether a tool that combines several calls is on: neither the variable nor the profile says no."""
    if name in settings.switched_off:
        return Decision("off", f"TOOLFOLD_{key.upper()}")
    if name in profile.switched_off:
        return Decision("off", _line(profile, key))
    return Decision("on", _line(profile, key) if key in profile.where else "default")


def _kind_mode(kind: str, profile: Profile, setting: str) -> Decision:
    if kind in profile.kinds:
        return Decision(profile.kinds[kind], _line(profile, "kinds" if "kinds" in profile.where else _PLURALS[kind]))
    if setting:
        return Decision(setting, f"TOOLFOLD_{kind.upper()}_MODE")
    return Decision("progressive", "default")


_PLURALS: Mapping[str, str] = {"connector": "kinds", "database": "databases", "mcp": "mcp", "skill": "kinds"}
"""Kind of source → the key of a profile that sets it where ``kinds`` is not given."""


def _line(profile: Profile, key: str) -> str:
    return profile.where.get(key, f"profile {profile.name}")


Entry = bytes | int

_COMBINING = ("TOOL_BATCH", "TOOL_PIPE")
"""Meta-tools that the modes lazy and grouped list beside TOOL_CALL."""


class Exposed(NamedTuple):
    """What a mode shows.

    Attributes:
        mode: One of the modes but ``auto``.
        entries: Of ``tools/list``, in their order.
        stand_ins: Name, in lower case, of a tool that stands for several → its definition.
    """

    mode: str
    entries: Sequence[Entry]
    stand_ins: Mapping[str, Mapping[str, Any]] = {}


def expose(catalog: Catalog, resolution: Resolution) -> Exposed:
    """Return what ``catalog``, the whole or a view, shows to the clients of a profile."""
    mode = mode_of(catalog, resolution)
    return _MODES[mode](catalog, resolution)


def mode_of(catalog: Catalog, resolution: Resolution) -> str:
    """Return the mode, with ``auto`` decided by the number of tools."""
    if resolution.mode.value != "auto":
        return resolution.mode.value
    return "direct" if len(catalog) <= AUTO_DIRECT else "progressive"


def _progressive(catalog: Catalog, resolution: Resolution, mode: str = "progressive") -> Exposed:
    shown = [*definitions(catalog), *(_combining(catalog, resolution) if mode == "lazy" else ())]
    return Exposed(mode, [*_encoded(shown), *_beside(catalog, resolution)])


def _direct(catalog: Catalog, resolution: Resolution) -> Exposed:
    positions = catalog.base_positions
    pinned = [at for at in resolution.profile.pinned if at in positions]
    if pinned:
        positions = list(dict.fromkeys([*pinned, *positions]))
    return Exposed("direct", positions)


def _grouped(catalog: Catalog, resolution: Resolution, mode: str = "grouped") -> Exposed:
    hidden = resolution.off() | resolution.inline()
    # A ready-made profile has those of ``default``.
    profile = "default" if resolution.is_ready_made else resolution.profile.name
    compiled = catalog.base.exposed(profile, mode)
    stand_ins = [one["definition"] for one in compiled if one["kind"] not in hidden]
    shown = list(stand_ins)
    if mode == "grouped":
        shown += [one for one in definitions(catalog) if one["name"].startswith("TOOL_CALL")]
        shown += _combining(catalog, resolution)
    return _with_stand_ins(mode, shown, stand_ins, _beside(catalog, resolution))


def _research(catalog: Catalog, resolution: Resolution) -> Exposed:
    from toolfold.exposure.research import DEFINITIONS  # for this mode only

    return _with_stand_ins("research", DEFINITIONS, DEFINITIONS, ())


_MODES: Mapping[str, Callable[[Catalog, Resolution], Exposed]] = {
    "progressive": _progressive,
    "lazy": functools.partial(_progressive, mode="lazy"),
    "direct": _direct,
    "grouped": _grouped,
    "kinds": functools.partial(_grouped, mode="kinds"),
    "research": _research,
}


def _combining(catalog: Catalog, resolution: Resolution) -> list[dict[str, Any]]:
    off = resolution.switched_off()
    return definitions(catalog, [name for name in COMBINING_TOOLS if name in _COMBINING and name not in off])


def _with_stand_ins(
    mode: str, shown: Iterable[Mapping[str, Any]], stand_ins: Iterable[Mapping[str, Any]], beside: Sequence[Entry]
) -> Exposed:
    return Exposed(mode, [*_encoded(shown), *beside], {str(one["name"]).lower(): one for one in stand_ins})


def _encoded(shown: Iterable[Mapping[str, Any]]) -> list[Entry]:
    return [dumps_compact(one).encode() for one in shown]


def _beside(catalog: Catalog, resolution: Resolution) -> list[Entry]:
    """Return the positions of the tools that are shown by themselves: those of kinds that are inline, and the pins."""
    inline = resolution.inline()
    sources = [source.id for source in catalog.sources if kind_of(source.kind) in inline]
    own = catalog.base_positions
    positions = [own[at] for source in sources for at in catalog.positions_of("source").get(source, ())]
    pinned = list(resolution.profile.pinned)
    if resolution.mode.value == "auto":
        pinned += resolution.profile.most_used
    return list(dict.fromkeys([*positions, *(at for at in pinned if at in own)]))


PAGE_SIZE = 100
"""Definitions of a page: some 25,000 tokens, and 100 kB."""

_HASH_DIGITS = 16
_CURSOR = re.compile(r"([0-9a-f]{16})\.([1-9][0-9]{0,8})")


def list_id(*parts: str) -> str:
    """Return the hash that names a list, from everything that its entries depend on."""
    import hashlib  # loads a compiled library, which a list of one page does not need

    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:_HASH_DIGITS]


def encode_cursor(list_hash: str, offset: int) -> str:
    """Return the cursor of the page that begins at ``offset``.

    Example:
        >>> encode_cursor("0123456789abcdef", 100)
        '0123456789abcdef.100'
    """
    return f"{list_hash}.{offset}"


def decode_cursor(cursor: object, list_hash: str, entries: int) -> int | None:
    """Return the offset in ``cursor``, or None for one that no page of this list has returned.

    Args:
        cursor: As the client sent it.
        list_hash: Of the list that is requested.
        entries: How many entries it has.
    """
    match = _CURSOR.fullmatch(cursor) if isinstance(cursor, str) else None
    if match is None or match[1] != list_hash:
        return None
    offset = int(match[2])
    return offset if offset % PAGE_SIZE == 0 and offset < entries else None


_STEPS: Mapping[str, str] = {
    "direct": "Each tool is called by its own name; select among its arguments picks a part of the answer. "
    "TOOL_LIST(query) finds tools, and TOOL_GET(tool_name) describes one whole.",
    "grouped": "Each tool is a category: action names one of its tools, and the parameters of that tool are beside it. "
    "An error has the parameters of the tool, and so has TOOL_GET(tool_name). TOOL_CALL(tool_name, arguments, select) "
    "runs any tool, and its select picks a part of an answer; TOOL_LIST(query) finds tools.",
    "kinds": "Each tool stands for a kind of source. Its subcommands return the tools of a source with their "
    "parameters, and run one; request_tools(query) finds tools. For a tool you know, run it: an error has the call to "
    "make instead.",
    "research": "search(query) finds tools, and answers where the query names all that a call needs; fetch(id) returns "
    "one.",
}
"""Mode → how to call, in the instructions; the other modes have those of the meta-tools."""


class ExposedTools(MetaTools):
    """What the clients of one profile see.

    Args:
        base: The meta-tools with the whole catalog.
        catalog: The part of it that the profile exposes.
        resolution: The profile, and its mode.
    """

    def __init__(self, base: MetaTools, catalog: Catalog, resolution: Resolution) -> None:
        super().__init__(lambda: catalog, base.executor, base.now)
        self.large_answer_turns = base.large_answer_turns
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
    def _list_id(self) -> str:
        """What the cursors of this list have in common. A list of one page needs none, and no module of hashes."""
        return list_id(self._whole.fingerprint, self.resolution.profile.name, self.exposed.mode)

    def list_page(self, cursor: object = None) -> ToolPage:
        """Return the page of ``tools/list`` that ``cursor`` names, or the first.

        Raises:
            UnknownCursor: It is not a cursor of this list.
        """
        entries = self.exposed.entries
        offset = 0 if cursor is None else decode_cursor(cursor, self._list_id, len(entries))
        if offset is None:
            raise UnknownCursor("Unknown cursor: the list has changed, or is another one. Request it from the start.")
        page = self._pages.get(offset)
        if page is None:
            page = self._pages[offset] = self._make_page(offset)
        return page

    def _make_page(self, offset: int) -> ToolPage:
        end = offset + PAGE_SIZE
        entries = self.exposed.entries[offset:end]
        self._whole.prefetch_definitions([entry for entry in entries if isinstance(entry, int)])
        definitions = [
            entry if isinstance(entry, bytes) else dumps_compact(self._whole.definition(entry)).encode()
            for entry in entries
        ]
        more = encode_cursor(self._list_id, end) if end < len(self.exposed.entries) else None
        return ToolPage(b"[" + b",".join(definitions) + b"]", more)

    def every_definition(self) -> list[dict[str, Any]]:
        """Return all definitions of ``tools/list``, as one page."""
        found: list[dict[str, Any]] = []
        for offset in range(0, max(len(self.exposed.entries), 1), PAGE_SIZE):
            found += json.loads(self._make_page(offset).tools)
        return found

    def instructions(self) -> str:
        """Return the instructions for a client that connects."""
        step = _STEPS.get(self.exposed.mode, "")
        description = self.resolution.profile.description
        is_research = self.exposed.mode == "research"
        return instructions(
            self._catalog_of_profile,
            self.now(),
            steps=f"{step} " if step else None,
            purpose=description,
            switched_off=COMBINING_TOOLS if is_research else self.resolution.switched_off(),
            has_select=not is_research,
        )

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
            return super().call(name, arguments, credentials, deadline, whole=whole, reads_only=reads_only)
        credentials.require_scopes("tools:read")
        if self.exposed.mode == "research":
            from toolfold.exposure import research  # for this mode only

            make = functools.partial(super().call, credentials=credentials, deadline=deadline, reads_only=True)
            settings = self.executor.settings
            return research.answer(self._catalog_of_profile, settings, str(stand_in["name"]), arguments, make)
        try:
            meta_call = call_of(self._catalog_of_profile, self.exposed.mode, stand_in, arguments)
        except CallError as error:
            return error_result(error)
        return super().call(meta_call.name, meta_call.arguments, credentials, deadline, whole=whole)
