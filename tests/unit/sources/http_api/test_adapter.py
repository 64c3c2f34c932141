"""Calls of tools with a binding over real HTTP: credentials, redirects, responses of every kind, and errors."""

import base64
import json
import time
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tests.support.local_server import HttpService, Received, Reply, TokenEndpoint, as_json, echo
from tests.support.tables import differences
from tests.support.upstream import Upstream
from toolfold.catalog.entries import Auth, Effect, Source, Tool
from toolfold.errors import (
    AnswerTooLarge,
    AuthRejected,
    AuthRequired,
    CallError,
    CatalogUnavailable,
    InvalidArguments,
    NoData,
    RateLimited,
    UpstreamError,
)
from toolfold.models import ParsedResponse, SourceCredentials
from toolfold.network.session import HttpClient
from toolfold.results.preview import split_notes
from toolfold.settings import Settings
from toolfold.sources.base import AdapterContext
from toolfold.sources.http_api.adapter import HttpApiAdapter
from toolfold.sources.http_api.response_parser import MAX_BLOCK_BYTES

KEY = "CANARY+KEY/0123456"
VARIABLE = "TOOLFOLD_SOURCE_PETS_KEY"
GET = {"path": "/pets"}


@pytest.fixture(scope="module")
def service() -> Iterator[HttpService]:
    with HttpService() as running:
        yield running


@pytest.fixture(scope="module")
def other() -> Iterator[HttpService]:
    with HttpService() as running:
        yield running


@pytest.fixture(autouse=True)
def _nothing_received(service: HttpService, other: HttpService) -> None:
    for one in (service, other):
        one.received.clear()
        one.answer = as_json({"ok": True})


@pytest.fixture(scope="module")
def client() -> Iterator[HttpClient]:
    client = HttpClient()
    yield client
    client.close()


class Pets:
    """A source at ``service``, and calls of its tools."""

    def __init__(self, url: str, client: HttpClient, auth: Auth | None = None, **connection: Any) -> None:
        source = Source("pets", "Pets", "http_api", url, "", auth, {"default": 60}, "Try another.", (), ())
        context = AdapterContext(Settings.from_environment({}), lambda: client)
        self.adapter = HttpApiAdapter(source._replace(connection=connection), context)

    def call(
        self,
        call: Mapping[str, Any] = GET,
        arguments: Mapping[str, Any] | None = None,
        key: str = "",
        effect: Effect = "read",
    ) -> ParsedResponse:
        tool = Tool(
            "pets__x", "pets", "pets", "X", "x", "x", (), "free", effect, "default", ("json",), {}, "", {}, {},
            {"function": "x", **call}, {"csv": None, "rows": [], "kind": None}, (), json.dumps(call),
        )  # fmt: skip
        given, credentials = arguments or {}, SourceCredentials(key)
        self.adapter.check_call(tool, given, credentials)
        response = self.adapter.call(tool, given, credentials, time.monotonic() + 60)
        return self.adapter.parse(tool, given, response, credentials)


@pytest.fixture
def pets(service: HttpService, client: HttpClient) -> Pets:
    return Pets(f"{service.url}/v1?version=2", client)


def failure(pets: Pets, **how: Any) -> CallError:
    with pytest.raises(CallError) as caught:
        pets.call(**how)
    assert KEY not in json.dumps(caught.value.as_dict())
    return caught.value


