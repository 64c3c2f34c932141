"""A call becomes the request that its binding describes, and what a server parses of it equals the arguments."""

import email.parser
import email.policy
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import parse_qsl, unquote

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.support.tables import accepted, differences
from toolfold.sources.http_api.binding import BindingError, bind, check_binding, check_header
from toolfold.sources.http_api.styles import InvalidArgument, check_template, named_values, path_value, scalar_text

PETS = {"path": "/pets/{petId}"}
TRACED = {"path": "/a", "parameters": {"trace": {"in": "header", "name": "X-Trace"}}}
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


class TestPath:
    def test_a_value_is_one_segment(self) -> None:
        rows = [
            (7, "/pets/7"),
            ("a b", "/pets/a%20b"),
            ("ü?#&=+", "/pets/%C3%BC%3F%23%26%3D%2B"),
            ("v1.2", "/pets/v1.2"),
            ("...", "/pets/..."),
            (["a", "b,c"], "/pets/a,b%2Cc"),
            (True, "/pets/true"),
        ]
        assert differences(lambda value: bind(PETS, {"petId": value}).path, rows) == {}

    def test_no_value_leaves_its_segment(self) -> None:
        rows = [
            "", ".", "..", "../admin", "..\\admin", "a/b", "/", "//evil.example", "a/../b", "%2e%2e", "%2E",
            "%252e%252e", "..%2fadmin", "%2f", "a%2Fb", "a%252Fb", "%5c", "..;", ".;x=1", "a\x00", "a\nb", "a\x7fb",
            "%0d%0a", None, [], ["a", "../b"], {"x": "a/b"}, "https://evil.example/",
        ]  # fmt: skip

        def refused(value: Any) -> str:
            with pytest.raises(InvalidArgument) as caught:
                bind(PETS, {"petId": value})
            return caught.value.argument

        assert differences(refused, [(value, "petId") for value in rows]) == {}

    def test_an_argument_with_the_name_of_a_placeholder_that_another_fills_is_in_the_query(self) -> None:
        request = bind({"path": "/a/{id}", "parameters": {"petId": {"name": "id"}}}, {"id": "x", "petId": 7})
        assert request[1:3] == ("/a/7", ("id=x",))

    def test_letters_of_a_template_that_are_not_ascii_are_percent_encoded(self) -> None:
        assert bind({"path": "/düne/{größe}.{x}"}, {"größe": "50%", "x": "é"}).path == "/d%C3%BCne/50%25.%C3%A9"

    def test_a_missing_value_is_refused(self) -> None:
        with pytest.raises(InvalidArgument, match=r"missing|empty"):
            bind(PETS, {})

    def test_values_that_are_safe_alone_cannot_be_dots_together(self) -> None:
        call = {"path": "/files/{name}{ending}/x"}
        assert bind(call, {"name": "a", "ending": ".b"}).path == "/files/a.b/x"
        for values in ({"name": ".", "ending": "."}, {"name": "%2e", "ending": "."}):
            with pytest.raises(InvalidArgument):
                bind(call, values)

    @pytest.mark.parametrize(("slashes", "path"), [("plain", "/files/a/b%20c"), ("encoded", "/files/a%2Fb%20c")])
    def test_slashes_are_sent_where_the_parameter_allows_them(self, slashes: str, path: str) -> None:
        call = {"path": "/files/{name}", "parameters": {"name": {"in": "path", "slashes": slashes}}}
        assert bind(call, {"name": "a/b c"}).path == path
        for value in ("../b", "a/../../b", "/a", "a/", "a//b", "a/%2e%2e/b", "a\\b", "a/."):
            with pytest.raises(InvalidArgument):
                bind(call, {"name": value})

    def test_styles_and_wire_names_are_those_of_the_binding(self) -> None:
        call = {
            "path": "/a/{first}/b/{second}",
            "parameters": {
                "one": {"in": "path", "name": "first", "style": "label", "explode": True},
                "second": {"in": "path", "style": "matrix"},
            },
        }
        assert bind(call, {"one": ["x", "y"], "second": 5}).path == "/a/.x.y/b/;second=5"

    @pytest.mark.hypothesis
    @settings(max_examples=25)
    @given(TEXTS | st.lists(st.sampled_from([".", "..", "/", "\\", "%2e", "%2F", "%25", ";", "a"])).map("".join))
    def test_what_a_server_decodes_is_the_value_in_its_place(self, value: str) -> None:
        try:
            path = bind({"path": "/v1/{id}/end"}, {"id": value}).path
        except InvalidArgument:
            assume(False)
        assert path.isascii()
        assert unquote(path) == f"/v1/{value}/end"
        assert len(path.split("/")) == 4
        decoded = path
        for _ in range(4):
            assert decoded.count("/") == 3
            assert not {".", "..", ""}.intersection(decoded.split("/")[1:])
            decoded = unquote(decoded)


