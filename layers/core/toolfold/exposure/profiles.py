"""The profile of a path and its mode: what ``tools/list`` has there, and what a call of a name stands for.

A client lets its model call the tools of ``tools/list``, and no others: a text that names the tools of another mode is
read as this mode has them. A cursor of ``tools/list`` has a hash of the catalog, the profile and its mode, and an
offset. A cursor of another catalog or profile is not valid: the client starts again.
"""

from __future__ import annotations

import contextlib
import functools
import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from toolfold.catalog.entries import COMBINING_TOOLS, DEFAULT_PROFILE, EFFECT_WORDS, META_TOOLS, Tool
from toolfold.catalog.json_schema import properties
from toolfold.catalog.profiles import KINDS, SWITCHES, Elsewhere, Profile, kind_of
from toolfold.catalog.reader import positions_in
from toolfold.catalog.skills import SKILL_FILE, all_skills
from toolfold.errors import CallError, ContextMismatch, ProfileNotFound, ToolNotExposed
from toolfold.exposure import research
from toolfold.fuzzy import closest_matches, did_you_mean
from toolfold.messages import CONNECT, OTHER_CONTEXT, OTHER_TOOL
from toolfold.meta_tools.definitions import definitions, instructions
from toolfold.meta_tools.dispatcher import MetaRequest, MetaTools, ToolPage, UnknownCursor
from toolfold.meta_tools.result import WRITE, MetaCall, Result, dumps_compact
from toolfold.meta_tools.tool_names import call_of
from toolfold.settings.model import MODE_SYNONYMS
from toolfold.wording import ProposedCall, Reader

if TYPE_CHECKING:
    from toolfold.catalog.model import Catalog
    from toolfold.scripts.interpreter import Interpreter
    from toolfold.settings import Settings

AUTO_DIRECT = 12
"""Tools up to which ``auto`` shows each alone."""

MAX_CHARACTERS = 2048
"""Of the instructions: clients cut longer ones."""

_FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
"""What a SKILL.md begins with: for the list of skills."""

PAGE_SIZE = 100
"""Definitions of a page: some 25,000 tokens, and 100 kB."""


class Mode(NamedTuple):
    """A mode.

    Attributes:
        steps: How to call, in the instructions, before what follows; empty: by the meta-tools.
        terms: Meta-tool that it does not list → what a text has in its place.
        meta_tools: How the names of those begin that it lists; empty: none.
        combines: Whether it lists what combines calls, except scripts.
    """

    steps: str = ""
    terms: Mapping[str, str] = {}
    meta_tools: tuple[str, ...] = ()
    combines: bool = False


_PROGRESSIVE = Mode(meta_tools=("TOOL_",))
MODES: Mapping[str, Mode] = {
    "progressive": _PROGRESSIVE,
    "lazy": _PROGRESSIVE._replace(combines=True),
    "grouped": Mode(
        "Each tool is a category: action names one of its tools, and the parameters of that tool are beside it. "
        "An error has the parameters of the tool. TOOL_CALL(tool_name, arguments, select) runs any tool, and its "
        "select picks a part of an answer; by it TOOL_LIST(query) finds tools, and TOOL_GET(tool_name) describes one. ",
        {"TOOL_LIST": "TOOL_CALL of TOOL_LIST", "TOOL_GET": "TOOL_CALL of TOOL_GET"},
        ("TOOL_CALL",),
        combines=True,
    ),
    "direct": Mode(
        "Each tool is called by its own name; select among its arguments picks a part of the answer. ",
        {"TOOL_LIST": "tools/list", "TOOL_GET": "tools/list", "TOOL_CALL": "the tool itself"},
    ),
    "kinds": Mode(
        "Each tool stands for a kind of source. Its subcommands return the tools of a source with their parameters, "
        "and run one; request_tools(query) finds tools. For a tool you know, run it: an error has the call to make "
        "instead. ",
        {"TOOL_LIST": "request_tools", "TOOL_GET": "request_tools", "TOOL_CALL": "the tool of its kind"},
    ),
    "auto": _PROGRESSIVE,  # or ``direct``
    "research": Mode(
        "search(query) finds tools, and answers where the query names all that a call needs; fetch(id) returns one. ",
        {"TOOL_LIST": "search", "TOOL_GET": "fetch", "TOOL_CALL": "fetch"},
    ),
}


class Decision(NamedTuple):
    """A value, and where it comes from."""

    value: str
    origin: str


