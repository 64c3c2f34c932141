"""Operations of OpenAPI documents become tools whose calls make the requests that the documents describe."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.openapi_documents import OK, body, document, operation, read
from toolfold.build.example_arguments import example_arguments
from toolfold.sources.http_api.binding import bind, check_binding

STRING, LIST, OBJECT = {"type": "string"}, {"type": "array", "items": {"type": "string"}}, {"type": "object"}


def parameter(name: str, location: str = "query", schema: Any = STRING, **more: Any) -> dict[str, Any]:
    return {"name": name, "in": location, "schema": schema, **more}


PET = {"type": "object", "properties": {"name": STRING, "age": {"type": "integer"}}, "required": ["name"]}
TOM, JSON_TOM = {"name": "Tom", "age": 3}, b'{"name":"Tom","age":3}'
ENCODED = "The ID or URL-encoded path of the project"
CARD = {"type": "object", "properties": {"card": OBJECT, "tags": LIST}}
STYLES = {"card": {"style": "deepObject", "explode": True}, "tags": {"explode": False}}
FORM = "application/x-www-form-urlencoded"


def styled(style: str, explode: bool, schema: Any = {}) -> dict[str, Any]:  # noqa: B006 - nothing changes it
    return parameter("id", "path", schema, required=True, style=style, explode=explode)


@pytest.mark.parametrize(
    ("parameters", "arguments", "query"),
    [
        ([parameter("tag", schema=LIST)], {"tag": ["a", "b c"]}, ("tag=a", "tag=b%20c")),
        ([parameter("tag", schema=LIST, explode=False)], {"tag": ["a", "b"]}, ("tag=a,b",)),
        ([parameter("tag", schema=LIST, style="pipeDelimited", explode=False)], {"tag": ["a", "b"]}, ("tag=a%7Cb",)),
        ([parameter("filter", schema=OBJECT, style="deepObject")], {"filter": {"age": 3}}, ("filter%5Bage%5D=3",)),
        ([parameter("filter[status]")], {"filter_status": "new"}, ("filter%5Bstatus%5D=new",)),
        ([parameter("At"), parameter("At<"), parameter("At>=")], {"At": "0", "At_lt": "1", "At_gte": "2"},
         ("At=0", "At%3C=1", "At%3E%3D=2")),
        ([parameter("$top", schema={"type": "integer"})], {"top": 5}, ("%24top=5",)),
        ([parameter("q", allowReserved=True)], {"q": "a/b:c"}, ("q=a%2Fb%3Ac",)),
        ([{"name": "where", "in": "query", "content": {"application/json": {"schema": OBJECT}}}],
         {"where": {"a": [1]}}, ("where=%7B%22a%22%3A%5B1%5D%7D",)),
        ([{"name": "from", "in": "query", "content": {"*/*": {"schema": {"type": "string"}}}}],
         {"from": "2026-01-05"}, ("from=2026-01-05",)),
        ([parameter("tag", schema=LIST, explode=False)], {"tag": []}, ()),
    ],
)  # fmt: skip
def test_query_parameters_have_their_styles(
    tmp_path: Path, parameters: list[Any], arguments: dict[str, Any], query: tuple[str, ...]
) -> None:
    tool = read(tmp_path, operation(parameters=parameters)).tool
    check_binding(tool.call)
    assert bind(tool.call, arguments)[1:3] == ("/pets", query)


@pytest.mark.parametrize(
    ("given", "value", "path"),
    [
        (styled("simple", False), "a b", "/pets/a%20b/x"),
        (styled("simple", False), ["a", "b"], "/pets/a,b/x"),
        (styled("label", True), ["a", "b"], "/pets/.a.b/x"),
        (styled("matrix", False), "a", "/pets/;id=a/x"),
        (parameter("id", "path", required=True, description=ENCODED), "group/project", "/pets/group%2Fproject/x"),
        (parameter("id", "path", required=True, description=ENCODED), "group%2Fproject", "/pets/group%2Fproject/x"),
        (parameter("id", "path", required=True, example="maker/name"), "maker/name", "/pets/maker%2Fname/x"),
        (parameter("id", "path", {"enum": ["a/b"]}, required=True), "a/b", "/pets/a%2Fb/x"),
    ],
)
def test_path_parameters_have_their_styles(tmp_path: Path, given: dict[str, Any], value: Any, path: str) -> None:
    tool = read(tmp_path, operation("get", "/pets/{id}/x", parameters=[given])).tool
    check_binding(tool.call)
    assert bind(tool.call, {"id": value}).path == path
    assert tool.parameters["required"] == ["id"]


def test_headers_and_cookies_are_sent_and_those_of_the_connection_are_not_arguments(tmp_path: Path) -> None:
    names = ["X-Trace", "Accept", "content-type", "Authorization", "Host"]
    parameters = [parameter(name, "header") for name in names] + [parameter("session", "cookie")]
    tool = read(tmp_path, operation(parameters=parameters)).tool
    assert list(tool.parameters["properties"]) == ["X-Trace", "session"]
    request = bind(tool.call, {"X-Trace": "7", "session": "s"})
    assert (request.headers, request.cookies) == ({"X-Trace": "7"}, ("session=s",))


def test_parameters_of_one_name_in_two_places_stay_apart(tmp_path: Path) -> None:
    parameters = [parameter("id", place, required=True) for place in ("query", "path", "header")]
    tool = read(tmp_path, operation("get", "/pets/{id}", parameters=parameters)).tool
    request = bind(tool.call, {"id": "p", "id_query": "q", "id_header": "h"})
    assert (request.path, request.query, request.headers) == ("/pets/p", ("id=q",), {"id": "h"})


OPTIONAL_ENUM = {"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "null"}]}
SHARED = {"parameters": [parameter("limit", description="Of the path."), parameter("page")]}
OWN = {**OK, "parameters": [parameter("limit", schema={"type": "integer"}, description="Of the operation.")]}
PARENT = {"type": "object", "required": ["parent"], "properties": {"parent": STRING, "name": STRING}}
DOG = {"allOf": [{"$ref": "#/components/schemas/Base"}, {"properties": {"breed": STRING}}]}
XML = "The body as text of the type application/xml."


@pytest.mark.parametrize(
    ("given", "properties", "required"),
    [
        (operation("get", "/pets/{id}", parameters=[parameter("other", "path", required=True)]), {"id": ...}, ["id"]),
        (operation(parameters=[parameter("kind", schema=OPTIONAL_ENUM)]),
         {"kind": {"type": "string", "enum": ["a"]}}, None),
        # Parameters of the operation replace those of its path, and one that is called body keeps its name.
        (document({"/pets": {**SHARED, "get": OWN}}),
         {"limit": {"type": "integer", "description": "Of the operation."}, "page": ...}, None),
        (operation("post", parameters=[parameter("body")], requestBody=body(LIST)), {"body": ..., "request_body": ...},
         ["request_body"]),
        (operation("post", requestBody=body({"$ref": "#/components/schemas/Dog"}),
                   components={"schemas": {"Base": PET, "Dog": DOG}}),
         {"name": ..., "age": ..., "breed": ...}, ["name"]),
        (operation("post", requestBody=body(PET, "application/xml")), {"body": {"type": "string", "description": XML}},
         ["body"]),
        # A form is required where its fields are.
        (operation("post", requestBody={**body(PARENT, "multipart/form-data"), "required": False}),
         {"parent": ..., "name": ...}, ["parent"]),
    ],
)  # fmt: skip
def test_an_operation_has_these_arguments(
    tmp_path: Path, given: dict[str, Any], properties: dict[str, Any], required: list[str] | None
) -> None:
    parameters = read(tmp_path, given).tool.parameters
    assert set(parameters["properties"]) == set(properties)
    assert {name: rule for name, rule in properties.items() if rule not in (..., parameters["properties"][name])} == {}
    assert parameters.get("required") == required


@pytest.mark.parametrize(
    ("content_type", "schema", "arguments", "sent"),
    [
        ("application/json", PET, TOM, JSON_TOM),
        ("application/vnd.pets+json; charset=utf-8", PET, TOM, JSON_TOM),
        ("*/*", PET, TOM, JSON_TOM),
        (FORM, PET, TOM, b"name=Tom&age=3"),
        (FORM, CARD, {"card": {"number": "4"}, "tags": ["a", "b"]}, b"card%5Bnumber%5D=4&tags=a,b"),
        ("application/x-ndjson", PET, {"body": '{"a":1}\n'}, b'{"a":1}\n'),
        ("text/plain", {}, {"body": "hi"}, b"hi"),
        ("application/xml", PET, {"body": "<pet/>"}, b"<pet/>"),
        ("application/pdf", {}, {"body": "aGVsbG8="}, b"hello"),
        ("image/jpeg", {**STRING, "format": "binary"}, {"body": "aGVsbG8="}, b"hello"),
        ("image/jpeg", {**STRING, "format": "base64"}, {"body": "aGVsbG8="}, b"aGVsbG8="),
        ("image/jpeg", {**STRING, "contentEncoding": "base64"}, {"body": "aGVsbG8="}, b"aGVsbG8="),
        ("text/json", {"type": "array"}, {"body": [{"a": 1}]}, b'[{"a":1}]'),
    ],
)
def test_a_body_is_sent_as_its_content_type_says(
    tmp_path: Path, content_type: str, schema: Any, arguments: dict[str, Any], sent: bytes
) -> None:
    encoding = STYLES if schema is CARD else {}
    tool = read(tmp_path, operation("post", requestBody=body(schema, content_type, encoding=encoding))).tool
    check_binding(tool.call)
    request = bind(tool.call, arguments)
    assert request.body == sent
    assert request.content_type == ("application/json" if content_type == "*/*" else content_type.partition(";")[0])
    assert tool.parameters.get("required") == (["body"] if "body" in arguments else schema.get("required"))


def test_a_body_that_a_read_need_not_have_is_left_out_with_a_note(tmp_path: Path) -> None:
    found = read(tmp_path, operation("get", requestBody={**body(PET), "required": False}))
    assert found.tool.parameters["properties"] == {}
    assert [note.partition(": ")[2].partition(":")[0] for note in found.imported.notes] == ["GET /pets"]


@pytest.mark.parametrize(
    "schema",
    [
        LIST,
        STRING,
        {"oneOf": [PET, STRING]},
        {**PET, "minProperties": 2},
        {**PET, "additionalProperties": {"type": "integer"}},
        {"type": ["object", "null"], "properties": {"name": STRING}},
        {"type": "object", "properties": {"id": STRING}},
        {"type": "object", "properties": {"名": STRING}},
        {"type": "object", "properties": {f"p{number}": STRING for number in range(100)}},
    ],
)
def test_a_body_is_one_argument_where_its_fields_would_be_ambiguous(tmp_path: Path, schema: Any) -> None:
    path = operation("post", "/pets/{id}", requestBody=body(schema))
    tool = read(tmp_path, path).tool
    assert sorted(tool.parameters["properties"]) == ["body", "id"]
    assert tool.parameters["required"] == ["id", "body"]
    assert tool.call["body"] == {"content_type": "application/json", "argument": "body"}


def test_a_body_that_may_be_left_out_is_one_argument_if_it_has_required_fields(tmp_path: Path) -> None:
    optional = {"content": {"application/json": {"schema": PET}}}
    tool = read(tmp_path, operation("post", requestBody=optional)).tool
    assert list(tool.parameters["properties"]) == ["body"]
    assert "required" not in tool.parameters
    assert bind(tool.call, {}).body is None


@pytest.mark.parametrize("method", ["delete", "post", "get"])
def test_a_required_body_without_required_fields_is_sent(tmp_path: Path, method: str) -> None:
    given = {"type": "object", "properties": {"force": {"type": "boolean"}}}
    assert bind(read(tmp_path, operation(method, requestBody=body(given))).tool.call, {}).body == b"{}"
    optional = body(given) | {"required": False}
    found = bind(read(tmp_path, operation(method, requestBody=optional)).tool.call, {}).body
    assert found == (b"{}" if method == "post" else None)


def test_json_is_preferred_and_a_merge_patch_to_a_list_of_operations(tmp_path: Path) -> None:
    content = {name: {"schema": OBJECT} for name in ("multipart/form-data", "text/xml", "application/json-patch+json")}
    patch = read(tmp_path, operation("patch", requestBody={"content": content})).tool.call["body"]["content_type"]
    content["application/merge-patch+json"] = {"schema": OBJECT}
    merge = read(tmp_path, operation("patch", requestBody={"content": content})).tool.call["body"]["content_type"]
    assert (patch, merge) == ("application/json-patch+json", "application/merge-patch+json")


def test_files_are_base64_arguments(tmp_path: Path) -> None:
    file = {"type": "string", "contentMediaType": "application/octet-stream"}
    optional = {"anyOf": [file, {"type": "null"}], "title": "Photo"}
    several = {"anyOf": [{"type": "array", "items": file}, {"type": "null"}]}
    members = {"photo": optional, "more": several, "old": {"type": "string", "format": "binary"}, "name": STRING}
    members["encoded"] = {**file, "contentEncoding": "base64"}  # the text is what is sent
    schema = {"type": "object", "properties": members}
    tool = read(tmp_path, operation("post", requestBody=body(schema, "multipart/form-data"))).tool
    found = tool.parameters["properties"]
    assert [one["contentEncoding"] for one in (found["photo"], found["old"], found["more"]["items"])] == ["base64"] * 3
    assert example_arguments({**tool.parameters, "required": ["photo"]}) == {"photo": "aGVsbG8="}
    given = {"photo": "aGVsbG8=", "old": "b25l", "more": ["dHdv"], "name": "Tom", "encoded": "b3du"}
    sent = bind(tool.call, given).body or b""
    for part in (
        b"filename=",
        b"\r\n\r\nhello\r\n",
        b"\r\n\r\none\r\n",
        b"\r\ntwo\r\n",
        b'"name"\r\n\r\nTom',
        b"\r\n\r\nb3du",
    ):
        assert part in sent


@pytest.mark.parametrize(("method", "effect"), [("head", "read"), ("patch", "write"), ("delete", "destructive")])
def test_the_method_decides_the_effect(tmp_path: Path, method: str, effect: str) -> None:
    tool = read(tmp_path, operation(method)).tool
    assert (tool.effect, tool.call["method"]) == (effect, method.upper())