class TestQuery:
    def test_names_styles_and_constants_are_those_of_the_binding(self) -> None:
        call = {
            "path": "/search",
            "parameters": {
                "text": {"name": "q"},
                "tags": {"explode": False},
                "filter": {"style": "deepObject"},
                "where": {"content_type": "application/json"},
            },
            "sends": {"format": "json", "page": 1},
        }
        arguments = {
            "text": "a&b=c", "tags": ["x", "y,z"], "filter": {"min": 1}, "where": {"a": "é"}, "page": 2,
        }  # fmt: skip
        assert bind(call, arguments).query == (
            "q=a%26b%3Dc", "tags=x,y%2Cz", "filter%5Bmin%5D=1", "where=%7B%22a%22%3A%22%C3%A9%22%7D",
            "format=json", "page=2",
        )  # fmt: skip

    def test_text_as_json_content_is_quoted(self) -> None:
        call = {"path": "/a", "parameters": {"q": {"content_type": "application/json"}}}
        assert bind(call, {"q": "x"}).query == ("q=%22x%22",)

    @pytest.mark.parametrize(("style", "item"), [("spaceDelimited", "b c"), ("pipeDelimited", "b|c")])
    def test_an_item_cannot_be_read_as_two(self, style: str, item: str) -> None:
        call = {"path": "/a", "parameters": {"tags": {"style": style}}}
        with pytest.raises(InvalidArgument, match="separates the items"):
            bind(call, {"tags": ["a", item]})
        assert bind({"path": "/a", "parameters": {"tags": {"style": style, "explode": True}}}, {"tags": ["a", item]})

    @pytest.mark.parametrize("name", ["page", "apikey"])
    def test_a_member_cannot_be_read_as_another_parameter(self, name: str) -> None:
        call = {"path": "/a", "parameters": {"filter": {}, "page": {}}}
        with pytest.raises(InvalidArgument, match="another parameter"):
            bind(call, {"filter": {name: "1"}}, taken=[("query", "apikey")])

    def test_no_argument_takes_the_place_of_the_credentials(self) -> None:
        for call, arguments in (
            ({"path": "/a"}, {"apikey": "x"}),
            ({"path": "/a", "parameters": {"k": {"in": "header", "name": "X-Key"}}}, {"k": "x"}),
            ({"path": "/a", "parameters": {"k": {"in": "cookie", "name": "session"}}}, {"k": "x"}),
        ):
            with pytest.raises(InvalidArgument, match="credentials"):
                bind(call, arguments, taken=[("query", "apikey"), ("header", "x-key"), ("cookie", "session")])

    @pytest.mark.hypothesis
    @settings(max_examples=25)
    @given(
        st.dictionaries(TEXTS.filter(bool), TEXTS | st.integers() | st.lists(TEXTS, min_size=1, max_size=3), max_size=4)
    )
    def test_what_a_server_parses_equals_the_arguments(self, arguments: dict[str, Any]) -> None:
        query = "&".join(bind({"path": "/a"}, arguments).query)
        expected = [
            (name, str(item))
            for name, value in arguments.items()
            for item in (value if isinstance(value, list) else [value])
        ]
        assert parse_qsl(query, keep_blank_values=True) == expected


