"""``toolfold catalog search``, ``list`` and ``get``.

Each prints a table to a terminal, lines with tabs to a pipe, and the structured answer with ``--json``.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from itertools import groupby
from typing import Any

from toolfold.catalog import json_schema
from toolfold.catalog.entries import summary_suffix
from toolfold.cli import output, terminal
from toolfold.cli.application import Options
from toolfold.cli.error_text import WHOLE_TOKENS, call_command
from toolfold.cli.tools import make_app, meta_tools
from toolfold.meta_tools import list_request
from toolfold.meta_tools.reader import read_arguments
from toolfold.text_safety import counted, escape_unsafe

DEFAULT_LIMIT = 10
"""Tools shown by default: half a screen."""


def search_tools(options: Options) -> int:
    """Print the tools that match.

    Returns:
        The exit code: 0, or 1 when nothing matches.
    """
    arguments = {"query": " ".join(options.words), **_given_filters(options)}
    if not options.json:
        arguments = {"limit": DEFAULT_LIMIT, **arguments, "detail": "minimal", "token_budget": WHOLE_TOKENS}
    result = meta_tools(options).call("TOOL_LIST", arguments)
    found = result.structured
    if options.json or "tools" not in found:  # an error, or the answer of another server
        return output.print_result(result, options.json) or int(not found.get("tools"))
    if not found["tools"]:
        output.print_message("No tool matches. Try other English words, or look through `toolfold catalog list`.")
        return 1
    rows = []
    for entry in found["tools"]:
        remarks = summary_suffix(entry.get("access", ""), entry.get("effect", ""), entry.get("confirm", ""))
        rows.append([entry["name"], entry["description"] + remarks])
    terminal.print_rows(("tool", "what it returns"), rows)
    if found.get("confidence", "sure") != "sure":  # a blank query has none
        output.print_notice("No tool fits closely.")
    more = found["matched"] - found["returned"]
    if more and terminal.is_terminal(sys.stdout):
        output.print_notice(f"{more:,} weaker ones: --limit N.")
    return 0


def _given_filters(options: Options) -> dict[str, Any]:
    given = {name: getattr(options, name) for name in ("category", "access", "limit")} | {"tag": list(options.tag)}
    return {name: value for name, value in given.items() if value not in (None, [])}


def list_tools(options: Options) -> int:
    """Print the tools that meet the filters: by category on a terminal, else one a line with tabs between columns."""
    arguments = _given_filters(options)
    if options.endpoint or options.json:
        return output.print_result(meta_tools(options).call("TOOL_LIST", arguments), options.json)
    catalog = make_app().server.tools.catalog()
    request = list_request.parse_list_request(catalog, read_arguments(catalog, list_request.TOOL, arguments))
    positions = request.filters.positions(catalog)
    listed = catalog.listed if positions is None else sorted(positions)
    summaries = [catalog.summary(position) for position in listed[: request.limit]]
    if not summaries:
        output.print_message("No tool meets all of these conditions. `toolfold catalog list` has the categories.")
        return 1
    if terminal.is_terminal(sys.stdout):
        for number, (category, group) in enumerate(groupby(summaries, key=lambda summary: summary.category)):
            print("\n" if number else "", terminal.cell_text(category), sep="")
            terminal.print_fields(
                {f"  {one.name}": one.summary + summary_suffix(one.access, one.effect, one.confirm) for one in group}
            )
        part = f"{len(summaries)} of " if len(summaries) < len(listed) else ""
        output.print_notice(f"{part}{counted(len(listed), 'tool')}.")
    else:
        for summary in summaries:
            print(summary.name, summary.category, summary.access, escape_unsafe(summary.summary), sep="\t")
    return 0


def describe_tools(options: Options) -> int:
    """Print the entries of tools, and for each name that the catalog lacks an error.

    Returns:
        The exit code: 0, or 1 when a name is not found.
    """
    arguments = {"tool_name": list(options.names), "detail": options.detail}
    result = meta_tools(options).call("TOOL_GET", arguments)
    if result.is_error or options.json:
        missing = not result.is_error and not all(entry["found"] for entry in result.structured["tools"])
        return output.print_result(result, options.json) or int(missing)
    code, errors = 0, iter(result.errors)
    for number, entry in enumerate(result.structured["tools"]):
        if not entry["found"]:
            code = 1
            sys.stdout.flush()
            output.print_error(next(errors))
        elif terminal.is_terminal(sys.stdout):
            if number:
                print()
            _print_entry(entry)
        else:
            output.print_json(entry, indent=2)
    return code


def _print_entry(entry: Mapping[str, Any]) -> None:
    place = [str(entry[key]) for key in ("category", "access") if entry.get(key)]
    fields = [(entry["name"], ", ".join(place)), ("about", entry.get("description", ""))]
    parameters = entry.get("parameters", {})
    required = parameters.get("required", ())
    for name, rule in json_schema.properties(parameters).items():
        examples = "" if "enum" in rule else ", ".join(map(str, rule.get("examples", ())))
        words = ", ".join(json_schema.value_words(parameters, rule)).replace("|", " | ")  # lines can end at spaces
        text = f"{words}. {rule.get('description', '')}"
        fields.append((f"  {name}{'' if name in required else '?'}", f"{text} E.g. {examples}" if examples else text))
    if "returns" in entry:
        fields.append(("returns", re.sub(r",(?=\S)", ", ", entry["returns"])))  # lines can end at spaces
    if "example_call" in entry:
        fields.append(("example", call_command(entry["example_call"])))
    if entry.get("see_also"):
        fields.append(("see also", ", ".join(entry["see_also"])))
    for number, (need, name) in enumerate(entry.get("use_instead", {}).items()):
        fields.append(("" if number else "instead", f"{name} for {need}"))
    terminal.print_fields(fields)
