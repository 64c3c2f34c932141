"""Documents that are damaged or hostile: a clear error with file and line, and every other operation compiles."""

import copy
import json
import re
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from tests.support.cpu_time import cpu_within
from tests.support.openapi_documents import OK, body, document, operation, read
from toolfold.build import yaml_loader
from toolfold.build.compiler import compile_sources
from toolfold.build.importers.openapi import document as openapi_document
from toolfold.build.importers.openapi.arguments import argument_name
from toolfold.build.importers.openapi.document import parse_document
from toolfold.build.importers.openapi.importer import OpenApiImporter, OpenApiSettings
from toolfold.build.importers.openapi.schemas import one_paragraph, shorten
from toolfold.build.preparation import check_catalog
from toolfold.catalog.text_checks import text_problem
from toolfold.errors import SourceError
from toolfold.sources.http_api.binding import bind, check_binding


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "openapi.json:1: is not an OpenAPI document: it has no keys"),
        ("{}", "openapi.json:1: is not an OpenAPI document: it has no key openapi"),
        ('{"openapi": "3.1.0",\n "paths": {}', "openapi.json:2: is not valid JSON"),
        ('{\n"openapi": "4.0.0"}', "openapi.json:2: is openapi '4.0.0'; openapi 3.0 to 3.2 and swagger 2.0 are read"),
        ('{"swagger": "3.0"}', "is swagger '3.0'; openapi 3.0 to 3.2"),
        ('{"openapi": "3.1.0", "x": NaN}', "is not valid JSON"),
        ('{"openapi": "3.1.0", "x": ' + "9" * 5000 + "}", "is not valid JSON: a number is too large"),
        ('{"x": ' + "[" * 100_000, "is not valid JSON: values are nested too deeply"),
        ('{"openapi": "3.1.0"}', "has no server; set base_url in source.yaml, with --base-url where it is added"),
    ],
)
def test_a_document_that_cannot_be_read_is_one_error(tmp_path: Path, text: str, problem: str) -> None:
    found = read(tmp_path, text)
    assert found.found is None
    assert any(problem in line for line in found.left_out), found.left_out


def test_aliases_of_a_yaml_document_are_bounded() -> None:
    levels = (f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12))
    with pytest.raises(SourceError, match=r"^a\.yaml:6: has aliases that add more than 500,000 values"):
        parse_document("\n".join(["a: &a0 [x, x]", *levels]).encode(), "a.yaml")


def test_lines_of_json_are_found_without_reading_all_of_it() -> None:
    text = json.dumps({"a": [1, {"b": "x\ny"}], "": {"c": []}}, indent=1)
    wanted = [("a", 1), ("a", 1, "b"), ("", "c"), ("a", 7), ("q", "r")]
    lines = yaml_loader.parse("a.json", text, limits=yaml_loader.Limits(may_be_json=True)).lines(wanted)
    assert lines == dict(zip(wanted, (4, 5, 9, 2, 1), strict=True))


REFERENCE = {"$ref": "#/components/schemas/Pet"}


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"parameters": [{"$ref": "#/components/parameters/X"}]}, "'#/components/parameters/X' points to nothing"),
        ({"parameters": [{"$ref": "other.yaml#/x"}]}, "'other.yaml#/x' refers to another document; bundle"),
        ({"parameters": [{"$ref": "https://evil.test/x"}]}, "refers to another document"),
        ({"parameters": ["x"]}, "item 1 is not an object"),
        ({"parameters": [{"name": "x", "in": "body"}]}, "parameter 'x' in 'body' cannot be sent; it needs"),
        ({"parameters": [{"name": "x", "in": "query", "style": "matrix"}]}, "has the style 'matrix'"),
        ({"parameters": [{"name": "a b", "in": "header"}]}, "parameter 'a b' in 'header' cannot be sent"),
        ({"parameters": [{"in": "query"}]}, "it needs a usable name in path, query, header, cookie"),
        ({"parameters": [{"name": f"p{n}", "in": "query"} for n in range(301)]}, "has more than 300 parameters"),
        ({"requestBody": body(REFERENCE)}, "'#/components/schemas/Pet' points to nothing"),
        ({"requestBody": body({"type": "string"}, "image/*")}, "has a body of a type that cannot be sent"),
        ({"requestBody": body({"type": "string"}, "multipart/form-data")}, "has a form whose schema is of the type"),
        ({"requestBody": {"content": 3}}, "is not a request body"),
        ({"requestBody": body(3)}, "is not a schema"),
        ({"servers": [{"url": "https://other.test"}]}, "has a server of its own, https://other.test"),
        ({"servers": [{"url": "file:///etc"}]}, "server 'file:///etc' is not an https URL"),
    ],
)  # fmt: skip
def test_one_operation_that_cannot_be_expressed_is_left_out(tmp_path: Path, given: Any, problem: str) -> None:
    paths = {"/good": {"get": OK}, "/bad": {"post": {**OK, **given}}}
    found = read(tmp_path, document(paths))
    assert list(found.tools) == ["get_good"]
    [reported] = found.left_out
    assert problem in reported
    assert reported.split(": ")[1].startswith("POST /bad")
    line = int(reported.split(":")[1])
    assert line > 15, "the line of the operation or of what is inside"