class TestHeaders:
    def test_lists_and_objects_are_simple(self) -> None:
        assert bind(TRACED, {"trace": ["a", "b c"]}).headers == {"X-Trace": "a,b c"}
        assert bind(TRACED, {"trace": {"x": 1}}).headers == {"X-Trace": "x,1"}

    def test_what_would_be_another_header_is_refused(self) -> None:
        rows = ["a\r\nX-Admin: 1", "a\nb", "a\rb", "a\x00b", "a\x0bb", "é", "a\u2028b", " a", "a ", "\ta", "a\x7f",
         ["a", "b,c"], ["a\r\n"], {"a\n": "b"}]  # fmt: skip
        assert accepted(lambda value: bind(TRACED, {"trace": value}), rows, InvalidArgument) == []

    @pytest.mark.hypothesis
    @settings(max_examples=25)
    @given(TEXTS)
    def test_a_header_is_sent_as_it_is_or_not_at_all(self, value: str) -> None:
        try:
            headers = bind(TRACED, {"trace": value}).headers
        except InvalidArgument:
            return
        raw = "".join(f"{name}: {text}\r\n" for name, text in headers.items()) + "\r\n"
        parsed = email.parser.HeaderParser(policy=email.policy.compat32).parsestr(raw)
        assert parsed.items() == [("X-Trace", value)]

    @pytest.mark.hypothesis
    @settings(max_examples=25)
    @given(TEXTS)
    def test_a_cookie_is_one_pair(self, value: str) -> None:
        call = {"path": "/a", "parameters": {"session": {"in": "cookie"}, "b": {"in": "cookie"}}}
        cookies = bind(call, {"session": value, "b": 1}).cookies
        parsed = {name: morsel.value for name, morsel in SimpleCookie("; ".join(cookies)).items()}
        assert parsed.keys() == {"session", "b"}
        assert value in (parsed["session"], unquote(parsed["session"]))


def parts_of(content_type: str, body: bytes) -> list[tuple[str, str, str, bytes]]:
    """Return name, file name, type and content of the parts of a form."""
    head = f"Content-Type: {content_type}\r\n\r\n".encode()
    message = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(head + body)
    found = []
    for part in message.iter_parts():
        disposition = part["content-disposition"].params
        content = part.get_payload(decode=True)
        assert isinstance(content, bytes)
        found.append((disposition["name"], disposition.get("filename", ""), part.get_content_type(), content))
    return found


class TestBody:
    def test_json_of_one_argument_is_that_argument(self) -> None:
        call = {"method": "POST", "path": "/a", "body": {"argument": "body"}}
        request = bind(call, {"body": {"name": "é", "n": None}, "dry": True})
        assert (request.content_type, request.body) == ("application/json", '{"name":"é","n":null}'.encode())
        assert request.query == ("dry=true",)
        assert bind(call, {}).body is None

    def test_a_form_has_lists_objects_and_styles(self) -> None:
        body = {
            "content_type": "application/x-www-form-urlencoded",
            "fields": {"a": "a", "list": "list", "object": "object", "deep": "deep"},
            "encoding": {"deep": {"style": "deepObject"}},
        }
        arguments = {"a": "x y&z", "list": [1, 2], "object": {"k": "v"}, "deep": {"k": {"n": 1}}}
        request = bind({"method": "POST", "path": "/", "body": body}, arguments)
        assert parse_qsl((request.body or b"").decode()) == [
            ("a", "x y&z"), ("list", "1"), ("list", "2"), ("object", '{"k":"v"}'), ("deep[k][n]", "1")
        ]  # fmt: skip

    def test_multipart_has_texts_files_and_json(self) -> None:
        body = {
            "content_type": "multipart/form-data",
            "argument": "form",
            "encoding": {"file": {"base64": True, "filename": 'a"\r\nb.png', "content_type": "image/png"}},
        }
        form = {'na"me\r\nX: 1': "text", "file": "aGk=", "meta": {"k": 1}, "many": ["1", "2"], "none": None}
        request = bind({"method": "POST", "path": "/", "body": body}, {"form": form})
        assert parts_of(request.content_type, request.body or b"") == [
            ("na%22me%0D%0AX: 1", "", "text/plain", b"text"),
            ("file", "a%22%0D%0Ab.png", "image/png", b"hi"),
            ("meta", "", "application/json", b'{"k":1}'),
            ("many", "", "text/plain", b"1"),
            ("many", "", "text/plain", b"2"),
        ]

    def test_text_and_bytes_are_sent_as_they_are(self) -> None:
        text = {"method": "PUT", "path": "/", "body": {"content_type": "text/plain", "argument": "text"}}
        assert bind(text, {"text": "é\n"}).body == "é\n".encode()
        octets = {"content_type": "application/octet-stream", "argument": "data", "base64": True}
        assert bind({"method": "PUT", "path": "/", "body": octets}, {"data": "AP8="}).body == b"\x00\xff"
        with pytest.raises(InvalidArgument, match="base64"):
            bind({"method": "PUT", "path": "/", "body": octets}, {"data": "not base64!"})

    def test_a_number_that_json_does_not_have_is_refused(self) -> None:
        with pytest.raises(InvalidArgument, match="NaN"):
            bind({"method": "POST", "path": "/", "body": {"argument": "b"}}, {"b": float("nan")})

    def test_a_body_without_arguments_is_empty_or_missing(self) -> None:
        body = {"fields": {"a": "a"}}
        assert bind({"method": "POST", "path": "/", "body": body}, {}).body == b"{}"
        assert bind({"method": "DELETE", "path": "/", "body": body}, {}).body is None
        assert bind({"method": "DELETE", "path": "/", "body": {**body, "required": True}}, {}).body == b"{}"

    @pytest.mark.hypothesis
    @settings(max_examples=20)
    @given(st.dictionaries(st.sampled_from(["a", "b", "name", "x_1"]), TEXTS, max_size=3))
    def test_a_server_of_forms_reads_the_arguments(self, arguments: dict[str, str]) -> None:
        def sent(content_type: str) -> tuple[str, bytes]:
            body = {"content_type": content_type, "fields": {name: name for name in arguments}}
            request = bind({"method": "POST", "path": "/", "body": body}, arguments)
            return request.content_type, request.body or b""

        form = sent("application/x-www-form-urlencoded")[1].decode()
        assert dict(parse_qsl(form, keep_blank_values=True)) == arguments
        assume(arguments)
        parts = {name: content.decode() for name, _, _, content in parts_of(*sent("multipart/form-data"))}
        assert parts == arguments