class Resolution(NamedTuple):
    """What a profile is in this process.

    Attributes:
        decisions: ``mode``, which may be ``auto``; the mode of each kind of source; and for each tool that combines
            several calls ``on`` or ``off``.
    """

    profile: Profile
    decisions: Mapping[str, Decision]

    @property
    def mode(self) -> str:
        """The mode, which may be ``auto``."""
        return self.decisions["mode"].value

    def names_with(self, value: str) -> frozenset[str]:
        """Return the kinds and tools that are ``off``, or the kinds that are ``inline``: whose tools are all listed."""
        return frozenset(name for name, decision in self.decisions.items() if decision.value == value)


def profile_names(catalog: Catalog) -> list[str]:
    """Return the names of all profiles: ``default``, those of ``profiles.yaml``, and one for each mode."""
    return list(dict.fromkeys((DEFAULT_PROFILE, *catalog.profile_names, *MODES)))


def resolve_profile(catalog: Catalog, name: str, settings: Settings) -> Resolution:
    """Return what the profile called ``name`` is with ``settings``: one of the catalog, or that of a mode.

    That of a mode exposes the tools of ``default``: an operator who restricts that one restricts these.

    Raises:
        ProfileNotFound: There is no such profile.
    """
    mode = MODE_SYNONYMS.get(name, name)
    if name == DEFAULT_PROFILE or name in catalog.profile_names:
        profile = catalog.profile(name)
        mode = profile.mode
    elif mode in MODES:
        default = catalog.profile(DEFAULT_PROFILE)
        profile = default._replace(name=mode, where={**default.where, "mode": f"the name {mode}"})
    else:
        names = profile_names(catalog)
        closest = closest_matches(name, names)
        raise ProfileNotFound(
            f"There is no profile {name[:64]!a}.",
            f"{did_you_mean(name, closest)}There are {', '.join(names[:20])}{', …' if len(names) > 20 else ''}.",
            closest[0] if closest else "",
        )

    def decide(own: str, keys: Sequence[str], setting: str, variable: str, default: str) -> Decision:
        """Return the value of the profile, else that of the variable, else the default."""
        if own:
            lines = (profile.where[key] for key in keys if key in profile.where)
            return Decision(own, next(lines, f"profile {profile.name}"))
        return Decision(setting, variable) if setting else Decision(default, "default")

    found = {"mode": decide(mode, ["mode"], settings.mode, "TOOLFOLD_MODE", "progressive")}
    for kind in KINDS:
        own, setting = profile.kinds.get(kind, ""), getattr(settings, f"{kind}_mode")
        variable = f"TOOLFOLD_{kind.upper()}_MODE"
        found[kind] = decide(own, ["kinds", kind, f"{kind}s"], setting, variable, "progressive")
    for key, tool in SWITCHES.items():  # on, where neither the variable nor the profile says no
        own = "off" if tool in profile.switched_off else "on" if key in profile.where else ""
        setting = "off" if tool in settings.switched_off else ""
        found[tool] = decide("" if setting else own, [key], setting, f"TOOLFOLD_{key.upper()}", "on")
    return Resolution(profile, found)


def view_of(catalog: Catalog, resolution: Resolution) -> Catalog:
    """Return the part of ``catalog`` that a profile exposes: ``catalog`` itself where that is all of it."""
    profile, off = resolution.profile, resolution.names_with("off")
    switched_off = [source.id for source in catalog.sources if kind_of(source.kind) in off]
    out = {at for source in switched_off for at in catalog.positions("source", source)}
    if resolution.mode == "research":  # whose two tools only read
        out.update(at for effect in EFFECT_WORDS for at in catalog.positions("effect", effect))
    if profile.listed is None and not out:
        return catalog
    withheld: dict[int, Callable[[Tool], CallError]] = dict.fromkeys(positions_in(profile.unexposed), not_exposed)
    for other in profile.elsewhere:
        withheld |= dict.fromkeys(positions_in(other.runs), functools.partial(_mismatch, other))
    listed = list(catalog.listed if profile.listed is None else positions_in(profile.listed))
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