class TestRequests:
    def test_every_part_of_a_request_arrives(self, pets: Pets, service: HttpService) -> None:
        call = {
            "method": "PUT",
            "path": "/owners/{owner}/pets",
            "parameters": {"trace": {"in": "header", "name": "X-Trace"}, "session": {"in": "cookie"}, "tags": {}},
            "body": {"fields": {"pet_name": "name"}},
        }
        arguments = {"owner": "ä b", "trace": "t-1", "session": "s;1", "tags": ["a", "b&c"], "pet_name": "Rex é"}
        pets.call(call, arguments, effect="write")
        received = service.last
        assert (received.method, received.path) == ("PUT", "/v1/owners/ä b/pets")
        assert received.query == [("version", "2"), ("tags", "a"), ("tags", "b&c")]
        assert (received.headers["x-trace"], received.cookies) == ("t-1", {"session": "s%3B1"})
        assert (received.json, received.headers["content-type"]) == ({"name": "Rex é"}, "application/json")

    def test_headers_of_the_source_are_sent_and_cannot_be_for_credentials(
        self, service: HttpService, client: HttpClient
    ) -> None:
        headers = {"Accept": "application/vnd.pets+json", "User-Agent": "pets-client"}
        Pets(service.url, client, headers=headers).call()
        assert headers.items() <= {name.title(): value for name, value in service.last.headers.items()}.items()
        with pytest.raises(CatalogUnavailable):
            Pets(service.url, client, headers={"Cookie": "x"}).call()

    def test_arguments_that_cannot_be_sent_are_named_and_nothing_is_sent(
        self, pets: Pets, service: HttpService
    ) -> None:
        for call, arguments in (
            ({"path": "/pets/{id}"}, {"id": "../owners"}),
            ({"path": "/pets", "parameters": {"id": {"in": "header"}}}, {"id": "a\r\nX-Evil: 1"}),
            ({"path": "/pets"}, {"id": "x" * 20_000}),
            ({"path": "/pets", "parameters": {"id": {"in": "header"}}}, {"id": "x" * 9_000}),
        ):
            error = failure(pets, call=call, arguments=arguments)
            assert isinstance(error, InvalidArguments)
            assert "nothing was sent" in error.suggestion
        assert service.received == []

    def test_a_damaged_binding_is_the_fault_of_the_catalog(self, pets: Pets, service: HttpService) -> None:
        for call in ({"path": "//evil.example/x"}, {"path": "/x", "method": "GET /y"}, {"path": 5}):
            assert isinstance(failure(pets, call=call), CatalogUnavailable)
        assert service.received == []


QUERY, BEARER, BASIC = Auth(VARIABLE, query_key="key"), Auth(VARIABLE, bearer=True), Auth(VARIABLE, basic=True)


def credentials_in(received: Received) -> str:
    """Return what a request has for credentials, as text."""
    authorization = received.headers.get("authorization", "")
    if authorization.startswith("Basic "):
        authorization = f"Basic {base64.b64decode(authorization[6:]).decode()}"
    return f"{received.query} {received.headers.get('x-api-key')} {received.cookies} {authorization}"


class TestCredentials:
    @pytest.mark.parametrize(
        ("auth", "key", "expected"),
        [
            (QUERY, KEY, f"[('key', '{KEY}')] None {{}} "),
            (Auth(VARIABLE, header="X-Api-Key"), KEY, f"[] {KEY} {{}} "),
            (Auth(VARIABLE, header="Authorization", prefix="Token"), KEY, f"[] None {{}} Token {KEY}"),
            (Auth(VARIABLE, cookie="session"), KEY, f"[] None {{'session': '{KEY}'}} "),
            (BEARER, KEY, f"[] None {{}} Bearer {KEY}"),
            (BASIC, f"user:{KEY}", f"[] None {{}} Basic user:{KEY}"),
            (BEARER, "t" * 9_000, f"[] None {{}} Bearer {'t' * 9_000}"),  # the token of a user
        ],
    )
    def test_the_key_arrives_in_its_place_alone(
        self, service: HttpService, client: HttpClient, auth: Auth, key: str, expected: str
    ) -> None:
        Pets(service.url, client, auth).call(key=key)
        assert credentials_in(service.last) == expected

    def test_what_a_service_repeats_of_the_parts_of_a_key_is_no_data(
        self, service: HttpService, client: HttpClient
    ) -> None:
        service.answer = echo
        key = f"user:{KEY}"  # which the executor redacts as a whole
        found = Pets(service.url, client, BASIC).call(key=key)
        assert KEY not in found.body
        assert base64.b64encode(key.encode()).decode() not in found.body

    def test_no_argument_can_replace_the_key(self, service: HttpService, client: HttpClient) -> None:
        pets = Pets(service.url, client, QUERY)
        for arguments in ({"key": "mine"}, {"filter": {"key": "mine"}}):
            assert isinstance(failure(pets, arguments=arguments, key=KEY), InvalidArguments)
        assert service.received == []


