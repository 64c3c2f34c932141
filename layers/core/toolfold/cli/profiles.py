"""``toolfold profiles``: the profiles of the catalog, and what each exposes."""

from __future__ import annotations

import argparse
import os
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from toolfold.cli import output, terminal
from toolfold.errors import ToolfoldError
from toolfold.exposure.profiles import describe_restrictions, profile_names, select
from toolfold.log_analysis.figures import is_of_call, read_log
from toolfold.meta_tools.result import dumps_compact
from toolfold.results import tokens

if TYPE_CHECKING:
    from toolfold.catalog.model import Catalog
    from toolfold.exposure.exposed_tools import ExposedTools
    from toolfold.meta_tools.dispatcher import MetaTools

_EXAMPLES = """examples:
  toolfold profiles list                      every profile, its mode, and its tokens, estimated
  toolfold profiles show grouped              the tools that a client sees there
  toolfold profiles show default --explain    where each value comes from: profile, variable or default
  toolfold profiles most-used                 tools by number of calls, for the mode auto

A profile is the path /mcp/NAME over HTTP, and --profile NAME of `toolfold stdio` and `toolfold install`.
docs/how-to/choose-a-mode.md
"""

_TOKENS = "tokens (estimate)"
"""Heading: the count is the server's own, within some percent of a tokenizer's."""

_MAX_NAMES = 20
"""Names of tools that are shown in one line."""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the commands."""
    parser = commands.add_parser(
        "profiles",
        description="Show the profiles of the catalog: named selections of its tools, each with a mode.",
        epilog=_EXAMPLES,
    )
    parser.set_defaults(run=lambda options: options.parser.show_help())
    group = parser.add_subparsers(title="commands", metavar="COMMAND")
    listing = group.add_parser("list", help="every profile", description="List the profiles.", epilog=_EXAMPLES)
    listing.add_argument("--json", action="store_true", help="print JSON")
    listing.set_defaults(run=_list)
    show = group.add_parser("show", help="one profile", description="Show a profile.", epilog=_EXAMPLES)
    show.add_argument("name", metavar="NAME", help="the profile; `toolfold profiles list` names them")
    show.add_argument("--explain", action="store_true", help="show where each value comes from")
    show.add_argument("--json", action="store_true", help="print JSON")
    show.set_defaults(run=_show)
    used = group.add_parser(
        "most-used",
        help="tools by number of calls",
        description="Print the tools that are called most, as `most_used` of profiles.yaml takes them.",
        epilog=_EXAMPLES,
    )
    used.add_argument("--log", metavar="FILE", default="", help="the call log (default: TOOLFOLD_CALL_LOG)")
    used.add_argument("--limit", metavar="N", type=int, default=20, help="most tools to print (default 20)")
    used.set_defaults(run=_most_used)


def _exposed(tools: MetaTools, name: str) -> ExposedTools:
    return select(tools, name)


def _list(options: argparse.Namespace) -> int:
    tools = output.meta_tools()
    rows = [_row(_exposed(tools, name)) for name in profile_names(tools.catalog())]
    if options.json:
        output.print_json(rows)
        return 0
    shown = [
        [row["profile"], row["mode"], row["tools"], row["definitions"], row["tokens"], row["title"]] for row in rows
    ]
    terminal.print_table(["profile", "mode", "tools", "definitions", _TOKENS, "title"], shown)
    return 0


def _row(exposed: ExposedTools) -> dict[str, Any]:
    """Return what the list says of a profile."""
    resolution = exposed.resolution
    definitions = exposed.every_definition()
    mode = resolution.mode.value
    return {
        "profile": resolution.profile.name,
        "mode": mode if exposed.exposed.mode == mode else f"{mode} ({exposed.exposed.mode})",
        "tools": len(exposed.catalog()),
        "definitions": len(definitions),
        "tokens": tokens.count(dumps_compact(definitions)),
        "title": resolution.profile.title,
    }


def _show(options: argparse.Namespace) -> int:
    tools = output.meta_tools()
    exposed = _exposed(tools, options.name)
    values = _values(tools.catalog(), exposed)
    if options.json:
        output.print_json({**_row(exposed), **{key: dict(value) for key, value in values.items()}})
        return 0
    if options.explain:
        terminal.print_table(
            ["setting", "value", "from"], [[key, _text(value["value"]), value["from"]] for key, value in values.items()]
        )
        return 0
    row = _row(exposed)
    names = [definition["name"] for definition in exposed.every_definition()]
    shown = ", ".join(names[:_MAX_NAMES]) + (f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else "")
    terminal.print_fields(
        {
            **{_TOKENS if key == "tokens" else key: value for key, value in row.items() if value != ""},
            "path": "/mcp" if row["profile"] == "default" else f"/mcp/{row['profile']}",
            **({"description": text} if (text := exposed.resolution.profile.description) else {}),
            "tools/list": shown,
            **{key: _text(value["value"]) for key, value in values.items() if key in ("pinned", "context", "withheld")},
        }
    )
    return 0


def _values(catalog: Catalog, exposed: ExposedTools) -> dict[str, Mapping[str, Any]]:
    """Return setting → its value, and where it comes from."""
    resolution = exposed.resolution
    profile = resolution.profile
    found: dict[str, Mapping[str, Any]] = {
        "mode": {"value": resolution.mode.value, "from": resolution.mode.origin},
        **{f"kind {kind}": {"value": made.value, "from": made.origin} for kind, made in resolution.kinds.items()},
        **{name: {"value": made.value, "from": made.origin} for name, made in resolution.combining.items()},
    }
    if exposed.exposed.mode != resolution.mode.value:
        tools = len(exposed.catalog())
        found["shown as"] = {"value": exposed.exposed.mode, "from": f"{tools} tools; up to 12 are shown directly"}
    for key in ("pinned", "most_used"):
        if positions := getattr(profile, key):
            names = [catalog.summary(at).name for at in positions]
            found[key] = {"value": names, "from": profile.where.get(key, "most_used of profiles.yaml")}
    found["tools"] = {
        "value": f"{len(exposed.catalog())} of {len(catalog)}",
        "from": profile.where.get("include") or profile.where.get("exclude") or "default",
    }
    if profile.context:
        found["context"] = {"value": profile.context, "from": profile.where.get("context", "")}
    if restrictions := describe_restrictions(profile):
        found["withheld"] = {
            "value": [f"{count} tools by {what}" for what, count in restrictions.items()],
            "from": "described, and not called",
        }
    return found


def _text(value: Any) -> str:
    return ", ".join(value) if isinstance(value, list) else str(value)


def _most_used(options: argparse.Namespace) -> int:
    path = options.log or os.environ.get("TOOLFOLD_CALL_LOG", "")
    if not path:
        raise ToolfoldError("There is no call log. Name one with --log FILE, or set TOOLFOLD_CALL_LOG for the server.")
    # The line of a request that made several calls names TOOL_BATCH, or the tool of all.
    calls = (line for line in read_log([path], None) if is_of_call(line))
    counts = Counter(str(line["inner_tool"]) for line in calls if isinstance(line.get("inner_tool"), str))
    if not counts:
        raise ToolfoldError(f"There are no calls in {path}.")
    print("most_used:")
    for name, count in counts.most_common(max(options.limit, 0)):
        print(f"  - {name} # {count:,}")
    return 0
