"""Write the tables of docs/reference/source-yaml.md from the models that check the files: ``make source-reference``.

The meaning of a key is the text below it in the model, or the one in :data:`MEANINGS`. A test compares the page with
what this prints, so that a new key cannot be left out.

    python -m scripts.source_reference [--write]
"""

from __future__ import annotations

import argparse
import ast
import inspect
import itertools
import json
import re
import sys
import textwrap
import types
import typing
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from toolfold.build.importers import IMPORTERS, find_importer
from toolfold.build.importers.base import ImporterSettings, Overlay, ToolOverlay
from toolfold.build.importers.openapi.importer import Selection
from toolfold.build.importers.sql import TablePatterns
from toolfold.build.schema import Auth, OAuth2, Relation

PAGE = Path(__file__).resolve().parent.parent / "docs/reference/source-yaml.md"

_GAP = "\n\n"

MEANINGS: Mapping[str, str] = {
    "id": "Name of the source: lower-case letters, digits and `_`; tools are called `<id>__<name>`.",
    "kind": "Kind of the source.",
    "auth": "[The key](#auth) of the source; without it, none is sent.",
    "tools": "[The tools](http-api.md).",
    "parameters": "Parameters that several tools have; a tool names one in its list.",
    "transport": "`http` for a server on the network, `stdio` for a program on this machine.",
    "dialect": "Which database it is.",
    "tables": "[The tables](#tables) that may be read.",
    "statement_timeout_s": "Seconds after which a statement is ended.",
    "max_rows": "Rows of one answer.",
    "max_bytes": "Bytes of one answer.",
    "oauth2": "[Client credentials](#oauth2): the key is `client_id:client_secret`.",
    "scopes": "Scopes of the token.",
    "ToolOverlay.title": "Name for people.",
    "ToolOverlay.summary": "The line in a listing, at most 120 characters.",
    "ToolOverlay.description": "What a model reads before a call.",
    "ToolOverlay.effect": "What a call changes at the source.",
    "ToolOverlay.expose": "Whether the tool may be called; `false` hides it.",
    "ToolOverlay.tags": "Further tags.",
    "ToolOverlay.example": "Arguments of a valid call.",
    "ToolOverlay.example_queries": "Requests of users who need the tool, in their words.",
    "ToolOverlay.aliases": "Other names of the data that the tool returns.",
    "Overlay.tools": "Name that the source has for a tool → [corrections](#corrections).",
    "tags": "Tags.",
    "paths": "Paths.",
    "operations": "Operations.",
    "include": "What is included.",
    "exclude": "What is left out.",
}
"""Key, or model and key → its meaning, where the model has no text below it or one for other readers."""

_REPLACED = frozenset({"id", "kind", "auth"})
"""Keys of every kind whose text in the model is for programmers."""


def tables() -> dict[str, str]:
    """Return name of a section → its table in Markdown."""
    common = set(ImporterSettings.model_fields)
    found = {"common": _table(ImporterSettings, set())}
    for kind in sorted(IMPORTERS):
        model = find_importer(kind).settings_model
        changed = {
            name
            for name in common - {"kind"}
            if repr(model.model_fields[name].default) != repr(ImporterSettings.model_fields[name].default)
        }
        found[kind] = _table(model, common - changed)
    others: Mapping[str, type[BaseModel]] = {
        "auth": Auth,
        "oauth2": OAuth2,
        "selection": Selection,
        "tables": TablePatterns,
        "overlay": Overlay,
        "corrections": ToolOverlay,
        "relations": Relation,
    }
    return {**found, **{name: _table(model, set()) for name, model in others.items()}}


def filled(page: str) -> str:
    """Return the page with its tables replaced.

    Raises:
        SystemExit: a table has no place in the page, or a place no table.
    """
    known = tables()
    places = re.findall(r"<!-- keys: (\w+) -->", page)
    if sorted(places) != sorted(known):
        sys.exit(f"tables without a place, or places without a table: {sorted(set(places) ^ set(known))}")
    for name, table in known.items():
        marker = f"<!-- keys: {name} -->\n\n"
        before, _, after = page.partition(marker)
        page = f"{before}{marker}{table}{_GAP}{after.partition(_GAP)[2]}"
    return page.rstrip() + "\n"


def _table(model: type[BaseModel], left_out: set[str]) -> str:
    texts = dict(_texts(model))
    rows = ["| key | value | meaning |", "|---|---|---|"]
    for name, field in model.model_fields.items():
        if name in left_out:
            continue
        key = f"{model.__name__}.{name}"
        meaning = MEANINGS.get(key, "")
        is_replaced = name in _REPLACED and issubclass(model, ImporterSettings)
        if not meaning:
            meaning = MEANINGS[name] if is_replaced or name not in texts else texts[name]
        rows.append(f"| `{field.alias or name}` | {_type(field.annotation)}{_default(name, field)} | {meaning} |")
    return "\n".join(rows)


def _texts(model: type[BaseModel]) -> Iterator[tuple[str, str]]:
    """Yield key and text of each field that has a text below it, those of the bases first."""
    for base in reversed(model.__mro__):
        if not base.__module__.startswith("toolfold"):
            continue
        (definition,) = ast.parse(textwrap.dedent(inspect.getsource(base))).body
        body = definition.body if isinstance(definition, ast.ClassDef) else []
        for field, text in itertools.pairwise(body):
            if (
                isinstance(field, ast.AnnAssign)
                and isinstance(field.target, ast.Name)
                and isinstance(text, ast.Expr)
                and isinstance(text.value, ast.Constant)
            ):
                words = " ".join(str(text.value.value).split())
                yield field.target.id, words.replace("``", "`").replace("|", "\\|")


def _type(annotation: Any) -> str:
    """Return a type in words."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return _type(arguments[0])
    if origin is typing.Literal:
        return ", ".join(f"`{value}`" for value in arguments)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(dict.fromkeys(_type(one) for one in arguments if one is not type(None)))
    if origin is list:
        return "list of objects" if _type(arguments[0]) == "object" else "list"
    if origin is dict or (isinstance(annotation, type) and issubclass(annotation, BaseModel)):
        return "object"
    words = {str: "text", int: "integer", float: "number", bool: "boolean"}
    return words.get(annotation, "object")


def _default(name: str, field: FieldInfo) -> str:
    """Return what the cell of the type says about the default; nothing where it is empty or false."""
    if name == "id":
        return ", default: name of the folder"
    if field.is_required():
        return ", required"
    default = field.get_default(call_default_factory=True)
    if default in (None, "", [], {}, False) or isinstance(default, BaseModel):
        return ""
    if isinstance(default, str):
        return "" if " " in default else f", default `{default}`"
    return f", default `{json.dumps(default)}`"


def main() -> int:
    """Print the tables, or write them into the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the page")
    page = filled(PAGE.read_text())
    if parser.parse_args().write:
        PAGE.write_text(page)
    else:
        print(page, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
