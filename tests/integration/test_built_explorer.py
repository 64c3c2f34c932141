"""The web explorer of the built package, in AWS's runtime client: the page, its files, what it reads and may send."""

import base64
import gzip
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.built_function import NEEDS_BUILD, ROOT, BuiltFunction
from tests.support.lambda_runtime import LambdaRuntime
from toolfold.explorer.page import SECURITY_HEADERS

HOST = "id.execute-api.us-east-1.amazonaws.com"
PAGE_MODULES = "toolfold.explorer"

pytestmark = [pytest.mark.e2e, NEEDS_BUILD]


@pytest.fixture(scope="module")
def runtime(built: BuiltFunction) -> Iterator[LambdaRuntime]:
    with built.runtime({"TOOLFOLD_CATALOG": "", "TOOLFOLD_EXPLORER": "read-only"}) as started:
        yield started


def event(path: str, method: str = "GET", body: str = "", **headers: str) -> dict[str, Any]:
    """The event of a request, as API Gateway makes it."""
    route = "GET /" if path == "/" else "ANY /ui/{proxy+}" if path.startswith("/ui/") else f"ANY {path}"
    path, _, query = path.partition("?")
    http = {"method": method, "path": path, "protocol": "HTTP/1.1", "sourceIp": "203.0.113.7", "userAgent": "test"}
    return {
        "version": "2.0",
        "routeKey": route,
        "rawPath": path,
        "rawQueryString": query,
        "headers": {"host": HOST, **{name.replace("_", "-"): value for name, value in headers.items()}},
        "requestContext": {"domainName": HOST, "http": http, "routeKey": route, "stage": "$default"},
        **({"body": body} if body else {}),
        "isBase64Encoded": False,
    }


def content(answer: dict[str, Any]) -> bytes:
    """The body of a response, as a browser sees it."""
    body = base64.b64decode(answer["body"]) if answer["isBase64Encoded"] else answer["body"].encode()
    return gzip.decompress(body) if answer["headers"].get("content-encoding") == "gzip" else body


def test_the_page_and_its_files_are_in_the_layer(runtime: LambdaRuntime) -> None:
    answer = runtime.invoke(event("/", accept_encoding="gzip, br"))
    assert (answer["statusCode"], answer["isBase64Encoded"]) == (200, True)
    assert dict(SECURITY_HEADERS).items() <= answer["headers"].items()
    names = re.findall(r'(?:src|href)="(ui/[^"]+)"', content(answer).decode())
    assert {name.rpartition(".")[2] for name in names} >= {"js", "css"}
    for name in names:
        for encoding in ("gzip", "identity"):
            file = runtime.invoke(event(f"/{name}", accept_encoding=encoding))
            assert file["statusCode"] == 200
            assert file["headers"]["cache-control"] == "public, max-age=31536000, immutable"
            source = ROOT / "layers/core/toolfold/explorer/static" / name.removeprefix("ui/")
            assert content(file) == source.read_bytes()
        etag = file["headers"]["etag"]
        assert runtime.invoke(event(f"/{name}", accept_encoding="identity", if_none_match=etag))["statusCode"] == 304


def test_tokens_are_counted(runtime: LambdaRuntime) -> None:
    body = json.dumps({"texts": ["one two three"]})
    answer = runtime.invoke(event("/ui/api/tokens", "POST", body, content_type="application/json"))
    assert answer["statusCode"] == 200, answer["body"]


def test_with_an_issuer_the_page_is_public_and_what_it_reads_needs_a_token(built: BuiltFunction) -> None:
    variables = {
        "TOOLFOLD_CATALOG": "",
        "TOOLFOLD_EXPLORER": "calls",
        "TOOLFOLD_OAUTH_ISSUER": "https://issuer.example.com",
        "TOOLFOLD_PUBLIC_URL": f"https://{HOST}/mcp",
    }
    with built.runtime(variables) as runtime:
        assert runtime.invoke(event("/"))["statusCode"] == 200
        refused = runtime.invoke(event("/ui/api/start"))
        assert refused["statusCode"] == 401
        assert "resource_metadata=" in refused["headers"]["www-authenticate"]


@pytest.mark.parametrize(
    "path", ["/ui/api/start", "/ui/api/catalog", "/ui/api/search?q=oil+price", "/ui/api/tool?name=GLOBAL_QUOTE"]
)
def test_every_resource_works_without_the_packages_of_extras(runtime: LambdaRuntime, path: str) -> None:
    answer = runtime.invoke(event(path))
    assert answer["statusCode"] == 200, answer["body"]
    assert json.loads(content(answer))


def test_a_first_response_to_a_client_loads_nothing_of_it(built: BuiltFunction) -> None:
    tools_list = json.loads((ROOT / "events/tools-list.json").read_text(encoding="utf-8"))
    for explorer in ("off", "read-only"):
        variables = {"TOOLFOLD_CATALOG": "", "TOOLFOLD_EXPLORER": explorer, "PYTHONPROFILEIMPORTTIME": "1"}
        with built.runtime(variables) as runtime:
            assert runtime.invoke(tools_list)["statusCode"] == 200
            assert not [line for line in runtime.log if PAGE_MODULES in line]
            if explorer == "read-only":
                runtime.invoke(event("/"))
                assert [line for line in runtime.log if PAGE_MODULES in line]
