"""Callers of a deployment sign in at a source, each with a token of their own; links are followed by a program.

The issuer of access tokens and the one of the source are two servers of our own. Every answer, log line and item of the
table is searched for tokens, codes and secrets.
"""

import json
import logging
import re
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from tests.support.authorization_server import AuthorizationServer, Grant
from tests.support.aws_services import client, create_table, use_aws_endpoint
from tests.support.catalogs import tool_of
from tests.support.lambda_handler import http_event
from tests.support.mcp_requests import message
from tests.support.sign_ins import CLIENT, Browser, NotesService, SignInServer, variables
from toolfold.app import build_app
from toolfold.errors import AuthorizationRequired
from toolfold.execution.call import CallContext
from toolfold.execution.credentials import NO_CREDENTIALS, RequestCredentials
from toolfold.execution.token_store import SignInStore
from toolfold.settings import Settings
from toolfold.telemetry import configure
from toolfold.transports.lambda_handler import LambdaHandler
from toolfold.transports.local_http.server import LocalServer

HOST = "https://tools.example.com"
RESOURCE = f"{HOST}/mcp"
SECRET = CLIENT.partition(":")[2]
TOKEN_SECRET = "a secret of the deployment, long enough"
SCOPES = "tools:read tools:call tools:write"
TABLE = "sign-ins"


class People(AuthorizationServer):
    """The issuer of access tokens, at whose page ``person`` sits."""

    def __init__(self) -> None:
        super().__init__(RESOURCE)
        self.clients["sign-in"] = {"redirect_uris": [f"{HOST}/ui/sign-in/issuer-callback"]}
        self.person = "ann"

    def claims(self, grant: Grant, *, is_machine: bool) -> dict[str, Any]:
        return {**super().claims(grant, is_machine=is_machine), "sub": self.person}


class Tab(Browser):
    """A browser whose requests to the deployment go to its handler, with ``cookies``."""

    def __init__(self, handler: LambdaHandler, shown: list[str], cookies: Mapping[str, str] | None = None) -> None:
        super().__init__()
        self.handler, self.shown, self.cookies = handler, shown, dict(cookies or {})

    def step(self, url: str, form: Mapping[str, str] | None = None) -> tuple[int, str, Mapping[str, str]]:
        """Return status, text and headers of the answer to one request; one with a ``form`` is a POST."""
        parts = urlsplit(url)
        if f"{parts.scheme}://{parts.netloc}" != HOST:
            return super().step(url)
        cookies = [f"{name}={value}" for name, value in self.cookies.items()]
        how = {"rawQueryString": parts.query, "cookies": cookies, "headers": {"host": parts.netloc}}
        method = "GET" if form is None else "POST"
        answer = self.handler({**http_event(urlencode(form or {}), path=parts.path, method=method), **how})
        if cookie := answer["headers"].get("set-cookie"):
            name, _, value = cookie.partition(";")[0].partition("=")
            self.cookies[name] = value
        self.shown.append(answer["body"])
        return answer["statusCode"], answer["body"], answer["headers"]


