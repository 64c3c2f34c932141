"""The profile of a path: what ``tools/list`` answers there, and what a call of a name stands for.

A cursor of ``tools/list`` has a hash of the catalog, the profile and its mode, and an offset. A cursor of another
catalog or profile is not valid: the client starts again.
"""

from __future__ import annotations

import contextlib
import functools
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from toolfold.catalog.entries import COMBINING_TOOLS, DEFAULT_PROFILE, EFFECT_WORDS, Tool
from toolfold.catalog.profiles import KINDS, SWITCHES, Elsewhere, Profile, kind_of
from toolfold.catalog.reader import positions_in
from toolfold.errors import CallError, ContextMismatch, InsufficientScope, ProfileNotFound, ToolNotExposed
from toolfold.execution.credentials import NO_CREDENTIALS
from toolfold.exposure.modes import MODES, ModeReader
from toolfold.fuzzy import closest_matches, did_you_mean
from toolfold.messages import CONNECT, OTHER_CONTEXT, OTHER_TOOL
from toolfold.meta_tools.definitions import definitions, instructions
from toolfold.meta_tools.dispatcher import MetaTools, ToolPage, UnknownCursor
from toolfold.meta_tools.result import MetaCall, Result, dumps_compact, error_result
from toolfold.meta_tools.tool_names import call_of
from toolfold.settings.model import MODE_SYNONYMS

if TYPE_CHECKING:
    from toolfold.catalog.model import Catalog
    from toolfold.execution.credentials import RequestCredentials
    from toolfold.scripts.interpreter import Interpreter
    from toolfold.settings import Settings
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


def profile_names(catalog: Catalog) -> list[str]:
    """Return the names of all profiles: ``default``, those of ``profiles.yaml``, and one for each mode."""
    return list(dict.fromkeys((DEFAULT_PROFILE, *catalog.profile_names, *MODES)))


def resolve_profile(catalog: Catalog, name: str, settings: Settings) -> Resolution:
    """Return what the profile called ``name`` is with ``settings``: one of the catalog, or that of a mode.

    That of a mode exposes the tools of ``default``: an operator who restricts that one restricts these.

    Raises:
        ProfileNotFound: There is no such profile.
    """
    if name == DEFAULT_PROFILE or name in catalog.profile_names:
        profile = catalog.profile(name)
        return _resolve(profile, settings, profile.mode)
    mode = MODE_SYNONYMS.get(name, name)
    if mode in MODES:
        profile = catalog.profile(DEFAULT_PROFILE)
        where = {**profile.where, "mode": f"the name {mode}"}
        return _resolve(profile._replace(name=mode, where=where), settings, mode)
    names = profile_names(catalog)
    closest = closest_matches(name, names)
    raise ProfileNotFound(
        f"There is no profile {name[:64]!a}.",
        f"{did_you_mean(name, closest)}There are {', '.join(names[:20])}{', …' if len(names) > 20 else ''}.",
        closest[0] if closest else "",
    )


def _resolve(profile: Profile, settings: Settings, mode: str) -> Resolution:
    def decide(own: str, keys: Sequence[str], setting: str, variable: str, default: str) -> Decision:
        """Return the value of the profile, else that of the variable, else the default."""
        if own:
            lines = (profile.where[key] for key in keys if key in profile.where)
            return Decision(own, next(lines, f"profile {profile.name}"))
        return Decision(setting, variable) if setting else Decision(default, "default")

    kinds: dict[str, Decision] = {}
    for kind in KINDS:
        own, setting = profile.kinds.get(kind, ""), getattr(settings, f"{kind}_mode")
        variable = f"TOOLFOLD_{kind.upper()}_MODE"
        kinds[kind] = decide(own, ["kinds", kind, f"{kind}s"], setting, variable, "progressive")
    combining = {}
    for key, name in SWITCHES.items():  # on, where neither the variable nor the profile says no
        own = "off" if name in profile.switched_off else "on" if key in profile.where else ""
        combining[name] = decide(own, [key], "", "", "on")
        if name in settings.switched_off:
            combining[name] = Decision("off", f"TOOLFOLD_{key.upper()}")
    made = decide(mode, ["mode"], settings.mode, "TOOLFOLD_MODE", "progressive")
    return Resolution(profile, made, kinds, combining)


