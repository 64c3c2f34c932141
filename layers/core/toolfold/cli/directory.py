"""``toolfold doctor --directory``: check what ``tools/list`` returns by the rules of directories of connectors."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from toolfold.build.prompt_injection import find_prompt_injection
from toolfold.catalog.model import Catalog
from toolfold.cli.output import Finding, counted
from toolfold.cli.tools import meta_tools
from toolfold.exposure.profiles import profile_names, select

MAX_NAME, MAX_DESCRIPTION = 64, 2_048
"""Characters that a tool may have: the APIs of models take no longer name either."""

_MAX_SHOWN = 3
_STEP = "Correct the texts in overlay.yaml or the YAML of the source, and compile the catalog."


def check_definitions(catalog: Catalog, definitions: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield what directories refuse, as ``NAME problem``.

    Args:
        catalog: Has the effects of the tools that a definition stands for.
        definitions: Those of ``tools/list``.
    """
    # A word without _ may be one of the subject: EMA and SMA are tools, and averages.
    names = {one["name"] for one in definitions if "_" in one["name"]}
    for one in definitions:
        name, description, hints = one["name"], one.get("description", ""), one.get("annotations", {})
        if not one.get("title"):
            yield f"{name} has no title"
        if not {"readOnlyHint", "destructiveHint"} & hints.keys():
            yield f"{name} has neither readOnlyHint nor destructiveHint"
        # What a tool stands for are the names of tools among its values.
        rules = one["inputSchema"].get("properties", {}).values()
        values = (value for rule in rules if isinstance(rule, dict) for value in rule.get("enum", ()))
        tools = (catalog.get(value) for value in values if isinstance(value, str))
        if len({tool.effect == "read" for tool in tools if tool is not None}) > 1:
            yield f"{name} reads and writes"
        if len(name) > MAX_NAME:
            yield f"{name} has a name of more than {MAX_NAME} characters"
        if not 0 < len(description) <= MAX_DESCRIPTION:
            yield f"{name} has a description of {len(description):,} characters, not 1 to {MAX_DESCRIPTION:,}"
        yield from (f"{name} {kind}: {excerpt}" for kind, excerpt in find_prompt_injection(description))
        if others := sorted(names.intersection(re.findall(r"\w+", description)) - {name}):
            yield f"{name} names another tool: {others[0]}"


def check_directory() -> Iterator[Finding]:
    """Yield a finding for each profile and mode of the catalog."""
    tools = meta_tools()
    for name in profile_names(tools.catalog()):
        definitions = select(tools, name).every_definition()
        found = list(check_definitions(tools.catalog(), definitions))
        if not found:
            yield Finding("ok", "directory", f"{name}: {counted(len(definitions), 'tool')} as directories want them.")
            continue
        more = f"; and {len(found) - _MAX_SHOWN} more" if len(found) > _MAX_SHOWN else ""
        text = f"{name}: {'; '.join(found[:_MAX_SHOWN])}{more}."
        yield Finding("problem", "directory", text, _STEP)