@dataclass(repr=False)
class World:
    """A deployment, two issuers, a service, and what was shown."""

    people: People
    issuer: SignInServer
    service: NotesService
    handler: LambdaHandler
    shown: list[str] = field(default_factory=list)

    def call_keyed(self, person: str, more: Mapping[str, str] | None = None, **params: Any) -> dict[str, Any]:
        """Return the result of a call of the source that takes keys of callers."""
        given = {"tool_name": "keyed__find", "arguments": {"q": "milk"}}
        return self._send(person, {"name": "TOOL_CALL", "arguments": given, **params}, self.handler, more)

    def call(
        self, person: str, tool: str = "find", handler: LambdaHandler | None = None, **more: Any
    ) -> dict[str, Any]:
        name, arguments = ("TOOL_CALL", {"q": "milk"}) if tool == "find" else ("TOOL_CALL_WRITE", {"text": "x"})
        given = {"name": name, "arguments": {"tool_name": f"notes__{tool}", "arguments": arguments}, **more}
        return self._send(person, given, handler or self.handler)

    def _send(
        self, person: str, params: dict[str, Any], handler: LambdaHandler, more: Mapping[str, str] | None = None
    ) -> dict[str, Any]:
        token = self.people.token(RESOURCE, sub=person, scope=SCOPES, client_id="agents")
        self.people.issued.append(token)
        headers = {"authorization": f"Bearer {token}", **(more or {})}
        if version := params.get("_meta", {}).get("io.modelcontextprotocol/protocolVersion"):
            headers |= {"mcp-protocol-version": version, "mcp-method": "tools/call", "mcp-name": params["name"]}
        answer = handler(http_event(message("tools/call", params), headers))
        self.shown.append(answer["body"])
        result: dict[str, Any] = json.loads(answer["body"])["result"]
        return result

    def error(self, person: str, **options: Any) -> dict[str, Any]:
        found: dict[str, Any] = self.call(person, **options)["structuredContent"]["error"]
        return found

    def link(self, person: str) -> str:
        error = self.error(person)
        assert error["code"] == "AUTHORIZATION_REQUIRED"
        assert error["authorization_url"] in error["suggestion"]
        return str(error["authorization_url"])

    def tab(self) -> Tab:
        """Open a browser."""
        return Tab(self.handler, self.shown)

    def sign_in(self, person: str) -> None:
        self.people.person = person
        status, text, _ = self.tab().open(self.link(person))
        assert (status, "You are signed in" in text) == (200, True)

    def restart(self) -> None:
        """Answer from another process of the same deployment."""
        self.handler = start()


def start() -> LambdaHandler:
    settings = Settings.from_environment()
    return LambdaHandler(build_app(settings, is_public=True), configure(settings))


