"""Tools with paths of their own, and sources that are not Alpha Vantage."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.support.catalogs import small_catalog
from tests.support.openapi_documents import body, document
from tests.support.tables import differences
from toolfold.build.compiler import compile_folder
from toolfold.mock_api import MockApi
from toolfold.mock_api.router import Api, Sent, open_api
from toolfold.sources.http_api.body import FORM

HEADERS = {"Authorization": "Bearer key"}
PET = {"type": "object", "properties": {
    "id": {"type": "integer"}, "name": {"type": "string"}, "kind": {"type": "string"}, "weight": {"type": "number"},
    "tags": {"type": "array", "items": {"type": "string"}}, "born_at": {"type": "string", "format": "date-time"},
}}  # fmt: skip
KINDS = {"type": "string", "enum": ["cat", "dog"]}
STOP = {"type": "object", "properties": {"at": {"type": "integer"}}, "required": ["at"]}
STOPS = {"type": "array", "items": {"$ref": "#/components/schemas/Stop"}}
TOUR = {
    "type": "object",
    "required": ["stops"],
    "properties": {"stops": STOPS, "seats": {"type": "array", "items": {"type": "integer"}}},
}
NOTE = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
PHOTO = {
    "type": "object",
    "properties": {"file": {"type": "string", "format": "binary"}, "kind": KINDS},
    "required": ["file"],
}


def operation(name: str, returned: Any, *parameters: Any, **more: Any) -> dict[str, Any]:
    responses = {"200": {"description": "ok", "content": {"application/json": {"schema": returned}}}}
    summary = f"Do {name} at the shelter"
    return {"operationId": name, "summary": summary, "parameters": [*parameters], "responses": responses, **more}


def parameter(name: str, place: str, schema: Any, **more: bool) -> dict[str, Any]:
    return {"name": name, "in": place, "schema": schema, **more}


DOCUMENT = document(
    {
        "/pets": {
            "get": operation(
                "list_pets",
                {
                    "type": "object",
                    "properties": {"total": {"type": "integer"}, "pets": {"type": "array", "items": PET}},
                },
                parameter("limit", "query", {"type": "integer", "maximum": 50}),
                parameter("kind", "query", KINDS),
            ),
            "post": operation("add_pet", PET, requestBody=body({**PET, "required": ["name"]})),
        },
        "/pets/{id}": {"get": operation("get_pet", PET, parameter("id", "path", {"type": "integer"}, required=True))},
        "/tours": {
            "get": operation("list_tours", PET, parameter("Site-Id", "header", {"type": "string"}, required=True)),
            "post": operation("add_tour", PET, requestBody=body({"$ref": "#/components/schemas/Tour"})),
        },
        "/pets/{kind}/tours": {
            "get": operation(
                "list_tours_of",
                {"type": "object", "properties": {"kind": KINDS, "ids": {"type": "array"}}},
                parameter("kind", "path", KINDS, required=True),
                parameter("kind", "query", {"type": "integer"}),
                parameter("ids", "query", {"type": "array", "items": {"type": "integer"}}),
                parameter("day", "cookie", {"type": "string", "enum": ["Monday"]}),
            ),
        },
        "/photos": {"post": operation("add_photo", PET, requestBody=body(PHOTO, "multipart/form-data"))},
        "/notes": {"post": operation("add_note", PET, requestBody=body(NOTE, "application/x-www-form-urlencoded"))},
        "/rows": {"post": operation("add_rows", PET, requestBody=body({"type": "array", "items": STOP}))},
    },
    components={
        "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        "schemas": {"Stop": STOP, "Tour": TOUR},
    },
    security=[{"token": []}],
)


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Api:
    folder = tmp_path_factory.mktemp("sources")
    (folder / "shelter").mkdir()
    (folder / "shelter/openapi.json").write_text(json.dumps(DOCUMENT))
    source = "id: shelter\nkind: openapi\ndocument: openapi.json\nauth: {bearer: true, environment: SHELTER_KEY}\n"
    (folder / "shelter/source.yaml").write_text(source)
    compiled = folder / "catalog.json"
    compiled.write_text(compile_folder(folder))
    return open_api(compiled)


def get(api: Api, path: str, headers: Mapping[str, str] = HEADERS, method: str = "GET", sent: bytes = b"") -> Any:
    path, _, query = path.partition("?")
    pairs = [(name, value) for name, _, value in (pair.partition("=") for pair in query.split("&") if pair)]
    response, _ = api.answer(Sent(method, path, pairs, headers, sent))
    return response.status, json.loads(response.body) if response.content_type == "application/json" else None


def test_rows_have_the_columns_of_the_declared_response_with_their_types(api: Api) -> None:
    status, found = get(api, "/v1/pets?limit=3")
    assert (status, list(found)) == (200, ["total", "pets"])
    assert len(found["pets"]) == 3
    for pet in found["pets"]:
        assert list(pet) == list(PET["properties"])  # type: ignore[call-overload]
        assert [type(pet[name]) for name in ("id", "name", "weight", "tags", "born_at")] == [int, str, float, list, str]


def test_values_that_were_sent_are_returned(api: Api) -> None:
    assert {pet["kind"] for pet in get(api, "/pets?kind=cat")[1]["pets"]} == {"cat"}
    assert get(api, "/pets/7")[1]["id"] == 7
    pet = {"name": "Rex", "kind": "dog", "weight": 3.5}
    assert pet.items() <= get(api, "/pets", method="POST", sent=json.dumps(pet).encode())[1].items()


def test_errors_and_faults(api: Api) -> None:
    rows = [
        ("/pets?limit=51", HEADERS, "GET", 400),
        ("/pets?kind=bird", HEADERS, "GET", 400),
        ("/pets/rex", HEADERS, "GET", 400),
        ("/pets", HEADERS, "POST", 400),
        ("/tours", HEADERS, "GET", 400),
        ("/tours", {**HEADERS, "Site-Id": "7"}, "GET", 200),
        ("/pets", {}, "GET", 401),
        ("/cats", HEADERS, "GET", 404),
        ("/pets/7", HEADERS, "DELETE", 404),
        ("/pets", {"Authorization": "Bearer fault-http503"}, "GET", 503),
        ("/pets?kind=FAULT.HTTP429", HEADERS, "GET", 429),
    ]
    assert differences(lambda *request: get(api, *request)[0], rows) == {}


def test_values_are_read_from_where_the_tool_sends_them(api: Api) -> None:
    form = {**HEADERS, "Content-Type": FORM}
    parts = {**HEADERS, "Content-Type": "multipart/form-data; boundary=b"}
    photo = '--b\r\nContent-Disposition: form-data; name="{}"; filename="a"\r\n\r\nabc\r\n--b--\r\n'
    rows = [
        ("/pets/cat/tours?kind=3&ids=1&ids=2", HEADERS, "GET", b"", 200),
        ("/pets/cat/tours?ids=1,2", HEADERS, "GET", b"", 200),
        ("/pets/3/tours", HEADERS, "GET", b"", 400),
        ("/pets/cat/tours?kind=cat", HEADERS, "GET", b"", 400),
        ("/pets/cat/tours?ids=a", HEADERS, "GET", b"", 400),
        ("/pets/cat/tours", {**HEADERS, "Cookie": "a=b; day=Monday"}, "GET", b"", 200),
        ("/pets/cat/tours", {**HEADERS, "Cookie": "a=b; day=Friday"}, "GET", b"", 400),
        ("/tours", HEADERS, "POST", b'{"stops": [{"at": 1}], "seats": [1, 2]}', 200),
        ("/tours", HEADERS, "POST", b'{"stops": [{"at": "x"}]}', 400),
        ("/rows", HEADERS, "POST", b'[{"at": 1}]', 200),
        ("/rows", HEADERS, "POST", b'[{"at": "x"}]', 400),
        ("/rows", HEADERS, "POST", b"", 400),
        ("/notes", form, "POST", b"text=a+b", 200),
        ("/notes", form, "POST", b"other=a", 400),
        ("/notes", {**HEADERS, "Content-Type": f"{FORM}; charset=UTF-8"}, "POST", b"text=a+b", 200),
        ("/photos", parts, "POST", photo.format("file").encode(), 200),
        ("/photos", parts, "POST", photo.format("other").encode(), 400),
    ]
    assert differences(lambda path, *request: get(api, path, *request)[0], rows) == {}


def test_the_same_request_gives_the_same_bytes(api: Api) -> None:
    assert get(api, "/pets") == get(api, "/pets")


def test_functions_of_a_source_without_a_key_are_answered(tmp_path: Path) -> None:
    (tmp_path / "catalog.json").write_bytes(small_catalog())
    with MockApi(catalog=tmp_path / "catalog.json") as mock_api:
        assert mock_api.variables == {"TOOLFOLD_SOURCE_TIDES_URL": mock_api.url}
        with requests.Session() as session:  # a connection on which a body would be the next response
            assert session.head(f"{mock_api.root_url}/nothing", timeout=60).status_code == 404
            query = {"operation": "HIGH_WATER", "harbour": "Bergen"}
            found = session.get(mock_api.url, params=query, timeout=60).json()
    assert list(found["times"][0]) == ["time", "metres"]
    assert isinstance(found["times"][0]["metres"], float)