class ExposedTools(MetaTools, Reader):
    """What the clients of one profile see of the meta-tools ``base``: the part ``catalog`` of the whole catalog.

    Where the mode does not list every meta-tool, it reads the texts for the models of these clients.

    Attributes:
        mode: A key of :data:`MODES`.
        listed: The tools of ``tools/list`` beside those of the catalog: name → definition.
        positions: Where the whole catalog has the tools that follow these; their compiled definitions are
            read for the page that has them.
        stand_ins: Name in lower case → tool that stands for several.
    """

    def __init__(self, base: MetaTools, catalog: Catalog, resolution: Resolution) -> None:
        super().__init__(lambda: catalog, base.executor)
        self._base, self._whole, self.resolution, self._pages = base, catalog.base, resolution, dict[int, ToolPage]()
        own, profile, self.mode = catalog.listed, resolution.profile, resolution.mode
        inline, off = resolution.names_with("inline"), resolution.names_with("off")
        pins = profile.pinned
        if self.mode == "auto":
            self.mode = "direct" if len(catalog) <= AUTO_DIRECT else "progressive"
            pins += () if self.mode == "direct" else profile.most_used
        mode, stand_ins = MODES[self.mode], list[Mapping[str, Any]]()
        if profile.list_executors:
            mode = mode._replace(meta_tools=mode.meta_tools or ("TOOL_CALL",), combines=True)
        self._terms = mode.terms
        if self.mode == "research":
            stand_ins = [*research.DEFINITIONS]
        elif self.mode in ("grouped", "kinds"):
            # A profile that is named after a mode, and not written, has those of ``default``.
            compiled = profile.name if profile.name in self._whole.profile_names else DEFAULT_PROFILE
            exposed = self._whole.exposed(compiled, self.mode)
            stand_ins = [one["definition"] for one in exposed if one["kind"] not in inline | off]
        shown = [*stand_ins, *(one for one in definitions(catalog) if one["name"].startswith(mode.meta_tools))]
        if mode.combines:
            shown += definitions(catalog, [one for one in COMBINING_TOOLS if one not in {"TOOL_SCRIPT", *off}])
        self.listed = {str(one["name"]): dumps_compact(one).encode() for one in shown}
        self.stand_ins = {str(one["name"]).lower(): one for one in stand_ins}
        sources = [source.id for source in catalog.sources if kind_of(source.kind) in inline]
        each = [at for source in sources for at in catalog.positions("source", source)]
        pinned = [at for at in pins if at in own]
        following = [*pinned, *own] if self.mode == "direct" else [*each, *pinned]
        self.positions = [] if self.mode == "research" else list(dict.fromkeys(following))

    def switched_off(self, catalog: Catalog | None) -> frozenset[str]:
        """Return the tools that combine several calls, and that a variable or the profile switches off."""
        return self.resolution.names_with("off")

    def interpreter(self) -> Interpreter:
        """Return what runs scripts: one for all profiles."""
        return self._base.interpreter()

    @property
    def reader(self) -> Reader | None:
        """The model that reads the next steps; None: one whose client lists the meta-tools."""
        return self if self._terms else None

    @functools.cached_property
    def _cursors(self) -> Mapping[object, int]:
        """Cursor → offset of its page, None for the first: they begin with a hash of all that the list depends on."""
        later = range(PAGE_SIZE, len(self.listed) + len(self.positions), PAGE_SIZE)
        if not later:
            return {None: 0}
        import hashlib  # loads a compiled library, which a list of one page does not need

        parts = self._whole.fingerprint, self.resolution.profile.name, self.mode
        list_id = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
        return {None: 0, **{f"{list_id}.{offset}": offset for offset in later}}

    def list_page(self, cursor: object = None) -> ToolPage:
        """Return the page of ``tools/list`` that ``cursor`` names, or the first.

        Raises:
            UnknownCursor: It is not a cursor of this list.
        """
        if not isinstance(cursor, str | None) or cursor not in self._cursors:
            raise UnknownCursor("Unknown cursor: the list has changed, or is another one. Request it from the start.")
        offset, before = self._cursors[cursor], list(self.listed.values())
        if offset not in self._pages:
            end = offset + PAGE_SIZE
            shown = self.positions[max(offset - len(before), 0) : max(end - len(before), 0)]
            self._whole.prefetch_definitions(shown)
            tools = [*before[offset:end], *(dumps_compact(self._whole.definition(at)).encode() for at in shown)]
            more = next((str(following) for following, at in self._cursors.items() if at == end), None)
            self._pages[offset] = ToolPage(b"[" + b",".join(tools) + b"]", more)
        return self._pages[offset]

    def every_definition(self) -> list[dict[str, Any]]:
        """Return all definitions of ``tools/list``, as one page."""
        return [one for cursor in self._cursors for one in json.loads(self.list_page(cursor).tools)]

    def instructions(self) -> str:
        """Return the instructions for a client that connects, and the text of each inline skill that fits behind."""
        mode = MODES[self.mode]
        text = instructions(
            self.catalog(),
            time.time(),
            steps=mode.steps or None,
            purpose=self.resolution.profile.description,
            # A model does not call what combines several calls where the mode lists no meta-tool.
            switched_off=self.switched_off(None) if mode.meta_tools else COMBINING_TOOLS,
            has_select=self.mode != "research",
        )
        catalog, is_inline = self.catalog(), "skill" in self.resolution.names_with("inline")
        for skill in all_skills(catalog) if is_inline else ():
            tool, content = catalog.get(skill.tool), catalog.file(skill.files[SKILL_FILE].sha256) or {}
            behind = f"\n\n{skill.tool}:\n{_FRONT_MATTER.sub('', content.get('text', ''), count=1).strip()}"
            fits = len(text) + len(behind) <= MAX_CHARACTERS
            text += behind if fits and tool is not None and not tool.needs_approval else ""
        return text

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

    def handle(self, name: str, request: MetaRequest) -> Result:
        """Return the answer of a meta-tool, or of a tool that stands for several."""
        stand_in = self.stand_ins.get(name.lower())
        if stand_in is not None and self.mode == "research":
            return research.answer(str(stand_in["name"]), request)
        if stand_in is not None:
            name, arguments = call_of(request.catalog, self.mode, stand_in, request.arguments)
            request = request._replace(arguments=arguments)
        found = super().handle(name, request)
        if self.mode != "kinds" or "next" not in found.structured:
            return found
        step = found.structured["next"]  # of a list of tools: what this mode does with them
        own = re.sub("TOOL_CALL( or TOOL_CALL_WRITE|_WRITE)?", "call", step)
        own = re.sub(r"TOOL_(GET|LIST)(\(tool_name\))?", "request_tools", own)
        return found._replace(structured={**found.structured, "next": own}, text=found.text.replace(step, own, 1))

    def term(self, name: str, fields: Mapping[str, Any]) -> str:
        """Return what this mode has for a meta-tool; one that was not called by its name begins no sentence."""
        if name == "called" and fields["tool"] in self._terms:
            return ""
        return self._terms.get(name) or super().term(name, fields)

    def call_text(self, tool: str, arguments: Mapping[str, Any]) -> str:
        """Return a call of a meta-tool as this mode has it."""
        call = self.proposed(tool, arguments)
        return self.term(tool, {}) if call is None else f"{call[0]} {dumps_compact(call[1])}"

    def proposed(self, tool: str, arguments: Mapping[str, Any]) -> ProposedCall | None:
        """Return the call of a meta-tool as this mode has it; None where it has none."""
        if tool in self.listed or tool not in (*META_TOOLS, WRITE):
            return tool, arguments
        names, mode, catalog = arguments.get("tool_name"), self.mode, self.catalog()
        listed = [names] if isinstance(names, str) else names
        match mode, tool:
            case "grouped", _:
                return "TOOL_CALL", {"tool_name": tool, "arguments": arguments}
            case "kinds", "TOOL_LIST" | "TOOL_GET":
                return "request_tools", arguments if tool == "TOOL_LIST" else {"tool_names": listed}
            case "research", "TOOL_LIST":
                return "search", {"query": arguments["source"]} if "source" in arguments else arguments
            case "research", "TOOL_GET" if listed:
                return "fetch", {"id": listed[0]}
            case _, "TOOL_LIST" | "TOOL_GET":
                return None
        called, given = catalog.get(names) if isinstance(names, str) else None, arguments.get("arguments", {})
        options = {name: value for name, value in arguments.items() if name not in ("tool_name", "arguments")}
        if called is None or not isinstance(given, Mapping) or options.keys() & properties(called.parameters).keys():
            return None
        if mode == "research":
            options.pop("max_tokens", None)  # fetch has its own
            written = ", ".join(f"{key}={value!r}" for key, value in {**given, **options}.items())
            return "fetch", {"id": f"{called.name}({written})"}
        if mode == "direct":
            return called.name, {**given, **options}
        source, short = called.source, called.name.rpartition("__")[2]
        verb = {"list_tables": "list_tables", "describe_table": "discover"}.get(short, "query")
        kinds: Mapping[str, ProposedCall] = {
            "database": ("database", {"subcommand": verb, "database": source, **given}),
            "mcp": ("mcp", {"subcommand": "call", "server": source, "tool": called.name, "arguments": given}),
            "skill": ("read_skill", {"name": called.name, **given}),
            "connector": ("connector", {"subcommand": "execute", "connector": source, "action": called.name,
                                        "parameters": given}),
        }  # fmt: skip
        name, call = kinds[kind_of(catalog.source(source).kind)]
        return name, {**call, **options}


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
