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


@pytest.mark.parametrize(
    ("parameters", "arguments", "expected"),
    [
        ([parameter("tag", schema=LIST)], {"tag": ["a", "b c"]}, ("/pets", ("tag=a", "tag=b%20c"))),
        ([parameter("tag", schema=LIST, explode=False)], {"tag": ["a", "b"]}, ("/pets", ("tag=a,b",))),
        (
            [parameter("tag", schema=LIST, style="pipeDelimited", explode=False)],
            {"tag": ["a", "b"]},
            ("/pets", ("tag=a%7Cb",)),
        ),
        (
            [parameter("filter", schema=OBJECT, style="deepObject")],
            {"filter": {"age": 3}},
            ("/pets", ("filter%5Bage%5D=3",)),
        ),
        ([parameter("filter[status]")], {"filter_status": "new"}, ("/pets", ("filter%5Bstatus%5D=new",))),
        (
            [parameter("At"), parameter("At<"), parameter("At>=")],
            {"At": "0", "At_lt": "1", "At_gte": "2"},
            ("/pets", ("At=0", "At%3C=1", "At%3E%3D=2")),
        ),
        ([parameter("$top", schema={"type": "integer"})], {"top": 5}, ("/pets", ("%24top=5",))),
        ([parameter("q", allowReserved=True)], {"q": "a/b:c"}, ("/pets", ("q=a/b:c",))),
        (
            [{"name": "where", "in": "query", "content": {"application/json": {"schema": OBJECT}}}],
            {"where": {"a": [1]}},
            ("/pets", ("where=%7B%22a%22%3A%5B1%5D%7D",)),
        ),
        ([parameter("tag", schema=LIST, explode=False)], {"tag": []}, ("/pets", ())),
    ],
)
def test_query_parameters_have_their_styles(
    tmp_path: Path, parameters: list[Any], arguments: dict[str, Any], expected: tuple[str, tuple[str, ...]]
) -> None:
    tool = read(tmp_path, operation(parameters=parameters)).tool
    check_binding(tool.call)
    assert bind(tool.call, arguments)[1:3] == expected


@pytest.mark.parametrize(
    ("style", "explode", "value", "path"),
    [
        ("simple", False, "a b", "/pets/a%20b/x"),
        ("simple", False, ["a", "b"], "/pets/a,b/x"),
        ("label", True, ["a", "b"], "/pets/.a.b/x"),
        ("matrix", False, "a", "/pets/;id=a/x"),
    ],
)
def test_path_parameters_have_their_styles(tmp_path: Path, style: str, explode: bool, value: Any, path: str) -> None:
    given = parameter("id", "path", {}, required=True, style=style, explode=explode)
    tool = read(tmp_path, operation("get", "/pets/{id}/x", parameters=[given])).tool
    check_binding(tool.call)
    assert bind(tool.call, {"id": value}).path == path
    assert tool.parameters["required"] == ["id"]


@pytest.mark.parametrize("value", ["group/project", "group%2Fproject"])
def test_a_path_in_the_path_is_sent_encoded_once(tmp_path: Path, value: str) -> None:
    given = parameter("id", "path", required=True, description="The ID or URL-encoded path of the project")
    tool = read(tmp_path, operation("get", "/pets/{id}", parameters=[given])).tool
    assert bind(tool.call, {"id": value}).path == "/pets/group%2Fproject"


def test_headers_and_cookies_are_sent_and_those_of_the_connection_are_not_arguments(tmp_path: Path) -> None:
    names = ["X-Trace", "Accept", "content-type", "Authorization", "Host"]
    parameters = [parameter(name, "header") for name in names] + [parameter("session", "cookie")]
    tool = read(tmp_path, operation(parameters=parameters)).tool
    assert list(tool.parameters["properties"]) == ["X-Trace", "session"]
    request = bind(tool.call, {"X-Trace": "7", "session": "s"})
    assert (request.headers, request.cookies) == ({"X-Trace": "7"}, ("session=s",))


def test_parameters_of_the_operation_replace_those_of_its_path(tmp_path: Path) -> None:
    shared = [parameter("limit", description="Of the path."), parameter("page")]
    own = [parameter("limit", schema={"type": "integer"}, description="Of the operation.")]
    tool = read(tmp_path, document({"/pets": {"parameters": shared, "get": {**OK, "parameters": own}}})).tool
    properties = tool.parameters["properties"]
    assert properties["limit"] == {"type": "integer", "description": "Of the operation."}
    assert "page" in properties


