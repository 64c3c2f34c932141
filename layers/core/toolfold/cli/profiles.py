"""``toolfold profiles``: the profiles of the catalog, and what each exposes."""

from __future__ import annotations

from typing import Any

from toolfold.catalog.model import Catalog
from toolfold.catalog.profiles import KINDS
from toolfold.catalog.reader import positions_in
from toolfold.cli import output, terminal
from toolfold.cli.application import Options
from toolfold.cli.tools import make_app
from toolfold.exposure.profiles import ExposedTools, profile_names, select
from toolfold.meta_tools.result import dumps_compact
from toolfold.results import tokens
from toolfold.text_safety import counted


def print_list(options: Options) -> int:
    """Print the profiles."""
    tools = make_app().server.tools
    rows = [_row(select(tools, name)) for name in profile_names(tools.catalog())]
    if options.json:
        output.print_json(rows)
    else:
        names = ("profile", "mode", "tools", "definitions", "tokens (estimate)", "title")
        terminal.print_table(names, [list(row.values()) for row in rows])
    return 0


def _row(exposed: ExposedTools) -> dict[str, Any]:
    resolution = exposed.resolution
    definitions, mode = exposed.every_definition(), resolution.mode
    return {
        "profile": resolution.profile.name,
        "mode": mode if exposed.mode == mode else f"{mode} ({exposed.mode})",
        "tools": len(exposed.catalog()),
        "definitions": len(definitions),
        "tokens": tokens.count(dumps_compact(definitions)),
        "title": resolution.profile.title,
    }


def show(options: Options) -> int:
    """Print one profile; with ``--explain`` where each value comes from."""
    tools = make_app().server.tools
    exposed = select(tools, options.name)
    row, values = _row(exposed), _values(tools.catalog(), exposed)
    if options.json:
        sourced = {key: {"value": value, "from": origin} for key, (value, origin) in values.items()}
        output.print_json({**row, **sourced})
    elif options.explain:
        rows = [[key, value if isinstance(value, list) else str(value), of] for key, (value, of) in values.items()]
        terminal.print_table(["setting", "value", "from"], rows)
    else:
        listed = [definition["name"] for definition in exposed.every_definition()]
        own = {"description": exposed.resolution.profile.description, "tools/list": listed}
        shown = {**row, **own, **{key: value for key, (value, _) in values.items() if key not in row}}
        terminal.print_fields({key: value for key, value in shown.items() if value not in ("", [])})
    return 0


def _values(catalog: Catalog, exposed: ExposedTools) -> dict[str, tuple[Any, str]]:
    """Return what is in force, and where it comes from."""
    resolution, tools = exposed.resolution, len(exposed.catalog())
    profile = resolution.profile
    found: dict[str, Any] = {f"kind {key}" if key in KINDS else key: one for key, one in resolution.decisions.items()}
    if exposed.mode != resolution.mode:
        found["shown as"] = exposed.mode, f"{counted(tools, 'tool')}; up to 12 are shown directly"
    for key in ("pinned", "most_used"):
        if positions := getattr(profile, key):
            names = [catalog.summary(at).name for at in positions]
            found[key] = names, profile.where.get(key, "most_used of profiles.yaml")
    where = profile.where.get("include") or profile.where.get("exclude") or "default"
    found["tools"] = f"{tools} of {len(catalog)}", where
    if profile.context:
        found["context"] = profile.context, profile.where.get("context", "")
    others = {"expose: false": profile.unexposed, **{f"context {one.context}": one.runs for one in profile.elsewhere}}
    known = {what: counted(len([*positions_in(runs)]), "tool") for what, runs in others.items() if runs}
    if withheld := [f"{count} by {what}" for what, count in known.items()]:
        found["withheld"] = withheld, "described, and not called"
    return found
