"""Servers, credentials, categories and selections of an OpenAPI source, and documents in Swagger 2.0."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.openapi_documents import OK, body, document, operation, read
from toolfold.sources.http_api.binding import bind, check_binding

WHERE = {"url": "https://{where}.test", "variables": {"where": {"default": "eu"}}}


@pytest.mark.parametrize(
    ("servers", "settings", "expected"),
    [
        ([{"url": "https://pets.test/v1/"}], {}, "https://pets.test/v1"),
        ([{"url": "http://pets.test"}, {"url": "https://pets.test"}], {}, "https://pets.test"),
        ([{"url": "http://127.0.0.1:8000/api"}], {}, "http://127.0.0.1:8000/api"),
        ([{"url": "/v2"}], {"url": "https://pets.test/docs/openapi.json"}, "https://pets.test/v2"),
        ([], {"url": "https://pets.test/docs/openapi.json"}, "https://pets.test"),
        ([{"url": "/v2"}], {"base_url": "https://pets.test/v3"}, "https://pets.test/v3"),
        ([WHERE], {}, "https://eu.test"),
    ],
)  # fmt: skip
def test_calls_are_sent_to_the_first_server_that_can_be_used(
    tmp_path: Path, servers: Any, settings: Any, expected: str
) -> None:
    assert read(tmp_path, {**operation(), "servers": servers}, **settings).imported.source.base_url == expected


@pytest.mark.parametrize(
    ("server", "problem"),
    [
        ({"url": "file:///etc/passwd"}, "server 'file:///etc/passwd' is not an https URL"),
        ({"url": "http://pets.test"}, "server 'http://pets.test' is not an https URL without"),
        ({"url": "https://user:secret@pets.test"}, "is not an https URL without user name"),
        ({"url": "/v1"}, "server '/v1' is relative; set base_url in source.yaml"),
        ({"url": "https://{where}.test"}, "variable 'where' of the server has no value; set base_url in source.yaml"),
        ({"url": "https://[::1"}, "Invalid IPv6 URL"),
        ({}, "a server has no url"),
    ],
)
def test_a_server_that_cannot_be_used_is_an_error(tmp_path: Path, server: Any, problem: str) -> None:
    found = read(tmp_path, {**operation(), "servers": [server]})
    assert found.found is None
    assert problem in found.left_out[0]
    assert int(found.left_out[0].split(":")[1]) > 1


@pytest.mark.parametrize("settings", [{}, {"base_url": "https://test.pets.test/v2"}])
def test_the_main_server_is_that_of_an_operation_that_repeats_it_without_its_variables(
    tmp_path: Path, settings: Any
) -> None:
    own = {**OK, "servers": [{"url": WHERE["url"]}]}
    found = read(tmp_path, {**document({"/cats": {"get": own}}), "servers": [WHERE]}, **settings)
    assert found.imported.source.base_url == settings.get("base_url", "https://eu.test")


def test_paths_with_servers_of_the_same_host_keep_their_prefix(tmp_path: Path) -> None:
    own = [{"url": "https://pets.test/v2"}]
    paths = {"/cats": {"get": OK}, "/dogs": {"get": {**OK, "servers": own}}, "/birds": {"servers": own, "get": OK}}
    found = read(tmp_path, document(paths))
    assert found.imported.source.base_url == "https://pets.test"
    assert [tool.call["path"] for tool in found.tools.values()] == ["/v1/cats", "/v2/dogs", "/v2/birds"]


HEADER = {"type": "apiKey", "in": "header", "name": "X-Key"}


@pytest.mark.parametrize(
    ("scheme", "auth"),
    [
        (HEADER, {"header": "X-Key"}),
        ({"type": "apiKey", "in": "query", "name": "key"}, {"query_key": "key"}),
        ({"type": "apiKey", "in": "cookie", "name": "sid"}, {"cookie": "sid"}),
        ({"type": "http", "scheme": "Bearer"}, {"bearer": True}),
        ({"type": "openIdConnect", "openIdConnectUrl": "https://id.test"}, {"bearer": True}),
        ({"type": "http", "scheme": "basic"}, {"basic": True}),
        (
            {"type": "oauth2", "flows": {"clientCredentials": {"tokenUrl": "https://id.test/t", "scopes": {"a": ""}}}},
            {"oauth2": {"token_url": "https://id.test/t", "scopes": ["read"]}},
        ),
        (
            {"type": "oauth2", "flows": {"clientCredentials": {"tokenUrl": "token", "scopes": {}}}},
            {"oauth2": {"token_url": "https://pets.test/v1/token", "scopes": ["read"]}},
        ),
        ({"type": "oauth2", "flows": {"clientCredentials": {"tokenUrl": "{root}/token", "scopes": {}}}}, None),
        ({"type": "oauth2", "flows": {"implicit": {"authorizationUrl": "https://id.test"}}}, {"bearer": True}),
    ],
)
def test_the_security_scheme_says_how_calls_authenticate(tmp_path: Path, scheme: Any, auth: Any) -> None:
    given = operation(security=[{"it": ["read"]}], components={"securitySchemes": {"it": scheme}})
    assert read(tmp_path, given).auth == auth


def test_what_the_credentials_are_sent_as_is_no_argument(tmp_path: Path) -> None:
    parameters = [{"name": name, "in": "header", "schema": {"type": "string"}} for name in ("x-key", "X-Other")]
    given = operation(parameters=parameters, security=[{"it": []}], components={"securitySchemes": {"it": HEADER}})
    assert list(read(tmp_path, given).tool.parameters["properties"]) == ["X-Other"]


@pytest.mark.parametrize(
    ("location", "name", "auth"),
    [
        ("header", "xi-api-key", {"header": "xi-api-key"}),
        ("query", "apikey", {"query_key": "apikey"}),
        ("query", "key", None),
        ("cookie", "api_key", None),
    ],
)
def test_a_key_that_only_a_parameter_describes_is_no_argument(
    tmp_path: Path, location: str, name: str, auth: Any
) -> None:
    reference = {"$ref": "#/components/parameters/it"}
    key = {"name": name, "in": location, "schema": {"type": "string"}}
    found = read(tmp_path, operation(parameters=[reference], components={"parameters": {"it": key}}))
    assert found.auth == auth
    assert list(found.tool.parameters["properties"]) == ([name] if auth is None else [])
    assert auth is None or found.tool.call["credentials"] == "optional"


def test_a_token_that_the_source_sends_is_no_argument_where_it_is_described_as_a_parameter_too(tmp_path: Path) -> None:
    text = {"type": "string"}
    asks = {"name": "token", "in": "query", "schema": text, "description": "Authentication token bearing scope x"}
    fields = {"Api-Token": {**text, "description": "Your OAuth token"}, "device_token": text, "note": text}
    form = body({"properties": fields, "required": ["Api-Token", "note"]}, "application/x-www-form-urlencoded")
    given = operation("post", parameters=[asks, {**asks, "name": "pageToken"}], requestBody=form)
    scheme = {"type": "http", "scheme": "bearer"}
    given |= {"security": [{"it": []}], "components": {"securitySchemes": {"it": scheme}}}
    parameters = read(tmp_path, given).tool.parameters
    assert list(parameters["properties"]) == ["pageToken", "device_token", "note"]
    assert parameters["required"] == ["note"]
    # A token that few calls have is their data.
    few = {**given, "paths": {**given["paths"], "/b": {"get": OK}, "/c": {"get": OK}}}
    assert "token" in next(iter(read(tmp_path, few).tools.values())).parameters["properties"]
    # What authenticates with a header of its own has no token to send.
    given["components"] = {"securitySchemes": {"it": HEADER}}
    assert "token" in read(tmp_path, given).tool.parameters["properties"]


def test_the_scheme_that_most_operations_accept_is_used_and_the_others_are_named(tmp_path: Path) -> None:
    schemes = {"admin": {"type": "http", "scheme": "basic"}, "key": HEADER, "odd": {"type": "mutualTLS"}}
    paths = {
        "/a": {"get": OK, "put": OK},
        "/b": {"get": {**OK, "security": [{"admin": []}, {"key": []}]}},
        "/c": {"get": {**OK, "security": [{"admin": []}]}},
        "/d": {"get": {**OK, "security": []}},
        "/e": {"get": {**OK, "security": [{"key": [], "odd": []}]}},
    }
    found = read(tmp_path, document(paths, security=[{"key": []}], components={"securitySchemes": schemes}))
    assert found.auth == {"header": "X-Key"}
    assert [note.partition(": ")[2].partition(";")[0] for note in found.imported.notes] == [
        "GET /c needs the security scheme admin, which is not sent",
        "GET /e needs the security scheme odd, which is not sent",
    ]
    by_path = {(tool.call["path"], tool.call.get("method", "GET")): tool for tool in found.tools.values()}
    assert "wants other credentials for it (admin)" in by_path["/c", "GET"].description
    assert by_path["/d", "GET"].call["credentials"] == "none"
    assert not [path for path, tool in by_path.items() if "credentials" in tool.call and path[0] != "/d"]


@pytest.mark.parametrize(
    ("own", "common", "need"),
    [
        (None, None, "optional"),
        (None, [{"it": []}], "required"),
        ([{}, {"it": []}], None, "optional"),
        (None, [{"it": []}, {}], "optional"),
    ],
)
def test_an_operation_says_whether_it_needs_credentials(own: Any, common: Any, need: str, tmp_path: Path) -> None:
    paths = {"/a": {"get": {**OK, **({} if own is None else {"security": own})}}}
    more = {} if common is None else {"security": common}
    found = read(tmp_path, document(paths, components={"securitySchemes": {"it": HEADER}}, **more))
    assert found.tool.call.get("credentials", "required") == need


def test_auth_of_source_yaml_is_used_where_it_states_more(tmp_path: Path) -> None:
    given = operation(security=[{"it": []}], components={"securitySchemes": {"it": HEADER}})
    whole, named = {"bearer": True, "environment": "PETS"}, {"environment": "PETS", "caller_key": True}
    assert read(tmp_path, given, auth=whole).auth == whole
    assert read(tmp_path, given, auth=named).auth == {"header": "X-Key", **named}


PATHS = {
    "/cats": {"get": {**OK, "operationId": "listCats", "tags": ["Cats"]}, "post": {**OK, "tags": ["Cats", "admin"]}},
    "/dogs/{id}": {"get": {**OK, "operationId": "getDog", "tags": ["Dogs"]}},
    "/status": {"get": OK},
}


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, ["listCats", "post_cats", "getDog", "get_status"]),
        ({"include": {"paths": ["/dogs/*"], "operations": ["listCats"]}}, ["listCats", "getDog"]),
        ({"include": {"operations": ["GET *"]}}, ["listCats", "getDog", "get_status"]),
        ({"exclude": {"tags": ["admin"], "operations": ["GET /status"]}}, ["listCats", "getDog"]),
        ({"include": {"tags": ["Cats"]}, "exclude": {"operations": ["post_cats"]}}, ["listCats"]),
    ],
)
def test_operations_are_chosen_by_tag_path_and_name(tmp_path: Path, settings: Any, expected: list[str]) -> None:
    assert list(read(tmp_path, document(PATHS), **settings).tools) == expected


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"include": {"tags": ["cats"]}}, "include: no operation has the tag 'cats'. Did you mean 'Cats'?"),
        ({"exclude": {"operations": ["listCat"]}}, "exclude: no operation has the operation 'listCat'. Did you mean"),
    ],
)
def test_an_entry_that_matches_nothing_is_an_error(tmp_path: Path, settings: Any, problem: str) -> None:
    [found] = read(tmp_path, document(PATHS), **settings).problems[:1]
    assert "source.yaml:1: " in found
    assert problem in found


def test_an_operation_that_is_excluded_is_not_reported(tmp_path: Path) -> None:
    bad = {"get": {**OK, "parameters": [{"$ref": "#/none"}]}}
    found = read(tmp_path, document({"/good": {"get": OK}, "/bad": bad}), exclude={"paths": ["/bad"]})
    assert found.left_out == []


def test_tags_are_categories(tmp_path: Path) -> None:
    tags = [{"name": "Cats", "description": "All about cats. And more."}]
    found = read(tmp_path, document(PATHS, tags=tags))
    assert [(name, *vars(one).values()) for name, one in found.imported.categories.items()] == [
        ("cats", "Cats", "All about cats."),
        ("dogs", "Dogs", ""),
    ]
    assert [tool.category for tool in found.tools.values()] == ["cats", "cats", "dogs", ""]


SWAGGER: dict[str, Any] = {
    "swagger": "2.0",
    "info": {"title": "Pets", "version": "1"},
    "host": "pets.test",
    "basePath": "/v1",
    "schemes": ["http", "https"],
    "securityDefinitions": {"login": {"type": "basic"}},
    "security": [{"login": []}],
    "definitions": {"Pet": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}},
    "parameters": {"id": {"name": "id", "in": "path", "required": True, "type": "integer"}},
    "paths": {
        "/pets": {
            "get": {
                "operationId": "list",
                "parameters": [
                    {"name": "tags", "in": "query", "type": "array", "items": {"type": "string"}},
                    {"name": "ids", "in": "query", "type": "array", "collectionFormat": "multi", "items": {}},
                ],
                "responses": {
                    "200": {"description": "", "schema": {"type": "array", "items": {"$ref": "#/definitions/Pet"}}}
                },
            },
            "post": {
                "operationId": "add",
                "parameters": [{"name": "b", "in": "body", "required": True, "schema": {"$ref": "#/definitions/Pet"}}],
            },
        },
        "/pets/{id}/photo": {
            "parameters": [{"$ref": "#/parameters/id"}],
            "post": {
                "operationId": "upload",
                "consumes": ["multipart/form-data"],
                "parameters": [
                    {"name": "file", "in": "formData", "type": "file", "required": True},
                    {"name": "note", "in": "formData", "type": "string"},
                ],
            },
        },
        "/bad": {"get": {"parameters": [{"name": "x", "in": "query", "type": "array", "collectionFormat": "tsv"}]}},
        "/worse": {
            "get": {"parameters": [{"name": "x", "in": "header", "type": "array", "collectionFormat": "pipes"}]}
        },
    },
}


def test_a_document_in_swagger_2_is_read(tmp_path: Path) -> None:
    found = read(tmp_path, SWAGGER)
    assert found.imported.source.base_url == "https://pets.test/v1"
    assert found.auth == {"basic": True}
    tools = found.tools
    for tool in tools.values():
        check_binding(tool.call)
    assert bind(tools["list"].call, {"tags": ["a", "b"], "ids": [1, 2]}).query == ("tags=a,b", "ids=1", "ids=2")
    assert tools["list"].returns == "rows: name"
    assert bind(tools["add"].call, {"name": "Tom"}).body == b'{"name":"Tom"}'
    upload = bind(tools["upload"].call, {"id": 3, "file": "aGVsbG8=", "note": "x"})
    assert upload.path == "/pets/3/photo"
    assert b"hello" in (upload.body or b"")
    assert tools["upload"].parameters["required"] == ["id", "file"]
    assert "collectionFormat 'tsv' cannot be sent in 'query'" in found.left_out[0]
    assert "collectionFormat 'pipes' cannot be sent in 'header'" in found.left_out[1]