def test_methods_that_are_not_sent_are_no_tools(tmp_path: Path) -> None:
    item = {"get": OK, "query": OK, "additionalOperations": {"COPY": OK}, "trace": OK}
    assert list(read(tmp_path, document({"/pets": item}, "3.2.0")).tools) == ["get_pets"]


@pytest.mark.parametrize(
    ("paths", "said"),
    [
        *(({path: {"get": OK}}, "path") for path in ("/a b", "/a/../b", "/a/{", "/a\u202eb")),
        *(({"/bad": item, "x-y": 1}, "") for item in (3, {"$ref": "#/paths/~1none"}, {"get": []})),
        ({"/bad": {"get": {"$ref": "a.yml"}}}, ""),
        ({"bad": {"get": OK}}, ""),
    ],
)
def test_a_path_that_cannot_be_sent_is_left_out(tmp_path: Path, paths: dict[str, Any], said: str) -> None:
    found = read(tmp_path, document({"/good": {"get": OK}, **paths}))
    assert list(found.tools) == ["get_good"]
    (left_out,) = found.left_out
    assert said in left_out


@pytest.mark.parametrize(
    "settings",
    [
        *({"headers": headers} for headers in ({"Authorization": "Bearer x"}, {"X": "a\nb"})),
        *({"document": name} for name in ("../x.json", "source.yaml", ".x.json", "x.txt")),
    ],
)
def test_headers_that_cannot_be_sent_and_a_document_elsewhere_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        OpenApiSettings.model_validate({"id": "pets", "kind": "openapi", **settings})


def test_references_of_paths_and_operations_are_followed_and_circles_of_references_are_not(tmp_path: Path) -> None:
    schemas = {"A": {"$ref": "#/components/schemas/B"}, "B": {"$ref": "#/components/schemas/A"}}
    bad = {"post": {**OK, "requestBody": body({"$ref": "#/components/schemas/A"})}}
    paths = {"/pets": {"get": OK}, "/animals": {"$ref": "#/paths/~1pets"}, "/bad": bad}
    paths["/cats"] = {"get": {"$ref": "#/paths/~1pets/get"}}
    found = read(tmp_path, document(paths, components={"schemas": schemas}))
    assert list(found.tools) == ["get_pets", "get_animals", "get_cats"]
    assert "refers to itself without an end" in found.left_out[0]


def test_files_in_the_folder_of_a_document_are_a_part_of_it(tmp_path: Path) -> None:
    given = document({"/pets": {"$ref": "paths/pets.yaml"}, "/cats": {"get": {"$ref": "./paths/pets.yaml#/get"}}})
    read(tmp_path, document({}))
    files = {
        "paths/pets.yaml": "post:\n  requestBody: {content: {application/json: {schema: {$ref: ../pet.json#/a~1b}}}}\n"
        "  parameters:\n  - {in: query}\nget:\n  parameters: [{$ref: '#/limit'}]\nlimit: {name: limit, in: query}\n",
        "pet.json": '{"a/b": {"$ref": "openapi.json#/components/schemas/Pet"}}',
    }
    (tmp_path / "pets" / "paths").mkdir()
    for name, text in files.items():
        (tmp_path / "pets" / name).write_text(text)
    schemas = {"Pet": {"type": "object", "properties": {"name": {"type": "string"}}}}
    found = read(tmp_path, {**given, "components": {"schemas": schemas}})
    assert {name: list(tool.parameters["properties"]) for name, tool in found.tools.items()} == {
        "get_pets": ["limit"], "get_cats": ["limit"]}  # fmt: skip
    assert found.tools["get_pets"].where() == f"{tmp_path}/pets/paths/pets.yaml:5"
    [left_out] = found.imported.left_out
    assert left_out.startswith(f"{tmp_path}/pets/paths/pets.yaml:4: POST /pets: parameter 'None' in 'query'")
    (tmp_path / "pets" / "paths" / "pets.yaml").write_text(files["paths/pets.yaml"].replace("- {in", "- {name: x, in"))
    found = read(tmp_path, {**given, "components": {"schemas": schemas}})
    assert list(found.tools["post_pets"].parameters["properties"]) == ["x", "name"]