class TestOAuth:
    @pytest.fixture
    def endpoint(self) -> Iterator[TokenEndpoint]:
        with TokenEndpoint("client:s3cret-0123456") as running:
            yield running

    @pytest.fixture
    def protected(self, service: HttpService, client: HttpClient, endpoint: TokenEndpoint) -> Pets:
        return Pets(service.url, client, Auth(VARIABLE, oauth2={"token_url": f"{endpoint.url}/token"}))

    def test_a_refused_token_is_replaced_once_for_a_read(
        self, protected: Pets, service: HttpService, endpoint: TokenEndpoint
    ) -> None:
        service.answer = lambda request: as_json({}, 401 if "-001-" in request.headers["authorization"] else 200)
        assert protected.call(key=endpoint.client).body == "{}"
        assert (len(service.received), endpoint.issued) == (2, 2)
        service.answer = as_json({}, 401)
        assert isinstance(failure(protected, key=endpoint.client), AuthRejected)
        assert len(service.received) == 4

    def test_a_write_is_sent_once_and_the_next_has_a_new_token(
        self, protected: Pets, service: HttpService, endpoint: TokenEndpoint
    ) -> None:
        service.answer = lambda request: as_json({}, 401 if "-001-" in request.headers["authorization"] else 200)
        post = {"method": "POST", "path": "/pets"}
        assert isinstance(failure(protected, call=post, key=endpoint.client, effect="write"), AuthRejected)
        assert len(service.received) == 1
        protected.call(post, key=endpoint.client, effect="write")
        assert (len(service.received), endpoint.issued) == (2, 2)

    def test_a_token_that_the_service_repeats_is_redacted(
        self, protected: Pets, service: HttpService, endpoint: TokenEndpoint
    ) -> None:
        service.answer = echo
        body = protected.call(key=endpoint.client).body
        assert "access-token" not in body
        assert json.loads(body)["headers"]["authorization"] == "Bearer [key]"
        service.answer = lambda request: as_json({"error": request.headers["authorization"]}, 400)
        assert "access-token" not in json.dumps(failure(protected, key=endpoint.client).as_dict())


