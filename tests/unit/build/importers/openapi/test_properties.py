"""For any document: no crash, valid schemas and bindings, and requests that have what the arguments say."""

import copy
import json
import re
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import jsonschema_rs
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.openapi_documents import OK, body, document, operation, read
from toolfold.build.importers.openapi.arguments import argument_name
from toolfold.build.importers.openapi.schema_parts import one_paragraph, shorten, without_instructions
from toolfold.catalog.contract import check_schema
from toolfold.catalog.text_checks import text_problem
from toolfold.sources.http_api.binding import bind, check_binding

PET = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"type": "string", "nullable": True, "minLength": 1, "example": "Tom"},
        "parent": {"$ref": "#/components/schemas/Pet"},
        "kind": {"oneOf": [{"type": "string", "enum": ["cat"]}, {"$ref": "#/components/schemas/Kind"}]},
    },
}
PARAMETERS = [
    {"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}},
    {"name": "tag", "in": "query", "schema": {"type": "array", "items": {"type": "string"}}, "style": "form"},
    {"$ref": "#/components/parameters/Trace"},
]
WHOLE = document(
    {
        "/pets/{id}": {
            "parameters": PARAMETERS[:1],
            "get": {**OK, "operationId": "get", "parameters": PARAMETERS[1:], "tags": ["Pets"], "summary": "Get."},
            "post": {**OK, "requestBody": body({"$ref": "#/components/schemas/Pet"}), "security": [{"key": []}]},
        },
    },
    components={
        "schemas": {"Pet": PET, "Kind": {"type": "string", "pattern": "^d"}},
        "parameters": {"Trace": {"name": "X-Trace", "in": "header", "schema": {"type": "string"}}},
        "securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}},
    },
    tags=[{"name": "Pets", "description": "All of them."}],
)


def locations(value: Any, at: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Return the location of every value inside ``value``."""
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [found for key, inner in members for found in [(*at, key), *locations(inner, (*at, key))]]


REPLACEMENTS: list[Any] = [
    None, True, 3, -1.5, "", "x", "#", "\u202e", [], {}, [3], [[]], {"$ref": "#"}, {"$ref": "#/components/schemas/Pet"},
    {"$ref": 3}, {"type": "object"}, {"allOf": [{"$ref": "#/components/schemas/Pet"}]}, {"in": "query", "name": "a"},
]  # fmt: skip


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(locations(WHOLE)), st.sampled_from(REPLACEMENTS)), min_size=1, max_size=4))
def test_a_damaged_document_is_reported_or_compiled(changes: list[tuple[tuple[str | int, ...], Any]]) -> None:
    damaged = copy.deepcopy(WHOLE)
    for at, replacement in changes:
        target: Any = damaged
        try:
            for key in at[:-1]:
                target = target[key]
            target[at[-1]] = copy.deepcopy(replacement)
        except (KeyError, IndexError, TypeError):
            continue  # an earlier change removed it
    with tempfile.TemporaryDirectory() as folder:
        found = read(Path(folder), damaged)
    assert found.found is not None or found.problems
    for tool in found.imported.tools if found.found is not None else ():
        check_schema(tool.parameters)
        check_binding(tool.call)
        jsonschema_rs.meta.validate(dict(tool.parameters))
    assert all(re.match(r".*(openapi\.json|source\.yaml):\d+: \w", problem) for problem in found.problems)


@settings(max_examples=25, deadline=None)
@given(st.text(max_size=100))
def test_the_name_of_an_argument_is_a_word(name: str) -> None:
    made = argument_name(name)
    assert made == "" or re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}", made)
    assert argument_name(made) == made


@settings(max_examples=25, deadline=None)
@given(st.text(max_size=300), st.integers(2, 100))
def test_texts_can_be_in_a_catalog(text: str, max_chars: int) -> None:
    made, _ = without_instructions(one_paragraph(text, max_chars))
    assert len(made) <= max_chars
    assert text_problem(made) == ""
    assert shorten(made, max_chars) == made


TEXT = st.text(st.characters(categories=["L", "N", "P", "S"], exclude_characters="/\\%."), min_size=1, max_size=8)


@settings(max_examples=25, deadline=None)
@given(st.dictionaries(st.sampled_from(["path", "query", "field"]), TEXT, min_size=3), st.lists(TEXT, max_size=3))
def test_what_is_sent_is_what_the_arguments_say(values: dict[str, str], tags: list[str]) -> None:
    string = {"type": "string"}
    fields = {"type": "object", "properties": {"field": string, "tags": {"type": "array", "items": string}}}
    parameters = [
        {"name": "path", "in": "path", "required": True, "schema": string},
        {"name": "query", "in": "query", "schema": string},
    ]
    with tempfile.TemporaryDirectory() as folder:
        given_ = operation("post", "/a/{path}/b", parameters=parameters, requestBody=body(fields))
        tool = read(Path(folder), given_).tool
    request = bind(tool.call, {**values, "tags": tags})
    assert request.path.count("/") == 3
    assert parse_qsl(request.query[0], keep_blank_values=True) == [("query", values["query"])]
    assert json.loads(request.body or b"") == {"field": values["field"], "tags": tags}