def test_a_binding_that_cannot_be_used_is_refused() -> None:
    rows = [
        ({}, "whole has a value"),
        ({"path": "pets"}, "must start with /"),
        ({"path": "//evil.example/x"}, "must start with /"),
        ({"path": "/a?b=1"}, "must start with /"),
        ({"path": "/a b"}, "must start with /"),
        ({"path": "/../a"}, "segment"),
        ({"path": "/%2e%2e/a"}, "segment"),
        ({"path": "/{a"}, "brace"),
        ({"path": "/a", "method": "TRACE"}, "method"),
        ({"path": "/a", "method": "GET /x"}, "method"),
        ({"path": "/a", "parameters": {"x": {"in": "path"}}}, "no placeholder"),
        ({"path": "/a", "parameters": {"x": {"in": "body"}}}, "parameters.x.in"),
        ({"path": "/a", "parameters": {"x": {"style": "label"}}}, "style must be"),
        ({"path": "/a", "parameters": {"x": {"in": "header", "name": "A\r\nB"}}}, "parameters.x.name contains"),
        ({"path": "/a", "parameters": {"x": {"in": "header", "name": "Authorization"}}}, "not set by an argument"),
        ({"path": "/a", "parameters": {"x": {"in": "header", "name": "hOST"}}}, "not set by an argument"),
        ({"path": "/a", "parameters": {"x": {"in": "cookie", "name": "a;b"}}}, "cannot be the name"),
        ({"path": "/a", "parameters": []}, "parameters has"),
        ({"path": "/a", "parameters": [1]}, "parameters has"),
        ({"path": "/a", "body": {"argument": "a", "fields": {}}}, "body has"),
        ({"path": "/a", "body": {"argument": "a", "content_type": "a\r\nX: 1"}}, "body.content_type contains"),
        ({"path": "/a", "body": {"fields": {}, "encoding": {"a": {"filename": "a\n"}}}}, "filename contains"),
        ({"path": "/a", "sends": []}, "sends"),
    ]  # fmt: skip
    check_binding({"path": "/pets/{id}/{id}", "method": "DELETE"})
    for call, problem in rows:
        with pytest.raises(BindingError, match=problem):
            check_binding(call)


def test_a_header_of_a_source_cannot_be_for_credentials_or_break_a_line() -> None:
    rows = [("X A", "1"), ("", "1"), ("Authorization", "x"), ("Cookie", "x"), ("Host", "x"), ("A", "a\nb"), ("A", 1),
     ("A", "é"), ("A", " x")]  # fmt: skip
    assert accepted(lambda row: check_header(*row), rows, BindingError) == []


def test_a_template_may_have_everything_that_a_path_has() -> None:
    for path in ("/", "/a/", "/a.b/{x}.{y}", "/a:b/@c", "/{a}/-/{b}", "/%20", "/düne/{größe}"):
        check_template(path)


WORDS = st.sampled_from(
    ["path", "query", "header", "cookie", "in", "name", "style", "explode", "content_type", "slashes", "plain",
     "reserved", "/a/{id}", "id", "GET", "POST", "form", "deepObject", "simple", "application/json", "argument",
     "multipart/form-data", "fields", "encoding", "base64", "filename", "text/plain", "a\r\nb", "é",
     "application/x-www-form-urlencoded"]
)  # fmt: skip
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=8,
)