def test_a_placeholder_without_a_parameter_becomes_an_argument(tmp_path: Path) -> None:
    tool = read(tmp_path, operation("get", "/pets/{id}", parameters=[parameter("other", "path", required=True)])).tool
    assert list(tool.parameters["properties"]) == tool.parameters["required"] == ["id"]


def test_parameters_of_one_name_in_two_places_stay_apart(tmp_path: Path) -> None:
    parameters = [parameter("id", place, required=True) for place in ("query", "path", "header")]
    tool = read(tmp_path, operation("get", "/pets/{id}", parameters=parameters)).tool
    request = bind(tool.call, {"id": "p", "id_query": "q", "id_header": "h"})
    assert (request.path, request.query, request.headers) == ("/pets/p", ("id=q",), {"id": "h"})


def test_null_is_no_value_of_a_parameter(tmp_path: Path) -> None:
    schema = {"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "null"}]}
    tool = read(tmp_path, operation(parameters=[parameter("kind", schema=schema)])).tool
    assert tool.parameters["properties"]["kind"] == {"type": "string", "enum": ["a"]}


def test_pairs_in_a_path_are_sent_with_each_request(tmp_path: Path) -> None:
    tool = read(tmp_path, operation("get", "/pets?action=list#all")).tool
    check_binding(tool.call)
    assert bind(tool.call, {})[1:3] == ("/pets", ("action=list",))


PET = {"type": "object", "properties": {"name": STRING, "age": {"type": "integer"}}, "required": ["name"]}


@pytest.mark.parametrize(
    ("content_type", "expected"),
    [
        ("application/json", b'{"name":"Tom","age":3}'),
        ("application/vnd.pets+json; charset=utf-8", b'{"name":"Tom","age":3}'),
        ("*/*", b'{"name":"Tom","age":3}'),
        ("application/x-www-form-urlencoded", b"name=Tom&age=3"),
    ],
)
def test_the_fields_of_an_object_are_arguments(tmp_path: Path, content_type: str, expected: bytes) -> None:
    tool = read(tmp_path, operation("post", requestBody=body(PET, content_type))).tool
    check_binding(tool.call)
    assert bind(tool.call, {"name": "Tom", "age": 3}).body == expected
    assert tool.parameters["required"] == ["name"]


@pytest.mark.parametrize(
    "schema",
    [
        LIST,
        STRING,
        {"oneOf": [PET, STRING]},
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


def test_a_parameter_called_body_keeps_its_name(tmp_path: Path) -> None:
    tool = read(tmp_path, operation("post", parameters=[parameter("body")], requestBody=body(LIST))).tool
    assert list(tool.parameters["properties"]) == ["body", "request_body"]


def test_members_of_allof_are_arguments_together(tmp_path: Path) -> None:
    schemas = {
        "Base": PET,
        "Dog": {"allOf": [{"$ref": "#/components/schemas/Base"}, {"properties": {"breed": STRING}}]},
    }
    reference = {"$ref": "#/components/schemas/Dog"}
    tool = read(tmp_path, operation("post", requestBody=body(reference), components={"schemas": schemas})).tool
    assert list(tool.parameters["properties"]) == ["name", "age", "breed"]
    assert tool.parameters["required"] == ["name"]


def test_json_is_preferred_and_a_merge_patch_to_a_list_of_operations(tmp_path: Path) -> None:
    content = {name: {"schema": OBJECT} for name in ("multipart/form-data", "text/xml", "application/json-patch+json")}
    patch = read(tmp_path, operation("patch", requestBody={"content": content})).tool.call["body"]["content_type"]
    content["application/merge-patch+json"] = {"schema": OBJECT}
    merge = read(tmp_path, operation("patch", requestBody={"content": content})).tool.call["body"]["content_type"]
    assert (patch, merge) == ("application/json-patch+json", "application/merge-patch+json")


@pytest.mark.parametrize(
    ("content_type", "schema", "sent"),
    [
        ("application/x-ndjson", {"type": "array", "items": PET}, b'{"name":"Tom"}\n{"name":"Lea"}\n'),
        ("application/x-ndjson", PET, b'{"name":"Tom"}\n{"name":"Lea"}\n'),
        ("application/json-seq", PET, b'\x1e{"name":"Tom"}\n\x1e{"name":"Lea"}\n'),
    ],
)
def test_a_body_of_json_texts_in_lines_is_a_list(tmp_path: Path, content_type: str, schema: Any, sent: bytes) -> None:
    tool = read(tmp_path, operation("post", requestBody=body(schema, content_type))).tool
    check_binding(tool.call)
    assert tool.parameters["properties"]["body"]["items"] == PET
    assert bind(tool.call, {"body": [{"name": "Tom"}, {"name": "Lea"}]}).body == sent


def test_a_body_of_xml_is_written_as_text(tmp_path: Path) -> None:
    tool = read(tmp_path, operation("post", requestBody=body(PET, "application/xml"))).tool
    description = "The body as text of the type application/xml, with name, age."
    assert tool.parameters["properties"] == {"body": {"type": "string", "description": description}}
    assert bind(tool.call, {"body": "<pet/>"}).body == b"<pet/>"


def test_files_are_base64_arguments(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"photo": {"type": "string", "format": "binary"}, "name": STRING}}
    tool = read(tmp_path, operation("post", requestBody=body(schema, "multipart/form-data"))).tool
    assert tool.parameters["properties"]["photo"]["contentEncoding"] == "base64"
    assert example_arguments({**tool.parameters, "required": ["photo"]}) == {"photo": "aGVsbG8="}
    sent = bind(tool.call, {"photo": "aGVsbG8=", "name": "Tom"}).body or b""
    assert b"\r\n\r\nhello\r\n" in sent
    assert b'name="name"\r\n\r\nTom' in sent


def test_a_form_is_required_where_its_fields_are(tmp_path: Path) -> None:
    schema = {"type": "object", "required": ["parent"], "properties": {"parent": STRING, "name": STRING}}
    optional = {**body(schema, "multipart/form-data"), "required": False}
    tool = read(tmp_path, operation("post", requestBody=optional)).tool
    assert tool.parameters["required"] == ["parent"]


def test_an_optional_file_is_a_base64_argument_too(tmp_path: Path) -> None:
    file = {"type": "string", "contentMediaType": "application/octet-stream"}
    optional = {"anyOf": [file, {"type": "null"}], "title": "Photo"}
    several = {"anyOf": [{"type": "array", "items": file}, {"type": "null"}]}
    schema = {"type": "object", "properties": {"photo": optional, "more": several}}
    tool = read(tmp_path, operation("post", requestBody=body(schema, "multipart/form-data"))).tool
    sent = bind(tool.call, {"photo": "aGVsbG8=", "more": ["dHdv"]}).body or b""
    assert tool.parameters["properties"]["photo"]["contentEncoding"] == "base64"
    assert tool.parameters["properties"]["more"]["items"]["contentEncoding"] == "base64"
    assert b"filename=" in sent
    assert b"\r\n\r\nhello\r\n" in sent
    assert b"\r\n\r\ntwo\r\n" in sent


@pytest.mark.parametrize(
    ("content_type", "schema", "argument", "expected"),
    [
        ("text/plain", {}, "hi", b"hi"),
        ("application/xml", {}, "<a/>", b"<a/>"),
        ("application/pdf", {}, "aGVsbG8=", b"hello"),
        ("image/jpeg", {**STRING, "format": "binary"}, "aGVsbG8=", b"hello"),
        ("image/jpeg", {**STRING, "format": "base64"}, "aGVsbG8=", b"aGVsbG8="),
        ("image/jpeg", {**STRING, "contentEncoding": "base64"}, "aGVsbG8=", b"aGVsbG8="),
        ("text/json", {"type": "array"}, [{"a": 1}], b'[{"a":1}]'),
    ],
)
def test_other_bodies_are_text_or_the_base64_text_of_bytes(
    tmp_path: Path, content_type: str, schema: Any, argument: Any, expected: bytes
) -> None:
    tool = read(tmp_path, operation("post", requestBody=body(schema, content_type))).tool
    request = bind(tool.call, {"body": argument})
    assert (request.content_type, request.body) == (content_type, expected)


def test_fields_of_a_form_are_sent_as_the_encoding_says(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"card": {"type": "object"}, "tags": LIST}}
    encoding = {"card": {"style": "deepObject", "explode": True}, "tags": {"explode": False}}
    given = body(schema, "application/x-www-form-urlencoded", encoding=encoding)
    tool = read(tmp_path, operation("post", requestBody=given)).tool
    check_binding(tool.call)
    sent = bind(tool.call, {"card": {"number": "4"}, "tags": ["a", "b"]}).body
    assert sent == b"card%5Bnumber%5D=4&tags=a,b"


@pytest.mark.parametrize(
    ("method", "effect"),
    [
        ("get", "read"),
        ("head", "read"),
        ("patch", "write"),
        ("delete", "destructive"),
    ],
)
def test_the_method_decides_the_effect(tmp_path: Path, method: str, effect: str) -> None:
    tool = read(tmp_path, operation(method)).tool
    assert (tool.effect, tool.call["method"]) == (effect, method.upper())