def default_view(catalog: Catalog, settings: Settings) -> Catalog:
    """Return the part of ``catalog`` that the path without a profile exposes."""
    return catalog.memoize(
        "default view", lambda: view_of(catalog, resolve_profile(catalog, DEFAULT_PROFILE, settings))
    )


def view_of(catalog: Catalog, resolution: Resolution) -> Catalog:
    """Return the part of ``catalog`` that a profile exposes: ``catalog`` itself where that is all of it."""
    profile, off = resolution.profile, resolution.with_mode("off")
    kinds = {source.id: kind_of(source.kind) for source in catalog.sources}
    switched_off = [source for source, kind in kinds.items() if kind in off]
    out = {at for source in switched_off for at in catalog.positions("source", source)}
    if resolution.mode.value == "research":  # whose two tools only read
        out.update(at for effect in EFFECT_WORDS for at in catalog.positions("effect", effect))
    if profile.listed is None and not out:
        return catalog
    withheld: dict[int, Callable[[Tool], CallError]] = dict.fromkeys(positions_in(profile.unexposed), not_exposed)
    for other in profile.elsewhere:
        withheld |= dict.fromkeys(positions_in(other.runs), functools.partial(_mismatch, other))
    listed = list(range(len(catalog)) if profile.listed is None else positions_in(profile.listed))
    withheld |= dict.fromkeys(out.intersection(listed), not_exposed)
    return catalog.part([at for at in listed if at not in out], withheld)


def not_exposed(tool: Tool) -> CallError:
    """Return the error for a call of a tool that is described, and not called."""
    return ToolNotExposed(
        f"{tool.name} is described here, but its calls are switched off; nothing was sent.",
        OTHER_TOOL,
    )


def _mismatch(other: Elsewhere, tool: Tool) -> CallError:
    paths = " or ".join(f"/mcp/{name}" for name in other.profiles)
    return ContextMismatch(
        f"{tool.name} belongs to the context {other.context}, "
        "which is not the one of this connection; nothing was sent.",
        CONNECT.filled(paths=paths) if paths else OTHER_CONTEXT,
        context=other.context,
        profiles=list(other.profiles),
    )


def describe_restrictions(profile: Profile) -> Mapping[str, int]:
    """Return how many tools a profile knows and does not call: ``expose``, and each other context."""
    counts = {"expose: false": sum(1 for _ in positions_in(profile.unexposed))}
    counts |= {f"context {other.context}": sum(1 for _ in positions_in(other.runs)) for other in profile.elsewhere}
    return {what: count for what, count in counts.items() if count}


class ExposedTools(MetaTools):
    """What the clients of one profile see of the meta-tools ``base``: the part ``catalog`` of the whole catalog.

    Attributes:
        mode: A key of :data:`MODES`.
        listed: The tools of ``tools/list`` beside those of the catalog: name → definition.
        positions: Where the whole catalog has the tools that follow these; their compiled definitions are
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
            from toolfold.exposure import research  # for this mode only

            self._research, stand_ins = research.answer, [*research.DEFINITIONS]
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
            try:
                if self.mode == "research":
                    make = functools.partial(super().call, credentials=credentials, deadline=deadline, reads_only=True)
                    return self._research(catalog, self.executor.settings, str(stand_in["name"]), arguments, make)
                name, arguments = call_of(catalog, self.mode, stand_in, arguments)
            except InsufficientScope:
                raise
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


def select(tools: MetaTools, name: str) -> ExposedTools:
    """Return the tools that the profile called ``name`` exposes.

    Raises:
        ProfileNotFound: There is no such profile.
        CatalogUnavailable: The catalog cannot be read.
    """
    catalog = tools.catalog().base

    def make() -> ExposedTools:
        resolution = resolve_profile(catalog, name, tools.executor.settings)
        return ExposedTools(tools, view_of(catalog, resolution), resolution)

    return catalog.memoize(("exposure", name), make)