@pytest.mark.parametrize(
    "reference",
    [
        *("../other.json", "%2e%2e/other.json", "{folder}/other.json", "link.json", "linked/x.json", "source.yaml"),
        *(
            ".x.json",
            "folder.json/.git/x.json",
            "x.txt",
            "none.json",
            "folder.json",
            "http://127.0.0.1/x.json",
            "x\0.json",
            "a" * 300 + ".json",
        ),
    ],
)
def test_other_files_are_not_read(tmp_path: Path, reference: str) -> None:
    read(tmp_path, operation())
    folder = tmp_path / "pets"
    for path in (tmp_path / "other.json", folder / ".x.json", folder / "x.txt"):
        path.write_text('{"type": "string"}')
    (folder / "folder.json" / ".git").mkdir(parents=True)
    (folder / "folder.json" / ".git" / "x.json").write_text("{}")
    (folder / "link.json").symlink_to(tmp_path / "other.json")
    (folder / "linked").symlink_to(tmp_path)
    (tmp_path / "x.json").write_text('{"type": "string"}')
    given = operation("post", requestBody=body({"$ref": reference.format(folder=tmp_path)}))
    assert "refers to another document; bundle the documents into one" in read(tmp_path, given).left_out[0]


def test_files_of_a_document_are_bounded_and_must_be_readable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read(tmp_path, operation())
    for number in range(4):
        (tmp_path / "pets" / f"x{number}.yaml").write_text(f"$ref: x{number + 1}.yaml")
    given = operation("post", requestBody=body({"$ref": "x0.yaml"}))
    (tmp_path / "pets" / "x4.yaml").write_text("{")
    assert "x4.yaml:2: is not valid YAML" in read(tmp_path, given).problems[0]
    monkeypatch.setattr(openapi_document, "MAX_FILES", 3)
    assert "openapi.json:1: refers to more than 3 files, or to more than 64 MB" in read(tmp_path, given).problems[0]


def test_aliases_of_all_files_of_a_document_have_one_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openapi_document, "LIMITS", openapi_document.LIMITS._replace(aliased=40))
    read(tmp_path, operation())
    for number in range(3):
        text = f"a: &a [x, x, x, x]\nb: [*a, *a, *a]\ntype: string\nallOf: [{{$ref: x{number + 1}.yaml}}]\n"
        (tmp_path / "pets" / f"x{number}.yaml").write_text(text)
    given = operation("post", requestBody=body({"$ref": "x0.yaml"}))
    assert "x2.yaml:1: has aliases that add more than 10 values" in read(tmp_path, given).problems[0]


@pytest.mark.parametrize("name", ["x.yaml", "a b/~x.yaml"])
def test_a_reference_to_nothing_in_another_file_is_shown_with_its_file(tmp_path: Path, name: str) -> None:
    read(tmp_path, operation())
    path = tmp_path / "pets" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("a: {$ref: '#/b~1c'}")
    given = operation("post", requestBody=body({"type": "object", "properties": {"x": {"$ref": f"{name}#/a"}}}))
    [note] = read(tmp_path, given).imported.notes
    assert note.startswith(f"{path}:1: $ref ")
    assert note.endswith("b~1c' points to nothing in the document; any value is accepted")


@pytest.mark.slow
def test_ten_thousand_operations_are_read_in_seconds(tmp_path: Path) -> None:
    shared = {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
    item = {"parameters": [shared], "get": OK}
    paths = {f"/things{number}/{{id}}": item for number in range(10_000)}
    with cpu_within(30):
        assert len(read(tmp_path, document(paths)).tools) == 10_000


def test_names_that_are_keywords_or_clash_are_kept_apart(tmp_path: Path) -> None:
    names = ["import", "get pets", "get-pets", "2fa", "é", "x" * 300, "\u202eevil", ""]
    paths = {f"/p{n}": {"get": {**OK, "operationId": name}} for n, name in enumerate(names)}
    found = read(tmp_path, document(paths)).tools
    assert list(found) == ["import", "get_p1", "get_p2", "2fa", "get_p4", "get_p5", "get_p6", "get_p7"]


def test_a_document_that_is_a_symbolic_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret.json").write_text(json.dumps(operation()))
    read(tmp_path, operation())
    (tmp_path / "pets" / "openapi.json").unlink()
    (tmp_path / "pets" / "openapi.json").symlink_to(tmp_path / "secret.json")
    yaml = yaml_loader.load(tmp_path / "pets" / "source.yaml")
    problems: list[str] = []
    settings = OpenApiSettings.model_validate(yaml.data)
    assert OpenApiImporter(tmp_path / "pets", settings, yaml).read(problems) is None
    assert "source.yaml:1: openapi.json is not a file in the folder of the source" in problems[0]


@pytest.mark.parametrize(
    ("summary", "title"), [("ListPets", "List Pets"), ("list_pets", "list pets"), ("All pets", "All pets")]
)
def test_a_summary_that_is_the_name_of_a_function_is_written_in_words(tmp_path: Path, summary: str, title: str) -> None:
    assert read(tmp_path, operation(summary=summary)).tool.title == title


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
        with suppress(SourceError):
            check_catalog(compile_sources(Path(folder)).content)
    assert found.found is not None or found.problems
    for tool in found.imported.tools if found.found is not None else ():
        check_binding(tool.call)
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
    made = one_paragraph(text, max_chars)
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