@pytest.mark.hypothesis
@settings(max_examples=25)
@given(
    st.fixed_dictionaries(
        {"path": ANYTHING | st.just("/a/{id}")},
        optional={
            "method": ANYTHING | st.just("POST"),
            "parameters": ANYTHING | st.dictionaries(WORDS, st.dictionaries(WORDS, ANYTHING, max_size=4), max_size=3),
            "body": ANYTHING | st.fixed_dictionaries({"fields": ANYTHING}, optional={"encoding": ANYTHING}),
            "sends": ANYTHING,
        },
    ),
    st.dictionaries(WORDS, ANYTHING, max_size=4),
)
def test_no_binding_of_a_hostile_catalog_is_a_defect(call: dict[str, Any], arguments: dict[str, Any]) -> None:
    try:
        check_binding(call)
    except BindingError:
        return
    try:
        request = bind(call, arguments)
    except InvalidArgument:
        return
    assert request.path.startswith("/")
    assert all(text.isascii() and text.isprintable() for text in (*request.headers.values(), *request.cookies))
    assert all(pair.isascii() and pair.isprintable() for pair in request.query)
    assert request.content_type.isprintable()


ARRAY, OBJECT = ["blue", "black", "brown"], {"R": 100, "G": 200, "B": 150}


PARTS = [
    ("simple", False, "blue", "blue"),
    ("simple", False, ARRAY, "blue,black,brown"),
    ("simple", False, OBJECT, "R,100,G,200,B,150"),
    ("simple", True, OBJECT, "R=100,G=200,B=150"),
    ("label", False, OBJECT, ".R,100,G,200,B,150"),
    ("label", True, ARRAY, ".blue.black.brown"),
    ("label", True, OBJECT, ".R=100.G=200.B=150"),
    ("matrix", False, "", ";color"),
    ("matrix", False, "blue", ";color=blue"),
    ("matrix", False, ARRAY, ";color=blue,black,brown"),
    ("matrix", False, OBJECT, ";color=R,100,G,200,B,150"),
    ("matrix", True, ARRAY, ";color=blue;color=black;color=brown"),
    ("matrix", True, OBJECT, ";R=100;G=200;B=150"),
]


def test_parts_of_a_path_have_the_style_of_openapi() -> None:
    assert differences(lambda style, explode, value: path_value("color", value, style, explode), PARTS) == {}


PAIRS = [
    ("form", True, "", "color="),
    ("form", True, "blue", "color=blue"),
    ("form", True, ARRAY, "color=blue&color=black&color=brown"),
    ("form", True, OBJECT, "R=100&G=200&B=150"),
    ("form", True, [], ""),
    ("form", False, ARRAY, "color=blue,black,brown"),
    ("form", False, OBJECT, "color=R,100,G,200,B,150"),
    ("form", False, ["a,b", "c d"], "color=a%2Cb,c%20d"),
    ("spaceDelimited", False, ARRAY, "color=blue%20black%20brown"),
    ("spaceDelimited", False, OBJECT, "color=R%20100%20G%20200%20B%20150"),
    ("spaceDelimited", True, ARRAY, "color=blue&color=black&color=brown"),
    ("pipeDelimited", False, ARRAY, "color=blue%7Cblack%7Cbrown"),
    ("deepObject", True, OBJECT, "color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150"),
    ("deepObject", True, {"a": {"b": [1, 2]}}, "color%5Ba%5D%5Bb%5D%5B0%5D=1&color%5Ba%5D%5Bb%5D%5B1%5D=2"),
    ("deepObject", True, ["x"], "color%5B0%5D=x"),
    ("deepObject", True, "plain", "color=plain"),
    ("form", True, None, ""),
    ("form", True, True, "color=true"),
    ("form", True, [{"x": 1}], "color=%7B%22x%22%3A1%7D"),
    ("form", True, [None, 1], "color=null&color=1"),
    ("form", True, {"sort": ["a,desc", "b"], "page": 2, "no": []}, "sort=a%2Cdesc&sort=b&page=2"),
]


def test_pairs_of_a_query_have_the_style_of_openapi() -> None:
    def joined(style: str, explode: bool, value: Any) -> str:
        return "&".join(named_values("color", value, style, explode))

    assert differences(joined, PAIRS) == {}


def test_scalars_are_written_as_in_json() -> None:
    assert [scalar_text(value) for value in (True, False, None, 5, 2.5, "é x", [1], {})] == [
        "true", "false", "null", "5", "2.5", "é x", "[1]", "{}"
    ]  # fmt: skip