@pytest.fixture
def world(
    tmp_path: Path, endpoint: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> Iterator[World]:
    caplog.set_level(logging.DEBUG, "toolfold")
    use_aws_endpoint(endpoint, monkeypatch)
    dynamodb = client("dynamodb", endpoint)
    create_table(dynamodb, TABLE)
    with NotesService() as service, SignInServer(service.url) as issuer, People() as people:
        service.issuer = issuer
        issuer.clients[CLIENT.partition(":")[0]]["redirect_uris"] = [f"{HOST}/ui/sign-in/notes/callback"]
        given = {
            **variables(tmp_path, service, issuer),
            "TOOLFOLD_SOURCE_KEYED_URL": service.url,
            "TOOLFOLD_CACHE": f"dynamodb://{TABLE}",
            "TOOLFOLD_CACHE_TIMEOUT_S": "30",
            "TOOLFOLD_SECRET_TIMEOUT_S": "30",
            "TOOLFOLD_OAUTH_ISSUER": people.url,
            "TOOLFOLD_PUBLIC_URL": RESOURCE,
            "TOOLFOLD_OAUTH_SIGN_IN_CLIENT": "sign-in",
            "TOOLFOLD_TOKEN_SECRET": TOKEN_SECRET,
        }
        for name, value in given.items():
            monkeypatch.setenv(name, value)
        found = World(people, issuer, service, start())
        yield found
        codes = [form["code"] for one in (issuer, people) for kind, form in one.events if kind == "authorization_code"]
        hidden = [SECRET, TOKEN_SECRET, *KEYS.values(), *issuer.issued, *people.issued, *codes]
        items = dynamodb.scan(TableName=TABLE)["Items"]
        texts = [*found.shown, caplog.text, *map(repr, items)]
        assert not [text for text in texts if any(one in text for one in hidden)]
        dynamodb.delete_table(TableName=TABLE)


def test_each_caller_signs_in_and_calls_with_a_token_of_their_own(world: World) -> None:
    first = world.link("ann")
    assert first.startswith(f"{HOST}/ui/sign-in/notes?ticket=")
    assert world.service.received == []
    world.sign_in("ann")
    assert "buy milk" in world.call("ann")["content"][0]["text"]
    assert world.link("ben")  # has no token yet
    world.restart()
    world.sign_in("ben")
    used: dict[str, set[str]] = {}
    for person in ("ben", "ann", "ben"):
        before = len(world.service.received)
        assert not world.call(person).get("isError")
        assert not world.call(person, "add").get("isError")
        used.setdefault(person, set()).update(world.service.tokens()[before:])
    assert [len(tokens) for tokens in used.values()] == [1, 1]
    assert used["ann"] != used["ben"]
    queries = [form for kind, form in world.people.events if kind == "authorize"]
    assert {query["code_challenge_method"] for query in queries} == {"S256"}
    assert {query["resource"] for query in queries} == {RESOURCE}
    assert len({query["state"] for query in queries}) == len(queries)


def test_the_pages_have_the_headers_of_private_ones(world: World) -> None:
    tab = world.tab()
    status, _, headers = tab.step(world.link("ann"))
    assert (status, headers["cache-control"], headers["referrer-policy"]) == (303, "no-store", "no-referrer")
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    name, _, rest = headers["set-cookie"].partition("=")
    assert (name, rest.partition("; ")[2]) == (
        "__Host-toolfold-sign-in",
        "Path=/; Max-Age=600; Secure; HttpOnly; SameSite=Lax",
    )
    assert tab.step(f"{HOST}/ui/sign-in/notes/elsewhere")[0] == 404
    assert world.handler(http_event(path="/ui/sign-in/notes"))["statusCode"] == 405


def test_a_link_that_another_person_opens_changes_nothing(world: World) -> None:
    link = world.link("ann")
    world.people.person = "eve"
    status, text, _ = world.tab().open(link)
    assert (status, "someone else" in text) == (403, True)
    assert world.issuer.events == []
    assert world.link("ann")
    assert world.link("eve")
    world.people.person = "ann"
    assert world.tab().open(link)[0] == 200  # it was sent to ann, who has not used it
    assert not world.call("ann").get("isError")
    assert world.link("eve")


def test_each_step_works_once_and_in_the_browser_that_began_it(world: World) -> None:
    link, tab = world.link("ann"), world.tab()
    world.people.person = "ann"
    at_issuer = tab.leads_to(link)
    from_issuer = tab.leads_to(at_issuer)
    cookie_of_person = dict(tab.cookies)
    assert world.tab().step(from_issuer)[0] == 400  # another browser
    world.restart()  # another process
    tab.handler = world.handler
    at_source = tab.leads_to(from_issuer)
    from_source = tab.leads_to(at_source)
    assert tab.step(from_issuer)[0] == 400  # the cookie is of the next step
    assert world.tab().step(from_source)[0] == 400
    wrong = Tab(world.handler, world.shown, cookie_of_person)
    assert wrong.step(from_source)[0] == 400
    assert wrong.step(from_issuer)[0] == 502  # the code was used
    again = world.tab()
    assert again.open(link)[0] == 400  # the ticket was used
    for change in ("state=", "state=guessed", "", "code=x"):
        assert tab.step(urlsplit(from_source)._replace(query=change).geturl())[0] == 400
    assert tab.step(from_source.replace("/notes/", "/other/"))[0] == 400
    replayed = Tab(world.handler, world.shown, tab.cookies)
    assert tab.step(from_source)[0] == 200
    assert tab.cookies == {"__Host-toolfold-sign-in": ""}
    assert replayed.step(from_source)[0] == 400
    assert world.issuer.kinds().count("authorization_code") == 1


def test_a_ticket_is_for_one_source_and_ends(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    link = world.link("ann")
    ticket = parse_qs(urlsplit(link).query)["ticket"][0]
    tab = world.tab()
    for url in (
        link.replace("/notes?", "/other?"),
        f"{HOST}/ui/sign-in/notes",
        f"{HOST}/ui/sign-in/notes?ticket=",
        f"{HOST}/ui/sign-in/notes?ticket={ticket[:-6]}AAAAAA",
        f"{HOST}/ui/sign-in/notes?ticket=%ff%00",
        f"{HOST}/ui/sign-in/notes?ticket=eyJhbGciOiJkaXIiLCJlbmMiOltdfQ....",  # "enc":[]
        f"{HOST}/ui/sign-in/notes?{'&'.join(f'a{index}=1' for index in range(100))}",
    ):
        assert tab.step(url)[0] == 400
    tab.cookies = {"__Host-toolfold-sign-in": ticket}  # a ticket is no step
    assert tab.step(f"{HOST}/ui/sign-in/issuer-callback?state=&code=x")[0] == 400
    assert tab.step(f"{HOST}/ui/sign-in/notes/callback?state=&code=x")[0] == 400
    later = time.time() + 601
    monkeypatch.setattr(hosted_of(world), "_now", lambda: later)
    assert tab.step(link)[0] == 400
    assert world.people.events == world.issuer.events == []


def hosted_of(world: World) -> SignInStore:
    hosted = world.handler.app.executor.services.user_tokens.hosted
    assert hosted is not None
    return hosted


def test_the_client_of_the_pages_need_not_be_one_of_the_callers(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLFOLD_OAUTH_CLIENT_IDS", "agents")
    world.restart()
    world.sign_in("ann")
    assert not world.call("ann").get("isError")


def test_a_person_who_refuses_is_not_signed_in(world: World) -> None:
    world.people.person, world.issuer.is_denied = "ann", True
    status, text, _ = world.tab().open(world.link("ann"))
    assert (status, "was refused" in text) == (400, True)
    assert world.link("ann")


def test_an_answer_that_names_another_issuer_is_refused(world: World) -> None:
    tab = world.tab()
    world.people.person = "ann"
    back = tab.leads_to(tab.leads_to(world.link("ann")))
    parts = urlsplit(back)
    foreign = {**{name: values[0] for name, values in parse_qs(parts.query).items()}, "iss": "https://evil.example"}
    assert tab.step(parts._replace(query=urlencode(foreign)).geturl())[0] == 400
    assert tab.open(back)[0] == 200


def test_a_token_of_the_issuer_for_another_audience_shows_no_person(world: World) -> None:
    world.people.person = "ann"
    world.people.claims = lambda *_, **__: {"aud": "https://other.example", "sub": "ann"}  # type: ignore[method-assign]
    assert world.tab().open(world.link("ann"))[0] == 502
    assert world.issuer.events == []


@pytest.mark.parametrize("down", ["people", "issuer"])
def test_an_issuer_that_is_down_is_a_page_that_changes_nothing(world: World, down: str) -> None:
    world.people.person = "ann"
    tab = world.tab()
    back = tab.leads_to(tab.leads_to(world.link("ann")))
    if down == "issuer":
        back = tab.leads_to(tab.leads_to(back))
    getattr(world, down).token_path = "/gone"
    status, text, _ = tab.step(back)
    assert (status, "Nothing was stored" in text) == (502, True)
    assert world.service.received == []


def test_an_expired_token_is_refreshed_once_for_the_calls_of_all_processes(world: World) -> None:
    world.sign_in("ann")
    handlers = [world.handler, start()]
    later = time.time() + 400
    for handler in handlers:
        handler.app.executor.services.user_tokens._now = lambda: later
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda handler: world.call("ann", handler=handler), handlers * 2))
    assert not any(result.get("isError") for result in results)
    assert world.issuer.kinds().count("refresh_token") >= 1
    assert "refused" not in world.issuer.kinds()  # each refresh token was used once


def test_a_refused_token_is_renewed_and_a_revoked_one_deleted(world: World) -> None:
    for person in ("ann", "ben"):
        world.sign_in(person)
    world.service.refused.update(world.issuer.issued)
    assert not world.call("ann").get("isError")
    world.issuer.forget_users()
    world.service.refused.update(world.service.tokens())
    assert world.error("ann", tool="add")["code"] == "AUTH_REJECTED"  # a write is sent once
    assert world.error("ann", tool="add")["code"] == "AUTHORIZATION_REQUIRED"
    world.sign_in("ann")
    assert not world.call("ann", "add").get("isError")


def test_records_are_of_one_caller_and_of_one_secret(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.sign_in("ann")
    world.sign_in("ben")
    dynamodb = client("dynamodb", str(world.handler.app.aws.client("dynamodb", timeout_s=1).meta.endpoint_url))
    items = [
        item for item in dynamodb.scan(TableName=TABLE)["Items"] if re.fullmatch(r"user-token/\w+", item["pk"]["S"])
    ]
    assert len(items) == 2
    for item, other in (items, items[::-1]):  # who can write the table gives ann's record to ben
        dynamodb.put_item(TableName=TABLE, Item={**item, "v": other["v"]})
    assert world.link("ann")
    assert world.link("ben")
    world.sign_in("ann")
    monkeypatch.setenv("TOOLFOLD_TOKEN_SECRET", "another secret of the deployment")
    world.restart()
    assert world.link("ann")


def test_a_table_that_cannot_be_used_gives_neither_link_nor_call(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.sign_in("ann")
    monkeypatch.setenv("TOOLFOLD_CACHE", "dynamodb://no-such-table")
    world.restart()
    error = world.error("ann")
    assert (error["code"], "authorization_url" in error) == ("AUTHORIZATION_REQUIRED", False)
    assert world.service.received == []


def test_the_secret_is_a_field_of_one_in_aws(world: World, endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    secrets = client("secretsmanager", endpoint)
    stored = json.dumps({"user-tokens": TOKEN_SECRET})
    arn = secrets.create_secret(Name="sign-ins", SecretString=stored)["ARN"]
    world.sign_in("ann")
    for reference, is_known in ((f"{arn}#user-tokens", True), (f"{arn}#other", False)):
        monkeypatch.setenv("TOOLFOLD_TOKEN_SECRET", reference)
        world.restart()
        assert bool(world.call("ann").get("isError")) != is_known
    secrets.delete_secret(SecretId=arn, ForceDeleteWithoutRecovery=True)


@pytest.mark.parametrize("unset", ["TOOLFOLD_OAUTH_SIGN_IN_CLIENT", "TOOLFOLD_TOKEN_SECRET", "TOOLFOLD_CACHE"])
def test_callers_have_no_tokens_where_a_setting_is_missing(
    world: World, unset: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = world.link("ann")
    monkeypatch.delenv(unset)
    world.restart()
    error = world.error("ann")
    assert (error["code"], "authorization_url" in error) == ("AUTHORIZATION_REQUIRED", False)
    assert world.tab().step(link)[0] in (404, 405)


def test_a_principal_of_aws_and_a_key_are_no_person(world: World) -> None:
    tokens = world.handler.app.executor.services.user_tokens
    catalog = world.handler.app.catalog_store()
    tool = tool_of(catalog, "notes__find")
    for credentials in (RequestCredentials(caller="a-role"), RequestCredentials(x_api_key="shared"), NO_CREDENTIALS):
        with pytest.raises(AuthorizationRequired) as caught:
            tokens.get_credentials(CallContext(catalog, tool, {}, credentials), CLIENT)
        assert "authorization_url" not in caught.value.details


def test_a_client_opens_the_link_and_its_call_waits(world: World) -> None:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"url": {}}},
    }
    asked = world.call("ann", _meta=meta)
    assert asked["resultType"] == "input_required"
    (question,) = asked["inputRequests"].values()
    url = question["params"]["url"]
    world.people.person = "ann"
    threading.Timer(0.5, world.tab().open, [url]).start()
    answered = world.call("ann", _meta=meta, inputResponses={"sign_in": {"action": "accept"}})
    assert "buy milk" in answered["content"][0]["text"]


KEYS = {"ann": "the-key-of-ann-1", "ben": "the-key-of-ben-2"}


def enter(world: World, person: str, key: str) -> tuple[int, str]:
    """Open the link of a call, and enter a key there."""
    error = world.call_keyed(person)["structuredContent"]["error"]
    assert error["code"] == "AUTHORIZATION_REQUIRED"
    world.people.person, tab = person, world.tab()
    status, text, _ = tab.open(error["authorization_url"])
    assert status == 200
    state = text.partition('name="state" value="')[2].partition('"')[0]
    return tab.step(f"{HOST}/ui/sign-in/keyed/key", {"state": state, "key": key})[:2]


def test_each_caller_enters_a_key_of_their_own(world: World) -> None:
    world.service.keys = set(KEYS.values())
    for person, key in KEYS.items():
        status, text = enter(world, person, key)
        assert (status, "is stored" in text) == (200, True)
    for person in ("ben", "ann"):
        assert not world.call_keyed(person).get("isError")
        assert world.service.received[-1].headers["x-key"] == KEYS[person]
    sent = len(world.service.received)
    assert world.call_keyed("eve")["structuredContent"]["error"]["code"] == "AUTHORIZATION_REQUIRED"
    assert len(world.service.received) == sent
    assert not world.call_keyed("eve", {"x-api-key": KEYS["ann"]}).get("isError")  # a key of the request comes first
    assert world.issuer.events == []


def test_a_key_that_the_source_refuses_leads_to_the_page_again(world: World) -> None:
    assert enter(world, "ann", "a-wrong-key")[0] == 200
    error = world.call_keyed("ann")["structuredContent"]["error"]
    assert (error["code"], f"{HOST}/ui/sign-in/keyed?ticket=" in error["suggestion"]) == ("AUTH_REJECTED", True)
    world.service.keys = set(KEYS.values())
    url = next(word for word in error["suggestion"].split() if word.startswith(HOST))
    world.people.person, tab = "ann", world.tab()
    state = tab.open(url)[1].partition('name="state" value="')[2].partition('"')[0]
    page = f"{HOST}/ui/sign-in/keyed/key"
    for form in ({"state": state, "key": ""}, {"state": state, "key": "two words"}, {"state": "", "key": KEYS["ann"]}):
        assert tab.step(page, form)[0] == 400
    good = {"state": state, "key": KEYS["ann"]}
    assert world.tab().step(page, good)[0] == 400  # of another browser, or of a page of another site
    assert tab.step(page.replace("keyed/", "notes/"), good)[0] == 400
    assert tab.step(f"{page}?{urlencode(good)}")[0] == 405
    again = Tab(world.handler, world.shown, tab.cookies)
    assert tab.step(page, good)[0] == 200
    assert again.step(page, good)[0] == 400
    assert not world.call_keyed("ann").get("isError")


def test_the_page_for_a_key_is_for_the_caller_alone(world: World) -> None:
    link = world.call_keyed("ann")["structuredContent"]["error"]["authorization_url"]
    world.people.person = "eve"
    status, text, _ = world.tab().open(link)
    assert (status, "<form" in text) == (403, False)


def test_serve_has_the_pages_too(world: World) -> None:
    with LocalServer(Settings.from_environment(), any_host=True) as server:
        base = server.url.removesuffix("/mcp")
        assert Browser().step(f"{base}/ui/sign-in/notes?ticket=x")[0] == 400
        status, _, headers = Browser().step(world.link("ann").replace(HOST, base))
        assert (status, headers["location"].startswith(world.people.url)) == (303, True)
        for path, status in (("/ui/sign-in/keyed/key", 400), ("/mcp", 403)):
            form = urllib.request.Request(f"{base}{path}", b"state=x&key=y", {"Origin": "null"})
            with pytest.raises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(form, timeout=60)
            with refused.value as response:
                assert response.code == status
