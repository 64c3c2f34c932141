"""A source whose catalog and whose answers attack the page that shows them."""

import json
from pathlib import Path
from typing import Any

from toolfold.build.compiler import compile_folder
from toolfold.build.importers.base import accept_texts
from toolfold.build.source_folders import load_source

TOOL, FAILING, SERIES = "HOSTILE_ROWS", "HOSTILE_ERROR", "HOSTILE_SERIES"

ATTACKS = [
    "<script>attack()</script>",
    "<img src=x onerror=attack()>",
    "\"'><svg onload=attack()>",
    "javascript:attack()",
    "<a href=javascript:attack()>open</a>",
    "</pre></textarea></title><iframe srcdoc='<script>parent.attack()</script>'></iframe>",
    "<base href=//elsewhere.test/><link rel=stylesheet href=//elsewhere.test/a.css>",
    "<meta http-equiv=refresh content='0;url=//elsewhere.test/'>",
    "<form action=//elsewhere.test/><button>Continue</button></form>",
    "<style>main { display: none }</style>",
    "data:text/html,<script>attack()</script>",
    "${attack()} {{constructor.constructor('attack()')()}}",
    "[open](javascript:attack()) ![picture](//elsewhere.test/a.png)",
    "invoice\u202egpj.exe \u2066turned\u2069 \u200bzero\ufeff",
]

# What a library would take for an element, if it did not look closely.
ELEMENT = {"type": "img", "props": {"src": "x", "onerror": "attack()"}, "constructor": None, "key": None, "ref": None,
           "__v": 1, "dangerouslySetInnerHTML": {"__html": "<img src=x onerror=attack()>"}}  # fmt: skip


def rows() -> list[dict[str, Any]]:
    """Return the rows of an answer: each attack as text, as the name of a column, and inside of a value."""
    return [
        {"text": attack, "nested": {"html": attack, attack: [attack]}, "element": ELEMENT, ATTACKS[1]: index}
        for index, attack in enumerate(ATTACKS)
    ]


def series() -> list[dict[str, Any]]:
    """Return rows that a chart can be drawn of, with hostile names."""
    return [{"date": f"2026-01-{day:02}", ATTACKS[1]: day * 1.5, ATTACKS[2]: 40 - day} for day in range(1, 29)]


def reply(query: dict[str, str]) -> tuple[int, dict[str, str], bytes]:
    """Return the answer of the source."""
    if query.get("operation") == FAILING:
        return 500, {"content-type": "text/html"}, "".join(ATTACKS).encode()
    found = series() if query.get("operation") == SERIES else rows()
    return 200, {"content-type": "application/json"}, json.dumps({"rows": found}).encode()


def compile_hostile(folder: Path) -> Path:
    sources = folder / "sources" / "hostile"
    sources.mkdir(parents=True)
    (sources / "source.yaml").write_text(json.dumps(_source()))
    (sources / "attacks.yaml").write_text(json.dumps(_category()))
    loaded = load_source(sources, [])
    assert loaded is not None
    accept_texts(sources, [one.hash for one in loaded.unread])
    path = folder / "catalog.json"
    path.write_text(compile_folder(folder / "sources", adapters=["http_api"]), encoding="utf-8")
    return path


def _source() -> dict[str, Any]:
    return {
        "id": "hostile",
        "title": f"Hostile {ATTACKS[1]}",
        "description": f"Attacks: {ATTACKS[0]} {ATTACKS[5]}",
        "base_url": "https://hostile.test/api",
        "function_key": "operation",
        "prefix": False,
        "freshness": {"daily": 86400},
        "no_data": "Choose another.",
        "categories": ["attacks"],
    }


def _category() -> dict[str, Any]:
    return {
        "title": f"Attacks {ATTACKS[2]}",
        "description": ATTACKS[0],
        "tools": [_tool(TOOL, ["text", "nested", "element", ATTACKS[1]]), _tool(FAILING, ["text"]),
                  _tool(SERIES, ["date", ATTACKS[1], ATTACKS[2]])],
    }  # fmt: skip


def _tool(name: str, columns: list[str]) -> dict[str, Any]:
    parameter = {
        "name": "place",
        "type": "string",
        "required": True,
        "description": f"Place. {ATTACKS[1]} {ATTACKS[6]}",
        "examples": [ATTACKS[2]],
    }
    choice = {"name": "kind", "type": "string", "enum": [ATTACKS[0], ATTACKS[3]], "description": ATTACKS[4]}
    return {
        "name": name,
        "title": f"Rows {ATTACKS[0]}",
        "summary": f"Rows that attack {ATTACKS[1]}",
        "description": " ".join(ATTACKS[:13]),
        "tags": ["sea"],
        "access": "free",
        "freshness": "daily",
        "formats": ["json"],
        "parameters": [parameter, choice],
        "returns": {"json": {"keys": ["rows"], "rows": "rows", "kind": "list", "columns": columns}},
        "example": {"place": ATTACKS[2]},
    }