class TestRedirects:
    def test_a_read_follows_one_on_its_own_host_with_its_key(self, service: HttpService, client: HttpClient) -> None:
        for status in (301, 302, 303, 307, 308):
            moved = status, {"location": "/v2/pets/?page=1"}, b""
            service.answer = lambda request, moved=moved: as_json({}) if request.path == "/v2/pets/" else moved
            for auth in (QUERY, BEARER):
                assert Pets(service.url, client, auth).call(key=KEY).body == "{}"
                assert KEY in credentials_in(service.last)
                assert ("page", "1") in service.last.query

    def test_no_other_host_gets_the_request_or_the_key(
        self, service: HttpService, other: HttpService, client: HttpClient
    ) -> None:
        targets = [
            *("http://{other}/x", "//{other}/x", "http://user@{own}/x", "https://{own}/x", "http://10.0.0.1/"),
            *(
                "file:///etc/passwd",
                "http://[::1]:{port}/x",
                "http://169.254.169.254/latest/meta-data/",
                "gopher://{own}/",
            ),
            *(
                "http://{own}@{other}/",
                "\\\\{other}\\x",
                "http:\\\\{other}/x",
                "http://localhost:{port}/x",
                "http://[",
                "",
            ),
        ]
        hosts = {"own": service.url[7:], "other": other.url[7:], "port": str(service.server_port)}
        for target in targets:
            service.answer = (302, {"location": target.format(**hosts)}, b"")
            error = failure(Pets(service.url, client, QUERY), key=KEY)
            assert isinstance(error, UpstreamError), target
            assert "/etc/passwd" not in error.message
        assert (len(service.received), other.received) == (len(targets), [])

    def test_a_write_that_is_redirected_may_have_taken_effect(self, pets: Pets, service: HttpService) -> None:
        for number, status in enumerate((301, 302, 303, 307), 1):
            service.answer = (status, {"location": "/elsewhere"}, b"")
            error = failure(pets, call={"method": "POST", "path": "/pets"}, effect="write")
            assert f"redirects to {service.url}," in error.message
            assert error.suggestion.startswith("It may have taken effect") is (status != 307)
            assert len(service.received) == number

    def test_a_redirect_to_nowhere_has_its_status(self, pets: Pets, service: HttpService) -> None:
        service.answer = (302, {}, b"")
        assert failure(pets).message == "Pets answered with HTTP status 302."

    def test_a_loop_ends(self, pets: Pets, service: HttpService) -> None:
        service.answer = (302, {"location": "/loop"}, b"")
        error = failure(pets)
        assert "redirects to http://127.0.0.1" in error.message
        assert len(service.received) == 4


REPORTED = "Pets reports an error, with a status of success."
A_PAGE = "Pets sent an HTML page instead of data."


def as_json_text(body: bytes) -> Reply:
    return 200, {"content-type": "application/json"}, body


def as_csv(body: bytes) -> Reply:
    return 200, {"content-type": "text/csv"}, body


PNG = b"\x89PNG\r\n\x1a\n" + bytes(64)


class TestResponses:
    def test_a_response_has_the_kind_of_its_content(self, pets: Pets, service: HttpService) -> None:
        rows = [
            (as_json({"a": 1}), "json", '{"a": 1}'),
            (as_json(None), "json", "null"),
            (as_json({"a": 1}, 201, "application/vnd.api+json; charset=utf-8"), "json", '{"a": 1}'),
            ((200, {}, b'{"a": 1}'), "json", '{"a": 1}'),
            ((200, {"content-type": "text/plain"}, b'{"a": 1}'), "json", '{"a": 1}'),
            ((200, {"content-type": "text/plain"}, b"{not json"), "text", "{not json"),
            ((200, {"content-type": "text/html; charset=UTF-8"}, b'{"a": 1}'), "json", '{"a": 1}'),
            ((200, {"content-type": "application/octet-stream"}, b'{"a":1}\n{"a":2}'), "json", '[{"a":1},{"a":2}]'),
            (as_csv(b"[a],{b}\n1,2\n"), "csv", "[a],{b}\n1,2"),
            (as_csv(b"sep=;\r\na;b\r\n1;2\r\n"), "csv", "a,b\r\n1,2\r\n"),
            ((200, {"content-type": "application/vnd.ms-excel"}, b"a;b\n1;2\n"), "csv", "a,b\r\n1,2\r\n"),
            ((200, {"content-type": "application/x-ndjson"}, b'{"a":1}\n{"a":2}\n'), "json", '[{"a":1},{"a":2}]'),
            (as_json_text(b')]}\'\n{"a": 1}'), "json", '{"a": 1}'),
            (as_json_text(b'for(;;);{"a": 1}'), "json", '{"a": 1}'),
            (as_json_text(b'{"a":1}\n{"a":2}\n'), "json", '[{"a":1},{"a":2}]'),
            (as_json_text('{"a": "é"}'.encode("utf-16")), "json", '{"a": "é"}'),
            (as_json_text(b'{"errors": 2, "status": "done"}'), "json", '{"errors": 2, "status": "done"}'),
            (as_json_text(b'{"errors": [{"message": "x"}], "data": {"a": 1}}'), "json", ...),
            (as_json_text(b'{"code": 200, "message": "OK", "result": [1]}'), "json", ...),
            (as_json_text(b'{"status": "open", "code": 404, "title": "A"}'), "json", ...),
            (as_json_text(b'{"code": "415", "message": "Bay", "type": "area"}'), "json", ...),
            (as_json_text(b'{"status": 403, "message": "Refused", "timestamp": "09:00"}'), "json", ...),
            (as_json_text(b'{"result": [1, 2], "errors": ["A row is bad"]}'), "json", ...),
            (as_json_text(b'{"response": {"rows": [1]}, "status": "error"}'), "json", ...),
            (as_json_text(b'{"Data": {"a": 1}, "Errors": ["A row is bad"]}'), "json", ...),
            (as_json_text(b'{"result": "failure", "title": "Build"}'), "json", ...),
            (as_json_text(b'{"status": {"a": 1}, "type": "check"}'), "json", ...),
            (as_json_text(b'{"fault": "San Andreas", "type": "strike-slip"}'), "json", ...),
            (as_csv(b"a;b\n1,5;2.000\n-1.000,250;\n"), "csv", "a,b\r\n1.5,2000\r\n-1000.250,\r\n"),
            (as_csv(b"a;b\n1,5;x\n2,500;3,5\n"), "csv", "a,b\r\n1.5,x\r\n2.500,3.5\r\n"),
            (as_csv(b"a;b\n1,250;2,500\n"), "csv", 'a,b\r\n"1,250","2,500"\r\n'),
            (as_csv(b"a;b\n1,5;0.500\n"), "csv", 'a,b\r\n"1,5",0.500\r\n'),
            (as_csv(b"a;b\n1,5;.500\n"), "csv", 'a,b\r\n"1,5",.500\r\n'),
            (as_csv(b"a;b\n1,5;1,2,3\n1,5;\n"), "csv", 'a,b\r\n"1,5","1,2,3"\r\n"1,5",\r\n'),
            (as_csv(b"10.05;b\n01.02.2024;1,5\n"), "csv", "10.05,b\r\n01.02.2024,1.5\r\n"),
            (as_csv(b"a;b\n192.168.100.200;1,5\n10.0.0.1;2\n"), "csv", "a,b\r\n192.168.100.200,1.5\r\n10.0.0.1,2\r\n"),
            (as_csv(b'a;b\n52.5,13.4;"x;1,5;"\n'), "csv", 'a,b\r\n"52.5,13.4","x;1,5;"\r\n'),
            (as_csv(b'a,b\n1,"x\n""y"""\n\n2, "5,6" \n3,4" z\n'), "csv", 'a,b\n1,"x\n""y"""\n\n2, "5,6" \n3,4" z'),
            (as_csv(b"ids\tb\n1,2\t3\n"), "csv", 'ids,b\r\n"1,2",3\r\n'),
            (as_csv(b"a\tb\n1\tx|y\n"), "csv", "a,b\r\n1,x|y\r\n"),
            (as_csv(b'a|"b;c"\n1|";"\n'), "csv", "a,b;c\r\n1,;\r\n"),
            (as_csv(b"a;b\n,125;x\n0,5;y\n"), "csv", "a,b\r\n0.125,x\r\n0.5,y\r\n"),
            (as_csv(b"a;b\n.125;x\n0,5;y\n"), "csv", 'a,b\r\n.125,x\r\n"0,5",y\r\n'),
            (as_csv(b"# made, today\n#\na,b\n1,2\n"), "csv", "a,b\n1,2"),
            (as_csv(b"#id,name\n1,x\n"), "csv", "#id,name\n1,x"),
            (as_csv("a;b\n1;é\n".encode("utf-16")), "csv", "a,b\r\n1,é\r\n"),
            ((200, {"content-type": "text/csv"}, b"one\ntwo\n"), "text", "one\ntwo"),
            ((200, {"content-type": "text/plain"}, b"Hello, you\nthere"), "text", "Hello, you\nthere"),
            ((200, {"content-type": "application/xml"}, b"<a>1</a>"), "text", "<a>1</a>"),
            ((204, {}, b""), "json", '{"status": 204, "content": null}'),
            ((200, {"content-type": "application/json"}, b""), "json", '{"status": 200, "content": null}'),
            ((201, {"location": "/pets/7"}, b""), "json", '{"status": 201, "content": null, "location": "/pets/7"}'),
            ((202, {"location": "/jobs\t7"}, b""), "json", '{"status": 202, "content": null}'),
        ]

        def read(reply: Reply) -> tuple[str, str]:
            service.answer = reply
            return pets.call()[:2]

        expected = [(reply, (kind, reply[2].decode() if body is ... else body)) for reply, kind, body in rows]
        assert differences(read, expected) == {}

    def test_a_decimal_comma_that_is_read_is_noted(self, pets: Pets, service: HttpService) -> None:
        service.answer = as_csv(b"a;b\n-1.000,25;7\n")
        note = "Numbers here have a decimal comma: -1.000,25 is read as -1000.25."
        assert split_notes(json.loads(pets.call().blocks)) == ([], (note,))

    @pytest.mark.parametrize(
        ("headers", "body", "note"),
        [
            ({"x-total-count": "240"}, b"[1, 2]", "These are 2 of 240 rows: the answer is one page."),
            ({"x-total-count": "240"}, b'{"a": [1], "b": [2, 3]}', "These are 2 of 240 rows: the answer is one page."),
            ({"content-range": "items 0-1/240"}, b"[1, 2]", "These are 2 of 240 rows: the answer is one page."),
            ({"x-next-page": "2"}, b"[1, 2]", "There is more, on a page that this tool has no argument for."),
            ({"x-total-count": "2", "x-next-page": ""}, b"[1, 2]", ""),
            ({"x-total-count": "240"}, b'{"a": 1}', ""),
        ],
    )
    def test_a_page_is_noted_where_headers_state_it(
        self, pets: Pets, service: HttpService, headers: dict[str, str], body: bytes, note: str
    ) -> None:
        service.answer = (200, headers, body)
        notes = split_notes(json.loads(pets.call().blocks or "[]"))[1]
        assert notes == ((note,) if note else ())

    def test_a_failure_with_a_status_of_success_is_an_error_of_a_read(self, pets: Pets, service: HttpService) -> None:
        rows = [
            (as_csv(b"<!DOCTYPE html><title>Log in</title>"), A_PAGE, "Log in"),
            (as_json_text(b'{"ok": false, "error": "not_in_channel"}'), REPORTED, "not_in_channel"),
            (as_json_text(b'{"error": {"code": 7, "message": "No such pet"}}'), REPORTED, "No such pet"),
            (as_json_text(b'{"errors": [{"message": "Bad field"}], "data": null}'), REPORTED, "Bad field"),
            (as_json_text(b'{"status": "error", "message": "Closed"}'), REPORTED, "Closed"),
            (as_json_text(b'{"code": 404, "message": "No such pet"}'), REPORTED, "No such pet"),
            (as_json_text(b'{"cod": "404", "message": "No such pet"}'), REPORTED, "No such pet"),
            (as_json_text(b'{"stat": "fail", "code": 1, "message": "Photo lost"}'), REPORTED, "Photo lost"),
            (as_json_text(b'{"Response": "False", "Error": "Pet lost"}'), REPORTED, "Pet lost"),
            (as_json_text(b'{"result": "error", "error-type": "bad-code"}'), REPORTED, "bad-code"),
            (as_json_text(b'{"fault": {"faultstring": "Bad key"}}'), REPORTED, "Bad key"),
            (as_json_text(b'{"success": false, "errors": [{"message": "Bad"}], "result": null}'), REPORTED, "Bad"),
            (as_json({"title": "No credit", "status": 400}, 200, "application/problem+json"), REPORTED, "No credit"),
            (as_json_text(b"<!DOCTYPE html><title>Closed</title>"), A_PAGE, "Closed"),
            ((200, {"content-type": "text/html"}, b'{"a": <title>Closed</title>'), A_PAGE, "Closed"),
        ]
        for reply, problem, said in rows:
            service.answer = reply
            refused = failure(pets)
            assert (type(refused), refused.problem) == (UpstreamError, problem)
            assert said in refused.details["upstream_says"]
            assert pets.call({"method": "POST", "path": "/pets"}, effect="write").kind == "json"

    @pytest.mark.parametrize("status", [202, 206])
    def test_a_read_without_all_data_says_so_and_is_not_cached(
        self, pets: Pets, service: HttpService, status: int
    ) -> None:
        service.answer = as_json({"state": "queued"}, status)
        found = pets.call()
        assert (found.body, found.is_final) == ('{"state": "queued"}', False)
        blocks, (note,) = split_notes(json.loads(found.blocks))
        assert blocks == []
        assert note.startswith("Pets ")
        assert f"(HTTP status {status})" in note
        written = pets.call({"method": "POST", "path": "/pets"}, effect="write")
        assert (written.blocks, written.is_final) == ("", True)

    def test_an_image_is_a_block(self, pets: Pets, service: HttpService) -> None:
        service.answer = (200, {"content-type": "image/png"}, PNG)
        found = pets.call()
        assert json.loads(found.body) == {"content_type": "image/png", "bytes": len(PNG)}
        (block,) = json.loads(found.blocks)
        assert (block["type"], block["mimeType"], base64.b64decode(block["data"])) == ("image", "image/png", PNG)

    def test_what_no_model_can_read_is_an_error_for_a_read_alone(self, pets: Pets, service: HttpService) -> None:
        rows = [
            ((200, {"content-type": "image/png"}, bytes(MAX_BLOCK_BYTES + 1)), AnswerTooLarge, "image/png"),
            ((200, {"content-type": "application/pdf"}, b"%PDF-1.4"), UpstreamError, "application/pdf of 8 bytes"),
            ((200, {"content-type": "application/octet-stream"}, b"\x00\x01"), UpstreamError, "octet-stream"),
            ((200, {"content-type": "text/html"}, b"<html><title>Log in</title>"), UpstreamError, "HTML page"),
            ((200, {"content-type": "application/json"}, b'{"a": '), UpstreamError, "broken JSON"),
        ]
        for reply, error, text in rows:
            service.answer = reply
            found = failure(pets)
            assert isinstance(found, error)
            assert text in found.message
            if error is UpstreamError:
                told = json.loads(pets.call({"method": "POST", "path": "/pets"}, effect="write").body)
                told.pop("upstream_says", None)
                assert told == {"status": 200, "content": None, "problem": found.message}

    def test_a_tool_may_return_pages_and_tables_whatever_their_type_says(
        self, pets: Pets, service: HttpService
    ) -> None:
        rows = [
            ("text", "text/html", "<p>hi</p>"),
            ("text", "application/yaml", "[a, b]"),
            ("text", "application/octet-stream", '{"a": 1}'),
            ("csv", "text/plain", "a,b\n1,2"),
            ("csv", "application/octet-stream", "[a],{b}\n1,2"),
        ]
        for form, content_type, sent in rows:
            service.answer = (200, {"content-type": content_type}, sent.encode())
            assert pets.call({"path": "/", "response": form})[:2] == (form, sent)

    def test_json_that_is_broken_off_is_no_table(self, pets: Pets, service: HttpService) -> None:
        sent = '[{"a": 1, "b": 2},\n{"a": 3, "b": 4},\n{"a": 5, "b'
        for content_type in ("", "text/plain", "application/x-ndjson"):
            service.answer = (200, {"content-type": content_type}, sent.encode())
            assert pets.call({"path": "/", "response": "csv"})[:2] == ("text", sent)

    def test_an_error_has_a_code_and_says_what_the_service_says(self, pets: Pets, service: HttpService) -> None:
        rows = [
            (as_json({"detail": "limit is too large"}, 400, "application/problem+json"), InvalidArguments,
             "limit is too large"),
            (as_json({"detail": [{"loc": ["query", "n"], "msg": "not a number"}]}, 422), InvalidArguments,
             '[{"loc": ["query", "n"], "msg": "not a number"}]'),
            (as_json({"message": "No such pet"}, 404), NoData, "No such pet"),
            ((410, {}, b""), NoData, None),
            ((401, {}, b""), AuthRequired, None),
            (as_json({"message": "forbidden"}, 403), AuthRequired, "forbidden"),
            (as_json({"message": "exists"}, 409), UpstreamError, "exists"),
            ((405, {"content-type": "text/plain"}, b"no such method"), UpstreamError, "no such method"),
            ((429, {"retry-after": "7"}, b""), RateLimited, None),
            ((403, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "30"}, b""), RateLimited, None),
            ((403, {"retry-after": "7"}, b'{"message": "one a minute"}'), RateLimited, "one a minute"),
            ((429, {"retry-after": "7"}, b'{"message": "one a minute"}'), RateLimited, "one a minute"),
            ((500, {"content-type": "text/html"}, b"<html><title>Oops</title>"), UpstreamError, "Oops"),
            ((503, {}, b""), UpstreamError, None),
            ((304, {}, b""), UpstreamError, None),
        ]  # fmt: skip
        for reply, error, says in rows:
            service.answer = reply
            found = failure(pets, arguments={"id": 1})
            assert (isinstance(found, error), found.details.get("upstream_says")) == (True, says), reply

    def test_the_wait_after_a_refusal_is_the_one_that_headers_state(self, pets: Pets, service: HttpService) -> None:
        rows = [
            ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "30"}, 30),
            ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "30", "retry-after": "7"}, 7),
            ({"ratelimit-remaining": "4", "ratelimit-reset": "30"}, 60),
        ]
        for headers, seconds in rows:
            service.answer = (429, headers, b"")
            assert failure(pets).details["retry_after_s"] == seconds

    def test_a_missing_permission_is_about_the_key(self, service: HttpService, client: HttpClient) -> None:
        pets = Pets(service.url, client, BEARER)
        service.answer = as_json({"message": f"key {KEY} has no access"}, 403)
        error = failure(pets, key=KEY)
        assert isinstance(error, AuthRejected)
        assert error.details["upstream_says"] == "key [key] has no access"
        service.answer = (403, {"retry-after": "60"}, b"")
        assert failure(pets, key=KEY).details["retry_after_s"] == 60
        service.answer = (403, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(int(time.time()) + 90)}, b"")
        assert 80 <= failure(pets, key=KEY).details["retry_after_s"] <= 90

    def test_after_a_failed_write_the_next_step_is_to_check(self, pets: Pets, service: HttpService) -> None:
        for status in (408, 500, 502):
            service.answer = (status, {}, b"")
            error = failure(pets, call={"method": "POST", "path": "/pets"}, effect="write")
            assert "may have taken effect" in error.suggestion
            assert "retryable" not in error.details

    def test_a_write_whose_connection_breaks_is_sent_once(self, client: HttpClient) -> None:
        with Upstream((0, {}, b"")) as broken:
            error = failure(Pets(broken.url, client), call={"method": "POST", "path": "/pets"}, effect="write")
            assert len(broken.requests) == 1
        assert "may have taken effect" in error.suggestion
        nothing = failure(Pets("http://127.0.0.1:9", client), call={"method": "POST", "path": "/"}, effect="write")
        assert "may have taken effect" not in nothing.suggestion
